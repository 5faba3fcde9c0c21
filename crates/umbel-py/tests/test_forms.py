"""The form of a filter's keys is noted with the first key, and look-ups use that form."""

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from umbel import Attributes, Bloom, Bloomier, Cascade, Counting, Filter, Foreign, Map, Scalable, Window, from_bytes, unseen
from umbel import open as open_filter

pa = pytest.importorskip("pyarrow")

PROGRAM = os.environ.get("UMBEL", "umbel")


def form_of(filter: Filter) -> str | None:
    return dict(filter.description).get("type")


def umbel(*arguments: object, input: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *map(str, arguments)], input=input, capture_output=True, text=True, check=False)


def lines(numbers: range) -> str:
    return "".join(f"{number}\n" for number in numbers)


@pytest.mark.parametrize("make", [Bloom, Counting, Scalable, Window])
def test_the_first_keys_say_the_form(make: Any) -> None:
    def filled(*keys: Any) -> Filter:
        filter = make(100)
        for key in keys:
            filter.update(key) if isinstance(key, list) else filter.add(key)
        return filter

    assert form_of(filled()) is None
    assert form_of(filled("a", b"b")) == form_of(filled(["a"])) == form_of(filled(["a", b"b"])) == "bytes"
    assert form_of(filled(1, 2**64 - 1)) == form_of(filled([1])) == "integer"
    assert form_of(filled(1, "a")) == form_of(filled(["a", 1])) == form_of(filled([1], ["a"])) == "mixed"
    mixed = filled(1, "a")
    assert 1 in mixed and "a" in mixed and "1" not in mixed


@pytest.mark.parametrize("make", [Bloom, Counting, Scalable, Window])
def test_keys_of_another_form_are_not_new(make: Any, tmp_path: Path) -> None:
    """Ids that were read as integers once, and as text the next time, were all new twice."""
    numbers, words = make(100), make(100)
    assert list(numbers.add_new([1, 2])) == list(words.add_new(["1", "2"])) == [True, True]
    before = numbers.copy(), words.copy()
    for column in (["1", "2"], iter(["1"]), [3, "1"], np.array(["1"]), pa.array(["1"]), pa.table({"id": ["1"]}).to_reader()):
        with pytest.raises(TypeError, match="the filter holds integers"):
            numbers.add_new(column)
    for column in ([1, 2], ["3", 1], np.array([1]), np.array(["3", 1], object), pa.array([1])):
        with pytest.raises(TypeError, match="the filter holds text and bytes"):
            words.add_new(column)
    with pytest.raises(TypeError, match="the filter holds integers"):
        numbers.add_rows([("1", "2")])
    assert (numbers, words) == before
    with unseen(tmp_path / "ids.umbel", [1, 2]) as new:
        assert new == [1, 2]
    with pytest.raises(TypeError, match="the filter holds integers"), unseen(tmp_path / "ids.umbel", ["1"]):
        pass
    numbers.update(["a"])
    assert list(numbers.add_new(["a", "b", 1, 3])) == [False, True, False, True]


def test_kinds_that_are_built_at_once_have_the_form_of_their_keys() -> None:
    assert form_of(Bloomier([1, 2])) == form_of(Map({1: 2})) == "integer"
    assert form_of(Bloomier(pa.array(["a"]))) == form_of(Map({"a": 2})) == "bytes"
    assert form_of(Bloomier([1, "a"])) == "mixed"
    with pytest.raises(TypeError, match="holds integers"):
        Map({1: 2}).get("1")


def test_other_keys_are_refused_and_not_absent() -> None:
    words, numbers = Bloom(100), Counting(100)
    words.add("1")
    numbers.add(1)
    for asked in (1, np.int64(1)):
        with pytest.raises(TypeError, match=r"holds text and bytes, found an int; give str\(key\)"):
            asked in words
    with pytest.raises(TypeError, match=r"holds integers, found text or bytes; give int\(key\)"):
        numbers.contains_many(["1"])
    with pytest.raises(TypeError, match="holds integers"):
        numbers.remove("1")
    with pytest.raises(TypeError, match="holds integers"):
        numbers.count("1")
    assert 1 in numbers and "1" in words


def test_columns_of_any_size_note_their_form() -> None:
    for count in (3, 300_000):
        for column in (np.arange(count), pa.array(range(count)), pa.array(range(count)).dictionary_encode()):
            filter = Bloom(count)
            filter.add_many(column)
            assert form_of(filter) == "integer" and all(filter.contains_many(range(count)))


def test_joined_filters_have_the_form_of_both() -> None:
    numbers, words = Bloom(100), Bloom(100)
    numbers.add(1)
    words.add("a")
    assert form_of(numbers | words) == "mixed" and form_of(numbers | numbers.copy()) == "integer"
    empty = Bloom(100)
    empty |= numbers
    assert form_of(empty) == "integer"


