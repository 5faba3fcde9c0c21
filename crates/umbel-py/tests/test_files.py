"""Set operations on files, against sets and lists."""

import csv
import io
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import umbel

lines = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=3), max_size=30)


@settings(max_examples=100, deadline=None)
@given(lines, lines)
def test_iterables_against_lists(left, right):
    once = list(dict.fromkeys(left))
    assert list(umbel.common(left, right)) == [line for line in once if line in right]
    assert list(umbel.except_(left, right)) == [line for line in once if line not in right]
    assert list(umbel.dedup(left, right)) == list(dict.fromkeys(left + right))
    repeated = [line for line in dict.fromkeys(left) if left.count(line) > 1]
    assert list(umbel.dedup(left, repeated=True)) == repeated


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_files(tmp_path):
    left = write(tmp_path / "left", ["a", "b", "c", "a"])
    right = write(tmp_path / "right", ["c", "a", "d"])
    found = umbel.common(left, str(right))
    assert list(found) == ["a", "c"] == list(found)
    assert found.report.lines == 7 and found.report.found == 2 and found.report.exact
    out = tmp_path / "out"
    report = umbel.common(left, right, out=out)
    assert out.read_text() == "a\nc\n" and report.found == 2 and report.bytes_written == 4
    assert list(umbel.common(left, iter(["a"]), all=True)) == ["a", "a"]
    assert list(umbel.common(left, right, ["d"], at_least=2)) == ["a", "c", "d"]
    assert list(umbel.except_(left, right, all=True)) == ["b"]
    assert list(umbel.dedup(left, count=True, by_count=True, top=1)) == ["2\ta"]
    changed = umbel.diff(left, right)
    assert list(changed) == ["- b", "+ d"]
    assert changed.report.changes[:3] == (1, 1, 0)
    added, removed, kept = (tmp_path / name for name in ["added", "removed", "kept"])
    report = umbel.diff(left, right, added=added, removed=removed, kept=kept)
    assert report.changes == (1, 1, 0, 2) and report.uneven == 1
    texts = [file.read_text() for file in [added, removed, kept]]
    assert texts == ["d\n", "b\n", "a\nc\n"]
    with pytest.raises(ValueError, match="two outputs"):
        umbel.diff(left, right, added=added, kept=added)
    with pytest.raises(ValueError, match="out"):
        umbel.diff(left, right, added=added, out=kept)
    [file.unlink() for file in [added, removed, kept]]
    # In place.
    umbel.dedup(left, out=left)
    assert left.read_text() == "a\nb\nc\n"
    assert not umbel.dedup(left, fpp=1e-6).report.exact
    assert sorted(file.name for file in tmp_path.iterdir()) == ["left", "out", "right"]


def test_records(tmp_path):
    old = write(tmp_path / "old.csv", ["id,name", "1,ann", "2,bob"])
    new = write(tmp_path / "new.csv", ["id,name", "2,bo", "3,eve"])
    assert list(umbel.common(old, new, records="csv", key="id")) == ["id,name", "2,bob"]
    assert list(umbel.diff(old, new, records="csv", key=["id"]))[1:] == ["~ 2,bo", "+ 3,eve"]
    seen = umbel.diff(old, new, records="csv", key="id", ignore_columns=["name"])
    assert list(seen) == ["- 1,ann", "+ 3,eve"]
    with pytest.raises(ValueError, match="ignore_columns"):
        umbel.diff(old, new, ignore_columns="name")
    more = write(tmp_path / "more.csv", ["name,stock,id", "bo,5,2", "ann,7,1"])
    changed = {"records": "csv", "key": "id", "ignore_columns": "stock"}
    assert list(umbel.diff(old, more, **changed)) == ["~ 2,bo,5"]
    assert list(umbel.diff(old, more, mark_column=True, old=True, **changed)) == ["change,id,name,stock", "<,2,bob,", "~,2,bo,5"]
    with pytest.raises(ValueError, match='column 1 is "name", not "id"; name the column'):
        umbel.dedup(old, more, records="csv", key="1", by_name=True)
    with pytest.warns(UserWarning, match='column 1 is "name", not "id" as in .*old.csv; name the column'):
        assert len(list(umbel.except_(old, more, records="csv", key="1"))) == 3
    assert list(umbel.diff(old, more, records="csv", key={"1": "3"}, ignore_columns="stock")) == ["~ 2,bo,5"]
    amounts = ["k,d", 'a,"1,234.50"', "a,1000"]
    assert list(umbel.dedup(amounts, records="csv", key="k", keep="max:d", normalize="thousands")) == ["k,d", 'a,"1,234.50"']
    assert list(umbel.dedup(["3", "20", "100"], sort=True, normalize="number")) == ["3", "20", "100"]
    json = ['{"id":1}', '{"id":1,"x":2}', "{}"]
    kept = umbel.dedup(json, records="jsonl", key="id", missing="skip", keep="last")
    assert list(kept) == ['{"id":1,"x":2}'] and kept.report.missing == 1
    assert list(umbel.dedup(["A", "a "], ignore_case=True, trim=True)) == ["A"]
    urls = ["http://EXAMPLE.org", "http://example.org/"]
    assert len(list(umbel.dedup(urls, normalize="url"))) == 1


