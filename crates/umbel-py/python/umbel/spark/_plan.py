"""Whether a filter pays: what Spark alone and pruning would each cost, by a sample of the keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import umbel

# Processor time in nanoseconds, of Spark 4.3 on an AMD EPYC: per row that is read and looked up in a table of hashes, per hash
# that goes to Python, and per row and byte of a shuffle with a sort-merge join behind it; bench/record/2026-11-23-spark.md.
READ = 400
HASHED = 400
EXCHANGED = 1_500
PER_BYTE = 10
# Seconds that the jobs of a filter need whatever the size of the tables: code is compiled, and Python started.
START = 5.0
# Bytes of a part of a filter that is split, so that each core can hold one.
PART = 32 << 20
# The rate of filters that prune: a hundredth of what could be dropped is not.
FPP = 0.01


@dataclass(frozen=True)
class Work:
    """What an operation does with rows, as multiples of all rows of each table."""

    #: How often Spark alone sends the rows of each table through a shuffle.
    plain: tuple[float, ...]
    #: How often the rows that pass the filter go through a shuffle, and the others.
    passing: tuple[float, ...]
    others: tuple[float, ...]
    #: How often hashes go to Python, and how often rows are read besides.
    hashed: tuple[float, ...]
    read: tuple[float, ...]


WORK = {
    "semi_join": Work(plain=(1, 1), passing=(1, 1), others=(0, 0), hashed=(1, 1), read=(1, 1)),
    "anti_join": Work(plain=(1, 1), passing=(1, 1), others=(0, 0), hashed=(1, 1), read=(2, 1)),
    "common": Work(plain=(1, 1), passing=(1, 1), others=(0, 0), hashed=(1, 1), read=(1, 1)),
    # The rows that are left become distinct in a shuffle of their own.
    "except_": Work(plain=(2, 1), passing=(2, 1), others=(1, 0), hashed=(1, 1), read=(2, 1)),
    "diff": Work(plain=(3, 3), passing=(3, 3), others=(1, 1), hashed=(1, 1), read=(3, 3)),
    "distinct": Work(plain=(1,), passing=(1,), others=(0,), hashed=(3,), read=(0,)),
}


@dataclass(frozen=True)
class Table:
    """What the planner knows of a table."""

    rows: int
    keys: int
    #: The share of rows whose key the other table has, or other rows of it.
    common: float
    #: Bytes of a row in a shuffle.
    row_bytes: int


@dataclass(frozen=True)
class Plan:
    """What is done, and why. `str` has it as text."""

    #: The operation.
    operation: str
    #: Whether a filter prunes the tables before the shuffle; otherwise Spark does all.
    prunes: bool
    #: Why.
    reason: str
    #: The tables, as estimated; none when they were not looked at.
    tables: tuple[Table, ...] = ()
    #: Bytes of the filter that looks at all keys.
    filter_bytes: int = 0
    #: How many parts it has, by hash range; 1 for a filter that is broadcast.
    parts: int = 1
    #: Bytes that Spark alone would write to the shuffle, before compression.
    plain_bytes: int = 0
    #: Bytes with pruning.
    pruned_bytes: int = 0
    #: Seconds of processor time of Spark alone and with pruning, on all cores together.
    plain_seconds: float = 0.0
    pruned_seconds: float = 0.0

    def __str__(self) -> str:
        what = "a filter prunes before the shuffle" if self.prunes else "plain Spark, without a filter"
        lines = [f"{self.operation}: {what}, because {self.reason}"]
        for name, table in zip(("left", "right") if len(self.tables) > 1 else ("table",), self.tables):
            lines.append(
                f"  {name:<8} about {table.rows:,} rows, {table.keys:,} keys, {table.common:.1%} of rows shared"
                if len(self.tables) > 1
                else f"  {name:<8} about {table.rows:,} rows, {table.keys:,} keys, {table.common:.1%} of rows repeated"
            )
        if self.tables:
            where = "broadcast" if self.parts == 1 else f"in {self.parts} parts by hash range"
            lines.append(f"  filter   {self.filter_bytes:,} bytes, {where}")
            lines.append(f"  shuffle  {self.plain_bytes:,} bytes with Spark alone, {self.pruned_bytes:,} pruned")
            lines.append(f"  time     {self.plain_seconds:.1f} s of processor with Spark alone, {self.pruned_seconds:.1f} s pruned")
        return "\n".join(lines)


def decide(operation: str, tables: Sequence[Table], keys: int, limit: int, broadcast: int) -> Plan:
    """What to do with these tables, where the filter is for so many `keys`.

    A filter above `limit` bytes is split by hash range, for which all hashes go through a shuffle. Spark broadcasts a right
    table of up to `broadcast` bytes.
    """
    work = WORK[operation]
    filter_bytes = filter_size(keys)
    parts = 1 if filter_bytes <= limit else -(-filter_bytes // PART)
    plain_seconds, pruned_seconds = 0.0, START
    plain_bytes, pruned_bytes = 0, (filter_bytes if parts == 1 else 0)
    for place, table in enumerate(tables):
        passing = min(1.0, table.common + FPP)
        kept = passing * work.passing[place] + (1 - passing) * work.others[place]
        plain_bytes += round(table.rows * table.row_bytes * work.plain[place])
        pruned_bytes += round(table.rows * table.row_bytes * kept)
        plain_seconds += table.rows * EXCHANGED * 1e-9 * work.plain[place]
        pruned_seconds += table.rows * 1e-9 * (HASHED * work.hashed[place] + READ * work.read[place] + EXCHANGED * kept)
        if parts > 1:
            pruned_bytes += 8 * table.rows
            pruned_seconds += table.rows * EXCHANGED * 1e-9
    plain_seconds += plain_bytes * PER_BYTE * 1e-9
    pruned_seconds += pruned_bytes * PER_BYTE * 1e-9
    plan = Plan(
        operation, False, "", tuple(tables), filter_bytes, parts, plain_bytes, pruned_bytes, plain_seconds, pruned_seconds
    )
    right = tables[-1]
    if len(tables) > 1 and right.rows * right.row_bytes <= broadcast:
        return replace(plan, reason="the right table is small enough for Spark to broadcast it")
    if plain_seconds < START:
        return replace(plan, reason="the tables are small")
    if pruned_seconds >= plain_seconds:
        passing = sum(table.rows * table.common for table in tables) / max(1, sum(table.rows for table in tables))
        return replace(plan, reason=f"{passing:.0%} of the rows would pass the filter, which costs more than it saves")
    return replace(plan, prunes=True, reason=f"it saves {1 - pruned_seconds / plain_seconds:.0%} of the time")


def filter_size(keys: int) -> int:
    """Bytes of a filter that prunes, for so many keys."""
    choices = umbel.plan(keys, FPP).choices
    return next(choice.nbytes for choice in choices if choice.kind == "blocked")
