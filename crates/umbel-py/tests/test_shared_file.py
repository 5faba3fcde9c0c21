"""One file that several processes add to at the same time."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import umbel

PROGRAM = os.environ.get("UMBEL", "umbel")


@pytest.fixture(params=["blocked", "classic", "sliced"])
def path(tmp_path, request):
    path = tmp_path / "seen.umbel"
    umbel.Bloom(200_000, 1e-6, kind=request.param).save(path)
    return path


def start(code, *arguments):
    command = [sys.executable, "-c", "import sys, umbel\n" + textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


ADD = """
    with umbel.open(sys.argv[1], shared=True) as seen:
        for number in range(5_000):
            seen.add(f"{sys.argv[2]}-{number}")
            print(number, flush=True)
"""


def test_processes_add_and_a_reader_sees_it_at_once(path):
    with umbel.open(path, shared=True) as reader:
        processes = [start(ADD, path, writer) for writer in range(3)]
        for writer, process in enumerate(processes):
            for _ in range(10):
                assert f"{writer}-{process.stdout.readline().strip()}" in reader
        with pytest.raises(ValueError, match="seen.umbel: the filter is open for shared use"):
            umbel.open(path)
        for process in processes:
            _, errors = process.communicate(timeout=60)
            assert process.returncode == 0, errors
        assert all(reader.contains_many([f"{writer}-{number}" for writer in range(3) for number in range(5_000)]))
        assert abs(len(reader.snapshot()) - 15_000) < 500
    seen = umbel.open(path)
    assert all(seen.contains_many([f"{writer}-{number}" for writer in range(3) for number in range(5_000)]))


def test_processes_that_are_killed_lose_nothing(path):
    killed = []
    for writer in range(3):
        process = start(ADD, path, writer)
        last = [process.stdout.readline() for _ in range(200 * writer + 1)][-1]
        process.kill()
        rest = process.stdout.read()
        process.communicate()
        # The last line may be cut.
        killed.append(max([int(last), *map(int, rest.splitlines()[:-1])]))
    with pytest.raises(ValueError, match="its last user was killed before sealing the file, .* umbel filter add seals it"):
        umbel.open(path)
    with pytest.raises(ValueError, match="no checksums"):
        umbel.open(path, mmap=True)
    for verb in (["filter", "info", path], ["filter", "query", path, os.devnull]):
        refused = subprocess.run([PROGRAM, *verb], capture_output=True, text=True)
        assert refused.returncode == 2 and "umbel filter add seals it" in refused.stderr, refused
    unsealed = path.read_bytes()
    added = subprocess.run([PROGRAM, "filter", "add", path], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert added.returncode == 0 and "warning: " in added.stderr and "sealed it with its present bits" in added.stderr

    def whole():
        seen = umbel.open(path)
        return all(f"{writer}-{number}" in seen for writer, last in enumerate(killed) for number in range(last + 1))

    assert whole()
    path.write_bytes(unsealed)
    assert umbel.open(path, shared=True).close() and whole()
    path.write_bytes(unsealed)
    with umbel.update(path) as seen:
        seen.add("more")
    assert whole() and "more" in umbel.open(path)


def test_others_that_change_the_file_wait(path):
    seen = umbel.open(path, shared=True)
    seen.update(["a"])
    add = subprocess.Popen([PROGRAM, "filter", "add", path], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    add.stdin.write(b"line\n")
    add.stdin.close()
    assert b"waiting for another run" in add.stderr.readline()
    update = start("with umbel.update(sys.argv[1]) as seen: seen.add('b')", path)
    time.sleep(0.2)
    assert add.poll() is None and update.poll() is None
    seen.close()
    assert add.wait(timeout=60) == 0 and update.wait(timeout=60) == 0
    with umbel.open(path, shared=True) as seen:
        assert all(seen.contains_many(["a", "b", "line"]))


def test_one_that_opens_it_waits_for_others_that_change_it(path):
    with umbel.update(path) as whole:
        process = start(ADD, path, 0)
        time.sleep(0.3)
        assert process.poll() is None
        whole.add("a")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    seen = umbel.open(path)
    assert "a" in seen and "0-4999" in seen


def test_what_it_answers(path):
    whole = umbel.open(path)
    with umbel.open(path, shared=True) as seen:
        keys = np.arange(100_000)
        assert seen.add("a") and not seen.add("a") and "a" in seen and 7 not in seen
        assert seen.add_new(["a", "b"]) == [False, True]
        seen.update(keys, ["c"], (str(number) for number in range(10)))
        assert seen.contains_many(keys, threads=2).all() and seen.contains_many(["c", "d"]) == [True, False]
        whole.update(["a", "b", "c"], keys, map(str, range(10)))
        # A shared file notes no form: its header stays.
        whole.describe([])
        assert seen.snapshot() == whole
        seen.sync()
        assert repr(seen) == f"<SharedFile: {path}>"
    assert umbel.open(path) == whole
    for use in (lambda: "a" in seen, lambda: seen.add("a"), lambda: seen.update(["a"]), lambda: seen.snapshot()):
        with pytest.raises(ValueError, match="the file is closed"):
            use()
    assert seen.close() is False


def test_threads_add(path):
    with umbel.open(path, shared=True) as seen:
        parts = [np.arange(start, start + 25_000) for start in range(0, 100_000, 25_000)]
        threads = [threading.Thread(target=seen.update, args=[part]) for part in parts]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    assert umbel.open(path).contains_many(np.arange(100_000)).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks there")
def test_children_of_forks_open_it_for_themselves(path):
    """The parent closes it first: it still has the keys that the children add later."""
    process = start(
        """
        import os, time
        seen = umbel.open(sys.argv[1], shared=True)
        seen.add("parent")
        children = []
        for number in range(3):
            child = os.fork()
            if child == 0:
                time.sleep(0.2 * number)
                seen.add(f"child {number}")
                seen.close()
                sys.exit()
            children.append(child)
        time.sleep(0.1)
        seen.close()
        for child in children:
            assert os.waitpid(child, 0)[1] == 0
        """,
        path,
    )
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert all(umbel.open(path).contains_many(["parent", "child 0", "child 1", "child 2"]))


def test_the_end_of_the_object_closes_it(path):
    seen = umbel.open(path, shared=True)
    seen.add("a")
    del seen
    gc.collect()
    assert "a" in umbel.open(path)


@pytest.mark.skipif(sys.platform == "win32", reason="a mapped file is not replaced there")
def test_a_file_that_is_replaced_meanwhile(path):
    seen = umbel.open(path, shared=True)
    umbel.Bloom(10).save(path)
    seen.add("a")
    with pytest.raises(OSError, match="was replaced while it was in shared use"):
        seen.close()
    assert "a" not in umbel.open(path)


def test_what_cannot_be_shared(tmp_path):
    path = tmp_path / "filter"
    umbel.Counting(100).save(path)
    with pytest.raises(ValueError, match="filter: counting filters cannot be in shared use; blocked"):
        umbel.open(path, shared=True)
    umbel.Bloom(100).save(path, packed=True)
    with pytest.raises(OSError, match="is packed, and cannot be changed in place"):
        umbel.open(path, shared=True)
    with pytest.raises(TypeError, match="shared: secret is the only other option allowed"):
        umbel.open(path, shared=True, mmap=True)
    with pytest.raises(ValueError, match="only a local file can be mapped"):
        umbel.open("s3://a/b", shared=True)
    with pytest.raises(FileNotFoundError):
        umbel.open(tmp_path / "missing", shared=True)
    made = umbel.Bloom(1_000, secret=b"0123456789abcdef")
    made.save(path)
    with pytest.raises(ValueError, match="secret"):
        umbel.open(path, shared=True)
    with umbel.open(path, shared=True, secret=b"0123456789abcdef") as keyed:
        keyed.add("pear")
    assert "pear" in umbel.open(path, secret=b"0123456789abcdef")
    damaged = bytearray(path.read_bytes())
    damaged[200] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="payload is damaged"):
        umbel.open(path, shared=True, secret=b"0123456789abcdef")
