"""A cluster of three primaries and a replica: slots move and a primary is killed while items are added. None is lost."""

import binascii
import contextlib
import threading
import time

import pytest

from page import python
from parts import Parts
from resp import Refused, Simple
from servers import Server, wait_for

OK = Simple("OK")
SLOTS = 16384
OPTIONS = [
    "--cluster-enabled", "yes", "--cluster-node-timeout", "1500", "--cluster-require-full-coverage", "no", "--appendonly", "no",
]


def slot_of(key):
    tag = key[key.index("{") + 1 : key.index("}")] if "{" in key else key
    return binascii.crc_hqx(tag.encode(), 0) % SLOTS


class Client:
    """A client that follows the cluster's redirections, and retries while it settles."""

    def __init__(self, servers):
        self.servers = {server.port: server for server in servers}
        self.clients, self.ports = {}, {}

    def at(self, port):
        if port not in self.clients:
            self.clients[port] = self.servers[port].client()
        return self.clients[port]

    def __call__(self, name, key, *arguments, wait=lambda: False):
        """The answer; while `wait` returns true, only once a replica has the change."""
        slot, end, asking = slot_of(key), time.time() + 30, False
        port = self.ports.get(slot, next(iter(self.servers)))
        while time.time() < end:
            try:
                client = self.at(port)
                if asking:
                    client("ASKING")
                asking = False
                answer = client(name, key, *arguments)
                if wait() and not isinstance(answer, Refused) and client("WAIT", 1, 500) < 1:
                    raise ConnectionError("no replica has it")
            except OSError:
                with contextlib.suppress(KeyError):
                    self.clients.pop(port).close()
                time.sleep(0.05)
                port = self.next(port)
                continue
            word = answer.split(" ")[0] if isinstance(answer, Refused) else ""
            if word in ("MOVED", "ASK"):
                port = int(answer.rsplit(":", 1)[1])
                asking = word == "ASK"
                if word == "MOVED":
                    self.ports[slot] = port
            elif word in ("TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN"):
                time.sleep(0.05)
                port = self.next(port)
            else:
                return answer
        raise AssertionError(f"no answer to {name} {key}")

    def next(self, port):
        ports = list(self.servers)
        return ports[(ports.index(port) + 1) % len(ports)]


@pytest.fixture
def cluster():
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Server(options=OPTIONS)) for _ in range(4)]
        ask = [stack.enter_context(server.client()) for server in servers]
        for i in range(3):
            assert ask[i]("CLUSTER", "ADDSLOTSRANGE", i * SLOTS // 3, (i + 1) * SLOTS // 3 - 1) == OK
        for server in servers[1:]:
            assert ask[0]("CLUSTER", "MEET", "127.0.0.1", server.port) == OK
        wait_for(lambda: all(len(client("CLUSTER", "NODES").splitlines()) == 4 for client in ask))
        wait_for(lambda: isinstance(ask[3]("CLUSTER", "REPLICATE", ask[0]("CLUSTER", "MYID")), Simple))
        wait_for(lambda: all(b"cluster_state:ok" in client("CLUSTER", "INFO") for client in ask))
        wait_for(lambda: b"master_link_status:up" in ask[3]("INFO", "replication"))
        yield servers, ask


def move(source, target, slots):
    """Moves slots from one primary to another, as redis-cli does."""
    ids = [client("CLUSTER", "MYID") for client in (source, target)]
    port = int(target("CONFIG", "GET", "port")[1])
    for slot in slots:
        assert target("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0]) == OK
        assert source("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1]) == OK
        while keys := source("CLUSTER", "GETKEYSINSLOT", slot, 10):
            assert source("MIGRATE", "127.0.0.1", port, "", 0, 5000, "KEYS", *keys) == OK
        for client in (target, source):
            assert client("CLUSTER", "SETSLOT", slot, "NODE", ids[1]) == OK


def test_no_item_is_lost_while_slots_move_and_a_primary_dies(cluster):
    servers, ask = cluster
    client = Client(servers)
    tags = [f"tag{i}" for i in range(24)]
    for tag in tags:
        assert client("UM.RESERVE", f"{{{tag}}}um", 10_000, 0.001, "KIND", "scalable") == OK
    own = [[tag for tag in tags if slot_of(tag) * 3 // SLOTS == i] for i in range(3)]
    assert all(own)
    added, stop, dead, failures = [], threading.Event(), threading.Event(), []

    def write():
        try:
            writer, item = Client(servers), 0
            while not stop.is_set():
                tag = tags[item % len(tags)]
                # While the primary to be killed lives, only writes that its replica has are acknowledged; afterwards it has no
                # replica.
                wait = lambda: tag in own[0] and not dead.is_set()
                for name, key in [("BF.ADD", "bf"), ("CF.ADD", "cf"), ("UM.ADD", "um")]:
                    answer = writer(name, f"{{{tag}}}{key}", f"item {item}", wait=wait)
                    assert not isinstance(answer, Refused), answer
                added.append(item)
                item += 1
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    wait_for(lambda: len(added) > 100 or failures)
    move(ask[1], ask[2], sorted({slot_of(tag) for tag in own[1]}))
    moved = len(added)
    wait_for(lambda: len(added) > moved + 100 or failures)
    servers[0].kill()
    wait_for(lambda: b"master" in ask[3]("ROLE")[0])
    dead.set()
    killed = len(added)
    wait_for(lambda: len(added) > killed + 100 or failures, 40)
    stop.set()
    thread.join()
    assert not failures, failures
    alive = Client(servers[1:])
    for item in added:
        tag = tags[item % len(tags)]
        for name, key in [("BF.EXISTS", "bf"), ("CF.EXISTS", "cf"), ("UM.EXISTS", "um")]:
            assert alive(name, f"{{{tag}}}{key}", f"item {item}") == 1, (name, item)


def test_merges_stay_on_one_node(cluster):
    servers, _ = cluster
    client = Client(servers)
    for key in ["{one}a", "{one}b", "{two}c"]:
        client("UM.RESERVE", key, 1000, 0.01), client("UM.ADD", key, key)
    assert client("UM.MERGE", "{one}sum", "{one}a", "{one}b") == OK
    assert client("UM.MEXISTS", "{one}sum", "{one}a", "{one}b", "{two}c") == [1, 1, 0]
    assert client("UM.MERGE", "{one}sum", "{two}c").startswith("CROSSSLOT")


def test_a_set_over_several_keys_answers_like_one(cluster):
    servers, ask = cluster
    client, page, parts = Client(servers), python(), Parts(16)
    client.execute_command = client
    items, absent = ([b"%s %d" % (word, i) for i in range(5000)] for word in [b"item", b"other"])
    page["reserve"](client, parts, "seen", len(items), 0.01)
    page["add"](client, parts, "seen", items)
    assert all(page["contains"](client, parts, "seen", item) for item in items)
    # 1 % of 5,000, and six deviations of the count.
    assert sum(page["contains"](client, parts, "seen", item) for item in absent) <= 92
    keys = [key for primary in ask[:3] for key in primary("KEYS", "seen:*")]
    assert sorted(keys) == sorted(b"seen:{%d}" % part for part in range(16))
    assert all(primary("DBSIZE") > 0 for primary in ask[:3]), "the parts are on every primary"
    full = [dict(zip(*[iter(client("UM.INFO", key.decode()))] * 2))[b"over-filled"] for key in keys]
    assert full == [0] * 16
