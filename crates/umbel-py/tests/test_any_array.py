"""No panic crosses into Python, and every answer is right, for arrays of every type, stride, offset, mask and chunking."""

import contextlib
import os
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import umbel

# Of each of four properties.
EXAMPLES = 25_000 if "UMBEL_TEST_FULL" in os.environ else 150
TYPES = [
    *(getattr(pa, name)() for name in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]),
    *(getattr(pa, name)() for name in ["string", "large_string", "string_view", "binary", "large_binary", "binary_view", "null"]),
    pa.binary(3),
    pa.binary(0),
]
OTHERS = [pa.float64(), pa.float16(), pa.bool_(), pa.date32(), pa.list_(pa.int8()), pa.decimal128(5), pa.struct([("a", pa.int8())])]
PLACES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


def values(type):
    if pa.types.is_integer(type):
        low, high = (0, 2**type.bit_width - 1) if "u" in str(type) else (-(2 ** (type.bit_width - 1)), 2 ** (type.bit_width - 1) - 1)
        return st.integers(low, high)
    if pa.types.is_fixed_size_binary(type):
        return st.binary(min_size=type.byte_width, max_size=type.byte_width)
    if pa.types.is_null(type):
        return st.none()
    if "string" in str(type):
        return st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    return st.binary(max_size=20)


@st.composite
def arrays(draw):
    """An array of Arrow of any type with keys, cut out of a longer one, and the keys in it; maybe a dictionary."""
    type = draw(st.sampled_from(TYPES))
    keys = draw(st.lists(st.none() | values(type), max_size=12))
    array = pa.array(keys, type)
    if draw(st.booleans()) and not pa.types.is_null(type) and type != pa.binary(0) and "view" not in str(type):
        places = draw(st.lists(st.none() | st.integers(0, len(keys) - 1), max_size=12)) if keys else [None] * draw(st.integers(0, 3))
        array = pa.DictionaryArray.from_arrays(pa.array(places, draw(st.sampled_from(PLACES))), array)
        keys = [None if place is None else keys[place] for place in places]
    start = draw(st.integers(0, len(keys)))
    length = draw(st.integers(0, len(keys) - start))
    return array.slice(start, length), keys[start : start + length]


def check(column, keys):
    """None in `keys` is not a key."""
    there = [key for key in keys if key is not None]
    one, many, new = (umbel.Bloom(100, 1e-9) for _ in range(3))
    for key in there:
        one.add(key)
    many.add_many(column)
    firsts = new.add_new(column)
    assert one == many == new
    listed = getattr(firsts, "to_pylist", getattr(firsts, "tolist", lambda: firsts))()
    assert len(listed) == len(keys) and not any(new for new, key in zip(listed, keys) if key is None)
    half = umbel.Bloom(100, 1e-9)
    half.update(there[::2])
    found = half.contains_many(column)
    listed = getattr(found, "to_pylist", getattr(found, "tolist", lambda: found))()
    assert [bool(answer) for answer in listed] == [key is not None and key in half for key in keys]
    if not any(isinstance(key, (str, bytes)) and (10 in key if isinstance(key, bytes) else "\n" in key) for key in there):
        assert umbel.dedup(column, memory="24MiB", threads=1).report.lines == len(there)
    # Java has no longer integers.
    if not any(isinstance(key, int) and key >= 2**63 for key in there):
        guava = umbel.Foreign("guava", 100)
        guava.add_new(column)
        assert all(guava.contains_many(there))


@settings(max_examples=EXAMPLES, deadline=None)
@given(arrays())
def test_arrays_of_arrow(given):
    check(*given)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.sampled_from(TYPES).flatmap(lambda type: st.lists(st.lists(st.none() | values(type), max_size=6), max_size=4).map(lambda chunks: (type, chunks))))
def test_chunked_arrays(given):
    type, chunks = given
    column = pa.chunked_array([pa.array(chunk, type) for chunk in chunks], type)
    check(column, [key for chunk in chunks for key in chunk])
    rows = umbel.Bloom(100, 1e-9)
    table = pa.table({"a": column, "b": pa.array(range(len(column)), pa.int64())})
    answers = rows.add_rows(table, ["a", "b"]).to_pylist()
    assert [answer is None for answer in answers] == [key is None for chunk in chunks for key in chunk]


DTYPES = st.one_of(
    nps.integer_dtypes(endianness="?"), nps.unsigned_integer_dtypes(endianness="?"), nps.unicode_string_dtypes(endianness="?", max_len=9),
    nps.byte_string_dtypes(endianness="?", max_len=9),
)


def check_texts(column, keys):
    """Text with a surrogate that does not stand for a byte is refused, by itself and in an array."""
    wrong = [key for key in keys if isinstance(key, str) and re.search("[\ud800-\udc7f\udd00-\udfff]", key)]
    if not wrong:
        check(column, keys)
    filter = umbel.Bloom(100)
    for key in wrong:
        for use, item in [(filter.add, key), (filter.add_many, column), (filter.add_new, column), (filter.contains_many, column)]:
            with pytest.raises(ValueError):
                use(item)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_arrays_of_numpy(data):
    array = data.draw(nps.arrays(data.draw(DTYPES), st.integers(0, 24)))
    step = data.draw(st.sampled_from([-3, -2, -1, 1, 2, 3]))
    array = array[data.draw(st.integers(0, 3)) :: step]
    if data.draw(st.booleans()):
        mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(array), max_size=len(array))), bool)
        array = np.ma.array(array, mask=mask)
        texts = [None if masked else value for value, masked in zip(np.asarray(array.data).tolist(), mask)]
    else:
        texts = array.tolist()
    # NumPy may have cut bytes that are not text.
    with pytest.raises(TypeError, match="view") if may_be_cut(array) else contextlib.nullcontext():
        check_texts(array, texts)


def may_be_cut(array):
    def is_text(item):
        try:
            return b"\0" not in item and item.decode() is not None
        except UnicodeDecodeError:
            return False

    items = np.asarray(array.data if isinstance(array, np.ma.MaskedArray) else array).tolist() if array.dtype.kind == "S" else []
    return any(len(item) < array.dtype.itemsize for item in items) and not all(map(is_text, items))


@pytest.mark.parametrize("texts", [["\udd00"], ["x", "a\ud800"], ["\udcff", "b"], ["\udcff\udbff"]], ids=ascii)
def test_surrogates_in_numpy(texts):
    for endian in "<>":
        array = np.array(texts).astype(f"{endian}U2")
        check_texts(array, array.tolist())
        masked = np.ma.array(array, mask=[True] + [False] * (len(texts) - 1))
        check_texts(masked, [None, *texts[1:]])


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_what_has_no_keys_is_refused(data):
    """By an error of Python's."""
    column = data.draw(
        st.sampled_from(OTHERS).map(lambda type: pa.array([None], type))
        | nps.arrays(nps.array_dtypes() | nps.scalar_dtypes(), nps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
    )
    filter = umbel.Bloom(100)
    for use in [filter.add_many, filter.contains_many, filter.add_new, filter.contains_rows, umbel.dedup, umbel.Bloomier, umbel.Parts(3).split]:
        try:
            use(column)
        except (TypeError, ValueError, OSError):
            pass


@pytest.mark.parametrize("type", OTHERS, ids=str)
def test_other_types_are_refused(type):
    for column in [pa.array([None], type), pa.chunked_array([], type)]:
        for use in [umbel.Bloom(10).add_many, umbel.Bloom(10).contains_many, umbel.Bloom(10).add_new]:
            with pytest.raises(TypeError):
                use(column)
