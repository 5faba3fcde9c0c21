"""An independent reader of umbel files, kinds blocked, classic, sliced, counting, scalable,
stable, window, bloomier, attributes, coded and cascade.

Written from FORMAT.md alone, without a look at the Rust code: it shows that the document suffices.
Needs Python 3 and the package xxhash. Comments name the sections of FORMAT.md.

    reader.py MANIFEST.json                checks the golden files next to it, and the changes that must be refused
    reader.py FILE.umbel [--secret HEX]    prints those lines of stdin that may be in the filter
"""
import argparse, itertools, json, pathlib, struct, sys
import xxhash

MASK = 2**64 - 1
CHUNK = 2**20
MAGIC = b"\x89UMBEL\r\n"
KINDS = {1: "blocked", 2: "classic", 3: "sliced", 4: "counting", 5: "scalable", 6: "stable", 7: "window",
         8: "bloomier", 9: "attributes", 10: "coded", 11: "cascade"}
ALGORITHMS = {1: "xxh3-128", 2: "siphash-1-3-128", 3: "hashes of the caller"}
START = struct.Struct("<8sHHIH2sIQQQdQ")  # section 2; 64 bytes that all kinds share
START_FIELDS = ("magic version kind header_length algorithm zeros_18 description_length seed key_id payload_length "
                "planned_fpp planned_keys").split()
SINGLE = struct.Struct("<QI")  # section 2, kinds 1 to 3, from byte 64 on
CHAIN = struct.Struct("<II")  # section 9, kind 5, from byte 64 on
ROWS = struct.Struct("<QIII4s")  # section 13, kind 9, from byte 64 on
CODED = struct.Struct("<QII")  # section 14, kind 10, from byte 64 on
COUNTERS = struct.Struct("<QII")  # section 8, kind 4, from byte 64 on
CELLS = struct.Struct("<QIIQQ")  # section 10, kind 6, from byte 64 on
LINK = struct.Struct("<QdQQI4s")  # section 9; 40 bytes
LINK_FIELDS = "keys fpp taken bits probes zeros".split()
WINDOW = struct.Struct("<QIIQQ")  # section 11, kind 7, from byte 64 on
FUSE = struct.Struct("<IIIIIIQ")  # section 12, kind 8, from byte 64 on
LEVELS = struct.Struct("<IIQQQ")  # section 15, kind 11, from byte 64 on
LEVEL = struct.Struct("<QdQI4s")  # section 15; 32 bytes
LEVEL_FIELDS = "keys fpp bits probes zeros".split()
GOLDEN = 0x9e3779b97f4a7c15
OWN_HASH, OWN_PAIR = 0x6f776e2068617368, 0x6f776e2070616972  # section 18


class Refused(ValueError):
    """Why a file is refused, and the step of section 2 that refuses it."""
    def __init__(self, what, step):
        super().__init__(what)
        self.step = step


def require(condition, what, step=3):
    if not condition:
        raise Refused(what, step)


def xxh3(data, seed):
    return xxhash.xxh3_64_intdigest(data, seed=seed)


