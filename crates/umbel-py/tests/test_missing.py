"""Missing values: the table in docs/python.md, cell by cell. And nothing is recorded before all keys are checked."""

import decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import umbel

NAN, NAT = float("nan"), np.datetime64("NaT")
FALSE, NULL, NONE = [True, False, True], [True, None, True], None
# For each row of the table: keys of which the second is missing, and the answers. None: a TypeError.
TABLE = {
    "a single key": {
        "None": (None, NONE),
        "NaN": (NAN, NONE),
        "NA": (pd.NA, NONE),
        "NaT": (pd.NaT, NONE),
        "masked": (np.ma.masked, NONE),
    },
    "a list or another iterable": {
        "None": (["a", None, "b"], NONE),
        "NaN": (["a", NAN, "b"], NONE),
        "NA": (["a", pd.NA, "b"], NONE),
        "NaT": (["a", pd.NaT, "b"], NONE),
        "masked": (["a", np.ma.masked, "b"], NONE),
    },
    "a tuple or dict of fields": {
        "None": ([("a", 1), ("b", None), ("c", 3)], NONE),
        "NaN": ([("a", 1), ("b", NAN), ("c", 3)], NONE),
        "NA": ([("a", 1), ("b", pd.NA), ("c", 3)], NONE),
        "NaT": ([("a", 1), ("b", pd.NaT), ("c", 3)], NONE),
        "masked": ([("a", 1), ("b", np.ma.masked), ("c", 3)], NONE),
    },
    "a NumPy array": {
        "None": (np.array(["a", None, "b"], object), FALSE),
        "NaN": (np.array(["a", NAN, "b"], object), FALSE),
        "NA": (np.array(["a", pd.NA, "b"], object), FALSE),
        "NaT": (np.array(["a", NAT, "b"], object), FALSE),
        "masked": (np.ma.array([1, 2, 3], mask=[0, 1, 0]), FALSE),
    },
    "a pandas series, index or array": {
        "None": (pd.Series(["a", None, "b"], dtype=object), FALSE),
        "NaN": (pd.Series(["a", NAN, "b"], dtype=object), FALSE),
        "NA": (pd.Series([1, pd.NA, 3], dtype="Int64"), FALSE),
        "NaT": (pd.Index(["a", pd.NaT, "b"], dtype=object), FALSE),
        "masked": None,
    },
    "a Polars series": {
        "None": (pl.Series(["a", None, "b"]), NULL),
        "NaN": None,
        "NA": None,
        "NaT": None,
        "masked": None,
    },
    "a column of pyarrow or DuckDB": {
        "None": (pa.array(["a", None, "b"]), NULL),
        "NaN": None,
        "NA": None,
        "NaT": None,
        "masked": None,
    },
    "a table of pyarrow or Polars": {
        "None": (pa.table({"a": ["a", "b", "c"], "b": [1, None, 3]}), NULL),
        "NaN": None,
        "NA": None,
        "NaT": None,
        "masked": None,
    },
    "a pandas table": {
        "None": (pd.DataFrame({"a": ["a", None, "c"], "b": [1, 2, 3]}), FALSE),
        "NaN": (pd.DataFrame({"a": pd.Series(["a", NAN, "c"], dtype=object), "b": [1, 2, 3]}), FALSE),
        "NA": (pd.DataFrame({"a": ["a", "b", "c"], "b": pd.array([1, pd.NA, 3], "Int64")}), FALSE),
        "NaT": (pd.DataFrame({"a": pd.Series(["a", pd.NaT, "c"], dtype=object), "b": [1, 2, 3]}), FALSE),
        "masked": None,
    },
}
SHOWN = {str(FALSE): "False", str(NULL): "null", str(NONE): "`TypeError`"}