def test_a_column_of_integers_is_asked_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "ints.umbel"
    filter = Bloom(1000, 1e-6)
    filter.add_many(np.arange(1000))
    filter.save(path)
    found = umbel("filter", "query", path, input=lines(range(1000)) + "abc\n007\n")
    assert found.stdout == lines(range(1000))
    assert umbel("filter", "add", path, input="5000\n-1\n18446744073709551615\n").returncode == 0
    refused = umbel("filter", "add", path, input="7\nabc\n")
    assert refused.returncode == 2 and "line 2: is not an integer" in refused.stderr
    again = open_filter(path)
    assert 5000 in again and -1 in again and 2**64 - 1 in again and form_of(again) == "integer"


def test_a_filter_of_lines_takes_integers_as_digits(tmp_path: Path) -> None:
    path = tmp_path / "ids.umbel"
    rows = "id,name\n" + "".join(f"{number},n\n" for number in range(1000))
    assert umbel("filter", "build", "-o", path, "--keys", 2000, "--csv", "--key", "id", input=rows).returncode == 0
    filter = open_filter(path)
    assert all(filter.contains_many(np.arange(1000))) and 7 in filter and "7" in filter
    filter.add(5000)
    filter.add_many(np.arange(6000, 6100))
    assert "5000" in filter and "6050" in filter and form_of(filter) == "text"


def test_keys_that_were_changed_are_refused_and_not_absent(tmp_path: Path) -> None:
    path, rows = tmp_path / "names.umbel", tmp_path / "rows.umbel"
    assert umbel("filter", "build", "-o", path, "--keys", 100, "--ignore-case", input="Ann\nBOB\n").returncode == 0
    command = ["filter", "build", "-o", rows, "--keys", 100, "--kind", "attributes", "--ignore-case", "--csv", "--key", "name", "--key", "city"]
    assert umbel(*command, input="name,city\nAnn,Rome\n").returncode == 0
    for mmap in (False, True):
        filter, attributes = open_filter(path, mmap=mmap), open_filter(rows, mmap=mmap)
        for ask in (
            lambda: "Ann" in filter,
            lambda: filter.contains_many(["Ann"]),
            lambda: filter.contains_many(pa.array(["Ann"])),
            lambda: filter.contains_rows([("Ann",)]),
            lambda: attributes.contains_row(name="Ann"),
            lambda: attributes.contains_rows([("Ann", "Rome")]),
        ):
            with pytest.raises(ValueError, match="with ignore-case, and Python looks up keys as they are"):
                ask()
    filter = open_filter(path)
    for add in (lambda: filter.add("Eve"), lambda: filter.add_new(["Eve"]), lambda: filter.update(["Eve"])):
        with pytest.raises(ValueError, match="with ignore-case, and Python looks up keys as they are"):
            add()
    with open_filter(path, shared=True) as shared, pytest.raises(ValueError, match="with ignore-case, and Python looks up keys as they are"):
        "Ann" in shared
    filter.describe([("type", "text")])
    assert "ann" in filter and "Ann" not in filter


def test_filters_of_prefixes_and_of_several_fields(tmp_path: Path) -> None:
    path = tmp_path / "networks.umbel"
    umbel("filter", "build", "--prefixes", "ip", "--keys", "100", "-o", path, input="10.0.0.0/8\n")
    filter = open_filter(path)
    for ask in (
        lambda: "10.1.2.3" in filter,
        lambda: filter.contains_many(["10.1.2.3"]),
        lambda: filter.contains_rows([("10.1.2.3",)]),
        lambda: filter.add("10.0.0.0/8"),
    ):
        with pytest.raises(ValueError, match="built from prefixes of IP addresses, and Python"):
            ask()
    filter = Bloom(100, 1e-6)
    filter.add_rows([{"user": "ann", "item": 1}], ["user", "item"])
    assert filter.contains_rows([("ann", 1), ("ann", 2)]) == [True, False]
    for ask in (
        lambda: "ann" in filter,
        lambda: filter.contains_many(["ann"]),
        lambda: filter.add("ann"),
        lambda: filter.update(["ann"]),
        lambda: filter.add_new(["ann"]),
    ):
        with pytest.raises(ValueError, match=r'the fields "user", "item", not from single keys; use contains_rows'):
            ask()


