"""Requests for keys that do not exist, in front of PostgreSQL: how many reach the table; and whether a guard ever denies a row
that exists while servers fail. `cargo x test redis` runs it; README.md has figures.
"""

import contextlib
import itertools
import os
import random
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

import psycopg
import redis
import resp
from servers import Server, wait_for

PROGRAMS = Path(os.environ["UMBEL_CACHE"])
UMBEL = os.environ["UMBEL"]
FILTER = "{articles}:filter"
LEASE = 1.0
# Of absent keys, with filters of 1 %.
MOST_REACH = 0.012
# Keys that are inserted and deleted; half of the reads are of so many that were written last.
KEYS, RECENT = 4000, 256


def set_up(postgres, rows):
    with psycopg.connect(postgres.url, autocommit=True) as database:
        database.execute("CREATE TABLE articles (slug text PRIMARY KEY, body text NOT NULL)")
        database.execute("INSERT INTO articles SELECT 'article-' || i, rpad('text ' || i, 200, '.') FROM generate_series(0, %s - 1) i", [rows])
    assert tool(postgres, [], "install").wait() == 0


def environment(postgres, servers, **others):
    addresses = ",".join(f"redis://127.0.0.1:{server.port}" for server in servers)
    table = {"CACHE_TABLE": "articles", "CACHE_KEY": "slug", "CACHE_ROW": "body", "UMBEL": UMBEL}
    return {**os.environ, **table, "POSTGRES": postgres.url, "REDIS": addresses, **others}


def tool(postgres, servers, chore, **others):
    """One of the chores of `umbel-cache`. Keepers report that servers fail, which is what they are here for."""
    return subprocess.Popen([PROGRAMS / "umbel-cache", chore], env=environment(postgres, servers, **others), stderr=subprocess.DEVNULL)


class Rust:
    """The guard in Rust, in a process of its own."""

    def __init__(self, postgres, servers):
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
        self.process = subprocess.Popen([PROGRAMS / "examples/lines"], env=environment(postgres, servers), **options)

    def ask(self, line):
        self.process.stdin.write(f"{line}\n")
        answer = self.process.stdout.readline().strip()
        if not answer or answer.startswith("error"):
            raise OSError(answer)
        return answer

    def get(self, key):
        """Whether there is a row, and where that is known from, in the words of the guard in Python."""
        found, source = self.ask(key).split(" ")
        why = re.fullmatch(r"Open\((\w+)\)", source)
        return found == "true", "open:" + re.sub("([A-Z])", r" \1", why[1]).lower() if why else source.lower()

    def write(self, statement):
        self.ask(f"write {statement}")

    def close(self):
        self.process.kill()
        self.process.wait()


class Python:
    """The guard in Python."""

    def __init__(self, guard):
        self.guard = guard

    def get(self, key):
        row, source = self.guard.get(key)
        return row is not None, source

    def write(self, statement):
        with self.guard.write() as transaction:
            transaction.execute(statement)

    def close(self):
        self.guard.database.close()


def loads(postgres, rows, requests, absent):
    """Yields what the guard did under each load: shares of absent keys by Zipf's law, and an attacker, who asks for no key twice."""
    zipf = list(itertools.accumulate(1 / rank for rank in range(1, rows + 1)))
    with Server() as server, contextlib.ExitStack() as stack:
        # At exactly the planned number of keys.
        assert tool(postgres, [server], "rebuild", CACHE_HEADROOM="1", CACHE_DELETES="no").wait() == 0
        stack.callback(tool(postgres, [server], "keep").kill)
        guard = Rust(postgres, [server])
        stack.callback(guard.close)
        for share, attack in [*((share, False) for share in absent), (0.99, True)]:
            wait_for(lambda: guard.get("missing")[1] == "filter")
            yield {"attack": attack, **load(guard, zipf, requests, share, attack)}
            client = redis.Redis(port=server.port)
            client.delete("-", *client.scan_iter("articles:row:*", count=10_000))


