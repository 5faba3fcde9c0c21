"""Streams of tables as keys, tables as inputs of jobs, and results as tables, against pandas and Python's sets."""

import datetime
import io
import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given, settings, strategies

import umbel

TABLE = pa.table({"url": pa.chunked_array([["a", "b"], [None, "a"]])})
STREAMS = {
    "reader": lambda table: table.to_reader(),
    "scanner": lambda table: ds.dataset(table).scanner(),
    "table": lambda table: table,
    "batch": lambda table: table.combine_chunks().to_batches()[0],
    "Polars": pl.from_arrow,
    "lazy": lambda table: pl.from_arrow(table).lazy(),
    "batches": lambda table: pl.from_arrow(table).lazy().collect_batches(),
    "DuckDB": lambda table: duckdb.connect().from_arrow(table),
}


@pytest.mark.parametrize("of", STREAMS.values(), ids=STREAMS)
def test_a_stream_of_one_column_is_keys(of):
    seen = umbel.Bloom(1000, 1e-6)
    new = seen.add_new(of(TABLE))
    asked = seen.contains_many(of(TABLE))
    if of is STREAMS["DuckDB"]:
        assert new.tolist() == [True, True, False, False] and asked.tolist() == [True, True, False, True]
    else:
        values = lambda column: column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()  # noqa: E731
        assert values(new) == [True, True, None, False] and values(asked) == [True, True, None, True]
    more = umbel.Bloom(1000, 1e-6)
    more.add_many(of(TABLE))
    assert more == seen
    ids = umbel.Bloomier(of(pa.table({"id": [7, 8]})))
    assert 7 in ids and 8 in ids
    with pytest.raises(TypeError, match="a table has rows, not keys; give one of its columns"):
        more.add_many(of(pa.table({"a": ["x"], "b": ["y"]})))


def test_a_column_of_structs_is_no_table():
    for column in (pa.array([{"a": 1}]), pl.Series([{"a": 1}])):
        with pytest.raises(TypeError, match="a table has rows, not keys"):
            umbel.Bloom(10).add_many(column)


TABLES = {**{name: of for name, of in STREAMS.items() if name != "batch"}, "pandas": lambda table: table.to_pandas()}
ORDERS = pa.table({"id": [7, 8, 9], "name": ["ann", 'x, "y"\nz', None], "paid": [True, None, False], "day": [datetime.date(2026, 1, day) for day in (1, 2, 3)]})


@pytest.mark.parametrize("of", TABLES.values(), ids=TABLES)
def test_tables_are_inputs(of, tmp_path):
    (tmp_path / "done.csv").write_text("id,day\n8,x\n")
    found = umbel.except_(of(ORDERS), tmp_path / "done.csv", key="id")
    assert list(found) == ["id,name,paid,day", '7,"ann",true,2026-01-01', "9,,false,2026-01-03"] or of is TABLES["pandas"]
    assert found.to_arrow().drop(["paid"]) == ORDERS.take([0, 2]).drop(["paid"])
    assert found.to_pandas()["id"].tolist() == [7, 9] and found.to_polars()["id"].to_list() == [7, 9]
    assert found.to_arrow()["name"].to_pylist() == ["ann", None]
    # Whole rows; keys; rows whose columns are in another order.
    twice = umbel.dedup(of(ORDERS), of(ORDERS.select([3, 2, 1, 0])))
    assert twice.to_arrow()["id"].to_pylist() == [7, 8, 9] and twice.to_arrow()["name"].to_pylist() == ["ann", 'x, "y"\nz', None]
    assert umbel.common(of(ORDERS), [9, 7], key="id").to_pandas()["id"].tolist() == [7, 9]
    sides = umbel.join(of(ORDERS.select(["id"])), of(pa.table({"order": [9], "price": ["007"]})), on={"id": "order"})
    assert sides.to_arrow().to_pydict() == {"id": [9], "price": ["007"]}
    umbel.diff(of(ORDERS), of(ORDERS.slice(1)), key="id", removed=tmp_path / "gone.csv")
    assert pd.read_csv(tmp_path / "gone.csv")["id"].tolist() == [7]


@pytest.mark.parametrize("of", [pa.int64(), pa.uint64(), pa.int8()], ids=str)
def test_integers_next_to_nulls_are_exact(of):
    most = (1 << (of.bit_width - str(of).startswith("i"))) - 1
    table = pa.table({"k": ["a", "b"], "id": pa.array([most, None], of)})
    for given in (table, pl.from_arrow(table)):
        rows = umbel.dedup(given, key="k").to_pandas()
        assert rows["id"][0] == most and rows["id"].isna().tolist() == [False, True] and str(rows["id"].dtype).lower() == str(of)
    assert umbel.dedup(table.slice(0, 1), key="k").to_pandas()["id"].dtype == str(of)


