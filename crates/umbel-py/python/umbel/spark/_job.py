"""Set operations that prune: what is known of the tables, the plan, and the candidates, keys that both tables may have.

1. The hashes of the table with fewer rows fill a filter.
2. The keys of the other table whose hash passes are the candidates; with 1 % of the keys common, that is one key in fifty.

If there are few candidates, Spark broadcasts them as a list, and a join with it finishes a table without any shuffle. If there
are many, their hashes fill a second filter; rows that do not pass it are certainly in one table only.

A filter that is too large to be broadcast is split by hash range: the hashes of both tables, but not their rows, are sent to
the tasks that make its parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TypedDict

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

import umbel

from ._bits import in_bits
from ._filters import Batches, cores, found_in, there, to_partitions, union
from ._jvm import has_java, passing
from ._keys import HASH, Unpruned, fields_of, hashed_alike, key_hash, quoted, through_arrow
from ._plan import FPP, PART, Limits, Plan, Table, decide, filter_size
from ._sample import heads, partitions, sample
from ._shared import Shared, leave
from ._stable import stable

#: Bytes of a filter that is broadcast. Each executor has a copy, and each task that makes a part of the filter holds as much.
LIMIT = 512 << 20
# Bytes of candidates that are broadcast as a list; Spark's hash table of them takes a few times as much on each executor.
_LISTED = 32 << 20
# Tasks that gather it, if there are not more cores. Each may send eight times its share to the driver, which therefore gets
# at most 256 MiB before it finds the list too long.
_GATHERERS = 1024
# Bytes of a filter whose keys are not counted first: it is made for all rows, although keys may repeat.
_UNCOUNTED = 64 << 20
# Rows that are sampled first. A share of 1 % of them has a standard error of 0.04 %.
_FIRST = 1 << 16
_LOWEST = -(2**63)
_CANDIDATE = "umbel_candidate"


class Options(TypedDict, total=False):
    """Options of all operations.

    `prune` always makes a filter (True) or leaves everything to Spark (False), whatever the plan is. `limit` is the size in
    bytes up to which a filter is broadcast, 512 MiB by default; an executor maps one copy, and uses as much per task while it
    is made.
    """

    prune: bool | None
    limit: int


class Job:
    """One operation on one or two tables."""

    def __init__(
        self,
        operation: str,
        tables: Sequence[DataFrame],
        options: Options,
        on: Sequence[str] | None = None,
    ) -> None:
        """For tables with the key columns `on`, by their positions; None means whole rows."""
        if others := options.keys() - Options.__annotations__.keys():
            raise TypeError(f"{operation}() has no option {min(others)}; its options are {', '.join(Options.__annotations__)} and explain")
        self.operation = operation
        self.nulls = on is None
        self.named = [table.schema.fields if on is None else fields_of(table, on) for table in tables]
        self.fields = self.named
        if on is None:
            # Names may repeat; positions do not.
            tables = [table.toDF(*map(str, range(len(table.columns)))) for table in tables]
            self.fields = [table.schema.fields for table in tables]
        self.tables = tables
        self.limit = options.get("limit", LIMIT)
        if not isinstance(self.limit, int):
            raise TypeError(f"limit is a number of bytes, such as 64 << 20, found {self.limit!r}")
        if self.limit < 1:
            raise ValueError(f"limit is at least 1 byte, found {self.limit}")
        self.forced = options.get("prune")
        if not isinstance(self.forced, bool | None):
            raise TypeError(f"prune is True, False or None, found {self.forced!r}")
        #: The place of the table whose keys fill the filter, and at most how many keys it has.
        self.few, self.keys = 0, 1
        #: The filter of all its keys, unless that is split.
        self.filter: umbel.Filter | None = None
        #: The most that the share of the other table's rows that pass can be.
        self.most = 1.0
        self.plan = self._plan()

    def hash(self, place: int) -> Column:
        return key_hash(self.fields[place], nulls=self.nulls)

    def hashed(self, place: int) -> DataFrame:
        """The table with the hash as a last column."""
        return self.tables[place].select("*", self.hash(place).alias(HASH))

    def hashes(self, place: int, *others: Column) -> DataFrame:
        """The hash of each row that has a key."""
        table = self.tables[place]
        if not self.nulls:
            # Not by the hash, which Spark would compute twice.
            for field in self.fields[place]:
                table = table.where(F.col(quoted(field.name)).isNotNull())
        return table.select(key_hash(self.fields[place], nulls=True).alias(HASH), *others)

    def _plan(self) -> Plan:
        if self.forced is False:
            return Plan(self.operation, False, "prune=False was given")
        try:
            hashed_alike(self.named[0], self.named[-1])
            for table in self.tables:
                stable(table)
        except Unpruned as reason:
            if self.forced:
                raise ValueError(f"{self.operation} cannot prune: {reason}") from None
            return Plan(self.operation, False, str(reason))
        plan = self._plan_alone() if len(self.tables) == 1 else self._plan_both()
        if self.forced and not plan.prunes:
            return replace(plan, prunes=True, reason=f"prune=True was given, although {plan.reason}")
        return plan

    def _plan_alone(self) -> Plan:
        keys = sample(self.tables[0], self.hash(0), _bytes_of(self.fields[0]))
        self.keys = max(1, keys.planned_keys)
        return self._decide([self._table(0, keys.rows, keys.key_bytes, keys.repeated)])

    def _plan_both(self) -> Plan:
        rows = self._count()
        self.few = 1 if 2 * rows[1] < rows[0] else 0
        many = 1 - self.few
        first = self._first(many)
        # The keys of the other table are taken to be as long.
        size = pc.mean(first.column("size")).as_py() or 0.0
        self.keys = self._keys(rows[self.few])
        plan = self._decide([self._table(place, rows[place], size, 0.0) for place in (0, 1)])
        if plan.prunes or self.forced:
            plan = self._decide(_sharing(plan.tables, many, self._share(first)))
        return plan

    def _count(self) -> list[int]:
        """The rows of each table."""
        # Both in one job, which keeps all cores busy.
        counts = [table.agg(F.lit(place), F.count("*")) for place, table in enumerate(self.tables)]
        return [rows for _, rows in sorted(reduce(DataFrame.unionAll, counts).collect())]

    def _first(self, place: int) -> pa.Table:
        """Of the first rows of each partition the hashes, the bytes of the keys, and the number of the partition."""
        size = _bytes_of(self.fields[place]).alias("size")
        keys = self.hashes(place, size, F.spark_partition_id().alias("partition"))
        return heads(keys, max(16, _FIRST // partitions(keys))).toArrow()

    def _keys(self, rows: int) -> int:
        """At most how many keys the table has that fills the filter."""
        if filter_size(max(1, rows)) <= _UNCOUNTED:
            return max(1, rows)
        # Five standard errors more than the estimate.
        (keys,) = self.hashes(self.few).agg(F.approx_count_distinct(HASH, 0.02)).first() or (rows,)
        return max(1, min(rows, round(1.1 * keys)))

    def _share(self, first: pa.Table) -> float:
        """Makes the filter. Returns the least share of rows of the other table that it may have, given the first ones."""
        if (size := filter_size(self.keys)) <= self.limit:
            self.filter = filter = _filter_of(self.hashes(self.few), self.keys)
        else:
            # A part of the filter does, for the lowest hashes.
            part = min(1.0, PART / size)
            end = _LOWEST + min(2**64 - 1, int(part * 2.0**64))
            filter = _filter_of(self.hashes(self.few).where(F.col(HASH) <= end), math.ceil(1.1 * part * self.keys) + 1000)
            first = first.filter(pc.less_equal(first.column(HASH), end))
        found = np.asarray(filter.contains_many(first.column(HASH)))
        _, places, rows = np.unique(first.column("partition").to_numpy(), return_inverse=True, return_counts=True)
        shares = np.bincount(places, weights=found) / rows
        if len(shares) < 2:
            return 0.0
        # Keys often come in clusters: the first rows of a partition are one observation, not many.
        error = float(shares.std(ddof=1)) / math.sqrt(len(shares))
        mean = float(shares.mean())
        self.most = min(1.0, mean + 2 * error)
        return max(0.0, (mean - 2 * error - FPP) / (1 - FPP))

    def _table(self, place: int, rows: int, key_bytes: float, common: float) -> Table:
        fields = self.fields[place]
        return Table(rows, common, round(key_bytes), round(key_bytes) + _other_bytes(self.sent(place), fields))

    def _decide(self, tables: Sequence[Table], *, listed: bool = True) -> Plan:
        listed = listed and all(map(through_arrow, self.fields))
        limits = Limits(self.limit, _LISTED if listed else -1, self._broadcast_threshold())
        java = has_java(self.tables[0].sparkSession)
        return decide(self.operation, tables, self.few, self.keys, limits, java=java)

    def sent(self, place: int) -> T.StructType:
        """The columns that Spark alone sends through the shuffle: for the right table of a join only its key."""
        return self.tables[place].schema if place == 0 or self.nulls else T.StructType(list(self.fields[place]))

    def _broadcast_threshold(self) -> int:
        conf = self.tables[0].sparkSession._jsparkSession.sessionState().conf()
        return int(conf.autoBroadcastJoinThreshold())

    def candidates(self) -> Candidates | None:
        """The keys that both tables may have. None if pruning does not pay."""
        if not self.plan.prunes:
            return None
        if self.filter is None:
            few, many = self.hashes(self.few), self.hashes(1 - self.few)
            return self._filtered(_passing_in_parts(few, many, self.keys, self.plan.parts))
        # All look-ups in it are done when this returns.
        with Shared(self.filter, self.tables[0].sparkSession) as filter:
            if self.plan.listed and (listed := self._list(filter)) is not None:
                return listed
            return self._filtered(_passing(filter, self.hashes(1 - self.few))) if self.plan.prunes else None

    def _filtered(self, both: DataFrame) -> Filtered | None:
        """A filter of the candidates with these hashes. None if it would be too large."""
        most = round(1.2 * (self.most + FPP) * self.plan.tables[1 - self.few].rows) + 1000
        return Filtered(self, _filter_of(both, most)) if self.affords(most) else None

    def affords(self, keys: int) -> bool:
        """Whether a filter of this many keys may be broadcast. If not, the plan gives the reason."""
        if filter_size(keys) <= self.limit or self.forced:
            return True
        reason = f"a filter of the rows that pass would have {filter_size(keys):,} bytes; the limit is {self.limit:,}"
        self.plan = replace(self.plan, prunes=False, reason=reason)
        return False

    def _list(self, filter: Shared) -> Listed | None:
        """The candidates as a list. If there are too many, None; the plan then changes to the one for many."""
        many = 1 - self.few
        names = [F.col(quoted(field.name)).alias(f"{_CANDIDATE}_{at}") for at, field in enumerate(self.fields[many])]
        rows = self.hashes(many, *names)
        tasks = min(partitions(rows), max(_GATHERERS, cores(rows)))
        # Keys come in clusters, so a task has room for more than its share.
        room = 8 * _LISTED // tasks

        found = _passing(filter, rows.coalesce(tasks), room).toArrow()
        if not found.column(HASH).null_count and found.nbytes <= 2 * _LISTED:
            return Listed(self, many, found)
        table = self.plan.tables[many]
        self.most = share = _passing(filter, self.hashes(many)).count() / max(1, table.rows)
        plan = self._decide(_sharing(self.plan.tables, many, max(0.0, (share - FPP) / (1 - FPP))), listed=False)
        self.plan = replace(plan, prunes=True) if self.forced else plan
        return None


def _sharing(tables: Sequence[Table], many: int, share: float) -> list[Table]:
    """The tables; the one at `few` also gets this share of the other's rows."""
    few = 1 - many
    shares = {many: share, few: min(1.0, share * tables[many].rows / max(1, tables[few].rows))}
    return [replace(table, common=shares[place]) for place, table in enumerate(tables)]