def read_header(data):
    """The fields of sections 2 and 8 to 15, each checked, in the order that section 2 gives."""
    require(data[:8] == MAGIC, "magic", 1)
    require(len(data) >= 128, "shorter than a header", 1)
    h = dict(zip(START_FIELDS, START.unpack_from(data)))
    require(h["version"] == 1, "version", 1)
    declared = h["header_length"]
    length = declared if declared % 64 == 0 and 128 <= declared <= 131072 else 128
    require(len(data) >= length, "shorter than its header", 1)
    require(int.from_bytes(data[length - 8:length], "little") == xxh3(data[:length - 8], 0), "header checksum", 2)
    require(h["kind"] in KINDS, "kind")
    require(h["description_length"] <= min(32768, length - 72), "description_length")
    h["description"] = read_description(data[length - 8 - h["description_length"]:length - 8])
    if h["kind"] == 5:
        read_links(h, data, length)
    elif h["kind"] == 7:
        read_window(h, data, length)
    elif h["kind"] == 9:
        read_attributes(h, data, length)
    elif h["kind"] == 10:
        bits, probes, h["detail"] = CODED.unpack_from(data, 64)
        check_end(h, data, length, 80)
        require(probes == 1, "probes")
        require(2 <= h["detail"] <= 40, "detail")
        h["links"] = [{"bits": bits, "probes": probes}]
    elif h["kind"] == 4:
        bits, probes, detail = COUNTERS.unpack_from(data, 64)
        check_end(h, data, length, 80)
        require(detail in (4, 8, 16), "counter_bits")
        require(bits % (512 * detail) == 0, "bits")
        h["links"], h["detail"] = [{"bits": bits, "probes": probes}], detail
    elif h["kind"] == 6:
        bits, probes, detail, lowered, _insertions = CELLS.unpack_from(data, 64)
        check_end(h, data, length, 96)
        require(1 <= detail <= 8, "cell_bits")
        cells = 64 // detail * (bits // 64)
        require(bits % 512 == 0 and cells > probes, "bits")
        require(1 <= lowered <= cells, "lowered")
        h["links"], h["detail"] = [{"bits": bits, "probes": probes}], detail
    elif h["kind"] == 8:
        return read_fuse(h, data, length)
    elif h["kind"] == 11:
        read_levels(h, data, length)
    else:
        bits, probes = SINGLE.unpack_from(data, 64)
        check_end(h, data, length, 76)
        h["links"] = [{"bits": bits, "probes": probes}]
    check_common(h)
    for link in h["links"]:
        require(1 <= link["probes"] <= 32, "probes")
        unit = {2: 1, 3: link["probes"]}.get(link.get("kind", h["kind"]), 512 * link.get("generations", 1))
        require(1 <= link["bits"] <= 2**48 and link["bits"] % unit == 0, "bits")
    listed = h.get("listed", 0)
    require(sum(link["bits"] for link in h["links"]) + 128 * listed <= 2**48, "bits of all links")
    payload_length = sum(64 * -(-link["bits"] // 512) for link in h["links"]) + 64 * -(-listed // 4)
    require(h["payload_length"] == payload_length, "payload_length")
    return h


def read_description(data):
    """The names and values of section 2.1."""
    texts = []
    while data:
        require(len(data) >= 2, "description")
        (size,) = struct.unpack_from("<H", data)
        require(len(data) >= 2 + size, "description")
        texts.append(text(data[2:2 + size], "description"))
        data = data[2 + size:]
    names = texts[::2]
    require(len(texts) % 2 == 0 and len(names) <= 256, "description")
    require(all(1 <= len(name.encode()) <= 255 for name in names), "description")
    return [list(entry) for entry in zip(names, texts[1::2])]


def text(data, what):
    try:
        return bytes(data).decode()
    except UnicodeDecodeError:
        raise Refused(f"{what} that is not UTF-8", 3) from None


def check_end(h, data, length, end):
    """What comes after the fields of a kind, which end at `end`: section 2."""
    described = h["description_length"]
    require(h["header_length"] == length == max(128, 64 * -(-(end + described + 8) // 64)), "header_length")
    require(not any(data[end:length - 8 - described]), "reserved bytes")


def check_common(h):
    """The fields that all kinds share."""
    require(h["algorithm"] in ALGORITHMS, "algorithm")
    require(not any(h["zeros_18"]), "reserved bytes")
    require(h["algorithm"] != 2 or h["seed"] == 0, "seed")
    require(h["algorithm"] == 2 or h["key_id"] == 0, "key_id")
    require(0 < h["planned_fpp"] < 1, "planned_fpp")  # false for NaN too
    require(h["planned_keys"] >= 1, "planned_keys")


def read_fuse(h, data, length):
    """The fields of section 12."""
    check_common(h)
    shards, size, segments, prints, values, positions, keys = FUSE.unpack_from(data, 64)
    require(1 <= shards <= 8000, "shards")
    require(96 + 8 * shards <= length - 8, "header_length")
    check_end(h, data, length, 96 + 8 * shards)
    require(positions == 1, "positions")
    require(2 <= size <= 2**18 and size & size - 1 == 0, "segment_length")
    slots = (segments + 2) * size
    require(segments >= 1 and slots <= 2**24, "segments")
    require(prints <= 64 and values <= 64 and 1 <= prints + values <= 64, "fingerprint_bits and value_bits")
    kept = 2.0**-prints <= h["planned_fpp"] if prints else h["planned_fpp"] == 1 - 2.0**-53
    require(kept, "planned_fpp")
    require(keys <= h["planned_keys"] and keys <= shards * slots, "keys")
    seeds = struct.unpack_from(f"<{shards}Q", data, 96)
    width = prints + values
    shard_bytes = 64 * -(-slots * width // 512)
    require(h["payload_length"] == shards * shard_bytes, "payload_length")
    h["fuse"] = (size, segments, prints, width, shard_bytes, seeds)
    h["links"], h["detail"] = [{"bits": 8 * shards * shard_bytes, "probes": 3}], prints + 256 * values
    return h


def read_levels(h, data, length):
    """The fields of section 15."""
    count, form, included, excluded, listed = LEVELS.unpack_from(data, 64)
    require(form in (0, 1), "form")
    require(1 <= count <= (1 if form else 128), "levels")
    check_end(h, data, length, 96 + 32 * count)
    require(included <= h["planned_keys"], "included")
    require(listed <= (excluded if form else 0), "listed")
    h["listed"], h["detail"] = listed, form
    h["links"] = [dict(zip(LEVEL_FIELDS, LEVEL.unpack_from(data, 96 + 32 * i))) for i in range(count)]
    most = [h["planned_keys"], excluded, included]
    for i, level in enumerate(h["links"]):
        require((1 if i else h["planned_keys"]) <= level["keys"] <= most[i], "level_keys")
        require(level["fpp"] == h["planned_fpp"] if i == 0 else 0 < level["fpp"] < 1, "level_fpp")
        require(not any(level["zeros"]), "reserved bytes")
        if i:
            most.append(level["keys"])


def read_links(h, data, length):
    """The table of section 9."""
    count, growth = CHAIN.unpack_from(data, 64)
    require(growth in (0, 1), "growth")
    require(1 <= count <= (48, 1024)[growth], "links")
    check_end(h, data, length, 72 + 40 * count)
    h["detail"] = growth
    h["links"] = [dict(zip(LINK_FIELDS, LINK.unpack_from(data, 72 + 40 * i))) for i in range(count)]
    for i, link in enumerate(h["links"]):
        keys, fpp = h["planned_keys"] << i, h["planned_fpp"] * 2.0**-(i + 1)
        if growth == 1:
            keys, fpp = h["planned_keys"], h["planned_fpp"] * 0.6079271018540267 / float((i + 1)**2)
        require(link["keys"] == keys, "link_keys")
        require(link["fpp"] == fpp, "link_fpp")
        least = link["keys"] if i < count - 1 else min(i, 1)
        require(least <= link["taken"] <= link["keys"], "link_taken")
        require(not any(link["zeros"]), "reserved bytes")


def read_window(h, data, length):
    """The fields of section 11."""
    bits, probes, count, span, number = WINDOW.unpack_from(data, 64)
    require(2 <= count <= 8, "generations")
    check_end(h, data, length, 96 + 8 * count)
    taken = struct.unpack_from(f"<{count}Q", data, 96)
    full = -(-h["planned_keys"] // (count - 1))
    if span:
        require(number <= MASK // -(-span // (count - 1)), "number")
    for place in range(count):
        if number < place:
            require(taken[place] == 0, "taken, of a generation to come")
        elif span == 0:
            newest = place == number % count
            require(taken[place] < full if newest else taken[place] == full, "taken")
    h["links"] = [{"bits": bits, "probes": probes, "generations": count}]
    h["detail"] = count
    h["generations"] = taken


def read_attributes(h, data, length):
    """The fields and names of section 13; the filters inside become the links."""
    bits, probes, h["detail"], count, zeros = ROWS.unpack_from(data, 64)
    h["tags"], kind = h["detail"] % 10, 1 + h["detail"] // 10
    require(h["tags"] <= 2 and kind <= 2, "detail")
    require(1 <= count <= (8 if h["tags"] == 2 else 64), "attributes")
    names, at = [], 88
    end = length - 8 - h["description_length"]
    for _ in range(count):
        require(at + 4 <= end, "header_length")
        (size,) = struct.unpack_from("<I", data, at)
        require(1 <= size <= 255, "name_length")
        require(at + 4 + size <= end, "header_length")
        names.append(text(data[at + 4:at + 4 + size], "name"))
        at += 4 + size
    require(len(set(names)) == count, "names")
    check_end(h, data, length, at)
    require(not any(zeros), "reserved bytes")
    tags = 0 if count == 1 else (0, 1, 2**count - count - 1)[h["tags"]]
    h["names"] = names
    h["links"] = [{"bits": bits, "probes": probes, "kind": kind} for _ in names]
    if tags:
        h["links"].append({"bits": bits * tags, "probes": probes, "kind": kind})


def read_filter(data):
    """The header and the payloads of all links of a file, after every check of section 2."""
    data = memoryview(data)
    h = read_header(data)
    start, length = h["header_length"], h["payload_length"]
    chunks = -(-length // CHUNK)
    require(len(data) == start + length + 8 * chunks + 8, "length of the file", 4)
    payload, table = data[start:start + length], data[start + length:-8]
    require(xxh3(table, chunks) == int.from_bytes(data[-8:], "little"), "table checksum", 5)
    for i, checksum in enumerate(struct.unpack(f"<{chunks}Q", table)):
        require(xxh3(payload[i * CHUNK:(i + 1) * CHUNK], i) == checksum, f"checksum of chunk {i}", 5)
    if h["kind"] == 8:
        size, segments, prints, width, shard_bytes, seeds = h["fuse"]
        used = (segments + 2) * size * width
        for i in range(len(seeds)):
            shard = int.from_bytes(payload[i * shard_bytes:(i + 1) * shard_bytes], "little")
            require(shard >> used == 0, "padding bits", 6)
        return h, [payload]
    payloads = []
    for link in h["links"]:
        size = 64 * -(-link["bits"] // 512)
        payloads.append(payload[:size])
        payload = payload[size:]
        last = link["bits"] // 8  # the byte with the first bit of padding, if there is padding
        require(int.from_bytes(payloads[-1][last:], "little") >> link["bits"] % 8 == 0, "padding bits", 6)
    for place, taken in enumerate(h.get("generations", ())):
        blocks = range(64 * place, len(payloads[0]), 64 * len(h["generations"]))
        require(taken or not any(any(payloads[0][at:at + 64]) for at in blocks), "bits of an empty generation", 6)
    if h["kind"] == 10:
        h["buckets"] = read_buckets(h, payloads[0])
    if h["kind"] == 6:
        link = h["links"][0]
        payloads = [used_cells(payloads[0], h["detail"])]
        link["all_bits"], link["bits"] = link["bits"], 64 // h["detail"] * (link["bits"] // 64)
    if h["kind"] == 4:
        link = h["links"][0]
        payloads = [nonzero(payloads[0], h["detail"])]
        link["all_bits"], link["bits"] = link["bits"], link["bits"] // h["detail"]
    if h["kind"] == 11:
        listed = h["listed"]
        h["list"] = list(struct.iter_unpack("<QQ", payload[:16 * listed]))
        require(all(a < b for a, b in itertools.pairwise(h["list"])), "order of the list", 6)
        require(not any(payload[16 * listed:]), "padding of the list", 6)
    return h, payloads


def nonzero(payload, detail):
    """A bit for each counter that is not 0, as kind 1 has them: section 8."""
    bits = bytearray()
    for start in range(0, len(payload), 64 * detail):
        lines = [int.from_bytes(payload[start + 64 * p:start + 64 * (p + 1)], "little") for p in range(detail)]
        low, high = lines[0] | lines[1], 0
        for line in lines[2:]:
            high |= line
        require(high & ~low == 0, "a pattern that is a multiple of 4", 6)
        bits += low.to_bytes(64, "little")
    return bytes(bits)


def used_cells(payload, detail):
    """A bit for each cell that is not 0: section 10."""
    used, position = bytearray(len(payload)), 0
    for (word,) in struct.iter_unpack("<Q", payload):
        require(word >> 64 // detail * detail == 0, "bits after the last cell of a word", 6)
        for i in range(64 // detail):
            if word >> detail * i & 2**detail - 1:
                used[position // 8] |= 1 << position % 8
            position += 1
    return bytes(used)


def read_buckets(h, payload):
    """The codes of each bucket, and whether it is full: section 14."""
    buckets, code = [], h["detail"]
    count = 512 // code
    for at in range(0, len(payload), 64):
        number = int.from_bytes(payload[at:at + 64], "little")
        cells = [number >> code * j & (1 << code) - 1 for j in range(count)]
        used = cells.index(0) if 0 in cells else count
        require(number >> code * used == 0, "bits after an empty cell or the last one", 6)
        buckets.append((frozenset(cells[:used]), used == count))
    return buckets


def walk(h, high, low):
    """Whether the code of a hash is met from its home on: section 14."""
    buckets = h["buckets"]
    code, home = 1 + place(low, 2**h["detail"] - 1), place(high, len(buckets))
    for step in range(min(len(buckets), 512)):
        codes, full = buckets[(home + step) % len(buckets)]
        if code in codes:
            return True
        if not full:
            return False
    return False


def siphash_128(key, secret, word_rounds=1, final_rounds=3):
    """SipHash with 128-bit output: its first and its last 8 bytes as two numbers."""
    def rotate(x, n):
        return (x << n | x >> 64 - n) & MASK

    def rounds(n, v0, v1, v2, v3):
        for _ in range(n):
            v0 = v0 + v1 & MASK; v1 = rotate(v1, 13) ^ v0; v0 = rotate(v0, 32)
            v2 = v2 + v3 & MASK; v3 = rotate(v3, 16) ^ v2
            v0 = v0 + v3 & MASK; v3 = rotate(v3, 21) ^ v0
            v2 = v2 + v1 & MASK; v1 = rotate(v1, 17) ^ v2; v2 = rotate(v2, 32)
        return v0, v1, v2, v3

    k0, k1 = struct.unpack("<QQ", secret)
    v0, v1, v2, v3 = (k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ 0xee,
                      k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573)
    padded = key + bytes(7 - len(key) % 8) + bytes([len(key) & 255])
    for (word,) in struct.iter_unpack("<Q", padded):
        v0, v1, v2, v3 = rounds(word_rounds, v0, v1, v2, v3 ^ word)
        v0 ^= word
    v0, v1, v2, v3 = rounds(final_rounds, v0, v1, v2 ^ 0xee, v3)
    first = v0 ^ v1 ^ v2 ^ v3
    v0, v1, v2, v3 = rounds(final_rounds, v0, v1 ^ 0xdd, v2, v3)
    return first, v0 ^ v1 ^ v2 ^ v3


def hash_key(h, key, secret):
    """The pair (H, L) of section 3."""
    if h["algorithm"] == 1:
        return divmod(xxhash.xxh3_128_intdigest(key, seed=h["seed"]), 2**64)
    if h["algorithm"] == 3:  # one of the golden files' own functions: section 18
        high, low = divmod(xxhash.xxh3_128_intdigest(key, seed=0), 2**64)
        if h["seed"] == OWN_PAIR:
            return high >> 56 << 56, low
        require(h["seed"] == OWN_HASH, "hashes of an unknown function")
        low = high * GOLDEN & MASK
        return high, (low >> 16 | low << 48) & MASK
    low, high = siphash_128(key, secret)
    return high, low


def mix(z):
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & MASK
    z = (z ^ z >> 27) * 0x94d049bb133111eb & MASK
    return z ^ z >> 31


def stretch(low, n):
    return mix(low + n * GOLDEN & MASK) if n else low


def place(x, places):
    return x * places >> 64


def positions(kind, link, high, low):
    """The bits of a hash: sections 5 to 7, and of kind 6 its cells."""
    bits, probes = link["bits"], link["probes"]
    if kind == 3:
        size = bits // probes
        return (i * size + place(mix(high + i * low & MASK), size) for i in range(probes))
    if kind in (2, 6):
        return (place(mix(high + i * low & MASK), bits) for i in range(probes))
    start = 512 * place(high, bits // 512)
    if probes % 8 == 0:  # lanes: p = 8 r + i
        return (start + 64 * (p % 8) + (stretch(low, p // 8) >> 6 * (p % 8) & 63) for p in range(probes))
    return (start + (stretch(low, p // 7) >> 9 * (p % 7) & 511) for p in range(probes))  # scatter


def fuse_value(h, payload, high, low):
    """The value of a hash, None if its slots have not its fingerprint: section 12."""
    size, segments, prints, width, shard_bytes, seeds = h["fuse"]
    shard = place(high, len(seeds))
    product = (low ^ seeds[shard]) * high
    x = product >> 64 ^ product & MASK
    first = place(x, segments * size)
    slots = (first, first + size ^ x >> 18 & size - 1, first + 2 * size ^ x & size - 1)
    found = 0
    for slot in slots:
        bit = 8 * shard * shard_bytes + slot * width
        found ^= int.from_bytes(payload[bit // 8:bit // 8 + 9], "little") >> bit % 8 & (1 << width) - 1
    return found >> prints if (found ^ high) & (1 << prints) - 1 == 0 else None


def cascade_matches(h, payloads, high, low):
    """Whether the first level that does not hold the key has an odd number, and the list has it not: section 15."""
    if (high, low) in h["list"]:
        return False
    for i, (level, payload) in enumerate(zip(h["links"], payloads)):
        other = mix(high - i * GOLDEN & MASK)
        here = (other, mix(low + other & MASK)) if i else (high, low)
        if not all(payload[p // 8] >> p % 8 & 1 for p in positions(1, level, *here)):
            return i % 2 == 1
    return len(payloads) % 2 == 1


def may_contain(h, payloads, key, secret):
    """Whether any link may hold the key, under the hash it has there: section 9; or any generation: section 11."""
    hashed = hash_key(h, key, secret)
    if h["kind"] == 7:
        (link,), (payload,) = h["links"], payloads
        count = link["generations"]
        alone = dict(link, bits=link["bits"] // count)
        found = [list(positions(1, alone, *hashed))]
        # Block b of generation g is block b G + g.
        found = [[p % 512 + 512 * (p // 512 * count + g) for p in found[0]] for g in range(count)]
        return any(all(payload[p // 8] >> p % 8 & 1 for p in bits) for bits in found)
    if h["kind"] == 9:  # a single key
        count = len(h["names"])
        if len(h["links"]) == 1:
            return passes(h, payloads, 0, hashed)
        return len(h["links"]) == count or passes(h, payloads, count, part(hashed, 2**count - 1))
    if h["kind"] == 8:
        return fuse_value(h, payloads[0], *hashed) is not None
    if h["kind"] == 10:
        return walk(h, *hashed)
    if h["kind"] == 11:
        return cascade_matches(h, payloads, *hashed)
    for i in range(len(payloads)):
        if passes(h, payloads, i, part(hashed, i)):
            return True
    return False


def part(hashed, n):
    """The hash of a key in part n: sections 8 and 13."""
    return tuple(mix(half - n * GOLDEN & MASK) for half in hashed) if n else hashed


def passes(h, payloads, i, hashed):
    """Whether all bits of a hash are set in one of the filters inside."""
    link, payload = h["links"][i], payloads[i]
    kind = link.get("kind", h["kind"])
    return all(payload[p // 8] >> p % 8 & 1 for p in positions(kind, link, *hashed))


def join(values):
    """The key of several fields: section 3."""
    return b"".join(struct.pack("<I", len(value)) + value for value in values)


def tagged(h, subset):
    """Whether the values of these attributes have a joint tag: section 13."""
    if subset & subset - 1 == 0:
        return False
    return h["tags"] == 2 or h["tags"] == 1 and subset == 2**len(h["names"]) - 1


def may_contain_row(h, payloads, values, secret):
    """Whether a row may have these values, None for those not asked: section 13."""
    asked = [(i, value) for i, value in enumerate(values) if value is not None]
    if not all(passes(h, payloads, i, part(hash_key(h, value, secret), i)) for i, value in asked):
        return False
    subset = sum(1 << i for i, _ in asked)
    if not tagged(h, subset):
        return True
    joined = join(value for _, value in asked)
    return passes(h, payloads, len(values), part(hash_key(h, joined, secret), subset))


def lowest_counter(payload, detail, blocks, probes, high, low):
    """The lowest counter of a hash: section 8."""
    link = {"bits": 512 * blocks, "probes": probes}
    counts = []
    for position in positions(1, link, high, low):
        b, j = divmod(position, 512)
        bits = [512 * (detail * b + plane) + j for plane in range(detail)]
        pattern = sum((payload[bit // 8] >> bit % 8 & 1) << plane for plane, bit in enumerate(bits))
        counts.append(3 * (pattern // 4) + pattern % 4)
    return min(counts)


def check_secret(h, secret):
    if h["algorithm"] == 2:
        require(secret is not None and len(secret) == 16, "algorithm 2 needs a secret of 16 bytes")
        require(siphash_128(b"umbel key id", secret)[0] == h["key_id"], "key_id is another secret's")
    else:
        require(secret is None, "algorithms 1 and 3 have no secret")


def check_vector(folder, vector):
    """Checks one golden file against its entry in the manifest."""
    data = (folder / vector["file"]).read_bytes()
    h, payloads = read_filter(data)
    secret = None if vector["secret"] is None else bytes.fromhex(vector["secret"])
    check_secret(h, secret)
    named = dict(h, kind=KINDS[h["kind"]], algorithm=ALGORITHMS[h["algorithm"]],
                 bits=h["links"][0].get("all_bits", h["links"][0]["bits"]), probes=h["links"][0]["probes"],
                 detail=h.get("detail", 0))
    vector.setdefault("detail", 0)
    for field in ("kind", "detail", "planned_keys", "planned_fpp", "bits", "probes", "algorithm", "seed"):
        require(named[field] == vector[field], f"{field} is {named[field]}, not {vector[field]}")

    chain = [{field: link[field] for field in ("taken", "bits", "probes")} for link in h["links"] if "taken" in link]
    require(chain == vector.get("links", []), f"links are {chain}")
    generations = list(h.get("generations", []))
    require(generations == vector.get("generations", []), f"generations are {generations}")

    require(h.get("names", []) == vector.get("attributes", []), f"attributes are {h.get('names')}")
    require(h["description"] == vector.get("description", []), f"the description is {h['description']}")

    def row(prefix, i):
        return [f"{prefix}{i >> j}".encode() for j in range(len(h["names"]))]

    if h["kind"] == 4:
        start, link = h["header_length"], h["links"][0]
        payload = data[start:start + h["payload_length"]]
        of_first = (f"{vector['member_prefix']}{i}".encode() for i in range(min(10, vector["members"])))
        hashes = [hash_key(h, key, secret) for key in of_first]
        counts = [lowest_counter(payload, h["detail"], link["bits"] // 512, link["probes"], *hashed) for hashed in hashes]
        require(counts == vector.get("counts", []), f"counts are {counts}")
    if h["kind"] == 8 and h["detail"] > 255:
        bits = h["detail"] // 256
        for i in range(vector["members"]):
            hashed = hash_key(h, f"{vector['member_prefix']}{i}".encode(), secret)
            value = fuse_value(h, payloads[0], *hashed)
            require(value == (i * GOLDEN & MASK) >> 64 - bits, f"member {i} has the value {value}")
    if h["kind"] == 9:
        def single(prefix, i):
            values = row(prefix, i)
            return may_contain(h, payloads, values[0] if len(values) == 1 else join(values), secret)

        keys = range(vector["probes_tried"])
        passing = list(itertools.islice((i for i in keys if single(vector["probe_prefix"], i)), 10))
        require(passing == vector.get("single_keys", []), f"single keys {passing} pass")
        require(all(single(vector["member_prefix"], i) for i in range(vector["members"])), "single keys of members")

    def member(i):
        if h["kind"] == 9:
            return may_contain_row(h, payloads, row(vector["member_prefix"], i), secret)
        return may_contain(h, payloads, f"{vector['member_prefix']}{i}".encode(), secret)

    def probe(i):
        if h["kind"] != 9:
            return may_contain(h, payloads, f"{vector['probe_prefix']}{i}".encode(), secret)
        count = len(h["names"])
        subset = 1 + i % (2**count - 1)
        values = row(vector["probe_prefix"], i)
        if vector["members"] and i % 2 and tagged(h, subset):  # each value from another row
            values = [row(vector["member_prefix"], (i + 37 * j) % vector["members"])[j] for j in range(count)]
        return may_contain_row(h, payloads, [v if subset >> j & 1 else None for j, v in enumerate(values)], secret)

    members = sum(map(member, range(vector["members"])))
    require(members + vector.get("forgotten", 0) == vector["members"], f"{members} of {vector['members']} members found")
    false = list(itertools.islice(filter(probe, range(vector["probes_tried"])), 10))
    excluded = (f"{vector.get('excluded_prefix', '')}{i}".encode() for i in range(vector.get("excluded", 0)))
    wrongly = sum(may_contain(h, payloads, key, secret) for key in excluded)
    require(wrongly == 0, f"{wrongly} of those excluded found")
    require(false == vector["false_positives"], f"false positives {false}, not {vector['false_positives']}")


def changed(golden, change):
    """A golden file with a change: section 18.1."""
    data = bytearray(golden)
    for at, digits in change.get("bytes", []):
        new = bytes.fromhex(digits)
        data[at:at + len(new)] = new
    data = data[:change.get("length", len(data))]
    data += bytes(change.get("length", len(data)) - len(data))
    if change.get("sealed"):
        header, table = int.from_bytes(golden[12:16], "little"), len(golden) - 16
        data[header - 8:header] = xxh3(data[:header - 8], 0).to_bytes(8, "little")
        data[table:table + 8] = xxh3(data[header:table], 0).to_bytes(8, "little")
        data[table + 8:] = xxh3(data[table:table + 8], 1).to_bytes(8, "little")
    return bytes(data)


def check_change(folder, change):
    """Checks that a change is refused at its step."""
    try:
        read_filter(changed((folder / change["file"]).read_bytes(), change))
        step, why = 0, "nothing"
    except Refused as error:
        step, why = error.step, error
    require(step == change["step"], f"{change['what']}: refused at step {step}, not {change['step']}, for {why}")


def check_manifest(path):
    manifest = json.loads(path.read_text())
    failed = 0
    for check, cases in ((check_vector, manifest["vectors"]), (check_change, manifest["changes"])):
        wrong = []
        for case in cases:
            try:
                check(path.parent, case)
            except (ValueError, OSError) as error:
                wrong.append(f"FAILED  {case['file']}: {error}")
        what = "files" if check is check_vector else "changes"
        print(*wrong, f"{len(cases) - len(wrong)} {what} passed, {len(wrong)} failed", sep="\n")
        failed += len(wrong) + (not cases)
    return 1 if failed else 0


def filter_lines(path, secret):
    h, payloads = read_filter(path.read_bytes())
    require(h["algorithm"] != 3, "its hashes were made by a function that only its maker knows")
    check_secret(h, secret)
    for line in sys.stdin.buffer:  # split at line feeds only
        key = line[:-1] if line.endswith(b"\n") else line
        if may_contain(h, payloads, key, secret):
            sys.stdout.buffer.write(key + b"\n")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--secret", type=bytes.fromhex, help="of algorithm 2, 32 hexadecimal digits")
    options = parser.parse_args()
    if options.file.suffix == ".json":
        return check_manifest(options.file)
    try:
        return filter_lines(options.file, options.secret)
    except (ValueError, OSError) as error:
        print(f"{options.file}: refused: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
