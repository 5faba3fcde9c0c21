"""The server's requirements for a module's values and commands, on every server."""

import pytest

from resp import Pairs, Refused, Simple, same
from servers import MODULE, REDISBLOOM, Server, keys, wait_for

OK = Simple("OK")


def info(client, section):
    lines = client("INFO", section).decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def fill(client):
    client("BF.RESERVE", "bloom", 0.01, 100)
    client("BF.MADD", "bloom", *keys(b"item", 1000))
    client("CF.RESERVE", "cuckoo", 100)
    client("CF.INSERT", "cuckoo", "ITEMS", *keys(b"item", 1000))


def digest(client, key):
    return client("DEBUG", "DIGEST-VALUE", key)[0]


def test_the_module_is_there(client):
    modules = [dict(zip(module[::2], module[1::2])) for module in client("MODULE", "LIST")]
    assert [module[b"ver"] for module in modules if module[b"name"] == b"bf"] == [20802]
    client("BF.ADD", "bloom", 1), client("CF.ADD", "cuckoo", 1)
    assert client("TYPE", "bloom") == "MBbloom--" and client("TYPE", "cuckoo") == "MBbloomCF"


def test_copies_are_values_of_their_own(client):
    fill(client)
    for key, family in [("bloom", "BF"), ("cuckoo", "CF")]:
        assert client("COPY", key, "copy") == 1
        assert digest(client, key) == digest(client, "copy")
        client(f"{family}.ADD", "copy", "more")
        assert digest(client, key) != digest(client, "copy")
        assert client("DEL", "copy") == 1
        assert client(f"{family}.EXISTS", key, "item-7") == 1


def test_what_is_unlinked_is_freed(client):
    before = int(info(client, "memory")["used_memory"])
    client("BF.RESERVE", "bloom", 0.0001, 50_000_000)
    size = client("MEMORY", "USAGE", "bloom")
    assert size > 100 << 20
    assert int(info(client, "memory")["used_memory"]) - before > 100 << 20, "the server counts it"
    freed = int(info(client, "memory").get("lazyfreed_objects", 0))
    assert client("UNLINK", "bloom") == 1
    wait_for(lambda: int(info(client, "memory")["used_memory"]) - before < 10 << 20)
    # In the background.
    wait_for(lambda: int(info(client, "memory")["lazyfreed_objects"]) == freed + 1)


def test_pages_of_a_new_filter_are_had_when_they_are_touched(client):
    before = int(info(client, "memory")["used_memory_rss"])
    assert client("CONFIG", "SET", "bf.object-limit", "1gb") == OK
    assert client("BF.RESERVE", "bloom", 0.0001, 400_000_000) == OK
    assert client("MEMORY", "USAGE", "bloom") > 900 << 20
    assert client("BF.ADD", "bloom", 1) == 1
    assert int(info(client, "memory")["used_memory_rss"]) - before < 100 << 20


def test_what_does_not_fit_is_an_error(server, client):
    refused = lambda answer: isinstance(answer, Refused) and answer.startswith("ERR Insufficient memory to create filter: ")
    for command in [("BF.RESERVE", "k", "1e-300", 1 << 30), ("BF.INSERT", "k", "CAPACITY", 1 << 30, "ERROR", "1e-300", "ITEMS", 1)]:
        for limit in ["512mb", "0"]:
            assert client("CONFIG", "SET", "bf.object-limit", limit) == OK
            assert refused(client(*command))
    assert client("EXISTS", "k") == 0
    header = client("BF.RESERVE", "small", 0.01, 100) and client("BF.SCANDUMP", "small", 0)[1]
    huge = bytearray(header)
    huge[20:36] = (1 << 60).to_bytes(8, "little") + (1 << 63).to_bytes(8, "little")
    assert client("BF.LOADCHUNK", "k", 1, bytes(huge)).startswith("ERR received bad data: it needs ")
    header = client("CF.RESERVE", "c", 100) and client("CF.ADD", "c", 1) and client("CF.SCANDUMP", "c", 0)[1]
    huge = header[:8] + (1 << 50).to_bytes(8, "little") + header[16:]
    assert client("CF.LOADCHUNK", "k", 1, huge) == Refused("Couldn't create filter!")
    client("FLUSHALL", "SYNC")
    # 24 GB of a server with 1 GB.
    assert client("CONFIG", "SET", "maxmemory", "1gb") == OK
    assert refused(client("BF.RESERVE", "k", "1e-40", 1 << 30))
    assert refused(client("CF.RESERVE", "k", 1 << 30))
    assert client("BF.RESERVE", "k", 0.001, 10_000_000) == OK
    # A chain grows until memory is full.
    assert client("CONFIG", "SET", "maxmemory", "32mb") == OK
    client("FLUSHALL", "SYNC")
    assert client("BF.RESERVE", "chain", 0.01, 1000, "EXPANSION", 30000) == OK
    answers = client("BF.MADD", "chain", *keys(b"item", 1100))
    full = Refused("ERR problem inserting into filter")
    assert answers[0] == 1 and answers[-1] == full and 90 <= answers.count(full) <= 110
    assert client("BF.EXISTS", "chain", "item-7") == 1
    assert client("CONFIG", "SET", "maxmemory", "0") == OK
    # A limit for each filter.
    assert client("CONFIG", "SET", "bf.object-limit", "1mb") == OK
    assert refused(client("BF.RESERVE", "limited", 0.001, 1_000_000))
    assert client("BF.RESERVE", "limited", 0.001, 100_000) == OK
    assert client("PING") == Simple("PONG")