VALUES = strategies.one_of(strategies.none(), strategies.text(strategies.sampled_from('0a ,"\n\té'), max_size=3))


@settings(deadline=None)
@given(strategies.lists(strategies.tuples(strategies.integers(-3, 3), VALUES)), strategies.lists(strategies.integers(-3, 3)), strategies.sampled_from([pl.DataFrame, None]))
def test_rows_come_back_as_they_were(rows, keys, of):
    columns = {"id": pa.array([row[0] for row in rows], pa.int64()), "text": pa.array([row[1] for row in rows], pa.string())}
    table = pa.table(columns) if of is None else pl.from_arrow(pa.table(columns))
    found = umbel.common(table, np.array(keys, np.int64), key="id", all=True)
    assert [tuple(row.values()) for row in found.to_arrow().to_pylist()] == [row for row in rows if row[0] in keys]
    assert found.to_polars().rows() == [row for row in rows if row[0] in keys]


def test_large_tables_come_in_parts():
    count = 200_000
    table = pa.table({"n": range(count), "text": [str(n % 1000) for n in range(count)]})
    firsts = umbel.dedup(table, key="text").to_arrow()
    assert firsts == table.slice(0, 1000).combine_chunks() and firsts.schema == table.schema


def test_results_are_files_and_tables(tmp_path):
    rows = ["id,note", '007,"a', 'b"', "8,NA", "007,c"]
    found = umbel.dedup(rows, records="csv", key="id")
    for _ in range(2):
        assert pd.read_csv(found, dtype="str", keep_default_na=False).to_dict("list") == {"id": ["007", "8"], "note": ["a\nb", "NA"]}
        assert pl.read_csv(found.open(), infer_schema=False)["id"].to_list() == ["007", "8"]
    assert found.open().read() == found.read() == b'id,note\n007,"a\nb"\n8,NA\n' and found.read() == b""
    assert io.TextIOWrapper(found.open()).readline() == "id,note\n"
    part = found.open()
    assert part.seek(3) == 3 and part.read(4) == b"note"
    assert found.to_pandas()["id"].tolist() == [7, 8] and found.to_pandas(dtype={"id": "str"})["id"].tolist() == ["007", "8"]
    assert found.to_arrow({"id": "string"})["id"].to_pylist() == found.to_polars(infer_schema=False)["id"].to_list() == ["007", "8"]
    assert found.to_arrow(pa.schema({"id": pa.string()})).to_pylist() == [{"id": "007", "note": "a\nb"}, {"id": "8", "note": "NA"}]
    semicolons = umbel.dedup(["a;b", "1;2"], records="csv", delimiter=";")
    assert semicolons.to_arrow().to_pydict() == semicolons.to_pandas().to_dict("list") == semicolons.to_polars().to_dict(as_series=False) == {"a": [1], "b": [2]}
    tabs = umbel.dedup(["a\tb", '"1\t2'], records="tsv")
    assert tabs.to_arrow().to_pydict() == tabs.to_pandas().to_dict("list") == tabs.to_polars().to_dict(as_series=False) == {"a": ['"1'], "b": [2]}
    bare = umbel.dedup(["1,2"], records="csv", header=False)
    assert bare.to_pandas().shape == bare.to_arrow().to_pandas().shape == bare.to_polars().shape == (1, 2)
    objects = umbel.dedup([json.dumps({"n": n % 2, "in": {"x": n}}) for n in range(3)], records="jsonl", key="n")
    assert objects.to_arrow().to_pylist() == objects.to_polars().to_dicts() == objects.to_pandas().to_dict("records") == [{"n": 0, "in": {"x": 0}}, {"n": 1, "in": {"x": 1}}]
    counted = umbel.dedup(pa.table({"k": ["a", "b", "a"]}), count=True)
    assert counted.to_arrow().to_pydict() == {"count": [2, 1], "k": ["a", "b"]}
    assert not umbel.common(rows, ["x"], records="csv", key="id").to_arrow().num_rows
    for words, refused in {
        'lines have no columns; give records="csv"': lambda: umbel.dedup(["a"]).to_arrow(),
        "rows of a diff have marks": lambda: umbel.diff(rows, rows, records="csv").to_pandas(),
        'input 1 is a table, whose rows are CSV; give records="csv"': lambda: umbel.dedup(ORDERS, records="jsonl"),
        "input 1: a table without columns": lambda: umbel.dedup(pl.DataFrame()),
        "input 1 is a table, which has names": lambda: umbel.dedup(ORDERS, header=False),
    }.items():
        with pytest.raises(ValueError, match=words):
            refused()
    assert umbel.dedup(pa.table({"a": ["x", None, "", "x"]})).to_arrow().to_pydict() == {"a": ["x", ""]}
    with pytest.raises(TypeError, match="input 2: column in of struct<x: int64> has no text in CSV"):
        umbel.common(ORDERS, pa.table({"in": [{"x": 1}]}), key="id")


