"""Filters made and looked up on the executors.

Each task makes a partial filter from Arrow batches. Partial filters travel in pieces and are merged as a tree, a few per task,
so neither one core nor the driver has to merge them all.
"""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, TypeVar

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

import umbel
from umbel import Filter

from ._jvm import MAGIC, filled, java_key, knows, may_contain
from ._keys import filter_columns, key_hash, fields_of, names_of, quoted
from ._sample import sample
from ._shared import Shared, leave
from ._stable import check_finite

# Descriptions of keys that are prefixes.
_PREFIXES = {("type", "ip-prefix"), ("type", "domain-suffix")}
# Filters that one task merges.
_FAN_IN = 8
# Bytes of a filter in one row.
_PIECE = 4 << 20
# Bytes that the driver fetches together: a driver of 1 GB can collect a filter of any size.
_FETCH = 64 << 20
# Bytes of all partial filters, which are written to the shuffle; more only if the cluster has more cores.
_PARTIALS = 32 << 20

_PIECES = "place long, at long, size long, piece binary"

Batches = Iterator[pa.RecordBatch]
P = TypeVar("P")


def maybe_in(df: DataFrame, column: str | Sequence[str], filter: Filter | Shared) -> Column:
    """A column of booleans: False for rows whose key is certainly not in the filter.

    True is wrong at the filter's false positive rate; null means that a key column is null. A key of several columns is made as in
    `Filter.contains_rows`; in a filter of rows (`umbel.Attributes`) columns are looked up by name. A filter is sent to the
    executors with each call; a `Shared` one is sent once.

    Raises `TypeError` unless the columns hold strings, binary or integers, `ValueError` for a filter with a secret, one of
    other columns, or a `Shared` that is closed.

    >>> mail.where(maybe_in(mail, "sender", blocked))  # doctest: +SKIP
    """
    names = names_of(column)
    types = filter_columns(df, names)
    shared = filter if isinstance(filter, Shared) else Shared(filter, df.sparkSession)
    if shared.closed:
        raise ValueError("this Shared is closed; share the filter again")
    fields = shared.filter.names if isinstance(shared.filter, umbel.Attributes) else None
    if fields is not None and not set(names) <= set(fields):
        raise ValueError(f"the filter holds rows of {', '.join(fields)}, found {', '.join(names)}; rename the columns")
    held = [] if fields is not None else fields_in(shared.filter)
    # A key of one field is its bytes, whatever its name.
    if held and held != names and (len(held), len(names)) != (1, 1):
        raise ValueError(f"the filter was built from {', '.join(held)}, found {', '.join(names)}; rename the columns if they hold the same")
    if len(names) > 1 and dict(shared.filter.description).get("type") in ("bytes", "integer"):
        raise ValueError(f"the filter was built from one column, found {', '.join(names)}; look up one")
    changes = [value for name, value in shared.filter.description if name == "normalization" or (name, value) in _PREFIXES]
    if changes:
        raise ValueError(f"the filter's keys were made with {', '.join(changes)}, which Spark does not do; build it from the keys as they are")
    if len(names) == 1 and fields is None:
        types = [asked_as(shared.filter, types[0])]
    columns = [java_key(field) for field in types] if shared.in_java else [F.col(quoted(name)) for name in names]
    missing = _any_null(columns)
    if not shared.in_java:
        columns = [there(column) if isinstance(field.dataType, T.IntegralType) else column for column, field in zip(columns, types)]
    if len(names) == 1 and fields is None:
        found = found_in(shared, columns[0])
    else:
        # A key may name a column twice; a struct that goes to Python may not.
        places = [str(place) for place in range(len(names))] if fields is None and not held else names
        parts = zip(places, columns) if shared.in_java else dict(zip(places, columns)).items()
        row = F.struct(*[column.alias(place) for place, column in parts])
        found = found_in(shared, row, lambda rows: shared.filter.contains_rows(rows, places))
    if shared is not filter:
        leave(shared)
    # A row with a null has no key.
    return F.when(~missing, found)


def asked_as(filter: Filter, field: T.StructField) -> T.StructField:
    """The column in the form that the filter's keys have: in one of text, integers are their digits."""
    form = dict(filter.description).get("type")
    integers = isinstance(field.dataType, T.IntegralType)
    if form == "text" and integers:
        return T.StructField(field.name, T.StringType())
    if form == "integer" and not integers or form == "bytes" and integers:
        held, other = ("integers", "bigint") if form == "integer" else ("text and bytes", "string")
        found = field.dataType.simpleString()
        raise TypeError(f'column {field.name}: the filter holds {held}, found {found}; cast("{other}") a column of the same keys')
    return field


