"""Tables of pandas, Polars and Arrow as inputs and results of jobs, and columns of answers from filters.

Tables are read and made with pyarrow: a value has the same text in every library.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from operator import index
from typing import TYPE_CHECKING, Any

from ._reports import Report

if TYPE_CHECKING:
    from ._umbel import Lines as _Lines, Map, Window

# Rows of a table that are written together.
_ROWS = 1 << 16
# The zeros at the end of the fraction of a time, of which there are more in a column of a finer unit.
_ZEROS = r"(\.\d*[1-9])0+(Z?)$|\.0+(Z?)$"


def _library(value: Any) -> tuple[str, str]:
    """The library that a value's class is of, or extends one of, and the name of that class."""
    for of in type(value).__mro__:
        root = of.__module__.partition(".")[0].lstrip("_")
        if root in ("pandas", "polars", "pyarrow", "duckdb"):
            return root, of.__name__
    return "", ""


def is_table(value: Any) -> bool:
    """Whether it has rows of columns."""
    return _is_dataset(value) or _library(value) in {
        ("pandas", "DataFrame"),
        ("polars", "DataFrame"),
        ("polars", "LazyFrame"),
        ("polars", "_CollectBatches"),
        ("pyarrow", "Table"),
        ("pyarrow", "RecordBatch"),
        ("pyarrow", "RecordBatchReader"),
        ("pyarrow", "Scanner"),
        ("duckdb", "DuckDBPyRelation"),
    }


def _is_dataset(value: Any) -> bool:
    """Whether it is a dataset of pyarrow, which has classes for files, tables in memory, and unions of these."""
    return _library(value)[0] == "pyarrow" and hasattr(value, "scanner")


def parquet(path: str) -> Any:
    """The rows of a Parquet file."""
    _pyarrow("a Parquet file as an input")
    import pyarrow.dataset  # type: ignore[import-untyped,unused-ignore]

    return pyarrow.dataset.dataset(path, format="parquet")


def is_relation(value: Any) -> bool:
    """Whether it is one of DuckDB, whose connection has one open result at a time."""
    return _library(value)[0] == "duckdb"


def _pyarrow(what: str) -> Any:
    try:
        import pyarrow  # type: ignore[import-untyped,unused-ignore]
        import pyarrow.compute  # type: ignore[import-untyped,unused-ignore]
        import pyarrow.csv  # type: ignore[import-untyped,unused-ignore]
        import pyarrow.json  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise ImportError(f"{what} needs pyarrow; pip install pyarrow") from None
    return pyarrow