values = st.sampled_from(["", "a", "b", "c,d", 'e"f', "NULL"])
tables = st.lists(st.tuples(values, st.sampled_from("xyz")), max_size=8)


def nested_loop(left, right, how, first):
    rows = []
    for key, value in left:
        found = [(key, value, other) for k, other in right if k == key]
        rows += found[:1] if first else found
        rows += [(key, value, "")] if not found and how != "inner" else []
    keys = {key for key, _ in left}
    return rows + [(key, "", other) for key, other in right if key not in keys and how == "full"]


def as_csv(header, rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue().splitlines()


@settings(max_examples=100, deadline=None)
@given(tables, tables, st.sampled_from(["inner", "left", "full"]), st.booleans())
def test_joins_against_a_nested_loop_and_sqlite(left, right, how, first):
    a, b = as_csv(["k", "v"], left), as_csv(["id", "w"], right)
    found = umbel.join(a, b, on={"k": "id"}, how=how, first=first, records="csv", empty="value", memory="32MiB")
    header, *rows = [tuple(row) for row in csv.reader(found)]
    wanted = nested_loop(left, right, how, first)
    assert header == ("k", "v", "w") and rows == wanted
    assert found.report.found == len(wanted) and found.report.exact
    matched = sum(key in {key for key, _ in right} for key, _ in left)
    alone = sum(key not in {key for key, _ in left} for key, _ in right)
    pairs = len(nested_loop(left, right, "inner", first))
    assert found.report.joined == (pairs, matched, len(left) - matched, alone if how == "full" else None)
    if first:
        return
    database = sqlite3.connect(":memory:")
    for name, table in [("a", left), ("b", right)]:
        database.execute(f"create table {name} (k, v)")
        database.executemany(f"insert into {name} values (?, ?)", table)
    select = "select coalesce(a.k, b.k), coalesce(a.v, ''), coalesce(b.v, '')"
    order = "order by a.rowid is null, a.rowid, b.rowid"
    assert rows == database.execute(f"{select} from a {how} join b on a.k = b.k {order}").fetchall()


def test_joins_of_files(tmp_path):
    orders = write(tmp_path / "orders.csv", ["order;customer;name", "1;ann;rake", "2;bob;twine", "3;ann;hoe"])
    customers = write(tmp_path / "customers.csv", ["name,customer", '"Ann; née Lee",ann', "Bob,bob"])
    given = {"on": "customer", "records": "csv", "delimiter": [";", ","]}
    out = tmp_path / "out.csv"
    report = umbel.join(orders, customers, prefix="by ", out=out, **given)
    assert out.read_text().splitlines() == [
        "order;customer;name;by name", '1;ann;rake;"Ann; née Lee"', "2;bob;twine;Bob", '3;ann;hoe;"Ann; née Lee"',
    ]
    assert report.found == 3
    with pytest.raises(ValueError, match="customers.csv.*name"):
        umbel.join(orders, customers, **given)
    with pytest.raises(ValueError, match="several rows have the key"):
        umbel.join(customers, orders, unique=True, prefix="x", on="customer", records="csv", delimiter=[",", ";"])
    people = ['{"id":1.0,"n":"ann"}', '{"id":3,"n":"eve"}']
    joined = umbel.join(['{"id":1}', '{"id":2}'], people, on="id", records="jsonl", normalize="number")
    assert list(joined) == ['{"id":1,"n":"ann"}']
    assert list(umbel.join(["a 1"], ["a 2", "a 3"], on="1", records="fields")) == ["a 1 2", "a 1 3"]
    for wrong, words in [
        ({"how": "outer"}, "inner, left or full"),
        ({"first": True, "unique": True}, "omit one"),
        ({"records": None}, "records"),
        ({"null": True, "records": "jsonl"}, "goes with lines"),
    ]:
        with pytest.raises(ValueError, match=words):
            umbel.join(["a"], ["b"], **{"on": "1", "records": "fields", **wrong})
    with pytest.raises(TypeError, match="on"):
        umbel.join(["a"], ["b"], on="1", key="1", records="fields")
    with pytest.raises(ValueError, match="mapping"):
        umbel.dedup(["a"], key={"1": "2"}, records="fields")
    semi = umbel.common(["a 1", "b 2"], ["x a"], key={"1": "2"}, records="fields", all=True)
    assert list(semi) == ["a 1"]


def test_options_that_do_not_go_together(tmp_path):
    """As on the command line."""
    for refused, words in [
        *((lambda given=given: umbel.dedup(["a"], fpp=1e-6, **given), f"fpp .* {name}") for name, given in [
            ("repeated", {"repeated": True}), ("at_least", {"at_least": 2}), ("keep", {"keep": "last"}), ("count", {"count": True}),
            ("by_count", {"by_count": True}), ("top", {"top": 1}),
        ]),
        (lambda: umbel.dedup(["a"], repeated=True, at_least=3), "repeated .* at_least"),
        (lambda: umbel.common(["a"], ["a"], all=True, fpp=0.1), "all .* fpp"),
        (lambda: umbel.common(["a"], ["a"], all=True, at_least=1), "all .* at_least"),
        (lambda: umbel.except_(["a"], ["a"], all=True, fpp=0.1), "all .* fpp"),
        (lambda: umbel.dedup(["a"], at_least=0), "at_least: expected a whole number of at least 1"),
        (lambda: umbel.dedup(["a"], top=0), "top: expected a whole number of at least 1"),
        (lambda: umbel.common(["a"], ["a"], at_least=0), "a threshold of 0"),
    ]:
        with pytest.raises(ValueError, match=words):
            refused()


COLUMNS = {
    "pyarrow": pa.array, "chunked": lambda values: pa.chunked_array([values[:1], values[1:]]), "NumPy": np.array, "objects": lambda values: np.array(values, object),
    "pandas": pd.Series, "Polars": pl.Series, "list": list, "iterator": iter,
}


@pytest.mark.parametrize("of", COLUMNS.values(), ids=COLUMNS)
def test_a_column_has_no_header(tmp_path, of):
    orders = write(tmp_path / "o.csv", ["id,name", "7,ann", "8,bob", "9,eve"])
    given = {"records": "csv", "key": {"id": "1"}}
    assert list(umbel.except_(orders, of([7, 8]), all=True, **given)) == ["id,name", "9,eve"]
    assert list(umbel.common(orders, of([7, 8]), **given)) == ["id,name", "7,ann", "8,bob"]
    assert list(umbel.common(orders, of([7, 8]), records="csv", key="id")) == ["id,name", "7,ann", "8,bob"]
    assert list(umbel.join(orders, of([8, 7]), on={"id": "1"}, records="csv")) == ["id,name", "7,ann", "8,bob"]
    assert list(umbel.dedup(of([7, 8, 7]), records="csv", key="1")) == ["7", "8"]
    assert list(umbel.dedup(of([7, 8, 7]), of([9, 7]), records="tsv")) == ["7", "8", "9"]
    for refused in [
        lambda: umbel.common(of([7, 8]), orders, records="csv", key={"1": "id"}),
        lambda: umbel.dedup(orders, of([7, 8]), records="csv", key="id"),
        lambda: umbel.common(orders, of([7, 8]), records="csv"),
    ]:
        with pytest.raises(ValueError, match="is a column without a header"):
            refused()
    if of not in (list, iter):
        texts = of(["x,ann", '"a,b",bob'])
        assert list(umbel.common(orders, texts, records="csv", key={"name": "2"})) == ["id,name", "7,ann", "8,bob"]
    # A list of lines has one.
    lines = ["uid,city", "7,Rome"]
    assert list(umbel.common(orders, lines, records="csv", key={"id": "uid"})) == list(umbel.common(orders, lines, records="csv", key={"id": "1"})) == ["id,name", "7,ann"]
    with pytest.raises(ValueError, match="input 2: its first line, ann, .* header"):
        umbel.except_(orders, ["ann", "bob"], records="csv", key={"name": "1"})


def test_records_are_iterated_and_counted():
    """With line feeds in quotes, the header, and the marks of a diff."""
    rows = ["id,note", '1,"a', 'b"', "2,c", "1,d"]
    found = umbel.dedup(rows, records="csv", key="id")
    assert list(found) == ["id,note", '1,"a\nb"', "2,c"] and len(found) == 3 and found.report.found == 2
    found = umbel.diff(rows[:-1], rows[:1], records="csv", key="id")
    assert list(found) == ['- 1,"a\nb"', "- 2,c"] and len(found) == 2
    none = umbel.common(rows, rows[:1], records="csv", key="id")
    assert list(none) == ["id,note"] and len(none) == 1 and not none
    assert len(umbel.dedup(['5" disk', "b"])) == 2 == len(list(umbel.dedup(['5" disk', "b"])))


def test_an_iterator_is_an_input_once(tmp_path):
    for lines in (iter(["a", "b"]), (line for line in "ab"), open(write(tmp_path / "a", ["a"]))):
        with pytest.raises(ValueError, match="input 2 is an iterator .* only once"):
            umbel.common(lines, lines)
    lines = ["a", "b"]
    assert list(umbel.common(lines, lines, iter(lines))) == lines


def test_folders_and_what_is_no_lines(tmp_path):
    folder = tmp_path / "days"
    folder.mkdir()
    write(folder / "b", ["2", "1"])
    write(folder / "a", ["1"])
    assert list(umbel.dedup(folder, recursive=True)) == ["1", "2"]
    assert list(umbel.common(folder, ["1"], recursive=True)) == ["1"]
    with pytest.raises(IsADirectoryError, match="recursive=True"):
        umbel.dedup(folder)
    with pytest.raises(ValueError, match="found 3 inputs; diff takes two"):
        umbel.diff(folder, ["1"], recursive=True)
    (folder / "b").write_text("1\n", encoding="utf-16")
    with pytest.raises(ValueError, match="b: is text in UTF-16; convert it: iconv"):
        umbel.dedup(folder, recursive=True)


def test_filters_are_no_lines(tmp_path):
    """Named where lines belong, in any job, in a folder, and at a URL."""
    filter, other = umbel.Bloom(100, kind="classic"), umbel.Bloom(100, kind="classic")
    filter.update(range(50)), other.update(range(60))
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder / "a", ["1"])
    umbel.index(tmp_path / "i", folder)
    (tmp_path / "delta").write_bytes(filter.delta(other))
    filter.save(tmp_path / "f"), filter.save(tmp_path / "p", packed=True), filter.save(folder / "b")
    for name, what in [("f", "f: is an umbel filter"), ("p", "p: is an umbel filter"), ("delta", "an umbel delta"), ("i", "an umbel index"), ("folder", "b: is an umbel filter")]:
        path = tmp_path / name
        for job in [
            lambda: umbel.dedup(path, recursive=True), lambda: umbel.common(["1"], path, recursive=True), lambda: umbel.except_(path, ["1"], recursive=True, fpp=0.1),
            lambda: umbel.join(folder / "a", path, on="1", records="csv", header=False) if name != "folder" else umbel.dedup(path, recursive=True),
            lambda: umbel.diff(path if name != "folder" else folder / "b", ["1"]),
        ]:
            with pytest.raises(ValueError, match=what):
                job()
    with pytest.raises(ValueError, match="is an umbel filter, not lines"):
        umbel.dedup((tmp_path / "f").as_uri())


