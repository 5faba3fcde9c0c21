"""Looks words and values up in umbel's indexes of files, written from FORMAT.md, section 24, on top of reader.py.

    find.py manifest.json         checks the golden files
    find.py F.index TEXT...       prints the blocks that may have all whole words of each text, or the value
"""

import json, pathlib, struct, sys

import xxhash
from reader import MASK, require

DATA = 1016
OTHERS = "80-A9 AB-B4 B6-B9 BB-BF D7-D7 F7-F7 2000-206F 20A0-20CF 2190-2BFF 3000-3004 3008-3020 D800-F8FF FE10-FE6F FEFF-FF0F 1F000-1FAFF"
SINGLES = "E00-EFF 1000-109F 1780-17FF 3005-3007 3021-30FF 31F0-31FF 3400-9FFF 20000-3FFFF"


def among(ranges, letter):
    return any(int(first, 16) <= letter <= int(last, 16) for first, last in (r.split("-") for r in ranges.split()))


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


class Taken:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, format):
        values = struct.unpack_from("<" + format, self.data, self.at)
        self.at += struct.calcsize("<" + format)
        return values if len(values) > 1 else values[0]

    def text(self):
        return self.take(f"{self.take('I')}s")


class Index:
    def __init__(self, file):
        require(len(file) > 0 and len(file) % 1024 == 0, "length")
        data, damaged = b"", set()
        for number in range(len(file) // 1024):
            page = file[1024 * number:1024 * (number + 1)]
            if xxhash.xxh3_64_intdigest(page[:DATA], number) != int.from_bytes(page[DATA:], "little"):
                damaged.add(number)
            data += page[:DATA]
        headers = [Taken(data[DATA * page:]).take("8sHHIQQQQQQQ") for page in range(2) if page not in damaged]
        require(headers and all(magic == b"\x89UMIDX\r\n" and version == 1 for magic, version, *_ in headers), "header")
        *_, generation, pages, catalog, lists, files, groups, blocks = max(headers, key=lambda header: header[4])
        # Pages that are no longer used may be anything; here none is.
        unused = {1} if generation == 0 and not any(file[1024:2048]) else set()
        require(pages * 1024 <= len(file) and damaged <= unused | set(range(pages, len(file) // 1024)), f"pages {damaged}")
        taken = Taken(data)
        taken.at = catalog
        self.settings = [(taken.text().decode(), taken.text().decode()) for _ in range(taken.take("I"))]
        self.roots = [taken.text() for _ in range(taken.take("I"))]
        self.headers = [taken.text() for _ in range(taken.take("I"))]
        self.files = [(taken.text(), taken.take("QqqQQQQQQQ")) for _ in range(files)]
        require(taken.at == catalog + lists and all(file[1][8] <= len(self.headers) for file in self.files), "lists")
        sizes = [taken.take("IIQ") for _ in range(groups)]
        self.blocks = [taken.take("QQQQQ") for _ in range(blocks)]
        self.groups = [(rows, columns, [taken.take("I") for _ in range(columns)]) for rows, columns, _ in sizes]
        self.bits = [int.from_bytes(data[at:at + rows * columns // 8], "little") for rows, columns, at in sizes]
        require(sum(file[1][7] for file in self.files) == blocks, "blocks")
        live = sorted(block for group in self.groups for block in group[2] if block != 2**32 - 1)
        require(live == list(range(blocks)), "columns")
        self.words = ("records", "lines") in self.settings

    def may_have(self, keys):
        """The numbers of the blocks that may have all keys."""
        for (rows, columns, blocks), bits in zip(self.groups, self.bits):
            found = 2**columns - 1
            for key, probes in keys:
                digest = xxhash.xxh3_128_intdigest(key)
                high, low = digest >> 64, digest & MASK
                for p in range(probes):
                    row = mix(high + p * low & MASK) * rows >> 64
                    found &= bits >> row * columns
            yield from (block for c, block in enumerate(blocks) if found >> c & 1 and block != 2**32 - 1)

    def look_up(self, text):
        """The path and the start of the blocks."""
        keys = list(keys_of(text)) if self.words else [(text, 8)]
        numbered = [(path, number) for path, numbers in self.files for number in range(numbers[7])]
        return [[numbered[block][0].decode(), self.blocks[block][0]] for block in sorted(self.may_have(keys))]


def classes(text):
    """For each character its bytes, and whether it is no letter (0), a letter (1) or a word (2)."""
    at = 0
    while at < len(text):
        for length in (1, 2, 3, 4):
            try:
                letter = ord(text[at:at + length].decode())
                break
            except (UnicodeDecodeError, TypeError):
                continue
        else:
            length, letter = 1, 0
        if letter < 0x80:
            kind = int(chr(letter).isalnum() or letter == 0x5F)
        else:
            kind = 0 if among(OTHERS, letter) else 2 if among(SINGLES, letter) else 1
        yield at, at + length, kind
        at += length


def keys_of(text):
    text = bytes(byte + 32 if 0x41 <= byte <= 0x5A else byte for byte in text)
    words = []
    for start, end, kind in classes(text):
        if kind == 1 and words and words[-1][1] == start and words[-1][2] == 1:
            words[-1][1] = end
        elif kind:
            words.append([start, end, kind])
    for start, end, _ in words:
        length = end - start
        yield text[start:end], 2 if length <= 3 else 4 if length <= 7 else 8 if length <= 11 else 12
    for three in zip(words, words[1:], words[2:]):
        joined = all(right[0] - left[1] <= 1 and text[left[1]:right[0]] not in (b" ", b"\t", b"\r", b"\n") for left, right in zip(three, three[1:]))
        if joined and all(end - start <= 3 for start, end, _ in three):
            yield text[three[0][0]:three[2][1]], 5


def check_manifest(path):
    count = 0
    for case in json.loads(path.read_text()):
        file = (path.parent / case["file"]).read_bytes()
        index = Index(file)
        for text, expected in case["answers"].items():
            require(index.look_up(text.encode()) == expected, f"{case['file']}: {text}: {index.look_up(text.encode())}")
            count += 1
        for at in range(0, len(file), 509):
            damaged = bytearray(file)
            damaged[at] ^= 8
            try:
                Index(bytes(damaged))
            except ValueError:
                continue
            raise SystemExit(f"{case['file']}: byte {at} may be damaged")
    print(f"{count} look-ups in indexes are right")


if __name__ == "__main__":
    path = pathlib.Path(sys.argv[1])
    if path.suffix == ".json":
        check_manifest(path)
    else:
        index = Index(path.read_bytes())
        for text in sys.argv[2:]:
            print(*index.look_up(text.encode()), sep="\n")
