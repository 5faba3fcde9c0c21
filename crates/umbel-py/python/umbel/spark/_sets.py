"""Exact set operations on tables.

Each prunes with a filter before the shuffle and lets Spark settle what is left, so the result is that of the Spark operation
whose name its documentation gives: the same rows, nulls and repeats. Pruning finds the *candidates* first, the hashes of
keys that both tables may have, in one pass over each table:

1. the hashes of the table with fewer keys fill a filter;
2. the hashes of the other table that pass it are the candidates; with 1 % of the keys common, that is one hash in fifty.

Rows whose hash is no candidate are certainly in one table only. Filters too large to be broadcast are split by hash range: the
hashes of both tables, but not their rows, are sent to where the part for them is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypedDict, Unpack, overload

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

import umbel

from ._filters import Batches, arrow_function, gather, to_partitions, union
from ._keys import HASH, Unpruned, fields_of, hashed_alike, key_hash, names_of, quoted, repeatable
from ._plan import FPP, PART, Plan, Table, decide, filter_size
from ._sample import Sample, sample

#: Bytes of a filter that is broadcast. Each Python process of an executor holds a copy.
LIMIT = 512 << 20
# Candidates that are listed, 8 bytes each, rather than put into a filter: Spark looks rows up in a list without Python.
_LISTED = 1_000_000
_CANDIDATE = "umbel_candidate"


class Options(TypedDict, total=False):
    """What all operations take.

    `prune` makes a filter (True) or leaves all to Spark (False) whatever the plan says. `limit` is the size in bytes up to
    which a filter is broadcast, 512 MiB unless given; each Python process of an executor holds a copy.
    """

    prune: bool | None
    limit: int


class _Job:
    """One operation on one or two tables."""

    def __init__(
        self,
        operation: str,
        tables: Sequence[DataFrame],
        options: Options,
        on: Sequence[str] | None = None,
    ) -> None:
        """Of tables whose keys are the columns `on`, or with None the whole rows, by the places of their columns."""
        self.operation = operation
        self.nulls = on is None
        self.named = [table.schema.fields if on is None else fields_of(table, on) for table in tables]
        self.fields = self.named
        if on is None:
            # Names may be there twice; places are not.
            tables = [table.toDF(*map(str, range(len(table.columns)))) for table in tables]
            self.fields = [table.schema.fields for table in tables]
        self.tables = tables
        self.limit = options.get("limit", LIMIT)
        self.forced = options.get("prune")
        self.samples: list[Sample] = []
        self.plan = self._plan()

    def hash(self, place: int) -> Column:
        return key_hash(self.fields[place], nulls=self.nulls)

    def hashes(self, place: int) -> DataFrame:
        keys = self.tables[place].select(self.hash(place).alias(HASH))
        return keys if self.nulls else keys.where(F.col(HASH).isNotNull())

    def _plan(self) -> Plan:
        if self.forced is False:
            return Plan(self.operation, False, "prune=False was given")
        try:
            hashed_alike(self.named[0], self.named[-1])
            for table in self.tables:
                repeatable(table)
        except Unpruned as reason:
            if self.forced:
                raise ValueError(f"{self.operation} cannot prune: {reason}") from None
            return Plan(self.operation, False, str(reason))
        self.samples = [
            sample(table, self.hash(place), _bytes_of(self.fields[place]))
            for place, table in enumerate(self.tables)
        ]
        plan = self._decide()
        if self.forced and not plan.prunes:
            return replace(plan, prunes=True, reason=f"prune=True was given, although {plan.reason}")
        return plan

    def _decide(self) -> Plan:
        if len(self.samples) == 1:
            (only,) = self.samples
            shares = [only.repeated]
        else:
            left, right = self.samples
            shares = [left.shared_with(right)[0], right.shared_with(left)[0]]
        tables = [
            Table(each.rows, each.keys, share, round(each.key_bytes) + _other_bytes(self.sent(place), self.fields[place]))
            for place, (each, share) in enumerate(zip(self.samples, shares))
        ]
        keys = max(1, min(each.planned_keys for each in self.samples))
        return decide(self.operation, tables, keys, self.limit, self._broadcast_threshold())

    def sent(self, place: int) -> T.StructType:
        """The columns that Spark alone sends through the shuffle: of the right table of a join only its key."""
        return self.tables[place].schema if place == 0 or self.nulls else T.StructType(list(self.fields[place]))

    def _broadcast_threshold(self) -> int:
        conf = self.tables[0].sparkSession._jsparkSession.sessionState().conf()
        return int(conf.autoBroadcastJoinThreshold())

    def split(self) -> list[tuple[DataFrame, DataFrame]]:
        """Of each table the rows that may be in both, and the others, which certainly are not."""
        both = self.candidates()
        return [
            (both.passing(table, self.hash(place)), both.others(table, self.hash(place)))
            for place, table in enumerate(self.tables)
        ]

    def candidates(self) -> Candidates:
        """The hashes that both tables may have."""
        keys = [max(1, each.planned_keys) for each in self.samples]
        few, many = (0, 1) if keys[0] < keys[1] else (1, 0)
        size = filter_size(keys[few])
        if size <= self.limit:
            both = _passing(self.hashes(few), self.hashes(many), keys[few])
        else:
            both = _passing_in_parts(self.hashes(few), self.hashes(many), keys[few], -(-size // PART))
        most = self.samples[many].shared_with(self.samples[few])[1] + round(1.5 * FPP * keys[many]) + 1000
        if most <= _LISTED:
            listed = both.distinct().toArrow().rename_columns([_CANDIDATE])
            return Listed(F.broadcast(self.tables[0].sparkSession.createDataFrame(listed)))
        return Filtered(union(both, lambda: umbel.Bloom(most, FPP)), self.tables[0])


class Candidates:
    """Splits tables into rows that may be in both and rows that certainly are not."""

    def passing(self, df: DataFrame, key: Column) -> DataFrame:
        raise NotImplementedError

    def others(self, df: DataFrame, key: Column) -> DataFrame:
        """Also rows whose key is null."""
        raise NotImplementedError


class Listed(Candidates):
    """Few candidates, which Spark looks up in a hash table."""

    def __init__(self, hashes: DataFrame) -> None:
        self.list = hashes

    def passing(self, df: DataFrame, key: Column) -> DataFrame:
        return df.join(self.list, key == F.col(_CANDIDATE), "left_semi")

    def others(self, df: DataFrame, key: Column) -> DataFrame:
        return df.join(self.list, key == F.col(_CANDIDATE), "left_anti")


class Filtered(Candidates):
    """Many candidates, in a filter."""

    def __init__(self, filter: umbel.Filter, df: DataFrame) -> None:
        shared = df.sparkSession.sparkContext.broadcast(filter)
        self.maybe = arrow_function(lambda keys: shared.value.contains_many(keys, threads=1))

    def passing(self, df: DataFrame, key: Column) -> DataFrame:
        return df.where(self.maybe(key))

    def others(self, df: DataFrame, key: Column) -> DataFrame:
        return df.where(key.isNull() | ~self.maybe(key))


def _passing(few: DataFrame, many: DataFrame, keys: int) -> DataFrame:
    """The hashes of `many` that may be among `few`, by a filter that is broadcast."""
    shared = few.sparkSession.sparkContext.broadcast(union(few, lambda: umbel.Bloom(keys, FPP)))

    def look_up(batches: Batches) -> Batches:
        for batch in batches:
            found = batch.filter(shared.value.contains_many(batch.column(0), threads=1))
            if found.num_rows:
                yield found

    return many.mapInArrow(look_up, f"{HASH} long")


def _passing_in_parts(few: DataFrame, many: DataFrame, keys: int, parts: int) -> DataFrame:
    """The same, by a filter in so many parts: each is made and looked up in one partition, and goes nowhere."""
    sided = [table.select(HASH, F.lit(side).alias("side")) for side, table in enumerate((few, many))]
    together = to_partitions(sided[0].unionAll(sided[1]), parts, F.col(HASH)).sortWithinPartitions("side")
    # Hashes spread evenly: six standard deviations more than a part's share.
    planned = math.ceil(keys / parts + 6 * (keys / parts) ** 0.5) + 1

    def look_up(batches: Batches) -> Batches:
        filter = umbel.Bloom(planned, FPP)
        for batch in batches:
            hashes, side = batch.column(0), batch.column(1)
            filter.add_many(hashes.filter(pc.equal(side, 0)), threads=1)
            others = hashes.filter(pc.equal(side, 1))
            found = others.filter(filter.contains_many(others, threads=1))
            if len(found):
                yield pa.RecordBatch.from_arrays([found], names=[HASH])

    return together.mapInArrow(look_up, f"{HASH} long")


def _bytes_of(fields: Sequence[T.StructField]) -> Column:
    """The bytes of a key's columns."""
    size = F.lit(0)
    for field in fields:
        if isinstance(field.dataType, (T.StringType, T.BinaryType)):
            size = size + F.coalesce(F.octet_length(quoted(field.name)), F.lit(0))
        else:
            size = size + F.lit(_default_bytes(field.dataType))
    return size