def test_writes_are_denied_when_memory_is_out(client):
    fill(client)
    assert client("CONFIG", "SET", "maxmemory", "1") == OK
    for command in ["BF.ADD bloom x", "BF.RESERVE b2 0.1 10", "CF.ADD cuckoo x", "BF.LOADCHUNK b3 1 x", "CF.INSERTNX cuckoo ITEMS x"]:
        assert client(*command.split()).startswith("OOM "), command
    assert client("BF.EXISTS", "bloom", "item-7") == 1 and client("CF.DEL", "cuckoo", "item-7") == 1
    assert client("CONFIG", "SET", "maxmemory", "0") == OK


def test_events_are_told(server, client):
    client("CONFIG", "SET", "notify-keyspace-events", "KEA")
    with server.client() as listener:
        listener("PSUBSCRIBE", "__keyevent@0__:*")
        client("BF.ADD", "bloom", 1), client("BF.ADD", "bloom", 1), client("CF.ADD", "cuckoo", 1), client("CF.DEL", "cuckoo", 1)
        heard = []
        while b"cuckoo.del" not in heard:
            heard.append(listener.read()[2].split(b":")[1])
    client("CONFIG", "SET", "notify-keyspace-events", "")
    assert [event for event in heard if b"." in event] == [
        b"bloom.reserve", b"bloom.add", b"cuckoo.reserve", b"cuckoo.add", b"cuckoo.del",
    ]


def test_the_append_only_file_is_rewritten_and_read():
    for kind in ["redis-7.0", "redis-8.2", "valkey-8.1"]:
        with Server(kind, options=["--appendonly", "yes", "--aof-use-rdb-preamble", "no"]) as server:
            with server.client() as client:
                fill(client)
                client("CF.RESERVE", "empty", 100)
                client("BF.RESERVE", "large", 0.001, 12_000_000)
                client("BF.ADD", "large", "a")
                before = client("DEBUG", "DIGEST")
                client("BGREWRITEAOF")
                wait_for(lambda: "aof_rewrite_in_progress:0" in client("INFO", "persistence").decode())
                assert "aof_last_bgrewrite_status:ok" in client("INFO", "persistence").decode()
                assert client("DEBUG", "LOADAOF") == OK
                assert client("DEBUG", "DIGEST") == before
                assert client("DEBUG", "RELOAD") == OK, "and by a snapshot"
                assert client("DEBUG", "DIGEST") == before


def test_damaged_payloads_are_refused(server, client):
    fill(client)
    for key in ["bloom", "cuckoo"]:
        payload = client("DUMP", key)
        for at in range(0, min(len(payload) - 10, 120)):
            damaged = payload[:at] + bytes([payload[at] ^ 0xFF]) + payload[at + 1 :]
            damaged = damaged[:-8] + crc64(damaged[:-8]).to_bytes(8, "little")
            answer = client("RESTORE", "damaged", 0, damaged)
            if answer == OK:
                # What is taken is written as it was read, and answers.
                client("BF.EXISTS", "damaged", 1), client("CF.EXISTS", "damaged", 1), client("BF.INFO", "damaged")
                client("DEL", "damaged")
            else:
                assert isinstance(answer, Refused)
    assert client("PING") == Simple("PONG")


def crc64(data):
    """Redis's, of Jones."""
    crc = 0
    for byte in data:
        crc = CRC64[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc


def crc64_table():
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x95AC9329AC4BC9B5 if value & 1 else 0)
        yield value


CRC64 = list(crc64_table())


