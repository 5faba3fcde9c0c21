"""Inputs of bare keys next to records, and records with and without headers, against sets of Python."""

import csv
import gzip
import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings, strategies

import umbel

VALUES = strategies.text(strategies.sampled_from('ab7 ,"\n\t{\\é\x01'), max_size=3)


def as_csv(header, rows):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([header, *rows])
    return out.getvalue().encode()


@settings(deadline=None)
@given(strategies.lists(VALUES), strategies.lists(VALUES), strategies.booleans())
@example([], ["\n{", ""], True)
@example(["", "a"], ["\n", "\n{", "a"], True)
@example(["a", '"a"'], ['"a"'], False)
def test_keys_against_sets(tmp_path_factory, ids, keys, as_json):
    folder = tmp_path_factory.mktemp("keys")
    rows = [(str(number), value) for number, value in enumerate(ids)]
    path = folder / "rows"
    if as_json:
        path.write_text("".join(json.dumps({"n": n, "id": value}) + "\n" for n, value in rows))
        options = {"records": "jsonl", "key": "id"}
        numbers = lambda found: [json.loads(line)["n"] for line in found]  # noqa: E731
    else:
        path.write_bytes(as_csv(["n", "id"], rows))
        options = {"records": "csv", "key": {"id": None}}
        numbers = lambda found: [row[0] for row in list(csv.reader(io.StringIO("\n".join(found))))[1:]]  # noqa: E731
    # A list may be of lines of an open file.
    of_lines = {key.removesuffix("\n") for key in keys}
    # The first that is not a blank line tells whether they are JSON.
    first = next((key for key in keys if key != "\n"), keys[-1] if keys else "")
    if not (as_json and first.strip().startswith("{")):
        for of in (list, iter, pl.Series, lambda values: pa.array(values, pa.string()), lambda values: pd.Series(values, dtype="str")):
            wanted = of_lines if of in (list, iter) else set(keys)
            assert numbers(umbel.common(path, of(keys), all=True, **options)) == [n for n, value in rows if value in wanted]
    options["key"] = {"id": None}
    assert numbers(umbel.except_(path, keys, all=True, **options)) == [n for n, value in rows if value not in of_lines]


@pytest.fixture
def orders(tmp_path):
    (tmp_path / "o.csv").write_text("id,name\n7,ann\n8,bob\n9,eve\n")
    (tmp_path / "o.jsonl").write_text('{"id":7,"in":{"x":"p"}}\n{"id":"8","in":{"x":"q"}}\n')
    (tmp_path / "ids").write_bytes(b"7\r\n\n9\n")
    (tmp_path / "ids.gz").write_bytes(gzip.compress(b"7\n9\n"))
    return tmp_path


def test_files_of_keys(orders):
    wanted = ["id,name", "7,ann", "9,eve"]
    for name in ("ids", "ids.gz"):
        assert list(umbel.common(orders / "o.csv", orders / name, records=["csv", None], key="id")) == wanted
        assert list(umbel.common(orders / "o.csv", orders / name, records="csv", key={"id": None})) == wanted
        assert list(umbel.join(orders / "o.csv", orders / name, records=["csv", None], on="id")) == wanted
    assert list(umbel.except_(orders / "o.jsonl", orders / "ids", records=["jsonl", None], key="id")) == ['{"id":"8","in":{"x":"q"}}']
    # Next to records whose field has a name of its own, and to rows of words.
    assert list(umbel.except_(orders / "o.csv", ["uid", "8"], orders / "ids", records=["csv", "csv", None], key={"id": "uid"})) == ["id,name"]
    assert list(umbel.common(["7 a", "8 b"], ["b"], records=["fields", None], key="2")) == ["8 b"]
    assert list(umbel.common(["7,a", "8,b"], ["b"], records=["csv", None], key="2", header=False)) == ["8,b"]
    assert list(umbel.common(["x\ty", "7\ta"], np.array([7]), records="tsv", key="x")) == ["x\ty", "7\ta"]


