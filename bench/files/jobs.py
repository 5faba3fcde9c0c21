"""The jobs over whole files: their commands, their right answers, their goals."""

import dataclasses
import filecmp
import math
import os
import pathlib

from data import ENGINES, Data, crate, engine_python, has_size, lines_of, made, urls
from run import Failure, clear, measure, note, run_or_fail, shell, why

LINES, SHARED = 20_000_000, 2_000_000
SET_CAPS = ["64MiB", "256MiB", "4GiB"]
# The most multiples of the floor's time, by cap.
SET_GOALS = {"common": {"64MiB": 2, "256MiB": 1.2}, "except": {"256MiB": 1.2}}
# Bits per line in the filter of the floor: as in a blocked filter at 0.5 %, and at 1e-6.
FLOOR_BITS, FLOOR_BITS_FPP = 12, 39
DEDUP_CAPS, DEDUP_GOAL_CAP = ["64MiB", "568MiB"], "568MiB"
# Files and the bytes of each, for many small inputs.
MANY_FILES, MANY_BYTES = 1000, 500_000
DEDUP_FPP = "1e-6"
# How the tables call the table engines, and their limits on memory.
ENGINE_LIMITS = {"duckdb": ("DuckDB", ["8GB", "1GB"]), "polars": ("Polars", [None]), "clickhouse": ("ClickHouse", ["8GB"])}
# Those, and programs for lines and CSV, as kinds of cases.
PEERS = {"duckdb": "best DuckDB", "polars": "Polars", "clickhouse": "ClickHouse", "qsv": "qsv", "zet": "zet"}
# What a process may use beyond --memory: code, stacks, the allocator's own.
ALLOWANCE_MIB = 32

# Replaced in a command by the file for its answer, if that is not stdout.
OUT = object()


@dataclasses.dataclass
class Case:
    """A command under measurement."""

    kind: str
    name: str
    argv: list
    # Lines of the right answer; None where the answer is something else.
    answer_lines: int | None = None
    stdin: pathlib.Path | str = os.devnull
    cap: str | None = None
    # The rate of lines it may leave out; None: the answer is exact.
    fpp: float | None = None
    # Its answer is written to a file on disk rather than discarded.
    written: bool = False
    # So slow that one round has to do.
    once: bool = False
    samples: dict = dataclasses.field(default_factory=dict)
    failed: str | None = None
    left_out: int | None = None

    def run(self, out=os.devnull):
        argv = [out if word is OUT else word for word in self.argv]
        return measure(argv, self.stdin, os.devnull if OUT in self.argv else out)


@dataclasses.dataclass
class Goal:
    """At most `bound` times the time of `wc` or of the floor; at least `bound` times as fast as another kind; or within the cap."""

    case: str
    against: str
    bound: float = 0


@dataclasses.dataclass
class Job:
    name: str
    told: str
    data: Data
    # What must be in the page cache.
    inputs: list
    cases: list
    # Kinds that umbel is compared to, and how the table calls them.
    rivals: dict
    goals: list

    @property
    def lines(self):
        """Of all inputs together."""
        return 2 * self.data.lines

    @property
    def file_bytes(self):
        return 2 * self.data.file_bytes

    def check(self, tmp):
        """Holds every answer against one that sort and comm made, before anything is timed."""
        expected = self.expected(tmp)
        for case in self.cases:
            if case.answer_lines is None:
                continue
            if (count := lines_of(expected)) != case.answer_lines:
                raise Failure(f"{expected}: the generator promised {case.answer_lines} lines, here are {count:.0f}")
            note(f"checking {case.name}")
            answer = tmp / "answer"
            sample = case.run(answer)
            if succeeded(case, sample):
                self.verdict(case, answer, expected, tmp)
            else:
                case.failed = why(sample)
                note(f"{case.name} failed: {case.failed}")
            answer.unlink(missing_ok=True)
        clear(tmp)

    def run_rounds(self, rounds, tmp):
        clear(tmp)
        measure(["cat", *self.inputs])  # into the page cache
        for number in range(rounds):
            # Rotated by one each round: a command does not always follow the same one.
            turn = number % len(self.cases)
            for case in self.cases[turn:] + self.cases[:turn]:
                if case.failed or (case.once and number):
                    continue
                sample = case.run(tmp / "written") if case.written else case.run()
                (tmp / "written").unlink(missing_ok=True)
                sample["left_behind"] = clear(tmp)
                if succeeded(case, sample):
                    case.samples[number] = sample
                    note(f"round {number + 1}/{rounds}: {case.name}: {sample['wall_s']:.2f} s")
                else:
                    case.failed = why(sample)
                    note(f"round {number + 1}/{rounds}: {case.name} failed: {case.failed}")


def succeeded(case, sample):
    """Exit 0; or umbel's 1, for no result, where the right result is empty."""
    return sample["exit"] == (1 if case.cap and case.answer_lines == 0 else 0)


