"""UM.*: umbel's own filters in a server, and umbel's files into it and out of it."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from resp import Pairs, Refused, Simple, same
from servers import Server, keys, wait_for

OK = Simple("OK")
NO_FILTER = Refused("NOFILTER no such filter; make it with UM.RESERVE or UM.LOAD")
GOLDEN = Path(__file__).parents[4] / "testdata/golden"
SECRET = "000102030405060708090a0b0c0d0e0f"


def receipt(client, key):
    answer = client("UM.INFO", key)
    return dict(zip(answer[::2], answer[1::2]))


def dumped(client, key):
    file, offset = b"", 0
    while True:
        offset, part = client("UM.DUMP", key, offset)
        if offset == 0:
            return file
        file += part


def load(client, key, file, size=1 << 16):
    for offset in range(0, len(file), size):
        answer = client("UM.LOAD", key, offset, file[offset : offset + size])
        if isinstance(answer, Refused):
            return answer
        assert answer == (offset + size if offset + size < len(file) else 0)
    return OK


@pytest.mark.parametrize("kind", ["blocked", "classic", "sliced", "counting", "scalable", "window", "stable", "coded", "counting:8", "window:3"])
def test_every_kind_that_takes_keys(client, kind):
    assert client("UM.RESERVE", "f", 5000, 0.01, "KIND", kind) == OK
    items = keys(b"item", 3000)
    assert sum(client("UM.MADD", "f", *items)) > 2900
    found = client("UM.MEXISTS", "f", *items, *keys(b"other", 3000))
    if kind != "stable":
        assert all(found[:3000])
    assert sum(found[3000:]) < 150
    told = receipt(client, "f")
    assert told[b"kind"].split(b":")[0] == kind.split(":")[0].encode() and 2800 < float(told[b"keys"]) < 3200
    assert float(told[b"fpp"]) <= 0.02 and told[b"planned keys"] == 5000
    assert client("COPY", "f", "g") == 1 and client("DUMP", "f") == client("DUMP", "g")
    assert load(client, "h", dumped(client, "f")) == OK and dumped(client, "h") == dumped(client, "f")
    client("UM.ADD", "f", "more"), client("UM.ADD", "h", "more")
    assert dumped(client, "h") == dumped(client, "f"), "it goes on as the one that was dumped"


def test_absent_filters_are_told_from_absent_keys(client):
    for command in ["UM.EXISTS f a", "UM.MEXISTS f a b", "UM.ADD f a", "UM.MADD f a", "UM.DEL f a", "UM.INFO f", "UM.DUMP f 0", "UM.MERGE f g", "UM.SHRINK f"]:
        assert client(*command.split()) == NO_FILTER, command
    client("SET", "text", "x")
    for command in ["UM.EXISTS text a", "UM.ADD text a", "UM.RESERVE text 10 0.1", "UM.LOAD text 0 x", "UM.MERGE text text", "UM.SHRINK text", "UM.INFO text"]:
        assert client(*command.split()).startswith("WRONGTYPE"), command
    client("UM.RESERVE", "f", 100, 0.01)
    assert client("UM.ADD", "f", "a") == 1 and client("UM.EXISTS", "f", "b") == 0
    for command in ["BF.EXISTS f a", "BF.MEXISTS f a b", "CF.EXISTS f a", "CF.MEXISTS f a b", "CF.COUNT f a"]:
        assert client(*command.split()).startswith("WRONGTYPE"), "an added key is never reported as absent"
    assert client("UM.RESERVE", "f", 100, 0.01) == Refused("ERR item exists")
    assert client("TYPE", "f") == "umbelfltr"


def test_wrong_arguments_are_refused(client):
    for command in [
        "UM.RESERVE f 100 1", "UM.RESERVE f 100 0", "UM.RESERVE f 0 0.1", "UM.RESERVE f x 0.1", "UM.RESERVE f 100 x", "UM.RESERVE f 100 0.1 KIND nothing",
        "UM.RESERVE f 100 0.1 KIND bloomier", "UM.RESERVE f 100 0.1 SPAN 0", "UM.RESERVE f 100 0.1 SPAN 10", "UM.RESERVE f 100 0.1 FOO 1", "UM.RESERVE f 100",
        "UM.RESERVE f 100 0.1 KIND", "UM.RESERVE f 100 0.1 SECRET 0123", "UM.ADDAT f x 1", "UM.DUMP f x", "UM.LOAD f 5 x", "UM.LOAD f 0 x", "UM.LOAD f -1 x", "UM.SHRINK", "UM.SHRINK f 1 2",
        "UM.RESERVE f 9223372036854775807 0.0001", "UM.RESERVE f 4000000000000 0.0001",
    ]:
        assert isinstance(client(*command.split()), Refused), command
    assert client("EXISTS", "f") == 0
    assert "UM.RESERVE key keys fpp" in client("UM.RESERVE", "f", 0.1, 100), "RedisBloom's order"
    assert "KIND window" in client("UM.RESERVE", "f", 100, 0.1, "SPAN", 10)


def test_keys_are_taken_out_of_counting_filters(client):
    client("UM.RESERVE", "f", 100, 0.001, "KIND", "counting"), client("UM.RESERVE", "b", 100, 0.001)
    client("UM.MADD", "f", "a", "a", "b")
    assert [client("UM.DEL", "f", "a") for _ in range(3)] == [1, 1, 0]
    assert client("UM.MEXISTS", "f", "a", "b") == [0, 1]
    assert client("UM.DEL", "b", "a").startswith("ERR ") and client("UM.EXISTS", "b", "a") == 0


def test_merges(client):
    for key, items in [("a", [1, 2]), ("b", [3]), ("c", [4])]:
        client("UM.RESERVE", key, 1000, 0.001), client("UM.MADD", key, *items)
    assert client("UM.MERGE", "sum", "a", "b") == OK and client("UM.MEXISTS", "sum", 1, 2, 3, 4) == [1, 1, 1, 0]
    assert client("UM.MERGE", "a", "a", "c") == OK and client("UM.MEXISTS", "a", 1, 2, 3, 4) == [1, 1, 0, 1]
    client("UM.RESERVE", "other", 1000, 0.1, "KIND", "classic")
    before = dumped(client, "sum")
    assert isinstance(client("UM.MERGE", "sum", "b", "other"), Refused) and client("UM.MERGE", "sum", "b", "none") == NO_FILTER
    assert dumped(client, "sum") == before, "as it was"
    assert client("COMMAND", "GETKEYS", "UM.MERGE", "a", "b", "c") == [b"a", b"b", b"c"]


def test_a_filter_shrinks_to_what_it_holds(client):
    for kind in ["blocked", "classic", "sliced", "counting"]:
        client("DEL", "f"), client("UM.RESERVE", "f", 1_000_000, 0.01, "KIND", kind), client("UM.MADD", "f", *range(1000))
        before = client("UM.INFO", "f")
        assert client("UM.SHRINK", "f", "many").startswith("ERR ") and client("UM.SHRINK", "f", -1).startswith("ERR ")
        assert client("UM.SHRINK", "f", 2_000_000) == OK and client("UM.INFO", "f") == before
        for keys in [["100000"], []]:
            assert client("UM.SHRINK", "f", *keys) == OK
            assert client("UM.MEXISTS", "f", *range(1000)) == 1000 * [1]
        receipt = client("UM.INFO", "f")
        receipt = dict(zip(receipt[::2], receipt[1::2])) if isinstance(receipt, list) else receipt
        assert 900 < receipt[b"planned keys"] < 1100 and receipt[b"bytes"] * 300 < dict(zip(before[::2], before[1::2]))[b"bytes"]
    client("UM.RESERVE", "w", 100, 0.01, "KIND", "window")
    assert "does not fold" in client("UM.SHRINK", "w")


def test_a_window_of_time_forgets(client):
    client("UM.RESERVE", "f", 1000, 0.001, "KIND", "window", "SPAN", 600)
    client("UM.ADD", "f", "a")
    assert client("UM.EXISTS", "f", "a") == 1
    time.sleep(0.35)
    client("UM.ADD", "f", "b")
    assert client("UM.EXISTS", "f", "a") == 1, "within the span"
    time.sleep(0.55)
    assert client("UM.MEXISTS", "f", "a", "b") == [0, 1], "4/3 of the span later for certain"
    seconds, _ = client("TIME")
    now = 1000 * int(seconds)
    assert client("UM.ADDAT", "f", now - 50, "late") == [1]
    for early in (now + 1500, now + 600_000):
        assert client("UM.ADDAT", "f", early, "early").startswith("ERR time in the future")
    assert client("UM.EXISTS", "f", "late") == 1
    assert client("UM.ADDAT", "f", 0, "x") == "ERR the time is not above 0"
    client("UM.RESERVE", "g", 100, 0.01, "KIND", "window")
    assert "no clock" in client("UM.ADDAT", "g", now, "a")


def test_a_chain_grows_as_far_as_there_is_room(client):
    client("UM.RESERVE", "f", 1000, 0.001, "KIND", "scalable")
    assert sum(client("UM.MADD", "f", *keys(b"item", 20000))) > 19900
    assert all(client("UM.MEXISTS", "f", *keys(b"item", 20000)))
    assert client("CONFIG", "SET", "bf.object-limit", "100kb") == OK
    assert isinstance(client("UM.MADD", "f", *keys(b"more", 200_000)), Refused)
    assert all(client("UM.MEXISTS", "f", *keys(b"item", 20000)))
    assert isinstance(client("UM.RESERVE", "g", 10_000_000, 0.001), Refused)


def test_keys_are_added_when_memory_is_out_unless_a_filter_has_to_grow(server, client):
    client("UM.RESERVE", "fixed", 5000, 0.001), client("UM.RESERVE", "grows", 100, 0.001, "KIND", "scalable")
    for policy in ["noeviction", "volatile-lru"]:
        assert client("CONFIG", "SET", "maxmemory-policy", policy, "maxmemory", 1) == OK
        assert sum(client("UM.MADD", "fixed", *keys(policy.encode(), 2000))) > 1990
        assert client("UM.RESERVE", "more", 100, 0.001).startswith("OOM ")
        client("CONFIG", "SET", "maxmemory", 0)
    client("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", 1)
    size = client("MEMORY", "USAGE", "grows")
    assert "limit" in client("UM.MADD", "grows", *keys(b"item", 1000))
    assert all(client("UM.MEXISTS", "grows", *keys(b"item", 99))) and client("MEMORY", "USAGE", "grows") == size
    client("CONFIG", "SET", "maxmemory", 0)
    assert sum(client("UM.MADD", "grows", *keys(b"item", 1000))) > 850


def test_files_of_umbel_are_loaded_and_dumped(server, client, tmp_path):
    path = tmp_path / "secret"
    path.write_text(SECRET)
    assert client("CONFIG", "SET", "bf.secret-files", path) == OK
    for vector in json.loads((GOLDEN / "manifest.json").read_text())["vectors"]:
        name = vector["file"]
        content = (GOLDEN / name).read_bytes()
        answer = load(client, "f", content, 1 << 20)
        if "caller" in name:
            assert isinstance(answer, Refused), "hashes that nobody here can make"
            continue
        assert answer == OK and dumped(client, "f") == content, name
        receipt(client, "f")
        payload = client("DUMP", "f")
        assert client("RESTORE", "g", 0, payload) == OK and dumped(client, "g") == content, name
        client("DEL", "g")
        if vector["kind"] == "attributes":
            assert client("UM.EXISTS", "f", "a").startswith("ERR the filter holds rows")
        elif "description" in vector:
            assert "with trim, ignore-case, and clients" in client("UM.EXISTS", "f", "a")
        elif name != "window-by-time.umbel":
            # Its clock is another one.
            ask = lambda prefix, count: client("UM.MEXISTS", "f", *(f"{prefix}{i}" for i in range(count))) if count else []
            found = sum(ask(vector["member_prefix"], vector["members"]))
            assert found + vector.get("forgotten", 0) == vector["members"], name
            passed = [i for i, passes in enumerate(ask(vector["probe_prefix"], vector["probes_tried"])) if passes]
            assert passed[:10] == vector["false_positives"], name
    assert client("CONFIG", "SET", "bf.secret-files", "") == OK


def test_a_filter_that_is_loaded_takes_the_place_of_another_at_once(client):
    client("UM.RESERVE", "new", 1_000_000, 0.001), client("UM.MADD", "new", *keys(b"new", 1000))
    file = dumped(client, "new")
    client("UM.RESERVE", "f", 100, 0.01), client("UM.ADD", "f", "old")
    size = 1 << 18
    for offset in range(0, len(file), size):
        assert client("UM.EXISTS", "f", "old") == 1 and client("UM.EXISTS", "f", "new-7") == 0
        client("UM.LOAD", "f", offset, file[offset : offset + size])
        if offset == 2 * size:
            assert client("DEBUG", "RELOAD") == OK
            assert client("UM.LOAD", "f", 7, b"x").startswith(f"ERR expected the part at {offset + size}")
    assert client("UM.EXISTS", "f", "old") == 0 and all(client("UM.MEXISTS", "f", *keys(b"new", 1000)))
    damaged = file[:100_000] + bytes([file[100_000] ^ 1]) + file[100_001:]
    assert "ERR" in load(client, "f", damaged), "and the one there stays"
    assert client("UM.EXISTS", "f", "new-7") == 1
    assert load(client, "missing", damaged) != OK
    assert client("UM.EXISTS", "missing", "a") == NO_FILTER
    assert load(client, "f", file[:-1], size) if len(file) % size == 1 else True


def test_secrets_keep_others_from_choosing_keys(server, client, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(SECRET + "\n"), second.write_bytes(bytes(range(16, 32)))
    client("UM.RESERVE", "open", 100, 0.001)
    assert client("CONFIG", "SET", "bf.secret-files", tmp_path / "none").startswith("ERR")
    assert client("CONFIG", "SET", "bf.secret-files", f"{first},{second}") == OK
    client("UM.RESERVE", "keyed", 100, 0.001), client("UM.RESERVE", "open2", 100, 0.001, "SECRET", "none")
    scheme = receipt(client, "keyed")[b"scheme"]
    assert scheme.startswith(b"siphash-1-3-128 key ") and receipt(client, "open2")[b"scheme"] == receipt(client, "open")[b"scheme"]
    assert client("UM.RESERVE", "named", 100, 0.001, "SECRET", scheme.split()[-1]) == OK
    for key in ["keyed", "named", "open"]:
        assert client("UM.ADD", key, "a") == 1 and client("UM.EXISTS", key, "a") == 1
    assert isinstance(client("UM.MERGE", "keyed", "open"), Refused)
    # Without the secret it is kept, and answers nothing.
    assert client("CONFIG", "SET", "bf.secret-files", second) == OK
    assert "secret" in client("UM.EXISTS", "keyed", "a") and client("UM.EXISTS", "open", "a") == 1
    assert client("DEBUG", "RELOAD") == OK
    assert client("CONFIG", "SET", "bf.secret-files", f"{second},{first}") == OK
    assert client("UM.EXISTS", "keyed", "a") == 1
    assert client("CONFIG", "SET", "bf.secret-files", "") == OK


def test_replicas_and_files_have_the_same(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    options = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"]
    with Server(options=options) as primary, Server() as replica:
        with primary.client() as client, replica.client() as follower:
            for each in (client, follower):
                each("CONFIG", "SET", "bf.secret-files", secret)
            follower("REPLICAOF", "127.0.0.1", primary.port)
            wait_for(lambda: b"master_link_status:up" in follower("INFO", "replication"))
            for key, kind in [("a", "blocked"), ("b", "counting"), ("c", "scalable"), ("d", "window"), ("e", "stable")]:
                client("UM.RESERVE", key, 500, 0.01, "KIND", kind, *(["SECRET", "NONE"] if kind == "window" else []))
                client("UM.MADD", key, *keys(b"item", 2000)), client("UM.ADD", key, "item-1"), client("UM.ADD", key, "item-1")
            client("UM.DEL", "b", "item-1"), client("UM.MERGE", "f", "a")
            client("UM.RESERVE", "time", 500, 0.01, "KIND", "window", "SPAN", 100_000), client("UM.MADD", "time", *keys(b"item", 500))
            file = dumped(client, "c")
            client("UM.LOAD", "g", 0, file[:1000]), load(client, "h", file)
            wait_for(lambda: client("WAIT", 1, 1000) == 1)
            for key in "abcdefh":
                assert dumped(client, key) == dumped(follower, key), key
            assert dumped(client, "time") == dumped(follower, "time")
            assert client("DEBUG", "DIGEST") == follower("DEBUG", "DIGEST")
            before = client("DEBUG", "DIGEST")
            assert client("DEBUG", "LOADAOF") == OK and client("DEBUG", "DIGEST") == before
            client("BGREWRITEAOF")
            wait_for(lambda: b"aof_rewrite_in_progress:0" in client("INFO", "persistence"))
            assert client("DEBUG", "LOADAOF") == OK and client("DEBUG", "DIGEST") == before
            assert client("DEBUG", "RELOAD") == OK and client("DEBUG", "DIGEST") == before
            assert client("UM.LOAD", "g", 1000, file[1000:]) == 0 and dumped(client, "g") == file


def test_bools_and_maps_of_the_third_protocol(server, client):
    client("UM.RESERVE", "f", 100, 0.01)
    with server.client(3) as third:
        assert same(third("UM.ADD", "f", 1), True) and same(third("UM.MEXISTS", "f", 1, 2), [True, False])
        told = third("UM.INFO", "f")
        assert isinstance(told, Pairs) and same(dict(told)[b"fill"] > 0, True)


def test_keys_are_taken_in_the_form_of_the_filter(client, tmp_path):
    """What clients send are texts; digits are integers in a filter of integers, and both may be in a mixed one."""
    assert client("UM.RESERVE", "text", 100, 0.000001) == OK
    client("UM.MADD", "text", "7", "a")
    assert b"\x04\x00type\x04\x00text" in dumped(client, "text")
    made = tmp_path / "integers.umbel"
    program = os.environ.get("UMBEL", "umbel")
    lines = "".join(f"{number}\n" for number in range(100)).encode()
    subprocess.run([program, "filter", "build", "-q", "--keys", "200", "--fpp", "1e-6", "--key-type", "i64", "-o", made], input=lines, check=True)
    assert load(client, "integers", made.read_bytes()) == OK
    assert client("UM.MEXISTS", "integers", *range(100), "007", "abc") == [1] * 100 + [0] * 2
    assert client("UM.MADD", "integers", "-1", 2**64 - 2) == [1, 1] and client("UM.EXISTS", "integers", "-1") == 1
    for wrong in ("abc", "007", "+7", 2**64):
        assert client("UM.ADD", "integers", wrong).startswith("ERR the filter holds integers")
    made.write_bytes(dumped(client, "integers"))
    asked = subprocess.run([program, "filter", "query", "-q", made], input=b"5\n-1\n500\n", capture_output=True, check=True)
    assert asked.stdout == b"5\n-1\n"
    assert client("UM.RESERVE", "texts", 200, 0.000001) == OK and client("UM.ADD", "texts", "a") == 1
    assert client("UM.MERGE", "mixed", "integers", "texts") == OK
    assert client("UM.MEXISTS", "mixed", 5, "a", "b") == [1, 1, 0]
    subprocess.run([program, "filter", "build", "-qf", "--kind", "counting", "--keys", "200", "--fpp", "1e-6", "--key-type", "i64", "-o", made], input=lines, check=True)
    assert load(client, "numbers", made.read_bytes()) == OK
    assert client("UM.RESERVE", "words", 200, 0.000001, "KIND", "counting") == OK and client("UM.MADD", "words", "a", "007") == [1, 1]
    assert client("UM.MERGE", "counts", "numbers", "words") == OK
    assert [client("UM.DEL", "counts", key) for key in (5, 5, "a", "007", "b")] == [1, 0, 1, 1, 0]
    assert client("UM.MEXISTS", "counts", 5, 6, "a", "007") == [0, 1, 0, 0]


@pytest.mark.parametrize("options, sent, words", [
    (["--ignore-case"], "Alpha", "whole lines with ignore-case"),
    (["--trim"], "Alpha", "whole lines with trim"),
    (["--prefixes", "domain"], "www.example.org", "domains of hosts"),
    (["--prefixes", "ip"], "10.1.2.3", "prefixes of IP addresses"),
    (["--csv", "--key", "a", "--key", "b"], "Alpha,1", 'the fields "a", "b"'),
    (["--csv", "--key", "a"], "Alpha", None),
])
def test_keys_that_clients_cannot_send_are_refused(client, tmp_path, options, sent, words):
    made = tmp_path / "filter.umbel"
    lines = {"ip": b"10.0.0.0/8\n", "domain": b"example.org\n"}.get(options[-1], b"a,b\nAlpha,1\n" if "--csv" in options else b"Alpha\n")
    command = [os.environ.get("UMBEL", "umbel"), "filter", "build", "-q", *options, "-o", made]
    subprocess.run(command, input=lines, check=True)
    assert load(client, "f", made.read_bytes()) == OK and dumped(client, "f") == made.read_bytes()
    for command in ["UM.EXISTS", "UM.MEXISTS", "UM.ADD", "UM.MADD"]:
        answer = client(command, "f", sent)
        if words:
            assert answer.startswith(f"ERR the filter was built from {words}, and "), answer
        else:
            assert answer in (1, [1], 0, [0])