def test_the_table_in_the_page():
    """The page has this table, with these cells."""
    page = (Path(__file__).parents[3] / "docs" / "python.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in page.splitlines() if line.startswith("|")]
    head = ["keys in", "`None`", "NaN", "NA", "NaT", "masked"]
    start = rows.index(head) + 2
    shown = [[name, *("" if cell is None else SHOWN[str(cell[1])] for cell in cells.values())] for name, cells in TABLE.items()]
    assert rows[start : start + len(TABLE)] == shown


def ask(filter, method, keys):
    if np.ndim(keys) == 0:
        return {"contains": filter.__contains__, "add": filter.add}[method](keys)
    table = isinstance(keys, pa.Table | pd.DataFrame) or isinstance(keys[0], tuple)
    if not table:
        return {"contains": filter.contains_many, "add": filter.add_new}[method](keys)
    names = [] if isinstance(keys, list) else ["a", "b"]
    return {"contains": filter.contains_rows, "add": filter.add_rows}[method](keys, names)


@pytest.mark.parametrize("row, name", [(row, name) for row, cells in TABLE.items() for name, cell in cells.items() if cell])
def test_missing_values(row, name):
    keys, expected = TABLE[row][name]
    filter = umbel.Bloom(100, 1e-9)
    if expected is None:
        for method in ["contains", "add"]:
            with pytest.raises(TypeError, match="leave missing values out"):
                ask(filter, method, keys)
        assert not filter
        return
    added = ask(filter, "add", keys)
    assert list(getattr(added, "to_pylist", lambda: added)()) == expected
    assert round(filter.receipt().keys) == 2
    found = ask(filter, "contains", keys)
    assert list(getattr(found, "to_pylist", lambda: found)()) == expected
    assert type(found) is type(added)
    if not isinstance(keys, pa.Table | pd.DataFrame):
        other = umbel.Bloom(100, 1e-9)
        other.update(keys)
        assert other == filter


MASK = [False, True, False, True, False]


@pytest.mark.parametrize(
    "values",
    [
        *(np.array([1, 2, 3, 4, 5], dtype) for dtype in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]),
        np.array(["a", "b", "c", "d", "e"]),
        np.array([b"a", b"b", b"c", b"d", b"e"]),
        np.array(["a", "b", 3, b"d", 5], object),
    ],
    ids=lambda values: values.dtype.str,
)
def test_masked_arrays(values):
    """Masked items are not keys, whatever the array's layout in memory."""
    there = [value for value, masked in zip(values.tolist(), MASK) if not masked]
    expected = umbel.Bloom(100, 1e-9)
    expected.update(there)
    column = np.ma.array(values, mask=MASK)
    twice = np.ma.array(np.repeat(values, 2), mask=np.repeat(MASK, 2))
    for given in [column, column[::-1], twice[::2]]:
        filter = umbel.Bloom(100, 1e-9)
        mask = np.ma.getmaskarray(given)
        assert filter.add_new(given).tolist() == (~mask).tolist()
        assert filter == expected
        assert filter.contains_many(given).tolist() == (~mask).tolist()
    nothing = umbel.Bloom(100)
    nothing.update(np.ma.array(values, mask=True))
    assert not nothing
    every = umbel.Bloom(100)
    every.update(np.ma.array(values))
    assert every.receipt().keys > 4


def test_masked_arrays_on_several_threads():
    count = 600_000
    values = np.ma.array(np.arange(count), mask=np.arange(count) % 3 == 0)
    one, many = umbel.Bloom(count, 1e-9), umbel.Bloom(count, 1e-9)
    one.add_many(values, threads=1)
    many.add_many(values, threads=3)
    assert one == many
    assert np.array_equal(one.contains_many(values, threads=3), np.arange(count) % 3 != 0)


def test_what_duckdb_fetches():
    import duckdb

    query = "select if(i % 2 = 0, i, null) as number, if(i % 2 = 0, 'key ' || i, null) as text from range(1000) t(i)"
    for name, values in duckdb.sql(query).fetchnumpy().items():
        filter = umbel.Bloom(1000, 1e-9)
        assert filter.add_new(values).tolist() == [i % 2 == 0 for i in range(1000)], name
        assert round(filter.receipt().keys, -1) == 500


def test_dates_are_no_keys_in_objects_either():
    for value in [np.datetime64("2020-01-01"), np.timedelta64(1, "s"), pd.Timestamp(0), decimal.Decimal(7), np.float32(1)]:
        filter = umbel.Bloom(10)
        with pytest.raises(TypeError):
            filter.add(value)
        with pytest.raises(TypeError):
            filter.add_new(np.array(["a", value], object))
        assert not filter


