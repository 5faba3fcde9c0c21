"""Replicas and restarted servers: they have everything the primary accepted, need no secret for it, and report when they could not follow."""

import random
import threading
from pathlib import Path

import pytest

from resp import Refused, Simple
from servers import PROGRAMS, Server, keys, wait_for
from test_noise import COMMANDS, argument, used

OK = Simple("OK")
APPEND_ONLY = ["--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no"]
# A replica that answers a command of its primary with an error stops.
STRICT = ["--propagation-error-behavior", "panic"]
SECRET = "000102030405060708090a0b0c0d0e0f"
LOST = "NOFILTER this server could not apply all writes"
VECTORS = Path(__file__).parents[4] / "testdata/foreign/valkey-bloom"


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret"
    path.write_text(SECRET)
    return path


def follow(client, server):
    assert client("REPLICAOF", "127.0.0.1", server.port) == OK
    wait_for(lambda: b"master_link_status:up" in client("INFO", "replication"))


def caught_up(client, seconds=20):
    wait_for(lambda: client("WAIT", 1, 1000) == 1, seconds)


def rewritten(client, seconds=20):
    """Waits until the append-only file has been rewritten; a rewrite also follows a replica's first snapshot."""
    wait_for(lambda: all(line in client("INFO", "persistence") for line in (b"aof_rewrite_in_progress:0", b"aof_rewrite_scheduled:0")), seconds)
    assert b"aof_last_bgrewrite_status:ok" in client("INFO", "persistence")


def same_after_a_restart(client):
    before = client("DEBUG", "DIGEST")
    assert client("DEBUG", "LOADAOF") == OK and client("DEBUG", "DIGEST") == before


@pytest.mark.parametrize("kind", PROGRAMS)
def test_no_secret_is_needed_to_follow(kind, secret):
    """A replica never had it; the primary loses it, because CONFIG SET lasts until the server ends."""
    filters = [("a", "blocked"), ("b", "counting"), ("c", "scalable"), ("d", "window"), ("e", "stable"), ("f", "coded")]
    with Server(kind, options=APPEND_ONLY) as primary, Server(kind, options=STRICT) as replica:
        with primary.client() as client, replica.client() as follower:
            follow(follower, primary)
            client("CONFIG", "SET", "bf.secret-files", secret)
            for key, name in filters:
                assert client("UM.RESERVE", key, 3000, 0.001, "KIND", name) == OK
                client("UM.MADD", key, *keys(b"item", 2000)), client("UM.ADD", key, "one")
            client("UM.RESERVE", "time", 3000, 0.001, "KIND", "window", "SPAN", 100_000), client("UM.MADD", "time", *keys(b"item", 2000))
            client("UM.ADD", "b", "gone"), client("UM.DEL", "b", "gone"), client("UM.MERGE", "merged", "a")
            caught_up(client)
            assert client("DEBUG", "DIGEST") == follower("DEBUG", "DIGEST")
            assert "secret" in follower("UM.EXISTS", "a", "item-1")
            assert follower("CONFIG", "SET", "bf.secret-files", secret) == OK
        primary.kill()
        primary.start()
        with primary.client() as client, replica.client() as follower:
            for asked in (client, follower):
                for key in [*"abcdf", "time", "merged"]:
                    if asked is client:
                        assert "secret" in asked("UM.EXISTS", key, "item-1")
                        client("CONFIG", "SET", "bf.secret-files", secret)
                    assert all(asked("UM.MEXISTS", key, *keys(b"item", 2000))), key
                    if asked is client:
                        client("CONFIG", "SET", "bf.secret-files", "")
                follower("REPLICAOF", "NO", "ONE")