def test_commands_are_described(server, client):
    for name, arity, flags in [
        ("bf.reserve", -4, {"write", "denyoom"}), ("bf.add", 3, {"write", "denyoom"}), ("bf.mexists", -3, {"readonly", "fast"}),
        ("bf.info", -2, {"readonly", "fast"}), ("cf.del", 3, {"write", "fast"}), ("cf.compact", 2, {"write"}), ("cf.loadchunk", 4, {"write", "denyoom"}),
        ("um.exists", 3, {"readonly", "fast"}), ("um.mexists", -3, {"readonly", "fast"}), ("um.info", 2, {"readonly"}), ("um.dump", 3, {"readonly"}), ("um.merge", -3, {"write", "denyoom"}), ("um.shrink", -2, {"write", "denyoom"}),
    ]:
        [described] = client("COMMAND", "INFO", name)
        assert described[:2] == [name.encode(), arity]
        assert set(described[2]) == flags | {"module"}
        assert described[3:6] == [1, -1 if name == "um.merge" else 1, 1]
        categories = {"redis-7.0": set()}.get(server.kind, {{"bf": "@bloom", "cf": "@cuckoo", "um": "@umbel"}[name[:2]]})
        assert categories <= set(described[6])
        # Clients must not cache replies that change without a write: numbers about a filter's bits, and keys in windows, which
        # forget.
        assert (b"dont_cache" in described[7]) == (name in ("bf.info", "um.exists", "um.mexists", "um.info", "um.dump")), name
        arguments = ["key", *"abcd"[: abs(arity) - 2]]
        assert client("COMMAND", "GETKEYS", name, *arguments)[0] == b"key"
    if server.kind != "redis-7.0":
        # The commands of RedisBloom and valkey-bloom, and no others: a user with one of these categories gets nothing more here.
        for category, prefix, count in [("bloom", b"bf.", 12), ("cuckoo", b"cf.", 14), ("umbel", b"um.", 13)]:
            commands = client("ACL", "CAT", category)
            assert len(commands) == count and all(command.startswith(prefix) for command in commands)
        client("ACL", "SETUSER", "reader", "on", "nopass", "~*", "-@all", "+@bloom", "-@write", "+auth")
        with server.client() as reader:
            reader("AUTH", "reader", "x")
            assert reader("BF.EXISTS", "k", 1) == 0
            assert reader("BF.ADD", "k", 1).startswith("NOPERM")
            assert reader("CF.EXISTS", "k", 1).startswith("NOPERM")


def test_settings(server, client):
    prefix = "" if server.kind == "redis-8.2" else "bf."
    get = lambda name: client("CONFIG", "GET", prefix + name)[1]
    put = lambda name, value: client("CONFIG", "SET", prefix + name, value)
    defaults = {
        "bf-error-rate": b"0.01", "bf-initial-size": b"100", "bf-expansion-factor": b"2", "cf-bucket-size": b"2", "cf-initial-size": b"1024",
        "cf-max-iterations": b"20", "cf-expansion-factor": b"1", "cf-max-expansions": b"32",
    }
    assert {name: get(name) for name in defaults} == defaults
    assert put("bf-error-rate", "0.5") == OK and get("bf-error-rate") == b"0.25"
    assert "must be in the range (0.000000, 1.000000)" in put("bf-error-rate", "1")
    assert "Invalid value for `bf-error-rate`" in put("bf-error-rate", "x")
    assert "Value for `bf-initial-size` must be in the range [1, 1073741824]" in put("bf-initial-size", "0")
    assert put("cf-bucket-size", "200") == OK
    assert "Value for `cf-initial-size` must be in the range [400, 1073741824]" in put("cf-initial-size", "399")
    assert put("bf-initial-size", "7") == OK
    client("BF.ADD", "k", 1)
    assert client("BF.INFO", "k", "CAPACITY") == [7]
    for name, value in defaults.items():
        assert put(name, value) == OK


@pytest.mark.parametrize("arguments, size", [(["ERROR_RATE", "0.1", "INITIAL_SIZE", "50"], 50), (["bf-initial-size", "60", "cf-max-expansions", "2"], 60)])
def test_load_arguments(arguments, size):
    with Server(arguments=arguments) as server, server.client() as client:
        client("BF.ADD", "k", 1)
        assert client("BF.INFO", "k", "CAPACITY") == [size]


def test_a_line_of_the_configuration_overrides_a_load_argument():
    """It may be newer: CONFIG REWRITE writes it."""
    with Server(options=["--bf-error-rate", "0.001"], arguments=["ERROR_RATE", "0.02", "INITIAL_SIZE", "50"]) as server, server.client() as client:
        assert client("CONFIG", "GET", "bf-error-rate", "bf-initial-size", "bf.bloom-fp-rate")[1::2].count(b"0.001") == 2
        assert client("CONFIG", "GET", "bf-initial-size")[1] == b"50"


