"""Rows that no earlier run has seen."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import umbel
from umbel import Filter

from ._filters import asked_as, maybe_in, noted, union
from ._hadoop import _Place, saved, update
from ._keys import filter_columns, names_of, quoted
from ._shared import Shared
from ._stable import check_finite

_ALONE = "umbel_alone"
# Present in a folder once all its rows are: the file that Spark writes last, or the first commit of a Delta table.
_COMPLETE = ("_SUCCESS", "_delta_log/00000000000000000000.json")
# Formats that are plain files. Tables, such as Delta's, know their schema, and refuse another.
_FILES = {"avro", "csv", "json", "orc", "parquet", "text", "xml"}


def dedup(
    df: DataFrame,
    column: str | Sequence[str],
    seen: str,
    *,
    keys: float | None = None,
    fpp: float = 1e-6,
) -> New:
    """The rows of `df` whose key is not in the filter at the path `seen`, one for each key.

    If several rows have one key, Spark keeps any of them, as `DataFrame.dropDuplicates` does. A row whose key has a null is kept. A
    row is wrongly dropped at the filter's false positive rate. If there is no file at `seen`, a filter is made for `keys` keys, the
    number expected over all runs, at a rate of `fpp`. A filter that is there keeps its own; the two are not looked at then.

    Nothing is recorded before the rows are out: call `New.write`, or deliver `New.rows` and then call `New.commit`. Tasks
    never change the filter; the driver replaces its file. So a task may fail, be repeated or run twice, and a driver may stop
    at any moment: rows are then offered again, and never lost.

    Raises `ValueError` if the filter is full, cannot be merged, or has to be made and `keys` is missing; `TypeError` unless
    the columns hold strings, binary or integers.
    """
    names = names_of(column)
    types = filter_columns(df, names)
    check_finite(df)
    filter = saved(seen, df.sparkSession)
    if filter is None:
        if keys is None:
            raise ValueError(f"{seen}: there is no filter yet; give keys, the number of keys of all runs to come")
        filter = noted(umbel.Bloom(keys, fpp), types)
    if isinstance(filter, umbel.Attributes):
        raise ValueError(f"{seen}: the filter holds rows of {', '.join(filter.names)}; dedup() needs one of keys, made by dedup(keys=…)")
    receipt = filter.receipt()
    if receipt.over_filled or receipt.room == 0:
        raise ValueError(f"{seen}: the filter is full, with {_many(receipt)}; build a larger one from the rows")
    # A filter that cannot be merged has to be refused before rows go out.
    empty = filter.copy()
    empty.clear()
    empty | empty
    fresh = df.where(~F.coalesce(maybe_in(df, names, filter), F.lit(False)))
    missing = reduce(lambda a, b: a | b, [F.col(quoted(name)).isNull() for name in names])
    # Each row without a key is alone. In one pass: a table may have other rows in another.
    alone = F.when(missing, F.monotonically_increasing_id()).alias(_ALONE)
    rows = fresh.select("*", alone).dropDuplicates([*names, _ALONE]).drop(_ALONE)
    return New(rows, names, seen, empty)


def _many(receipt: umbel.Receipt) -> str:
    return f"about {receipt.keys:,.0f} keys" if math.isfinite(receipt.keys) else "more keys than can be counted"


class New:
    """Rows that no earlier run has seen, and their way into the filter."""

    def __init__(self, rows: DataFrame, names: Sequence[str], seen: str, empty: Filter) -> None:
        #: The rows. Computing them changes nothing.
        self.rows = rows
        self._names = names
        self._seen = seen
        self._empty = empty

    def write(self, out: str, format: str = "parquet", **options: str) -> umbel.Receipt:
        """Writes the rows to the new folder `out`, in a Spark format, and then records their keys.

        If an earlier run wrote `out` completely but stopped before recording it, `out` is only recorded. So the same call can be
        repeated until it succeeds.

        Raises `FileExistsError` if `out` exists and is not complete: remove it first.
        """
        spark = self.rows.sparkSession
        if not _Place(out, spark).exists():
            self.rows.write.format(format).options(**options).save(out)
        elif not any(_Place(f"{out}/{sign}", spark).exists() for sign in _COMPLETE):
            raise FileExistsError(f"{out}: exists, but was not written completely, as _SUCCESS is missing; remove it first")
        reader = spark.read.format(format).options(**options)
        if format.lower() in _FILES:
            # Text has no types, and a folder without rows may have no file with a schema.
            reader = reader.schema(self.rows.schema)
        return self.commit(reader.load(out))

    def commit(self, delivered: DataFrame) -> umbel.Receipt:
        """Records the keys of rows that were delivered: read them back from where they went.

        Rows that are computed again may differ from the delivered ones; recording those would mark rows as seen that went nowhere.
        The file is read again, and locked until it is replaced, to keep keys recorded by others. Returns the filter's receipt, and
        warns if the filter is full now.
        """
        fields = filter_columns(delivered, self._names)
        if len(fields) == 1:
            fields = [asked_as(self._empty, fields[0])]
        columns = [F.col(quoted(field.name)).cast(field.dataType).alias(field.name) for field in fields]
        spark = delivered.sparkSession
        with Shared(self._empty, spark) as empty:
            new = union(delivered.select(*columns), lambda: empty.filter.copy(), self._empty)
        filter = update(self._seen, lambda before: new if before is None else before | new, spark)
        receipt = filter.receipt()
        if receipt.over_filled:
            full = f"the filter is full, with {_many(receipt)}: more rows than planned are dropped wrongly"
            warnings.warn(f"{self._seen}: {full}", stacklevel=2)
        return receipt
