"""`umbel common A B` beside `wc -l` and DuckDB, as whole commands over the same two files.

Makes or reuses the data, checks the answers once, then runs every command once a round, in another order each round, and
prints a Markdown table of time, CPU and peak memory. README.md above this folder tells what each figure means. Python
3.10 or later on Linux, standard library only.
"""

import argparse
import dataclasses
import datetime
import filecmp
import json
import os
import pathlib
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import time

BENCH = pathlib.Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
DUCKDB = BENCH / "peers" / "duckdb"

LINES, SHARED, SEED, LINE_BYTES = 20_000_000, 2_000_000, 1, 66
CAPS = ["64MiB", "256MiB", "4GiB"]
DUCKDB_MEMORY = ["8GB", "1GB"]
# What a process may use beyond --memory: code, stacks, the allocator's own.
ALLOWANCE_MIB = 32
# The project's goals, for this cap.
GOAL_CAP, GOAL_WC, GOAL_DUCKDB = "256MiB", 6, 8


class Failure(Exception):
    """Something that ends the bench, in words for the person who ran it."""


@dataclasses.dataclass
class Case:
    """A command under measurement. `argv` takes the file its answer goes to; None where stdout is the answer."""

    kind: str
    name: str
    argv: object
    cap: str | None = None
    samples: dict = dataclasses.field(default_factory=dict)
    failed: str | None = None


@dataclasses.dataclass
class Data:
    """Two files with a known overlap, and what belongs to them."""

    a: pathlib.Path
    b: pathlib.Path
    expected: pathlib.Path
    tmp: pathlib.Path
    lines: int
    shared: int


def main():
    options = parse()
    # Every command has the same CPUs, however many the machine has and whatever the command would take.
    cpus = sorted(os.sched_getaffinity(0))[: options.threads]
    os.sched_setaffinity(0, cpus)
    os.environ["LC_ALL"] = "C"

    data = prepare_data(options)
    os.environ["TMPDIR"] = str(data.tmp)
    cases = choose_cases(options, data)
    about = describe(options, data, cpus, cases)

    if not options.no_check:
        check_answers(cases, data)
    clear(data.tmp)
    for case in cases:
        if case.kind == "wc":
            measure(case.argv(os.devnull))  # both files into the page cache
    run_rounds(cases, options.runs, data)

    print(report(cases, about))
    if options.record:
        note(f"recorded in {record(cases, about)}")
    return 1 if any(case.failed and case.kind == "umbel" for case in cases) else 0


def parse():
    parser = argparse.ArgumentParser(
        description="umbel common beside wc -l and DuckDB, over two files of 20 million lines of 66 bytes."
    )
    parser.add_argument("--data", type=pathlib.Path, required=True, metavar="DIR",
                        help="where the files, the peers and temporary files live; kept and reused (8 GB at full size)")
    parser.add_argument("--umbel", type=pathlib.Path, default=ROOT / "target" / "release" / "umbel", metavar="PATH",
                        help="the binary under measurement (default: target/release/umbel)")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="rounds (default: 5)")
    parser.add_argument("--scale", type=float, default=1.0, metavar="X",
                        help="times the size, for a try: 0.01 is 2 x 200,000 lines (default: 1)")
    parser.add_argument("--threads", type=int, default=2, metavar="N",
                        help="CPUs every command is held to, and DuckDB's threads (default: 2)")
    parser.add_argument("--cases", default="umbel,wc,duckdb", metavar="LIST",
                        help="which commands to run (default: umbel,wc,duckdb)")
    parser.add_argument("--no-check", action="store_true", help="skip the check of the answers")
    parser.add_argument("--record", action="store_true", help="keep the raw results, dated, under bench/record/")
    options = parser.parse_args()
    options.data = options.data.resolve()
    options.umbel = options.umbel.resolve()
    options.cases = options.cases.split(",")
    if unknown := set(options.cases) - {"umbel", "wc", "duckdb"}:
        parser.error(f"--cases: expected umbel, wc or duckdb, found {', '.join(sorted(unknown))}")
    if options.runs < 1 or options.threads < 1 or not 0 < options.scale * LINES < 2**40:
        parser.error("--runs and --threads begin at 1, and --scale is above 0")
    return options


# Data and peers


