"""Threads, signals, forks and the end of the interpreter, in processes of their own."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import umbel


def python(code, *arguments, timeout=60, **options):
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)


@pytest.mark.parametrize(
    "use",
    [
        "umbel.Bloom(10**6).update(endless())",
        "umbel.Bloom(10**6).add_new(endless())",
        "umbel.Bloom(10**6).contains_many(endless())",
        "umbel.Bloom(10**6).contains_rows((i, i) for i in endless())",
        "umbel.Bloomier(endless())",
        "umbel.Map((i, i) for i in endless())",
        "umbel.Parts(7).split(endless())",
        "umbel.dedup(map(str, endless()))",
    ],
)
def test_a_daemon_thread_does_not_crash_the_end(use):
    ended = python(f"""
        import threading, time, umbel

        def endless():
            while True:
                time.sleep(0)
                yield 1

        thread = threading.Thread(target=lambda: {use}, daemon=True)
        thread.start()
        time.sleep(0.1)
    """)
    assert ended.returncode == 0, ended.stderr


def test_a_fork_waits_for_threads_that_work_on_filters():
    """Otherwise the child would hang on a lock whose holder is gone."""
    ended = python("""
        import os, threading, time, numpy as np, umbel

        filter, keys, stop = umbel.Bloom(300_000), np.arange(300_000), False

        def work():
            while not stop:
                filter.add_many(keys, threads=1)
                filter.contains_many(keys, threads=1)

        threads = [threading.Thread(target=work) for _ in range(2)]
        [thread.start() for thread in threads]
        for _ in range(5):
            time.sleep(0.05)
            child = os.fork()
            if child == 0:
                filter.add("child")
                filter.add_many(keys[:1000])
                os._exit(0 if "child" in filter and len(filter) > 0 else 1)
            assert os.waitpid(child, 0)[1] == 0
        stop = True
        [thread.join() for thread in threads]
        print("ended")
    """)
    assert ended.stdout == "ended\n", ended.stderr


def test_forks_of_several_threads():
    ended = python("""
        import os, threading, umbel

        filter = umbel.Bloom(1000)

        def work():
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    filter.update(range(2000))
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == 0
                filter.copy()

        threads = [threading.Thread(target=work) for _ in range(3)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print("ended")
    """)
    assert ended.stdout == "ended\n", ended.stderr


@pytest.mark.parametrize(
    "use",
    [
        "umbel.Bloom(10**6).update(map(int, itertools.repeat(1)))",
        "umbel.Bloom(10**6).contains_rows(zip(itertools.repeat(1)))",
        "umbel.dedup(itertools.repeat('a'))",
        "umbel.dedup(blocked())",
        "umbel.Bloom(10**6).update(blocked())",
        "umbel.Bloom(10**6).contains_many(itertools.repeat('a'))",
        "umbel.Bloom(10**6).add_rows(pa.RecordBatchReader.from_batches(column.schema, itertools.repeat(column)), ['a'])",
    ],
)
def test_ctrl_c_ends_an_endless_iterable(use):
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(f"""
            import itertools, threading, umbel, pyarrow as pa
            column = pa.record_batch({{"a": list(range(100_000))}})

            def blocked():
                yield "a"
                threading.Event().wait()

            print("started", flush=True)
            {use}
        """)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    try:
        _, words = process.communicate(timeout=30)
    finally:
        process.kill()
    assert b"KeyboardInterrupt" in words, words


def other_thread_runs(work):
    """Whether Python code of another thread runs while the work does: it sleeps, and must wake several times."""
    started, done, ticks = threading.Event(), threading.Event(), 0

    def tick():
        nonlocal ticks
        started.wait()
        while not done.is_set():
            time.sleep(0.001)
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    time.sleep(0.02)
    started.set()
    work()
    seen = ticks
    done.set()
    thread.join()
    return seen


def test_long_work_releases_the_gil(tmp_path):
    """128 MiB: each takes 10 ms or more. While a call holds the GIL, no other thread gets to count."""
    left, right = umbel.Bloom(fpp=0.01, memory="128MiB"), umbel.Bloom(fpp=0.01, memory="128MiB")
    right.add("a")
    left.add("a")
    file = left.to_bytes()
    left.save(tmp_path / "filter")
    (tmp_path / "copy").write_bytes(file)

    def merge():
        nonlocal left
        left |= right

    works = {
        "copy": left.copy,
        "&": lambda: left & right,
        "|": lambda: left | right,
        "|=": merge,
        "to_bytes": left.to_bytes,
        "==": lambda: left == right,
        "<=": lambda: left <= right,
        "clear": umbel.Bloom(fpp=0.01, memory="512MiB").clear,
        "bool": lambda: bool(umbel.Bloom(fpp=0.01, memory="128MiB")),
        "compare": lambda: umbel.compare(left, right),
        "from_bytes": lambda: umbel.from_bytes(file),
        "open": lambda: umbel.open(tmp_path / "filter"),
        "URL": lambda: umbel.open(f"memory://{tmp_path}/filter"),
        "receipt": left.receipt,
    }
    left.save(f"memory://{tmp_path}/filter")
    # A busy machine may let the other thread wait longer than a short call takes, but not each time.
    held = [name for name, work in works.items() if not any(other_thread_runs(work) for _ in range(50))]
    assert not held


def test_iterables_run_where_they_were_made():
    import contextvars
    import sqlite3

    database = sqlite3.connect(":memory:")
    database.execute("create table words (word)")
    database.executemany("insert into words values (?)", [("a",), ("b",), ("a",)])
    assert list(umbel.dedup(row[0] for row in database.execute("select word from words"))) == ["a", "b"]
    language = contextvars.ContextVar("language", default="none")
    language.set("Latin")
    threads = []

    def lines():
        threads.append(threading.get_ident())
        yield language.get()

    assert list(umbel.common(lines(), ["Latin"])) == ["Latin"]
    assert threads == [threading.get_ident()]


class PythonFiles:
    """The files of a folder through fsspec in Python: readers need the GIL on threads of their own."""

    def __new__(cls):
        from fsspec.implementations.local import LocalFileSystem
        from pyarrow.fs import FSSpecHandler, PyFileSystem

        return PyFileSystem(FSSpecHandler(LocalFileSystem()))


def test_streams_of_datasets_that_need_the_gil(tmp_path):
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    for part in range(8):
        keys = pa.table({"user": range(part * 10_000, (part + 1) * 10_000)})
        pq.write_table(keys, tmp_path / f"{part}.parquet", row_group_size=1000)
    dataset = ds.dataset(str(tmp_path), filesystem=PythonFiles())
    for _ in range(3):
        filter = umbel.Bloom(80_000, 1e-6)
        new = filter.add_rows(dataset.scanner().to_reader(), ["user"])
        assert len(new) == 80_000 and sum(new.to_pylist()) > 79_990
        assert all(filter.contains_rows(dataset.scanner().to_reader(), ["user"]).to_pylist())


def test_streams_are_not_kept_in_memory():
    schema, alive = pa.schema({"a": pa.binary()}), []

    def batches():
        for number in range(64):
            alive.append(pa.total_allocated_bytes())
            # 16 MiB; `take` copies them into memory of Arrow.
            yield pa.record_batch({"a": pa.array([bytes([number]) * (1 << 18)] * 64)}).take(pa.array(range(64)))

    filter = umbel.Bloom(1_000, 1e-6)
    stream = pa.RecordBatchReader.from_batches(schema, batches())
    assert sum(filter.add_rows(stream, ["a"]).to_pylist()) == 64
    assert len(alive) == 64 and max(alive) - alive[0] < 320 << 20


def test_a_stream_that_fails_has_the_answers_before():
    schema = pa.schema({"a": pa.int64()})

    def batches():
        # More than are worked on together.
        for start in range(0, 6_000_000, 1_000_000):
            yield pa.record_batch({"a": np.arange(start, start + 1_000_000)})
        raise ZeroDivisionError("in the stream")

    filter = umbel.Bloom(10_000_000, 1e-6)
    with pytest.raises(OSError, match="in the stream") as error:
        filter.add_rows(pa.RecordBatchReader.from_batches(schema, batches()), ["a"])
    answers = error.value.answers
    assert len(answers) == 6_000_000 and sum(answers.to_numpy()) >= len(answers) - 100
    assert filter.contains_rows([(len(answers) - 1,), (7_000_000,)]) == [True, False]
    assert "answers" in error.value.__notes__[0]


def test_keys_before_an_error_stay():
    def keys():
        yield from range(5000)
        raise ZeroDivisionError

    filter = umbel.Bloom(10_000, 1e-6)
    with pytest.raises(ZeroDivisionError):
        filter.update(keys())
    assert sum(filter.contains_many(list(range(5000)))) == 5000
    filter.clear()
    with pytest.raises(TypeError):
        filter.update([*range(1500), 1.5, 7000])
    assert sum(filter.contains_many(list(range(1500)))) == 1500 and 7000 not in filter


def test_threads_share_an_iterator_of_lines():
    lines = iter(umbel.dedup(map(str, range(20_000))))
    found, threads = [], []
    for _ in range(4):
        threads.append(threading.Thread(target=lambda: found.extend(lines)))
        threads[-1].start()
    [thread.join() for thread in threads]
    assert sorted(map(int, found)) == list(range(20_000))


def test_without_more_threads():
    """Look-ups use the threads they can get; a job, which needs one more, fails with a message. A stack of 2 MiB does not fit."""
    code = """
    import resource
    import numpy as np
    import umbel

    keys = np.arange(300_000)
    filter = umbel.Bloom(len(keys))
    filter.add_many(keys, threads=1)
    filter.contains_many(keys, threads=1)
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + (3 << 19)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    assert filter.contains_many(keys, threads=4).all()
    try:
        umbel.dedup(["a"])
    except OSError as error:
        assert "cannot start more threads" in str(error), error
    else:
        raise AssertionError("a thread was started")
    """
    ended = python(code)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    "use",
    [
        "umbel.dedup(column, memory='64MiB', threads=1)",
        "umbel.dedup(views, memory='64MiB', threads=1)",
        "umbel.Bloom(10).add_rows(pa.table({'a': column}), ['a'])",
        "umbel.Bloom(10).contains_rows(pa.table({'a': column, 'b': column}), ['a', 'b'])",
        "umbel.Bloom(10).contains_rows((word, word) for _ in range(4096))",
    ],
)
def test_large_values_take_little_memory(use):
    """One value of 256 KiB in 4096 rows: 1 GiB, if all were copied, and 2 GiB in rows of two."""
    ended = python(f"""
        import resource, struct, pyarrow as pa, umbel

        word = "x" * (1 << 18)
        views = struct.pack("<I4sII", len(word), b"xxxx", 0, 0) * 4096
        views = pa.Array.from_buffers(pa.string_view(), 4096, [None, pa.py_buffer(views), pa.py_buffer(word.encode())])
        column = pa.DictionaryArray.from_arrays(pa.array([0] * 4096, pa.int32()), pa.array([word]))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        {use}
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert more < 128 << 10, f"{{more}} KiB"
    """)
    assert ended.returncode == 0, ended.stderr


def test_a_python_without_a_gil_is_refused():
    ended = python("import sys; sys._is_gil_enabled = lambda: False; import umbel")
    assert ended.returncode == 1 and "ImportError: umbel needs Python's GIL: start Python without -X gil=0" in ended.stderr
