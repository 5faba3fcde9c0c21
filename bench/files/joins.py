"""Joins of two tables of CSV, whose right answer is known from how their rows are made; and sorted files."""

import dataclasses
import filecmp
import itertools
import os
import pathlib

from jobs import ENGINE_LIMITS, OUT, PEERS, Case, Goal, Job, chosen, engines, program, umbel
from run import Failure, note, run_or_fail, why

ROWS = 10_000_000
# Odd, because multiplication by an odd number modulo 2⁶⁴ repeats no value: the text differs from row to row.
MIX = [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F]


def text(number, side=0):
    return f"{number * MIX[side] % 2**64:016x}"


@dataclasses.dataclass
class Made:
    """Files named `names` in a folder, which are written unless they are there."""

    home: pathlib.Path

    @property
    def paths(self):
        return [self.home / name for name in self.names]

    def make(self):
        self.home.mkdir(parents=True, exist_ok=True)
        if not all(path.exists() for path in self.paths):
            note(f"making {self.home}")
            self.write()


@dataclasses.dataclass
class Tables(Made):
    """LEFT and RIGHT of a join, and its answer in the order of LEFT."""

    names = ("left.csv", "right.csv", "joined.csv")
    # The header, and the rows by their numbers.
    left: tuple
    right: tuple
    rows: tuple
    # Of each row of LEFT, what the join adds to it; None where it has no partner.
    added: object

    def write(self):
        joined = ((row, self.added(i)) for i, row in enumerate(map(self.left[1], range(self.rows[0]))))
        write(self.paths[0], self.left[0], map(self.left[1], range(self.rows[0])))
        write(self.paths[1], self.right[0], map(self.right[1], range(self.rows[1])))
        header = f"{self.left[0]},{self.right[0].split(',', 1)[1]}"
        write(self.paths[2], header, (f"{row},{added}" for row, added in joined if added))


def write(path, header, rows):
    part = path.with_suffix(".part")
    with open(part, "w", buffering=1 << 20) as file:
        file.write(f"{header}\n" if header else "")
        file.writelines(f"{row}\n" for row in rows)
    part.replace(path)


def shuffled(number, rows):
    """A row's place among as many others: 7,919 is a prime that divides none of the sizes here."""
    return number * 7919 % rows


@dataclasses.dataclass
class Join(Job):
    bytes_read: int = 0

    lines = property(lambda self: sum(self.data.rows))
    file_bytes = property(lambda self: self.bytes_read)

    def check(self, tmp):
        """umbel's answer must equal the generator's byte for byte; the others' must have the same rows."""
        expected, in_order = self.data.paths[2], tmp / "expected-sorted"
        run_or_fail(["sort", "-o", in_order, expected])
        for case in self.cases:
            if case.kind == "semi":
                continue
            note(f"checking {case.name}")
            answer = tmp / "answer"
            sample = case.run(answer)
            if sample["exit"] != 0:
                case.failed = why(sample)
                continue
            if case.kind != "umbel":
                run_or_fail(["sort", "-o", answer, answer])
            if not filecmp.cmp(answer, expected if case.kind == "umbel" else in_order, shallow=False):
                raise Failure(f"{case.name}: not the rows of {expected}; see {answer}")
            answer.unlink()
        in_order.unlink()


def join(options, name, told, tables, key, memory, goals, more=()):
    tables.make()
    left, right, _ = tables.paths
    argv = [options.umbel, "join", "--csv", "-k", key, left, right, "--memory", memory, "-q"]
    cases = [Case("umbel", f"umbel join, --memory {memory}", [*argv, "-o", OUT], 1, cap=memory, written=True), *more]
    keys = (key.split("=") * 2)[:2]
    cases += engines(options, "join", [left, right], 1, ["--key", *keys], cap=memory.replace("iB", "B"), written=True)
    cases += program(options, "qsv", "qsv joinp", ["joinp", keys[0], left, keys[1], right, "-o", OUT], 1, written=True)
    return Join(name=name, told=told, data=tables, inputs=[left, right], cases=chosen(options, cases),
                rivals=PEERS | {"duckdb at the cap": "DuckDB at the cap", "semi": "common --all"},
                goals=[*goals, Goal(f"umbel join, --memory {memory}", "cap")],
                bytes_read=sum(os.path.getsize(path) for path in (left, right)))


