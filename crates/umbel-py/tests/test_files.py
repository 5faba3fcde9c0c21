"""Set operations on files, against sets and lists."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import umbel

lines = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=3), max_size=30)


@settings(max_examples=100, deadline=None)
@given(lines, lines)
def test_iterables_against_lists(left, right):
    once = list(dict.fromkeys(left))
    assert list(umbel.common(left, right)) == [line for line in once if line in right]
    assert list(umbel.except_(left, right)) == [line for line in once if line not in right]
    assert list(umbel.dedup(left, right)) == list(dict.fromkeys(left + right))
    repeated = [line for line in dict.fromkeys(left) if left.count(line) > 1]
    assert list(umbel.dedup(left, repeated=True)) == repeated


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_files(tmp_path):
    left = write(tmp_path / "left", ["a", "b", "c", "a"])
    right = write(tmp_path / "right", ["c", "a", "d"])
    found = umbel.common(left, str(right))
    assert list(found) == ["a", "c"] == list(found)
    assert found.report.lines == 7 and found.report.found == 2 and found.report.exact
    out = tmp_path / "out"
    report = umbel.common(left, right, out=out)
    assert out.read_text() == "a\nc\n" and report.found == 2 and report.bytes_written == 4
    assert list(umbel.common(left, iter(["a"]), all=True)) == ["a", "a"]
    assert list(umbel.common(left, right, ["d"], at_least=2)) == ["a", "c", "d"]
    assert list(umbel.except_(left, right, all=True)) == ["b"]
    assert list(umbel.dedup(left, count=True, by_count=True, top=1)) == ["2\ta"]
    changed = umbel.diff(left, right)
    assert list(changed) == ["- b", "+ d"]
    assert changed.report.changes[:3] == (1, 1, 0)
    added, removed, kept = (tmp_path / name for name in ["added", "removed", "kept"])
    report = umbel.diff(left, right, added=added, removed=removed, kept=kept)
    assert report.changes == (1, 1, 0, 2)
    texts = [file.read_text() for file in [added, removed, kept]]
    assert texts == ["d\n", "b\n", "a\nc\n"]
    with pytest.raises(ValueError, match="two outputs"):
        umbel.diff(left, right, added=added, kept=added)
    with pytest.raises(ValueError, match="out"):
        umbel.diff(left, right, added=added, out=kept)
    [file.unlink() for file in [added, removed, kept]]
    # In place.
    umbel.dedup(left, out=left)
    assert left.read_text() == "a\nb\nc\n"
    assert not umbel.dedup(left, fpp=1e-6).report.exact
    assert sorted(file.name for file in tmp_path.iterdir()) == ["left", "out", "right"]


def test_records(tmp_path):
    old = write(tmp_path / "old.csv", ["id,name", "1,ann", "2,bob"])
    new = write(tmp_path / "new.csv", ["id,name", "2,bo", "3,eve"])
    assert list(umbel.common(old, new, records="csv", key="id")) == ["id,name", "2,bob"]
    assert list(umbel.diff(old, new, records="csv", key=["id"]))[1:] == ["~ 2,bo", "+ 3,eve"]
    json = ['{"id":1}', '{"id":1,"x":2}', "{}"]
    kept = umbel.dedup(json, records="jsonl", key="id", missing="skip", keep="last")
    assert list(kept) == ['{"id":1,"x":2}'] and kept.report.missing == 1
    assert list(umbel.dedup(["A", "a "], ignore_case=True, trim=True)) == ["A"]
    urls = ["http://EXAMPLE.org", "http://example.org/"]
    assert len(list(umbel.dedup(urls, normalize="url"))) == 1


def test_bytes_that_are_not_text():
    data = [b"\xff", b"a", b"\xff"]
    once = list(umbel.dedup(data))
    assert once == ["\udcff", "a"]
    assert list(umbel.common(once, data)) == once


def test_compressed_files(tmp_path):
    import gzip

    path = tmp_path / "list"
    path.write_bytes(gzip.compress(b"a\nb\na\n"))
    assert list(umbel.dedup(path)) == ["a", "b"]


def test_results_larger_than_memory():
    count = 300_000
    made = (f"line {i % (count // 2)} " + "x" * 60 for i in range(count))
    found = umbel.dedup(made, memory="24MiB")
    assert found.report.found == count // 2 and sum(1 for _ in found) == count // 2


def test_errors(tmp_path):
    there = write(tmp_path / "there", ["a"])
    with pytest.raises(FileNotFoundError, match="missing"):
        umbel.dedup(tmp_path / "missing")
    with pytest.raises(ValueError, match="two inputs"):
        umbel.common(there)
    with pytest.raises(ValueError, match="memory"):
        umbel.dedup(there, memory=1)
    with pytest.raises(ValueError, match="records"):
        umbel.dedup(there, key="id")
    with pytest.raises(ValueError, match="records"):
        umbel.dedup(there, records="xml")
    with pytest.raises(ValueError, match="fpp"):
        umbel.dedup(there, fpp=2)
    with pytest.raises(TypeError, match="line"):
        umbel.dedup([1, 2])
    with pytest.raises(ValueError, match="more than one line"):
        umbel.dedup(["a\nb"])
    with pytest.raises(TypeError, match="input"):
        umbel.dedup(7)
    with pytest.raises(TypeError):
        umbel.dedup(there, colour="red")
    with pytest.raises(ZeroDivisionError):
        umbel.dedup(str(1 // i) for i in [1, 0])
    with pytest.raises(Exception):
        umbel.dedup(there, out=tmp_path / "no" / "folder")
    out = tmp_path / "out"
    out.write_text("before")
    with pytest.raises(ZeroDivisionError):
        umbel.dedup((str(1 // i) for i in [1, 0]), out=out)
    assert out.read_text() == "before"


def test_progress():
    assert list(umbel.dedup(["a"], progress=True)) == ["a"]


def test_threads_run_jobs_together():
    results = []

    def work():
        results.append(list(umbel.dedup(map(str, range(50_000)), map(str, range(60_000)))))

    threads = [threading.Thread(target=work) for _ in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results == [[str(i) for i in range(60_000)]] * 3


SLOW = """
import itertools, sys, umbel
out = sys.argv[1]
print("started", flush=True)
umbel.dedup(map(str, itertools.count()), out=out)
"""


def test_ctrl_c_ends_a_job_and_leaves_nothing(tmp_path):
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    _, words = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in words
    # At once, as far as a busy machine allows.
    assert time.monotonic() - start < 20
    assert list(tmp_path.iterdir()) == []