def _other_bytes(schema: T.StructType, key: Sequence[T.StructField]) -> int:
    """About the bytes of the other columns, by their types, and what a row has besides."""
    names = {field.name for field in key}
    return 16 + sum(_default_bytes(field.dataType) for field in schema.fields if field.name not in names)


def _default_bytes(kind: T.DataType) -> int:
    """What Spark's own planner assumes."""
    if isinstance(kind, (T.ByteType, T.BooleanType)):
        return 1
    if isinstance(kind, (T.IntegerType, T.FloatType, T.DateType)):
        return 4
    if isinstance(kind, T.BinaryType):
        return 100
    if isinstance(kind, T.StringType):
        return 20
    if isinstance(kind, T.StructType):
        return sum(_default_bytes(field.dataType) for field in kind.fields)
    return 8


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
    With `explain`, nothing but the samples is read, and the plan is returned.
    """
    names = names_of(on)
    plain = left.join(right, names, "left_semi")
    job = _Job("semi_join", (left, right), options, names)
    if explain:
        return job.plan
    if not job.plan.prunes:
        return plain
    (passing, _), (keys, _) = job.split()
    return passing.join(keys, names, "left_semi")


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

    All such rows, with repeats, and those whose key has a null. Rows that are certainly not in `right` go out without a
    shuffle. `on` and `explain` as in `semi_join`.
    """
    names = names_of(on)
    plain = left.join(right, names, "left_anti")
    job = _Job("anti_join", (left, right), options, names)
    if explain:
        return job.plan
    if not job.plan.prunes:
        return plain
    (passing, others), (keys, _) = job.split()
    # Joined with no rows, which Spark's optimizer removes: a join by names changes the order of the columns.
    others = others.join(right.where(F.lit(False)), names, "left_anti")
    return others.unionAll(passing.join(keys, names, "left_anti"))


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
    plain = left.intersect(right)
    job = _Job("common", (left, right), options)
    if explain:
        return job.plan
    if not job.plan.prunes:
        return plain
    (ours, _), (theirs, _) = job.split()
    return ours.intersect(theirs).toDF(*plain.columns)


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
    plain = left.subtract(right)
    job = _Job("except_", (left, right), options)
    if explain:
        return job.plan
    if not job.plan.prunes:
        return plain
    return _minus(*job.split()).toDF(*plain.columns)