def joins(options, tmp):
    rows = max(1000, round(ROWS * options.scale) // 1000 * 1000)
    few = rows // 10
    home = options.data / f"joins-{rows}"
    customer = lambda i: i * 2654435761 % few
    orders = Tables(
        home / "orders",
        ("order,customer,item,note", lambda i: f"{i},C{customer(i):08d},item-{i % 99991:05d}-large,note {text(i)} of the warehouse"),
        ("id,name,city", lambda i: f"C{shuffled(i, few):08d},Name {shuffled(i, few)},City {shuffled(i, few) % 500}"),
        (rows, few),
        lambda i: f"Name {customer(i)},City {customer(i) % 500}",
    )
    left = ("k,a", lambda i: f"K{shuffled(i, rows):010d},value of the left row {text(i)} and more")
    # The inverse of `shuffled`, to say which row of RIGHT has a key.
    inverse = pow(7919, -1, rows)

    def with_share(name, first):
        """Keys from `first` on: `rows - first` of them LEFT has too."""
        right = ("k,b", lambda i: f"K{shuffled(i, rows) + first:010d},value of the right row {text(i, 1)} and more")

        def added(i):
            number = shuffled(i, rows) - first
            return f"value of the right row {text(number * inverse % rows, 1)} and more" if number >= 0 else None

        return Tables(home / name, left, right, (rows, rows), added)

    one_percent, all_rows = with_share("few", rows - rows // 100), with_share("all", 0)
    semi = [options.umbel, "common", "--all", "--csv", "-k", "k", *one_percent.paths[:2], "--memory", "256MiB", "-q", "-o", OUT]
    made = [
        join(options, "join", f"{rows:,} orders with {few:,} customers", orders, "customer=id", "1GiB",
             [Goal("umbel join, --memory 1GiB", "duckdb", 2)]),
        join(options, "join, 1 % have partners", f"Two tables of {rows:,} rows, 1 % of them with a partner", one_percent, "k=k",
             "256MiB", [Goal("umbel join, --memory 256MiB", "duckdb", 4), Goal("umbel join, --memory 256MiB", "semi", 1 / 1.5)],
             [Case("semi", "umbel common --all", semi, None, written=True)]),
        join(options, "join, all have partners", f"Two tables of {rows:,} rows, each with one partner", all_rows, "k=k", "256MiB",
             [Goal("umbel join, --memory 256MiB", "duckdb at the cap", 1.5)]),
    ]
    return made


# Two versions of a table


@dataclasses.dataclass
class Versions(Made):
    """A table, its next version, and the rows that differ: in a thousand rows one is new, one is gone and ten are changed."""

    names = ("old.csv", "new.csv", "differ.sorted")
    rows: int

    def write(self):
        header = "id,name,price,note"
        row = lambda i, note="": f"K{shuffled(i, self.rows):010d},item {i % 99991},{i % 8999}.50,{note}{text(i)}"
        old = lambda: ((i, row(i)) for i in range(self.rows))
        changed = lambda: ((i, row(i, "new ") if i % 100 == 0 else line) for i, line in old() if i % 1000 != 1)
        added = [f"N{i:010d},item,1.50,{text(i)}" for i in range(self.rows // 1000)]
        write(self.paths[0], header, (line for _, line in old()))
        write(self.paths[1], header, itertools.chain((line for _, line in changed()), added))
        marked = [f"-,{row(i)}" for i in range(self.rows) if i % 100 == 0 or i % 1000 == 1]
        marked += [f"+,{row(i, 'new ')}" for i in range(0, self.rows, 100)]
        marked += [f"+,{line}" for line in added]
        write(self.paths[2], "", sorted([f"diffresult,{header}", *marked]))


class Diff(Join):
    """`umbel diff` by a key; some peers compare whole rows, which gives the same here."""

    lines = property(lambda self: 2 * self.data.rows)

    def check(self, tmp):
        """All answers must have the generator's rows, in any order; umbel marks changed ones otherwise."""
        for case in self.cases:
            note(f"checking {case.name}")
            answer = tmp / "answer"
            sample = case.run(answer)
            if sample["exit"] != 0:
                case.failed = why(sample)
                continue
            run_or_fail(["sed", "-i", "s/^<,/-,/; s/^~,/+,/; s/^change,/diffresult,/", answer])
            run_or_fail(["sort", "-o", answer, answer])
            if not filecmp.cmp(answer, self.data.paths[2], shallow=False):
                raise Failure(f"{case.name}: not the rows of {self.data.paths[2]}; see {answer}")
            answer.unlink()


def diff(options, tmp):
    rows = max(1000, round(ROWS * options.scale) // 1000 * 1000)
    table = Versions(options.data / f"versions-{rows}", rows)
    table.make()
    old, new, _ = table.paths
    argv = [options.umbel, "diff", "--csv", "-k", "id", "--old", "--mark-column", old, new, "--memory", "256MiB", "-q", "-o", OUT]
    name = "umbel diff, --memory 256MiB"
    # Differences give its exit status 1, as those of diff do.
    cases = [Case("umbel", name, ["bash", "-c", '"$@" || [ $? = 1 ]', "-", *argv], cap="256MiB", written=True)]
    cases += engines(options, "diff", [old, new], None, written=True)
    cases += program(options, "qsv", "qsv diff", ["diff", "-k", "id", old, new, "-o", OUT], None, written=True)
    return Diff(name="diff", told=f"Two versions of a table of {rows:,} rows; about 1 % are changed", data=table, inputs=[old, new],
                cases=chosen(options, cases), rivals=PEERS, goals=[*(Goal(name, kind, 4) for kind in ENGINE_LIMITS), Goal(name, "cap")],
                bytes_read=sum(os.path.getsize(path) for path in (old, new)))


# Sorted files


class Sorted(Job):
    """`umbel common` of sorted files, next to `comm`."""

    lines = property(lambda self: 2 * self.data)
    file_bytes = property(lambda self: sum(path.stat().st_size for path in self.inputs))

    def check(self, tmp):
        answers = []
        for case in self.cases:
            case.run(answer := tmp / case.kind)
            answers.append(answer)
        if any(not filecmp.cmp(answers[0], answer, shallow=False) for answer in answers[1:]):
            raise Failure(f"umbel and comm differ; see {answers}")
        for answer in answers:
            answer.unlink()


def sorted_files(options, tmp):
    rows = max(1000, round(ROWS * options.scale))
    files = [options.data / f"sorted-{rows}-{name}.txt" for name in "ab"]
    for number, path in enumerate(files):
        if not path.exists():
            note(f"making {path}")
            first = number * (rows - rows // 10)
            write(path, "", (f"https://www.example.org/articles/{i:012d}/page-{text(i)}.html" for i in range(first, first + rows)))
    case = umbel(options, "common", files, 1, "64MiB", "-q")
    return Sorted(name="sorted", told=f"Two sorted files of {rows:,} lines that share a tenth", data=rows, inputs=files,
                  cases=chosen(options, [case, Case("comm", "comm -12", ["comm", "-12", *files])]),
                  rivals={"comm": "comm"}, goals=[Goal(case.name, "comm", 1), Goal(case.name, "cap")])
