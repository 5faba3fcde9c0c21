"""umbel's Python package next to rbloom at every size: keys one by one, lists of a million, and NumPy's text.

A figure is nanoseconds per key at a rate of 1 %. In a round both packages take their turn at the same keys, with the order
reversed from round to round; the table has the median of the rounds, and the median, least and greatest ratio within a round.
Loops over the keys count for both. A filter of each size is full; single calls use 200,000 of its keys, calls with lists a
million, which for small filters repeat.
"""

import argparse
import statistics
import time
import warnings
from importlib.metadata import version

import numpy as np
import rbloom
import umbel

SINGLES = 200_000
LISTED = 1_000_000
PACKAGES = {"umbel": umbel.Bloom, "rbloom": rbloom.Bloom}


def look_up(filter, keys):
    for key in keys:
        key in filter


def add(filter, keys):
    one = filter.add
    for key in keys:
        one(key)


def update(filter, keys):
    filter.update(keys)


def seconds(work, *arguments):
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start


def in_turn(work, filters, keys, rounds):
    """Nanoseconds per key of each package, by round."""
    found = {name: [] for name in filters}
    for number in range(rounds):
        names = list(filters)
        for name in names if number % 2 else reversed(names):
            found[name].append(1e9 * seconds(work, filters[name], keys) / len(keys))
    return found


def row(case, size, found):
    ratios = [other / ours for ours, other in zip(found["umbel"], found["rbloom"])]
    middle = [statistics.median(found[name]) for name in ["umbel", "rbloom"]]
    ratio = statistics.median(ratios)
    print(
        f"| {case} | {size:,} | {middle[0]:.1f} | {middle[1]:.1f} | {ratio:.2f} [{min(ratios):.2f}–{max(ratios):.2f}] "
        f"| {'met' if ratio >= 1.3 else '**not met**'} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**power for power in range(3, 8)])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", umbel.OverfilledWarning)
    print(f"umbel {umbel.__version__}, rbloom {version('rbloom')}, {arguments.rounds} rounds\n")
    print("| case | keys of the filter | umbel, ns | rbloom, ns | rbloom ÷ umbel | ≥ 1.3 |\n|---|---|---|---|---|---|")
    for size in arguments.sizes:
        generator = np.random.default_rng(size)
        order = generator.integers(0, size, LISTED)
        for what, keys in [("ints", order.tolist()), ("strings", [f"{i:020d}" for i in order.tolist()])]:
            filters = {name: make(size, 0.01) for name, make in PACKAGES.items()}
            for filter in filters.values():
                filter.update(range(size) if what == "ints" else (f"{i:020d}" for i in range(size)))
            few = keys[:SINGLES]
            absent = [key + size for key in few] if what == "ints" else [f"x{key}" for key in few]
            row(f"{what}, in, present", size, in_turn(look_up, filters, few, arguments.rounds))
            row(f"{what}, in, absent", size, in_turn(look_up, filters, absent, arguments.rounds))
            row(f"{what}, add", size, in_turn(add, filters, few, arguments.rounds))
            row(f"{what}, update of a list", size, in_turn(update, filters, keys, arguments.rounds))
    print("\n| NumPy `U20`, a million keys | ns per key, median [least–most] | ≤ 40 |\n|---|---|---|")
    texts = np.array([f"{i:020d}" for i in range(LISTED)])
    filter = umbel.Bloom(LISTED, 0.01)
    for name, work in [
        ("add_many, one thread", lambda: filter.add_many(texts, threads=1)),
        ("add_many", lambda: filter.add_many(texts)),
        ("add_new", lambda: filter.add_new(texts)),
        ("contains_many, one thread", lambda: filter.contains_many(texts, threads=1)),
        ("contains_many", lambda: filter.contains_many(texts)),
        ("update of the same as a list", lambda keys=texts.tolist(): filter.update(keys)),
    ]:
        times = [1e9 * seconds(work) / LISTED for _ in range(arguments.rounds)]
        middle = statistics.median(times)
        print(f"| {name} | {middle:.1f} [{min(times):.1f}–{max(times):.1f}] | {'met' if middle <= 40 else '**not met**'} |")


if __name__ == "__main__":
    main()
