"""Filters made on executors, their files, and Spark's own filters."""

import os
import subprocess

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F

import umbel
from umbel import spark as us
from umbel.spark import _filters, _jvm


@pytest.fixture(scope="module")
def pages(spark):
    """50,000 rows: 40,000 addresses, 10,000 of them twice, and some nulls."""
    address = F.concat(F.lit("https://example.org/"), (F.col("id") % 40_000).cast("string"))
    numbers = spark.range(0, 50_000, 1, 5)
    return numbers.select(
        F.when(F.col("id") % 100 != 99, address).alias("url"), (F.col("id") % 40_000).alias("number")
    ).cache()


def test_a_filter_is_the_one_that_python_makes(pages):
    made = us.build(pages, "url", 0.001, keys=50_000)
    alone = umbel.Bloom(50_000, 0.001)
    alone.update(row.url for row in pages.collect() if row.url is not None)
    assert made == alone
    assert made.to_bytes() == alone.to_bytes()


@pytest.mark.parametrize("column", ["number", ["url", "number"]])
def test_every_key_is_found(pages, column):
    made = us.build(pages, column)
    # Planned from a sample: 40,000 keys, or 39,600 with an address.
    assert 39_000 < made.receipt().planned_keys < 44_000
    assert not made.receipt().over_filled
    answers = pages.select(us.maybe_in(pages, column, made).alias("found"), "url").collect()
    with_nulls = isinstance(column, list)
    assert all(row.found is True for row in answers if row.url is not None or not with_nulls)
    assert all(row.found is None for row in answers if row.url is None and with_nulls)


def test_misses_are_as_rare_as_the_receipt_says(spark, pages):
    made = us.build(pages, "number", 0.01)
    others = spark.range(10**6, 2 * 10**6)
    found = others.where(us.maybe_in(others, "id", made)).count()
    rate = made.receipt().fpp
    # Seven standard deviations.
    assert abs(found - 1e6 * rate) < 7 * (1e6 * rate) ** 0.5


def test_memory_instead_of_a_rate(pages):
    made = us.build(pages, "number", memory="64KiB")
    assert made.nbytes <= 64 << 10
    assert made.receipt().planned_keys > 39_000
    with pytest.raises(ValueError, match="fpp and memory: .*; leave one out"):
        us.build(pages, "number", 0.01, memory="64KiB")


def test_a_column_with_one_frequent_key_is_sized(spark):
    table = spark.range(100_000).select(F.when(F.col("id") < 2_000, F.col("id")).otherwise(7).alias("key"))
    assert 1_800 < us.build(table, "key").receipt().planned_keys < 2_300


def test_no_rows(spark):
    empty = us.build(spark.range(0), "id")
    assert len(empty) == 0
    assert spark.range(10).where(us.maybe_in(spark.range(10), "id", empty)).count() == 0


def test_without_functions_of_arrow_columns(spark, pages, monkeypatch):
    """As in Spark 4.0."""
    monkeypatch.setattr(_jvm, "_loader", lambda context: None)
    made = us.build(pages, ["url", "number"])
    monkeypatch.setattr(_filters, "arrow_function", _filters._pandas_function)
    for column, filter in [("url", us.build(pages, "url")), (["url", "number"], made)]:
        found = pages.where(us.maybe_in(pages, column, filter)).count()
        assert found == pages.where("url is not null").count()


def test_nulls_among_long_integers_without_functions_of_arrow_columns(spark, monkeypatch):
    """pandas makes floats of such a column, which have 53 bits."""
    monkeypatch.setattr(_jvm, "_loader", lambda context: None)
    monkeypatch.setattr(_filters, "arrow_function", _filters._pandas_function)
    keys = [2**53 + 1, None, -(2**63), 7, 0]
    table = spark.createDataFrame([(key, "a") for key in keys], "n bigint, t string").coalesce(1)
    filter = umbel.Counting(100, 1e-9)
    filter.update(key for key in keys if key)
    expected = [None if key is None else key != 0 for key in keys]
    assert [row.found for row in table.select(us.maybe_in(table, "n", filter).alias("found")).collect()] == expected
    filter.clear()
    filter.describe([])
    filter.add_rows([(key, "a") for key in keys if key])
    assert [row.found for row in table.select(us.maybe_in(table, ["n", "t"], filter).alias("found")).collect()] == expected
    # The hashes of keys with nulls.
    monkeypatch.setattr("umbel.spark._job._LISTED", -1)
    other = table.where("n = 7 or n is null")
    assert [row.n for row in us.semi_join(table, other, "n", prune=True).collect()] == [7]
    assert {row.n for row in us.anti_join(table, other, "n", prune=True).collect()} == {*keys} - {7}
    assert us.anti_join(table, other, "n", prune=True).count() == 4