def test_normal_forms_of_values():
    numbers = ["1", "1.0", "9007199254740993", "9007199254740992", "1e0", "01"]
    assert list(umbel.dedup(numbers, normalize="number")) == [numbers[i] for i in (0, 2, 3)]
    assert list(umbel.dedup(["1,000", "1000", "1,00"], normalize="thousands")) == ["1,000", "1,00"]
    mails = ["a@B.example", "a@b.example", "A@b.example", "e\u0301", "é"]
    assert list(umbel.dedup(mails, normalize=["email", "nfc"])) == [mails[i] for i in (0, 2, 3)]
    with pytest.raises(ValueError, match="normalize: expected url, email, number, thousands or nfc, found gmail"):
        umbel.dedup(mails, normalize="gmail")


def test_bytes_that_are_not_text():
    data = [b"\xff", b"a", b"\xff"]
    once = list(umbel.dedup(data))
    assert once == ["\udcff", "a"]
    assert list(umbel.common(once, data)) == once


def test_compressed_files(tmp_path):
    import gzip

    path = tmp_path / "list"
    path.write_bytes(gzip.compress(b"a\nb\na\n"))
    assert list(umbel.dedup(path)) == ["a", "b"]


def test_results_larger_than_memory():
    count = 300_000
    made = (f"line {i % (count // 2)} " + "x" * 60 for i in range(count))
    found = umbel.dedup(made, memory="24MiB")
    assert found.report.found == count // 2 and sum(1 for _ in found) == count // 2


