"""Bloom filters in Parquet files: adds them, and finds the row groups that may hold a key."""

from __future__ import annotations

import datetime
import decimal
import os
import uuid
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from os import PathLike
from typing import TypeAlias

from ._umbel import Foreign, _filters, _may_hold, _parquet, from_bytes

__all__ = ["Column", "Filter", "Key", "Report", "add_filters", "filters", "may_hold", "remove_filters"]

# How keys of a physical type are hashed; texts and bytes as they are.
_TYPES = {"INT32": "i32", "INT64": "i64", "FLOAT": "f32", "DOUBLE": "f64"}

Path: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]
Key: TypeAlias = str | bytes | bytearray | memoryview | int | float | decimal.Decimal | datetime.date | datetime.time | uuid.UUID


@dataclass(frozen=True)
class Filter:
    """A new filter: of which row group, its bytes, the different values in it, and its false positive rate, by its bits."""

    row_group: int
    nbytes: int
    keys: float
    fpp: float


@dataclass(frozen=True)
class Column:
    """What a column got: its filters, and for each reason the row groups without a new one.

    Reasons are `present` (it has one), `empty` (no values), `one_value` (minimum and maximum are the same), `dictionary`
    (all values are in the dictionary), `few_values` (few different ones, each many times) and `read_as_float` (FLOAT16, or
    decimals of more than 38 digits: DuckDB reads them as wider floats, and would miss them in a filter).
    """

    name: str
    filters: tuple[Filter, ...]
    left_out: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Report:
    """What was done. `bytes_written` is 0 if there was nothing to change, and so no file was written."""

    columns: tuple[Column, ...]
    removed: Mapping[str, int]
    unreachable_bytes: int
    bytes_read: int
    bytes_written: int


def add_filters(
    path: Path,
    columns: str | Iterable[str],
    *,
    fpp: float = 0.01,
    out: Path | None = None,
    always: bool = False,
    memory: int | str = "1GiB",
    threads: int | None = None,
) -> Report:
    """Adds a filter per row group of each column, behind the data: in place, or to the file `out`.

    All pages stay byte for byte where they are; in the footer only the positions of the filters change. Name a column in lists
    or structures by its path, as `user.id`. Row groups where a filter would not help are left out, unless `always`; existing
    filters are kept. The file is replaced in one step when all is written.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile, umbel.parquet
    >>> path = tempfile.mkdtemp() + "/events.parquet"
    >>> pq.write_table(pa.table({"id": range(0, 100_000, 7)}), path, use_dictionary=False)
    >>> [(new.row_group, new.nbytes) for new in umbel.parquet.add_filters(path, "id").columns[0].filters]
    [(0, 32785)]
    >>> umbel.parquet.remove_filters(path).removed
    {'id': 1}
    """
    names = [columns] if isinstance(columns, str) else list(columns)
    if not names:
        raise ValueError("columns: name a column to add filters of")
    given = {"add": names, "remove": [], "fpp": fpp, "always": always, "memory": memory, "threads": threads}
    return _report(_parquet(path, out, given))


def remove_filters(path: Path, columns: str | Iterable[str] | None = None, *, out: Path | None = None) -> Report:
    """Removes the filters of these columns, or of all: in place, or to the file `out`.

    The file gets shorter if they directly precede the footer, where `add_filters` puts them. Otherwise only their positions are
    removed, and `unreachable_bytes` of them stay.
    """
    names = [columns] if isinstance(columns, str) else None if columns is None else list(columns)
    return _report(_parquet(path, out, {"add": [], "remove": names}))


def filters(path: Path, column: str, *, memory: int | str = "1GiB") -> dict[int, Foreign]:
    """The filters of a column, by the numbers of their row groups: to look keys up by themselves, without the rest of the file.

    A row group without a filter is left out. Keys are values as the file has them: text or bytes, an int for an integer of 32 or
    64 bits, a float. `may_hold` also converts what has another type there, such as dates, and looks keys up in many files.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile, umbel.parquet
    >>> path = tempfile.mkdtemp() + "/events.parquet"
    >>> pq.write_table(pa.table({"id": range(0, 100_000, 7)}), path, row_group_size=10_000, use_dictionary=False)
    >>> report = umbel.parquet.add_filters(path, "id")
    >>> {group: (7 in of, 98_000 in of) for group, of in umbel.parquet.filters(path, "id").items()}
    {0: (True, False), 1: (False, True)}
    """
    return {group: from_bytes(data, "parquet", _TYPES.get(of)) for group, of, data in _filters(path, column, memory)}


def may_hold(
    files: Path | Iterable[Path], column: str, keys: Iterable[Key], *, memory: int | str = "1GiB"
) -> list[dict[str, tuple[int, ...]]]:
    """Returns for each key the files that may hold it, each with its row groups to read, by the filters of a column.

    A row group without a filter may hold any key. A text is parsed by the type of the column, as on the command line: as a
    number, a date, a time. A value that the column's type cannot hold is in no row group. A file without the column holds no
    key; a warning reports that once per file. Files are read one after the other, and their filters are not kept.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile, umbel.parquet
    >>> path = tempfile.mkdtemp() + "/events.parquet"
    >>> pq.write_table(pa.table({"id": range(0, 100_000, 7)}), path, row_group_size=10_000, use_dictionary=False)
    >>> report = umbel.parquet.add_filters(path, "id")
    >>> umbel.parquet.may_hold(path, "id", [7, 98_000, 5]) == [{path: (0,)}, {path: (1,)}, {}]
    True
    """
    paths = [files] if isinstance(files, str | bytes | PathLike) else list(files)
    if isinstance(keys, str | bytes):
        raise TypeError(f"keys: a {type(keys).__name__} is one key; put it in a list")
    found, told = _may_hold(paths, column, [_text(key) for key in keys], memory)
    for why in told:
        warnings.warn(why, stacklevel=2)
    names = [os.fsdecode(path) for path in paths]
    return [{names[file]: tuple(groups) for file, groups in of_key} for of_key in found]


def _text(key: Key) -> bytes:
    """A key as the command line reads it."""
    if isinstance(key, bytes | bytearray | memoryview):
        return bytes(key)
    if isinstance(key, bool):
        raise TypeError("a column of bool has no filters, because it has only two values")
    if isinstance(key, datetime.date | datetime.time):
        return key.isoformat().encode()
    if not isinstance(key, str | Real | decimal.Decimal | uuid.UUID):
        raise TypeError(f"{key!r} is no key: give text, bytes, a number, a date, a time or a UUID")
    return (format(key, "f") if isinstance(key, decimal.Decimal) else str(key)).encode()


def _report(
    told: tuple[
        list[tuple[str, list[tuple[int, int, float, float]], list[tuple[str, list[int]]]]],
        list[tuple[str, int]],
        int,
        int,
        int,
    ],
) -> Report:
    columns, removed, *numbers = told
    return Report(
        tuple(
            Column(name, tuple(Filter(*new) for new in filters), {reason: tuple(groups) for reason, groups in left_out})
            for name, filters, left_out in columns
        ),
        dict(removed),
        *numbers,
    )
