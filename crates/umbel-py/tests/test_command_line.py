"""Filters of the command line in Python, and the other way round."""

import itertools
import os
import re
import subprocess
import time

import pytest

import umbel

PROGRAM = os.environ.get("UMBEL", "umbel")
COUNT = 1_000_000 if "UMBEL_TEST_FULL" in os.environ else 20_000


def run(*arguments, input=None):
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)], input=input, capture_output=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr.decode()
    return done.stdout


MEMBERS = [f"member {i}" for i in range(COUNT)]
PROBES = MEMBERS[::7] + [f"probe {i}" for i in range(COUNT)]
KINDS = {
    "blocked": lambda: umbel.Bloom(COUNT, 0.01),
    "classic": lambda: umbel.Bloom(COUNT, 0.01, kind="classic"),
    "sliced": lambda: umbel.Bloom(COUNT, 0.01, kind="sliced"),
    "counting": lambda: umbel.Counting(COUNT, 0.01),
    "scalable": lambda: umbel.Scalable(1000, 0.01),
    "stable": lambda: umbel.Stable(COUNT, 0.01),
    "window": lambda: umbel.Window(COUNT, 0.01),
    "coded": lambda: umbel.Coded(COUNT, 0.01),
}


def lines(keys):
    return "".join(f"{key}\n" for key in keys).encode()


def asked(path, probes):
    return run("filter", "query", path, input=lines(probes)).decode().splitlines()


@pytest.mark.parametrize("kind", [*KINDS, "bloomier"])
def test_filters_are_the_same_on_both_sides(kind, tmp_path):
    theirs = tmp_path / "theirs.umbel"
    keys = 1000 if kind == "scalable" else COUNT
    run("filter", "build", "-q", "--kind", kind, "--keys", keys, "--fpp", 0.01, "-o", theirs, input=lines(MEMBERS))
    if kind == "bloomier":
        ours = umbel.Bloomier(MEMBERS, 0.01)
    else:
        ours = KINDS[kind]()
        ours.update(MEMBERS)
    # A program may have other types for numbers; lines do not.
    assert ours.description == [("type", "bytes")]
    ours.describe([("type", "text")])
    assert ours.to_bytes() == theirs.read_bytes()
    opened = umbel.open(theirs)
    assert opened == ours
    passed = [key for key, found in zip(PROBES, opened.contains_many(PROBES)) if found]
    assert asked(theirs, PROBES) == passed
    mine = tmp_path / "mine.umbel"
    ours.save(mine)
    assert asked(mine, PROBES) == passed


def test_rows_and_lists(tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text("user,item\nann,1\nann,2\nbob,1\n")
    rows = [("ann", 1), ("ann", 2), ("bob", 1)]
    for kind, ours in [
        ("attributes", umbel.Attributes(["user", "item"], 100, 0.01)),
        ("blocked", umbel.Bloom(100, 0.01)),
    ]:
        theirs = tmp_path / f"{kind}.umbel"
        keys = ["--key", "user", "--key", "item"]
        run("filter", "build", "-q", "--csv", *keys, "--kind", kind, "--keys", 100, "--fpp", 0.01, "-o", theirs, table)
        ours.add_rows(rows)
        opened = umbel.open(theirs)
        assert opened.contains_rows(rows) == [True] * 3
        ours.describe(opened.description)
        assert ours == opened
    block, allow = tmp_path / "block.txt", tmp_path / "allow.txt"
    block.write_bytes(lines(MEMBERS[:1000]))
    allow.write_bytes(lines(MEMBERS[1000:]))
    theirs = tmp_path / "cascade.umbel"
    run("filter", "build", "-q", "--kind", "cascade", "--fpp", 0.01, "--except", allow, "-o", theirs, block)
    ours = umbel.Cascade(MEMBERS[:1000], MEMBERS[1000:], 0.01)
    ours.describe([("type", "text")])
    assert ours == umbel.open(theirs)


def test_what_an_interrupted_run_recorded(tmp_path):
    seen, journal, printed = tmp_path / "seen.umbel", tmp_path / "seen.umbel.run", tmp_path / "out"
    run("unseen", "-q", seen, "--keys", COUNT, input=lines(MEMBERS[:10]))
    run_on = [PROGRAM, "unseen", "-q", seen, "-a", printed, "--checkpoint", "0"]
    process = subprocess.Popen(run_on, stdin=subprocess.PIPE)
    process.stdin.write(lines(MEMBERS))
    process.stdin.flush()
    deadline = time.monotonic() + 60
    # Until it has noted lines; what it printed after that counts as not printed.
    while not (noted := journal.exists() and re.findall(rb'"found":([1-9]\d*)', journal.read_bytes())):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.communicate()
    recorded = printed.read_text().splitlines()[: int(noted[-1])]
    assert recorded
    assert all(umbel.open(seen).contains_many(recorded))
    with pytest.raises(ValueError, match="without mmap"):
        umbel.open(seen, mmap=True)
    run("filter", "key", "new", "--signing", "-o", tmp_path / "ours")
    with pytest.raises(OSError, match="adds lines that the filter's signature does not cover"):
        umbel.open(seen, trust=tmp_path / "ours.pub")
    run("unseen", "-q", seen, input=b"")
    assert all(umbel.open(seen, mmap=True).contains_many(recorded))


def test_formats(tmp_path):
    for name in ["guava", "spark", "redisbloom", "datasketches", "parquet"]:
        theirs = tmp_path / name
        run("filter", "build", "-q", "--format", name, "--keys", COUNT, "--fpp", 0.01, "-o", theirs, input=lines(MEMBERS))
        opened = umbel.open(theirs, format=name)
        passed = [key for key, found in zip(PROBES, opened.contains_many(PROBES)) if found]
        asked = run("filter", "query", "--format", name, theirs, input=lines(PROBES)).decode().splitlines()
        assert asked == passed


OPTIONS = {
    "common": {"all": True, "at_least": 1, "fpp": 0.1},
    "except": {"all": True, "fpp": 0.1},
    "dedup": {"repeated": True, "at_least": 2, "keep": "last", "count": True, "by_count": True, "top": 1, "fpp": 0.1},
    "join": {"first": True, "unique": True},
}


@pytest.mark.parametrize(("verb", "pair"), [(verb, pair) for verb in OPTIONS for pair in itertools.combinations(OPTIONS[verb], 2)])
def test_both_refuse_the_same_options_together(tmp_path, verb, pair):
    lines = tmp_path / "lines"
    lines.write_bytes(b"a 1\n")
    given = {name: OPTIONS[verb][name] for name in pair}
    words = [f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}") for name, value in given.items()]
    command, inputs = [PROGRAM, verb, *words], [lines] if verb == "dedup" else [lines, lines]
    if verb == "join":
        given.update(on="1", records="fields")
        command += ["--fields", "--key=1"]
    told = subprocess.run([*command, *inputs], capture_output=True, text=True, check=False)
    try:
        list(getattr(umbel, "except_" if verb == "except" else verb)(*inputs, **given))
        refused = ""
    except ValueError as error:
        refused = str(error)
    both = "cannot be used with" in refused
    assert both == ("cannot be used with" in told.stderr), (refused, told.stderr)
    assert told.returncode in ((2,) if both else (0, 1)), told.stderr