@pytest.mark.parametrize("way", ["java", "python"])
def test_parts_come_in_many_pieces_and_are_fetched_in_turns(pages, monkeypatch, way):
    if way == "python":
        monkeypatch.setattr(_jvm, "_loader", lambda context: None)
        monkeypatch.setattr(_filters, "_PIECE", 16 << 10)
    monkeypatch.setattr(_filters, "_FETCH", 16 << 10)
    monkeypatch.setattr(_filters, "_FAN_IN", 2)
    made = us.build(pages, "number", 1e-6, keys=40_000)
    assert made.nbytes > 5 * (16 << 10)
    alone = umbel.Bloom(40_000, 1e-6)
    alone.add_many(np.arange(40_000))
    assert made == alone


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("rate", "column rate: keys are strings, binary or integers, found double; cast it"),
        ([], "name the column of the key, or several"),
    ],
)
def test_what_is_no_key(spark, column, message):
    table = spark.range(3).select("id", F.rand().alias("rate"))
    with pytest.raises((TypeError, ValueError), match=message):
        us.build(table, column)


def test_a_column_is_named(spark):
    for key in (F.col("id"), [F.col("id")]):
        with pytest.raises(TypeError, match=r"the key is named by its columns, found a Column; give its name, as in .user."):
            us.maybe_in(spark.range(3), key, umbel.Bloom(10))


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ({"s": "other"}, "found a dict, .*; where a table has another name, rename it there with withColumnRenamed"),
        ({"user", "item"}, "found a set, which has no order; give a list"),
        (None, "named by its columns, found a NoneType"),
        (umbel.Bloom(10), "named by its columns, found a Bloom"),
    ],
    ids=lambda key: type(key).__name__,
)
def test_what_does_not_name_a_key(spark, key, message):
    table = spark.range(3)
    for call in (us.build, lambda df, key: us.semi_join(df, df, key), lambda df, key: us.maybe_in(df, key, umbel.Bloom(10))):
        with pytest.raises(TypeError, match=message):
            call(table, key)


@pytest.mark.parametrize("table", [pd.DataFrame({"id": [1]}), None, "id"], ids=lambda table: type(table).__name__)
def test_what_is_no_table(spark, table):
    found = "a pandas DataFrame; make one with spark.createDataFrame" if isinstance(table, pd.DataFrame) else type(table).__name__
    numbers = spark.range(3)
    for call in (
        lambda: us.build(table, "id"),
        lambda: us.maybe_in(table, "id", umbel.Bloom(10)),
        lambda: us.dedup(table, "id", "seen.umbel", keys=10),
        lambda: us.semi_join(table, numbers, "id"),
        lambda: us.anti_join(numbers, table, "id"),
        lambda: us.common(table, numbers),
        lambda: us.except_(numbers, table),
        lambda: us.diff(table, numbers),
        lambda: us.distinct(table),
    ):
        with pytest.raises(TypeError, match=f"expected a DataFrame of Spark, found (a )?{found}"):
            call()


def test_what_is_no_filter(spark, tmp_path):
    for filter, kind in [("s.umbel", "str"), ({1, 2}, "set"), (None, "NoneType")]:
        for call in (lambda: us.maybe_in(spark.range(3), "id", filter), lambda: us.Shared(filter), lambda: us.save(filter, tmp_path / "s")):
            with pytest.raises(TypeError, match=rf"expected a filter, found a {kind}; load\(\) one, or make one with build\(\)"):
                call()
    keyed = umbel.Bloom(10, secret=b"0123456789abcdef")
    with pytest.raises(ValueError, match="filters with a secret are not supported in Spark, as it would have to be sent"):
        us.maybe_in(spark.range(3), "id", keyed)


def test_texts_with_a_collation_are_refused(spark):
    """Spark holds "a" and "A" to be equal; a filter does not."""
    texts = spark.createDataFrame([("a",)], "t string").select(F.collate("t", "UTF8_LCASE").alias("t"))
    for call in (lambda: us.build(texts, "t"), lambda: us.maybe_in(texts, "t", umbel.Bloom(10)), lambda: us.dedup(texts, "t", "x", keys=1)):
        with pytest.raises(TypeError, match="column t has the collation UTF8_LCASE"):
            call()
    plain = texts.select(F.collate("t", "UTF8_BINARY").alias("t"))
    assert "a" in us.build(plain, "t")


