"""Input that does not arise by accident: it is refused, or it is saved, loaded again, and answered in time and within the memory limits."""

import math
import struct

import pytest

from resp import Refused, Simple
from servers import Server, keys
from test_citizen import info
from test_valkey import VECTORS, begin, double, payload, text, unsigned

OK = Simple("OK")
MIB = 1 << 20
MOST = (1 << 64) - 1


def reloads(client, key):
    before = client("DEBUG", "DIGEST-VALUE", key)
    assert client("DEBUG", "RELOAD") == OK and client("DEBUG", "DIGEST-VALUE", key) == before


def cpu(client):
    """Processor seconds of the server, which other programs do not affect."""
    seconds = info(client, "cpu")
    return float(seconds["used_cpu_user"]) + float(seconds["used_cpu_sys"])


def chunks(client, family, key):
    iterator, chunk = client(f"{family}.SCANDUMP", key, 0)
    while iterator:
        yield iterator, chunk
        iterator, chunk = client(f"{family}.SCANDUMP", key, iterator)


FIELDS = [("items", 0, "Q"), ("links", 8, "I"), ("options", 12, "I"), ("growth", 16, "I")]
LINK = [("bytes", 0, "Q"), ("bits", 8, "Q"), ("items", 16, "Q"), ("error", 24, "d"), ("bits an entry", 32, "d"), ("hashes", 40, "I"), ("entries", 44, "Q"), ("n2", 52, "B")]