def umbel(options, name, files, answer_lines, cap, *more):
    """The case of `umbel NAME FILES --memory CAP MORE`."""
    shown = ", ".join([f"umbel {name}", f"--memory {cap}", *(" ".join(more[at:at + 2]) for at in range(0, len(more), 2))])
    return Case("umbel", shown, [options.umbel, name, *files, "--memory", cap, *more], answer_lines, cap=cap)


def to_file(options, name, files, answer_lines, cap):
    """The same, with the answer written to a file."""
    case = umbel(options, name, files, answer_lines, cap)
    case.argv += ["--output", OUT]
    return dataclasses.replace(case, name=f"{case.name}, to a file", kind="umbel to a file", written=True)


def one_thread(options, name, files, answer_lines, cap):
    """The same, on one thread."""
    return dataclasses.replace(umbel(options, name, files, answer_lines, cap, "--threads", "1"), kind="one")


def engines(options, operation, files, answer_lines, more=(), cap=None, **form):
    """A job by each table engine, under each of its limits, and by DuckDB also under umbel's `cap`."""
    cases = []
    for kind, (name, limits) in ENGINE_LIMITS.items():
        if kind not in options.cases:
            continue
        for limit in dict.fromkeys([*limits, cap] if kind == "duckdb" and cap else limits):
            argv = [engine_python(options.data), ENGINES / "job.py", kind, operation, *files, "--threads", options.threads,
                    "--tmp", options.data / "tmp" / kind, "--out", OUT, *more, *(["--memory", limit] if limit else [])]
            limited = {"duckdb": f", memory_limit {limit}", "clickhouse": f", max_memory_usage {limit}"}.get(kind, "")
            cases.append(Case(f"{kind} at the cap" if cap and limit == cap else kind, name + limited, argv, answer_lines, **form))
    return cases


def program(options, kind, name, argv, answer_lines, **form):
    """A job by a program from crates.io, or by qsv, if it is selected."""
    if kind not in options.cases:
        return []
    # Otherwise qsv reads no .txt.
    called = ["env", "QSV_SKIP_FORMAT_CHECK=1", options.qsv] if kind == "qsv" else [crate(options.data, kind)]
    return [Case(kind, name, [*called, *argv], answer_lines, **form)]


def by_sort(name, script, files, tmp):
    """A shell script of sort and comm that writes its answer to its last argument."""
    argv = ["bash", "-c", script, "-", *files, tmp, OUT]
    return Case("sort", name, argv, written=True, once=True)


def wc(files):
    return Case("wc", "wc -l", ["wc", "-l", *files])