@pytest.mark.parametrize("scheme", ["file://{folder}/", "viewfs://test/data/", "{folder}/"])
def test_files(spark, pages, scheme, request):
    """On a local disk, and through Hadoop's own file systems."""
    mounted = spark.conf.get("spark.hadoop.fs.viewfs.mounttable.test.link./data").removeprefix("file://")
    path = scheme.format(folder=mounted) + f"new/{request.node.callspec.indices['scheme']}.umbel"
    with pytest.raises(FileNotFoundError, match=path.removeprefix("file://")):
        us.load(path)
    made = us.build(pages, "number")
    us.save(umbel.Bloom(10), path)
    us.save(made, path)
    assert us.load(path) == made
    local = f"{mounted}/new/{request.node.callspec.indices['scheme']}.umbel"
    assert umbel.open(local) == made
    # Hadoop keeps checksums of its own; names of files on their way are long.
    assert [name for name in os.listdir(f"{mounted}/new") if len(name) > 20] == []
    with open(local, "r+b") as file:
        file.seek(300)
        file.write(b"damage")
    with pytest.raises((ValueError, OSError), match="(?i)checksum"):
        us.load(path)


def test_the_command_line_answers_alike(spark, pages, tmp_path):
    us.save(us.build(pages, "url"), f"{tmp_path}/seen.umbel")
    lines = "https://example.org/7\nhttps://example.org/none\n"
    command = [os.environ["UMBEL"], "filter", "query", f"{tmp_path}/seen.umbel"]
    told = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    assert told.stdout == "https://example.org/7\n"


@pytest.mark.parametrize("version", ["V1", "V2"])
def test_filters_of_spark(spark, pages, version):
    """Made by Spark and read by umbel, filled by umbel and read by Spark."""
    sketch = spark._jvm.org.apache.spark.util.sketch.BloomFilter
    theirs = sketch.create(getattr(sketch.Version, version), 1_000, 20_000, 7)
    for number in range(500):
        theirs.putLong(number)
    ours = us.from_native(theirs)
    assert all(number in ours for number in range(500))
    answers = [number in ours for number in range(500, 3_000)]
    assert answers == [theirs.mightContainLong(number) for number in range(500, 3_000)]
    ours.update(range(1_000, 1_300))
    back = us.to_native(ours)
    assert all(back.mightContainLong(number) for number in [*range(500), *range(1_000, 1_300)])
    numbers = spark.range(3_000)
    found = [row.found for row in numbers.select(us.maybe_in(numbers, "id", ours).alias("found")).collect()]
    assert found == [back.mightContainLong(number) for number in range(3_000)]


def test_a_filter_of_spark_is_built_alike(spark, pages):
    theirs = us.from_native(pages._jdf.stat().bloomFilter("number", 40_000, 0.01))
    ours = us.build(pages, "number", 0.01, keys=40_000, format="spark")
    assert ours.to_bytes() == theirs.to_bytes()
    with pytest.raises(TypeError, match="expected a filter of the format spark, found blocked"):
        us.to_native(umbel.Bloom(10))


def test_streaming(spark, pages, tmp_path):
    """Each batch of a stream is a table: a filter screens it."""
    blocked = umbel.Bloom(1_000, 1e-6)
    blocked.update(f"https://example.org/{number}" for number in range(100))
    pages.where("number < 1000").write.parquet(f"{tmp_path}/pages")

    def screen(batch, number):
        batch.where(us.maybe_in(batch, "url", blocked)).write.mode("append").parquet(f"{tmp_path}/found")

    stream = spark.readStream.schema(pages.schema).option("maxFilesPerTrigger", 2).parquet(f"{tmp_path}/pages")
    with pytest.raises(ValueError, match="a stream cannot be read twice; call this on the tables of foreachBatch"):
        us.distinct(stream)
    for call in (us.build, lambda *key: us.dedup(*key, "seen.umbel", keys=10)):
        with pytest.raises(ValueError, match="a stream cannot be read twice; call this on the tables of foreachBatch"):
            call(stream, "url")
    query = stream.writeStream.foreachBatch(screen).option("checkpointLocation", f"{tmp_path}/state")
    query.trigger(availableNow=True).start().awaitTermination()
    found = spark.read.parquet(f"{tmp_path}/found").select("number").distinct().collect()
    assert sorted(row.number for row in found) == [number for number in range(100) if number % 100 != 99]


def test_filters_of_rows_are_looked_up_by_name(spark):
    filter = umbel.Attributes(["user", "item"], 1_000, 1e-9)
    filter.add_rows([("ann", 7), ("bob", 8)])
    table = spark.createDataFrame([("ann", 8), ("bob", 8), ("eve", 8), (None, 8)], "user string, item int")
    for names, expected in [("user", [True, True, False, None]), (["item", "user"], [False, True, False, None])]:
        found = table.select(us.maybe_in(table, names, filter).alias("found")).collect()
        assert [row.found for row in found] == expected
    with pytest.raises(ValueError, match="holds rows of user, item, found price; rename"):
        us.maybe_in(table.withColumnRenamed("item", "price"), "price", filter)


