"""Keys of rows: which columns have them, and the hash by which tables are pruned.

The set operations use Spark's own 64-bit hash of the key columns, computed in the JVM: only 8 bytes per row reach Python. Keys
that Spark considers equal have equal hashes; other keys with equal hashes only cost a row that is not pruned. Filters that are
built or looked up by name use the keys themselves, as everywhere in umbel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ._session import check_tables

#: The column of hashes in all tables of hashes.
HASH = "umbel_hash"

_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
# Spark compares values of these types, of one type on both sides, as `xxhash64` hashes them: it takes -0.0 for 0.0, and all
# NaN for one.
_PLAIN = (
    T.BinaryType,
    T.BooleanType,
    T.DateType,
    T.DayTimeIntervalType,
    T.DecimalType,
    T.DoubleType,
    T.FloatType,
    T.TimestampNTZType,
    T.TimestampType,
    T.YearMonthIntervalType,
)
BINARY_ORDER = "UTF8_BINARY"


class Unpruned(Exception):
    """The reason why tables cannot be pruned and Spark has to do all the work."""


def _check(name: str, kind: T.DataType) -> None:
    if isinstance(kind, T.StringType):
        if kind.collation != BINARY_ORDER:
            raise Unpruned(f"{name} has the collation {kind.collation}: equal texts may differ in their bytes")
    elif isinstance(kind, T.ArrayType):
        _check(name, kind.elementType)
    elif isinstance(kind, T.StructType):
        for field in kind.fields:
            _check(f"{name}.{field.name}", field.dataType)
    elif not isinstance(kind, _INTEGERS + _PLAIN):
        raise Unpruned(f"{name} is of type {kind.simpleString()}, whose equal values may have different hashes")


def hashed_alike(left: Sequence[T.StructField], right: Sequence[T.StructField]) -> None:
    """Raises `Unpruned` unless Spark compares these columns, pair by pair, as their hashes do."""
    for a, b in zip(left, right, strict=True):
        _check(a.name, a.dataType)
        _check(b.name, b.dataType)
        both_integers = isinstance(a.dataType, _INTEGERS) and isinstance(b.dataType, _INTEGERS)
        # A nested type may differ in where nulls are allowed, which no hash depends on.
        if not both_integers and a.dataType.simpleString() != b.dataType.simpleString():
            types = f"{a.dataType.simpleString()} and {b.dataType.simpleString()}"
            raise Unpruned(f"{a.name} is of different types, {types}; cast one side")


def through_arrow(fields: Sequence[T.StructField]) -> bool:
    """Whether Spark sends these columns to Python, and takes them back."""
    return not any(_has_months(field.dataType) for field in fields)


def _has_months(kind: T.DataType) -> bool:
    if isinstance(kind, T.ArrayType):
        return _has_months(kind.elementType)
    if isinstance(kind, T.StructType):
        return any(_has_months(field.dataType) for field in kind.fields)
    return isinstance(kind, T.YearMonthIntervalType)


def key_hash(fields: Sequence[T.StructField], *, nulls: bool) -> Column:
    """The hash of these columns.

    With `nulls`, nulls are values and equal to each other, as in set operations. Without, the hash of a key with a null is
    null, as in joins, where such a key equals none.
    """
    # Integers of different widths compare as the widest.
    columns = [
        F.col(quoted(field.name)).cast("bigint")
        if isinstance(field.dataType, _INTEGERS)
        else F.col(quoted(field.name))
        for field in fields
    ]
    value = F.xxhash64(*columns)
    if nulls:
        return value
    return F.when(reduce(Column.__and__, [column.isNotNull() for column in columns]), value)


def quoted(name: str) -> str:
    """A quoted column name: dots in it do not reach into structs."""
    return "`" + name.replace("`", "``") + "`"


def names_of(columns: str | Sequence[str]) -> list[str]:
    """One or several names as a list.

    Raises `ValueError` when there are none, and `TypeError` for anything but names.
    """
    if isinstance(columns, (dict, set, frozenset)):
        why = "which has no order; give a list"
        if isinstance(columns, dict):
            why = "which names two; where a table has another name, rename it there with withColumnRenamed()"
        raise TypeError(f"the key is named by its columns, found a {type(columns).__name__}, {why}")
    names = list(columns) if isinstance(columns, Iterable) and not isinstance(columns, (str, Column)) else [columns]
    if not names:
        raise ValueError("name the column of the key, or several")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"the key is named by its columns, found a {type(name).__name__}; give its name, as in \"user\" for F.col(\"user\"), "
                "and add an expression with withColumn() first"
            )
    return names


def fields_of(df: DataFrame, names: Sequence[str]) -> list[T.StructField]:
    """The fields of these columns, as Spark resolves names.

    Raises Spark's `AnalysisException` for a column that is missing or ambiguous.
    """
    return df.select(*[quoted(name) for name in names]).schema.fields


def filter_columns(df: DataFrame, names: Sequence[str]) -> list[T.StructField]:
    """The fields of these columns.

    Raises `TypeError` unless they hold keys of filters: text, bytes or integers.
    """
    check_tables(df)
    fields = fields_of(df, names)
    for field in fields:
        if not isinstance(field.dataType, _INTEGERS + (T.StringType, T.BinaryType)):
            found = field.dataType.simpleString()
            raise TypeError(f"column {field.name}: keys are strings, binary or integers, found {found}; cast it")
        if isinstance(field.dataType, T.StringType) and field.dataType.collation != BINARY_ORDER:
            # A filter sees bytes: it would miss texts that are equal to one of its keys.
            raise TypeError(
                f"column {field.name} has the collation {field.dataType.collation}: equal texts may differ in their bytes; "
                f'use collate("{field.name}", "{BINARY_ORDER}") if they may not'
            )
    return fields
