"""Whether a filter pays: what Spark alone and pruning would each cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import umbel

# Processor time in nanoseconds, of Spark 4.3 on an AMD EPYC, for rows with a key of 40 bytes; bench/record/2026-11-23-spark.md,
# and for Java 2026-11-25-spark.md.
# Per row that is read from Parquet.
READ = 180
# Per row whose hash goes into a filter or through one in Java, and in Python; per byte of a key that goes to Python.
HASHED_IN_JAVA = 50
HASHED = 150
SENT_BYTE = 3.5
# Per row that is looked up in a list.
LISTED = 160
# Per row and per byte of a shuffle with a sort-merge join behind it.
EXCHANGED = 870
EXCHANGED_BYTE = 5
# Seconds that the jobs of a filter need whatever the size of the tables: plans are made, code is compiled.
START = 2.0
# Bytes of a part of a filter that is split; each core can hold one.
PART = 32 << 20
# The rate of filters that prune. At 1 %, making and broadcasting the list of candidates takes longer than a smaller filter saves.
FPP = 0.002


@dataclass(frozen=True)
class Work:
    """What an operation does with rows, as multiples of all rows of each table."""

    #: How often Spark alone sends the rows of each table through a shuffle.
    plain: tuple[float, ...]
    #: With a list, how often it looks each table up, and sends the rows that are in it, or the others, through a shuffle.
    looked: tuple[float, ...]
    listed: tuple[float, ...]
    unlisted: tuple[float, ...]
    #: With a second filter instead of the list, the same.
    hashed: tuple[float, ...]
    passing: tuple[float, ...]
    others: tuple[float, ...]


WORK = {
    "semi_join": Work(
        plain=(1, 1), looked=(1, 0), listed=(0, 0), unlisted=(0, 0), hashed=(1, 1), passing=(1, 1), others=(0, 0)
    ),
    "anti_join": Work(
        plain=(1, 1), looked=(1, 0), listed=(0, 0), unlisted=(0, 0), hashed=(2, 1), passing=(1, 1), others=(0, 0)
    ),
    "common": Work(
        plain=(1, 1), looked=(1, 0), listed=(1, 0), unlisted=(0, 0), hashed=(1, 1), passing=(1, 1), others=(0, 0)
    ),
    # The rows that are left become distinct in a shuffle of their own.
    "except_": Work(
        plain=(2, 1), looked=(1, 0), listed=(0, 0), unlisted=(1, 0), hashed=(2, 1), passing=(2, 1), others=(1, 0)
    ),
    "diff": Work(
        plain=(3, 3), looked=(2, 1), listed=(0, 0), unlisted=(1, 1), hashed=(3, 3), passing=(3, 3), others=(1, 1)
    ),
    # Never listed. The filter is made in one pass.
    "distinct": Work(plain=(1,), looked=(0,), listed=(0,), unlisted=(0,), hashed=(2,), passing=(1,), others=(0,)),
}


@dataclass(frozen=True)
class Table:
    """What the planner knows of a table."""

    rows: int
    #: About the share of rows whose key the other table has, or other rows of it; of two tables the least that their first
    #: rows allow.
    common: float
    #: Bytes of a key, and of a row in a shuffle.
    key_bytes: int
    row_bytes: int


@dataclass(frozen=True)
class Plan:
    """The chosen plan and the reasons for it. `str` formats it as text."""

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
    #: Whether the keys that pass are few enough to be broadcast as a list; matching rows then need no shuffle.
    listed: bool = False
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
        names, shared = (("left", "right"), "shared") if len(self.tables) > 1 else (("table",), "repeated")
        for name, table in zip(names, self.tables):
            lines.append(f"  {name:<8} about {table.rows:,} rows, {table.common:.1%} of them {shared}")
        if self.tables:
            where = "broadcast" if self.parts == 1 else f"in {self.parts} parts by hash range"
            then = ", then a list of the keys that pass" if self.listed else ""
            lines.append(f"  filter   {self.filter_bytes:,} bytes, {where}{then}")
            lines.append(f"  shuffle  {self.plain_bytes:,} bytes with Spark alone, {self.pruned_bytes:,} pruned")
            lines.append(f"  time     {self.plain_seconds:.1f} s of processor with Spark alone, {self.pruned_seconds:.1f} s pruned")
        return "\n".join(lines)


@dataclass(frozen=True)
class Limits:
    """Sizes in bytes."""

    #: Of a filter that is broadcast. A larger one is split by hash range, for which all hashes go through a shuffle.
    filter: int
    #: Of a list of candidates.
    candidates: int
    #: Of a right table that Spark broadcasts.
    table: int


def decide(operation: str, tables: Sequence[Table], few: int, keys: int, limits: Limits, *, java: bool = False) -> Plan:
    """Decides what to do with these tables. The filter is for this many `keys`, of the table at `few`.

    With `java`, it fills filters and looks them up, but for those in parts and the two of one table.
    """
    work = WORK[operation]
    # Of one table: a filter of its keys, and one of those seen again.
    filter_bytes = filter_size(keys) * (2 if len(tables) == 1 else 1)
    parts = 1 if filter_bytes <= limits.filter else max(2, -(-filter_bytes // PART))
    many = tables[len(tables) - 1 - few]
    candidates = many.rows * passing(many) * (many.key_bytes + 8)
    listed = len(tables) > 1 and parts == 1 and candidates <= limits.candidates
    java = java and parts == 1 and len(tables) > 1
    hashed = HASHED_IN_JAVA if java else HASHED
    plain_seconds, pruned_seconds = 0.0, START
    plain_bytes, pruned_bytes = 0, filter_bytes if parts == 1 else 0
    for place, table in enumerate(tables):
        share = passing(table)
        plain = work.plain[place]
        # Each table is read, for the filter and its answers.
        nanoseconds = float(READ + hashed)
        if listed:
            looks = work.looked[place] + (place == 1 == few)
            kept = share * work.listed[place] + (1 - share) * work.unlisted[place]
            sent = 0.0 if place == few else share if java else 1.0
            nanoseconds += looks * (READ + LISTED) + sent * SENT_BYTE * table.key_bytes
        else:
            kept = share * work.passing[place] + (1 - share) * work.others[place]
            nanoseconds += work.hashed[place] * (READ + hashed)
        exchanged = EXCHANGED + EXCHANGED_BYTE * table.row_bytes
        plain_bytes += round(table.rows * table.row_bytes * plain)
        pruned_bytes += round(table.rows * table.row_bytes * kept)
        plain_seconds += table.rows * 1e-9 * plain * (READ + exchanged)
        pruned_seconds += table.rows * 1e-9 * (nanoseconds + kept * exchanged)
        if parts > 1:
            pruned_bytes += 8 * table.rows
            pruned_seconds += table.rows * EXCHANGED * 1e-9
    plan = Plan(
        operation,
        False,
        "",
        tuple(tables),
        filter_bytes,
        parts,
        listed,
        plain_bytes,
        pruned_bytes,
        plain_seconds,
        pruned_seconds,
    )
    right = tables[-1]
    if len(tables) > 1 and right.rows * right.row_bytes <= limits.table:
        return replace(plan, reason="the right table is small enough for Spark to broadcast it")
    if plain_seconds < 2 * START:
        return replace(plan, reason="the tables are small")
    if pruned_seconds >= plain_seconds:
        share = sum(table.rows * table.common for table in tables) / max(1, sum(table.rows for table in tables))
        return replace(plan, reason=f"{share:.0%} of the rows would pass the filter, which costs more than it saves")
    return replace(plan, prunes=True, reason=f"it saves {1 - pruned_seconds / plain_seconds:.0%} of the time")


def passing(table: Table) -> float:
    """The share of rows that pass a filter."""
    return min(1.0, table.common + FPP)


def filter_size(keys: int) -> int:
    """Bytes of a filter that prunes, for this many keys."""
    choices = umbel.plan(keys, FPP).choices
    return next(choice.nbytes for choice in choices if choice.kind == "blocked")
