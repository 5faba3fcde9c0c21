"""Arrays of Arrow whose buffers do not fit together, as a library hands them over that does not check what it reads."""

import ctypes
import struct

import pyarrow as pa
import pytest

import umbel

FAR = 1 << 30
LONG = b"0123456789abcdef"


def view(length, buffer=0, at=0, start=LONG[:4]):
    return struct.pack("<I4sII", length, start, buffer, at)


def offsets(of, *places):
    return struct.pack(f"<{len(places)}{of}", *places)


class Array:
    """One whose first buffer gets its bytes when pyarrow has seen that what it makes of the array is right."""

    def __init__(self, type, length, first, *buffers, valid=None, words=None, offset=0):
        self.first, self.memory = first, bytearray(len(first))
        buffers = [valid, pa.py_buffer(self.memory), *buffers]
        if words:
            self.array = pa.DictionaryArray.from_buffers(type, length, buffers, words.array, offset=offset)
        else:
            self.array = pa.Array.from_buffers(type, length, buffers, offset=offset)
        if words:
            self.words = words
            words.memory[:] = words.first
        self.memory[:] = first

    def columns(self):
        return self.made(lambda array: (array, pa.chunked_array([array.slice(0, 0), array])))

    def tables(self):
        return self.made(lambda array: pa.RecordBatch.from_arrays([array, pa.nulls(len(array), pa.list_(pa.string()))], ["a", "b"]))

    def made(self, make):
        whole = [self, getattr(self, "words", self)]
        for of in whole:
            of.memory[:] = bytes(len(of.memory))
        made = make(self.array)
        for of in whole:
            of.memory[:] = of.first
        return made


TEXT = pa.py_buffer(b"abc")
WORDS = Array(pa.string(), 2, offsets("i", 0, 1, 3), TEXT)
WHOLE = {
    **{name: Array(getattr(pa, name)(), 2, offsets("i", 0, 1, 3), TEXT) for name in ["string", "binary"]},
    **{name: Array(getattr(pa, name)(), 2, offsets("q", 0, 1, 3), TEXT) for name in ["large_string", "large_binary"]},
    **{name: Array(getattr(pa, name)(), 2, view(16) + view(15, at=1), pa.py_buffer(LONG)) for name in ["string_view", "binary_view"]},
    # What is null may be any view, and have any place.
    "null view": Array(pa.binary_view(), 2, view(16) + view(FAR, 9, FAR), pa.py_buffer(LONG), valid=pa.py_buffer(b"\1")),
    "null place": Array(pa.dictionary(pa.int8(), pa.string()), 2, b"\1\x7f", valid=pa.py_buffer(b"\1"), words=WORDS),
    "cut": Array(pa.string(), 2, offsets("i", FAR, -3, 0, 1, 3, 0), TEXT, offset=2),
    "none": Array(pa.string(), 0, offsets("i", 7), TEXT),
}


def damaged():
    for name in ["string", "binary", "large_string", "large_binary"]:
        type, of = getattr(pa, name)(), "q" if "large" in name else "i"
        for places in [(0, FAR, 3), (0, -1, 3), (2, 1, 3), (-FAR, 1, 3), (FAR, FAR, 3), (0, 1, -1)]:
            yield f"{name} {places}", Array(type, 2, offsets(of, *places), TEXT)
        yield f"{name} cut", Array(type, 2, offsets(of, 0, 1, FAR, 3), TEXT, offset=1)
    for name in ["string_view", "binary_view"]:
        for second in [view(17), view(16, at=1), view(16, 1), view(16, 2**32 - 1), view(2**32 - 1, at=2**32 - 1), view(13, at=FAR)]:
            yield f"{name} {second}", Array(getattr(pa, name)(), 2, view(16) + second, pa.py_buffer(LONG))
        yield f"{name} alone", Array(getattr(pa, name)(), 1, view(16))
    for type, code in [(pa.int8(), "b"), (pa.uint8(), "B"), (pa.int32(), "i"), (pa.int64(), "q"), (pa.uint64(), "Q")]:
        for place in [2, 100, -1]:
            if place > 0 or code.islower():
                places = offsets(code, 1, place, 0)
                yield f"places {code} {place}", Array(pa.dictionary(type, pa.string()), 3, places, words=WORDS)
    words = Array(pa.string(), 2, offsets("i", 0, FAR, 3), TEXT)
    yield "words", Array(pa.dictionary(pa.int8(), pa.string()), 1, b"\0", words=words)


DAMAGED = dict(damaged())