def test_order_holders_and_plans():
    inputs = (["b", "c", "a"], ["a", "c"], ["c", "d"])
    assert list(umbel.dedup(*inputs, sort=True)) == ["a", "b", "c", "d"]
    assert list(umbel.except_(*inputs[::2], sort=True)) == ["a", "b"] and list(umbel.common(*inputs[:2], sort=True)) == ["a", "c"]
    assert list(umbel.common(*inputs, which=True)) == ["1\tb", "1,2,3\tc", "1,2\ta", "3\td"]
    assert list(umbel.common(*inputs, which="names", at_least=3)) == ["input 1,input 2,input 3\tc"]
    assert list(umbel.common(*inputs, only=[1, 2])) == ["a"] and list(umbel.common(*inputs, only=3)) == ["d"]
    tables = [pa.table({"id": ids}) for ids in ([7, 8], [8])]
    assert umbel.common(*tables, which=True, sort=True).to_arrow().to_pydict() == {"files": ["1", "1,2"], "id": [7, 8]}
    for plan in (umbel.dedup(*inputs, explain=True), umbel.except_(*inputs, explain=True), umbel.join(["a 1"], ["a 2"], on="1", records="fields", explain=True)):
        assert isinstance(plan, umbel.Explanation) and plan.strategy == "table" and plan.exact and plan.passes > 0
    plan = umbel.common(*inputs, fpp=0.01, explain=True)
    assert plan.strategy == "one-pass" and not plan.exact and len(plan.lines) == 3
    for words, refused in {
        "only: found 4 for 3 inputs": lambda: umbel.common(*inputs, only=4),
        "which: expected numbers or names": lambda: umbel.common(*inputs, which="files"),
        "sort cannot be used with by_count": lambda: umbel.dedup(*inputs, sort=True, by_count=True),
    }.items():
        with pytest.raises(ValueError, match=words):
            refused()


def test_what_changed_is_told_by_cells():
    old, new = ["id,price", "1,1.00", "2,2", "3,x"], ["id,price", "1,1.001", "2,3", "4,y"]
    diff = lambda **options: list(umbel.diff(old, new, records="csv", key="id", **options))
    assert diff(cells=True) == ["id,column,old,new", "1,price,1.00,1.001", "2,price,2,3"]
    assert diff(cells=True, tolerance={"price": 0.01}) == ["id,column,old,new", "2,price,2,3"]
    assert diff(mark_column=True) == ["change,id,price", "-,3,x", "~,1,1.001", "~,2,3", "+,4,y"]
    assert diff(tolerance={"price": 1}) == ["- 3,x", "+ 4,y"]
    with pytest.raises(ValueError, match="name the fields with key"):
        umbel.diff(old, new, records="csv", cells=True)
    with pytest.raises(ValueError, match="cost"):
        umbel.diff(old, new, records="csv", key="id", tolerance={"cost": 1})


def test_lines_that_occur_once_and_empty_keys():
    assert list(umbel.dedup(["a", "b", "a"], unique=True)) == ["b"]
    rows = ["k,v", ",1", "x,2"]
    assert list(umbel.join(rows, ["k,w", ",3", "x,4"], records="csv", on="k")) == ["k,v,w", "x,2,4"]
    paired = umbel.join(rows, ["k,w", ",3", "x,4"], records="csv", on="k", empty="value")
    assert list(paired) == ["k,v,w", ",1,3", "x,2,4"] and paired.report.empty == 0
    skipped = umbel.dedup(rows, records="csv", key="k", empty="skip")
    assert list(skipped) == ["k,v", "x,2"] and skipped.report.empty == 1
    with pytest.raises(ValueError, match="value, skip or keep"):
        umbel.dedup(rows, records="csv", key="k", empty="no")


