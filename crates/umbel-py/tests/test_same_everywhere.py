"""Values of one Parquet file as pyarrow, pandas, Polars and DuckDB read them: the conversions of docs/python.md make the same keys of them."""

import datetime
import os
import subprocess
import sys
import uuid
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import umbel

UUIDS = [uuid.UUID(int=number) for number in (1, 2**127 + 5, 2**64)]
DAYS = [datetime.date(1969, 12, 31), datetime.date(2026, 11, 28), datetime.date(2300, 1, 1)]
TIMES = [datetime.datetime(2026, 11, 28, 12, 30, 0, 250), datetime.datetime(1969, 12, 31, 23), datetime.datetime(2026, 1, 1)]
MICROSECONDS = pa.timestamp("us")


@pytest.fixture
def path(tmp_path):
    table = pa.table({"u": pa.array([value.bytes for value in UUIDS], pa.uuid()), "d": pa.array(DAYS), "t": pa.array(TIMES, MICROSECONDS)})
    pq.write_table(table, tmp_path / "file")
    return tmp_path / "file"


def read(path):
    """Each library's columns; DuckDB's as its Arrow, and cast in SQL."""
    database = duckdb.connect()
    yield "pyarrow", pq.read_table(path)
    yield "Polars", pl.read_parquet(path)
    yield "pandas", pd.read_parquet(path)
    yield "DuckDB", database.sql(f"select u::blob as u, epoch_us(d) as d, epoch_us(t) as t from read_parquet('{path}')").to_arrow_table()


def micros(column):
    """As the errors and the page say it."""
    match column:
        case pa.ChunkedArray():
            return column if column.type == pa.int64() else column.cast(MICROSECONDS).cast("int64")
        case pl.Series():
            return column.cast(pl.Datetime("us")).cast(pl.Int64)
        case pd.Series() if column.dtype == object:
            return pa.array(column).cast(MICROSECONDS).cast("int64")
        case _:
            return column.astype("datetime64[us]").astype("int64")


def as_bytes(column):
    return [u.bytes for u in column] if isinstance(column, pd.Series) else column