class Rows(io.RawIOBase):
    """The rows of a table as a file of CSV, with a header; null is nothing between delimiters. If it is to be `whole`, it is read
    into memory, where it could not be read while others are."""

    # What jobs know it by.
    _umbel_rows = True

    def __init__(self, table: Any, number: int, delimiter: str, whole: bool) -> None:
        self._pa = pa = _pyarrow("a table as an input")
        library, name = _library(table)
        if library == "pandas":
            table = pa.Table.from_pandas(table, preserve_index=False)
        elif library == "duckdb" and whole:
            table = table.to_arrow_table()
        elif name == "LazyFrame":
            table = table.collect_batches()
        elif _is_dataset(table):
            table = table.scanner().to_reader()
        elif name == "Scanner":
            table = table.to_reader()
        if isinstance(table, (pa.Table, pa.RecordBatch)):
            table.validate()
        reader = table if isinstance(table, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(table)
        if not reader.schema.names:
            raise ValueError(f"input {number + 1}: a table without columns has no rows to compare")
        self.schema = pa.schema([(field.name, self._written(field, number)) for field in reader.schema])
        self._delimiter, self._left = delimiter, b""
        self._parts = self._texts(reader)

    def _written(self, field: Any, number: int) -> Any:
        """The type that a column is written as, and read back."""
        pa, types, of = self._pa, self._pa.types, field.type
        if types.is_dictionary(of):
            of = of.value_type
        if types.is_string(of) or types.is_large_string(of) or types.is_string_view(of) or types.is_null(of):
            return pa.string()
        if types.is_nested(of) or types.is_binary(of) or types.is_large_binary(of) or types.is_fixed_size_binary(of) or types.is_binary_view(of) or types.is_interval(of):
            raise TypeError(f"input {number + 1}: column {field.name} of {field.type} has no text in CSV; leave it out, or cast it to text")
        # What pyarrow can compute with.
        return pa.float32() if types.is_float16(of) else of

    def _texts(self, reader: Any) -> Iterator[bytes]:
        pa, header = self._pa, io.StringIO()
        csv.writer(header, delimiter=self._delimiter, lineterminator="\n").writerow(reader.schema.names)
        yield header.getvalue().encode()
        options = pa.csv.WriteOptions(include_header=False, delimiter=self._delimiter)
        for batch in reader:
            for start in range(0, batch.num_rows, _ROWS):
                out, columns = io.BytesIO(), batch.slice(start, _ROWS).columns
                columns = [self._text(column, of) for column, of in zip(columns, self.schema.types)]
                pa.csv.write_csv(pa.RecordBatch.from_arrays(columns, self.schema.names), out, options)
                yield out.getvalue()

    def _text(self, column: Any, of: Any) -> Any:
        """A column as it is written: values that are equal have one text, whatever the unit and the time zone."""
        pa, types = self._pa, self._pa.types
        if types.is_dictionary(column.type):
            column = column.dictionary.cast(of).take(column.indices)
        if types.is_floating(of):
            return self._float(column.cast(of))
        if not types.is_timestamp(of) and not types.is_time(of):
            return column.cast(of)
        if types.is_timestamp(of) and of.tz:
            column = column.cast(pa.timestamp(of.unit, "UTC"))
        return pa.compute.replace_substring_regex(column.cast(pa.string()), _ZEROS, r"\1\2\3")

    def _float(self, column: Any) -> Any:
        """A column of floats, of which whole ones have the text of integers; from 10¹⁰ on, pyarrow writes them with an exponent."""
        pa, compute = self._pa, self._pa.compute
        # Zero has one text, too.
        column = compute.add(column, pa.scalar(0, column.type))
        is_whole = compute.and_(compute.equal(compute.trunc(column), column), compute.less(compute.abs(column), 2.0**63))
        if compute.all(is_whole).as_py():
            return column.cast(pa.int64())
        is_long = compute.fill_null(compute.and_(is_whole, compute.greater_equal(compute.abs(column), 1e10)), False)
        if not compute.any(is_long).as_py():
            return column
        whole = compute.if_else(is_long, column, pa.scalar(0, column.type)).cast(pa.int64())
        return compute.if_else(is_long, whole.cast(pa.string()), column.cast(pa.string()))

    def written(self, name: str) -> str:
        """How the values of a column are written: values of two columns are equal only if that is the same, or one is text."""
        of, types = self.schema.field(name).type, self._pa.types
        if types.is_string(of):
            return ""
        if types.is_timestamp(of):
            return "a time in UTC" if of.tz else "a time without a zone"
        if types.is_decimal(of) and of.scale > 0:
            return f"a decimal with {of.scale} places"
        if types.is_integer(of) or types.is_floating(of) or types.is_decimal(of):
            return "a number"
        return "a time of day" if types.is_time(of) else str(of)

    def readable(self) -> bool:
        return True

    def readinto(self, to: Any) -> int:
        while not self._left:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._left = part
        size = min(len(to), len(self._left))
        to[:size], self._left = self._left[:size], self._left[size:]
        return size


class _File(io.RawIOBase):
    """The bytes of a result."""

    def __init__(self, lines: _Lines) -> None:
        self._lines, self._at = lines, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence == 2:
            raise io.UnsupportedOperation("a result can seek only from its start; read it to the end for its length")
        self._at = offset + (self._at if whence == 1 else 0)
        return self._at

    def readinto(self, to: Any) -> int:
        part = self._lines._read(self._at, len(to))
        to[: len(part)] = part
        self._at += len(part)
        return len(part)


class Lines:
    """The lines of a result, or its records, in a temporary file that is gone when this object is.

    Iterating reads it from the start; lines are `str`, with bytes that are not UTF-8 as Python's ``surrogateescape`` makes them.
    A record of CSV may have several lines. `len` counts what iterating gives, a header too, in a pass over the file. It is false
    if nothing was found but a header. Readers of other libraries, such as ``pandas.read_csv``, take it for a file of bytes.

    >>> import umbel
    >>> rows = umbel.dedup(["id,name", "7,ann", "7,ann"], records="csv")
    >>> len(rows), rows.to_pandas()["name"].tolist()
    (2, ['ann'])
    """

    def __init__(self, lines: _Lines, verb: str, options: dict[str, Any], schemas: Sequence[Any] = ()) -> None:
        self._lines, self._verb, self._schemas = lines, verb, schemas
        self._records, self._header = options.get("records"), options.get("header", True)
        delimiters = options.get("delimiter") or ","
        self._delimiter = "\t" if self._records == "tsv" else delimiters[0]
        self._quotes = self._records == "csv" and options.get("quotes") != "none"
        self._file: io.BufferedReader | None = None

    @property
    def report(self) -> Report:
        """What the job did."""
        return self._lines.report

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __bool__(self) -> bool:
        return bool(self._lines)

    def __repr__(self) -> str:
        return repr(self._lines)

    def open(self) -> io.BufferedReader:
        """The result as a file of bytes, from its start."""
        return io.BufferedReader(_File(self._lines), 1 << 16)

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes of the result; empty at its end, after which reading starts over. `open` always reads from the start."""
        if self._file is None:
            self._file = self.open()
        part = self._file.read(size)
        if not part and size != 0:
            self._file = None
        return part

    def _columns(self, method: str) -> str:
        if self._verb == "diff":
            raise ValueError(f"{method}: rows of a diff have marks in front; write them to files with added, removed and kept")
        if self._records not in ("csv", "tsv", "jsonl"):
            raise ValueError(f'{method}: lines have no columns; give records="csv", "tsv" or "jsonl"')
        return str(self._records)

    def to_arrow(self, types: Any = None) -> Any:
        """A pyarrow table. Columns of an input table keep its types; other types are inferred from the values.

        `types` names the types of columns, a dict or a schema: ``{"id": "string"}`` keeps the zeros in front of an id.
        """
        records = self._columns("to_arrow")
        pa = _pyarrow("to_arrow")
        named = {name: of for schema in reversed(self._schemas) for name, of in zip(schema.names, schema.types)}
        if types is not None:
            given = types.items() if hasattr(types, "items") else zip(types.names, types.types)
            named.update({name: pa.type_for_alias(of) if isinstance(of, str) else of for name, of in given})
        if records == "jsonl":
            schema = pa.schema(list(named.items())) if named else None
            return pa.json.read_json(self.open(), parse_options=pa.json.ParseOptions(explicit_schema=schema))
        return pa.csv.read_csv(
            self.open(),
            pa.csv.ReadOptions(autogenerate_column_names=not self._header),
            pa.csv.ParseOptions(delimiter=self._delimiter, quote_char=self._quotes and '"', newlines_in_values=self._quotes),
            # Nothing between delimiters is null; a text in quotes is a text.
            pa.csv.ConvertOptions(
                column_types=named, strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""] if named else None
            ),
        )

    def to_pandas(self, **options: Any) -> Any:
        """A pandas table. `options` go to ``pandas.read_csv`` or ``read_json``, such as ``dtype={"id": "str"}``.

        If a table was an input, columns have its types; integers next to missing values become pandas' nullable ones. Without one,
        pandas reads those as floats, which round integers beyond 2⁵³: give ``dtype={"id": "Int64"}``.
        """
        records = self._columns("to_pandas")
        if self._schemas and not options:
            table = self.to_arrow()
            # As floats, pandas' own choice next to missing values, integers beyond 2⁵³ would be rounded.
            rows = table.to_pandas(integer_object_nulls=True)
            for at, column in enumerate(table.columns):
                if column.null_count and (of := str(column.type)).strip("u").startswith("int"):
                    rows.isetitem(at, rows.iloc[:, at].astype(of.replace("int", "Int").replace("u", "U")))
            return rows
        import pandas  # type: ignore[import-untyped,unused-ignore]

        if records == "jsonl":
            return pandas.read_json(self.open(), lines=True, **options)
        return pandas.read_csv(self.open(), **{**self._separated("sep", quoting=3), **({} if self._header else {"header": None}), **options})

    def to_polars(self, **options: Any) -> Any:
        """A Polars table. `options` go to ``polars.read_csv`` or ``read_ndjson``, such as ``schema_overrides``.

        If a table was an input, columns have its types.
        """
        records = self._columns("to_polars")
        import polars

        if self._schemas and not options:
            return polars.from_arrow(self.to_arrow())
        if records == "jsonl":
            return polars.read_ndjson(self.open(), **options)
        return polars.read_csv(self.open(), **{**self._separated("separator", quote_char=None), "has_header": self._header, **options})

    def _separated(self, name: str, **unquoted: Any) -> dict[str, Any]:
        """The delimiter, and that nothing is quoted where quotes have no meaning."""
        return {name: self._delimiter, **({} if self._quotes else unquoted)}


def _listed(column: Any) -> tuple[list[Any], bool]:
    """The values, and whether they are of a column, in which some may be missing."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return getattr(column, method)(), True
    if hasattr(column, "__arrow_c_stream__"):
        raise TypeError("this takes a column, not a stream of batches; call it for each batch")
    return list(column), False


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _each(filter: Map | Window, keys: Any, ask: Callable[[Any, int], Any]) -> tuple[list[Any], bool]:
    """The answers to keys by their places; None to those missing in a column."""
    if isinstance(keys, (str, bytes)):
        raise TypeError(f"a {type(keys).__name__} is one key; put it in a list")
    values, is_column = _listed(keys)
    # Refuses what is no key, before the first one is added, and columns whose Python values are other keys.
    filter.contains_many(keys if is_column else values)
    return [None if is_column and _is_missing(key) else ask(key, place) for place, key in enumerate(values)], is_column


def _column(keys: Any, answers: list[Any], numbers: bool) -> Any:
    """A column of answers in the library of the keys."""
    library, _ = _library(keys)
    if library == "pyarrow":
        import pyarrow as pa

        array = pa.array(answers, pa.uint64() if numbers else pa.bool_())
        return pa.chunked_array([array]) if isinstance(keys, pa.ChunkedArray) else array
    if library == "polars":
        import polars

        return polars.Series(keys.name, answers, dtype=polars.UInt64 if numbers else polars.Boolean)
    if library == "pandas":
        import pandas  # type: ignore[import-untyped,unused-ignore]

        named = {"index": getattr(keys, "index", None), "name": getattr(keys, "name", None)}
        if numbers:
            return pandas.Series(answers, dtype="UInt64", **named)
        return pandas.Series([bool(answer) for answer in answers], dtype="bool", **named)
    import numpy as np

    if not numbers:
        return np.array([bool(answer) for answer in answers], bool)
    there = np.array([answer is not None for answer in answers], bool)
    values = np.array([answer or 0 for answer in answers], np.uint64)
    return values if there.all() else np.ma.MaskedArray(values, ~there)


def get_many(map: Map, keys: Any, default: int | None) -> Any:
    answers, is_column = _each(map, keys, lambda key, _: map.get(key, default))
    return _column(keys, answers, numbers=True) if is_column else answers


def add_new_at(window: Window, keys: Any, ticks: Any) -> Any:
    keys = keys if hasattr(keys, "__len__") else list(keys)
    times = [index(ticks)] * len(keys) if hasattr(ticks, "__index__") and not hasattr(ticks, "__len__") else _listed(ticks)[0]
    if len(times) != len(keys):
        raise ValueError(f"ticks: found {len(times)} for {len(keys)} keys; give one for each, or an int for all")
    for place, tick in enumerate(times):
        if not hasattr(tick, "__index__") or not 0 <= index(tick) < 1 << 64:
            raise ValueError(f"ticks: number {place + 1} is {tick}; give whole numbers from 0 to 2**64 - 1")
    answers, is_column = _each(window, keys, lambda key, place: window.add_at(key, times[place]))
    return _column(keys, answers, numbers=False) if is_column else answers
