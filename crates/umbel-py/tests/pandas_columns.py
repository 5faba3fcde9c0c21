"""Columns and tables of pandas, by one version of it, with or without pyarrow: run by test_pandas.py."""

import sys

if sys.argv[1] == "without":

    class Hidden:
        def find_spec(self, name, *_):
            if name.split(".")[0] == "pyarrow":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Hidden())

import numpy as np
import pandas as pd

import umbel

INDEX = [3, 1, 2]


def dtypes():
    for name in ["Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"]:
        yield pd.Series([1, None, 3], index=INDEX, dtype=name, name="key"), [1, None, 3]
        yield pd.Series([1, 2, 3], index=INDEX, dtype=name, name="key"), [1, 2, 3]
    for name in ["int8", "int64", "uint32", ">i8"]:
        yield pd.Series(np.array([1, 2, 3], name), index=INDEX, name="key"), [1, 2, 3]
    yield pd.Series(["a", None, "b"], index=INDEX, name="key"), ["a", None, "b"]
    yield pd.Series(["a", None, "b"], index=INDEX, dtype=object, name="key"), ["a", None, "b"]
    yield pd.Series(["a", float("nan"), 7], index=INDEX, dtype=object, name="key"), ["a", None, 7]
    yield pd.Series([b"a", pd.NA, "b"], index=INDEX, dtype=object, name="key"), [b"a", None, "b"]
    yield pd.Series(["a", None, "b"], index=INDEX, dtype="string[python]", name="key"), ["a", None, "b"]
    yield pd.Series(["x", None, "x"], index=INDEX, dtype="category", name="key"), ["x", None, "x"]
    yield pd.Series([7, None, 7], index=INDEX, dtype=pd.CategoricalDtype([7, 8]), name="key"), [7, None, 7]
    yield pd.Series([None] * 3, index=INDEX, dtype="category", name="key"), [None] * 3
    yield pd.Series([None] * 3, index=INDEX, dtype=object, name="key"), [None] * 3
    yield pd.Series([None] * 3, index=INDEX, dtype="Int64", name="key"), [None] * 3
    if sys.argv[1] == "with":
        import pyarrow as pa

        for dtype in ["string[pyarrow]", pd.ArrowDtype(pa.string()), pd.ArrowDtype(pa.large_string())]:
            yield pd.Series(["a", None, "b"], index=INDEX, dtype=dtype, name="key"), ["a", None, "b"]
        yield pd.Series([1, None, 3], index=INDEX, dtype=pd.ArrowDtype(pa.int64()), name="key"), [1, None, 3]
        words = pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
        yield pd.Series(["x", None, "x"], index=INDEX, dtype=words, name="key"), ["x", None, "x"]


count = 0
for series, keys in dtypes():
    count += 1
    there = [key for key in keys if key is not None]
    expected = umbel.Bloom(100, 1e-9)
    expected.update(there)
    filter = umbel.Bloom(100, 1e-9)
    filter.update(series)
    assert filter == expected, series
    found = filter.contains_many(series)
    assert isinstance(found, pd.Series) and found.dtype == bool and found.name == "key", series
    assert found.index.tolist() == INDEX and found.tolist() == [key is not None for key in keys], series
    new = umbel.Bloom(100, 1e-9).add_new(series)
    assert new.tolist() == [key is not None and key not in keys[:i] for i, key in enumerate(keys)], series
    assert filter.contains_many(series.array).tolist() == found.tolist()
    assert filter.contains_many(pd.Index(series)).tolist() == found.tolist()
    assert filter.contains_many(series[:0]).tolist() == []
    # A table of the same column and another.
    table = pd.DataFrame({"key": series, "other": [7, 8, 9], "name": ["a", "b", "c"]})
    rows = umbel.Bloom(100, 1e-9)
    # A column with a type that Arrow lacks does no harm.
    table["unused"] = [{1}, 2, "c"]
    new = rows.add_rows(table, ["key", "other"])
    assert new.tolist() == [key is not None for key in keys] and new.index.tolist() == INDEX and new.name is None, series
    tuples = [(key, other) for key, other in zip(keys, [7, 8, 9]) if key is not None]
    assert rows.contains_rows(tuples) == [True] * len(there)
    assert rows.contains_rows(table, ["key", "other"]).tolist() == new.tolist()
    assert list(umbel.dedup(series)) == [key.decode() if isinstance(key, bytes) else str(key) for key in dict.fromkeys(there)]
for bad in [pd.Series([1.5]), pd.Series([True]), pd.Series([pd.Timestamp(0)]), pd.DataFrame({"a": ["x"]})]:
    for use in [umbel.Bloom(10).add_many, umbel.Bloom(10).contains_many, umbel.Bloom(10).add_new]:
        try:
            use(bad)
        except TypeError:
            continue
        raise AssertionError(bad)
try:
    umbel.Bloom(10).add_rows(pd.DataFrame({"a": ["x"]}), ["b"])
    raise AssertionError
except KeyError as error:
    assert "no column b; the table has" in str(error)
empty = umbel.Bloom(10)
for nothing in [pd.Series([]), pd.Series([], dtype=float), pd.Series([], dtype="category"), pd.Index([])]:
    assert len(empty.contains_many(nothing)) == len(empty.add_new(nothing)) == 0
frame = pd.DataFrame({"url": ["a", "b", "a"]})
assert frame[umbel.Bloom(10).add_new(frame["url"])]["url"].tolist() == ["a", "b"]
print(pd.__version__, count)
