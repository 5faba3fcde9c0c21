"""`cargo x trial penetration`: requests for keys that do not exist, in front of PostgreSQL.

Starts the servers, has `umbel-cache-trial` load them, and makes them fail meanwhile. Exit 1 if more absent keys reach the
table than a filter of 1 % lets pass, or if a guard ever denies a row that exists.
"""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import resp
from servers import REDISBLOOM, Postgres, Server, wait_for

PROGRAMS = Path(os.environ["UMBEL_CACHE"])
UMBEL = os.environ["UMBEL"]
LEASE = 1.0
# Of absent keys, with filters of 1 %.
MOST_REACH = 0.012

# What guards the table, by what, and the module that the server has: umbel's if none is named.
WAYS = [
    ("no filter", "none", None),
    ("absent answers cached", "absent-answers", None),
    ("RedisBloom, BF.*", "bf", REDISBLOOM),
    ("umbel, BF.*", "bf", None),
    ("umbel, UM.* with a guard", "um", None),
]
ABSENT = [0, 0.5, 0.9, 0.99]


def driver(redis, postgres, rows, *arguments):
    servers = ",".join(f"redis://127.0.0.1:{server.port}" for server in redis)
    return [PROGRAMS / "umbel-cache-trial", "--redis", servers, "--postgres", postgres.url, "--umbel", UMBEL, "--rows", str(rows), *arguments]


def set_up(postgres, rows):
    subprocess.run(driver([], postgres, rows, "setup"), check=True)


def loads(postgres, rows, requests, absent=ABSENT):
    """Yields what each way did under each load."""
    for name, way, module in WAYS:
        with Server(**({"module": module} if module else {})) as server:
            shares = ",".join(map(str, absent))
            command = driver([server], postgres, rows, "load", "--way", way, "--absent", shares, "--requests", str(requests))
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                for line in process.stdout:
                    yield {"way": name, **json.loads(line)}
            if process.returncode:
                raise SystemExit(f"{name}: the load ended with {process.returncode}")


def medians(rounds):
    """The records of one load in several rounds as one: the median of what varies."""
    varying = ("per_second", "p50_us", "p99_us", "cache_bytes")
    return {**rounds[0], **{name: statistics.median(record[name] for record in rounds) for name in varying}}


