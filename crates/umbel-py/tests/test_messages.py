"""What help, stubs and messages say, and that messages name the remedy."""

import ast
import copy
import pydoc
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import umbel
from umbel import _files

LINES = ["a", "b"]
FILTER = umbel.Bloom(1000)


@pytest.mark.parametrize(
    ("error", "words", "call"),
    [
        (TypeError, r"dedup\(\) has no option recrods; did you mean records\?", lambda: umbel.dedup(LINES, recrods="csv")),
        (TypeError, r"except_\(\) has no option alll; did you mean all\?", lambda: umbel.except_(LINES, LINES, alll=True)),
        (TypeError, r"join\(\) has no option xyz; help\(umbel.join\) lists all", lambda: umbel.join(LINES, LINES, on="1", xyz=1)),
        (TypeError, r"common\(\) has no option ignored", lambda: umbel.common(LINES, LINES, ignored=["a"])),
        (TypeError, r"diff\(\) has no option ignore_column; did you mean ignore_columns\?", lambda: umbel.diff(LINES, LINES, ignore_column="a")),
        (TypeError, "join uses on instead of key", lambda: umbel.join(LINES, LINES, on="1", key="1")),
        (ValueError, "skip: expected a number of lines, at least 0, found -1", lambda: umbel.dedup(LINES, skip=-1)),
        (TypeError, "argument 'skip'", lambda: umbel.dedup(LINES, skip="2")),
        (ValueError, "comment: expected one byte, found //", lambda: umbel.dedup(LINES, comment="//")),
        (ValueError, "comment cannot be used with null; omit one", lambda: umbel.dedup(LINES, comment="#", null=True)),
        (ValueError, "skip cannot be used with null; omit one", lambda: umbel.dedup(LINES, skip=1, null=True)),
        (ValueError, "ragged: expected refuse or pad, found cut", lambda: umbel.dedup(LINES, records="csv", ragged="cut")),
        (ValueError, r'ragged goes with records="csv" or "tsv"', lambda: umbel.dedup(LINES, ragged="pad")),
        (ValueError, "line 3: the record has 2 fields, but its file has 1 column", lambda: umbel.dedup([*LINES, "1,2"], records="csv", ragged="refuse")),
        (ValueError, "quotes: expected double or none, found single", lambda: umbel.dedup(LINES, records="csv", quotes="single")),
        (ValueError, r'quotes="none" goes with records="csv"', lambda: umbel.dedup(LINES, records="tsv", quotes="none")),
        (ValueError, 'quotes="none" cannot be used with raw', lambda: umbel.dedup(LINES, records="csv", quotes="none", raw=True)),
        (ValueError, 'quotes="none": all inputs need the same delimiter', lambda: umbel.dedup(LINES, LINES, records="csv", quotes="none", delimiter=[",", ";"])),
        (ValueError, r'raw=True goes with records="csv" or "jsonl"', lambda: umbel.dedup(LINES, raw=True)),
        (ValueError, "ignore_columns cannot be used with raw", lambda: umbel.diff(LINES, LINES, records="csv", raw=True, ignore_columns="a")),
        (ValueError, "cells and tolerance cannot be used with raw", lambda: umbel.diff(LINES, LINES, records="csv", key="a", raw=True, cells=True)),
        (ValueError, "by_name=True needs column names", lambda: umbel.dedup(LINES, records="csv", header=False, by_name=True)),
        (ValueError, "input 2 is a column of values, .* omit skip and comment", lambda: umbel.common(["id", "7"], np.array([7, 8]), records="csv", key={"id": "1"}, skip=1)),
        (ValueError, "input 1 is a table, which is not read from text; leave comment out", lambda: umbel.dedup(pa.table({"a": ["x"]}), comment="#")),
        (ValueError, "old pairs a changed row .*; name the fields with key", lambda: umbel.diff(LINES, LINES, old=True)),
        (ValueError, "(symmetric|old) cannot be used with (old|removed); omit one", lambda: umbel.diff(LINES, LINES, records="fields", key="1", symmetric=True, old=True, removed="gone")),
        (ValueError, "cells cannot be used with changed; omit one", lambda: umbel.diff(LINES, LINES, records="csv", key="a", cells=True, changed="new")),
        (ValueError, "cells are compared in rows of CSV, TSV or JSON lines", lambda: umbel.diff(LINES, LINES, records="fields", key="1", cells=True)),
        (ValueError, "threads: expected at least 1, found 0; leave it out for all processors", lambda: umbel.dedup(LINES, threads=0)),
        (ValueError, "threads: expected at least 1, found -1", lambda: FILTER.contains_many(LINES, threads=-1)),
        (TypeError, "threads", lambda: FILTER.add_many(LINES, threads="2")),
        (TypeError, "integers of at most 64 bits, text or bytes; cast this column of Polars to Int64", lambda: FILTER.add_many(pl.Series([2**100], dtype=pl.Int128))),
        (TypeError, "a table has rows, not keys; give one of its columns", lambda: FILTER.add_many(pl.LazyFrame({"a": [1], "b": [2]}))),
        (TypeError, r'a pandas series with missing values, with astype\("Int64"\)', lambda: FILTER.add_many(pd.Series([1.0, None]))),
        (TypeError, r'convert it with astype\("int64"\)', lambda: FILTER.add_many(np.array([1.0]))),
        (TypeError, "cast it to int64", lambda: FILTER.add_many(pa.array([1.0, None]))),
    ],
)
def test_remedies(error, words, call):
    with pytest.raises(error, match=words):
        call()


def test_an_index_is_not_of_parquet(tmp_path):
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="a.parquet: is a Parquet file, which has no lines; umbel.parquet.may_hold looks keys up"):
        umbel.index(tmp_path / "index", tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["common", "except_", "join", "dedup", "diff"])
def test_help_has_a_word_for_every_option(name):
    text = pydoc.render_doc(getattr(umbel, name))
    for option in _files.Options.__annotations__:
        assert f"- `{option}`: " in text or f"- `{option}`, " in text or f", `{option}`: " in text, option
    assert ">>> " in text


def test_large_results_are_short_to_print():
    hit = umbel.Hit("a.log", 7, "the line", ("line",))
    assert repr(umbel.Hits([hit])) == f"[{hit!r}]" and repr(umbel.Hits([hit] * 1000)) == f"<Hits: 1000 lines, the first {hit!r}>"
    assert repr(umbel.dedup(map(str, range(100_000)))) == "<Lines: 100000 found>"


class Extended(umbel.Bloom):
    pass


def test_stubs_say_what_classes_that_extend_a_filter_get():
    given = Extended(100)
    found = {
        "__or__": given | given, "__and__": given & given, "__ror__": given.__ror__(given), "__rand__": given.__rand__(given), "copy": given.copy(),
        "union": given.union(["a"]), "intersection": given.intersection(["a"]), "__copy__": copy.copy(given), "__deepcopy__": copy.deepcopy(given),
    }
    stubs = ast.parse((Path(__file__).parents[1] / "python/umbel/_umbel.pyi").read_text())
    classes = {node.name: {of.name: ast.unparse(of.returns) for of in node.body if isinstance(of, ast.FunctionDef)} for node in stubs.body if isinstance(node, ast.ClassDef)}
    returned = {**classes["Filter"], **classes["Bloom"]}
    assert {name: returned[name] for name in found} == {name: "Self" if type(value) is Extended else "Bloom" for name, value in found.items()}