def fields_in(filter: Filter) -> list[str]:
    """The fields that a filter's keys were made of, if it names them."""
    return [value for name, value in filter.description if name == "field"]


def there(number: Column) -> Column:
    """A column of integers with 0 for nulls; the answers to these are unused. With nulls, pandas would use floats and lose digits."""
    return F.coalesce(number, F.lit(0))


def found_in(shared: Shared, key: Column, answer: Callable[[Any], Any] | None = None) -> Column:
    """Whether the values of a column may be keys of a filter: by Java, or by Python's `answer` to an Arrow column."""
    if shared.in_java:
        return may_contain(key, shared._broadcast)
    return arrow_function(answer or (lambda keys: shared.filter.contains_many(keys, threads=1)))(key)


def _any_null(columns: Sequence[Column]) -> Column:
    missing = columns[0].isNull()
    for column in columns[1:]:
        missing = missing | column.isNull()
    return missing


def arrow_function(answer: Callable[[Any], Any]) -> Callable[[Column], Column]:
    """A function of an Arrow column that answers with booleans."""
    if hasattr(F, "arrow_udf"):

        def of_arrow(keys: pa.Array) -> pa.Array:
            return answer(keys)

        return F.arrow_udf(of_arrow, "boolean")  # type: ignore[no-any-return]
    return _pandas_function(answer)


def _pandas_function(answer: Callable[[Any], Any]) -> Callable[[Column], Column]:
    """The same in Spark 4.0, which has no functions of Arrow columns."""
    import pandas as pd  # type: ignore[import-untyped,unused-ignore]
    from pyspark.sql.pandas.functions import pandas_udf

    def arrow_of(keys: Any) -> Any:
        if isinstance(keys, pd.DataFrame):
            return pa.RecordBatch.from_pandas(keys, preserve_index=False).to_struct_array()
        return pa.Array.from_pandas(keys)

    def of_pandas(keys: Any) -> Any:
        return pd.Series(answer(arrow_of(keys)).to_numpy(zero_copy_only=False))

    # Spark reads the kind of function from these.
    of_pandas.__annotations__ = {"keys": pd.Series, "return": pd.Series}
    return pandas_udf(of_pandas, "boolean")  # type: ignore[call-overload,no-any-return]


def build(
    df: DataFrame,
    column: str | Sequence[str],
    fpp: float | None = None,
    *,
    memory: int | str | None = None,
    keys: float | None = None,
    kind: str = "blocked",
    format: str | None = None,
) -> Filter:
    """A filter of the keys in a column, or in the rows of several.

    Without `keys`, their number is estimated from a sample, which reads the column once more. `fpp` (0.01) or `memory` (bytes of the
    filter, or text such as ``"64MiB"``), and `kind` are as in `umbel.Bloom`; with `format`, such as ``"spark"``, the filter is
    another system's, made as by `umbel.Foreign`. Rows with a null are skipped.

    The result is on the driver, which needs memory for two copies of it; each core of an executor makes one of the same size.

    Raises `TypeError` unless the columns hold strings, binary or integers, `ValueError` for impossible sizes.
    """
    names = names_of(column)
    types = filter_columns(df, names)
    check_finite(df)
    columns = df.select(*[F.col(quoted(name)).alias(str(place)) for place, name in enumerate(names)])
    if fpp is not None and memory is not None:
        raise ValueError("fpp and memory: with the keys of the table, one determines the other; leave one out")
    if keys is None:
        keys = max(1, sample(df, key_hash(fields_of(df, names), nulls=False)).planned_keys)
    if format is None:
        return union(columns, lambda: noted(umbel.Bloom(keys, fpp, kind=kind, memory=memory), types))
    if memory is not None:
        raise ValueError("memory sizes umbel's own filters; give keys and fpp for another system's")
    return union(columns, lambda: umbel.Foreign(format, keys, fpp))


def noted(filter: Filter, types: Sequence[T.StructField]) -> Filter:
    """An empty filter that notes what its keys will be; a key of several columns is made of texts, and names them."""
    if len(types) > 1:
        filter.describe([*(("field", field.name) for field in types), ("type", "text")])
    else:
        filter.describe([("type", "integer" if isinstance(types[0].dataType, T.IntegralType) else "bytes")])
    return filter


def union(df: DataFrame, make: Callable[[], Filter], empty: Filter | None = None) -> Filter:
    """The filter that `make` makes on the executors, with the keys of all rows added to it; `empty` without rows."""

    def add(filter: Filter, batch: pa.RecordBatch) -> None:
        if batch.num_columns == 1:
            filter.add_many(batch.column(0), threads=1)
        else:
            names = fields_in(filter) or batch.schema.names
            filter.add_rows(pa.table(dict(zip(names, batch.columns))), names)

    empty = make() if empty is None else empty
    java: Callable[[DataFrame], DataFrame] | None = None
    if isinstance(empty, umbel.Bloom) and empty.kind == "blocked" and knows(empty, data := empty.to_bytes(), df.sparkSession):
        java = lambda rows: filled(rows, data, _PIECES)
    whole = gather(df, make, add, operator.ior, empty.nbytes, java)
    return empty if whole is None else whole


