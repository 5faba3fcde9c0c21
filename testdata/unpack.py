"""Reads umbel's packed files, deltas, signatures and messages of summaries, written from FORMAT.md, sections 20, 21 and 23, alone.

    unpack.py manifest.json            checks the golden files
    unpack.py F.packed > F             unpacks a filter
    unpack.py D.delta OLD > NEW        patches a filter

The signature itself is not checked: Python has no Ed25519.
"""

import json, pathlib, struct, sys
import xxhash

FRAME = 1 << 20
MAGICS = {b"\x89UMPAK\r\n": 24, b"\x89UMDLT\r\n": 48}


class Refused(ValueError):
    pass


def require(condition, what):
    if not condition:
        raise Refused(what)


def xxh3(data, seed=0):
    return struct.pack("<Q", xxhash.xxh3_64_intdigest(data, seed))


def without_signature(data):
    """The file before a signature, if it has one."""
    block = data[-128:]
    if len(block) < 128 or block[:8] != b"\x89UMSIG\r\n":
        return data
    version, algorithm, zeros, length = struct.unpack_from("<HHIQ", block, 8)
    require((version, algorithm, zeros) == (1, 1, 0), "signature: version or algorithm")
    require(block[120:] == xxh3(block[:120]), "signature: checksum")
    require(length == len(data) - 128, "signature: length")
    return data[:-128]


def set_bits_table(code):
    by_bits = [0, *struct.unpack_from("<8H", code)]
    table = [by_bits[x.bit_count()] for x in range(256)]
    table[0] = (1 << 16) - sum(table)
    require(table[0] >= 0, "frequencies")
    return table, code[16:]


