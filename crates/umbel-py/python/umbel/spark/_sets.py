"""Exact set operations on tables.

Each prunes with a filter before the shuffle and lets Spark finish the rest. The result equals the Spark operation named in
its docstring: the same rows, nulls and repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Unpack, overload

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import umbel

from ._filters import gather, union
from ._job import Candidates, Filtered, Job, Options
from ._keys import HASH, names_of
from ._plan import FPP, Plan, filter_size
from ._session import check_tables


@overload
def semi_join(
    left: DataFrame, right: DataFrame, on: str | Sequence[str], *, explain: Literal[False] = ..., **options: Unpack[Options]
) -> DataFrame: ...
@overload
def semi_join(
    left: DataFrame, right: DataFrame, on: str | Sequence[str], *, explain: Literal[True], **options: Unpack[Options]
) -> Plan: ...
def semi_join(
    left: DataFrame, right: DataFrame, on: str | Sequence[str], *, explain: bool = False, **options: Unpack[Options]
) -> DataFrame | Plan:
    """The rows of `left` whose key is in `right`: ``left.join(right, on, "left_semi")``.

    All rows with such a key, with repeats; a key with a null equals none. `on` names the columns of the key, in both tables.
    With `explain`, the plan is returned; for it, the keys of the smaller table are read, and the first rows of the other.
    """
    names = names_of(on)
    check_tables(left, right)
    plain = left.join(right, names, "left_semi")
    job = Job("semi_join", (left, right), options, names)
    if explain:
        return job.plan
    if (both := job.candidates()) is None:
        return plain
    if both.exact:
        return _by_names(both.passing(0), right, names)
    return both.passing(0).join(both.passing(1), names, "left_semi")


@overload
def anti_join(
    left: DataFrame, right: DataFrame, on: str | Sequence[str], *, explain: Literal[False] = ..., **options: Unpack[Options]
) -> DataFrame: ...
@overload
def anti_join(
    left: DataFrame, right: DataFrame, on: str | Sequence[str], *, explain: Literal[True], **options: Unpack[Options]
) -> Plan: ...
def anti_join(
    left: DataFrame, right: DataFrame, on: str | Sequence[str], *, explain: bool = False, **options: Unpack[Options]
) -> DataFrame | Plan:
    """The rows of `left` whose key is not in `right`: ``left.join(right, on, "left_anti")``.

    All such rows, with repeats, including rows whose key has a null. Rows that are certainly not in `right` are output
    without a shuffle. `on` and `explain` as in `semi_join`.
    """
    names = names_of(on)
    check_tables(left, right)
    plain = left.join(right, names, "left_anti")
    job = Job("anti_join", (left, right), options, names)
    if explain:
        return job.plan
    if (both := job.candidates()) is None:
        return plain
    others = _by_names(both.others(0), right, names)
    return others if both.exact else others.unionAll(both.passing(0).join(both.passing(1), names, "left_anti"))


def _by_names(left: DataFrame, right: DataFrame, names: list[str]) -> DataFrame:
    """The same rows with their columns in the order of a join by names: joined with no rows, which Spark's optimizer removes."""
    return left.join(right.where(F.lit(False)), names, "left_anti")


@overload
def common(
    left: DataFrame, right: DataFrame, *, explain: Literal[False] = ..., **options: Unpack[Options]
) -> DataFrame: ...
@overload
def common(left: DataFrame, right: DataFrame, *, explain: Literal[True], **options: Unpack[Options]) -> Plan: ...
def common(
    left: DataFrame, right: DataFrame, *, explain: bool = False, **options: Unpack[Options]
) -> DataFrame | Plan:
    """The rows that both tables have, once each: ``left.intersect(right)``.

    Columns are compared by their places, and nulls are equal to each other. `explain` as in `semi_join`.
    """
    check_tables(left, right)
    plain = left.intersect(right)
    job = Job("common", (left, right), options)
    if explain:
        return job.plan
    if (both := job.candidates()) is None:
        return plain
    ours = both.passing(0)
    return (ours.subtract(_nothing(job, 1)) if both.exact else ours.intersect(both.passing(1))).toDF(*plain.columns)


def _nothing(job: Job, place: int) -> DataFrame:
    """An empty part of a table. Subtracting it from another table makes that distinct, with the types common to both."""
    return job.tables[place].where(F.lit(False))


@overload
def except_(
    left: DataFrame, right: DataFrame, *, explain: Literal[False] = ..., **options: Unpack[Options]
) -> DataFrame: ...
@overload
def except_(left: DataFrame, right: DataFrame, *, explain: Literal[True], **options: Unpack[Options]) -> Plan: ...
def except_(
    left: DataFrame, right: DataFrame, *, explain: bool = False, **options: Unpack[Options]
) -> DataFrame | Plan:
    """The rows of `left` that `right` does not have, once each: ``left.subtract(right)``.

    Columns are compared by their places, and nulls are equal to each other. `explain` as in `semi_join`.
    """
    check_tables(left, right)
    plain = left.subtract(right)
    job = Job("except_", (left, right), options)
    if explain:
        return job.plan
    if (both := job.candidates()) is None:
        return plain
    return _minus(job, both, 0).toDF(*plain.columns)