class Candidates:
    """Splits tables into rows whose key both may have, and rows that are certainly in one table only."""

    #: Whether both tables certainly have the keys of the rows that pass.
    exact: bool

    def passing(self, place: int) -> DataFrame:
        raise NotImplementedError

    def others(self, place: int) -> DataFrame:
        """Also rows whose key is null."""
        raise NotImplementedError


class Listed(Candidates):
    """Few candidates, which Spark looks up in a hash table."""

    exact = True

    def __init__(self, job: Job, place: int, keys: pa.Table) -> None:
        """Keys of the table at `place`, including all that the other table has."""
        self.job = job
        # To finish one table, Spark needs a list of the keys that the other has.
        self.lists = {place: keys}

    def _list_of(self, place: int) -> pa.Table:
        """Keys of the table at `place`, including all that both have."""
        if place not in self.lists:
            keys = [F.col(quoted(field.name)) for field in self.job.fields[place]]
            # Once each: never more than there are candidates, however many rows have them.
            self.lists[place] = self.passing(place).select(self.job.hash(place), *keys).distinct().toArrow()
        return self.lists[place]

    def passing(self, place: int) -> DataFrame:
        keys = self._list_of(1 - place)
        # The bits decide nearly all rows; Spark's hash table takes three times as long.
        return self._join(in_bits(self.job.hashed(place), HASH, keys.column(0).to_numpy()), place, keys, "left_semi")

    def others(self, place: int) -> DataFrame:
        return self._join(self.job.hashed(place), place, self._list_of(1 - place), "left_anti")

    def _join(self, table: DataFrame, place: int, keys: pa.Table, how: str) -> DataFrame:
        """A join by the hash, for which Spark has a table of integers; keys with equal hashes are then compared."""
        same = F.col(HASH) == F.col(_CANDIDATE)
        for at, field in enumerate(self.job.fields[place]):
            ours, theirs = F.col(quoted(field.name)), F.col(f"{_CANDIDATE}_{at}")
            # As an equality, Spark would make it part of the key of its table.
            equal = (ours <= theirs) & (ours >= theirs)
            same = same & ((equal | (ours.isNull() & theirs.isNull())) if self.job.nulls else equal)
        # With their types: otherwise times without a zone are taken for those of the session's.
        schema = T.StructType([T.StructField(_CANDIDATE, T.LongType())])
        for at, field in enumerate(self.job.fields[1 - place]):
            schema.add(f"{_CANDIDATE}_{at}", field.dataType)
        listed = table.sparkSession.createDataFrame(keys.rename_columns(schema.names), schema)
        return table.join(F.broadcast(listed), same, how).drop(HASH)