def prepare_data(options):
    """The two files under --data, made when they are missing or of another size."""
    lines, shared = max(1, round(LINES * options.scale)), round(SHARED * options.scale)
    home = options.data / f"urls-{lines}-shared-{shared}-seed-{SEED}"
    tmp = options.data / "tmp"
    home.mkdir(parents=True, exist_ok=True)
    tmp.mkdir(exist_ok=True)
    data = Data(home / "a.txt", home / "b.txt", home / "common.sorted", tmp, lines, shared)

    whole = lines * (LINE_BYTES + 1)
    if not all(path.exists() and path.stat().st_size == whole for path in (data.a, data.b)):
        note(f"making {data.a} and {data.b}")
        data.expected.unlink(missing_ok=True)
        parts = [path.with_suffix(".part") for path in (data.a, data.b)]
        run_or_fail([
            "cargo", "run", "--quiet", "--release", "--manifest-path", BENCH / "Cargo.toml", "--bin", "gen-lines", "--",
            "urls", "--lines", lines, "--shared", shared, "--out-a", parts[0], "--out-b", parts[1], "--seed", SEED,
        ])
        for part, path in zip(parts, (data.a, data.b)):
            part.replace(path)
    return data


def duckdb_python(home):
    """The interpreter of a virtual environment that holds the pinned DuckDB, made when it is missing."""
    pinned = (DUCKDB / "requirements.txt").read_text().strip().removeprefix("duckdb==")
    python = home / "venv" / "bin" / "python"
    asks = [python, "-c", "import duckdb; print(duckdb.__version__)"]
    if not python.exists() or output_of(asks) != pinned:
        note(f"installing duckdb {pinned} into {home / 'venv'}")
        run_or_fail([sys.executable, "-m", "venv", home / "venv"])
        run_or_fail([python, "-m", "pip", "install", "--quiet", "-r", DUCKDB / "requirements.txt"])
        if (found := output_of(asks)) != pinned:
            raise Failure(f"{home / 'venv'}: expected duckdb {pinned}, found {found}; remove the folder and run again")
    return python


def choose_cases(options, data):
    cases = []
    if "umbel" in options.cases:
        if not os.access(options.umbel, os.X_OK):
            raise Failure(f"{options.umbel}: no such program; run `cargo build --release`, or name one with --umbel")
        for cap in CAPS:
            argv = [options.umbel, "common", data.a, data.b, "--memory", cap]
            cases.append(Case("umbel", f"umbel common, --memory {cap}", lambda out, argv=argv: argv, cap))
    if "wc" in options.cases:
        cases.append(Case("wc", "wc -l", lambda out: ["wc", "-l", data.a, data.b]))
    if "duckdb" in options.cases:
        python = duckdb_python(options.data)
        for memory in DUCKDB_MEMORY:
            argv = [python, DUCKDB / "common.py", data.a, data.b, "--memory", memory, "--threads", options.threads,
                    "--tmp", data.tmp / "duckdb", "--expect", data.shared, "--out"]
            cases.append(Case("duckdb", f"DuckDB, memory_limit {memory}", lambda out, argv=argv: [*argv, out]))
    return cases


# The check