def _minus(job: Job, both: Candidates, place: int) -> DataFrame:
    """The distinct rows that only the table at `place` has."""
    others = both.others(place).subtract(_nothing(job, 1 - place))
    # Equal rows pass together or not at all, so each part is distinct by itself.
    return others if both.exact else others.unionAll(both.passing(place).subtract(both.passing(1 - place)))


@overload
def diff(
    old: DataFrame, new: DataFrame, *, change: str = ..., explain: Literal[False] = ..., **options: Unpack[Options]
) -> DataFrame: ...
@overload
def diff(
    old: DataFrame, new: DataFrame, *, change: str = ..., explain: Literal[True], **options: Unpack[Options]
) -> Plan: ...
def diff(
    old: DataFrame, new: DataFrame, *, change: str = "change", explain: bool = False, **options: Unpack[Options]
) -> DataFrame | Plan:
    """The rows that only one table has, once each, with a first column `change`: ``-`` for `old`, ``+`` for `new`.

    That is ``old.subtract(new)`` and ``new.subtract(old)``: columns are compared by their places, and nulls are equal to
    each other. `explain` as in `semi_join`.
    """

    check_tables(old, new)
    if held := [name for name in old.columns if name.lower() == change.lower()]:
        raise ValueError(f'the tables have a column {held[0]}; name the first one by change=, as in change="side"')

    def marked(removed: DataFrame, added: DataFrame) -> DataFrame:
        sides = [df.select(F.lit(sign).alias(change), "*") for sign, df in (("-", removed), ("+", added))]
        return sides[0].unionAll(sides[1])

    plain = marked(old.subtract(new), new.subtract(old))
    job = Job("diff", (old, new), options)
    if explain:
        return job.plan
    if (both := job.candidates()) is None:
        return plain
    return marked(_minus(job, both, 0), _minus(job, both, 1)).toDF(*plain.columns)


@overload
def distinct(df: DataFrame, *, explain: Literal[False] = ..., **options: Unpack[Options]) -> DataFrame: ...
@overload
def distinct(df: DataFrame, *, explain: Literal[True], **options: Unpack[Options]) -> Plan: ...
def distinct(df: DataFrame, *, explain: bool = False, **options: Unpack[Options]) -> DataFrame | Plan:
    """The rows of a table, once each: ``df.distinct()``.

    Nulls are equal to each other. Rows that certainly occur once are output without a shuffle. `explain` as in `semi_join`.
    """
    check_tables(df)
    plain = df.distinct()
    job = Job("distinct", (df,), options)
    if explain:
        return job.plan
    if not job.plan.prunes or (filter := _repeated(job)) is None:
        return plain
    repeated = Filtered(job, filter)
    return repeated.others(0).unionAll(repeated.passing(0).distinct()).toDF(*plain.columns)


Twice = tuple[umbel.Filter, umbel.Filter]


def _repeated(job: Job) -> umbel.Filter | None:
    """A filter of the hashes that occur more than once; None if it would be too large."""
    if job.plan.parts == 1:
        return _repeated_in_tasks(job.hashes(0), job.keys)
    # Hashes meet their like where the shuffle sends them.
    (table,) = job.plan.tables
    most = round(1.2 * table.rows * table.common / 2) + 1000
    if not job.affords(most):
        return None
    repeated = job.hashes(0).groupBy(HASH).agg(F.count("*").alias("rows")).where("rows > 1").select(HASH)
    return union(repeated, lambda: umbel.Bloom(most, FPP))


def _repeated_in_tasks(hashes: DataFrame, keys: int) -> umbel.Filter:
    """A filter of the hashes that occur more than once.

    Each task has a filter of all its hashes, and one of the hashes it saw again. When the filters of two tasks are joined,
    the bits that both have set count as seen again.
    """

    def start() -> Twice:
        return umbel.Bloom(keys, FPP), umbel.Bloom(keys, FPP)

    def add(filters: Twice, batch: pa.RecordBatch) -> None:
        seen, again = filters
        new = seen.add_new(batch.column(0))
        again.add_many(batch.column(0).filter(pc.invert(new)), threads=1)

    def join(ours: Twice, theirs: Twice) -> Twice:
        again = ours[1] | theirs[1] | (ours[0] & theirs[0])
        return ours[0] | theirs[0], again

    both = gather(hashes, start, add, join, 2 * filter_size(keys))
    return umbel.Bloom(keys, FPP) if both is None else both[1]