def load(guard, zipf, requests, share, attack):
    drawn = random.Random(17)
    asked, reached, wrong = [], [], 0
    for number, rank in enumerate(drawn.choices(range(len(zipf)), cum_weights=zipf, k=requests)):
        is_absent = drawn.random() < share
        key = f"article-{rank}" if not is_absent else f"attack-{number}" if attack else f"missing-{rank}"
        found, source = guard.get(key)
        wrong += found == is_absent
        if is_absent:
            asked.append(key)
            reached += [key] if source not in ("filter", "cache") else []
    return {
        "absent": len(asked), "absent_reached": len(reached), "absent_keys": len(set(asked)), "absent_keys_reached": len(set(reached)),
        "wrong": wrong,
    }


class Storm:
    """Reads, writes and deletes through guards in both languages, while servers fail: two servers, one a replica, and two keepers."""

    def __init__(self, postgres, rows, kind, guard):
        """`guard` makes one in Python for servers."""
        self.postgres, self.rows, self.make = postgres, rows, guard
        self.primary, self.replica = Server(kind), Server(kind)
        self.keepers, self.stack = [], contextlib.ExitStack()
        self.stopped, self.lock, self.counts = threading.Event(), threading.Lock(), {}
        # A key's life: absent, being inserted, present, being deleted, and again. It is present for certain at 2, 6, 10 and so on.
        self.lives, self.recent = [0] * KEYS, [0] * RECENT

    def __enter__(self):
        with self.stack:
            for server in (self.primary, self.replica):
                self.stack.enter_context(server)
                # A killed one comes back where guards look for it.
                server.fixed_port = server.port
            with self.replica.client() as client:
                client("REPLICAOF", "127.0.0.1", self.primary.port)
            wait_for(self.is_replicated)
            servers = [self.primary, self.replica]
            self.start_keepers()
            self.stack.callback(self.stop_keepers)
            for job in (self.read, self.write):
                for number in range(2):
                    guard = Rust(self.postgres, servers) if number else Python(self.make(*servers))
                    self.stack.callback(guard.close)
                    thread = threading.Thread(target=job, args=(guard, number))
                    thread.start()
                    self.stack.callback(thread.join)
            self.stack.callback(self.stopped.set)
            self.finish("start")
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def count(self, name):
        with self.lock:
            self.counts[name] = self.counts.get(name, 0) + 1

    def read(self, guard, _):
        once = redis.retry.Retry(redis.backoff.NoBackoff(), 0)
        servers = [redis.Redis(port=server.port, socket_timeout=0.25, retry=once) for server in (self.primary, self.replica)]
        while not self.stopped.is_set():
            choice = random.randrange(4)
            number = random.choice(self.recent) if choice < 2 else random.randrange(KEYS) if choice == 2 else None
            key = f"storm-{number}" if number is not None else f"article-{random.randrange(self.rows)}"
            life = lambda number=number: 2 if number is None else self.lives[number]
            before = life()
            try:
                found, source = guard.get(key)
            except (OSError, psycopg.Error):
                self.count("failed")
                continue
            is_present = before % 4 == 2 and before == life()
            self.count("reads")
            self.count("settled" if source == "filter" else source)
            if is_present and not found:
                self.count("wrong")
            # A client that believes whichever server answers.
            denies = next(filter(lambda answer: answer is not None, (denied(server, key) for server in servers)), False)
            if before % 4 == 2 and before == life() and denies:
                self.count("naive_wrong")

    def write(self, guard, part):
        while not self.stopped.is_set():
            number = random.randrange(KEYS // 2) * 2 + part
            # After an error nobody knows whether the row exists.
            if self.lives[number] % 2:
                continue
            inserts = self.lives[number] % 4 == 0
            self.lives[number] += 1
            begun = time.monotonic()
            statement = "INSERT INTO articles VALUES ('storm-{}', 'row')" if inserts else "DELETE FROM articles WHERE slug = 'storm-{}'"
            try:
                guard.write(statement.format(number))
            except (OSError, psycopg.Error):
                self.count("failed")
                continue
            self.lives[number] += 1
            if inserts:
                self.recent[random.randrange(RECENT)] = number
            if time.monotonic() > begun + LEASE:
                self.count("waited")
            # Readers get most of the processor.
            time.sleep(0.001)

    def start_keepers(self):
        self.keepers = [tool(self.postgres, [self.primary, self.replica], "keep") for _ in range(2)]

    def stop_keepers(self):
        for keeper in self.keepers:
            keeper.kill()
            keeper.wait(20)
        self.keepers = []

    def is_replicated(self):
        with self.replica.client() as client:
            return b"master_link_status:up" in client("INFO", "replication")

    def until(self, name):
        """Waits until something is counted once more."""
        before = self.counts.get(name, 0)
        wait_for(lambda: self.counts.get(name, 0) > before, 60)

    @contextlib.contextmanager
    def held_until(self, name):
        """Holds the keepers, which else may mend the filter before any reader meets what is wrong with it."""
        for keeper in self.keepers:
            keeper.send_signal(signal.SIGSTOP)
        yield
        self.until(name)
        for keeper in self.keepers:
            keeper.send_signal(signal.SIGCONT)

    def finish(self, name):
        """Waits until the filter settles requests again, and ends a phase: what was counted in it."""
        time.sleep(0.2)
        self.until("settled")
        with self.lock:
            counts, self.counts = self.counts, {}
        return {"wrong": 0, "failed": 0, "name": name, **counts}

    # What fails. Each returns the counts of its phase.

    def calm(self, seconds):
        time.sleep(seconds)
        return self.finish("calm")

    def rebuilds(self):
        """Rebuilds under load, two at a time; one may refuse, if it comes while the other works."""
        both = [tool(self.postgres, [self.primary, self.replica], "rebuild") for _ in range(2)]
        codes = sorted(rebuild.wait(120) for rebuild in both)
        assert codes in ([0, 0], [0, 1]), codes
        return self.finish("rebuilds")

    def restart_empty(self):
        """kill -9, and the primary comes back without data."""
        self.primary.kill()
        time.sleep(LEASE)
        with self.held_until("open: no filter"):
            self.primary.start()
        return self.finish("killed, restarted empty")

    def pause(self):
        """The primary stops to answer for longer than a lease, and goes on."""
        self.primary.process.send_signal(signal.SIGSTOP)
        time.sleep(2 * LEASE)
        self.primary.process.send_signal(signal.SIGCONT)
        return self.finish("paused")

    def without_keepers(self):
        self.stop_keepers()
        time.sleep(2 * LEASE)
        self.start_keepers()
        return self.finish("no keeper")

    def fail_over(self, seconds):
        """The replica is cut off, misses writes, and takes the killed primary's place: how many keys its filter denied is counted, too."""
        wait_for(self.is_replicated)
        with self.replica.client() as client, redis.Redis(port=self.replica.port) as replica:
            # A replica of nobody keeps what it has.
            client("REPLICAOF", "127.0.0.1", 1)
            time.sleep(seconds)
            present = [f"storm-{number}" for number, life in enumerate(self.lives) if life % 4 == 2]
            lost = wait_for(lambda: sum(denied(replica, key) is True for key in present))
            with self.held_until("naive_wrong"):
                self.primary.kill()
                assert client("REPLICAOF", "NO", "ONE") == resp.Simple("OK")
        return {**self.finish("failed over to a lagging replica"), "denied": lost}


def denied(server, key):
    """Whether the filter of a server denies a key; nothing if it does not answer or has no filter."""
    with contextlib.suppress(redis.RedisError):
        return not server.execute_command("UM.EXISTS", FILTER, key)
    return None


def bounds(records, phases):
    """What is out of bounds."""
    for record in records:
        # Of keys, since one popular key that passes is many requests.
        if record["wrong"] or record["absent_keys_reached"] > MOST_REACH * record["absent_keys"]:
            yield f"wrong answers, or more than {MOST_REACH} of absent keys reach the table: {record}"
    for phase in phases:
        if phase["wrong"]:
            yield f"{phase['name']}: the guard denied {phase['wrong']} rows"