def check_answers(cases, data):
    """Holds every answer against sort and comm; for umbel also its order, and that the cap changes no byte."""
    if not data.expected.exists():
        note("the expected answer, by sort and comm")
        part = data.expected.with_suffix(".part")
        run_or_fail(["bash", "-c", 'set -e; sort -u "$1" > "$3/a"; sort -u "$2" > "$3/b"; comm -12 "$3/a" "$3/b" > "$4"; '
                     'rm "$3/a" "$3/b"', "-", data.a, data.b, data.tmp, part])
        part.replace(data.expected)
    if (count := data.expected.stat().st_size // (LINE_BYTES + 1)) != data.shared:
        raise Failure(f"{data.expected}: the generator promised {data.shared} common lines, sort and comm find {count}")

    first = None
    for case in cases:
        if case.kind == "wc":
            continue
        note(f"checking {case.name}")
        answer = data.tmp / f"answer-{case.kind}-{case.cap}"
        to_stdout = case.kind == "umbel"
        sample = measure(case.argv(answer), stdout=answer if to_stdout else os.devnull)
        if not succeeded(case, sample, data):
            case.failed = why(sample)
            note(f"{case.name} failed: {case.failed}")
        elif to_stdout and first is not None:
            if not filecmp.cmp(first, answer, shallow=False):
                raise Failure(f"{case.name}: the answer differs from that under another cap; see {first} and {answer}")
        else:
            # No -u: a line that came out twice is a wrong answer.
            in_order = data.tmp / "answer-sorted"
            run_or_fail(["sort", "-o", in_order, answer])
            if not filecmp.cmp(in_order, data.expected, shallow=False):
                raise Failure(f"{case.name}: the answer is not that of sort and comm; see {in_order} and {data.expected}")
            in_order.unlink()
            if to_stdout:
                if not is_subsequence(answer, data.a):
                    raise Failure(f"{case.name}: the lines are right, but not in the order of {data.a}; see {answer}")
                first = answer
                continue
        answer.unlink(missing_ok=True)
    if first is not None:
        first.unlink()


def is_subsequence(few, many):
    """Whether the lines of `few` stand in `many` in that order. The lines of `many` are distinct."""
    with open(few, "rb") as few, open(many, "rb") as many:
        wanted = next(few, None)
        for line in many:
            if line == wanted:
                wanted = next(few, None)
        return wanted is None


# Measuring


def measure(argv, stdout=os.devnull):
    """Runs one command to its end: wall time from outside, CPU time and peak memory from the system's account of it."""
    argv = [str(word) for word in argv]
    # What an earlier command wrote must not be written back during this one.
    os.sync()
    with open(stdout, "wb") as out, open(os.environ["TMPDIR"] + "/stderr", "w+b") as err:
        busy = busy_seconds()
        begin = time.perf_counter()
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begin
        busy = busy_seconds() - busy
        child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        words = err.read().decode(errors="replace").strip()
    os.unlink(os.environ["TMPDIR"] + "/stderr")
    return {
        "wall_s": wall,
        "user_s": usage.ru_utime,
        "sys_s": usage.ru_stime,
        # To a few hundredths: the system counts the whole machine in ticks.
        "others_cpu_s": max(0.0, busy - usage.ru_utime - usage.ru_stime),
        "peak_kib": usage.ru_maxrss,
        "read_bytes": usage.ru_inblock * 512,
        "written_bytes": usage.ru_oublock * 512,
        "exit": child.returncode,
        "stderr": words[-2000:],
    }


def busy_seconds():
    """CPU time that the whole machine has spent on anything, other guests of its host included ("steal")."""
    with open("/proc/stat") as file:
        user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def run_rounds(cases, rounds, data):
    for number in range(rounds):
        # Turned by one each round, so that no command always follows the same one.
        turn = number % len(cases)
        for case in cases[turn:] + cases[:turn]:
            if case.failed:
                continue
            sample = measure(case.argv(os.devnull))
            sample["left_behind"] = clear(data.tmp)
            if succeeded(case, sample, data):
                case.samples[number] = sample
                note(f"round {number + 1}/{rounds}: {case.name}: {sample['wall_s']:.2f} s")
            else:
                case.failed = why(sample)
                note(f"round {number + 1}/{rounds}: {case.name} failed: {case.failed}")


def succeeded(case, sample, data):
    """Exit 0; or umbel's 1, which says that nothing was found, where nothing was to be found."""
    return sample["exit"] == (1 if case.kind == "umbel" and data.shared == 0 else 0)


def why(sample):
    last = sample["stderr"].splitlines()[-1:] or ["no message"]
    return f"exit {sample['exit']}: {last[0]}"


def clear(folder):
    """Empties the folder for temporary files; gives the number of entries a command left in it."""
    left = 0
    for entry in folder.iterdir():
        left += 1
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    return left


# Telling


def describe(options, data, cpus, cases):
    """What a number needs beside it: machine, versions, commit, data, time."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    commit = output_of(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"])
    if commit and output_of(["git", "-C", ROOT, "status", "--porcelain"]):
        commit += " and changes not committed"
    kinds = {case.kind for case in cases}
    return {
        "type": "about",
        "bench": "files",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "cpu": cpu_name(),
        "cpus": len(cpus),
        "cpus_of_machine": os.cpu_count(),
        "memory_bytes": memory,
        "kernel": f"{platform.system()} {platform.release()}",
        "commit": commit,
        "rustc": output_of(["rustc", "--version"]),
        "umbel": output_of([options.umbel, "--version"]) if "umbel" in kinds else None,
        "wc": (output_of(["wc", "--version"]) or "wc").splitlines()[0],
        "duckdb": (DUCKDB / "requirements.txt").read_text().strip() if "duckdb" in kinds else None,
        "python": platform.python_version(),
        "lines": data.lines,
        "shared": data.shared,
        "file_bytes": data.a.stat().st_size,
        "seed": SEED,
        "rounds": options.runs,
        "checked": not options.no_check,
        # A child begins as a copy of this process, and the system counts that as its first peak.
        "peak_floor_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


def report(cases, about):
    wc = next((case for case in cases if case.kind == "wc"), None)
    peers = [case for case in cases if case.kind == "duckdb"]
    text = [
        f"Two files of {about['lines']:,} lines, {about['file_bytes']:,} bytes each, {about['shared']:,} lines in both; "
        f"{about['rounds']} rounds, files in the page cache; answers {'checked' if about['checked'] else 'not checked'}.",
        f"{about['cpu']}, {about['cpus']} of {about['cpus_of_machine']} CPUs, {about['memory_bytes'] / 2**30:.0f} GiB; "
        f"{about['kernel']}; {about['date']}. Others took {others(cases, about):.0%} of the CPUs meanwhile.",
        ", ".join(filter(None, [about["umbel"], about["commit"] and f"commit {about['commit']}", about["rustc"],
                                about["wc"], about["duckdb"]])) + ".",
        "",
        "| command | median s | min | max | CPU s | ÷ wc | best DuckDB ÷ this | peak MiB | cap + 32 MiB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for case in cases:
        if case.failed or not case.samples:
            text.append(f"| {case.name} | failed: {(case.failed or 'never ran').replace('|', '/')} | | | | | | | |")
            continue
        walls = [sample["wall_s"] for sample in case.samples.values()]
        cpu = statistics.median(sample["user_s"] + sample["sys_s"] for sample in case.samples.values())
        peak = max(sample["peak_kib"] for sample in case.samples.values())
        # Within a MiB of the floor, the figure may be this script's own.
        shown = f"{peak / 1024:.0f}" if peak > about["peak_floor_kib"] + 1024 else f"≤ {peak / 1024:.0f}"
        text.append(
            f"| {case.name} | {statistics.median(walls):.2f} | {min(walls):.2f} | {max(walls):.2f} | {cpu:.2f} "
            f"| {spread(over_wc(case, wc))} | {spread(under_duckdb(case, peers))} | {shown} | {cap_kept(case, peak)} |"
        )
    text.append("")
    if about["lines"] == LINES:
        text += goals(cases, wc, peers)
    for case in cases:
        if left := sum(sample["left_behind"] > 0 for sample in case.samples.values()):
            text.append(f"{case.name}: left temporary files behind in {left} of {len(case.samples)} runs.")
    return "\n".join(text).rstrip()


def others(cases, about):
    """The share of the machine's CPU time that went to anything but the command under measurement."""
    samples = [sample for case in cases for sample in case.samples.values()]
    wall = sum(sample["wall_s"] for sample in samples) * about["cpus_of_machine"]
    return sum(sample["others_cpu_s"] for sample in samples) / wall if wall else 0.0


def over_wc(case, wc):
    """The case's time over wc's, in each round that has both."""
    if wc is None or case is wc:
        return []
    return [sample["wall_s"] / wc.samples[number]["wall_s"]
            for number, sample in case.samples.items() if number in wc.samples]


def under_duckdb(case, peers):
    """The time of the round's fastest DuckDB over the case's, in each round that has both."""
    if case.kind != "umbel":
        return []
    ratios = []
    for number, sample in case.samples.items():
        if walls := [peer.samples[number]["wall_s"] for peer in peers if number in peer.samples]:
            ratios.append(min(walls) / sample["wall_s"])
    return ratios


def spread(ratios):
    if not ratios:
        return ""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


def cap_mib(cap):
    return int(cap[:-3]) * {"MiB": 1, "GiB": 1024}[cap[-3:]]


def cap_kept(case, peak_kib):
    if case.cap is None:
        return ""
    bound = cap_mib(case.cap) + ALLOWANCE_MIB
    return f"{bound}: {'met' if peak_kib <= bound * 1024 else 'not met'}"


def goals(cases, wc, peers):
    """The project's goals for one cap, by the median of the ratios. They hold for the full size."""
    case = next((case for case in cases if case.cap == GOAL_CAP), None)
    if case is None or not case.samples:
        return
    if ratios := over_wc(case, wc):
        ratio = statistics.median(ratios)
        yield f"Goal at {GOAL_CAP}, at most {GOAL_WC} × wc: {ratio:.2f}, {'met' if ratio <= GOAL_WC else 'not met'}."
    if ratios := under_duckdb(case, peers):
        ratio = statistics.median(ratios)
        yield (f"Goal at {GOAL_CAP}, at least {GOAL_DUCKDB} × as fast as the best DuckDB: {ratio:.2f}, "
               f"{'met' if ratio >= GOAL_DUCKDB else 'not met'}.")


def record(cases, about):
    """One JSON object a line: what was measured and where, then every sample. Paths of the machine stay out."""
    folder = BENCH / "record"
    folder.mkdir(exist_ok=True)
    stamp = about["date"].replace("-", "").replace(":", "").replace("+0000", "Z")
    path = folder / f"files-{stamp}.jsonl"
    with open(path, "x") as file:
        file.write(json.dumps(about) + "\n")
        for case in cases:
            for number, sample in case.samples.items():
                kept = {key: value for key, value in sample.items() if key != "stderr"}
                file.write(json.dumps({"type": "sample", "command": case.name, "round": number + 1, **kept}) + "\n")
            if case.failed:
                file.write(json.dumps({"type": "failure", "command": case.name}) + "\n")
    return path


def cpu_name():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


# Other commands, unmeasured


def run_or_fail(argv):
    argv = [str(word) for word in argv]
    try:
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise Failure(f"{argv[0]}: no such program; install it") from error
    except subprocess.CalledProcessError as error:
        raise Failure(f"{' '.join(argv[:4])} …: exit {error.returncode}") from error


def output_of(argv):
    """What the command says, or None when it cannot."""
    try:
        done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def note(words):
    print(f"bench files: {words}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        note(failure)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