def floor(options, passes, lines, bits=FLOOR_BITS, kind="floor"):
    """The least that any program does which makes these passes over files of lines, with a filter of `lines` lines."""
    binary = options.data / "floor"
    run_or_fail(["cc", "-O3", "-march=native", "-pthread", pathlib.Path(__file__).with_name("floor.c"), "-o", binary])
    name = f"the floor, {len(passes)} pass{'es' if len(passes) > 1 else ''}"
    return Case(kind, name, [binary, options.threads, lines * bits // 8, *passes])


# Two files: common, except


class Sets(Job):
    """`umbel common` or `umbel except`: lines that are in another file, or are not."""

    def expected(self, tmp):
        path = self.data.home / f"{self.name}.sorted"
        if not path.exists():
            columns = {"common": "-12", "except": "-23"}[self.name]
            script = 'sort -u "$1" > "$3/a"; sort -u "$2" > "$3/b"; comm "$4" "$3/a" "$3/b" > "$5"; rm "$3/a" "$3/b"'
            made(path, script, self.data.a, self.data.b, tmp, columns)
        return path

    def verdict(self, case, answer, expected, tmp):
        """As a sorted file the right one; umbel's also in the order of A, and the same bytes under every cap."""
        if case.cap and (first := tmp / "answer-first").exists():
            if not filecmp.cmp(first, answer, shallow=False):
                raise Failure(f"{case.name}: the answer differs from that under another cap; see {first} and {answer}")
            return
        # No -u: a line that came out twice is a wrong answer.
        in_order = tmp / "answer-sorted"
        run_or_fail(["sort", "-o", in_order, answer])
        if not filecmp.cmp(in_order, expected, shallow=False):
            raise Failure(f"{case.name}: the answer is not that of sort and comm; see {in_order} and {expected}")
        in_order.unlink()
        if case.cap:
            if not is_subsequence(answer, self.data.a):
                raise Failure(f"{case.name}: the lines are right, but not in the order of {self.data.a}; see {answer}")
            answer.replace(first)


def sets(name, options, tmp):
    data = urls(options.data, *sizes(options))
    data.make()
    files = [data.a, data.b]
    answer_lines = data.shared if name == "common" else data.lines - data.shared
    cases = [umbel(options, name, files, answer_lines, cap) for cap in SET_CAPS] + [wc(files)]
    # A filter of A, the lines of B that are in it, and A's lines that are among those; except keeps none of B's.
    cases.append(floor(options, [data.a, data.b, data.a], data.lines))
    cases += [one_thread(options, name, files, answer_lines, "256MiB"), to_file(options, name, files, answer_lines, "256MiB")]
    script = 'sort -u "$1" > "$3/a"; sort -u "$2" > "$3/b"; comm COLUMNS "$3/a" "$3/b" > "$4"; rm "$3/a" "$3/b"'
    columns = {"common": "-12", "except": "-23"}[name]
    cases.append(by_sort(f"sort -u, comm {columns}, to a file", script.replace("COLUMNS", columns), files, tmp))
    operation = {"common": "intersect", "except": "except"}[name]
    cases += engines(options, operation, files, answer_lines)
    cases += [dataclasses.replace(case, name=f"{case.name}, to a file", kind="duckdb to a file", answer_lines=None, samples={},
                                  written=True, once=True)
              for case in cases if case.kind == "duckdb"]
    # The first column of two files of CSV without header; -v inverts what is excluded.
    exclude = ["exclude", "--no-headers", *(["-v"] if name == "common" else []), "1", data.a, "1", data.b]
    cases += program(options, "qsv", "qsv exclude" + (" -v" if name == "common" else ""), exclude, answer_lines, once=True)
    word = {"common": "intersect", "except": "diff"}[name]
    cases += program(options, "zet", f"zet {word}", [word, *files], answer_lines)
    goals = [Goal(f"umbel {name}, --memory {cap}", "floor", bound) for cap, bound in SET_GOALS[name].items()]
    goal = f"umbel {name}, --memory 256MiB"
    return Sets(
        name=name,
        told=f"Two files of {data.lines:,} lines, {data.file_bytes:,} bytes each, {data.shared:,} lines in both; "
             f"the answer has {answer_lines:,}",
        data=data,
        inputs=files,
        cases=chosen(options, cases),
        rivals=PEERS | {"one": "one thread"},
        goals=[*goals, *(Goal(goal, kind, 4) for kind in ENGINE_LIMITS), Goal(goal, "one", 1.7)],
    )


# One file: dedup


class Dedup(Job):
    """`umbel dedup`: each line where it comes first."""

    def expected(self, tmp):
        """By sort alone, in little memory: of equal lines the one of least number stays, then the numbers give the order."""
        path = self.data.home / "dedup.txt"
        if not path.exists():
            script = "tab=$'\\t'; cat -n \"$1\" | sort -t \"$tab\" -k 2 -s -u -S 1G | sort -n -k 1,1 -s -S 1G | cut -f 2- > \"$2\""
            made(path, script, *self.inputs)
        return path

    def verdict(self, case, answer, expected, tmp):
        """The same bytes; where a rate is allowed, a part of the lines in the same order, with no more left out than that rate."""
        if case.kind in ENGINE_LIMITS:
            in_order, any_order = tmp / "answer-sorted", self.data.home / "dedup.sorted"
            if not any_order.exists():
                made(any_order, 'sort -o "$2" "$1"', expected)
            run_or_fail(["sort", "-o", in_order, answer])
            if not filecmp.cmp(in_order, any_order, shallow=False):
                raise Failure(f"{case.name}: not each line once; see {answer}")
            in_order.unlink()
            return
        if case.fpp is None:
            if not filecmp.cmp(answer, expected, shallow=False):
                raise Failure(f"{case.name}: not the first of each line in their order; see {answer} and {expected}")
            case.left_out = 0
            return
        if not is_subsequence(answer, expected):
            raise Failure(f"{case.name}: not among the first of each line, or in another order; see {answer} and {expected}")
        case.left_out = case.answer_lines - int(lines_of(answer))
        if case.left_out > (most := likely_most(case.answer_lines, case.fpp)):
            raise Failure(f"{case.name}: {case.left_out} of {case.answer_lines} lines are left out, "
                          f"at a rate of {case.fpp} at most {most} may be; see {answer} and {expected}")


def dedup(options, tmp):
    data = urls(options.data, *sizes(options))
    data.make()
    file, answer_lines = data.both(), 2 * data.lines - data.shared
    approximate = umbel(options, "dedup", [file], answer_lines, DEDUP_GOAL_CAP, "--fpp", DEDUP_FPP)
    approximate.fpp = float(DEDUP_FPP)
    cases = [*(umbel(options, "dedup", [file], answer_lines, cap) for cap in DEDUP_CAPS), approximate, wc([file])]
    cases.append(floor(options, [file, file], 2 * data.lines))
    cases.append(floor(options, [file], 2 * data.lines, FLOOR_BITS_FPP, "floor of one pass"))
    cases.append(to_file(options, "dedup", [file], answer_lines, DEDUP_GOAL_CAP))
    cases.append(by_sort("sort -u, to a file", 'sort -u -o "$3" "$1"', [file], tmp))
    if "huniq" in options.cases:
        cases.append(Case("huniq", "huniq", [crate(options.data, "huniq")], answer_lines, stdin=file, once=True))
    if "runiq" in options.cases:
        # It promises no rate: the check counts what it leaves out, whatever that is.
        argv = [crate(options.data, "runiq"), "-f", "compact", file]
        cases.append(Case("runiq", "runiq -f compact", argv, answer_lines, fpp=1.0, once=True))
    cases += engines(options, "distinct", [file], answer_lines)
    cases += program(options, "qsv", "qsv extdedup", ["extdedup", file, OUT], answer_lines, once=True)
    cases += program(options, "zet", "zet union", ["union", file], answer_lines)
    exact = [f"umbel dedup, --memory {cap}" for cap in DEDUP_CAPS]
    return Dedup(
        name="dedup",
        told=f"One file of {2 * data.lines:,} lines, {2 * data.file_bytes:,} bytes; the answer has {answer_lines:,}",
        data=data,
        inputs=[file],
        cases=chosen(options, cases),
        rivals=PEERS | {"huniq": "huniq", "runiq": "runiq compact"},
        goals=[Goal(exact[1], "floor", 1.8), Goal(approximate.name, "floor of one pass", 1.4),
               *(Goal(exact[1], kind, 4) for kind in ENGINE_LIMITS), Goal(exact[1], "huniq", 8),
               *(Goal(name, "cap") for name in exact), Goal(approximate.name, "runiq", 12)],
    )


# Many files: dedup


class Many(Dedup):
    """`umbel dedup` of many small files, next to one file of the same lines."""

    lines = property(lambda self: self.file_bytes // 67)
    file_bytes = property(lambda self: sum(path.stat().st_size for path in self.inputs))

    def expected(self, tmp):
        return self.data.home / "many.txt"


def many(options, tmp):
    data = urls(options.data, *sizes(options))
    data.make()
    folder, whole = data.home / "many", data.home / "many.txt"
    each = MANY_BYTES // 67 * 67
    lines = min(MANY_FILES * each, data.file_bytes) // 67
    if not has_size(whole, 67 * lines):
        shell('rm -rf "$2"; mkdir "$2"; head -c "$4" "$1" | split -a 4 -d -b "$5" - "$2/part"; head -c "$4" "$1" > "$3"',
              data.a, folder, whole, 67 * lines, each)
    files = sorted(folder.iterdir())
    cap = "256MiB"
    one = dataclasses.replace(umbel(options, "dedup", [whole], lines, cap), name="umbel dedup of one file", kind="whole")
    several = dataclasses.replace(umbel(options, "dedup", files, lines, cap), name=f"umbel dedup of {len(files):,} files")
    single = dataclasses.replace(one_thread(options, "dedup", files, lines, cap), name=f"umbel dedup of {len(files):,} files, one thread")
    return Many(
        name="many",
        told=f"{len(files):,} files of {each:,} bytes, {lines:,} distinct lines, and one file of the same lines",
        data=data,
        inputs=files,
        cases=chosen(options, [several, one, single, wc(files)]),
        rivals={"whole": "one file", "one": "one thread"},
        goals=[Goal(several.name, "whole", 1 / 1.15), Goal(several.name, "one", 1.7)],
    )


# What the jobs share


def sizes(options):
    return max(1, round(LINES * options.scale)), round(SHARED * options.scale)


def chosen(options, cases):
    """The selected cases; a name of umbel's also selects its variants."""
    names = {"one": "umbel", "whole": "umbel", "umbel to a file": "umbel", "floor of one pass": "floor", "duckdb to a file": "duckdb",
             "duckdb at the cap": "duckdb", "semi": "umbel", "comm": "sort"}
    return [case for case in cases if names.get(case.kind, case.kind) in options.cases]


def is_subsequence(few, many):
    """Whether the lines of `few` are in `many` in that order. The lines of `many` are distinct."""
    with open(few, "rb") as few, open(many, "rb") as many:
        wanted = next(few, None)
        for line in many:
            if line == wanted:
                wanted = next(few, None)
        return wanted is None


def likely_most(count, rate):
    """The number that a binomial count exceeds with a chance under 1e-9: by its Poisson bound, which is never lower here."""
    mean = count * rate
    if rate >= 1:
        return count
    # Chernoff: P(X ≥ k) ≤ e^(k − mean) (mean / k)^k for k above the mean.
    most = math.ceil(mean)
    while most < count and (most + 1) - mean + (most + 1) * math.log(mean / (most + 1)) > math.log(1e-9):
        most += 1
    return most
