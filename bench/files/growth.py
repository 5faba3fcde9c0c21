"""Time a line of `umbel dedup` and `umbel common` as the files grow: flat while the filter fits the cap, and a curve when not."""

import math
import shutil
import subprocess

from data import LINE_BYTES, urls
from jobs import Job, chosen, succeeded, umbel, wc
from run import Failure, note

# Lines of both files together, and how many times the rounds of --runs: short runs need more for a steady median.
SIZES = {1_000_000: 5, 10_000_000: 1, 20_000_000: 1, 50_000_000: 1, 200_000_000: 1}
SHARED = 1 / 10
# The first holds the filter of every size, the second does not.
FITS, SMALL = "4GiB", "64MiB"
TOLERANCE = 0.2
# With the second cap, a line of the greatest size takes at most this many times as long as one of this size.
CLIFF, FROM = 2.0, 20_000_000


class Size(Job):
    """Both commands over the two files of one size."""

    def check(self, tmp):
        """By number: as many lines and bytes as the generator promises. The other jobs compare the lines themselves."""
        for case in self.cases:
            if case.answer_lines is None:
                continue
            note(f"checking {case.name}, {self.lines:,} lines")
            counted = subprocess.run(
                ["bash", "-c", '"$@" | wc -lc; exit ${PIPESTATUS[0]}', "-", *map(str, case.argv)],
                stdin=subprocess.DEVNULL, capture_output=True, text=True,
            )
            right = case.answer_lines
            if not succeeded(case, {"exit": counted.returncode}):
                case.failed = f"exit {counted.returncode}: {(counted.stderr.splitlines() or ['no message'])[-1]}"
                note(f"{case.name} failed: {case.failed}")
            elif (found := [int(number) for number in counted.stdout.split()]) != [right, right * (LINE_BYTES + 1)]:
                raise Failure(f"{case.name}, {self.lines:,} lines: the answer should have {right} lines "
                              f"and {right * (LINE_BYTES + 1)} bytes, found {found}")


def reference(lines):
    """The size nearest to the geometric middle of the least and the greatest."""
    middle = math.sqrt(min(lines) * max(lines))
    return min(lines, key=lambda size: abs(math.log(size / middle)))


def run(options, tmp):
    """One size after the other: only one at a time uses disk and page cache."""
    parts = []
    for size, times in SIZES.items():
        lines = max(1, round(size * options.scale / 2))
        data = urls(options.data / "growth", lines, round(lines * SHARED))
        parts.append((data, times))
    check_disk(options, [data for data, _ in parts])

    done = []
    for data, times in parts:
        data.make()
        job = size_job(options, data)
        try:
            if not options.no_check:
                job.check(tmp)
            job.run_rounds(options.runs * times, tmp)
        finally:
            if not options.keep:
                shutil.rmtree(data.home)
        done.append(job)
    return done


def size_job(options, data):
    files = [data.a, data.b]
    answers = {"dedup": 2 * data.lines - data.shared, "common": data.shared}
    cases = [umbel(options, name, files, answers[name], cap) for cap in (FITS, SMALL) for name in answers]
    return Size(
        name="growth",
        told="",
        data=data,
        inputs=files,
        cases=chosen(options, [*cases, wc(files)]),
        rivals={},
        goals=[],
    )


def check_disk(options, sizes):
    """Room for the files, and as much again for the temporary files of the largest size."""
    missing = [2 * data.file_bytes for data in sizes if data.missing()]
    files = sum(missing) if options.keep else max(missing, default=0)
    need = files + max(2 * data.file_bytes for data in sizes)
    free = shutil.disk_usage(options.data).free
    note(f"growth needs {need / 1e9:.1f} GB in {options.data}, {free / 1e9:.1f} GB are free")
    if need > free:
        raise Failure(f"{options.data}: growth needs {need / 1e9:.1f} GB for its files and temporary files, "
                      f"{free / 1e9:.1f} GB are free; make room, or lower --scale")
