"""Filters with seeds of RedisBloom's development version: its commands, headers, snapshots of version 5, and append-only files.

Expected results follow from its source: commit 79f88a25, `src/rebloom.c`, and its tests `tests/flow/test_{bloom,cuckoo}_seed.py`.
"""

import struct

import pytest

from resp import Refused, Simple
from servers import REDISBLOOM, Server, keys
from test_followers import APPEND_ONLY, STRICT, caught_up, follow, rewritten
from test_valkey import length, payload

OK = Simple("OK")
WORD = (1 << 64) - 1
USUAL = {"BF": 0xC6A4A7935BD1E995, "CF": 0}
SEEDS = [0, 5, 1 << 32, WORD]
ITEMS = [b"", b"\0", b"a\0b", b"\xff" * 32, b"x" * 4096, *keys(b"item", 300)]


def murmur64a(item, seed):
    """A. Appleby's MurmurHash64A."""
    m = 0xC6A4A7935BD1E995
    hashed = seed ^ len(item) * m & WORD
    whole = len(item) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", item[:whole]):
        word = word * m & WORD
        word = (word ^ word >> 47) * m & WORD
        hashed = (hashed ^ word) * m & WORD
    if item[whole:]:
        hashed = (hashed ^ int.from_bytes(item[whole:], "little")) * m & WORD
    hashed = (hashed ^ hashed >> 47) * m & WORD
    return hashed ^ hashed >> 47


def reserve(client, family, key, *words):
    return client(f"{family}.RESERVE", key, *([0.01] if family == "BF" else []), *words)


def insert(client, family, key, items):
    return client("BF.INSERT", key, "NOCREATE", "ITEMS", *items) if family == "BF" else client("CF.INSERT", key, "ITEMS", *items)


def chunks(client, family, key):
    iterator = 0
    while True:
        iterator, chunk = client(f"{family}.SCANDUMP", key, iterator)
        if not iterator:
            return
        yield iterator, chunk


def with_seed(family, header, seed):
    """The header as the development version has it, also with the usual seed."""
    header = bytearray(header[:-8] if header[15 if family == "BF" else 31] & 0x80 else header)
    header[15 if family == "BF" else 31] |= 0x80
    return bytes(header) + struct.pack("<Q", seed)


def version_5(dump, seed):
    """The development version's dump of a filter that has the usual seed here: version 5, and the seed at the end."""
    assert dump[1] == 0x81, "the type has a name of 54 bits"
    (name,) = struct.unpack_from(">Q", dump, 2)
    assert name & 1023 == 4
    return payload(dump[:2] + struct.pack(">Q", name + 1) + dump[10:-11] + b"\2" + length(seed) + b"\0", dump[-10:])


def test_bits_are_those_of_the_seed(client):
    for seed in SEEDS:
        client("DEL", "bloom", "cuckoo")
        assert client("BF.RESERVE", "bloom", 0.01, 100, "SEED", seed) == client("CF.RESERVE", "cuckoo", 64, "SEED", seed) == OK
        for item in ITEMS[:20]:
            client("DEL", "b", "c")
            client("COPY", "bloom", "b"), client("COPY", "cuckoo", "c")
            assert client("BF.ADD", "b", item) == client("CF.ADD", "c", item) == 1
            (_, header), (_, bits) = chunks(client, "BF", "b")
            first = murmur64a(item, seed)
            second = murmur64a(item, first)
            places = {(first + i * second & WORD) % (8 * len(bits)) for i in range(8)}
            assert {place for place in range(8 * len(bits)) if bits[place >> 3] >> (place & 7) & 1} == places
            (_, header), (_, slots) = chunks(client, "CF", "c")
            assert [(place, slot) for place, slot in enumerate(slots) if slot] == [(first % 32 * 2, first % 255 + 1)]


@pytest.mark.parametrize("family", ["BF", "CF"])
def test_the_option(client, family):
    for key, words in [
        ("usual", []), ("explicit", ["SEED", hex(USUAL[family])]), ("decimal", ["SEED", "123", "EXPANSION", 2]), ("hex", ["EXPANSION", 2, "seed", "0X7b"]),
        ("leading", ["SEED", "0123", "EXPANSION", 2]), ("upper", ["SEED", 1 << 32]), ("most", ["SEED", WORD]), ("random", ["SEED", "RaNdOm"]),
        ("other", ["SEED", "random"]), ("SEED", []),
    ]:
        assert reserve(client, family, key, 64, *words) == OK, words
        insert(client, family, key, ITEMS)
        assert client(f"{family}.MEXISTS", key, *ITEMS) == [1] * len(ITEMS)
    of = {key: client("DEBUG", "DIGEST-VALUE", key) for key in ("usual", "explicit", "decimal", "hex", "leading", "upper", "most", "random", "other", "SEED")}
    assert of["usual"] == of["explicit"] == of["SEED"] and of["decimal"] == of["hex"] == of["leading"]
    assert len({tuple(digest) for digest in of.values()}) == 6
    one, invalid = "ERR expected one SEED value", "ERR invalid seed: expected random, unsigned decimal or 0x hexadecimal"
    arity = f"ERR wrong number of arguments for '{family.lower()}.reserve' command"
    wrong = [([seed], invalid) for seed in ["", "-1", "+1", "0x", "0x+1", "abc", 1 << 64, hex(1 << 64), "1\0", " 1", "0" * 21, "rando", "\xff"]]
    for words, refusal in [*wrong, ([], one if family == "BF" else arity), ([1, "SEED", 2], one)]:
        assert reserve(client, family, "wrong", 100, "SEED", *words) == Refused(refusal), words
    for words in [[1, "EXPANSION"], ["EXPANSION"], ["MAXITERATIONS"], ["BUCKETSIZE"], [1, "NONSCALING", "EXPANSION", 2, "more", "words"]]:
        assert isinstance(reserve(client, family, "wrong", 100, "SEED", *words), Refused), words
    assert reserve(client, family, "usual", 100, "SEED", 1) == "ERR item exists"
    assert client("EXISTS", "wrong") == 0


