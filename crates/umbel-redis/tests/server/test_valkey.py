"""Filters of valkey-bloom: its snapshots, its append-only file, its command options, and replicas."""

import json
import struct

import pytest

from resp import Refused, Simple
from servers import PROGRAMS, Server
from test_followers import APPEND_ONLY, STRICT, VECTORS, caught_up, follow

OK = Simple("OK")
WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"


def vectors():
    """Names, contents, numbers of members and the probes that pass."""
    for vector in json.loads((VECTORS / "vectors.json").read_text())["vectors"]:
        yield vector["name"], (VECTORS / vector["file"]).read_bytes(), vector["member_count"]
    yield "seed", (VECTORS / "seed.bin").read_bytes(), 1000


def answers(client, key, name, members):
    if members:
        assert all(client("BF.MEXISTS", key, *(f"key-{number:06}" for number in range(1, members + 1))))
    found = client("BF.MEXISTS", key, *(f"probe-{number:06}" for number in range(1, 2001)))
    assert [i for i, there in enumerate(found) if there] == [int(line) for line in (VECTORS / f"{name}.fp.txt").read_text().split()]
    assert client("BF.EXISTS", key, "probe-000001") == found[0]


def length(number):
    """A number in the encoding of snapshots."""
    if number < 1 << 6:
        return bytes([number])
    if number < 1 << 14:
        return struct.pack(">H", 0x4000 | number)
    return b"\x80" + struct.pack(">I", number) if number < 1 << 32 else b"\x81" + struct.pack(">Q", number)


def crc64(content):
    crc = 0
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x95AC9329AC4BC9B5 if crc & 1 else 0)
    return crc


def unsigned(number):
    """A field of a module's value in a snapshot, as the next two."""
    return b"\x02" + length(number)


def double(number):
    return b"\x04" + struct.pack("<d", number)


def text(content):
    return b"\x05" + length(len(content)) + content


def begin(name, version):
    """The start of a value of a module's type in a snapshot."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    number = 0
    for letter in name:
        number = number << 6 | letters.index(letter)
    return b"\x07" + length(number << 10 | version)


def snapshot(file, seed_is_random=None):
    """The reply of valkey-bloom 1.0 to `DUMP` for the filter in the data of its `BF.LOAD`, without the version of the server's format."""
    expansion, rate, tightening, is_random, links = struct.unpack_from("<IddBQ", file, 1)
    is_random = is_random if seed_is_random is None else seed_is_random
    fields = [begin("bloomfltr", 1), unsigned(links), unsigned(expansion), double(rate), double(tightening), unsigned(is_random)]
    at = 30
    for link in range(links):
        (bytes_,) = struct.unpack_from("<Q", file, at)
        array, (items, capacity) = file[at + 8 : at + 8 + bytes_], struct.unpack_from("<QQ", file, at + 8 + bytes_)
        at += 24 + bytes_
        fields += [unsigned(capacity), *([unsigned(items)] if link + 1 == links else []), text(array)]
    return b"".join(fields) + b"\x00"


def payload(body, footer):
    return body + footer[:2] + struct.pack("<Q", crc64(body + footer[:2]))


def test_data_of_its_append_only_file_loads(client):
    for name, file, members in vectors():
        assert client("BF.LOAD", name, file) == OK
        assert client("TYPE", name) == Simple("bloomfltr")
        answers(client, name, name, members)
        assert client("COPY", name, "copy", "REPLACE") == 1
        assert client("DEBUG", "DIGEST-VALUE", name) == client("DEBUG", "DIGEST-VALUE", "copy")
        assert client("BF.LOAD", name, file) == "BUSYKEY Target key name already exists."
        assert client("BF.RESERVE", name, 0.01, 100) == "ERR item exists"
        for command in (["BF.SCANDUMP", name, 0], ["BF.DEBUG", name], ["BF.LOADCHUNK", name, 1, "x"], ["CF.ADD", name, "x"], ["UM.ADD", name, "x"]):
            assert client(*command) == WRONG_TYPE, command
    client("SET", "text", "x")
    assert client("BF.LOAD", "text", file) == WRONG_TYPE