def test_null_rows_are_no_rows():
    """A row that is null as a whole, and rows of a dictionary, of one without entries, and of a column of nulls."""
    rows = pa.StructArray.from_arrays([pa.array(["x", "y", "z"])], ["a"], mask=pa.array([False, True, False]))
    empty = pa.DictionaryArray.from_arrays(pa.array([None] * 3, pa.int8()), pa.array([], pa.string()))
    holes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), pa.array(["x", None]))
    blank = pa.DictionaryArray.from_arrays(pa.array([0, 0, None], pa.int8()), pa.nulls(1))
    for given, expected in [
        (rows, [True, None, True]),
        (pa.table({"a": holes}), [True, None, False]),
        (pa.table({"a": empty}), [None] * 3),
        (pa.table({"a": blank}), [None] * 3),
        (pa.table({"a": pa.nulls(3)}), [None] * 3),
        (pa.chunked_array([rows, rows]), [True, None, True, False, None, False]),
    ]:
        filter = umbel.Bloom(100, 1e-9)
        assert filter.add_rows(given, ["a"]).to_pylist() == expected
        assert round(filter.receipt().keys) == expected.count(True)
        rows_of = umbel.Attributes(["a"], 100, 1e-9)
        assert rows_of.add_rows(given, ["a"]).to_pylist() == expected
        assert rows_of.contains_rows(given, ["a"]).to_pylist() == [None if new is None else True for new in expected]
    for column in [holes, empty, blank]:
        filter = umbel.Bloom(100, 1e-9)
        assert filter.add_new(column).null_count == umbel.Bloom(10).contains_many(column).null_count > 0
    frame = pl.DataFrame({"a": ["x", None]})
    assert umbel.Bloom(10).add_rows(frame, ["a"]).to_list() == [True, None]


COUNT = 3000


class Bad:
    def __repr__(self):
        return "<bad>"


def late(values, bad):
    return [*values[:-1], bad]


NUMBERS, TEXTS = list(range(COUNT)), [f"key {i}" for i in range(COUNT)]


@pytest.mark.parametrize(
    "keys",
    [
        late(TEXTS, Bad()),
        iter(late(TEXTS, 1.5)),
        (key for key in late(NUMBERS, 2**64)),
        tuple(late(TEXTS, "\ud800")),
        dict.fromkeys(late(TEXTS, None)),
        np.array(late(TEXTS, Bad()), object),
        np.array(late(TEXTS, "\ud800")),
    ],
    ids=["list", "iterator", "generator", "tuple", "dict", "objects", "text"],
)
def test_nothing_is_recorded_before_all_keys_are_checked(keys):
    filter, counting = umbel.Bloom(COUNT), umbel.Counting(COUNT)
    with pytest.raises((TypeError, ValueError)):
        filter.add_new(keys)
    assert not filter
    counting.update(TEXTS)
    before = counting.copy()
    if not hasattr(keys, "__next__"):
        with pytest.raises((TypeError, ValueError)):
            counting.remove_many(keys)
        assert counting == before


@pytest.mark.parametrize(
    "rows, names",
    [
        ([*((text, 1) for text in TEXTS), ("a", None)], []),
        ([*((text, 1) for text in TEXTS), ("a",)], []),
        ([*({"a": text} for text in TEXTS), {"b": 1}], ["a"]),
        (pa.table({"a": TEXTS, "b": [1.5] * COUNT}), ["a", "b"]),
        (pa.table({"a": TEXTS}), ["a", "b"]),
    ],
)
def test_nothing_is_recorded_before_all_rows_are_checked(rows, names):
    filter = umbel.Bloom(COUNT)
    with pytest.raises((TypeError, ValueError, KeyError)):
        filter.add_rows(rows, names)
    assert not filter


@pytest.mark.parametrize("keys", [late(NUMBERS, 2**31), np.array(late(NUMBERS, 2**31)), pa.array(late(NUMBERS, 2**31))])
def test_nothing_is_recorded_in_another_systems_filter(keys):
    filter = umbel.Foreign("guava", COUNT, key_type="i32")
    with pytest.raises(ValueError, match="32 bits"):
        filter.add_new(keys)
    assert not filter


@pytest.mark.parametrize(
    "keys, kind",
    [
        (pd.RangeIndex(COUNT), np.ndarray),
        (pd.Index(TEXTS), np.ndarray),
        (pd.Series(NUMBERS, dtype="Int64").array, np.ndarray),
        (pd.Series(TEXTS, dtype="string").array, np.ndarray),
        (pd.Series(TEXTS, dtype="category").array, np.ndarray),
        (pd.Series(TEXTS, index=range(COUNT, 2 * COUNT)), pd.Series),
    ],
)
def test_every_column_of_pandas_gets_its_answers(keys, kind):
    filter = umbel.Bloom(COUNT, 1e-9)
    new = filter.add_new(keys)
    assert type(new) is kind and new.dtype == bool and new.all() and len(new) == COUNT
    assert filter.contains_many(keys).all()
    assert not filter.add_new(keys).any()
