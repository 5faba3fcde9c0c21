"""Keys in columns: each library's, against the same keys one by one."""

import array

import numpy as np
import pyarrow as pa
import pytest

import umbel


def filter_of(keys):
    filter = umbel.Bloom(10_000, 1e-9)
    for key in keys:
        filter.add(key)
    return filter


def filled(column):
    filter = umbel.Bloom(10_000, 1e-9)
    filter.add_many(column)
    return filter


def check(column, keys):
    """The column holds these keys; None for nulls."""
    there = [key for key in keys if key is not None]
    expected = filter_of(there)
    assert filled(column) == expected
    half = filter_of(there[::2])
    in_half = [key is not None and key in half for key in keys]
    assert list(half.contains_many(column, threads=1)).__len__() == len(keys)
    return half.contains_many(column), in_half


INTEGERS = [-5, 0, 7, 2**31 - 1]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_numpy_integers(dtype):
    limits = np.iinfo(dtype)
    values = np.array([limits.min, 0, 7, limits.max], dtype)
    found, expected = check(values, [int(value) for value in values])
    assert found.dtype == bool and found.tolist() == expected
    found, expected = check(values[::-1], [int(value) for value in values[::-1]])
    assert found.tolist() == expected
    every_other = np.repeat(values, 2)[::2]
    assert filled(every_other) == filled(values)


def test_numpy_text():
    texts = ["", "a", "é", "日本", "a\0b", "\U0001f600"]
    found, expected = check(np.array(texts), texts)
    assert found.tolist() == expected
    data = [b"", b"a", "é".encode(), b"abc"]
    found, expected = check(np.array(data), data)
    assert found.tolist() == expected
    for keys in (["a", "b", b"x"], [7, 8]):
        found, expected = check(np.array(keys, dtype=object), keys)
        assert found.dtype == bool and found.tolist() == expected
    variable = np.array(["a", "bcd"], dtype=np.dtypes.StringDType())
    found, expected = check(variable, ["a", "bcd"])
    assert found.tolist() == expected


@pytest.mark.parametrize("dtype", ["S0", "U0"])
def test_numpy_text_without_room_for_a_letter(dtype):
    array = np.zeros(3, [("a", dtype)])["a"]
    assert array.dtype.itemsize == 0
    found, expected = check(array, array.tolist())
    assert found.tolist() == expected


def test_numpy_that_is_no_column():
    filter = umbel.Bloom(10)
    for bad in [
        np.array([1.5]),
        np.array([True]),
        np.array([[1, 2]]),
        np.array([[]]),
        np.array(["2020-01-01"], "M8[D]"),
        np.array(1.5),
        np.zeros(3, complex),
    ]:
        with pytest.raises(TypeError):
            filter.add_many(bad)
        with pytest.raises(TypeError):
            filter.contains_many(bad)
    assert not filter


def test_empty_columns():
    filter = umbel.Bloom(10)
    for empty in [[], np.array([], "i8"), np.array([], "S3"), pa.array([], pa.string()), pa.chunked_array([], pa.int64())]:
        filter.add_many(empty)
        assert len(filter.contains_many(empty)) == 0 and len(filter.add_new(empty)) == 0
    assert not filter


def test_other_buffers():
    found, expected = check(array.array("q", INTEGERS), INTEGERS)
    assert list(found) == expected
    found, expected = check(memoryview(array.array("I", [1, 2, 3])), [1, 2, 3])
    assert list(found) == expected


@pytest.mark.parametrize(
    "type, keys",
    [
        (pa.string(), ["", "a", None, "日本", "a" * 100]),
        (pa.large_string(), ["", "a", None, "日本", "a" * 100]),
        (pa.string_view(), ["", "a", None, "日本", "a" * 100]),
        (pa.binary(), [b"", b"\xff", None, b"a" * 100]),
        (pa.large_binary(), [b"", b"\xff", None, b"a" * 100]),
        (pa.binary_view(), [b"", b"\xff", None, b"a" * 100]),
        (pa.binary(3), [b"abc", None, b"\0\0\0"]),
        (pa.int8(), [-1, None, 127]),
        (pa.int16(), [-1, None, 2**15 - 1]),
        (pa.int32(), [-1, None, 2**31 - 1]),
        (pa.int64(), [-1, None, 2**63 - 1]),
        (pa.uint8(), [1, None, 255]),
        (pa.uint16(), [1, None, 65535]),
        (pa.uint32(), [1, None, 2**32 - 1]),
        (pa.uint64(), [1, None, 2**64 - 1]),
        (pa.dictionary(pa.int8(), pa.string()), ["a", None, "b", "a"]),
        (pa.dictionary(pa.int32(), pa.int64()), [5, None, -7, 5]),
        (pa.dictionary(pa.uint16(), pa.large_binary()), [b"x", None, b"x", b""]),
        (pa.null(), [None, None]),
    ],
)
def test_arrow(type, keys):
    column = pa.array(keys, type)
    found, expected = check(column, keys)
    assert isinstance(found, pa.BooleanArray)
    nulls = [None if key is None else answer for key, answer in zip(keys, expected)]
    assert found.to_pylist() == nulls
    # A slice, and chunks.
    tail = column.slice(1)
    found, expected = check(tail, keys[1:])
    chunked = pa.chunked_array([column, tail, column.slice(0, 0)], type)
    found, expected = check(chunked, keys + keys[1:])
    assert isinstance(found, pa.ChunkedArray)
    nulls = [None if key is None else answer for key, answer in zip(keys + keys[1:], expected)]
    assert found.to_pylist() == nulls
    new = umbel.Bloom(100, 1e-9).add_new(chunked)
    seen, firsts = set(), []
    for key in keys + keys[1:]:
        firsts.append(None if key is None else key not in seen)
        seen.add(key)
    assert new.to_pylist() == firsts