def test_damaged_data_is_refused(client):
    _, file, _ = next(vectors())
    for damaged in (b"", b"\x02" + file[1:], file[:-1], file + b"x", file[:30]):
        answer = client("BF.LOAD", "damaged", damaged)
        assert isinstance(answer, Refused) and answer.startswith("ERR bloom object decoding failed"), answer
    assert client("EXISTS", "damaged") == 0


def test_its_snapshots_load_and_are_written(client):
    client("CONFIG", "SET", "rdbcompression", "no")
    client("SET", "text", "x")
    footer = client("DUMP", "text")[-10:]
    for name, file, members in vectors():
        body = snapshot(file)
        assert client("RESTORE", name, 0, payload(body, footer)) == OK, name
        answers(client, name, name, members)
        assert client("DUMP", name) == payload(body, footer), name
        assert client("BF.LOAD", f"{name} loaded", file) == OK
        assert client("DEBUG", "DIGEST-VALUE", name) == client("DEBUG", "DIGEST-VALUE", f"{name} loaded")
    # A seed other than the fixed one must be marked as random.
    for wrong in (snapshot(file, seed_is_random=0), body[:-30] + b"\x00"):
        assert isinstance(client("RESTORE", "wrong", 0, payload(wrong, footer)), Refused)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_its_append_only_file_loads(kind, tmp_path):
    _, file, _ = next(vectors())
    seed = bytes(range(32))
    # As a primary writes it: whole filters in the rewritten part, then later commands.
    commands = [
        [b"SELECT", b"0"],
        [b"BF.LOAD", b"reserve-p10", file],
        [b"BF.INSERT", b"own", b"CAPACITY", b"100", b"ERROR", b"0.01", b"TIGHTENING", b"0.8", b"SEED", seed, b"EXPANSION", b"3", b"ITEMS", b"key-000001"],
        *([b"BF.ADD", b"own", f"key-{number:06}".encode()] for number in range(2, 1001)),
    ]
    with open(tmp_path / "appendonly.aof", "wb") as out:
        for command in commands:
            out.write(b"*%d\r\n" % len(command) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in command))
    with Server(kind, folder=tmp_path, options=["--appendonly", "yes", "--aof-use-rdb-preamble", "no"]) as server, server.client() as client:
        answers(client, "reserve-p10", "reserve-p10", 1000)
        answers(client, "own", "seed", 1000)
        before = client("DEBUG", "DIGEST")
        # A rewrite here gives the same file as in valkey-bloom.
        client("BGREWRITEAOF")
        while b"aof_rewrite_in_progress:0" not in client("INFO", "persistence") or b"aof_rewrite_scheduled:0" not in client("INFO", "persistence"):
            pass
        written = b"".join(part.read_bytes() for part in (tmp_path / "appendonlydir").glob("*.base.aof"))
        for name, content in (("reserve-p10", file), ("own", (VECTORS / "seed.bin").read_bytes())):
            assert b"BF.LOAD\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(name), name.encode(), len(content), content) in written, name
        assert client("DEBUG", "LOADAOF") == OK and client("DEBUG", "DIGEST") == before