@pytest.mark.parametrize("kind", PROGRAMS)
def test_no_acknowledged_key_is_missing_after_a_failover(kind, secret, full):
    """For a keyed filter, on a replica without the secret, which then replaces the killed primary."""
    draw = random.Random(12)
    servers = [Server(kind, options=APPEND_ONLY) for _ in range(2)]
    added = []
    with servers[0], servers[1]:
        for kill in range(40 if full else 2):
            primary, replica = servers[kill % 2], servers[1 - kill % 2]
            with primary.client() as client, replica.client() as follower:
                follower("CONFIG", "SET", "bf.secret-files", "")
                follow(follower, primary)
                client("CONFIG", "SET", "bf.secret-files", secret)
                if not kill:
                    assert client("UM.RESERVE", "keyed", 1000, 0.001, "KIND", "scalable") == OK
                    # A slow replica would have no filter yet when the primary is killed.
                    assert client("WAIT", 1, 60_000) == 1
                stop = threading.Timer(draw.uniform(0.1, 0.5), primary.kill)
                stop.start()
                try:
                    while True:
                        item = f"item {len(added)}"
                        assert client("UM.ADD", "keyed", item) in (0, 1)
                        if client("WAIT", 1, 1000) == 1:
                            added.append(item)
                except OSError:
                    pass
                stop.join()
                follower("REPLICAOF", "NO", "ONE")
                assert "secret" in follower("UM.EXISTS", "keyed", "item 0")
                follower("CONFIG", "SET", "bf.secret-files", secret)
                assert all(follower("UM.MEXISTS", "keyed", *added)), kill
            primary.start()
    assert len(added) > 10


def copied(client, dump, load, source, key):
    """Copies a filter part by part, all of them."""
    iterator, part = client(dump, source, 0)
    while iterator:
        assert client(load, key, iterator, part) == OK
        iterator, part = client(dump, source, iterator)


def loaded(client):
    client("UM.RESERVE", "other", 100, 0.01), client("UM.MADD", "other", "a", "b")
    assert client("UM.LOAD", "k", 0, client("UM.DUMP", "other", 0)[1]) == 0


WRITES = {
    "bf.reserve": [["BF.RESERVE", "k", 0.01, 100]],
    "bf.add": [["BF.ADD", "k", "a"]],
    "bf.madd": [["BF.MADD", "k", "a", "b", "c"]],
    # With capacity 2 it grows.
    "bf.insert": [["BF.INSERT", "k", "CAPACITY", 2, "ITEMS", *"abcde"]],
    "bf.loadchunk": [["BF.RESERVE", "other", 0.01, 50], ["BF.MADD", "other", *range(200)], lambda client: copied(client, "BF.SCANDUMP", "BF.LOADCHUNK", "other", "k")],
    "bf.load": [["BF.LOAD", "k", (VECTORS / "seed.bin").read_bytes()]],
    "cf.reserve": [["CF.RESERVE", "k", 100, "BUCKETSIZE", 2]],
    "cf.add": [["CF.ADD", "k", "a"]],
    "cf.addnx": [["CF.ADD", "k", "a"], ["CF.ADDNX", "k", "b"]],
    "cf.insert": [["CF.INSERT", "k", "ITEMS", *"abc"]],
    "cf.insertnx": [["CF.INSERTNX", "k", "ITEMS", *"abc"]],
    "cf.del": [["CF.ADD", "k", "a"], ["CF.ADD", "k", "a"], ["CF.DEL", "k", "a"]],
    "cf.compact": [["CF.RESERVE", "k", 8], ["CF.INSERT", "k", "ITEMS", *range(100)], *(["CF.DEL", "k", i] for i in range(3)), ["CF.COMPACT", "k"]],
    "cf.loadchunk": [["CF.RESERVE", "other", 50], ["CF.INSERT", "other", "ITEMS", *range(200)], lambda client: copied(client, "CF.SCANDUMP", "CF.LOADCHUNK", "other", "k")],
    "um.reserve": [["UM.RESERVE", "k", 100, 0.01]],
    "um.add": [["UM.RESERVE", "k", 100, 0.01], ["UM.ADD", "k", "a"]],
    "um.madd": [["UM.RESERVE", "k", 100, 0.01], ["UM.MADD", "k", *"abc"]],
    "um.addat": [["UM.RESERVE", "k", 100, 0.01, "KIND", "window", "SPAN", 10**9], lambda client: client("UM.ADDAT", "k", int(client("TIME")[0]) * 1000, "a", "b")],
    "um.del": [["UM.RESERVE", "k", 100, 0.01, "KIND", "counting"], ["UM.MADD", "k", *"abc"], ["UM.DEL", "k", "b"]],
    "um.merge": [["UM.RESERVE", "other", 100, 0.01], ["UM.MADD", "other", *"abc"], ["UM.MERGE", "k", "other"]],
    "um.shrink": [["UM.RESERVE", "k", 10_000, 0.01], ["UM.MADD", "k", *"abc"], ["UM.SHRINK", "k", 50]],
    "um.load": [loaded],
}
# Only primaries and append-only files send it.
NOT_FOR_CLIENTS = {"um.replay"}