class Filtered(Candidates):
    """Many candidates, in a filter."""

    exact = False

    def __init__(self, job: Job, filter: umbel.Filter) -> None:
        self.job = job
        self.filter = Shared(filter, job.tables[0].sparkSession)
        # It is looked up when the result is computed.
        leave(self.filter)

    def passing(self, place: int) -> DataFrame:
        return self.job.tables[place].where(self._found(self.job.hash(place)))

    def others(self, place: int) -> DataFrame:
        key = self.job.hash(place)
        return self.job.tables[place].where(key.isNull() | ~self._found(key))

    def _found(self, key: Column) -> Column:
        """Null for null."""
        if self.filter.in_java:
            return found_in(self.filter, key)
        return F.when(key.isNotNull(), found_in(self.filter, there(key)))


def _filter_of(hashes: DataFrame, keys: int) -> umbel.Filter:
    return union(hashes, lambda: umbel.Bloom(keys, FPP))


def _passing(filter: Shared, rows: DataFrame, room: int | None = None) -> DataFrame:
    """The rows whose hash passes a filter: in each partition up to `room` bytes of them, then one of nulls in place of more."""
    if filter.in_java:
        return passing(rows, filter._broadcast, room)

    def look_up(batches: Batches) -> Batches:
        used = 0
        for batch in batches:
            found = batch.filter(filter.filter.contains_many(batch.column(0), threads=1))
            used += found.nbytes
            if room is not None and used > room:
                columns = [pa.nulls(1, field.type) for field in batch.schema]
                yield pa.RecordBatch.from_arrays(columns, batch.schema.names)
                return
            if found.num_rows:
                yield found

    schema = T.StructType([T.StructField(field.name, field.dataType) for field in rows.schema.fields])
    return rows.mapInArrow(look_up, schema)


def _passing_in_parts(few: DataFrame, many: DataFrame, keys: int, parts: int) -> DataFrame:
    """The same, by a filter in this many parts: each is made and looked up in one partition, and is not sent anywhere."""
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
    """The approximate bytes of the other columns, by their types, and of a row's overhead."""
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