def test_a_mixed_filter_wants_to_know_what_lines_are(tmp_path: Path) -> None:
    path = tmp_path / "mixed.umbel"
    filter = Bloom(100, 1e-6)
    filter.update([1, "a"])
    filter.save(path)
    asked = umbel("filter", "query", path, input="1\na\n")
    assert asked.returncode == 2 and "--key-type i64 or bytes" in asked.stderr
    # A text is not an integer, whatever the option.
    assert umbel("filter", "query", path, "--key-type", "i64", input="1\na\n").stdout == "1\na\n"
    assert umbel("filter", "query", path, "--key-type", "bytes", input="1\na\n").stdout == "a\n"


def test_a_filter_without_a_form_promises_nothing(tmp_path: Path) -> None:
    path = tmp_path / "unnoted.umbel"
    # The second is larger than the cap, and so queried in pieces.
    for keys in (100, 40_000_000):
        filter = Bloom(keys, 0.1)
        filter.add(1)
        filter.describe([])
        filter.save(path)
        asked = umbel("filter", "query", "--verbose", "--memory", "16MiB", "--threads", 1, path, input="1\n")
        assert "no line is missing" not in asked.stderr and "--key-type" in asked.stderr
        assert umbel("filter", "query", path, "--memory", "16MiB", "--threads", 1, "--key-type", "i64", input="1\n").stdout == "1\n"


def test_built_of_integers(tmp_path: Path) -> None:
    path = tmp_path / "built.umbel"
    assert umbel("filter", "build", "-o", path, "--key-type", "i64", input=lines(range(100))).returncode == 0
    assert all(open_filter(path).contains_many(range(100)))


def test_servers_get_digits() -> None:
    for format in ("redisbloom", "redisbloom-cuckoo", "valkey-bloom"):
        filter = Foreign(format, 1000)
        filter.update(range(100))
        filter.add_many(np.arange(100, 200))
        assert all(filter.contains_many([str(number) for number in range(200)])) and 7 in filter


def test_systems_of_bytes_refuse_integers() -> None:
    for format in ("leveldb", "rocksdb", "hadoop"):
        filter = Foreign(format, **({"bits": 1000, "probes": 3} if format == "hadoop" else {"keys": 100, "bits_per_key": 10}))
        with pytest.raises(TypeError, match="of type bytes, found an int"):
            filter.add(1)


def test_pybloom_hashes_the_text_of_keys() -> None:
    filter = Foreign("pybloom-4", 100, 0.001)
    filter.update(["pear", 7, str(b"plum")])
    assert "pear" in filter and 7 in filter and "7" in filter
    for asked in (b"pear", bytearray(b"pear")):
        with pytest.raises(TypeError, match=r"pybloom hashes str\(key\)"):
            asked in filter
    for column in ([b"pear"], np.array([b"pear"]), pa.array([b"pear"])):
        with pytest.raises(TypeError, match=r"pybloom hashes str\(key\)"):
            filter.contains_many(column)
    raw = from_bytes(filter.to_bytes(), format="pybloom-4", key_type="bytes")
    assert b"pear" in raw


def test_digests_in_numpy() -> None:
    digests = [hashlib.md5(str(number).encode()).digest() for number in range(2000)]
    filter = Bloom(2000, 1e-6)
    filter.update(digests)
    cut = np.array(digests, dtype="S16")
    with pytest.raises(TypeError, match=r'column.view\("V16"\)'):
        filter.contains_many(cut)
    assert all(filter.contains_many(cut.view("V16")))
    filled = Bloom(2000, 1e-6)
    filled.add_many(cut.view("V16"))
    assert filled == filter
    # Words are padded with zeros, which are no part of them.
    words = Bloom(10)
    words.add_many(np.array([b"a", b"pear"]))
    assert all(words.contains_many(["a", "pear"]))


def test_refused_keys_leave_the_form() -> None:
    for of in (Bloomier([1, 2]), Map({1: 2}), Cascade([1], [2])):
        before = of.copy()
        for add in (lambda: of.add("x"), lambda: of.add_many(["x"]), lambda: of.add_many(pa.array(["x"] * 300_000))):
            with pytest.raises((TypeError, ValueError)):
                add()
        assert of == before and 1 in of
    rows = Attributes(["a", "b"], 10)
    for wrong in (lambda: rows.add(5), lambda: rows.add_many([5])):
        with pytest.raises((TypeError, ValueError)):
            wrong()
    rows.add_rows([("x", "y")])
    assert rows.contains_rows([("x", "y"), ("x", "z")]) == [True, False]


def test_columns_without_keys_have_no_form() -> None:
    of = Bloom(1000, 1e-6)
    of.add_many(pa.nulls(300_000, pa.string()))
    of.add_many([1])
    for none in (pa.nulls(3), pa.array([], pa.string()), pa.array([None], pa.string())):
        assert not any(of.add_new(none).to_pylist())
        of.add_many(none)
    assert 1 in of and of.add_new(pa.array([1, 2])).to_pylist() == [False, True]