def test_filters_of_named_fields_are_looked_up_by_these(spark, tmp_path):
    filter = umbel.Bloom(1_000, 1e-9)
    table = spark.createDataFrame([("ann", 8), ("bob", 8), (None, 8)], "user string, item int")
    filter.add_rows(table.where("user = 'bob'").toPandas(), ["user", "item"])
    found = table.select(us.maybe_in(table, ["user", "item"], filter).alias("found")).collect()
    assert [row.found for row in found] == [False, True, None]
    for names in (["item", "user"], "user"):
        with pytest.raises(ValueError, match="built from user, item, found .*; rename"):
            us.maybe_in(table, names, filter)
    us.save(filter, tmp_path / "rows.umbel")
    new = us.dedup(table, ["user", "item"], f"{tmp_path}/rows.umbel")
    assert new.rows.count() == 2
    new.write(f"{tmp_path}/new")
    assert us.load(tmp_path / "rows.umbel").contains_rows([("ann", 8), ("bob", 8), (8, "bob")]) == [True, True, False]
    for name, value in [("normalization", "ignore-case"), ("type", "ip-prefix"), ("type", "domain-suffix")]:
        changed = umbel.Bloom(1_000)
        changed.describe([(name, value)])
        with pytest.raises(ValueError, match=f"made with {value}"):
            us.maybe_in(table, "user", changed)


@pytest.mark.parametrize("way", ["java", "python"])
@pytest.mark.parametrize("names", [["user", "item"], ["a column with a name that makes the header long", "item"]], ids=["short", "long"])
def test_a_filter_of_several_columns_names_them(spark, tmp_path, monkeypatch, way, names):
    """It is the one of the command line, which answers for these columns in this order."""
    if way == "python":
        monkeypatch.setattr(_jvm, "_loader", lambda context: None)
    table = spark.createDataFrame([(f"u{number}", number) for number in range(100)], names_and_types(names)).repartition(3)
    made = us.build(table, names, 0.01, keys=100)
    assert made.description == [("field", names[0]), ("field", "item"), ("type", "text")]
    assert us.Shared(made).in_java == (way == "java")
    table.toPandas().to_csv(tmp_path / "rows.csv", index=False)
    keys = [word for name in names for word in ("--key", name)]

    def run(*command):
        return subprocess.run([os.environ["UMBEL"], *command], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    run("filter", "build", "--csv", *keys, "--keys", "100", "--fpp", "0.01", "rows.csv", "-o", "rows.umbel")
    assert us.load(tmp_path / "rows.umbel").to_bytes() == made.to_bytes()
    assert table.where(us.maybe_in(table, names, made)).count() == 100
    for others in (names[::-1], "item", [*names, "item"]):
        with pytest.raises(ValueError, match=f"built from {names[0]}, item, found .*; rename"):
            us.maybe_in(table, others, made)
    twice = us.build(table, ["item", "item"], keys=100)
    assert table.where(us.maybe_in(table, ["item", "item"], twice)).count() == 100
    for column in names:
        with pytest.raises(ValueError, match=f"built from one column, found {names[0]}, item; look up one"):
            us.maybe_in(table, names, us.build(table, column, keys=100))
    seen = f"{tmp_path}/seen.umbel"
    us.dedup(table, names, seen, keys=1_000).write(f"{tmp_path}/new")
    with open(tmp_path / "rows.csv", "a") as file:
        file.write("new,7\n")
    assert run("unseen", seen, "rows.csv", "--csv", *keys).splitlines() == [",".join(names), "new,7"]
    assert us.dedup(table, names, seen).rows.count() == 0
    for others in (names[::-1], "item"):
        with pytest.raises(ValueError, match=f"built from {names[0]}, item, found .*; rename"):
            us.dedup(table, others, seen)


def names_and_types(names):
    return ", ".join(f"`{name}` {kind}" for name, kind in zip(names, ("string", "bigint")))


def test_columns_are_asked_in_the_form_of_the_filter(spark, tmp_path):
    numbers = spark.range(100).select("id", F.col("id").cast("string").alias("text"))

    def found(column, filter):
        return numbers.where(us.maybe_in(numbers, column, filter)).count()

    made = us.build(numbers, "id", 1e-6, keys=100)
    assert made.description == [("type", "integer")] and found("id", made) == 100
    assert us.build(numbers, "text", 1e-6, keys=100).description == [("type", "bytes")]
    with pytest.raises(TypeError, match=r'column text: the filter holds integers, found string; cast\("bigint"\)'):
        us.maybe_in(numbers, "text", made)
    texts = umbel.Bloom(100, 1e-6)
    texts.update(map(str, range(100)))
    with pytest.raises(TypeError, match=r'column id: the filter holds text and bytes, found bigint; cast\("string"\)'):
        us.maybe_in(numbers, "id", texts)
    # As of lines: integers are their digits.
    texts.describe([("type", "text")])
    assert found("id", texts) == found("text", texts) == 100