def test_the_best_row_and_every_row_of_a_key():
    rows = ["id,n", "a,9", "b,1", "a,10", "a,", "c,x"]
    assert list(umbel.dedup(rows, records="csv", key="id", keep="max:n"))[1:] == ["b,1", "a,10", "c,x"]
    assert list(umbel.dedup(rows, records="csv", key="id", keep="min:n", count=True))[:2] == ["count,id,n", "3,a,9"]
    assert list(umbel.dedup(rows, records="csv", key="id", repeated=True, all=True, line_number=True)) == ["line,id,n", "2,a,9", "4,a,10", "5,a,"]
    with pytest.raises(ValueError, match="keep: expected first, last, min:FIELD or max:FIELD, found best"):
        umbel.dedup(rows, keep="best")
    with pytest.raises(ValueError, match="requires repeated or at_least"):
        umbel.dedup(rows, all=True)
    with pytest.raises(ValueError, match="min:n chooses among rows with the same key"):
        umbel.dedup(rows, keep="min:n")


def test_repeats_and_other_names_in_a_diff():
    before, after = ["id,v", "1,a", "2,b"], ["ID,v", "1,a", "2,c", "1,a"]
    assert list(umbel.diff(before, after, records="csv", key={"id": "ID"}, counts=True)) == ["+1 1,a", "~ 2,c"]
    with pytest.raises(ValueError, match="diff compares whole rows"):
        umbel.diff(before, after, records="csv", key={"id": None})


def test_prefixes_of_both_sides():
    left, right = ["id,v", "1,a"], ["id,v", "1,b"]
    joined = umbel.join(left, right, on="id", records="csv", left_prefix="l_", prefix="r_")
    assert list(joined) == ["id,l_v,r_v", "1,a,b"]


def test_one_time_has_one_text(tmp_path):
    """A finer unit, or another time zone, made equal times differ, and nothing was common."""
    times = [datetime.datetime(2020, 1, 1, 10), datetime.datetime(2020, 1, 1, 10, 0, 0, 500_000), None]
    units = [pa.table({"at": pa.array(times, pa.timestamp(unit)), "n": [1, 2, 3]}) for unit in ("ms", "us", "ns")]
    zones = [units[1].set_column(0, "at", units[1]["at"].cast(pa.timestamp("us", zone))) for zone in ("UTC", "Europe/Berlin")]
    hours = [pa.table({"at": pa.array([datetime.time(1, 2, 3)], pa.time64(unit)), "n": [1]}) for unit in ("us", "ns")]
    for tables in (units, zones, hours):
        for first in tables:
            for other in tables:
                assert umbel.common(first, other).to_arrow() == first
                assert umbel.dedup(first, other, key="at").to_arrow().schema == first.schema
    frame = units[2].to_pandas()
    assert umbel.common(pl.from_arrow(units[1]), frame, key="at").to_polars()["n"].to_list() == [1, 2, 3]
    (tmp_path / "log.csv").write_text("at,n\n2020-01-01 10:00:00.5,2\n")
    assert umbel.common(frame, tmp_path / "log.csv", key="at").to_pandas()["n"].tolist() == [2]


def test_columns_that_are_never_equal_are_refused():
    """They had nothing in common, without a reason."""
    at = pa.array([datetime.datetime(2020, 1, 1)], pa.timestamp("us"))
    columns = {
        "time without a zone": at,
        "time in UTC": at.cast(pa.timestamp("us", "UTC")),
        "date32": at.cast(pa.date32()),
        "2 places": pa.array([1]).cast(pa.decimal128(21, 2)),
        "3 places": pa.array([1]).cast(pa.decimal128(22, 3)),
        "a number": pa.array([1]),
        "bool": pa.array([True]),
    }
    for name, column in columns.items():
        for other, with_ in columns.items():
            tables = pa.table({"x": [1], "k": column}), pa.table({"k": with_, "x": [1]})
            if name == other:
                assert len(umbel.common(*tables, key="k")) == 2
                continue
            for job in (umbel.common, umbel.except_, umbel.dedup):
                with pytest.raises(TypeError, match=f"input 2: column k is written as .*{other}.*, and k of input 1 as .*{name}"):
                    job(*tables, key="k")
            with pytest.raises(TypeError, match="input 2: column k"):
                umbel.join(*tables, on="k")
        assert list(umbel.common(pa.table({"k": column}), pa.table({"k": ["no"]}))) == ["k"]
    assert len(umbel.common(pa.table({"k": [1, 2]}), pa.table({"k": [2.0, 0.5]}))) == 2


def test_words_of_polars_are_text():
    """Polars has the words of a dictionary as views, of which pyarrow cannot take some."""
    for of in (pl.Categorical, pl.Enum(["x", "y"])):
        table = pl.DataFrame({"a": pl.Series(["x", None, "y", "x"], dtype=of), "n": [1, 2, 3, 1]})
        assert umbel.dedup(table).to_polars().rows() == [("x", 1), (None, 2), ("y", 3)]