def byte_table(code):
    there = [x for x in range(256) if code[x // 8] >> (x % 8) & 1]
    table = [0] * 256
    for x, less_one in zip(there, struct.unpack_from(f"<{len(there)}H", code, 32)):
        table[x] = less_one + 1
    require(sum(table) == 1 << 16, "frequencies")
    return table, code[32 + 2 * len(there):]


def code_of_bytes(table, code, length):
    slots, starts, start = [], [], 0
    for x, f in enumerate(table):
        slots += [x] * f
        starts.append(start)
        start += f
    state = struct.unpack_from("<Q", code)[0]
    require(1 << 31 <= state < 1 << 63 and len(code) % 4 == 0, "state")
    words = iter(struct.unpack(f"<{len(code) // 4 - 2}I", code[8:]))
    out = bytearray()
    for _ in range(length):
        s = state & 0xFFFF
        x = slots[s]
        out.append(x)
        state = table[x] * (state >> 16) + s - starts[x]
        if state < 1 << 31:
            state = state << 32 | next(words)
    require(state == 1 << 31 and next(words, None) is None, "end of a code")
    return bytes(out)


def distances(code, length):
    count, r = struct.unpack_from("<IB", code)
    require(r <= 32, "r")
    bits = (byte >> i & 1 for byte in code[5:] for i in range(8))
    out, at = bytearray(length), 0
    for _ in range(count):
        high = 0
        while next(bits):
            high += 1
        at += (high << r) + sum(next(bits) << i for i in range(r))
        require(at < 8 * length, "a position")
        out[at // 8] |= 1 << at % 8
        at += 1
    rest = list(bits)
    require(len(rest) < 8 and not any(rest), "end of a code")
    return bytes(out)


def decode(form, code, length):
    if form == 0:
        require(len(code) == length, "stored")
        return code
    if form == 1:
        require(len(code) == 1, "equal")
        return code * length
    if form == 4:
        return distances(code, length)
    require(form in (2, 3), "form")
    table, code = set_bits_table(code) if form == 2 else byte_table(code)
    return code_of_bytes(table, code, length)


def frames_of(data, at, left, old):
    """The bytes in frames from `at` on, XOR old ones, continued with zeros; the end of the frames; their number."""
    payload, frames = b"", 0
    while left:
        length = min(left, FRAME)
        form, coded = struct.unpack_from("<BI", data, at)
        end = at + 5 + coded
        require(coded <= length and data[end:end + 8] == xxh3(data[at:end], frames), f"frame {frames}")
        piece = decode(form, data[at + 5:end], length)
        mask = old[len(payload):len(payload) + length].ljust(length, b"\0")
        payload += (int.from_bytes(piece, "little") ^ int.from_bytes(mask, "little")).to_bytes(length, "little")
        at, left, frames = end + 8, left - length, frames + 1
    return payload, at, frames


def unpack(data, base=None):
    """The filter's file in a packed file, or made from its base by a delta."""
    data = without_signature(data)
    fields = MAGICS.get(data[:8])
    require(fields, "magic")
    require((fields == 48) == (base is not None), "a delta needs a base, and a packed file none")
    version, zeros, header_length, tail_length = struct.unpack_from("<HHIQ", data, 8)
    require((version, zeros) == (1, 0), "version")
    at = fields + header_length
    header = data[fields:at]
    require(data[at:at + 8] == xxh3(data[:at]), "header")
    at += 8
    old = b""
    if base is not None:
        base = without_signature(base)
        old_header = struct.unpack_from("<I", base, 12)[0]
        require(base[old_header - 8:old_header] == data[24:32] and base[-8:] == data[32:40], "another base")
        old = base[old_header:old_header + struct.unpack_from("<Q", base, 40)[0]]
    left = struct.unpack_from("<Q", header, 40)[0]
    payload, at, frames = frames_of(data, at, left, old)
    tail = data[at:at + tail_length]
    whole = header + payload + tail
    end = at + tail_length + 8
    require(data[end - 8:end] == xxh3(whole), "the filter's file")
    require(data[end:] == xxh3(data[at:end], frames), "end")
    require(base is None or without_signature(whole)[-8:] == data[40:48], "result_table")
    return whole


FORMS = {1: "full", 2: "delta", 3: "beat", 4: "request"}


def message(data, base=None):
    """The form, the cache and the filter of a message of a summary; a delta is applied to the file of its base."""
    require(data[:8] == b"\x89UMSUM\r\n", "magic")
    version, form, zeros = struct.unpack_from("<HHI", data, 8)
    require((version, zeros) == (1, 0) and form in FORMS, "version or form")
    require(data[-8:] == xxh3(data[:-8]), "checksum")
    cache, epoch, sequence, state, keys, came, left, base_state = struct.unpack_from("<8Q", data, 16)
    body, file = data[80:-8], None
    if FORMS[form] == "full":
        file = unpack(body)
    elif FORMS[form] == "delta":
        require(xxh3(base) == data[72:80], "another base")
        start, length = struct.unpack_from("<I", base, 12)[0], struct.unpack_from("<Q", base, 40)[0]
        payload, end, _ = frames_of(body, 0, length, base[start:start + length])
        require(end == len(body), "frames")
        sums = b"".join(xxh3(payload[at:at + FRAME], at // FRAME) for at in range(0, length, FRAME))
        file = base[:start] + payload + sums + xxh3(sums, len(sums) // 8)
    else:
        require(not body, "body")
    require(file is None or xxh3(file) == data[40:48], "state")
    return FORMS[form], data[16:24], file


def check_manifest(path):
    manifest = json.loads(path.read_text())
    read = lambda name: (path.parent / name).read_bytes()
    count = 0
    for case in manifest["packed"]:
        require(unpack(read(case["file"])) == read(case["filter"]), case["file"])
        count += 1
    for case in manifest["deltas"]:
        require(unpack(read(case["file"]), read(case["base"])) == read(case["result"]), case["file"])
        count += 1
    for case in manifest["signed"]:
        signed = read(case["file"])
        require(without_signature(signed) == read(case["of"]) and len(signed) == len(read(case["of"])) + 128, case["file"])
        require(case["public"] == "umbel-public-key-1 " + signed[-104:-72].hex(), case["file"])
        count += 1
    for case in manifest["messages"]:
        base, result = (read(case[name]) if name in case else None for name in ("base", "result"))
        found = message(read(case["file"]), base)
        require(found == (case["form"], xxh3(case["cache"].encode()), result), case["file"])
        count += 1
    print(f"{count} packed files, deltas, signatures and messages passed")


def main():
    first, *others = map(pathlib.Path, sys.argv[1:])
    try:
        if first.suffix == ".json":
            return check_manifest(first)
        sys.stdout.buffer.write(unpack(first.read_bytes(), *(other.read_bytes() for other in others)))
    except (ValueError, OSError, StopIteration, struct.error, IndexError) as error:
        sys.exit(f"{first}: refused: {error!r}")


if __name__ == "__main__":
    main()
