"""umbel's Python package next to other packages of filters: one case after the other, in rounds.

Each figure is seconds for COUNT keys at a rate of 1 %. In a round every package takes its turn; the table has the median, least
and greatest figure over the rounds, and ratios within a round. Every answer is checked: no member is missed, and the rate is
counted over fresh keys.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from importlib.metadata import version

import fastbloom_rs
import numpy as np
import probables
import pyarrow as pa
import pybloom_live
import rbloom
import umbel


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def one_by_one(add, contains, keys):
    def insert():
        for key in keys:
            add(key)

    def query():
        for key in keys:
            contains(key)

    return timed(insert), timed(query)


RUST = "Arrow strings, contains_many, one thread"


class Umbel:
    name = "umbel"

    def __init__(self, count):
        self.filter = umbel.Bloom(count, 0.01)
        self.add, self.contains = self.filter.add, self.filter.__contains__

    def update(self, keys):
        self.filter.update(keys)


class Rbloom:
    name = "rbloom"

    def __init__(self, count):
        self.filter = rbloom.Bloom(count, 0.01)
        self.add, self.contains = self.filter.add, self.filter.__contains__

    def update(self, keys):
        self.filter.update(keys)


class FastbloomRs:
    name = "fastbloom-rs"

    def __init__(self, count):
        self.filter = fastbloom_rs.BloomFilter(count, 0.01)
        self.add, self.contains = self.filter.add, self.filter.contains

    def update(self, keys):
        is_text = isinstance(keys[0], str)
        (self.filter.add_str_batch if is_text else self.filter.add_int_batch)(keys)


class PybloomLive:
    name = "pybloom-live"
    slow = True

    def __init__(self, count):
        self.filter = pybloom_live.BloomFilter(count, 0.01)
        self.add, self.contains = self.filter.add, self.filter.__contains__


class Probables:
    name = "pyprobables"
    slow = True

    def __init__(self, count):
        self.filter = probables.BloomFilter(est_elements=count, false_positive_rate=0.01)
        self.add = lambda key: self.filter.add(str(key))
        self.contains = lambda key: self.filter.check(str(key))


PACKAGES = [Umbel, Rbloom, FastbloomRs, PybloomLive, Probables]


def from_rust(program, count):
    """The case of the same look-ups from Rust."""

    def run():
        done = subprocess.run([program, str(count), "3"], check=True, capture_output=True, text=True)
        return {RUST: statistics.median(map(float, done.stdout.split()))}, 0.0

    return "umbel in Rust", count, run


def rate(contains, keys):
    return sum(map(contains, keys)) / len(keys)


def measure(count, slow):
    """The cases of one round: pairs of a name, such as ``ints update``, and a function that returns seconds."""
    ints = np.arange(count, dtype=np.int64)
    listed = ints.tolist()
    texts = [f"{i:020d}" for i in listed]
    column = pa.array(texts)
    fresh = [f"{i:020d}" for i in range(count, count + 200_000)]
    fresh_ints = list(range(count, count + 200_000))
    cases = []

    def case(package, name, keys, others, few=None):
        def run():
            made = package(count if few is None else few)
            some = keys if few is None else keys[:few]
            if name.endswith("one by one"):
                insert, query = one_by_one(made.add, made.contains, some)
                found = {f"{name}, add": insert, f"{name}, in": query}
            else:
                found = {name: timed(lambda: made.update(some))}
            sample = random.sample(range(len(some)), 10_000)
            assert all(made.contains(some[i]) for i in sample), package.name
            return found, rate(made.contains, others)

        cases.append((package.name, few or count, run))

    for package in PACKAGES:
        few = slow if getattr(package, "slow", False) else None
        if hasattr(package, "update"):
            case(package, "ints, update of a list", listed, fresh_ints)
            case(package, "texts, update of a list", texts, fresh)
        one = few or min(count, 1_000_000)
        case(package, "ints, one by one", listed, fresh_ints, one)
        case(package, "texts, one by one", texts, fresh, one)

    def bulk(name, keys, others):
        def run():
            filter = umbel.Bloom(count, 0.01)
            found = {f"{name}, add_many": timed(lambda: filter.add_many(keys))}
            found[f"{name}, add_many again"] = timed(lambda: filter.add_many(keys))
            found[f"{name}, contains_many"] = timed(lambda: filter.contains_many(keys))
            found[f"{name}, contains_many, one thread"] = timed(
                lambda: filter.contains_many(keys, threads=1)
            )
            answers = filter.contains_many(keys)
            assert np.asarray(answers).all()
            return found, rate(filter.__contains__, others)

        cases.append(("umbel", count, run))

    bulk("NumPy int64", ints, fresh_ints)
    bulk("Arrow strings", column, fresh)
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000_000)
    parser.add_argument("--slow", type=int, default=200_000, help="keys for packages without Rust")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rust", required=True, help="the program that looks texts up from Rust")
    arguments = parser.parse_args()
    cases = measure(arguments.count, arguments.slow)
    cases.append(from_rust(arguments.rust, arguments.count))
    rounds = []
    for number in range(arguments.rounds):
        order = cases[:]
        random.Random(number).shuffle(order)
        figures = {}
        for package, count, run in order:
            found, counted = run()
            for name, seconds in found.items():
                figures[(package, name)] = 1e9 * seconds / count
                print(
                    json.dumps(
                        {
                            "round": number,
                            "package": package,
                            "case": name,
                            "keys": count,
                            "seconds": seconds,
                            "rate": counted,
                        }
                    )
                )
        rounds.append(figures)
        sys.stdout.flush()
    names = ["rbloom", "fastbloom-rs", "pybloom-live", "pyprobables", "numpy", "pyarrow"]
    versions = ", ".join([f"umbel {umbel.__version__}", *(f"{name} {version(name)}" for name in names)])
    print(f"\n{arguments.count:,} keys, 1 %, {arguments.rounds} rounds; Python {sys.version.split()[0]}, {versions}\n")
    print("| case | package | ns per key | least | most |")
    print("|---|---|---|---|---|")
    for key in sorted(rounds[0], key=lambda key: (key[1], key[0])):
        values = [figures[key] for figures in rounds]
        median = statistics.median(values)
        print(f"| {key[1]} | {key[0]} | {median:.1f} | {min(values):.1f} | {max(values):.1f} |")
    # What a ratio must reach, or, with a minus, not exceed.
    goals = [
        ("rbloom's update of a list of ints ÷ add_many of NumPy", ("rbloom", "ints, update of a list"), ("umbel", "NumPy int64, add_many"), 20),
        ("rbloom's update of a list of texts ÷ add_many of Arrow", ("rbloom", "texts, update of a list"), ("umbel", "Arrow strings, add_many"), 8),
        ("rbloom's ÷ umbel's add, ints", ("rbloom", "ints, one by one, add"), ("umbel", "ints, one by one, add"), 1),
        ("rbloom's ÷ umbel's in, ints", ("rbloom", "ints, one by one, in"), ("umbel", "ints, one by one, in"), 1),
        ("rbloom's ÷ umbel's add, texts", ("rbloom", "texts, one by one, add"), ("umbel", "texts, one by one, add"), 1),
        ("rbloom's ÷ umbel's in, texts", ("rbloom", "texts, one by one, in"), ("umbel", "texts, one by one, in"), 1),
        ("one thread ÷ all, Arrow look-ups", ("umbel", "Arrow strings, contains_many, one thread"), ("umbel", "Arrow strings, contains_many"), 1.8),
        ("contains_many of Arrow ÷ the same in Rust, one thread", ("umbel", RUST), ("umbel in Rust", RUST), -1.1),
        ("one thread ÷ all, NumPy look-ups", ("umbel", "NumPy int64, contains_many, one thread"), ("umbel", "NumPy int64, contains_many"), 1.8),
    ]
    print("\n| goal | needed | found, median [least–most] | |")
    print("|---|---|---|---|")
    for name, above, below, needed in goals:
        ratios = [figures[above] / figures[below] for figures in rounds]
        median = statistics.median(ratios)
        met = median >= needed if needed > 0 else median <= -needed
        bound = f"≥ {needed}" if needed > 0 else f"≤ {-needed}"
        verdict = "met" if met else "**not met**"
        print(f"| {name} | {bound} | {median:.2f} [{min(ratios):.2f}–{max(ratios):.2f}] | {verdict} |")


if __name__ == "__main__":
    main()
