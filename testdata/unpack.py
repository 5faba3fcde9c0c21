"""Reads umbel's packed files, deltas, signatures, texts and messages of summaries, written from FORMAT.md, sections 20 to 22, alone.

    unpack.py manifest.json            checks the golden files
    unpack.py F.packed > F             unpacks a filter
    unpack.py D.delta OLD > NEW        patches a filter
    unpack.py --trust KEY F            checks a signature; prints the name and the number that it covers
"""

import hashlib, json, pathlib, struct, sys, unicodedata
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


# Ed25519: RFC 8032, section 5.1. Points have the coordinates (X, Y, Z, T) of section 5.1.4.
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0])
    c, d = 2 * p[3] * q[3] * D, 2 * p[2] * q[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, p):
    out = (0, 1, 1, 0)
    while n:
        if n & 1:
            out = add(out, p)
        p, n = add(p, p), n >> 1
    return out


def point(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    require(y < P, "a point")
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    require((x * x - square) % P == 0 and (x or not sign), "a point")
    x = P - x if (x & 1) != sign else x
    return x, y, 1, x * y % P


def same(p, q):
    return (p[0] * q[2] - q[0] * p[2]) % P == 0 and (p[1] * q[2] - q[1] * p[2]) % P == 0


def is_genuine(key, signature, data, context=b"umbel file"):
    """Ed25519ph: the hash of the data is signed. Keys of small order are refused."""
    try:
        a, r, s = point(key), point(signature[:32]), int.from_bytes(signature[32:], "little")
    except Refused:
        return False
    require(s < L and not same(times(8, a), (0, 1, 1, 0)), "a key or a signature")
    prefix = b"SigEd25519 no Ed25519 collisions" + bytes([1, len(context)]) + context
    k = hashlib.sha512(prefix + signature[:32] + key + hashlib.sha512(data).digest()).digest()
    base = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
    return same(times(s, base), add(r, times(int.from_bytes(k, "little") % L, a)))


def signature_of(data):
    """The file before a signature, and what that says: key, list and serial number; nothing if there is none."""
    block = data[-256:]
    if len(block) < 256 or block[:8] != b"\x89UMSIG\r\n":
        return data, None
    version, algorithm, zeros, length = struct.unpack_from("<HHIQ", block, 8)
    require((version, algorithm, zeros) == (1, 1, 0), "signature: version or algorithm")
    require(block[248:] == xxh3(block[:248]), "signature: checksum")
    require(length == len(data) - 256, "signature: length")
    name = block[64:184].rstrip(b"\0").decode()
    require(name == name.strip() and not any(unicodedata.category(c) == "Cc" for c in name), "signature: name of the list")
    return data[:-256], (block[24:56], name, struct.unpack_from("<Q", block, 56)[0])


def without_signature(data):
    return signature_of(data)[0]


def trusted(data, key):
    """The name and the number in a signature of this key, which is checked."""
    _, signed = signature_of(data)
    require(signed and signed[0] == key, "not signed by this key")
    require(is_genuine(key, data[-72:-8], data[:-72]), "forged")
    return signed[1:]


def text_of(text, sort):
    """The bytes in a text. Section 21."""
    first, digits, check, sum_of = text.split()
    require(first == sort and check == "check", f"a text of {sort}")
    require(bytes.fromhex(sum_of) == xxh3(f"{first} {digits} ".encode())[::-1], "check")
    return bytes.fromhex(digits)


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
    sum_of = xxh3 if base is None else lambda file: hashlib.sha256(file).digest()
    end = at + tail_length + len(sum_of(b""))
    require(data[at + tail_length:end] == sum_of(whole), "the filter's file")
    require(data[end:] == xxh3(data[at:end], frames), "end")
    require(base is None or without_signature(whole)[-8:] == data[40:48], "result_table")
    return whole


FORMS = {1: "full", 2: "delta", 3: "beat", 4: "request"}


def message(data, base=None):
    """The form, the cache and the filter of a message of a summary; a delta is applied to the file of its base."""
    require(data[:8] == b"\x89UMSUM\r\n", "magic")
    version, form, number = struct.unpack_from("<HHI", data, 8)
    require(version == 1 and form in FORMS and (form != 4 or number == 0), "version or form")
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
        require(without_signature(signed) == read(case["of"]), case["file"])
        key = text_of(case["public"], "umbel-public-key-1")
        require(trusted(signed, key) == (case["list"], case["serial"]), case["file"])
        for at in (7, len(signed) - 256 + 60, len(signed) - 50):
            forged = bytearray(signed)
            forged[at] ^= 1
            forged[-8:] = xxh3(forged[-256:-8])
            require(not is_genuine(key, bytes(forged[-72:-8]), bytes(forged[:-72])), f"{case['file']}: a forgery")
        count += 1
    for case in manifest["messages"]:
        base, result = (read(case[name]) if name in case else None for name in ("base", "result"))
        found = message(read(case["file"]), base)
        require(found == (case["form"], xxh3(case["cache"].encode()), result), case["file"])
        count += 1
    print(f"{count} packed files, deltas, signatures and messages passed")


def main():
    if sys.argv[1] == "--trust":
        key, file = map(pathlib.Path, sys.argv[2:])
        name, serial = trusted(file.read_bytes(), text_of(key.read_text(), "umbel-public-key-1"))
        return print(f"list {name!r}, serial {serial}")
    first, *others = map(pathlib.Path, sys.argv[1:])
    try:
        if first.suffix == ".json":
            return check_manifest(first)
        sys.stdout.buffer.write(unpack(first.read_bytes(), *(other.read_bytes() for other in others)))
    except (ValueError, OSError, StopIteration, struct.error, IndexError) as error:
        sys.exit(f"{first}: refused: {error!r}")


if __name__ == "__main__":
    main()
