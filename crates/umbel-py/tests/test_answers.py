"""What gave a wrong answer, or none, to a good question."""

import os
import stat

import numpy as np
import pytest

import umbel

ROWS = [("ann", 7), ("bob", 8)]


def test_a_filter_of_rows_has_no_answer_for_a_single_key(tmp_path):
    filter = umbel.Attributes(["user", "item"], 1000, 1e-6)
    filter.add_rows(ROWS)
    filter.save(tmp_path / "rows.umbel")
    for rows in [filter, umbel.open(tmp_path / "rows.umbel", mmap=True)]:
        for ask in [rows.__contains__, lambda key: rows.contains_many([key])]:
            with pytest.raises(ValueError, match=r"holds rows of user, item, not single keys; use contains_row\(\)"):
                ask("ann")
        assert rows.contains_row(user="ann") and rows.contains_rows(ROWS) == [True, True]


MARKED = "\ufeffa"


def test_byte_order_marks_belong_to_the_lines_of_an_iterable():
    assert list(umbel.common(["x", MARKED], [MARKED])) == [MARKED]
    assert list(umbel.common([MARKED], ["a"])) == []
    assert list(umbel.except_([MARKED, "a"], ["a"])) == [MARKED]
    assert list(umbel.dedup([MARKED, "a", MARKED], [b"\xef\xbb\xbfa"])) == [MARKED, "a"]
    assert list(umbel.dedup(["\ufeff", "\ufeff\ufeff", ""])) == ["\ufeff", "\ufeff\ufeff", ""]
    assert list(umbel.diff([MARKED], ["a"])) == [f"- {MARKED}", "+ a"]
    once = umbel.dedup([MARKED])
    assert list(umbel.common(once, once)) == [MARKED]
    for bad in ["error", "skip"]:
        for records, separator in [("csv", ","), ("tsv", "\t")]:
            rows = [f"{MARKED}{separator}1", f"a{separator}2"]
            assert list(umbel.dedup(rows, records=records, header=False, key="1", bad=bad)) == rows


def test_byte_order_marks_are_no_part_of_a_file(tmp_path):
    path = tmp_path / "marked"
    path.write_text(f"{MARKED}\nb\n", encoding="utf-8")
    assert list(umbel.common(path, ["a"])) == ["a"]


def test_lines_that_are_not_text_are_keys(tmp_path):
    """What a job gives, a filter takes, and as the same keys as the file's own bytes."""
    import numpy as np

    path = tmp_path / "latin1.txt"
    path.write_bytes("é\nü\na\n".encode("latin-1"))
    filter = umbel.Bloom(100, 1e-9)
    filter.update(umbel.dedup(path))
    expected = umbel.Bloom(100, 1e-9)
    expected.update([b"\xe9", b"\xfc", b"a"])
    assert filter == expected
    lines = list(umbel.dedup(path))
    assert all(line in filter for line in lines) and filter.contains_many(lines) == [True] * 3
    assert filter.add_new(np.array(lines)).tolist() == [False] * 3
    assert filter.add_new(np.array(lines, object)).tolist() == [False] * 3
    assert umbel.Parts(4).part(lines[0]) == umbel.Parts(4).part(b"\xe9")
    rows = umbel.Bloom(100, 1e-9)
    rows.add_rows([(line, 1) for line in lines])
    assert rows.contains_rows([(b"\xe9", 1)]) == [True]
    assert umbel.Map({lines[0]: 7})[b"\xe9"] == 7


def test_a_map_does_not_keep_its_keys():
    values = umbel.Map({"a": 1, 0: 5, 1: 6})
    for use in [list, iter, reversed, sorted, set]:
        with pytest.raises(TypeError, match="not iterable|not reversible"):
            use(values)
    assert "a" in values and values[0] == 5


@pytest.mark.parametrize(
    "value, error, match",
    [
        (2**64 - 1, ValueError, r"the value of 'a' is 18446744073709551615: with fpp=0.0001, a map has values from 0 to 2\*\*50 - 1"),
        (2**64, ValueError, r"the value of 'a' is 18446744073709551616: .* 2\*\*50 - 1"),
        (-1, ValueError, r"the value of 'a' is -1: .* values from 0"),
        (np.int64(-1), ValueError, r"the value of 'a' is -1: .* values from 0"),
        ("1", TypeError, "the value of 'a' must be an int, not str"),
        (1.5, TypeError, "the value of 'a' must be an int, not float"),
        (None, TypeError, "the value of 'a' must be an int, not NoneType"),
    ],
)
def test_values_that_a_map_has_no_room_for(value, error, match):
    with pytest.raises(error, match=match):
        umbel.Map({"b": 0, "a": value})
    assert umbel.Map({"a": 2**50 - 1})["a"] == 2**50 - 1


def test_what_the_system_refuses(tmp_path):
    """As Python's own `open` raises it: with the number, and the path."""
    filter, missing = umbel.Bloom(10), tmp_path / "no" / "folder"
    for packed in [False, True]:
        with pytest.raises(FileNotFoundError, match="the folder .* does not exist; create it first") as error:
            filter.save(missing, packed=packed)
        assert error.value.errno == 2 and error.value.filename == str(missing)
        assert str(error.value).count(str(missing)) == 1
        with pytest.raises(IsADirectoryError):
            filter.save(tmp_path, packed=packed)
    for use in [
        lambda: umbel.dedup(["a"], out=missing),
        lambda: umbel.dedup(["a"], tmp=tmp_path / "no"),
        lambda: umbel.common(["a"], ["a"], out=missing),
        lambda: umbel.diff(["a"], ["b"], added=missing),
        lambda: umbel.dedup(missing),
        lambda: umbel.open(missing),
        lambda: umbel.open(missing, trust=missing),
    ]:
        with pytest.raises(FileNotFoundError):
            use()
    for use in [lambda: umbel.dedup(tmp_path), lambda: umbel.dedup(["a"], out=tmp_path), lambda: umbel.open(tmp_path)]:
        with pytest.raises(IsADirectoryError):
            use()
    locked = tmp_path / "locked"
    locked.mkdir(mode=stat.S_IRUSR)
    if os.geteuid() != 0:
        with pytest.raises(PermissionError):
            filter.save(locked / "x")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["locked"]
