"""Mixed load, while servers save, rewrite their files, evict keys, are killed, and take each other's place.

Seconds, or with `--full` a quarter of an hour, and then RedisBloom under the same load, for its times; UMBEL_LOAD_SECONDS sets
another time.
"""

import contextlib
import os
import random
import threading
import time

import pytest

from resp import Refused, Simple
from servers import MODULE, REDISBLOOM, Server, wait_for
from test_followers import caught_up, rewritten

OK = Simple("OK")
FAMILIES = {"UM.MADD": "UM.MEXISTS", "BF.MADD": "BF.MEXISTS", "CF.INSERT": "CF.MEXISTS"}
# Seconds that a server may take to come back.
PATIENCE = 300
DURABLE = ["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "volatile-lru"]


class Pair:
    """Two servers, one of them the primary, at fixed ports."""

    def __init__(self, kind, module, maxmemory):
        self.options = [*DURABLE, "--maxmemory", str(maxmemory)]
        self.servers = [Server(kind, module, options=self.options) for _ in range(2)]
        self.primary, self.replica = self.servers

    def __enter__(self):
        for server in self.servers:
            server.start()
            # Its file is large in the end, and the machine is busy.
            server.fixed_port, server.patience = server.port, PATIENCE
        self.comes_back(self.replica)
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.__exit__()

    def comes_back(self, server):
        """Restarts a server in its role, after it was killed or stopped."""
        if server is self.primary:
            server.options = self.options
        else:
            server.options = [*self.options, "--replicaof", f"127.0.0.1 {self.primary.port}"]
        if server.process.poll() is None:
            server.stop()
        assert server.try_start(), server.log()
        self.follows()

    def follows(self):
        def linked():
            with self.replica.client() as client:
                return b"master_link_status:up" in client("INFO", "replication")

        self.waits_for(linked)

    def waits_for(self, condition):
        """Waits; if that takes too long, reports the logs of both."""
        try:
            wait_for(condition, PATIENCE)
        except AssertionError as error:
            logs = "\n".join(f"{'primary' if server is self.primary else 'replica'}, {server.port}:\n{server.log()}" for server in self.servers)
            raise AssertionError(f"{error}\n{logs}") from None

    def fails_over(self):
        """The replica takes over once it has everything, also in its file: after a full synchronization the servers begin a new
        append-only file, and until that is complete, acknowledged writes do not survive `kill -9`."""
        with self.replica.client() as client:
            rewritten(client, PATIENCE)

        def over():
            # On other connections: the one that requests a failover is blocked like all others.
            if role(self.replica) == b"master" and role(self.primary) == b"slave":
                return True
            with contextlib.suppress(OSError, AssertionError):
                with self.primary.client() as client:
                    # Not requested yet, or aborted by the server, as when the replica has just begun to follow it again.
                    if b"master_failover_state:no-failover" in client("INFO", "replication"):
                        client("FAILOVER", "TO", "127.0.0.1", self.replica.port)
            return False

        self.waits_for(over)
        self.primary, self.replica = self.replica, self.primary
        self.follows()


def role(server):
    with contextlib.suppress(OSError, AssertionError):
        with server.client() as client:
            return client("ROLE")[0]


class Client(threading.Thread):
    """Adds numbered items, in pipelines, and looks up acknowledged ones."""

    def __init__(self, servers, families, number, threads, stop):
        super().__init__()
        self.servers, self.families, self.number, self.threads, self.stop = servers, families, number, threads, stop
        self.draw = random.Random(number)
        # Per family, all items below this number were acknowledged.
        self.acknowledged = dict.fromkeys(families, 0)
        self.taken, self.wrong = [], []

    def item(self, number):
        return f"{self.number}-{number}"

    def run(self):
        while not self.stop.is_set():
            for server in self.servers:
                # A killed server does not listen yet, or is loading its file.
                with contextlib.suppress(OSError, AssertionError):
                    with server.client() as client:
                        if client("ROLE")[0] == b"master":
                            # Together they send at most 500 pipelines per second: with more, their threads wait for each other.
                            while not self.stop.is_set() and self.step(client):
                                time.sleep(0.002 * self.threads)
            time.sleep(0.1)

    def step(self, client):
        """Runs one pipeline: additions, lookups of known items, and texts that expire and are evicted. Returns whether the server
        is still the primary."""
        commands, expected = [], []
        for add, exists in self.families.items():
            acknowledged, count = self.acknowledged[add], self.draw.randrange(1, 20)
            items = [self.item(acknowledged + i) for i in range(count)]
            commands.append([add, add[:2], *(["ITEMS"] if add == "CF.INSERT" else []), *items])
            expected.append((add, count))
            if acknowledged:
                known = [self.item(self.draw.randrange(acknowledged)) for _ in range(10)]
                commands.append([exists, add[:2], *known])
                expected.append((exists, known))
        # Half expire soon; the others fill the remaining memory within two minutes, and are evicted.
        lasts = self.draw.randrange(1, self.draw.choice([20_000, 1_200_000]))
        commands.append(["SET", f"text {self.draw.randrange(100_000)}", "x" * self.draw.randrange(20_000), "PX", lasts])
        begun = time.perf_counter()
        answers = client.pipeline(commands)
        self.taken.append(1000 * (time.perf_counter() - begun))
        if any(isinstance(answer, Refused) and answer.startswith(("READONLY", "LOADING", "MASTERDOWN")) for answer in answers):
            # Items acknowledged just before it stopped being the primary are added again on the next one.
            return False
        for (command, what), answer in zip(expected, answers):
            if isinstance(answer, Refused):
                self.wrong.append((time.strftime("%X"), command, answer))
            elif command in FAMILIES:
                assert len(answer) == what
                self.acknowledged[command] += what
            elif not all(answer):
                self.wrong.append((time.strftime("%X"), command, what, answer))
        return True


def missing(server, clients):
    """Acknowledged items that a server denies."""
    denied = []
    with server.client() as client:
        for each in clients:
            for add, exists in each.families.items():
                for start in range(0, each.acknowledged[add], 1000):
                    items = [each.item(number) for number in range(start, min(start + 1000, each.acknowledged[add]))]
                    found = client(exists, add[:2], *items)
                    denied += [(add, item) for item, there in zip(items, found) if not there]
    return denied


def numbers(client):
    """The whole numbers in INFO."""
    lines = (line.split(b":") for section in ("memory", "stats") for line in client("INFO", section).splitlines() if b":" in line)
    return {name.decode(): int(value) for name, value, *_ in lines if value.isdigit()}


def part(taken, share):
    """The time within which this share of pipelines was answered."""
    return sorted(taken)[int(share * len(taken))] if taken else float("nan")


def loaded(kind, module, seconds, threads, check):
    """Calls `check` with the servers and clients after this many seconds of load, and prints statistics per round and in
    total."""
    pause = 60 if seconds > 300 else seconds / 3
    families = {add: exists for add, exists in FAMILIES.items() if module == MODULE or not add.startswith("UM")}
    stop = threading.Event()
    # Per family, more than this many Python clients send. BF grows on the way.
    planned = 100_000 + int(6000 * seconds)
    # The filters use some 6 bytes for each; texts compete for the rest.
    maxmemory = (64 << 20) + 8 * planned
    with Pair(kind, module, maxmemory) as pair:
        with pair.primary.client() as client:
            if "UM.MADD" in families:
                assert client("UM.RESERVE", "UM", planned, 0.001) == OK
            assert client("CF.RESERVE", "CF", planned, "EXPANSION", 1) == OK
            assert client("BF.RESERVE", "BF", 0.001, planned // 8) == OK
        clients = [Client(pair.servers, families, number, threads, stop) for number in range(threads)]
        for each in clients:
            each.start()
        begun, memory, taken, kills, failovers, evicted = time.monotonic(), [], [], 0, 0, 0
        try:
            # A busy machine takes long for a round.
            while kills < 2 or time.monotonic() < begun + seconds:
                for what in (["BGSAVE"], ["BGREWRITEAOF"]):
                    time.sleep(pause / 5)
                    with pair.primary.client() as client:
                        client(*what)
                        info = numbers(client)
                        memory.append(info["used_memory"])
                # Since it started, after it was killed in the round before.
                evicted += info["evicted_keys"]
                pair.replica.kill()
                pair.comes_back(pair.replica)
                time.sleep(pause / 5)
                pair.fails_over()
                failovers += 1
                time.sleep(pause / 5)
                pair.primary.kill()
                kills += 1
                pair.comes_back(pair.primary)
                time.sleep(pause / 5)
                latest, added = [], sum(sum(each.acknowledged.values()) for each in clients)
                for each in clients:
                    latest, each.taken = latest + each.taken, []
                taken += latest
                print(
                    f"{kind}, {module.stem}: {time.monotonic() - begun:4.0f} s, {added:10,} items, {memory[-1] >> 20} MiB used, "
                    f"{info['used_memory_rss'] >> 20} resident, {info['evicted_keys']:,} evicted and {info['expired_keys']:,} expired "
                    f"since it started, pipelines p50 {part(latest, 0.5):.1f} ms, p99 {part(latest, 0.99):.1f} ms",
                    flush=True,
                )
        finally:
            stop.set()
            for each in clients:
                each.join()
        added = sum(sum(each.acknowledged.values()) for each in clients)
        print(
            f"{kind}, {module.stem}: {time.monotonic() - begun:.0f} s, {kills} kills of a primary and as many of a replica, "
            f"{failovers} failovers, {added:,} items, {evicted:,} texts evicted, pipelines p50 {part(taken, 0.5):.1f} ms, p99 {part(taken, 0.99):.1f} ms, "
            f"{min(memory) >> 20} to {max(memory) >> 20} MiB",
            flush=True,
        )
        check(pair, clients)
        assert added > 50 * len(clients)
        if module == MODULE:
            assert max(memory) < 1.3 * maxmemory, "it stays within its limit, and does not grow"


@pytest.mark.parametrize("kind", ["redis-8.2", "valkey-8.1"])
def test_no_acknowledged_item_is_denied_under_load(kind, full):
    def check(pair, clients):
        assert [wrong for each in clients for wrong in each.wrong][:3] == []
        with pair.primary.client() as client, pair.replica.client() as follower:
            rewritten(client, PATIENCE)
            # It waits for this client's last write.
            client("SET", "end", 1)
            caught_up(client, PATIENCE)
            # Evictions and expirations differ; the filters do not.
            for key in FAMILIES:
                assert client("DEBUG", "DIGEST-VALUE", key[:2]) == follower("DEBUG", "DIGEST-VALUE", key[:2]), key
        assert missing(pair.primary, clients) == [] and missing(pair.replica, clients) == []

    loaded(kind, MODULE, float(os.environ.get("UMBEL_LOAD_SECONDS", 450 if full else 12)), 50 if full else 10, check)


def test_redisbloom_under_the_same_load(full):
    """For its times, next to those above; its losses are not checked."""
    if full:
        loaded("redis-8.2", REDISBLOOM, float(os.environ.get("UMBEL_LOAD_SECONDS", 450)) / 3, 50, lambda *_: None)