def test_errors(tmp_path):
    there = write(tmp_path / "there", ["a"])
    with pytest.raises(FileNotFoundError, match="missing"):
        umbel.dedup(tmp_path / "missing")
    with pytest.raises(ValueError, match="two inputs"):
        umbel.common(there)
    with pytest.raises(ValueError, match="memory"):
        umbel.dedup(there, memory=1)
    with pytest.raises(ValueError, match="records"):
        umbel.dedup(there, key="id")
    with pytest.raises(ValueError, match="records"):
        umbel.dedup(there, records="xml")
    with pytest.raises(ValueError, match="fpp"):
        umbel.dedup(there, fpp=2)
    with pytest.raises(TypeError, match="line"):
        umbel.dedup([1.5, 2])
    with pytest.raises(ValueError, match="more than one line"):
        umbel.dedup(["a\nb"])
    with pytest.raises(TypeError, match="input"):
        umbel.dedup(7)
    with pytest.raises(TypeError):
        umbel.dedup(there, colour="red")
    with pytest.raises(ZeroDivisionError):
        umbel.dedup(str(1 // i) for i in [1, 0])
    with pytest.raises(Exception):
        umbel.dedup(there, out=tmp_path / "no" / "folder")
    out = tmp_path / "out"
    out.write_text("before")
    with pytest.raises(ZeroDivisionError):
        umbel.dedup((str(1 // i) for i in [1, 0]), out=out)
    assert out.read_text() == "before"


def test_progress(monkeypatch, tmp_path):
    import tqdm.auto

    bars = []

    class Bar(tqdm.auto.tqdm):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options, file=io.StringIO())
            bars.append(self)

    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    path = tmp_path / "lines"
    path.write_text("".join(f"line {i}\n" for i in range(500_000)))
    assert umbel.dedup(path, path, progress=True).report.found == 500_000
    [bar] = bars
    assert bar.desc == "dedup" and bar.n == bar.total or bar.total is None
    told = []

    def tell(done, total):
        told.append((done, total))

    slowly = (time.sleep(0.1) or str(i) for i in range(5))
    assert len(umbel.dedup(slowly, progress=tell)) == 5 and told
    assert list(umbel.dedup(tqdm.auto.tqdm(["a", "a"], disable=True))) == ["a"]
    with pytest.raises(ZeroDivisionError):
        umbel.dedup((time.sleep(0.1) or "a" for _ in range(50)), progress=lambda done, total: 1 // 0)


def test_progress_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match="pip install 'umbel.progress.'"):
        umbel.dedup(["a"], progress=True)


def test_reports_are_logged(caplog, tmp_path):
    with caplog.at_level("INFO", "umbel"):
        umbel.dedup(["a", "a"])
        umbel.common(["a"], ["a"], out=tmp_path / "out", fpp=0.01)
    first, second = caplog.messages
    assert first.startswith("dedup: 2 lines, 1 found, ") and second.endswith(" s, not exact")
    assert {record.name for record in caplog.records} == {"umbel"}


@pytest.mark.parametrize("name", ["o.gz", "o.ZST", "o.xz", "o.bz2", "o.lz4"])
def test_results_are_not_compressed(tmp_path, name):
    for job in [
        lambda: umbel.dedup(["a"], out=tmp_path / name),
        lambda: umbel.diff(["a"], ["b"], added=tmp_path / name),
        lambda: umbel.dedup(["a"], out=f"memory://{name}"),
    ]:
        with pytest.raises(ValueError, match="results are not compressed; omit"):
            job()
    assert not list(tmp_path.iterdir())


def test_threads_run_jobs_together():
    results = []

    def work():
        results.append(list(umbel.dedup(map(str, range(50_000)), map(str, range(60_000)))))

    threads = [threading.Thread(target=work) for _ in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results == [[str(i) for i in range(60_000)]] * 3


SLOW = """
import itertools, sys, umbel
out = sys.argv[1]
print("started", flush=True)
umbel.dedup(map(str, itertools.count()), out=out)
"""


def test_ctrl_c_ends_a_job_and_leaves_nothing(tmp_path):
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    _, words = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in words
    # At once, as far as a busy machine allows.
    assert time.monotonic() - start < 20
    assert list(tmp_path.iterdir()) == []


def test_columns_are_inputs():
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    for column in [
        ["b", "a", "b"],
        np.array(["b", "a", "b"]),
        pa.array(["b", None, "a", "b"]),
        pa.chunked_array([["b"], [None, "a", "b"]]),
        pa.array(["b", "a", "b"]).dictionary_encode(),
        pd.Series(["b", None, "a", "b"]),
        pl.Series(["b", None, "a", "b"]),
        (word for word in [b"b", bytearray(b"a"), memoryview(b"b")]),
    ]:
        assert list(umbel.dedup(column)) == ["b", "a"]
    for numbers in [[7, -1, 7], np.array([7, -1, 7]), pa.array([7, None, -1, 7]), pd.Series([7, None, -1, 7], dtype="Int64")]:
        assert list(umbel.dedup(numbers)) == ["7", "-1"]
    many = pa.chunked_array([[f"{number}" for number in range(start, start + 1000)] for start in range(0, 300_000, 1000)])
    assert list(umbel.common(many, map(str, range(0, 300_000, 7)))) == [str(number) for number in range(0, 300_000, 7)]
    with pytest.raises(TypeError, match="a line is"):
        umbel.dedup(["a", None])
    with pytest.raises(ValueError, match="more than one line"):
        umbel.dedup(pa.array(["a", "b\nc"]))


def test_inputs_at_urls(tmp_path):
    import gzip

    import fsspec

    system = fsspec.filesystem("memory")
    system.pipe_file("/lines.gz", gzip.compress(b"a\nb\na\n"))
    system.pipe_file("/lines", b"b\nc\n")
    assert list(umbel.common("memory://lines.gz", "memory://lines")) == ["b"]
    path = write(tmp_path / "lines", ["c"])
    assert list(umbel.except_("memory://lines", str(path).encode())) == ["b"]


def test_a_temporary_folder_that_is_set_to_nothing_is_none(tmp_path, monkeypatch):
    lines = write(tmp_path / "a", ["1", "2", "1"])
    monkeypatch.setenv("TMPDIR", "")
    assert list(umbel.dedup(lines)) == ["1", "2"]


PRELUDE = ["made 2026-01-31", "by hand", "id,note", "# a comment", "7,a", '8,5" disk', "9", "7,c"]
CLEAN = ["id,note", "7,a", '8,5" disk', "9,", "7,c"]
WORDS = {"records": "csv", "skip": 2, "comment": "#", "quotes": "none", "ragged": "pad"}


@pytest.mark.parametrize("of", ["list", "iterator", "file", "compressed", "URL"])
def test_rows_as_programs_write_them(of, tmp_path):
    """With lines before the header, comments, quotes that mean nothing, and rows with missing fields."""
    import gzip

    path = write(tmp_path / "rows.csv", PRELUDE)
    (tmp_path / "rows.gz").write_bytes(gzip.compress(path.read_bytes()))
    given = {"list": lambda: PRELUDE, "iterator": lambda: iter(PRELUDE), "file": lambda: path, "compressed": lambda: tmp_path / "rows.gz", "URL": path.as_uri}[of]
    assert list(umbel.dedup(given(), **WORDS)) == CLEAN
    assert list(umbel.dedup(given(), key="id", **WORDS)) == CLEAN[:4]
    assert list(umbel.common(given(), [9, 7], key="id", **WORDS)) == ["id,note", "7,a", "9,"]
    assert list(umbel.except_(given(), ["7", "9"], key="id", **WORDS)) == ["id,note", '8,5" disk']
    assert list(umbel.common(path, given(), key="id", **WORDS)) == CLEAN[:4]
    assert list(umbel.join(given(), given(), on="id", prefix="b_", how="left", first=True, **WORDS))[:2] == ["id,note,b_note", "7,a,a"]
    assert umbel.dedup(given(), **WORDS).to_pandas()["note"].tolist()[:2] == ["a", '5" disk'] == umbel.dedup(given(), **WORDS).to_arrow()["note"].to_pylist()[:2]
    keys = write(tmp_path / "keys", ["from", "a list", "# of keys", "9"])
    assert list(umbel.common(given(), keys, **{**WORDS, "records": ["csv", None]}, key="id")) == ["id,note", "9,"]
    bare = write(tmp_path / "bare.csv", ["-", "-", "7,x", "9"])
    assert list(umbel.common(given(), bare, header=[True, False], key={"id": "1"}, **WORDS)) == ["id,note", "7,a", "9,"]


def test_whole_rows_as_they_are_written():
    rows = ["a,b", '"x",1', "x,1"]
    assert list(umbel.dedup(rows, records="csv")) == rows[:2] and list(umbel.dedup(rows, records="csv", raw=True)) == rows
    numbers = ['{"n":1}', '{"n":1.0}']
    assert list(umbel.dedup(numbers, records="jsonl")) == numbers[:1] and list(umbel.dedup(numbers, records="jsonl", raw=True)) == numbers


def test_columns_by_name():
    given = (["id,a", "7,x"], ["b,id", "y,8", ",7"])
    assert list(umbel.dedup(*given, records="csv", by_name=True)) == ["id,a,b", "7,x,", "8,,y", "7,,"]
    frames = (pd.DataFrame({"id": [7], "a": ["x"]}), pl.DataFrame({"id": [8], "b": [1.5]}))
    assert umbel.dedup(*frames, by_name=True).to_arrow().to_pylist() == [{"id": 7, "a": "x", "b": None}, {"id": 8, "a": None, "b": 1.5}]


def test_a_diff_as_it_was_before(tmp_path):
    before, after = ["id,price", "1,5", "2,x", "3,9"], ["id,price", "1,6", "3,9.001", "4,y"]
    diff = lambda **options: list(umbel.diff(before, after, records="csv", key="id", **options))  # noqa: E731
    assert diff(old=True, tolerance={"price": 0.01}) == ["- 2,x", "< 1,5", "~ 1,6", "+ 4,y"]
    assert diff(symmetric=True) == ["id,price", "1,5", "2,x", "3,9", "1,6", "3,9.001", "4,y"]
    assert diff(old=True, mark_column=True)[:3] == ["change,id,price", "-,2,x", "<,1,5"]
    added, changed, removed = (tmp_path / name for name in ["added", "changed", "removed"])
    report = umbel.diff(before, after, added=added, changed=changed, removed=removed, tolerance={"price": 0.01}, records="csv", key="id")
    assert report.changes == (1, 1, 1, 1) and changed.read_text() == "id,price\n1,6\n" and added.read_text() == "id,price\n4,y\n"
    assert removed.read_text() == "id,price\n2,x\n1,5\n"


def test_options_may_be_numbers_of_numpy():
    lists = [["a", "b", "b"], ["b", "c"]]
    assert list(umbel.dedup(lists[0], fpp=np.float64(1e-6), memory="64MiB")) == ["a", "b"]
    assert list(umbel.dedup(["b", "a"], sort=np.True_)) == list(umbel.dedup(["b", "a"], sort=True)) == ["a", "b"]
    assert list(umbel.common(*lists, at_least=np.int64(1))) == ["a", "b", "c"]
    assert list(umbel.common(*lists, only=np.int64(2))) == list(umbel.common(*lists, only=[2])) == ["c"]
