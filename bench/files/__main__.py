"""Jobs of `umbel` over whole files next to `wc -l` and peers, as whole commands.

Makes or reuses the data, checks the answers once, then runs every command once per round, in a different order each round,
and prints Markdown tables of time, CPU and peak memory. README.md in the parent folder explains each figure. Python
3.10 or later on Linux, standard library only.
"""

import argparse
import fcntl
import os
import pathlib
import sys

import growth
import jobs
import joins
import report
from data import BENCH
from run import Failure, clear, note

JOBS = ["common", "except", "dedup", "many", "join", "diff", "sorted", "growth"]
CASES = ["umbel", "wc", "floor", "sort", "duckdb", "polars", "clickhouse", "qsv", "zet", "huniq", "runiq"]


def main():
    options = parse()
    # Every command has the same CPUs, however many the machine has and whatever the command would take.
    cpus = sorted(os.sched_getaffinity(0))[: options.threads]
    os.sched_setaffinity(0, cpus)
    os.environ["LC_ALL"] = "C"
    tmp = options.data / "tmp"
    tmp.mkdir(parents=True, exist_ok=True)
    os.environ["TMPDIR"] = str(tmp)
    lock = open(options.data / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Failure(f"{options.data}: another bench works in this folder; wait for it, or name another") from error
    clear(tmp)
    if "umbel" in options.cases and not os.access(options.umbel, os.X_OK):
        raise Failure(f"{options.umbel}: no such program; run `cargo build --release`, or name one with --umbel")

    about = report.describe(options, cpus)
    record = report.Record(about) if options.record else None
    print(report.heading(about), flush=True)
    done = []
    for name in options.jobs:
        measured = run_job(name, options, tmp)
        done += measured
        tables = report.growth_tables(measured, about) if name == "growth" else None
        print(tables or "\n".join(report.table(job, about) for job in measured), flush=True)
        for job in measured if record else []:
            record.job(job)
    if record:
        record.write({"type": "end"})
        note(f"recorded in {record.path}")
    return 1 if any(case.failed and case.cap for job in done for case in job.cases) else 0


def run_job(name, options, tmp):
    if name == "growth":
        return growth.run(options, tmp)
    makers = {"dedup": jobs.dedup, "many": jobs.many, "join": joins.joins, "diff": joins.diff, "sorted": joins.sorted_files}
    made = makers[name](options, tmp) if name in makers else jobs.sets(name, options, tmp)
    made = made if isinstance(made, list) else [made]
    for job in made:
        if not options.no_check:
            job.check(tmp)
        job.run_rounds(options.runs, tmp)
    return made


def parse():
    parser = argparse.ArgumentParser(
        prog="files", description="umbel's jobs over whole files beside wc -l and peers: lines of 66 bytes, 40 million a job."
    )
    parser.add_argument("--data", type=pathlib.Path, required=True, metavar="DIR",
                        help="where the files, the peers and temporary files live; kept and reused (30 GB at full size)")
    parser.add_argument("--umbel", type=pathlib.Path, default=BENCH.parent / "target" / "release" / "umbel", metavar="PATH",
                        help="the binary under measurement (default: target/release/umbel)")
    parser.add_argument("--jobs", default="common,except,dedup,many,join,diff,sorted", metavar="LIST",
                        help=f"some of {','.join(JOBS)} (default: all but growth, which takes longest)")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="rounds (default: 5)")
    parser.add_argument("--scale", type=float, default=1.0, metavar="X",
                        help="times the size, for a try: 0.01 is 2 x 200,000 lines (default: 1)")
    parser.add_argument("--threads", type=int, default=2, metavar="N",
                        help="CPUs every command is held to, and DuckDB's threads (default: 2)")
    parser.add_argument("--cases", default=",".join(CASES), metavar="LIST",
                        help=f"which commands to run (default: {','.join(CASES)})")
    parser.add_argument("--qsv", type=pathlib.Path, metavar="PATH",
                        help="the program of qsv, with its feature polars (default: qsv is left out)")
    parser.add_argument("--keep", action="store_true", help="keep the files of growth, which are else deleted after use")
    parser.add_argument("--no-check", action="store_true", help="skip the check of the answers")
    parser.add_argument("--record", action="store_true", help="keep the raw results, dated, under bench/record/")
    options = parser.parse_args()
    options.data = options.data.resolve()
    options.umbel = options.umbel.resolve()
    options.qsv = options.qsv and options.qsv.resolve()
    for name, known in (("jobs", JOBS), ("cases", CASES)):
        words = getattr(options, name).split(",")
        setattr(options, name, words)
        if unknown := set(words) - set(known):
            parser.error(f"--{name}: expected some of {','.join(known)}, found {', '.join(sorted(unknown))}")
    if options.qsv is None:
        options.cases = [case for case in options.cases if case != "qsv"]
    if options.runs < 1 or options.threads < 1 or not 0 < options.scale * jobs.LINES < 2**40:
        parser.error("--runs and --threads begin at 1, and --scale is above 0")
    return options


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        note(failure)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
