"""Random jobs on a small disk that fills up and empties, on Linux: `python3 faults/soak.py --help`.

Runs are killed, stopped by signals, and run out of space or of open files; then they resume. Every answer is compared with one
computed here, and so are the files that a failed run leaves. Seeds determine the inputs; the clock determines when a signal or
a full disk strikes.
"""

import argparse
import collections
import errno
import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
options = argparse.ArgumentParser(description="Random jobs of the command line on a small disk that fills up and empties.")
options.add_argument("--minutes", type=float, default=120)
options.add_argument("--seed", type=int, default=1, help="other jobs for each number")
options.add_argument("--workers", type=int, default=2, help="jobs at a time")
options.add_argument("--disk", type=Path, help="a folder on a file system of its own, of 100 MB or more; by default 256 MB of memory, mounted for this run")
given = options.parse_args()
if given.disk is None:
    subprocess.run(["cargo", "build", "--quiet", "--locked", "--release"], cwd=ROOT, check=True)
    disk = ROOT / "target/soak"
    disk.mkdir(parents=True, exist_ok=True)
    mount = 'mount -t tmpfs -o size=256m tmpfs "$1" && shift && exec "$@"'
    again = [sys.executable, *sys.argv, "--disk", disk]
    os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh", disk, *again])
UMBEL, DISK = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "release/umbel", given.disk.resolve()
MINUTES, SEED, WORKERS = given.minutes, given.seed, given.workers
END = time.monotonic() + 60 * MINUTES
SLACK = 32 << 20

tally = collections.Counter()
differences = []
lock = threading.Lock()


def count(what, number=1):
    with lock:
        tally[what] += number


class Difference(Exception):
    """A wrong result."""


def check(holds, *what):
    if not holds:
        raise Difference(" ".join(str(part) for part in what))