def with_another_field(header):
    """Headers that differ in one field, each with the field's name and value."""
    links = (len(header) - 20) // 53
    for name, at, kind in FIELDS + [(f"{name} of link {i}", 20 + 53 * i + at, kind) for i in range(links) for name, at, kind in LINK]:
        (value,) = struct.unpack_from(f"<{kind}", header, at)
        most = 256 ** struct.calcsize(kind) - 1
        numbers = {0, 1, value - 1, value + 1, 2 * value, value + 8, value + 64, 63, 64, most // 2 + 1, most}
        for other in (0.0, -value, value / 2, 3 * value, 0.9999, 1.0, math.inf, math.nan) if kind == "d" else sorted(number for number in numbers - {value} if 0 <= number <= most):
            changed = bytearray(header)
            struct.pack_into(f"<{kind}", changed, at, other)
            yield name, other, bytes(changed)


def test_headers_whose_fields_do_not_agree_are_bad_data(client, redisbloom):
    """Each field of header and links with other values: refused where RedisBloom refuses it, and nowhere else."""
    bad = Refused("ERR received bad data")
    with redisbloom.client() as theirs:
        for capacity, items in [(100, 20), (20, 50)]:
            client("DEL", "own"), client("BF.RESERVE", "own", 0.01, capacity), client("BF.MADD", "own", *range(items))
            _, header = client("BF.SCANDUMP", "own", 0)
            taken = set()
            # Bytes 72 to 79: the last field of the first link, and all but one byte of the first field of the second.
            for name, value, changed in [*with_another_field(header), ("", 0, header), ("8 bytes", 0, header[:72] + bytes(8) + header[80:])]:
                answers = [other("BF.LOADCHUNK", "loaded", 1, changed) for other in (client, theirs)]
                # Version 2.8.2, which the tests run, takes these two; later ones do not.
                if value != value or name.startswith("n2") and value > 63:
                    answers[1] = bad
                assert answers[0] == answers[1] and answers[0] in (OK, bad), (name, value)
                taken |= {name} if answers[0] == OK else set()
                client("DEL", "loaded"), theirs("DEL", "loaded")
            assert taken == {"", "options", "growth"} | {f"{field} of link {i}" for field in ("error", "entries", "n2") for i in range(len(header) // 53)}


def test_counts_near_the_end_of_numbers_are_saved_and_loaded(client):
    """One more item, and a snapshot that is refused would keep the server from starting."""
    client("BF.RESERVE", "own", 0.01, 4), client("BF.MADD", "own", *range(6))
    for iterator, chunk in list(chunks(client, "BF", "own")):
        if iterator == 1:
            header = bytearray(chunk)
            struct.pack_into("<Q", header, 0, MOST), struct.pack_into("<Q", header, 20 + 16, MOST - 2)
            chunk = bytes(header)
        assert client("BF.LOADCHUNK", "bloom", iterator, chunk) == OK
    assert client("BF.ADD", "bloom", "more") == 1
    reloads(client, "bloom")

    client("CF.ADD", "small", "a")
    for iterator, chunk in list(chunks(client, "CF", "small")):
        assert client("CF.LOADCHUNK", "cuckoo", iterator, struct.pack("<Q", MOST) + chunk[8:] if iterator == 1 else chunk) == OK
    assert client("CF.ADD", "cuckoo", "more") == 1 and client("CF.INFO", "cuckoo")[7] == (1 << 63) - 1
    reloads(client, "cuckoo")

    # The oldest link holds all keys that can be counted minus the other links' keys, or is planned for as many.
    most, file = (1 << 63) - 1, bytearray((VECTORS / "seed.bin").read_bytes())
    (array,) = struct.unpack_from("<Q", file, 30)
    (oldest,) = struct.unpack_from("<Q", file, 38 + array)
    assert client("BF.LOAD", "whole", bytes(file)) == OK
    for items, capacity in [(most - client("BF.CARD", "whole") + oldest, 1), (1, most)]:
        struct.pack_into("<QQ", file, 38 + array, items, capacity)
        assert client("BF.LOAD", "valkey", bytes(file)) == OK
        assert client("BF.ADD", "valkey", "more") == client("BF.ADD", "valkey", "and more") == 1
        reloads(client, "valkey")
        assert client("BF.EXISTS", "valkey", "more") == 1
        client("DEL", "valkey")


COUNT = 1_000_000
VALUES = {
    "MBbloom--": (4, [unsigned(0), unsigned(COUNT), unsigned(5), unsigned(1)], [unsigned(1), double(0.25), unsigned(1), double(1), unsigned(8), unsigned(0), text(b"\0"), unsigned(0)]),
    "MBbloomCF": (4, [unsigned(number) for number in (COUNT, 1, 0, 0, 1, 20, 1)], [unsigned(1), text(b"\0")]),
    "bloomfltr": (1, [unsigned(COUNT), unsigned(1), double(0.5), double(0.5), unsigned(1)], [unsigned(1), text(b"\1" + struct.pack("<QI", 1, 1) + bytes(33))]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_a_million_filters_in_one_are_refused_before_they_are_read(kind):
    """Each has a byte of bits, and with its other fields uses a hundred bytes."""
    version, fields, each = VALUES[kind]
    with Server() as server, server.client() as client:
        client("SET", "text", "x")
        content = payload(begin(kind, version), client("DUMP", "text")[-10:])
        content = content[:-10] + b"".join(fields) + COUNT * b"".join(each) + b"\0" + content[-10:]
        client("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", 1)
        before = int(info(client, "memory")["used_memory"])
        assert isinstance(client("RESTORE", "k", 0, content), Refused)
        assert int(info(client, "memory")["used_memory_peak"]) < before + 3 * len(content) + 20 * MIB


def test_how_far_a_filter_grows_is_known_at_once(client):
    """When it grows in equal steps of a byte: without an end, or with one after some billions of steps."""
    client("CONFIG", "SET", "bf.object-limit", "0")
    words = ["CAPACITY", 1, "ERROR", 0.9, "EXPANSION", 1, "TIGHTENING", 0.999999999999]
    begun = cpu(client)
    assert isinstance(client("BF.INSERT", "own", *words, "VALIDATESCALETO", 10**18), Refused)
    assert client("BF.INSERT", "own", *words) == []
    assert client("BF.INFO", "own", "MAXSCALEDCAPACITY") == 65_536
    assert cpu(client) - begun < 1


def test_a_file_in_parts_is_not_whole(client):
    """A load that has all parts has ended: it is the filter."""
    client("SET", "text", "x"), client("UM.RESERVE", "f", 100, 0.01)
    _, file = client("UM.DUMP", "f", 0)
    value = lambda parts, version=1: begin("umbelfltr", version) + unsigned(0) + unsigned(len(parts)) + text(parts) + unsigned(0) + b"\0"
    footer = client("DUMP", "text")[-10:]
    assert client("RESTORE", "part", 0, payload(value(file[:-1]), footer)) == OK
    assert client("UM.LOAD", "part", len(file) - 1, file[-1:]) == 0 and client("UM.EXISTS", "part", "a") == 0
    assert isinstance(client("RESTORE", "whole", 0, payload(value(file), footer)), Refused)
    for version in (0, 2):
        assert isinstance(client("RESTORE", "other", 0, payload(value(file[:-1], version), footer)), Refused)


def test_items_that_find_no_room_are_refused_quickly(client):
    """Without asking the server about its memory for each."""
    client("CF.RESERVE", "k", 8 << 20, "MAXITERATIONS", 1), client("BF.RESERVE", "b", 0.01, 1000, "EXPANSION", 20_000)
    client("CONFIG", "SET", "maxmemory", int(info(client, "memory")["used_memory"]) + (6 << 20))
    begun = cpu(client)
    answers = client("CF.INSERT", "k", "ITEMS", *["same"] * 20_000)
    assert answers.count(Refused("ERR Insufficient memory")) == 20_000 - 4
    assert client("BF.MADD", "b", *keys(b"other", 21_000)).count(Refused("ERR problem inserting into filter")) > 19_000
    assert cpu(client) - begun < 0.4