def test_uuids_and_times_are_the_same_keys(path):
    epoch = datetime.datetime(1970, 1, 1)
    ints = lambda times: [(time - epoch) // datetime.timedelta(microseconds=1) for time in times]
    for name, convert, keys in [
        ("u", as_bytes, [value.bytes for value in UUIDS]),
        ("d", micros, ints([datetime.datetime.combine(day, datetime.time()) for day in DAYS])),
        ("t", micros, ints(TIMES)),
    ]:
        made = umbel.Bloom(100, 1e-9)
        made.update(keys)
        for library, table in read(path):
            filter = umbel.Bloom(100, 1e-9)
            filter.add_many(convert(table[name]))
            assert filter == made, (library, name)
            assert all(filter.contains_many(convert(table[name]))), (library, name)


ZONE = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize("column,words", [
    (UUIDS, r"not uuid.UUID; give its 16 bytes: \[u.bytes for u in column\]"),
    (pd.Series(UUIDS), r"u.bytes for u in column"),
    (pl.Series(UUIDS, dtype=pl.Object), r"u.bytes for u in column"),
    (np.array(UUIDS), r"u.bytes for u in column"),
    (TIMES, r'pyarrow.array\(column\).cast\(pyarrow.timestamp\("us"\)\).cast\("int64"\)'),
    (DAYS, r'pyarrow.timestamp\("us"\)'),
    (pd.Series(DAYS), r'pyarrow.timestamp\("us"\)'),
    ([pd.Timestamp(2026, 1, 1)], r'pyarrow.timestamp\("us"\)'),
    ([np.datetime64("2026-01-01")], r'pyarrow.timestamp\("us"\)'),
    (pd.Series(TIMES).dt.tz_localize(ZONE), r'pyarrow.timestamp\("us"\)'),
    (pd.Series(TIMES), r'astype\("datetime64\[us\]"\).astype\("int64"\)'),
    (np.array(TIMES, "datetime64[ns]"), r'astype\("datetime64\[us\]"\).astype\("int64"\)'),
    (np.array([1], "timedelta64[s]"), r'astype\("timedelta64\[us\]"\).astype\("int64"\)'),
    (pa.array(DAYS), "cast it to a timestamp of microseconds, and that to int64"),
    (pl.Series(TIMES), "cast it to a timestamp of microseconds, and that to int64"),
    (np.array([1.0]), r'astype\("int64"\)'),
    (np.array([True]), r'astype\("int64"\)'),
    (pa.array([True]), "cast it to int64"),
])
def test_errors_name_the_conversion(column, words):
    filter = umbel.Bloom(100)
    for use in (filter.add_many, filter.contains_many, filter.add_new):
        with pytest.raises(TypeError, match=words):
            use(column)
    assert len(filter) == 0


def test_times_with_a_zone_are_the_same_keys():
    moments = [time.replace(tzinfo=ZONE) for time in TIMES]
    keys = [(moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(microseconds=1) for moment in moments]
    for column in (moments, pd.Series(moments), pd.Series(TIMES).dt.tz_localize(ZONE)):
        assert pa.array(column).cast(MICROSECONDS).cast("int64").to_pylist() == keys
    assert pl.Series(moments).cast(pl.Datetime("us")).cast(pl.Int64).to_list() == keys


def test_polars_objects_are_read():
    filter = umbel.Bloom(100, 1e-9)
    filter.add_many(pl.Series("n", ["a", 7, None], dtype=pl.Object))
    found = filter.contains_many(pl.Series("n", ["a", 7, b"b", None], dtype=pl.Object))
    assert found.name == "n" and found.to_list()[:3] == [True, True, False] and not found[3]
    assert list(umbel.dedup(pl.Series(["a", 7, "a"], dtype=pl.Object))) == ["a", "7"]
    frame = pl.DataFrame({"u": pl.Series(UUIDS, dtype=pl.Object), "n": [1, 2, 3]})
    with pytest.raises(TypeError, match="column u: .* objects of Python"):
        filter.add_rows(frame, ["n", "u"])
    assert filter.add_rows(frame, ["n"]).all()


def test_polars_nulls_alone_are_a_column():
    nulls, frame = pl.Series([None, None]), pl.DataFrame({"a": [1, 2], "b": [None, None], "c": [[None], []]})
    filter = umbel.Bloom(100)
    filter.add_many(nulls)
    assert len(filter) == 0 and filter.contains_many(nulls).to_list() == [None, None]
    assert filter.add_rows(frame, ["a"]).all() and umbel.Bloom(100).contains_rows(frame, ["a", "b"]).to_list() == [None, None]
    assert list(umbel.dedup(nulls)) == []


RELATIONS = """
import duckdb, umbel
database = duckdb.connect()
database.execute("create table e as select range as id, 'u' || range as u from range(5000)").fetchall()
filter = umbel.Bloom(10_000, 1e-9)
assert filter.add_rows(database.table("e"), ["id", "u"]).sum() == 5000 and abs(len(filter) - 5000) < 300
assert filter.contains_rows(database.sql("select * from e where id < 10"), ["id", "u"]).tolist() == [True] * 10
assert filter.contains_rows([(7, "u7"), (7, "u8")]) == [True, False]
try:
    filter.add_many(database.sql("select id, u from e"))
    raise SystemExit("a relation is no column")
except TypeError as error:
    assert "use add_rows()" in str(error)
# Nothing is left open.
assert database.sql("select count(*) from e").fetchall() == [(5000,)]
print(duckdb.__version__)
"""
FOLDERS = ["", *filter(None, os.environ.get("UMBEL_DUCKDB", "").split(os.pathsep))]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: Path(folder).name or "installed")
def test_relations_of_duckdb_are_tables(folder):
    """`UMBEL_DUCKDB` has folders of other versions than the one installed."""
    path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    ended = subprocess.run([sys.executable, "-c", RELATIONS], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert not folder or folder.endswith(ended.stdout.strip())


def test_a_window_by_time_that_is_too_full_warns():
    for add in (lambda window: window.update(range(20_000)), lambda window: [window.add_at(key, 5) for key in range(20_000)]):
        window = umbel.Window(1000, 0.01, span=60)
        with pytest.warns(umbel.OverfilledWarning, match="planned for 1000") as warned:
            add(window)
        assert len(warned) == 1