class Storm:
    """Reads, writes and deletes, while servers fail: two servers, one a replica, and two keepers."""

    def __init__(self, postgres, rows, kind="redis-8.2"):
        self.postgres, self.rows = postgres, rows
        self.stack = contextlib.ExitStack()
        self.primary, self.replica = Server(kind), Server(kind)
        self.process = None
        self.keepers = []
        # Counts of the time that was waited, which the phase that ends next takes over.
        self.waited = []

    def __enter__(self):
        with self.stack:
            for server in (self.primary, self.replica):
                self.stack.enter_context(server)
                # A killed one comes back where guards look for it.
                server.fixed_port = server.port
            with self.replica.client() as client:
                client("REPLICAOF", "127.0.0.1", self.primary.port)
            wait_for(self.is_replicated)
            for _ in range(2):
                self.keepers.append(self.tool("keep"))
            self.stack.callback(self.stop_keepers)
            command = driver([self.primary, self.replica], self.postgres, self.rows, "storm")
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.stack.callback(self.process.kill)
            self.until_settled()
            self.phase("start")
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *_):
        try:
            self.process.stdin.close()
            self.process.wait(30)
        finally:
            self.stack.close()

    def tool(self, chore, **options):
        """One of the chores of `umbel-cache`."""
        settings = {
            "CACHE_TABLE": "articles", "CACHE_KEY": "slug", "CACHE_ROW": "body", "POSTGRES": self.postgres.url, "UMBEL": UMBEL,
            "REDIS": f"redis://127.0.0.1:{self.primary.port},redis://127.0.0.1:{self.replica.port}",
        }
        # Keepers report that servers fail, which is what they are here for.
        return subprocess.Popen([PROGRAMS / "umbel-cache", chore], env={**os.environ, **settings}, stderr=subprocess.DEVNULL, **options)

    def stop_keepers(self):
        for keeper in self.keepers:
            keeper.kill()
            keeper.wait(20)
        self.keepers = []

    def is_replicated(self):
        with self.replica.client() as client:
            return b"master_link_status:up" in client("INFO", "replication")

    def ask(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def phase(self, name):
        """Ends a phase; its counts."""
        counts = self.ask(name)
        while self.waited:
            add(counts, self.waited.pop())
        return counts

    def until(self, happens):
        """Waits until something is counted."""
        for _ in range(600):
            time.sleep(0.1)
            counts = self.ask("waiting")
            self.waited.append(counts)
            if happens(counts):
                return
        raise AssertionError(f"waited in vain: {self.waited[-1]}")

    def until_settled(self):
        """Waits until the filter settles requests."""
        self.until(lambda counts: counts["settled"])

    @contextlib.contextmanager
    def held_until(self, happens):
        """Holds the keepers, which else may mend the filter before any reader meets what is wrong with it."""
        for keeper in self.keepers:
            keeper.send_signal(signal.SIGSTOP)
        yield
        self.until(happens)
        for keeper in self.keepers:
            keeper.send_signal(signal.SIGCONT)

    # What fails. Each returns the counts of its phase.

    def calm(self, seconds):
        time.sleep(seconds)
        return self.finish("calm")

    def rebuilds(self, count):
        """Rebuilds under load, two at a time; one may refuse, if it comes while the other works."""
        for _ in range(count):
            both = [self.tool("rebuild"), self.tool("rebuild")]
            codes = sorted(rebuild.wait(120) for rebuild in both)
            assert codes in ([0, 0], [0, 1]), codes
        return self.finish("rebuilds")

    def restart_empty(self):
        """kill -9, and the primary comes back without data."""
        self.primary.kill()
        time.sleep(LEASE)
        with self.held_until(lambda counts: "NoFilter" in counts["open"]):
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
        self.keepers = [self.tool("keep"), self.tool("keep")]
        return self.finish("no keeper")

    def fail_over(self, seconds):
        """The replica is cut off, misses writes, and takes the killed primary's place: counts, and the keys that its filter denied."""
        wait_for(self.is_replicated)
        with self.replica.client() as client:
            # A replica of nobody keeps what it has.
            client("REPLICAOF", "127.0.0.1", 1)
            time.sleep(seconds)
            denied = wait_for(lambda: self.ask(f"denied redis://127.0.0.1:{self.replica.port}")["keys"])
            with self.held_until(lambda counts: counts["naive_wrong"]):
                self.primary.kill()
                assert client("REPLICAOF", "NO", "ONE") == resp.Simple("OK")
        counts = self.finish("failed over to a lagging replica")
        self.primary, self.replica = self.replica, self.primary
        self.replica.start()
        with self.replica.client() as client:
            client("REPLICAOF", "127.0.0.1", self.primary.port)
        wait_for(self.is_replicated)
        return {**counts, "denied": denied}

    def finish(self, name):
        """Waits until the filter settles requests again."""
        time.sleep(0.2)
        self.until_settled()
        return self.phase(name)


def add(totals, counts):
    """Adds counts to others."""
    for name, count in counts.items():
        if name == "open":
            for why, number in count.items():
                totals["open"][why] = totals["open"].get(why, 0) + number
        elif isinstance(count, int):
            totals[name] += count


def causes(opened):
    """How many requests went to the table because the filter could not be believed, and why."""
    return ", ".join(f"{count:,} {why}" for why, count in sorted(opened.items())) or "0"


def load_table(records):
    yield "| guarded by | load | absent keys that reach the table | requests for them that do | all requests that do | failed open | requests per second | p50 | p99 | cache grows by |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for record in records:
        load = "attack, 99 % absent" if record["attack"] else f"{100 * record['absent_share']:g} % absent"
        keys, requests = (
            f"{100 * record[f'{name}_reached'] / record[name]:.2f} %" if record[name] else "–" for name in ("absent_keys", "absent")
        )
        yield (
            f"| {record['way']} | {load} | {keys} | {requests} | {record['reached']:,} | {causes(record['open'])} | {record['per_second']:,.0f} | {record['p50_us']:.0f} µs "
            f"| {record['p99_us']:.0f} µs | {record['cache_bytes'] / 2**20:.1f} MiB |"
        )


def phase_table(phases):
    yield "| what happens | reads | settled by the filter | failed open | wrong | wrong if the filter were believed | writes | waited |"
    yield "|---|---|---|---|---|---|---|---|"
    for phase in phases:
        yield (
            f"| {phase['name']} | {phase['reads']:,} | {phase['settled']:,} | {causes(phase['open'])} | {phase['wrong']} "
            f"| {phase['naive_wrong']} | {phase['writes']:,} | {phase['waited']} |"
        )


def bounds(records, phases):
    """What is out of bounds."""
    for record in records:
        if record["wrong"]:
            yield f"{record['way']}: {record['wrong']} wrong answers"
        # Of keys, since one popular key that passes is many requests.
        filtered = "BF" in record["way"] or "UM" in record["way"]
        if filtered and record["absent_keys_reached"] > MOST_REACH * record["absent_keys"]:
            yield f"{record['way']}: more than {MOST_REACH} of absent keys reach the table; failed open: {causes(record['open'])}"
    for phase in phases:
        if phase["wrong"]:
            yield f"{phase['name']}: the guard denied {phase['wrong']} rows"


def main():
    parser = argparse.ArgumentParser(prog="cargo x trial penetration", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=50_000, help="of each load")
    parser.add_argument("--rounds", type=int, default=3, help="of all loads; times are medians")
    parser.add_argument("--out", type=Path, help="a file for the raw figures, one JSON object per line")
    arguments = parser.parse_args()
    with Postgres() as postgres:
        set_up(postgres, arguments.rows)
        rounds = []
        for _ in range(arguments.rounds):
            rounds.append([])
            for record in loads(postgres, arguments.rows, arguments.requests):
                rounds[-1].append(record)
                print(list(load_table([record]))[-1], file=sys.stderr, flush=True)
        with Storm(postgres, arguments.rows) as storm:
            phases = [
                storm.calm(5), storm.rebuilds(2), storm.restart_empty(), storm.pause(), storm.without_keepers(),
                storm.fail_over(3), storm.fail_over(3),
            ]
    raw = sum(rounds, phases)
    if arguments.out:
        arguments.out.write_text("".join(json.dumps(record) + "\n" for record in raw))
    records = [medians(same) for same in zip(*rounds, strict=True)]
    print("\n".join([*load_table(records), "", *phase_table(phases)]))
    failures = list(bounds(sum(rounds, []), phases))
    print("\n".join(failures or ["every figure is within its bounds"]))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
