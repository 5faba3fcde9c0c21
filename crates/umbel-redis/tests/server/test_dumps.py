"""Filters between our module and RedisBloom, both ways: dumps, snapshots, replicas. They answer alike afterwards."""

import pytest

from resp import Refused, Simple
from servers import MODULE, REDISBLOOM, Server, keys, wait_for

PROBES = 1_000_000
OTHER = {MODULE: REDISBLOOM, REDISBLOOM: MODULE}
FROM = pytest.mark.parametrize("module", [MODULE, REDISBLOOM], ids=["ours", "redisbloom"])
FILTERS = {"bloom": b"BF", "chain": b"BF", "fixed": b"BF", "cuckoo": b"CF", "kicked": b"CF"}


def fill(client):
    """Filters of both kinds, with several links and sub-filters, after deletions."""
    client("BF.RESERVE", "bloom", 0.001, 50000)
    client("BF.RESERVE", "chain", 0.05, 1000, "EXPANSION", 3)
    client("BF.RESERVE", "fixed", 0.02, 20000, "NONSCALING")
    client("CF.RESERVE", "cuckoo", 4096, "EXPANSION", 2)
    client("CF.RESERVE", "kicked", 20000, "BUCKETSIZE", 4, "MAXITERATIONS", 50)
    for key, family in FILTERS.items():
        for start in range(0, 18000, 1000):
            items = keys(b"item", 18000)[start : start + 1000]
            command = [b"BF.MADD", key, *items] if family == b"BF" else [b"CF.INSERT", key, "ITEMS", *items]
            assert not any(isinstance(answer, Refused) for answer in client(*command))
    for item in keys(b"item", 400):
        client("CF.DEL", "cuckoo", item)
        client("CF.DEL", "kicked", item)


def answers(server, probes, filters=FILTERS):
    """The answers of each filter to the probes."""
    found = {}
    with server.client() as client:
        for key, family in filters.items():
            batches = [probes[start : start + 1000] for start in range(0, len(probes), 1000)]
            found[key] = [client(family + b".MEXISTS", key, *batch) for batch in batches]
            found[key, "info"] = client(family + b".INFO", key)
    return found


def compare(left, right, filters=FILTERS):
    """10^6 probes in all: added keys, and others."""
    share = PROBES // len(filters)
    probes = keys(b"item", 18000) + keys(b"other", share - 18000)
    theirs, mine = answers(left, probes, filters), answers(right, probes, filters)
    assert theirs == mine
    assert sum(map(sum, mine["bloom"])) >= 18000


@FROM
def test_chunks_go_both_ways(module):
    with Server(module=module) as source, Server(module=OTHER[module]) as target:
        with source.client() as read, target.client() as write:
            fill(read)
            for key, family in FILTERS.items():
                iterator = 0
                while True:
                    iterator, chunk = read(family + b".SCANDUMP", key, iterator)
                    if iterator == 0:
                        break
                    assert write(family + b".LOADCHUNK", key, iterator, chunk) == Simple("OK")
            # Further additions give the same results in both.
            for key, family in FILTERS.items():
                for item in keys(b"later", 500):
                    assert read(family + b".ADD", key, item) == write(family + b".ADD", key, item)
        compare(source, target)


@FROM
def test_values_are_restored_both_ways(module):
    with Server(module=module) as source, Server(module=OTHER[module]) as target:
        with source.client() as read, target.client() as write:
            fill(read)
            for key in FILTERS:
                payload = read("DUMP", key)
                assert write("RESTORE", key, 0, payload) == Simple("OK")
                assert write("DUMP", key) == payload, "byte for byte"
        compare(source, target)


@FROM
def test_snapshots_load_both_ways(module):
    with Server(module=module) as source:
        with source.client() as client:
            fill(client)
            assert client("SAVE") == Simple("OK")
        target = Server(module=OTHER[module], folder=source.folder)
        with target:
            compare(source, target)


def test_filters_of_redis_8_reach_servers_that_cannot_read_its_snapshots():
    """An append-only file of commands is all that these read. As docs/redis.md describes it."""
    def state(client):
        first = {key: [client(family + b".SCANDUMP", key, place) for place in (0, 1)] for key, family in FILTERS.items()}
        return first, client("CF.INFO", "empty")

    with Server(module=REDISBLOOM) as source:
        with source.client() as client:
            fill(client)
            client("CF.RESERVE", "empty", 100)
            expected, payload = state(client), client("DUMP", "bloom")
            assert client("CONFIG", "SET", "aof-use-rdb-preamble", "no", "appendonly", "yes") == Simple("OK")
            wait_for(lambda: b"aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0" in client("INFO", "persistence"))
        source.stop()
        for kind in ["redis-7.0", "valkey-8.1"]:
            with Server(kind, folder=source.folder, options=["--appendonly", "yes"]) as target, target.client() as client:
                assert state(client) == expected
                assert isinstance(client("RESTORE", "other", 0, payload), Refused)


@FROM
def test_a_replica_follows_a_primary_of_the_other(module):
    with Server(module=module) as primary, Server(module=OTHER[module]) as replica:
        with primary.client() as client, replica.client() as follower:
            client("BF.ADD", "before", "a")
            follower("REPLICAOF", "127.0.0.1", primary.port)
            wait_for(lambda: b"master_link_status:up" in follower("INFO", "replication"))
            fill(client)
            client("BF.ADD", "made", "a"), client("CF.ADD", "made2", "a")
            wait_for(lambda: client("WAIT", 1, 1000) == 1)
            assert follower("BF.EXISTS", "before", "a") == follower("BF.EXISTS", "made", "a") == 1
            assert client("BF.INFO", "made") == follower("BF.INFO", "made")
            assert client("CF.INFO", "made2") == follower("CF.INFO", "made2")
        compare(primary, replica)


def test_a_replica_makes_filters_with_the_primarys_parameters():
    with Server() as primary, Server() as replica:
        with primary.client() as client, replica.client() as follower:
            for name, value in [
                ("bf-initial-size", 7), ("bf-error-rate", 0.2), ("bf-expansion-factor", 0), ("cf-initial-size", 64),
                ("cf-bucket-size", 5), ("cf-max-iterations", 9), ("cf-expansion-factor", 4),
            ]:
                assert follower("CONFIG", "SET", name, value) == Simple("OK"), name
            follower("REPLICAOF", "127.0.0.1", primary.port)
            wait_for(lambda: b"master_link_status:up" in follower("INFO", "replication"))
            client("BF.ADD", "a", 1), client("BF.MADD", "b", 1, 2), client("BF.INSERT", "c", "CAPACITY", 50, "ITEMS", 1)
            client("BF.RESERVE", "d", 0.01, 100), client("CF.ADD", "e", 1), client("CF.INSERT", "f", "ITEMS", 1, 2), client("CF.RESERVE", "g", 100)
            client("BF.INSERT", "h", "CAPACITY", 9, "ERROR", 0.9, "NONSCALING", "ITEMS", *range(20))
            wait_for(lambda: client("WAIT", 1, 1000) == 1)
            for key in "abcdh":
                assert client("BF.SCANDUMP", key, 0) == follower("BF.SCANDUMP", key, 0), key
            for key in "efg":
                assert client("CF.INFO", key) == follower("CF.INFO", key), key
            assert client("DEBUG", "DIGEST") == follower("DEBUG", "DIGEST")