class Of:
    """An array of a library that is not known to umbel."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, schema=None):
        return self.array.__arrow_c_array__()


class Stream(Of):
    __arrow_c_array__ = None

    def __arrow_c_stream__(self, schema=None):
        return self.array.__arrow_c_stream__()


del Stream.__arrow_c_array__


def columns(of):
    array, chunks = of.columns()
    return [array, chunks, Of(array), Stream(chunks)]


def tables(of):
    batch = of.tables()
    table = pa.Table.from_batches([batch])
    return [batch, table, Of(batch), Stream(batch), Stream(table)]


def uses():
    yield umbel.Bloom(10).add_many
    yield umbel.Bloom(10).add_new
    yield umbel.Bloom(10).contains_many
    yield umbel.Bloomier
    yield umbel.Foreign("guava", 10).add_new
    yield umbel.dedup


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_arrays_are_refused(name):
    for column in columns(DAMAGED[name]):
        for use in uses():
            with pytest.raises((ValueError, OSError)):
                use(column)
    for table in tables(DAMAGED[name]):
        for use in [umbel.Bloom(10).add_rows, umbel.Bloom(10).contains_rows]:
            with pytest.raises(ValueError):
                use(table, ["a"])


@pytest.mark.parametrize("name", WHOLE)
def test_whole_arrays_are_read(name):
    keys = [key for key in WHOLE[name].array.to_pylist() if key is not None]
    added = [(umbel.Bloom.add_many, column) for column in columns(WHOLE[name])]
    added += [(lambda filter, table: filter.add_rows(table, ["a"]), table) for table in tables(WHOLE[name])]
    for add, given in added:
        filter = umbel.Bloom(10, 1e-9)
        add(filter, given)
        assert len(filter) == len(keys) and all(key in filter for key in keys)


def test_text_that_is_not_utf_8_is_bytes():
    filter = umbel.Bloom(10, 1e-9)
    for column in columns(Array(pa.string(), 2, offsets("i", 0, 1, 3), pa.py_buffer(b"\xff\xfe\x80"))):
        filter.add_many(column)
    assert b"\xff" in filter and b"\xfe\x80" in filter


def test_a_column_that_is_not_used_may_be_damaged():
    wrong = DAMAGED["string (0, 1073741824, 3)"]
    batch = wrong.made(lambda array: pa.RecordBatch.from_arrays([pa.array([1, 2]), array], ["a", "b"]))
    assert umbel.Bloom(10).add_rows(Of(batch), ["a"]).tolist() == [True] * 2


class Again:
    """Hands out the same capsules each time, whose content can be taken only once."""

    def __init__(self, array):
        self.capsules = array.__arrow_c_array__()

    def __arrow_c_array__(self, schema=None):
        return self.capsules


def test_capsules_that_were_used_are_refused():
    array = Again(pa.array([1, 2]))
    assert umbel.Bloom(10, 1e-9).add_new(array).tolist() == [True, True]
    # pyarrow also takes the schema, and releases its memory.
    taken = Again(pa.array([1, 2]))
    pa.array(taken)
    for used in [array, taken]:
        for use in uses():
            with pytest.raises(ValueError, match="the array was released"):
                use(used)


class Schema(ctypes.Structure):
    _fields_ = [
        ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p), ("flags", ctypes.c_int64),
        ("children", ctypes.c_int64), ("of_children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p),
    ]


pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Changed(Of):
    """An array with another schema, until its maker gives that back."""

    def __init__(self, array, **fields):
        super().__init__(array)
        self.fields = fields

    def __arrow_c_array__(self, schema=None):
        self.capsules = self.array.__arrow_c_array__()
        self.schema = Schema.from_address(pointer(self.capsules[0], b"arrow_schema"))
        self.before = {name: getattr(self.schema, name) for name in self.fields}
        for name, value in self.fields.items():
            setattr(self.schema, name, value)
        return self.capsules


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"format": None}, "it has no format"),
        ({"format": b"\xff"}, 'not UTF-8'),
        ({"name": b"Stra\xdfe"}, '"Stra.xdfe" is not UTF-8'),
        ({"format": b"w:-1"}, "w:-1 has a negative width"),
        ({"format": b"+l"}, r"\+l with 0 children"),
        ({"format": b"+r", "children": 1}, r"\+r with 1 children"),
        ({"format": b"+s", "children": 1}, r"\+s with 1 children"),
        ({"format": b"+s", "children": -1}, r"\+s with -1 children"),
        ({"format": b"u"}, "u as places in a dictionary"),
    ],
    ids=str,
)
def test_damaged_schemas_are_refused(fields, message):
    for use in uses():
        array = Changed(WORDS.array.dictionary_encode() if "places" in message else pa.array([b"a"]), **fields)
        with pytest.raises(ValueError, match=f"the schema is damaged: .*{message}"):
            use(array)
        for name, value in array.before.items():
            setattr(array.schema, name, value)


def test_names_that_are_not_utf_8():
    """As from the header of a file in Latin-1."""
    schema = pa.schema([pa.field("a", pa.int64()), pa.field(b"Stra\xdfe", pa.int64())])
    batch = pa.record_batch([pa.array([1]), pa.array([2])], schema=schema)
    for use in [umbel.Bloom(10).add_rows, umbel.Bloom(10).contains_rows]:
        with pytest.raises(ValueError, match='"Stra.xdfe" is not UTF-8'):
            use(Of(batch), ["a"])