def test_every_write_is_replicated():
    """As RedisBloom's own test of replication, for each command that writes."""
    with Server(options=APPEND_ONLY) as primary, Server(options=STRICT) as replica:
        with primary.client() as client, replica.client() as follower:
            names = client("COMMAND", "LIST", "FILTERBY", "MODULE", "bf")
            described = client("COMMAND", "INFO", *names)
            assert {name.decode() for name, _, flags, *_ in described if "write" in flags} == WRITES.keys() | NOT_FOR_CLIENTS
            follow(follower, primary)
            for name, steps in WRITES.items():
                client("FLUSHALL")
                for step in steps:
                    answer = step(client) if callable(step) else client(*step)
                    assert not isinstance(answer, Refused), (name, answer)
                caught_up(client)
                keys = sorted(client("KEYS", "*"))
                assert b"k" in keys and sorted(follower("KEYS", "*")) == keys, name
                for key in keys:
                    assert client("DUMP", key) == follower("DUMP", key), (name, key)
                same_after_a_restart(client)


def test_what_was_refused_is_not_taken_by_others():
    with Server(options=APPEND_ONLY) as primary, Server(options=[*STRICT, "--appendonly", "yes"]) as replica:
        with primary.client() as client, replica.client() as follower:
            follow(follower, primary)

            def alike():
                caught_up(client)
                assert client("DEBUG", "DIGEST") == follower("DEBUG", "DIGEST")
                same_after_a_restart(client)

            # 256 copies fill 64 buckets of 2 twice: past a limit of 4 sub-filters.
            client("CONFIG", "SET", "cf-max-expansions", 4)
            client("CF.RESERVE", "cuckoo", 8)
            assert client("CF.INSERT", "cuckoo", "ITEMS", *["same"] * 256).count(-1) > 200
            assert client("CF.INFO", "cuckoo")[5] == 4
            assert client("CF.INSERTNX", "nx", "CAPACITY", 8, "ITEMS", *keys(b"item", 300)).count(-1) > 200
            assert client("CF.ADD", "cuckoo", "same") == Refused("Maximum expansions reached")
            alike()
            # A fixed filter that is full; and one whose next link does not fit.
            client("BF.INSERT", "fixed", "CAPACITY", 5, "NONSCALING", "ITEMS", *keys(b"item", 20))
            client("CONFIG", "SET", "bf.object-limit", "100kb")
            client("BF.RESERVE", "chain", 0.01, 1000, "EXPANSION", 20_000), client("UM.RESERVE", "scalable", 20_000, 0.001, "KIND", "scalable")
            refused = client("BF.MADD", "chain", *keys(b"item", 3000))
            assert refused.count(Refused("ERR problem inserting into filter")) > 1900
            assert isinstance(client("UM.MADD", "scalable", *keys(b"item", 100_000)), Refused)
            client("UM.RESERVE", "coded", 100, 0.001, "KIND", "coded")
            assert "full" in client("UM.MADD", "coded", *keys(b"item", 3000))
            assert client("BF.INFO", "chain", "FILTERS") == [1]
            alike()
            for key in ("chain", "scalable"):
                assert client("MEMORY", "USAGE", key) == follower("MEMORY", "USAGE", key) < 110 << 10
            assert all(client("UM.MEXISTS", "scalable", *keys(b"item", 10_000)))
            client("CONFIG", "SET", "bf.object-limit", "0")
            client("CONFIG", "SET", "maxmemory", used(client) + (8 << 20))
            refused = client("BF.MADD", "chain", *keys(b"more", 3000))
            assert refused.count(Refused("ERR problem inserting into filter")) > 1900
            client("CONFIG", "SET", "maxmemory", 0)
            alike()


