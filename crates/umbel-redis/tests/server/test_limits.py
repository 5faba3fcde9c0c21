"""Refused to keep a server up: filters that do not fit, however they come, and files that do not hold secrets."""

import os
import struct
from pathlib import Path

import pytest

from resp import Refused, Simple
from servers import MODULE, REDISBLOOM, Server
from test_citizen import info

OK = Simple("OK")
MIB = 1 << 20


@pytest.fixture
def limited(client):
    """Sets settings of memory; the others get their defaults."""
    def limit(maxmemory="0", policy="noeviction", object_limit="0"):
        for name, value in [("maxmemory-policy", policy), ("maxmemory", maxmemory), ("bf.object-limit", object_limit)]:
            assert client("CONFIG", "SET", name, value) == OK
    return limit


def used(client):
    return int(info(client, "memory")["used_memory"])


FAMILIES = {
    # 20 MiB each, and how an item is looked up.
    "BF": ([("BF.RESERVE", "k", 0.01, 15_000_000), ("BF.ADD", "k", "a")], "BF.EXISTS"),
    "CF": ([("CF.RESERVE", "k", 16 * MIB), ("CF.ADD", "k", "a")], "CF.EXISTS"),
    "UM": ([("UM.RESERVE", "k", 15_000_000, 0.01), ("UM.ADD", "k", "a")], "UM.EXISTS"),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_copy_is_made_if_it_fits(client, limited, family):
    commands, exists = FAMILIES[family]
    for command in commands:
        assert client(*command) in (OK, 1)
    size = client("MEMORY", "USAGE", "k")
    limited(maxmemory=used(client) + size // 2)
    assert isinstance(client("COPY", "k", "copy"), Refused)
    limited(maxmemory=used(client) + 2 * size)
    assert client("COPY", "k", "copy") == 1 and client(exists, "copy", "a") == 1
    limited(object_limit="1mb")
    assert isinstance(client("COPY", "k", "copy2"), Refused)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_value_is_restored_if_it_fits(client, limited, family):
    commands, exists = FAMILIES[family]
    for command in commands:
        client(*command)
    size, payload = client("MEMORY", "USAGE", "k"), client("DUMP", "k")
    client("FLUSHALL", "SYNC")
    limited(maxmemory=used(client) + size // 2)
    assert isinstance(client("RESTORE", "k", 0, payload), Refused)
    limited(object_limit="1mb")
    assert isinstance(client("RESTORE", "k", 0, payload), Refused)
    limited()
    assert client("RESTORE", "k", 0, payload) == OK and client(exists, "k", "a") == 1
    # Existing filters stay, whatever the limits are now.
    limited(maxmemory="10mb", object_limit="1mb")
    assert client("DEBUG", "RELOAD") == OK and client(exists, "k", "a") == 1


def test_what_a_payload_declares_must_fit(client, limited):
    """A few hundred bytes: the start of a load of 2 GiB, whose memory would immediately count as used, and evict keys."""
    limited(object_limit="0")
    client("UM.RESERVE", "f", 1_700_000_000, 0.01)
    assert client("MEMORY", "USAGE", "f") > 2000 * MIB
    assert client("UM.LOAD", "g", 0, client("UM.DUMP", "f", 0)[1][:600]) == 600
    payload = client("DUMP", "g")
    assert len(payload) < 1000
    client("FLUSHALL", "SYNC")
    for limits in [{"object_limit": "512mb"}, {"maxmemory": "1gb"}, {"maxmemory": "2gb", "policy": "allkeys-lru"}]:
        limited(**limits)
        assert isinstance(client("RESTORE", "g", 0, payload), Refused), limits
    assert used(client) < 100 * MIB
    limited(object_limit="0")
    assert client("RESTORE", "g", 0, payload) == OK


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
def test_one_filter_does_not_evict_all_else(client, limited, policy):
    for i in range(40):
        client("SET", f"text {i}", "x" * MIB, *([] if policy.startswith("allkeys") else ["EX", 1000]))
    limited(maxmemory="100mb", policy=policy)
    for command in [("BF.RESERVE", "k", 0.001, 50_000_000), ("CF.RESERVE", "k", 80 * MIB), ("UM.RESERVE", "k", 60_000_000, 0.001), ("BF.INSERT", "k", "CAPACITY", 50_000_000, "ITEMS", 1)]:
        answer = client(*command)
        assert isinstance(answer, Refused) and answer.startswith("ERR Insufficient memory to create filter: it needs "), command
        assert "half of maxmemory" in answer
    assert client("DBSIZE") == 40
    assert client("BF.RESERVE", "k", 0.001, 15_000_000) == OK


def test_a_filter_has_no_limit_of_its_own_unless_one_is_set(client, limited):
    with Server() as fresh, fresh.client() as other:
        assert other("CONFIG", "GET", "bf.object-limit")[1] == b"0"
    for large in [("BF.RESERVE", "k", 0.000001, 300_000_000), ("CF.RESERVE", "k", 1 << 30), ("UM.RESERVE", "k", 500_000_000, 0.01), ("BF.INSERT", "k", "CAPACITY", 500_000_000, "TIGHTENING", 0.5)]:
        limited(object_limit="512mb")
        answer = client(*large)
        assert answer.startswith("ERR Insufficient memory to create filter: it needs ") and "bf.object-limit, which CONFIG SET raises, is 536870912" in answer
        limited()
        assert client(*large) in (OK, []), large
        client("DEL", "k")
    # A sub-filter has 4 GiB, and two of ten items.
    assert client("CF.LOADCHUNK", "k", 1, struct.pack("<4Q3H", 0, 1 << 32, 0, 1, 1, 1, 1)) == OK
    assert client("CF.INSERT", "k", "ITEMS", 1, 1) == [1, 1]
    client("DEL", "k")


def test_secrets_come_from_small_files(client, tmp_path):
    good, empty, long, pipe = tmp_path / "good", tmp_path / "empty", tmp_path / "long", tmp_path / "pipe"
    good.write_text("000102030405060708090a0b0c0d0e0f\n"), empty.write_text(""), long.write_bytes(b"0" * 100_000)
    os.mkfifo(pipe)
    put = lambda path: client("CONFIG", "SET", "bf.secret-files", path)
    for path, why in [("/dev/zero", "not a regular file"), (pipe, "not a regular file"), (tmp_path, "not a regular file"), (long, "more than 256 bytes"), (empty, "found 0 bytes")]:
        answer = put(path)
        assert isinstance(answer, Refused) and str(path) in answer and why in answer, answer
    link = tmp_path / "link"
    link.symlink_to(good)
    assert put(link) == OK and put("") == OK


@pytest.mark.parametrize("kind", ["redis-7.0", "redis-8.2", "valkey-8.1"])
def test_secret_files_are_a_protected_setting(kind, tmp_path):
    """Like all settings that name files: otherwise CONFIG SET could be used to read files."""
    secret = tmp_path / "secret"
    secret.write_text("000102030405060708090a0b0c0d0e0f")
    options = ["--enable-protected-configs", "no", "--bf.secret-files", str(secret)]
    with Server(kind, options=options) as server, server.client() as client:
        assert "protected" in client("CONFIG", "SET", "bf.secret-files", "")
        client("UM.RESERVE", "f", 100, 0.01)
        assert b"siphash" in client("UM.INFO", "f")[3]


@pytest.mark.parametrize("module", [MODULE, REDISBLOOM], ids=["ours", "redisbloom"])
def test_a_snapshot_loads_in_the_memory_of_its_filters(module):
    """The module keeps the memory into which the server reads the bits; a copy would double it."""
    with Server(module=module, options=["--rdbcompression", "no"]) as server:
        with server.client() as client:
            client("BF.RESERVE", "k", 0.001, 180_000_000)
            size = client("MEMORY", "USAGE", "k")
            assert size > 300 * MIB
            for offset in range(0, size - 17 * MIB, 16 * MIB):
                assert client("BF.LOADCHUNK", "k", 1 + offset + 16 * MIB, os.urandom(16 * MIB)) == OK
            answers = client("BF.MEXISTS", "k", *range(1000))
            assert client("SAVE") == OK
        with Server(module=module, folder=server.folder) as again, again.client() as client:
            status = Path(f"/proc/{again.process.pid}/status").read_text()
            peak = 1024 * int(status.split("VmHWM:")[1].split()[0])
            assert client("BF.MEXISTS", "k", *range(1000)) == answers
            assert peak < 1.05 * size + 20 * MIB