class Story:
    """Related jobs, with a folder for their inputs and one on the small disk."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.disk = Path(tempfile.mkdtemp(dir=DISK))
        self.tmp = self.disk / "tmp"
        self.tmp.mkdir()
        self.inputs = Path(tempfile.mkdtemp(prefix="soak-"))
        self.usual = {}
        self.number = 0
        self.line = self.dice.choice([
            lambda i: b"%d" % i,
            lambda i: b"https://example.org/%d/%d" % (i % 3000, i),
            lambda i: b"\xff%x\r" % (i * 2654435761),
            lambda i: b"" if i == 0 else b"%d " % i * (i * i % 40 + 1),
            lambda i: b"%d" % i if i % 1000 else b"%d," % i * 20_000,
        ])

    def close(self):
        shutil.rmtree(self.inputs)
        shutil.rmtree(self.disk)

    def lines(self, most=500_000, universe=None):
        """Some lines, in runs and at random, with repeats: fewer than twice `universe` distinct ones."""
        number = int(most ** self.dice.uniform(0.2, 1))
        universe = universe or 2 * number
        number = min(number, universe)
        begin = self.dice.randrange(universe)
        lines = [self.line(i) for i in range(begin, begin + number)]
        more = [self.line(self.dice.randrange(universe)) for _ in range(number // 10)]
        lines += more
        if self.dice.random() < 0.5:
            self.dice.shuffle(lines)
        return lines

    def write(self, lines):
        """Writes them to a file, compressed or not, perhaps without the last line feed."""
        self.number += 1
        path = self.inputs / f"{self.number}"
        text = b"\n".join(lines) + (b"\n" if not lines[-1] or self.dice.random() < 0.8 else b"")
        packed = self.dice.random() < 0.3
        with (gzip.open(path, "wb", 1) if packed else open(path, "wb")) as file:
            file.write(text)
        return path

    def options(self):
        memory = self.dice.choice([16, 16, int(2 ** self.dice.uniform(4, 9))])
        return {"-j": self.dice.choice([1, 2, 4, 8]), "--memory": memory}

    def attempt(self, arguments, options, stdin=None, stdout=None, during=None):
        """Runs it once, perhaps with a fault; returns "done", or why it ended."""
        verb = arguments[arguments[0] == "filter"]
        words = [UMBEL, *arguments, "--json"]
        if verb not in ("merge", "pack", "unpack", "delta", "patch"):
            words += ["-j", str(options["-j"]), "--memory", f"{options['--memory']}MiB"]
        usual = self.usual.get(verb, 0.05)
        fate = self.dice.random()
        if fate < 0.1:
            words = ["prlimit", f"--nofile={self.dice.randrange(5, 30)}", *words]
        delay = self.dice.uniform(0, 1.3 * usual) if 0.1 <= fate < 0.5 else None
        sign = self.dice.choice([signal.SIGKILL] * 3 + [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        count("runs")
        with open(stdin or os.devnull, "rb") as source, open(stdout or os.devnull, "wb") as target:
            begin = time.monotonic()
            child = subprocess.Popen(words, cwd=self.disk, stdin=source, stdout=target, stderr=subprocess.PIPE,
                                     env={**os.environ, "TMPDIR": str(self.tmp)})
            watch = threading.Timer(delay, child.send_signal, [sign]) if delay is not None else None
            if watch:
                watch.start()
            if during:
                during()
            try:
                messages = child.communicate(timeout=900)[1].decode(errors="replace")
            except subprocess.TimeoutExpired:
                child.kill()
                raise Difference("no end after 15 minutes:", *words) from None
            if watch:
                watch.cancel()
        left = [path.name for path in self.tmp.iterdir()]
        check(not left or child.returncode < 0, "left behind:", left, *words)
        for path in self.tmp.iterdir():
            path.unlink()
        if child.returncode in (0, 1):
            self.usual[verb] = (usual + time.monotonic() - begin) / 2
            # Next to warnings.
            report = next(line for line in map(json.loads, messages.splitlines()) if line["type"] == "report")
            check(report["peak_memory"] <= (options["--memory"] << 20) + SLACK, "the cap:", messages, *words)
            for number in ("bytes_read", "bytes_written", "bytes_spilled"):
                count(number, report.get(number, 0))
            count(f"done {verb}")
            return "done"
        if delay is not None and (child.returncode == -sign or "stopped:" in messages):
            count("killed" if sign == signal.SIGKILL else "stopped")
            return "killed"
        check(child.returncode == 2, "ended with", child.returncode, messages, *words)
        if least := re.search(r"(?:a cap of|at least) (\d+)MiB", messages):
            check(int(least[1]) > options["--memory"], "refused with a cap that is lower:", messages)
            options["--memory"] = int(least[1])
            return "refused"
        for cause, why in [("full", "No space left on device"), ("no files", "Too many open files")]:
            if why in messages:
                count(cause)
                return cause
        raise Difference("failed:", messages, *words)

    def until_done(self, arguments, after=lambda how: None, tries=None, **more):
        """Runs it until it is done, or `tries` times, and checks the files that each run leaves."""
        options = self.options()
        for _ in range(tries or 300):
            how = self.attempt(arguments, options, **more)
            after(how)
            if how == "done":
                return
            if how == "full":
                time.sleep(0.2)
        if how == "full" and not tries:
            # Lines of 120 MB, compressed and to be sorted, take 310 MB of temporary files.
            raise OSError(errno.ENOSPC, "larger than the disk")
        check(tries, "never done:", *arguments)

    def answers(self, arguments, wanted, stdin=None):
        """Checks for this answer: printed, or in a file that is complete or unchanged."""
        if self.dice.random() < 0.6:
            path = self.disk / "out"
            before = b"before\n" if self.dice.random() < 0.5 else None
            if before:
                path.write_bytes(before)

            def after(how):
                found = path.read_bytes() if path.exists() else None
                check(found == wanted or how != "done" and found == before, "not the answer:", how, *arguments)

            self.until_done([*arguments, "-o", str(path)], after, stdin=stdin)
        else:
            # On the large disk: storing printed output is the caller's job.
            path = self.inputs / "out"

            def after(how):
                found = path.read_bytes()
                check(found == wanted if how == "done" else wanted.startswith(found), "not the answer:", how, *arguments)

            self.until_done(arguments, after, stdin=stdin, stdout=path)


def free():
    return shutil.disk_usage(DISK).free


def unique(lines):
    return list(dict.fromkeys(lines))


def text(lines):
    return b"".join(line + b"\n" for line in lines)


def sets(story):
    """common, except, dedup and diff of two or three files of lines."""
    dice = story.dice
    lines = [story.lines()]
    lines += [story.lines(universe=2 * len(lines[0])) for _ in range(dice.choice([1, 1, 2]))]
    paths = [str(story.write(some)) for some in lines]
    others = set(lines[1]).intersection(*lines[2:]), set().union(*lines[1:])
    count("jobs")
    match dice.choice(["common", "except", "dedup", "diff", "repeated"]):
        case "common":
            arguments, wanted = ["common", *paths], [line for line in unique(lines[0]) if line in others[0]]
        case "except":
            arguments, wanted = ["except", *paths], [line for line in unique(lines[0]) if line not in others[1]]
        case "dedup":
            arguments, wanted = ["dedup", *paths], unique(sum(lines, []))
        case "repeated":
            counts = collections.Counter(sum(lines, []))
            arguments, wanted = ["dedup", "--repeated", *paths], [line for line in counts if counts[line] > 1]
        case "diff":
            old, new = set(lines[0]), set(lines[1])
            wanted = text(b"- " + line for line in unique(lines[0]) if line not in new)
            wanted += text(b"+ " + line for line in unique(lines[1]) if line not in old)
            story.answers(["diff", *paths[:2]], wanted)
            return
    if dice.random() < 0.3:
        arguments, wanted = [*arguments, "--sort"], sorted(wanted)
    stdin = None
    if dice.random() < 0.3:
        stdin = arguments[-len(paths)] if "--sort" not in arguments else None
        arguments = [("-" if word == stdin else word) for word in arguments]
    story.answers(arguments, text(wanted), stdin)


def join(story):
    """join of two tables, with keys that repeat."""
    dice = story.dice
    number = int(10 ** dice.uniform(0, 5))
    left, right = ([(dice.randrange(number) * 7, i) for i in range(dice.randrange(1, number + 1))] for _ in range(2))
    partners = collections.defaultdict(list)
    for key, value in right:
        partners[key].append(value)
    kind = dice.choice([[], ["--left"]])
    wanted = [b"key,a,b"]
    for key, value in left:
        values = partners.get(key) or ([""] if kind else [])
        wanted += [f"{key},{value},{other}".encode() for other in values]
    paths = [str(story.write([b"key," + name, *(b"%d,%d" % row for row in rows)]))
             for name, rows in ((b"a", left), (b"b", right))]
    count("jobs")
    story.answers(["join", *kind, "--csv", "-k", "key", *paths], text(wanted))


def unseen(story):
    """Adds batches to one filter: each line is in the file once, whatever happens."""
    dice = story.dice
    universe = int(10 ** dice.uniform(2, 5.3))
    out, seen = story.disk / "lines", story.disk / "seen"
    arguments = ["unseen", str(seen), "--append", str(out), "--fpp", "1e-9",
                 "--checkpoint", dice.choice(["0s", "20ms", "1s", "60s"])]
    if dice.random() < 0.6:
        arguments += ["--keys", str(4 * universe), "--kind", dice.choice(["blocked", "classic", "sliced", "counting"])]
    # Lines of runs that ended well, and of other runs, which may be present or not.
    sure, perhaps = set(), set()

    def reader():
        if sure and dice.random() < 0.3:
            time.sleep(dice.uniform(0, 0.2))
            are_in(seen, dice.sample(sorted(sure), min(len(sure), 1000)))

    for _ in range(dice.randrange(1, 8)):
        count("jobs")
        batch = story.lines(100_000, universe)
        perhaps.update(batch)

        def after(how, batch=batch):
            found = out.read_bytes().split(b"\n") if out.exists() else [b""]
            end = found.pop()
            if how == "done":
                sure.update(batch)
                check(end == b"", "the last line has no end")
            check(len(set(found)) == len(found), "printed twice:", len(found) - len(set(found)), "lines,", how, *arguments)
            check(sure.issubset(found), "lost:", len(sure.difference(found)), "lines,", how, *arguments)
            check(perhaps.issuperset(found), "invented:", len(set(found) - perhaps), "lines,", how, *arguments)
            are_in(seen, sure)

        # Sometimes a batch is abandoned, and the next one has other lines.
        tries = None if dice.random() < 0.8 else dice.randrange(1, 4)
        story.until_done([*arguments, str(story.write(batch))], after, tries, during=reader)


def are_in(path, lines):
    """Whether a filter answers "present" to all of them."""
    if not lines:
        return
    wanted = text(lines)
    run = subprocess.run([UMBEL, "filter", "query", path, "--quiet"], input=wanted, capture_output=True, check=False)
    check(run.stdout == wanted, "a key is lost:", path, run.returncode, run.stderr.decode(errors="replace"),
          wanted.count(b"\n"), run.stdout.count(b"\n"))


def filters(story):
    """A filter that is built, added to, merged, packed and patched never loses a key."""
    dice = story.dice
    universe = int(10 ** dice.uniform(2, 5.3))
    kind = dice.choice(["blocked", "classic", "sliced", "counting", "scalable", "coded"])
    keys = [] if kind == "scalable" else ["--keys", str(3 * universe)]
    names = {name: story.disk / name for name in ("one", "two", "change", "new")}
    one = names["one"]
    recorded = set()

    def kept(_=None):
        if one.exists():
            are_in(one, recorded)

    def build(path, lines):
        before = path.read_bytes() if path.exists() else None

        def after(how):
            if how != "done":
                found = path.read_bytes() if path.exists() else None
                if found != before:
                    are_in(path, lines)

        story.until_done(["filter", "build", "--kind", kind, *keys, "-f", "-o", str(path), str(story.write(lines))], after)

    recorded = set(story.lines(100_000, universe))
    build(one, list(recorded))
    for _ in range(dice.randrange(1, 8)):
        count("jobs")
        more = story.lines(100_000, universe)
        match dice.choice(["add", "merge", "pack", "patch", "build"]):
            case "add":
                story.until_done(["filter", "add", str(one), str(story.write(more))], kept)
                recorded.update(more)
            case "merge" if kind not in ("scalable", "coded"):
                build(names["two"], more)
                story.until_done(["filter", "merge", "-f", "-o", str(one), str(one), str(names["two"])], kept)
                recorded.update(more)
            case "pack":
                story.until_done(["filter", "pack", str(one), "-f", "-o", str(names["change"])])
                story.until_done(["filter", "unpack", str(names["change"]), "-f", "-o", str(one)], kept)
            case "patch" if kind not in ("scalable", "coded"):
                shutil.copy(one, story.inputs / "old")
                story.until_done(["filter", "add", str(one), str(story.write(more))], kept)
                recorded.update(more)
                story.until_done(["filter", "delta", str(story.inputs / "old"), str(one), "-f", "-o", str(names["change"])])
                story.until_done(["filter", "patch", str(story.inputs / "old"), str(names["change"]), "-f", "-o", str(one)], kept)
            case "build":
                build(one, more)
                recorded = set(more)
        kept()


def index(story):
    """An updated index finds the same as a search of every line."""
    dice = story.dice
    folder = story.inputs / "texts"
    folder.mkdir()
    place = story.disk / "index"

    def change(name):
        words = [b"w%d" % dice.randrange(20_000) for _ in range(int(10 ** dice.uniform(1, 5)))]
        lines = [b" ".join(words[i:i + 8]) for i in range(0, len(words), 8)]
        # This also changes the modification time.
        path = folder / name
        path.unlink(missing_ok=True)
        path.write_bytes(text(lines))

    def compare(_=None):
        if not place.exists():
            return
        for word in (b"w%d" % dice.randrange(20_000) for _ in range(3)):
            wanted = [b"%s:%d:%s\n" % (os.fsencode(path), number, line)
                      for path in sorted(folder.iterdir())
                      for number, line in enumerate(path.read_bytes().splitlines(), 1)
                      if word in line.split()]
            run = subprocess.run([UMBEL, "find", place, word, "--quiet"], capture_output=True, check=False)
            check(run.returncode == (0 if wanted else 1) and run.stdout == b"".join(wanted), "not what a search finds:", word,
                  run.returncode, run.stderr.decode(errors="replace"), len(wanted), run.stdout.count(b"\n"))

    for number in range(dice.randrange(1, 12)):
        change(f"{number}")
    count("jobs")
    story.until_done(["index", str(folder), "-f", "-o", str(place)], compare)
    for _ in range(dice.randrange(0, 5)):
        count("jobs")
        for _ in range(dice.randrange(0, 4)):
            change(f"{dice.randrange(20)}")
        story.until_done(["index", "--update", str(place)], compare)


def fill():
    """Fills the disk and empties it, at random."""
    dice = random.Random(SEED)
    path = DISK / "ballast"
    while time.monotonic() < END:
        time.sleep(dice.uniform(0.5, 6))
        left = int(10 ** dice.uniform(0, 7))
        try:
            with open(path, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, max(free() - left, 1))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        count("times full")
        time.sleep(dice.uniform(0.05, 2))
        path.unlink(missing_ok=True)


def work(worker):
    number = 0
    while time.monotonic() < END:
        number += 1
        seed = f"{SEED}.{worker}.{number}"
        story = None
        try:
            story = Story(seed)
            what = story.dice.choice([sets, sets, join, unseen, unseen, filters, index])
            what(story)
            count("stories")
        except Exception as error:  # pylint: disable=broad-exception-caught
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                # The disk was full for this script as well.
                count("given up")
                continue
            with lock:
                differences.append(seed)
            print(f"{seed}: {type(error).__name__}: {error}", flush=True)
            if story:
                kept = Path(tempfile.gettempdir()) / f"soak-difference-{seed}"
                shutil.copytree(story.disk, kept, dirs_exist_ok=True)
        finally:
            if story:
                story.close()


def report():
    with lock:
        print(f"{MINUTES - max(END - time.monotonic(), 0) / 60:.0f} minutes:",
              ", ".join(f"{what} {number:,}" for what, number in sorted(tally.items())) + ",",
              "differences", len(differences), flush=True)


def main():
    threads = [threading.Thread(target=work, args=[worker]) for worker in range(WORKERS)]
    threads.append(threading.Thread(target=fill))
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for thread in threads:
            thread.join(300 / len(threads))
        report()
    sys.exit(bool(differences))


main()