def test_a_replica_takes_what_its_primary_took_under_another_limit():
    """It was a primary before, with a lower limit, and already had the filter then."""
    with Server() as primary, Server(options=STRICT) as replica:
        with primary.client() as client, replica.client() as follower:
            follow(follower, primary)
            client("CF.RESERVE", "cuckoo", 8)
            caught_up(client)
            follower("REPLICAOF", "NO", "ONE")
            follower("CONFIG", "SET", "cf-max-expansions", 2), follower("CF.ADD", "cuckoo", "x")
            # The server sends no snapshot as long as both have the same history.
            assert client("REPLICAOF", "127.0.0.1", replica.port) == OK
            wait_for(lambda: b"master_link_status:up" in client("INFO", "replication"))
            client("REPLICAOF", "NO", "ONE")
            follow(follower, primary)
            assert client("CF.INSERT", "cuckoo", "ITEMS", *["same"] * 100).count(-1) == 0
            caught_up(client)
            assert client("DEBUG", "DIGEST") == follower("DEBUG", "DIGEST")


@pytest.mark.parametrize("kind", PROGRAMS)
def test_noise_leaves_all_alike(kind, full):
    """Random commands, near all limits: every replica accepts everything it is sent, and ends up with the same data."""
    draw = random.Random(6)
    with Server(kind, options=APPEND_ONLY) as primary, Server(kind, options=STRICT) as replica:
        with primary.client() as client, replica.client() as follower:
            follow(follower, primary)
            client("CONFIG", "SET", "bf.object-limit", "20kb")
            client("CONFIG", "SET", ("" if kind == "redis-8.2" else "bf.") + "cf-max-expansions", 3)
            kept = []
            for step in range(100_000 if full else 6000):
                key = draw.choice("abcd")
                # Windows by time forget when they are read, each server by its clock.
                words = [word for word in (argument(draw, kept) for _ in range(draw.randrange(9))) if word != "SPAN"]
                command = [draw.choice(COMMANDS), key, *words]
                if draw.randrange(4) == 0:
                    command = [draw.choice(["BF.MADD", "CF.INSERT", "UM.MADD"]), key, *keys(b"item", draw.randrange(1000))]
                    command[2:2] = ["ITEMS"] * (command[0] == "CF.INSERT")
                answer = client(*command)
                if command[0] in ("BF.SCANDUMP", "CF.SCANDUMP", "UM.DUMP") and isinstance(answer, list) and answer[1]:
                    kept = [*kept[-20:], answer[1][:100_000]]
                if step % 50 == 0:
                    client("DEL", key)
                if step % 1000 == 999:
                    caught_up(client)
                    assert client("DEBUG", "DIGEST") == follower("DEBUG", "DIGEST"), step
                    same_after_a_restart(client)