@pytest.mark.parametrize("arguments", [["FOO", "1"], ["INITIAL_SIZE"], ["INITIAL_SIZE", "0"]])
def test_wrong_load_arguments_are_refused(arguments):
    server = Server(arguments=arguments)
    assert not server.try_start()
    assert "loadmodule: " in server.log()


def test_a_tracking_client_does_not_keep_what_a_window_forgets(server, client):
    """It keeps replies until the server reports that their key was written, except replies to commands that forbid it."""
    with server.client() as tracked, server.client() as invalid:
        tracked("CLIENT", "TRACKING", "ON", "REDIRECT", invalid("CLIENT", "ID"))
        invalid("SUBSCRIBE", "__redis__:invalidate")
        kept = {}

        def cached(*command):
            invalid.send(["PING"])
            while (message := invalid.read())[0] != b"pong":
                for key in message[2]:
                    for known in [known for known in kept if known[1].encode() == key]:
                        del kept[known]
            if command not in kept:
                answer, [described] = tracked(*command), client("COMMAND", "INFO", command[0])
                if b"dont_cache" in described[7]:
                    return answer
                kept[command] = answer
            return kept[command]

        assert client("UM.RESERVE", "window", 1000, 0.001, "KIND", "window", "SPAN", 2000) == OK
        client("BF.ADD", "bloom", "a"), client("UM.ADD", "window", "a")
        assert cached("UM.EXISTS", "window", "a") == 1 and cached("UM.MEXISTS", "window", "a", "b") == [1, 0]
        assert cached("BF.EXISTS", "bloom", "b") == 0 and ("BF.EXISTS", "bloom", "b") in kept
        wait_for(lambda: client("UM.EXISTS", "window", "a") == 0)
        assert cached("UM.EXISTS", "window", "a") == 0 and cached("UM.MEXISTS", "window", "a", "b") == [0, 0]
        client("BF.ADD", "bloom", "b")
        assert cached("BF.EXISTS", "bloom", "b") == 1


@pytest.mark.parametrize("first", [REDISBLOOM, MODULE], ids=["redisbloom", "ours"])
def test_one_module_of_the_name(first):
    with Server(module=first, options=["--enable-module-command", "yes"]) as server, server.client() as client:
        assert isinstance(client("MODULE", "LOAD", MODULE), Refused)
        assert "remove its loadmodule line" in server.log()


def test_maps_of_the_third_protocol(server, client):
    client("BF.ADD", "bloom", 1)
    with server.client(3) as third:
        assert same(third("BF.INFO", "bloom", "ITEMS"), Pairs([(Simple("Number of items inserted"), 1)]))
        assert same(third("BF.ADD", "bloom", 2), True) and same(third("BF.MADD", "bloom", 2, 3), [False, True])
        assert isinstance(third("BF.INFO", "bloom"), Pairs)


def test_defragmentation_moves_small_filters(server, client):
    """As RedisBloom's own test, for our types: half of many small filters are freed, and so is the memory between the others."""
    for setting, value in [("hz", 100), ("active-defrag-ignore-bytes", 1), ("active-defrag-threshold-lower", 0), ("active-defrag-cycle-min", 99)]:
        client("CONFIG", "SET", setting, value)
    if isinstance(client("CONFIG", "SET", "activedefrag", "yes"), Refused):
        pytest.skip("this server's allocator cannot be defragmented")
    client("CONFIG", "SET", "activedefrag", "no")
    families = [("bf", "BF.ADD"), ("cf", "CF.ADD"), ("own", "BF.INSERT")]
    words = {"own": ["TIGHTENING", 0.5, "ITEMS"]}
    number = 10_000
    for first in range(0, number, 100):
        for family, command in families:
            answers = client.pipeline([[command, f"{family}{i}", *words.get(family, []), f"k{i}"] for i in range(first, first + 100)])
            assert not any(isinstance(answer, Refused) for answer in answers)
    for first in range(0, number, 100):
        client("DEL", *(f"{family}{i}" for family, _ in families for i in range(first, first + 100, 2)))

    def fragmentation():
        return float(info(client, "memory")["allocator_frag_ratio"])

    try:
        wait_for(lambda: fragmentation() > 1.3, 30)
        client("CONFIG", "SET", "activedefrag", "yes")
        wait_for(lambda: fragmentation() < 1.1, 60)
        assert client("INFO", "stats").split(b"active_defrag_hits:")[1][:1] != b"0"
    finally:
        client("CONFIG", "SET", "activedefrag", "no")
    for family, _ in families:
        exists = "CF.EXISTS" if family == "cf" else "BF.EXISTS"
        for first in range(1, number, 100):
            answers = client.pipeline([[exists, f"{family}{i}", f"k{i}"] for i in range(first, first + 100, 2)])
            assert all(answer == 1 for answer in answers)
