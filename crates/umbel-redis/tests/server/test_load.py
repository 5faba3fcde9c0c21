"""Mixed load, while the server saves, rewrites its file, evicts keys and is killed, and its replica comes and goes.

Seconds, or with `--full` a quarter of an hour; UMBEL_LOAD_SECONDS sets another time.
"""

import os
import random
import threading
import time

import pytest

from resp import Refused, Simple
from servers import PROGRAMS, Server, wait_for
from test_followers import caught_up, follow, rewritten

OK = Simple("OK")
FAMILIES = {"UM.MADD": "UM.MEXISTS", "BF.MADD": "BF.MEXISTS", "CF.INSERT": "CF.MEXISTS"}


class Client(threading.Thread):
    """Adds numbered items, in pipelines, and looks for those that were acknowledged."""

    def __init__(self, server, number, stop):
        super().__init__()
        self.server, self.number, self.stop = server, number, stop
        self.draw = random.Random(number)
        # Items of each family that were acknowledged: all below.
        self.acknowledged = dict.fromkeys(FAMILIES, 0)
        self.taken, self.wrong = [], []

    def item(self, number):
        return f"{self.number}-{number}"

    def run(self):
        while not self.stop.is_set():
            try:
                with self.server.client() as client:
                    while not self.stop.is_set():
                        self.step(client)
                        time.sleep(0.01)
            except (OSError, AssertionError):
                # Killed, or it does not listen yet.
                time.sleep(0.1)

    def step(self, client):
        """One pipeline: additions, lookups of what is there, and texts that expire and are evicted."""
        commands, expected = [], []
        for add, exists in FAMILIES.items():
            acknowledged, count = self.acknowledged[add], self.draw.randrange(1, 20)
            items = [self.item(acknowledged + i) for i in range(count)]
            commands.append([add, add[:2], *(["ITEMS"] if add == "CF.INSERT" else []), *items])
            expected.append((add, count))
            if acknowledged:
                known = [self.item(self.draw.randrange(acknowledged)) for _ in range(10)]
                commands.append([exists, add[:2], *known])
                expected.append((exists, known))
        commands.append(["SET", f"text {self.draw.randrange(100_000)}", "x" * self.draw.randrange(20_000), "PX", self.draw.randrange(1, 20_000)])
        begun = time.perf_counter()
        answers = client.pipeline(commands)
        self.taken.append(1000 * (time.perf_counter() - begun))
        for (command, what), answer in zip(expected, answers):
            if isinstance(answer, Refused):
                # While it loads its file.
                if not answer.startswith("LOADING"):
                    self.wrong.append((command, answer))
            elif command in FAMILIES:
                assert len(answer) == what
                self.acknowledged[command] += what
            elif not all(answer):
                self.wrong.append((command, what, answer))


def missing(server, clients):
    """Acknowledged items that a server denies."""
    denied = []
    with server.client() as client:
        for each in clients:
            for add, exists in FAMILIES.items():
                for start in range(0, each.acknowledged[add], 1000):
                    items = [each.item(number) for number in range(start, min(start + 1000, each.acknowledged[add]))]
                    found = client(exists, add[:2], *items)
                    denied += [(add, item) for item, there in zip(items, found) if not there]
    return denied


@pytest.mark.parametrize("kind", ["redis-8.2", "valkey-8.1"])
def test_no_acknowledged_item_is_denied_under_load(kind, full):
    seconds = float(os.environ.get("UMBEL_LOAD_SECONDS", 450 if full else 12))
    pause = 60 if seconds > 300 else seconds / 6
    durable = ["--appendonly", "yes", "--appendfsync", "always", "--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru"]
    stop = threading.Event()
    with Server(kind, options=durable) as primary, Server(kind) as replica:
        # A killed one comes back where its clients and its replica look for it.
        primary.fixed_port = primary.port
        with primary.client() as client, replica.client() as follower:
            assert client("UM.RESERVE", "UM", 5_000_000, 0.001) == OK and client("CF.RESERVE", "CF", 8_000_000, "EXPANSION", 1) == OK
            assert client("BF.RESERVE", "BF", 0.001, 100_000) == OK
            follow(follower, primary)
        clients = [Client(primary, number, stop) for number in range(50 if full else 10)]
        for each in clients:
            each.start()
        memory, kills, end = [], 0, time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                for what in (["BGSAVE"], ["BGREWRITEAOF"]):
                    time.sleep(pause / 4)
                    with primary.client() as client:
                        client(*what)
                        memory.append(int(client("INFO", "memory").split(b"used_memory:")[1].split()[0]))
                with replica.client() as follower:
                    follower("REPLICAOF", "NO", "ONE"), follower("REPLICAOF", "127.0.0.1", primary.port)
                time.sleep(pause / 4)
                primary.kill()
                kills += 1
                assert primary.try_start(), primary.log()
                time.sleep(pause / 4)
        finally:
            stop.set()
            for each in clients:
                each.join()
        assert [wrong for each in clients for wrong in each.wrong][:3] == []
        with primary.client() as client, replica.client() as follower:
            rewritten(client)
            wait_for(lambda: b"master_link_status:up" in follower("INFO", "replication"), 60)
            caught_up(client)
            # What was evicted and what expired differs; the filters do not.
            for key in FAMILIES:
                assert client("DEBUG", "DIGEST-VALUE", key[:2]) == follower("DEBUG", "DIGEST-VALUE", key[:2]), key
        assert missing(primary, clients) == [] and missing(replica, clients) == []
        added = sum(sum(each.acknowledged.values()) for each in clients)
        taken = sorted(time for each in clients for time in each.taken)
        assert added > 50 * len(clients) and kills >= 2
        assert max(memory) < 130 << 20, "it stays within its limit, and does not grow"
        print(f"{kind}: {seconds:.0f} s, {kills} kills, {added:,} items, pipelines p50 {taken[len(taken) // 2]:.1f} ms, p99 {taken[int(0.99 * len(taken))]:.1f} ms")