def test_a_damaged_part_leaves_nothing_behind():
    with Server(options=APPEND_ONLY) as primary, Server(options=STRICT) as replica:
        with primary.client() as client, replica.client() as follower:
            follow(follower, primary)
            client("UM.RESERVE", "whole", 100_000, 0.001), client("UM.MADD", "whole", *keys(b"item", 1000))
            _, file = client("UM.DUMP", "whole", 0)
            middle = len(file) // 2
            damaged = file[middle:-300] + bytes([file[-300] ^ 1]) + file[-299:]
            for key, others in [("new", 0), ("old", 1)]:
                if others:
                    client("UM.RESERVE", key, 100, 0.01), client("UM.ADD", key, "a")
                for last in (damaged, b"", damaged):
                    # The second time the load is abandoned.
                    assert client("UM.LOAD", key, 0, file[:middle]) == middle
                    assert client("UM.EXISTS", key, "a") == 1 if others else client("UM.EXISTS", key, "a").startswith("NOFILTER the filter is still being loaded")
                    assert client("UM.LOAD", key, 0, b"") == 0 if not last else client("UM.LOAD", key, middle, last).startswith("ERR ")
                    assert client("EXISTS", key) == others
                    caught_up(client)
                    assert client("DEBUG", "DIGEST") == follower("DEBUG", "DIGEST")
                    same_after_a_restart(client)
                    client("BGREWRITEAOF")
                    rewritten(client)
                    same_after_a_restart(client)
            assert client("UM.LOAD", "none", 0, b"") == 0 and client("EXISTS", "none") == 0
            assert client("UM.RESERVE", "new", 100, 0.01) == OK and client("UM.EXISTS", "old", "a") == 1
            caught_up(client)
            assert client("DEBUG", "DIGEST") == follower("DEBUG", "DIGEST")


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_filter_that_could_not_follow_says_so(kind):
    """Keys are deleted on a replica, which then cannot apply later changes to them."""
    with Server(kind) as primary, Server(kind, options=["--replica-read-only", "no", "--appendonly", "yes"]) as replica:
        with primary.client() as client, replica.client() as follower:
            follow(follower, primary)
            for key in ["added", "deleted", "loaded", "source", "other", "built"]:
                assert client("UM.RESERVE", key, 1000, 0.001, "KIND", "counting") == OK
                client("UM.MADD", key, *keys(b"item", 100))
            file = client("UM.DUMP", "other", 0)[1]
            client("UM.LOAD", "loaded", 0, file[:500])
            caught_up(client)
            for key in ["added", "deleted", "loaded", "source", "built"]:
                assert follower("DEL", key) == 1
            client("UM.ADD", "added", "a"), client("UM.DEL", "deleted", "item-1"), client("UM.LOAD", "loaded", 500, file[500:1000])
            client("UM.MERGE", "other", "source"), client("UM.ADD", "built", "a")
            # Copies of it are incomplete too.
            client("COPY", "added", "copy"), client("UM.RESERVE", "renamed", 100, 0.01), client("RENAME", "deleted", "renamed")
            lost = ["added", "loaded", "other", "copy", "renamed", "built"]
            caught_up(client)
            for restart in range(3):
                for key in lost:
                    for command in [("UM.EXISTS", key, "item-1"), ("UM.INFO", key), ("UM.DUMP", key, 0), ("UM.MEXISTS", key, 1, 2)]:
                        assert follower(*command).startswith(LOST), (key, command)
                if restart == 0:
                    assert follower("DEBUG", "RELOAD") == OK
                elif restart == 1:
                    follower("REPLICAOF", "NO", "ONE")
                    for key in lost:
                        for command in [("UM.RESERVE", key, 100, 0.01), ("UM.ADD", key, 1), ("UM.MERGE", key, key), ("UM.MERGE", "new", key)]:
                            assert follower(*command).startswith(LOST), (key, command)
                    follower("BGREWRITEAOF")
                    rewritten(follower)
                    assert follower("DEBUG", "LOADAOF") == OK
            # A file, or a new filter, is complete again.
            assert follower("UM.LOAD", "other", 0, file) == 0 and follower("UM.EXISTS", "other", "item-1") == 1
            assert follower("DEL", "built") == 1 and follower("UM.RESERVE", "built", 100, 0.01) == OK
            assert follower("UM.ADD", "built", "a") == 1
            follow(follower, primary)
            assert client("DEBUG", "DIGEST") == follower("DEBUG", "DIGEST")
            rewritten(follower)
        assert "the filter added is lost" in (replica.folder / "log").read_text()


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_replica_out_of_memory_takes_keys_or_says_so(kind):
    """A replica that enforces its own `maxmemory` refuses some commands of its primary: those that may need memory."""
    with Server(kind) as primary, Server(kind, options=["--replica-ignore-maxmemory", "no"]) as replica:
        with primary.client() as client, replica.client() as follower:
            follow(follower, primary)
            client("UM.RESERVE", "f", 1000, 0.001)
            caught_up(client)
            follower("CONFIG", "SET", "maxmemory", 1)
            client("UM.ADD", "f", "a"), client("UM.RESERVE", "g", 1000, 0.001), client("UM.ADD", "g", "a")
            caught_up(client)
            assert follower("UM.EXISTS", "f", "a") == 1 and follower("UM.EXISTS", "g", "a").startswith(LOST)