@pytest.mark.parametrize("family", ["BF", "CF"])
def test_snapshots_and_headers_of_the_development_version_load(client, family):
    for count in (0, 1, len(ITEMS)):
        for seed in [USUAL[family], *SEEDS]:
            client("FLUSHALL")
            assert reserve(client, family, "own", 64, "SEED", seed) == OK
            if count:
                insert(client, family, "own", ITEMS[:count])
            dump = client("DUMP", "own")
            if seed == USUAL[family]:
                # With the usual seed, released versions can read the dump.
                assert client("RESTORE", "restored", 0, version_5(dump, seed)) == OK
                assert client("RESTORE", "later", 0, version_5(dump, seed + 1 & WORD)) == OK
                assert client("DEBUG", "DIGEST-VALUE", "later") != client("DEBUG", "DIGEST-VALUE", "own")
            else:
                assert client("RESTORE", "restored", 0, dump) == OK
            made = list(chunks(client, family, "own"))
            assert bool(made) == (family == "BF" or count > 0 or seed != USUAL[family])
            for iterator, chunk in made:
                chunk = with_seed(family, chunk, seed) if iterator == 1 else chunk
                assert client(f"{family}.LOADCHUNK", "loaded", iterator, chunk) == OK
            for key in ["restored", "loaded"] if made else ["restored"]:
                assert client("DUMP", key) == dump and list(chunks(client, family, key)) == made
                insert(client, family, key, ITEMS)
                assert client(f"{family}.MEXISTS", key, *ITEMS) == [1] * len(ITEMS)
            insert(client, family, "own", ITEMS)
            for key in ["restored", "loaded"] if made else ["restored"]:
                assert client("DUMP", key) == client("DUMP", "own")


@pytest.mark.parametrize("family", ["BF", "CF"])
def test_what_is_wrong_is_refused(client, family):
    reserve(client, family, "own", 64, "SEED", 5), insert(client, family, "own", ITEMS)
    [(_, header), *_] = chunks(client, family, "own")
    plain = bytearray(header)
    plain[15 if family == "BF" else 31] &= 0x7F
    for wrong in [header[:-1], header[:-8], header + b"\0", bytes(plain), header[:38]]:
        assert isinstance(client(f"{family}.LOADCHUNK", "wrong", 1, wrong), Refused)
    reserve(client, family, "usual", 64), insert(client, family, "usual", ITEMS)
    dump = client("DUMP", "usual")
    (name,) = struct.unpack_from(">Q", dump, 2)
    at = lambda version, end: payload(dump[:2] + struct.pack(">Q", name - 4 + version) + dump[10:-11] + end, dump[-10:])
    for wrong in [at(5, b"\0"), at(5, b"\4" + bytes(9)), at(6, b"\2\5\0"), at(4, b"\2\5\0")]:
        assert client("RESTORE", "wrong", 0, wrong) == "ERR Bad data format"
    if family == "BF":
        # Hashes of 32 bits have no seed of 64.
        header = bytearray(with_seed(family, header, 1 << 32))
        header[12] &= ~4
        assert client("BF.LOADCHUNK", "wrong", 1, bytes(header)) == "ERR received bad data"
    assert client("EXISTS", "wrong") == 0


def test_replicas_and_restarts_have_the_seed():
    with Server(options=APPEND_ONLY) as primary, Server(options=STRICT) as replica:
        with primary.client() as client, replica.client() as follower:
            follow(follower, primary)
            for seed in ["random", *SEEDS]:
                for family in USUAL:
                    for key in (f"{family}-{seed}", f"{family}-{seed}-empty"):
                        assert reserve(client, family, key, 64, "EXPANSION", 2, "SEED", seed) == OK
                    insert(client, family, f"{family}-{seed}", ITEMS)
            caught_up(client)
            before = client("DEBUG", "DIGEST")
            assert follower("DEBUG", "DIGEST") == before
            # Through the commands themselves, a rewritten file, and a snapshot.
            assert client("DEBUG", "LOADAOF") == OK and client("DEBUG", "DIGEST") == before
            client("BGREWRITEAOF")
            rewritten(client)
            assert client("DEBUG", "LOADAOF") == OK and client("DEBUG", "DIGEST") == before
            assert client("DEBUG", "RELOAD") == OK and client("DEBUG", "DIGEST") == before


def test_released_versions_refuse_them():
    """Instead of reading them with another hash."""
    with Server() as ours, Server(module=REDISBLOOM) as theirs:
        with ours.client() as client, theirs.client() as other:
            for family in USUAL:
                reserve(client, family, "own", 64, "SEED", 5), insert(client, family, "own", ITEMS)
                assert other("RESTORE", "own", 0, client("DUMP", "own")) == "ERR Bad data format"
                [(_, header), *_] = chunks(client, family, "own")
                assert isinstance(other(f"{family}.LOADCHUNK", "own", 1, header), Refused)
                client("DEL", "own")