def test_the_rows_of_a_table_do_not_go_through_python_one_by_one(monkeypatch):
    """A second table was searched for bare keys, and read line by line from then on."""
    lines = []
    monkeypatch.setattr(umbel._tables.Rows, "__next__", lambda rows: lines.append(rows), raising=False)
    left, right = pd.DataFrame({"id": [1, 2], "n": [1, 2]}), pd.DataFrame({"id": [2, 3], "n": [1, 2]})
    assert umbel.common(left, right, key="id").to_pandas()["id"].tolist() == [2] and not lines
    with pytest.raises(ValueError, match='input 1: the header has no field "ids"'):
        umbel.common(left, right, key="ids")


def test_parquet_files_and_names_of_files(tmp_path):
    import pyarrow.parquet as pq

    left, right = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]}), pa.table({"id": [2, 3, 4], "city": ["x", "y", "z"]})
    for name, table in (("left", left), ("right", right)):
        pq.write_table(table, tmp_path / f"{name}.parquet")
        table.to_pandas().to_csv(tmp_path / f"{name}.csv", index=False)
        table.to_pandas().to_csv(tmp_path / f"{name}.tsv.bgz", index=False, sep="\t", compression="gzip")
    for suffix in ("parquet", "csv", "tsv.bgz"):
        paths = tmp_path / f"left.{suffix}", str(tmp_path / f"right.{suffix}")
        assert umbel.common(*paths, key="id").to_arrow().equals(left.slice(1)), suffix
        assert umbel.join(*paths, on="id").to_arrow()["city"].to_pylist() == ["x", "y"]
    assert len(umbel.common(tmp_path / "left.parquet", tmp_path / "right.csv", key="id")) == 3
    assert len(umbel.common(ds.dataset(tmp_path / "left.parquet"), right, key="id")) == 3
    # Without a key, they are lines.
    assert list(umbel.common(tmp_path / "left.csv", ["2,b"])) == ["2,b"]
    (tmp_path / "ids.txt").write_text("2\n")
    with pytest.raises(ValueError, match="set the format with records"):
        umbel.common(tmp_path / "left.csv", tmp_path / "ids.txt", key="id")
    with pytest.raises(ValueError, match="results are written as text"):
        umbel.dedup(left, out=tmp_path / "out.parquet")


def test_whole_floats_are_integers(tmp_path):
    ids = [10_000_000_007, 2**53, 0, 7, -12_345_678_901]
    numbers = pa.table({"id": ids})
    with_missing = pa.table({"id": pa.array([float(one) for one in ids] + [None])})
    with_fractions = pa.table({"id": pa.array([float(one) for one in ids] + [0.5, -0.0])})
    for table in (with_missing, with_fractions):
        assert list(umbel.except_(numbers, table, key="id")) == ["id"]
    assert list(umbel.common(with_fractions, numbers, key="id"))[1:] == ['"10000000007"', '"9007199254740992"', '"0"', '"7"', '"-12345678901"']


def test_results_do_not_replace_filters_indexes_or_secrets(tmp_path):
    files = {name: tmp_path / name for name in ("filter", "packed", "index", "secret")}
    umbel.Bloom(100).save(files["filter"])
    umbel.Bloom(100).save(files["packed"], packed=True)
    (tmp_path / "text").write_text("a\n")
    umbel.index(files["index"], tmp_path / "text")
    files["secret"].write_text("umbel-secret-1:" + "00" * 16 + "\n")
    before = {path: path.read_bytes() for path in files.values()}
    for path in files.values():
        with pytest.raises(ValueError, match="would be lost"):
            umbel.dedup(["a"], out=path)
        with pytest.raises(ValueError, match="would be lost"):
            umbel.diff(["a"], ["b"], added=path)
    with pytest.raises(OSError, match="is a secret"):
        umbel.Bloom(100).save(files["secret"])
    assert before == {path: path.read_bytes() for path in files.values()}
    umbel.Bloom(100).save(files["filter"])


def test_a_tolerance_is_not_negative():
    for most in (-1, float("nan")):
        with pytest.raises(ValueError, match="at least 0"):
            umbel.diff(["k,p", "a,1"], ["k,p", "a,2"], records="csv", key="k", tolerance={"p": most})


def test_short_floats_and_intervals():
    halves = pa.table({"x": pa.array(np.array([0.5, 2, 0.5], np.float16))})
    assert list(umbel.dedup(halves).to_arrow()["x"].to_pylist()) == [0.5, 2]
    with pytest.raises(TypeError, match="input 1: column i of month_day_nano_interval has no text in CSV"):
        umbel.dedup(pa.table({"i": pa.array([pa.MonthDayNano([1, 2, 3])])}))
