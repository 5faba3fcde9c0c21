"""Keys of several fields."""

import os
import subprocess

import pyarrow as pa
import pytest

import umbel


ROWS = [("ann", 1), ("ann", 2), ("bob", 1)]
TABLE = pa.table({"user": [user for user, _ in ROWS], "item": [item for _, item in ROWS]})


def test_rows_of_tables_and_tuples_are_the_same_keys():
    filters = [umbel.Bloom(1000, 1e-9) for _ in range(5)]
    assert filters[0].add_rows(ROWS) == [True] * 3
    assert filters[1].add_rows(TABLE, ["user", "item"]).to_pylist() == [True] * 3
    dicts = [dict(item=item, user=user) for user, item in ROWS]
    assert filters[2].add_rows(dicts, ["user", "item"]) == [True] * 3
    import polars as pl
    filters[3].add_rows(pl.from_arrow(TABLE), ["user", "item"])
    words = TABLE.set_column(0, "user", TABLE["user"].dictionary_encode())
    filters[4].add_rows(words, ["user", "item"])
    assert all(filter == filters[1] for filter in filters[1:]) and filters[0] <= filters[1] <= filters[0]
    assert filters[0].contains_rows([("bob", "1"), ("bob", 2)]) == [True, False]
    # Swapped columns are another key.
    assert filters[0].contains_rows(TABLE, ["item", "user"]).to_pylist() == [False] * 3
    # The key of several fields, by FORMAT.md.
    key = b"\x03\0\0\0bob\x01\0\0\0" + b"1"
    assert key in filters[0]
    one = umbel.Bloom(1000, 1e-9)
    one.add_rows(TABLE, ["item"])
    # A field is text, and a number in it its digits.
    assert "1" in one and "2" in one and 1 in one


def test_the_fields_are_noted_and_asked_alike(tmp_path):
    path, rows, whole = tmp_path / "rows.umbel", tmp_path / "rows.csv", tmp_path / "whole.umbel"
    rows.write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in ROWS))
    filter = umbel.Bloom(1000, 1e-9)
    filter.describe([("owner", "ann")])
    with pytest.raises(KeyError):
        filter.add_rows(TABLE, ["user", "price"])
    filter.add_rows(TABLE, ["user", "item"])
    assert filter.description == [("owner", "ann"), ("field", "user"), ("field", "item"), ("type", "text")]
    filter.save(path)
    program = os.environ.get("UMBEL", "umbel")
    command = [program, "filter", "query", path, "--csv", "--key", "user", "--key", "item", rows]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == rows.read_text()
    subprocess.run([program, "filter", "build", "--quiet", "-o", whole, *command[4:]], check=True)
    for asked in (filter, umbel.open(path, mmap=True), umbel.open(whole)):
        for names in (["item", "user"], ["user"], ["user", "item", "item"]):
            with pytest.raises(ValueError, match='built from the fields "user", "item".*; give tuples if only the names differ'):
                asked.contains_rows(TABLE, names)
        assert asked.contains_rows(TABLE, ["user", "item"]).to_pylist() == [True] * 3
        assert asked.contains_rows([("ann", 1), (1, "ann")]) == [True, False]
    before = filter.copy()
    with pytest.raises(ValueError, match="built from the fields"):
        filter.add_rows(TABLE, ["item", "user"])
    assert filter == before


def test_nulls_are_no_rows():
    table = pa.table({"a": ["x", None], "b": ["y", "y"]})
    filter = umbel.Bloom(1000, 1e-9)
    assert filter.add_rows(table, ["a", "b"]).to_pylist() == [True, None]
    assert len(filter) == 1


def test_filters_of_rows():
    filter = umbel.Attributes(["user", "item"], 1000, 1e-6)
    assert filter.names == ["user", "item"] and filter.kind == "attributes"
    assert filter.add_rows(TABLE, ["item", "user"]).to_pylist() == [True] * 3
    assert filter.contains_rows(TABLE, ["user"]).to_pylist() == [True] * 3
    assert filter.contains_row(user="bob") and filter.contains_row(item=2)
    assert filter.contains_row(user="bob", item=1) and not filter.contains_row(user="bob", item=2)
    assert filter.contains_rows([("ann", 2), ("bob", 2)]) == [True, False]
    assert umbel.from_bytes(filter.to_bytes()) == filter
    other = umbel.Attributes(["user", "item"], 1000, 1e-6)
    assert other.add_row("eve", 9) and not other.add_row("eve", 9)
    assert (filter | other).contains_row(user="eve", item=9)
    with pytest.raises(ValueError, match="price"):
        filter.contains_row(price=1)
    with pytest.raises(ValueError):
        filter.add_rows(TABLE, ["user"])
    with pytest.raises(ValueError, match="name the columns"):
        filter.contains_rows([("ann",)])
    with pytest.raises(ValueError):
        filter.add("ann")


def test_rows_that_are_none():
    filter = umbel.Bloom(10)
    for bad, columns, error in [
        (TABLE, [], ValueError),
        (TABLE, ["user", "price"], KeyError),
        (pa.table({"a": [1.5]}), ["a"], TypeError),
        (pa.array(["a"]), ["a"], TypeError),
        ("ab", [], TypeError),
        (["ab"], [], TypeError),
        ([("a",), ("a", "b")], [], ValueError),
        ([{"a": 1}], ["b"], KeyError),
        ([(1.5,)], [], TypeError),
    ]:
        with pytest.raises(error):
            filter.contains_rows(bad, columns)


def test_columns_of_the_same_name_are_refused():
    """Their names, in place of their values, became keys of pandas; of the others the first one was taken."""
    import pandas as pd
    import polars as pl

    frame = pd.DataFrame([["x", "y"], ["z", "w"]], columns=["a", "a"])
    levels = pd.DataFrame([["x", "y"], ["z", "w"]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))
    table = pa.Table.from_arrays([pa.array(["x"]), pa.array(["y"])], names=["a", "a"])
    for rows in [frame, levels, table]:
        filter = umbel.Bloom(100, 1e-9)
        for use in [filter.add_rows, filter.contains_rows]:
            with pytest.raises(ValueError, match="several columns are named a"):
                use(rows, ["a"])
        assert not filter
    # A column that is not looked up does no harm.
    for rows in [frame.assign(b=["s", "t"]), table.append_column("b", pa.array(["s"])), pl.DataFrame({"b": ["s"]})]:
        filter = umbel.Bloom(100, 1e-9)
        filter.add_rows(rows, ["b"])
        assert "s" in filter