def test_a_file_with_keys_needs_the_secret(secret):
    """An append-only file as older versions wrote it: commands as they came."""
    with Server(options=APPEND_ONLY) as server:
        with server.client() as client:
            client("CONFIG", "SET", "bf.secret-files", secret)
            client("UM.RESERVE", "keyed", 100, 0.01)
        server.kill()
        [file] = (server.folder / "appendonlydir").glob("*.incr.aof")
        whole = file.read_bytes()
        file.write_bytes(whole + b"*3\r\n$6\r\nUM.ADD\r\n$5\r\nkeyed\r\n$1\r\na\r\n")
        server.start()
        with server.client() as client:
            assert client("UM.EXISTS", "keyed", "a").startswith(LOST)
            client("CONFIG", "SET", "bf.secret-files", secret)
            assert client("UM.EXISTS", "keyed", "a").startswith(LOST), "it does not have the key"
        server.stop()
        server.options = [*server.options, "--bf.secret-files", str(secret)]
        server.start()
        with server.client() as client:
            assert client("UM.EXISTS", "keyed", "a") == 1, "the file still has it"


def test_replayed_commands_are_checked(client):
    client("UM.RESERVE", "f", 100, 0.001, "KIND", "counting"), client("UM.RESERVE", "b", 100, 0.001)
    one, two = bytes(range(16)), bytes(range(16, 32))
    assert client("UM.REPLAY", "f", 0, "ADD", one + two) == OK and client("UM.REPLAY", "f", 0, "DEL", one) == OK
    for words in [(0, "ADD", b"short"), (0, "ADD", b""), (0, "ADD"), (0, "DEL", one + two), (0, "LOST", one), (0, "FOO", one), (5, "ADD", one), ("x", "ADD", one)]:
        assert client("UM.REPLAY", "f", *words).startswith("ERR "), words
    assert client("UM.REPLAY", "b", 0, "DEL", one).startswith("ERR ")
    assert client("UM.REPLAY", "none", 0, "ADD", one).startswith("NOFILTER")
    assert client("UM.EXISTS", "f", "a") == 0, "an error of a client loses nothing"
    assert client("UM.REPLAY", "f", 0, "LOST") == OK and client("UM.EXISTS", "f", "a").startswith(LOST)


def test_words_of_an_append_only_file_are_taken_as_redisbloom_takes_them(tmp_path):
    """It looks at single letters of an option, and writes options as clients gave them."""
    commands = [
        ["BF.INSERT", "f", "Cap", "500", "ITEM", "a", "SEED"],
        ["BF.INSERT", "g", "e", "3", "Err", "0.1", "nons", "i", "x"],
        ["CF.INSERT", "c", "CAP", "100", "i", "a"],
        ["CF.INSERT", "c", "n", "I", "b"],
    ]
    folder = tmp_path / "appendonlydir"
    folder.mkdir()
    parts = ["".join([f"*{len(words)}\r\n", *(f"${len(word)}\r\n{word}\r\n" for word in words)]) for words in [["SELECT", "0"], *commands]]
    (folder / "appendonly.aof.1.incr.aof").write_text("".join(parts), newline="")
    (folder / "appendonly.aof.manifest").write_text("file appendonly.aof.1.incr.aof seq 1 type i\n")
    with Server(folder=tmp_path, options=["--appendonly", "yes"]) as server, server.client() as client:
        assert client("BF.MEXISTS", "f", "a", "SEED", "b") == [1, 1, 0]
        assert client("BF.EXISTS", "g", "x") == 1 and client("CF.MEXISTS", "c", "a", "b", "z") == [1, 1, 0]
        info = client("BF.INFO", "f"), client("BF.INFO", "g")
        assert info[0][1] == 500 and info[1][-1] is None
        # Clients have to write words in full.
        assert "Unknown argument" in client("BF.INSERT", "h", "CAP", "500", "ITEMS", "a")