def _minus(left: tuple[DataFrame, DataFrame], right: tuple[DataFrame, DataFrame]) -> DataFrame:
    # Equal rows pass together or not at all, so that each part is distinct by itself.
    return left[1].distinct().unionAll(left[0].subtract(right[0]))


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

    def marked(removed: DataFrame, added: DataFrame) -> DataFrame:
        sides = [df.select(F.lit(sign).alias(change), "*") for sign, df in (("-", removed), ("+", added))]
        return sides[0].unionAll(sides[1])

    plain = marked(old.subtract(new), new.subtract(old))
    job = _Job("diff", (old, new), options)
    if explain:
        return job.plan
    if not job.plan.prunes:
        return plain
    ours, theirs = job.split()
    return marked(_minus(ours, theirs), _minus(theirs, ours)).toDF(*plain.columns)


@overload
def distinct(df: DataFrame, *, explain: Literal[False] = ..., **options: Unpack[Options]) -> DataFrame: ...
@overload
def distinct(df: DataFrame, *, explain: Literal[True], **options: Unpack[Options]) -> Plan: ...
def distinct(df: DataFrame, *, explain: bool = False, **options: Unpack[Options]) -> DataFrame | Plan:
    """The rows of a table, once each: ``df.distinct()``.

    Nulls are equal to each other. Rows that certainly occur once go out without a shuffle. `explain` as in `semi_join`.
    """
    plain = df.distinct()
    job = _Job("distinct", (df,), options)
    if explain:
        return job.plan
    if not job.plan.prunes:
        return plain
    repeated = Filtered(_repeated(job.hashes(0), max(1, job.samples[0].planned_keys)), df)
    (table,), key = job.tables, job.hash(0)
    return repeated.others(table, key).unionAll(repeated.passing(table, key).distinct()).toDF(*plain.columns)


Twice = tuple[umbel.Filter, umbel.Filter]


def _repeated(hashes: DataFrame, keys: int) -> umbel.Filter:
    """A filter of the hashes that occur more than once.

    Each task has a filter of all its hashes, and one of those that it saw again. Where the filters of two tasks are joined,
    what is in both is seen again: the bits that both have set.
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
