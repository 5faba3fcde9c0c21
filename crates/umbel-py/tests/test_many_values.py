"""Values of many keys in a map, and keys of a window with a tick each, against single calls."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies

import umbel

CODES = {f"k{number}": number * 7 for number in range(300)}
COLUMNS = {
    "pyarrow": (pa.array, lambda column: column.to_pylist()),
    "chunked": (lambda values: pa.chunked_array([values[:1], values[1:]], pa.string()), lambda column: column.to_pylist()),
    "Polars": (lambda values: pl.Series("k", values, dtype=pl.String), lambda column: column.to_list()),
    "pandas": (lambda values: pd.Series(values, index=range(5, 5 + len(values)), name="k", dtype="object"), lambda column: [None if pd.isna(value) else int(value) for value in column]),
    "NumPy": (lambda values: np.array(values, object), lambda column: column.tolist()),
    "list": (list, list),
}


@pytest.mark.parametrize(("of", "values"), COLUMNS.values(), ids=COLUMNS)
def test_values_of_many_keys(of, values):
    map = umbel.Map(CODES, fpp=1e-9)
    keys = ["k3", "other", "k299", "k0"] + ([] if of is list else [None])
    none = [] if of is list else [None]
    found = map.get_many(of(keys))
    assert values(found) == [21, None, 2093, 0, *none] and type(values(found)[0]) is int
    assert values(map.get_many(of(keys), 5)) == [21, 5, 2093, 0, *none]
    assert values(map.get_many(of(keys[:1]))) == [21] and len(map.get_many(of([]))) == 0
    if of is COLUMNS["pandas"][0]:
        assert found.name == "k" and found.index.tolist() == [5, 6, 7, 8, 9] and found.dtype == "UInt64"


def test_a_map_of_a_series():
    series = pd.Series([7, 8], index=["a", "b"])
    for items in (series, {"a": 7, "b": 8}, [("a", 7), ("b", 8)], zip(series.index, series)):
        map = umbel.Map(items)
        assert map["a"] == 7 and map.get_many(["b", "a"]) == [8, 7]
    with pytest.raises(TypeError, match="an item is a pair of a key and an int, not 7; give a dict, a series"):
        umbel.Map([7])
    with pytest.raises(TypeError, match="a str is one key"):
        map.get_many("a")
    with pytest.raises(TypeError, match="a key is str, bytes or int, not NoneType"):
        map.get_many([None])


@given(strategies.lists(strategies.tuples(strategies.sampled_from("abc"), strategies.integers(0, 30)), min_size=1))
def test_ticks_against_single_keys(rows):
    many, one = (umbel.Window(100, 1e-6, span=9) for _ in range(2))
    keys, ticks = [row[0] for row in rows], [row[1] for row in rows]
    wanted = [one.add_at(*row) for row in rows]
    assert many.add_new_at(keys, ticks) == wanted and many == one
    for of in (np.array, pd.Series, pl.Series, pa.array):
        column = umbel.Window(100, 1e-6, span=9).add_new_at(of(keys), of(ticks))
        assert (column.to_pylist() if of is pa.array else column.tolist() if of in (np.array, pd.Series) else column.to_list()) == wanted


def test_ticks_of_other_lengths():
    window = umbel.Window(100, 1e-6, span=9)
    assert window.add_new_at(pa.array(["a", None, "a"]), 3).to_pylist() == [True, None, False]
    assert window.add_new_at(iter(["a", "b"]), np.int64(4)) == [False, True]
    for words, keys, ticks in [
        ("ticks: found 1 for 2 keys; give one for each", ["c", "d"], [1]),
        ("ticks: number 2 is -1; give whole numbers", ["c", "d"], [1, -1]),
        ("ticks: number 1 is None; give whole numbers", ["c"], pa.array([None], pa.int64())),
    ]:
        with pytest.raises(ValueError, match=words):
            window.add_new_at(keys, ticks)
        assert "c" not in window


def test_columns_are_checked_as_in_other_calls():
    """Their Python values would be other keys."""
    keys = np.array([b"a", b"\x01\xff\0\0"], "S4")
    window, map = umbel.Window(100, 1e-6, span=9), umbel.Map({b"\x01\xff\0\0": 7})
    for call in (lambda: window.add_new_at(keys, 1), lambda: map.get_many(keys), lambda: window.contains_many(keys)):
        with pytest.raises(TypeError, match="NumPy"):
            call()
    with pytest.raises(TypeError, match="datetime64"):
        window.add_new_at(np.array(["2026-01-01"], "datetime64[ns]"), 1)
    with pytest.raises(TypeError, match="not float"):
        window.add_new_at(["a", 1.5], 1)
    assert "a" not in window
    assert window.add_new_at(["a", "b"], [np.int64(5), np.uint8(6)]) == [True, True]
