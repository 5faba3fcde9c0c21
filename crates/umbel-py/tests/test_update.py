"""One file that several processes change."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import umbel

PROGRAM = os.environ.get("UMBEL", "umbel")

KEYS = 1_000


def start(code, *arguments):
    command = [sys.executable, "-c", "import sys, umbel\n" + textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process):
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return out


def keys_of(writer):
    return [f"{writer}-{number}" for number in range(KEYS)]


UPDATE = """
    with umbel.update(sys.argv[1]) as seen:
        seen.update([f"{sys.argv[2]}-{number}" for number in range(1_000)])
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "seen.umbel"
    umbel.Bloom(100_000, 1e-6).save(path)
    return path


def test_processes_that_update_one_file_lose_nothing(path):
    for process in [start(UPDATE, path, writer) for writer in range(4)]:
        ended(process)
    seen = umbel.open(path)
    assert all(all(seen.contains_many(keys_of(writer))) for writer in range(4))


def test_writers_that_are_killed_leave_a_whole_file(path):
    rng = random.Random(7)
    running = {writer: start(UPDATE, path, writer) for writer in range(12)}
    killed = rng.sample(sorted(running), 6)
    for writer in killed:
        time.sleep(rng.uniform(0, 0.1))
        running[writer].kill()
        umbel.open(path)
    codes = {writer: process.wait(timeout=60) for writer, process in running.items()}
    for process in running.values():
        process.communicate()
    seen = umbel.open(path)
    for writer, code in codes.items():
        found = sum(seen.contains_many(keys_of(writer)))
        assert found == KEYS if code == 0 else found in (0, KEYS), (writer, code, found)
        assert code == 0 or writer in killed
    assert [entry.name for entry in path.parent.iterdir() if not entry.name.startswith(".umbel-")] == ["seen.umbel"]


def test_a_writer_that_is_killed_inside_gives_the_lock_back(path):
    process = start(
        """
        import time
        with umbel.update(sys.argv[1]) as seen:
            seen.add("never saved")
            print("inside", flush=True)
            time.sleep(60)
        """,
        path,
    )
    assert process.stdout.readline() == "inside\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with umbel.update(path) as seen:
        assert "never saved" not in seen
        seen.add("saved")
    assert "saved" in umbel.open(path)


def test_the_command_line_waits_for_it_and_it_for_the_command_line(path, tmp_path):
    """Each adds keys while the other does."""
    lines = tmp_path / "lines"
    lines.write_text("".join(f"line {number}\n" for number in range(KEYS)))
    with umbel.update(path) as seen:
        add = subprocess.Popen([PROGRAM, "filter", "add", path, lines], stderr=subprocess.PIPE, text=True)
        assert "waiting for another run that is changing it" in add.stderr.readline()
        seen.update(keys_of(0))
    processes = [start(UPDATE, path, writer) for writer in range(1, 4)]
    processes += [subprocess.Popen([PROGRAM, "filter", "add", path, lines], stderr=subprocess.DEVNULL) for _ in range(2)]
    for process in [add, *processes]:
        process.communicate(timeout=60)
        assert process.returncode == 0
    seen = umbel.open(path)
    assert all(f"line {number}" in seen for number in range(KEYS))
    assert all(all(seen.contains_many(keys_of(writer))) for writer in range(4))


def test_an_exception_leaves_the_file_and_gives_the_lock_back(path):
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        with umbel.update(path) as seen:
            seen.add("a")
            raise ZeroDivisionError
    assert path.read_bytes() == before
    with umbel.update(path) as seen:
        assert "a" not in seen


