"""Bloom filters for Parquet files that have none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TypeAlias

from ._umbel import _parquet

__all__ = ["Column", "Filter", "Report", "add_filters", "remove_filters"]

Path: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]


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
    (all values are in the dictionary) and `few_values` (few different ones, each many times).
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

    All pages stay byte for byte where they are, and of the footer only the places of the filters change. A column in lists or
    structures is named by its path, as `user.id`. Row groups where a filter is of no use are left out, unless `always`;
    those that have one keep it. The file is replaced in one step when all is written.

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
    return _report(_parquet(path, add=names, remove=[], fpp=fpp, always=always, out=out, memory=memory, threads=threads))


def remove_filters(path: Path, columns: str | Iterable[str] | None = None, *, out: Path | None = None) -> Report:
    """Removes the filters of these columns, or of all: in place, or to the file `out`.

    The file gets shorter where they are the last thing in front of the footer, as `add_filters` puts them. Otherwise only
    their places are forgotten, and `unreachable_bytes` of them stay.
    """
    names = [columns] if isinstance(columns, str) else None if columns is None else list(columns)
    return _report(_parquet(path, add=[], remove=names, out=out))


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