def test_arrow_that_is_no_column():
    filter = umbel.Bloom(10)
    for bad in [
        pa.array([1.5]),
        pa.array([True]),
        pa.array([[1]]),
        pa.array([0], pa.timestamp("s")),
        pa.table({"a": [1], "b": [2]}),
        pa.array([1], pa.decimal128(5)),
    ]:
        with pytest.raises(TypeError):
            filter.add_many(bad)


def test_many_keys_on_several_threads():
    count = 600_000
    numbers = np.arange(count)
    texts = pa.array([f"key {i}" if i % 7 else None for i in range(count)])
    words = texts.dictionary_encode()
    for column, kinds in [(numbers, np.ndarray), (texts, pa.BooleanArray), (words, pa.BooleanArray)]:
        one, two = umbel.Bloom(count, 1e-6), umbel.Bloom(count, 1e-6)
        one.add_many(column, threads=1)
        two.add_many(column, threads=3)
        assert one == two
        half = umbel.Bloom(count, 1e-6)
        half.add_many(column[: count // 2])
        answers = [half.contains_many(column, threads=threads) for threads in [1, 2, 5]]
        assert all(isinstance(answer, kinds) for answer in answers)
        first = np.asarray(answers[0]) if kinds is np.ndarray else answers[0]
        for answer in answers[1:]:
            assert (np.array_equal(first, answer)) if kinds is np.ndarray else first.equals(answer)
        head = answers[0][: count // 2]
        found = head.sum() if kinds is np.ndarray else head.true_count
        nulls = 0 if kinds is np.ndarray else head.null_count
        assert found + nulls == count // 2


def test_pandas():
    import pandas as pd
    index = [3, 1, 2]
    for values, keys in [
        (pd.Series([1, 2, 3], index=index), [1, 2, 3]),
        (pd.Series(["a", None, "b"], index=index, dtype="string"), ["a", None, "b"]),
        (pd.Series(["a", "b", "c"], index=index, dtype=object), ["a", "b", "c"]),
        (pd.Series([1, None, 3], index=index, dtype="Int64"), [1, None, 3]),
        (pd.Series(["x", "y", "x"], index=index, dtype="category"), ["x", "y", "x"]),
    ]:
        found, expected = check(values, keys)
        assert isinstance(found, pd.Series) and found.index.tolist() == index
        assert found.tolist() == expected and found.dtype == bool
    frame = pd.DataFrame({"url": ["a", "b", "a"]})
    kept = frame[umbel.Bloom(10).add_new(frame["url"])]
    assert kept["url"].tolist() == ["a", "b"]


def test_polars():
    import polars as pl
    for values, keys in [
        (pl.Series(["a", None, "日本"]), ["a", None, "日本"]),
        (pl.Series([1, None, -3]), [1, None, -3]),
        (pl.Series(["a", "b", "a"], dtype=pl.Categorical), ["a", "b", "a"]),
        (pl.Series([b"x", None]), [b"x", None]),
    ]:
        found, expected = check(values, keys)
        assert isinstance(found, pl.Series)
        nulls = [None if key is None else answer for key, answer in zip(keys, expected)]
        assert found.to_list() == nulls


def test_what_speaks_arrow():
    import duckdb
    result = duckdb.sql("select 'key ' || i as key from range(1000) t(i)").arrow()
    result = result.read_all() if hasattr(result, "read_all") else result
    filter = umbel.Bloom(1000, 1e-9)
    filter.add_many(result["key"])
    assert "key 7" in filter and len(filter) == pytest.approx(1000, abs=20)


def test_iterables():
    for make in [list, tuple, set, dict.fromkeys, iter, lambda keys: (key for key in keys)]:
        filter = umbel.Bloom(10_000, 1e-9)
        filter.update(make(list(range(3000))))
        assert filter == filter_of(range(3000))
    assert umbel.Bloom(10).contains_many(iter("ab")) == [False, False]


@pytest.mark.parametrize("kind", ["blocked", "classic", "sliced", "counting"])
def test_threads_set_the_same_bits(kind):
    count = 600_000
    texts = pa.chunked_array([[f"key {i}" for i in range(start, start + count // 3)] for start in range(0, count, count // 3)])
    words = texts.combine_chunks().dictionary_encode()
    nulls = pa.array([None if i % 3 == 0 else i for i in range(count)])
    for keys in [texts, words, nulls, np.arange(count)]:
        def make():
            return umbel.Counting(count) if kind == "counting" else umbel.Bloom(count, kind=kind)

        one, many = make(), make()
        one.add_many(keys, threads=1)
        many.add_many(keys, threads=3)
        assert one == many and one


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 63, 64, 1000])
def test_answers_of_any_length(length):
    evens = umbel.Bloom(1000, 1e-9)
    evens.update(range(0, length, 2))
    answers = evens.contains_many(pa.array(range(length), pa.int64()))
    assert answers.to_pylist() == [i % 2 == 0 for i in range(length)]


def test_arrays_of_any_form():
    filter = filter_of([7, -7])
    assert filter.contains_many(np.array([7, 8, -7], ">i8")).tolist() == [True, False, True]
    assert filter.contains_many(np.array([7, 8], ">u2")).tolist() == [True, False]
    single = filter.contains_many(np.array(7))
    assert single.shape == () and single
    assert filter_of(["\u00e9"]).contains_many(np.array(["\u00e9", "e"], ">U2")).tolist() == [True, False]
    for empty in [np.array([]), np.array([], bool), np.array([], "M8[s]")]:
        assert filter.contains_many(empty).tolist() == filter.add_new(empty).tolist() == []


def test_series_keep_their_names():
    import pandas as pd
    import polars as pl

    filter = filter_of(["a"])
    assert filter.contains_many(pl.Series("url", ["a", "b"])).name == "url"
    assert filter.contains_many(pd.Series(["a", "b"], name="url", index=[5, 6])).name == "url"
    assert filter.contains_rows(pl.DataFrame({"url": ["a"]}), ["url"]).name == ""


@pytest.mark.parametrize("words", [["", "a", "x" * 40], ["\u00e9", "a", ""], ["a" * 7, "b" * 8, "c" * 9]])
@pytest.mark.parametrize("kind", ["U", "S"])
def test_padding_is_no_part_of_a_key(words, kind):
    keys = words if kind == "U" else [word.encode() for word in words]
    for width in [40, 41, 64]:
        column = np.array(keys, f"{kind}{width + 1}")
        assert filled(column) == filter_of(keys)


def test_parts_of_a_column_take_their_share_of_the_time():
    """What was copied, or looked up, as a whole for each part took 60 times as long as here, and longer with more rows."""
    import time

    count = 2_000_000
    numbers = np.arange(count)
    shifted = np.zeros(8 * count + 1, "u1")[1:].view("i8")
    shifted[:] = numbers
    words = pa.array(numbers)
    places = pa.array(np.arange(count, dtype="i4"))

    def spent(column):
        # Of this thread alone, which reads the column: the job has others.
        started = time.thread_time()
        assert umbel.dedup(column, memory="256MiB", threads=1).report.lines == count
        return time.thread_time() - started

    plain = min(spent(numbers) for _ in range(2))
    for column in [shifted, pa.DictionaryArray.from_arrays(places, words)]:
        assert not column.flags.aligned if column is shifted else True
        assert spent(column) < 8 * plain
    filter = umbel.Bloom(count)
    filter.add_many(numbers)
    assert filter.contains_many(shifted, threads=2).all()
    other = umbel.Bloom(count)
    other.add_many(shifted, threads=2)
    assert other == filter


def test_short_parts_of_long_dictionaries():
    """Fewer rows than words: only the words in use are looked up, anywhere in the dictionary."""
    words = pa.array([None, *(f"word {i}" for i in range(9_999))])
    places = [0, 9_999, None, 5, 0, 9_999]
    column = pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), words)
    keys = [None if place is None else words[place].as_py() for place in places]
    found, expected = check(column, keys)
    assert found.to_pylist() == [None if key is None else answer for key, answer in zip(keys, expected)]
    found, expected = check(column.slice(1, 3), keys[1:4])
    assert found.to_pylist() == [None if key is None else answer for key, answer in zip(keys[1:4], expected)]
    assert list(umbel.dedup(column)) == ["word 9998", "word 4"]