def gather(
    df: DataFrame,
    start: Callable[[], P],
    add: Callable[[P, pa.RecordBatch], None],
    join: Callable[[P, P], P],
    nbytes: int,
    java: Callable[[DataFrame], DataFrame] | None = None,
) -> P | None:
    """What `join` makes of the parts that `start` and `add` make of the rows, on the executors; None without rows.

    Parts are pickled, to about `nbytes`. They are joined in any order, `_FAN_IN` per task, as a tree; a few small ones by the
    driver. `java` makes the pieces of the first parts in place of `start` and `add`.
    """

    def partial(batches: Batches) -> Batches:
        part = None
        for batch in batches:
            if part is None:
                part = start()
            add(part, batch)
        if part is not None:
            yield from _pieces(part)

    def level(batches: Batches) -> Batches:
        joined = None
        for part in _whole(batches):
            joined = part if joined is None else join(joined, part)
        if joined is not None:
            yield from _pieces(joined)

    together = cores(df)
    count = max(together, min(4 * together, _PARTIALS // max(nbytes, 1)))
    rows = df.coalesce(count)
    parts = java(rows) if java else rows.mapInArrow(partial, _PIECES)
    if count <= _FAN_IN and count * nbytes <= _FETCH:
        # As little work for the driver as for a task, and no shuffle.
        whole = list(_whole(parts.toArrow().to_batches()))
        return reduce(join, whole) if whole else None
    while count > 1:
        count = -(-count // _FAN_IN)
        parts = to_partitions(parts, count, F.expr(f"place div {_FAN_IN}")).mapInArrow(level, _PIECES)
    return next(_whole(_fetched(parts, nbytes)), None)


def cores(df: DataFrame) -> int:
    """The number of tasks that run together: on the executors that are running, or that were requested or may be started."""
    spark = df.sparkSession
    conf = spark.sparkContext.getConf()
    if conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        return max(_slots(spark), int(spark.conf.get("spark.sql.shuffle.partitions") or 200))
    if _slots(spark) == 0:
        # No executor has started. Spark starts the first task only when most are running, so a small job waits for them.
        spark.range(0, 1, 1, 1).count()
    asked = int(conf.get("spark.executor.instances") or 0) * int(conf.get("spark.executor.cores") or 1)
    return max(1, _slots(spark), asked)


def _slots(spark: SparkSession) -> int:
    context: Any = spark.sparkContext._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


def to_partitions(df: DataFrame, count: int, place: Column) -> DataFrame:
    """Rows in the partition that `place` numbers, modulo `count`; Spark 4.0 only keeps rows of one number together."""
    number = F.pmod(place, F.lit(count)).cast("int")
    return df.repartitionById(count, number) if hasattr(df, "repartitionById") else df.repartition(count, number)


def _pieces(part: Any) -> Batches:
    context = TaskContext.get()
    assert context is not None, "parts are made in tasks"
    data = pickle.dumps(part, protocol=5)
    for at in range(0, len(data), _PIECE):
        row = {"place": context.partitionId(), "at": at, "size": len(data), "piece": data[at : at + _PIECE]}
        yield pa.RecordBatch.from_pylist([row])


def _whole(batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    """Yields each part as soon as all its pieces have arrived, in any order."""
    begun: dict[int, tuple[bytearray, list[int]]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            data, missing = begun.setdefault(row["place"], (bytearray(row["size"]), [row["size"]]))
            data[row["at"] : row["at"] + len(row["piece"])] = row["piece"]
            missing[0] -= len(row["piece"])
            if missing[0] == 0:
                del begun[row["place"]]
                # Java makes the file of a filter.
                yield umbel.from_bytes(data) if data.startswith(MAGIC) else pickle.loads(data)
    if begun:
        raise RuntimeError(f"{len(begun)} parts of a filter arrived without all their pieces")


def _fetched(parts: DataFrame, nbytes: int) -> Batches:
    """The pieces, for the driver, about `_FETCH` bytes per job."""
    turns = -(-nbytes // _FETCH)
    if turns > 1:
        parts = to_partitions(parts, turns, F.expr(f"at div {_FETCH}"))
    for row in parts.toLocalIterator():
        yield pa.RecordBatch.from_pylist([row.asDict()])