def test_threads_update_one_after_the_other(path):
    def work(writer):
        with umbel.update(path) as seen:
            seen.update(keys_of(writer))

    threads = [threading.Thread(target=work, args=[writer]) for writer in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    seen = umbel.open(path)
    assert all(all(seen.contains_many(keys_of(writer))) for writer in range(4))


@pytest.mark.skipif(sys.platform == "win32", reason="a wait for a lock ends by itself there")
def test_ctrl_c_ends_the_wait(path):
    with umbel.update(path):
        process = start(
            """
            print("waits", flush=True)
            with umbel.update(sys.argv[1]):
                pass
            """,
            path,
        )
        assert process.stdout.readline() == "waits\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors


@pytest.mark.skipif(sys.platform == "win32", reason="no forks there")
def test_a_fork_inside_keeps_no_lock_and_saves_nothing(path):
    process = start(
        """
        import os, time
        with umbel.update(sys.argv[1]) as seen:
            seen.add("parent")
            child = os.fork()
            if child == 0:
                seen.add("child")
        if child == 0:
            os._exit(1)
        sleeper = os.fork()
        """,
        path,
    )
    _, errors = process.communicate(timeout=60)
    assert "this process was forked inside of umbel.update" in errors
    with umbel.update(path) as seen:
        assert "parent" in seen and "child" not in seen


def test_a_child_that_lives_on_does_not_keep_the_lock(path):
    process = start(
        """
        import os, signal, time
        with umbel.update(sys.argv[1]) as seen:
            seen.add("parent")
            child = os.fork()
            if child == 0:
                time.sleep(60)
        with umbel.update(sys.argv[1]) as seen:
            print("parent" in seen)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        """,
        path,
    )
    assert ended(process) == "True\n"


def test_what_cannot_be_updated(path, tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        with umbel.update(tmp_path / "missing"):
            pass
    packed = tmp_path / "packed"
    umbel.Bloom(1_000).save(packed, packed=True)
    with pytest.raises(OSError, match="is packed, and cannot be changed in place"):
        with umbel.update(packed):
            pass
    with pytest.raises(ValueError, match="s3://a/b: only a local file can be updated"):
        umbel.update("s3://a/b")
    path.write_bytes(b"no filter")
    for _ in range(2):
        with pytest.raises(ValueError, match="not an umbel file"):
            with umbel.update(path):
                pass


def test_filters_of_other_systems_and_keyed_ones(tmp_path):
    words = tmp_path / "words"
    umbel.Foreign("guava", 1_000, 0.001).save(words)
    with umbel.update(words, format="guava") as foreign:
        foreign.add("apple")
    assert "apple" in umbel.open(words, format="guava")
    umbel.Bloom(1_000, secret=b"0123456789abcdef").save(words)
    with umbel.update(words, secret=b"0123456789abcdef") as keyed:
        keyed.add("pear")
    assert "pear" in umbel.open(words, secret=b"0123456789abcdef")


def test_lines_of_an_interrupted_run_are_taken_in_once(path, tmp_path):
    run = subprocess.Popen(
        [PROGRAM, "unseen", "--checkpoint", "50ms", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    run.stdin.write(b"line\n")
    run.stdin.flush()
    journal = path.with_name("seen.umbel.run")
    until = time.monotonic() + 20
    while not (journal.exists() and "line" in umbel.open(path)):
        assert time.monotonic() < until
        time.sleep(0.05)
    run.kill()
    run.communicate()
    for option in ("mmap", "shared"):
        with pytest.raises(ValueError, match=f"has lines that umbel unseen .* open it without {option}, or save them"):
            umbel.open(path, **{option: True})
    with umbel.update(path) as seen:
        assert "line" in seen
    journal.unlink()
    assert "line" in umbel.open(path)


CHANGED = "seen.umbel: was changed since this filter was opened from it, .* use umbel.update"


def test_save_refuses_to_undo_what_others_added(path):
    ours, theirs = umbel.open(path), umbel.open(path)
    theirs.add("theirs")
    theirs.save(path)
    ours.add("ours")
    for again in (path, str(path), path.parent / "." / path.name):
        with pytest.raises(OSError, match=CHANGED):
            ours.save(again)
    with pytest.raises(OSError, match=CHANGED):
        ours.save(path, packed=True)
    assert "theirs" in umbel.open(path)
    ours.save(path.with_name("other"))
    with umbel.update(path) as both:
        both |= ours
    assert "theirs" in umbel.open(path) and "ours" in umbel.open(path)


def test_save_notices_what_the_command_line_adds(path):
    seen = umbel.open(path)
    subprocess.run([PROGRAM, "filter", "add", path], input=b"line\n", check=True, stderr=subprocess.DEVNULL)
    with pytest.raises(OSError, match=CHANGED):
        seen.save(path)


def test_save_replaces_what_nobody_changed(path, tmp_path):
    """Each time, also after the file was touched, copied back or removed."""
    seen = umbel.open(path)
    for number in range(3):
        seen.add(number)
        seen.save(path)
    copy = path.read_bytes()
    path.write_bytes(b"")
    path.write_bytes(copy)
    seen.add("more")
    seen.save(path)
    path.unlink()
    seen.save(path)
    seen.add("again")
    seen.save(path)
    assert "again" in umbel.open(path)


def test_save_elsewhere_replaces_whatever_is_there(path, tmp_path):
    other = tmp_path / "other"
    umbel.Bloom(10).save(other)
    seen = umbel.open(path)
    seen.save(other)
    umbel.Bloom(10).save(other)
    seen.save(other)
    made = umbel.Bloom(100)
    made.save(path)
    umbel.Bloom(10).save(path)
    made.save(path)
    made.copy().save(path)
    assert umbel.open(path) == made


def test_save_through_a_link_that_was_moved(path, tmp_path):
    link, new = tmp_path / "link", tmp_path / "new"
    umbel.Bloom(10).save(new)
    try:
        link.symlink_to(path)
    except OSError:
        pytest.skip("no links")
    seen = umbel.open(link)
    seen.add("a")
    seen.save(path)
    seen.save(link)
    link.unlink()
    link.symlink_to(new)
    with pytest.raises(OSError, match="link: was changed since"):
        seen.save(link)
    seen.save(path)


def test_save_inside_of_an_update(path):
    with umbel.update(path) as seen:
        seen.add("a")
        with pytest.raises(OSError, match="umbel.update in this one, which will save it"):
            seen.save(path)
    seen.add("b")
    seen.save(path)
    assert "b" in umbel.open(path)


@pytest.mark.parametrize("packed", [False, True])
def test_save_knows_other_files_by_their_bytes(tmp_path, packed):
    """A packed file, and one of another system, have no checksum of all their bytes."""
    file = tmp_path / "file"
    made = umbel.Bloom(1_000) if packed else umbel.Foreign("guava", 1_000, 0.01)
    write = {"packed": True} if packed else {}
    read = {} if packed else {"format": "guava"}
    made.save(file, **write)
    first, second = umbel.open(file, **read), umbel.open(file, **read)
    first.add("a")
    first.save(file, **write)
    first.save(file, **write)
    with pytest.raises(OSError, match="file: was changed since"):
        second.save(file, **write)


def test_threads_save_one_filter(path):
    seen = umbel.open(path)
    failed = []

    def work(writer):
        try:
            for number in range(20):
                seen.add(f"{writer} {number}")
                seen.save(path)
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=[writer]) for writer in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failed
    assert all(f"{writer} 19" in umbel.open(path) for writer in range(4))


def test_a_process_that_goes_elsewhere_meanwhile(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    umbel.Bloom(100, 1e-6).save("seen.umbel")
    with umbel.update("seen.umbel") as seen:
        seen.add("a")
        os.chdir("sub")
    assert "a" in umbel.open("../seen.umbel") and not os.listdir(".")
    with umbel.open("../seen.umbel", shared=True) as seen:
        seen.add("b")
        os.chdir("..")
    assert "b" in umbel.open("seen.umbel")