def test_its_words_make_its_filters(client):
    assert client("BF.INSERT", "own", "CAPACITY", 100, "ERROR", 0.3, "TIGHTENING", 0.9, "EXPANSION", 3) == []
    assert client("TYPE", "own") == Simple("bloomfltr")
    assert client("BF.INSERT", "own", "TIGHTENING", 0.9, "ITEMS", "a", "b", "a") == [1, 1, 0]
    assert client("BF.MADD", "own", "b", "c") == [0, 1] and client("BF.ADD", "own", "c") == 0 and client("BF.CARD", "own") == 3
    info = client("BF.INFO", "own")
    names = ["Capacity", "Size", "Number of filters", "Number of items inserted", "Error rate", "Expansion rate", "Tightening ratio", "Max scaled capacity"]
    fields = dict(zip(info[::2], info[1::2]))
    assert list(fields) == names and fields["Capacity"] == 100 and fields["Expansion rate"] == 3
    assert float(fields["Error rate"]) == 0.3 and float(fields["Tightening ratio"]) == 0.9
    for word, name in zip(("CAPACITY", "SIZE", "FILTERS", "ITEMS", "ERROR", "EXPANSION", "TIGHTENING", "MAXSCALEDCAPACITY"), names):
        assert client("BF.INFO", "own", word) == fields[name], word
    assert client("BF.INFO", "own", "x") == "ERR invalid information value"

    assert client("BF.INSERT", "fixed", "SEED", bytes(32), "CAPACITY", 3, "ERROR", 1e-6, "NONSCALING", "ITEMS", *"abcde") == [1, 1, 1, "ERR non scaling filter is full"]
    assert client("BF.INFO", "fixed", "EXPANSION") is None and client("BF.INFO", "fixed", "TIGHTENING") == "ERR invalid information value"
    # Filters with different random seeds differ; with the same seed they do not.
    for name, seed in (("one", bytes(32)), ("two", bytes(32)), ("three", b"x" * 32)):
        client("BF.INSERT", name, "SEED", seed, "ITEMS", "a")
    client("BF.INSERT", "four", "TIGHTENING", 0.5, "ITEMS", "a"), client("BF.INSERT", "five", "TIGHTENING", 0.5, "ITEMS", "a")
    one, two, three, four, five = client("DEBUG", "DIGEST-VALUE", "one", "two", "three", "four", "five")
    assert one == two and len({one, three, four, five}) == 4

    client("CONFIG", "SET", "bf.object-limit", "512mb")
    for words, refusal in [
        (["TIGHTENING", 0], "ERR (0 < tightening ratio range < 1)"),
        (["TIGHTENING", 1], "ERR (0 < tightening ratio range < 1)"),
        (["TIGHTENING", "x"], "ERR bad tightening ratio"),
        (["TIGHTENING"], "ERR wrong number of arguments for 'bf.insert' command"),
        (["SEED", "short"], "ERR invalid seed"),
        (["SEED", bytes(32), "ITEMS"], "ERR wrong number of arguments for 'bf.insert' command"),
        (["VALIDATESCALETO", 0], "ERR capacity must be in the range [1, 9223372036854775807]"),
        (["VALIDATESCALETO", 100, "NONSCALING"], "ERR cannot use NONSCALING and VALIDATESCALETO options together"),
        (["VALIDATESCALETO", 10**12], "ERR provided VALIDATESCALETO causes bloom object to exceed memory limit"),
        (["VALIDATESCALETO", 1000, "ERROR", "1e-300", "CAPACITY", 10, "EXPANSION", 1], "ERR provided VALIDATESCALETO causes false positive to degrade to 0"),
        (["SEED", bytes(32), "NOCREATE", "ITEMS", "a"], "ERR not found"),
        (["SEED", bytes(32), "UNKNOWN"], "Unknown argument received"),
    ]:
        assert client("BF.INSERT", "none", *words) == refusal, words
    assert client("EXISTS", "none") == 0
    assert client("BF.INSERT", "scales", "VALIDATESCALETO", 10**6, "CAPACITY", 1000, "ITEMS", "a") == [1]
    most = client("BF.INFO", "scales", "MAXSCALEDCAPACITY")
    assert client("BF.INSERT", "most", "VALIDATESCALETO", most, "CAPACITY", 1000) == []
    assert isinstance(client("BF.INSERT", "more", "VALIDATESCALETO", most + 1, "CAPACITY", 1000), Refused)
    # Without these options, they are RedisBloom's.
    assert client("BF.INSERT", "redisbloom", "ITEMS", "SEED") == [1] and client("TYPE", "redisbloom") == Simple("MBbloom--")
    client("CONFIG", "SET", "bf.object-limit", "1mb")
    assert "bf.object-limit" in client("BF.INSERT", "large", "CAPACITY", 10**7, "TIGHTENING", 0.5)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_replicas_and_files_have_the_same_filters(kind):
    """Its random seed is sent along; it grows, up to the limit."""
    with Server(kind, options=APPEND_ONLY) as primary, Server(kind, options=STRICT) as replica:
        with primary.client() as client, replica.client() as follower:
            follow(follower, primary)
            assert client("BF.INSERT", "own", "CAPACITY", 10, "TIGHTENING", 0.7, "ITEMS", "a") == [1]
            assert all(answer in (0, 1) for answer in client("BF.MADD", "own", *range(1000)))
            assert client("BF.INFO", "own", "FILTERS") == 7
            client("BF.INSERT", "empty", "SEED", bytes(32), "NONSCALING")
            client("BF.LOAD", "loaded", (VECTORS / "seed.bin").read_bytes())
            client("CONFIG", "SET", "bf.object-limit", "4kb")
            assert "ERR problem inserting into filter" in client("BF.MADD", "own", *range(1000, 9000))
            caught_up(client)
            before = client("DEBUG", "DIGEST")
            assert before == follower("DEBUG", "DIGEST")
            assert client("DEBUG", "LOADAOF") == OK and client("DEBUG", "DIGEST") == before
            assert client("DEBUG", "RELOAD") == OK and client("DEBUG", "DIGEST") == before


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_server_starts_with_its_settings(kind):
    """Four are aliases of the module's settings; an alias that the configuration omits leaves its setting unchanged."""
    given = {
        "bloom-capacity": ("5000", "bf-initial-size"),
        "bloom-expansion": ("4", "bf-expansion-factor"),
        "bloom-fp-rate": ("0.001", "bf-error-rate"),
        "bloom-memory-usage-limit": ("1048576", "bf.object-limit"),
        "bloom-tightening-ratio": ("0.7", None),
        "bloom-use-random-seed": ("no", None),
        "bloom-defrag-enabled": ("no", None),
    }
    names = {name: other if kind == "redis-8.2" or other == "bf.object-limit" else f"bf.{other}" for name, (_, other) in given.items() if other}
    with Server(kind, options=[word for name, (value, _) in given.items() for word in (f"--bf.{name}", value)]) as server, server.client() as client:
        for name, (value, _) in given.items():
            for known in (f"bf.{name}", names.get(name, f"bf.{name}")):
                assert client("CONFIG", "GET", known)[1].decode() == value, known
        assert client("BF.ADD", "new", "a") == 1
        assert client("BF.INFO", "new")[1::8] == [5000, 4] and b"ratio:0.0005" in client("BF.DEBUG", "new")[1]
        for name in ("one", "two"):
            assert client("BF.INSERT", name, "VALIDATESCALETO", 10_000, "ITEMS", "a") == [1]
        assert float(client("BF.INFO", "one", "TIGHTENING")) == 0.7
        one, two = client("DEBUG", "DIGEST-VALUE", "one", "two")
        assert one == two
        assert "bf.object-limit" in client("BF.RESERVE", "large", 0.01, 10**6)
        # One setting, two names; also back to the default.
        for value in ("0.02", "0.01"):
            assert client("CONFIG", "SET", "bf.bloom-fp-rate", value) == OK
            assert client("CONFIG", "GET", names["bloom-fp-rate"])[1].decode() == value
        for name, value in (("bloom-fp-rate", "1"), ("bloom-tightening-ratio", "0"), ("bloom-use-random-seed", "maybe"), ("bloom-memory-usage-limit", "-1")):
            assert isinstance(client("CONFIG", "SET", f"bf.{name}", value), Refused), name
    for name, other in names.items():
        with Server(kind, options=[f"--{other}", given[name][0]]) as server, server.client() as client:
            assert client("CONFIG", "GET", other)[1].decode() == client("CONFIG", "GET", f"bf.{name}")[1].decode() == given[name][0]
    # CONFIG REWRITE writes both names; one edited later must not be silently ignored.
    for limit, starts in (("1gb", True), ("4gb", False)):
        server = Server(kind, options=["--bf.object-limit", limit, "--bf.bloom-memory-usage-limit", str(1 << 30)])
        assert server.try_start() == starts
        server.stop()
    assert "`object-limit`, the same setting, is 4294967296: remove one of the lines" in server.log()