def test_lists_of_keys_are_told_from_lines(orders):
    o = orders / "o.csv"
    for keys in ([7], ["7"], iter([7]), np.array([7]), pd.Series([7]), pl.Series(["7"]), pa.array([7, None])):
        assert list(umbel.except_(o, keys, records="csv", key="id")) == ["id,name", "8,bob", "9,eve"]
    assert list(umbel.except_(o, ["id,city", "7,Rome"], records="csv", key="id")) == ["id,name", "8,bob", "9,eve"]
    assert list(umbel.except_(o, [], records="csv", key="id"))[1:] == ["7,ann", "8,bob", "9,eve"]
    with open(orders / "ids") as lines:
        assert list(umbel.except_(o, lines, records="csv", key="id")) == ["id,name", "8,bob"]
    j = orders / "o.jsonl"
    assert list(umbel.common(j, ["q"], records="jsonl", key="in.x")) == ['{"id":"8","in":{"x":"q"}}']
    assert list(umbel.common(j, ['{"id":8}'], records="jsonl", key="id")) == ['{"id":"8","in":{"x":"q"}}']


def test_headers_per_input(orders):
    (orders / "bare.csv").write_text('7,"p, q"\n9,r\n')
    pair = (orders / "o.csv", orders / "bare.csv")
    assert list(umbel.common(*pair, records="csv", header=[True, False], key={"name": "2"})) == ["id,name"]
    assert list(umbel.common(*pair, records="csv", header=[True, False], key={"id": "1"})) == ["id,name", "7,ann", "9,eve"]
    assert list(umbel.join(*pair, records="csv", header=[True, False], on={"id": "1"})) == ["id,name,2", '7,ann,"p, q"', "9,eve,r"]
    assert list(umbel.except_(*pair[::-1], ["8"], records=["csv", "csv", None], header=[False, True, False], key="1")) == []


def test_inputs_of_keys_are_inputs_as_any(orders):
    o, given = orders / "o.csv", {"records": "csv", "key": "id"}
    assert list(umbel.common(["a", "b"], ["b"], records=[None, None])) == ["b"]
    assert list(umbel.common(o, ["ANN"], records="csv", key="name", ignore_case=True)) == ["id,name", "7,ann"]
    for keys in ({7}, {7: "x"}, memoryview(np.array([7]))):
        assert list(umbel.common(o, keys, **given)) == ["id,name", "7,ann"]
    (orders / "many").mkdir()
    for key in "78":
        (orders / "many" / key).write_text(key)
    assert list(umbel.except_(o, orders / "many", records=["csv", None], key="id", recursive=True)) == ["id,name", "9,eve"]
    (orders / "s.csv").write_text("id;x\n8;1\n")
    assert list(umbel.except_(o, orders / "s.csv", ["7"], delimiter=[",", ";"], **given)) == ["id,name", "9,eve"]
    once = iter(["7", "8"])
    with pytest.raises(ValueError, match="input 3 is an iterator that is already another input"):
        umbel.common(o, once, once, **given)
    for words, keys in [("a line is str, bytes or int, not float", [8.5]), ("not NoneType", [None]), ("an array of float64 has none", np.array([8.5]))]:
        with pytest.raises(TypeError, match=words):
            umbel.common(o, keys, **given)


def test_refusals(orders):
    o = orders / "o.csv"
    for words, job in {
        "input 2: the result has rows of all inputs, so this one needs rows": lambda: umbel.dedup(o, ["8"], records=["csv", None], key="id"),
        "the key has 2; name one": lambda: umbel.common(o, ["8"], records=["csv", None], key=["id", "name"]),
        "the key has 0; name one": lambda: umbel.common(o, ["8"], records=["csv", None]),
        "input 2: its first line, ID,city, is not a header with id": lambda: umbel.common(o, ["ID,city"], records="csv", key="id"),
        "records: found 1 in a list for 2": lambda: umbel.common(o, ["8"], records=["csv"], key="id"),
        "records: the first input has rows": lambda: umbel.common(["8"], o, records=[None, "csv"], key="id"),
        "header: found 3 in a list for 2": lambda: umbel.common(o, o, records="csv", header=[True, True, False]),
        "input 2: the result has rows of all inputs, so this one needs a header": lambda: umbel.dedup(o, o, records="csv", header=[True, False]),
        "input 2, line 1: a key that is empty, or has a delimiter[^:]*$": lambda: umbel.common(["x\ty"], ["a\tb"], records=["tsv", None], key="x"),
        "cannot be a field": lambda: umbel.common(["a b"], ["a b"], records=["fields", None], key="1"),
        "give records, or bare keys for all": lambda: umbel.common(*[orders / "o.jsonl"] * 2, ["q"], records="jsonl", key="in.x"),
    }.items():
        with pytest.raises(ValueError, match=words):
            job()
