"""Filters in Java: the same bits and answers as the core's, for every key and every size of filter."""

import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pyspark
import pytest
from pyspark.sql import functions as F

import umbel
from umbel import spark as us
from umbel.spark import _jvm

FULL = "UMBEL_TEST_FULL" in os.environ
ROOT = Path(__file__).parents[3]
# XXH3 has other steps from 1, 4, 9, 17, 129 and 241 bytes on, and blocks of 1,024.
LENGTHS = [*range(36), 63, 64, 65, 127, 128, 129, 130, 159, 160, 161, 239, 240, 241, 242, 255, 256, 257, 511, 1023, 1024, 1025, 1088, 1089, 3000]
SCHEMA = "t tinyint, s smallint, i int, l bigint, text string, bin binary"
KEYS = ["t", "s", "i", "l", "text", "bin", ["text"], ["l", "text"], ["bin", "t", "text"], ["i", "l"]]
# Rates of one to thirty probes, seven or eight of which share a word of hash; one block, some, and a million keys.
SIZES = [(1, 0.5), (300, 0.4), (300, 0.1), (300, 0.01), (300, 0.002), (300, 1e-4), (300, 1e-6), (300, 1e-9), (1_000_000, 0.01)]


def rows(seed):
    """Each length twice, and integers of all sizes; at the end some nulls."""
    draw = random.Random(seed)

    def integer(bits):
        return draw.choice([draw.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1)), draw.randrange(-3, 3)])

    def text(length):
        return "".join(draw.choice("aä€😀") for _ in range(length)).encode()[:length].decode(errors="ignore")

    made = [(*map(integer, (8, 16, 32, 64)), text(length), draw.randbytes(length)) for length in LENGTHS * 2]
    return made + [tuple(None if place == column else value for column, value in enumerate(made[0])) for place in range(6)]


@pytest.fixture(scope="module")
def table(spark):
    made = [row for seed in range(4) for row in rows(seed)]
    return spark.createDataFrame([(place, *row) for place, row in enumerate(made)], f"row int, {SCHEMA}").repartition(2).cache()


@pytest.fixture
def python(monkeypatch):
    """A function after which Python does everything."""
    return lambda: monkeypatch.setattr(_jvm, "_loader", lambda context: None)


@pytest.mark.filterwarnings("ignore::umbel.OverfilledWarning")
def test_answers_are_those_of_the_core(table, python):
    """Of filters so full that about half of all keys pass: each answer depends on all steps of the hash and on all bits."""
    filters = [umbel.Bloom(keys, fpp, seed=seed * 0x9E3779B97F4A7C15 % 2**64) for seed, (keys, fpp) in enumerate(SIZES)]
    for filter in filters:
        first, step = 0, max(1, filter.receipt().planned_keys // 4)
        while filter.receipt().fpp < 0.4:
            filter.add_many(np.arange(first, first + step))
            first += step
        # Then they accept look-ups of any type.
        filter.describe([])
    assert all(us.Shared(filter).in_java for filter in filters)

    def answers():
        # Each filter and each key at least once; with --full all of them.
        pairs = [(key, filter) for key in KEYS for filter in filters] if FULL else zip(KEYS, [*filters, *filters])
        columns = [us.maybe_in(table, key, filter) for key, filter in pairs]
        found = table.select("row", *[column.alias(str(place)) for place, column in enumerate(columns)])
        told = found._jdf.queryExecution().toString()
        return sorted(found.collect()), "of_arrow" in told

    java, through_python = answers()
    assert not through_python
    python()
    expected, through_python = answers()
    assert through_python
    assert java == expected
    given = [value for row in java for value in row[1:]]
    assert min(given.count(answer) for answer in (True, False, None)) > 30


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.filterwarnings("ignore::umbel.OverfilledWarning")
def test_filters_are_those_of_the_core(spark, table, key):
    # Each size with one of the keys, and with --full with all.
    sizes = SIZES if FULL or key == "l" else SIZES[KEYS.index(key) % 8 :][:1]
    made = [us.build(table, key, fpp, keys=keys) for keys, fpp in sizes]
    # Of several mebibytes, and so with several checksums.
    assert key != "l" or made[-1].nbytes > 1 << 20
    names = [key] if isinstance(key, str) else key
    keys = table.select(*names).dropna().collect()
    for filter in made:
        alone = filter.copy()
        alone.clear()
        if len(names) == 1:
            alone.update(row[0] for row in keys)
        else:
            alone.add_rows([tuple(row) for row in keys])
        assert filter.to_bytes() == alone.to_bytes()


def test_rows_that_pass(spark):
    """Of 300 rows of 10 bytes to 2 MB, the 100 in the filter, in order; or the ones that fit, and a row of nulls."""
    table = spark.range(0, 300, 1, 1).selectExpr("id", "repeat('x', int(if(id % 37 = 0, 2e6, 10 * id % 1000))) text")
    filter = umbel.Bloom(1_000, 1e-9)
    filter.update(range(0, 300, 3))
    with us.Shared(filter) as shared:
        passed = [(row.id, len(row.text)) for row in _jvm.passing(table, shared._broadcast).collect()]
        assert passed == [(id, 2_000_000 if id % 37 == 0 else 10 * id % 1000) for id in range(0, 300, 3)]
        *fit, last = _jvm.passing(table, shared._broadcast, 4_100_000).collect()
        assert [(row.id, len(row.text)) for row in fit] == passed[: len(fit)]
        # The next one would be the third of 2 MB.
        assert last == (None, None) and passed[len(fit)] == (222, 2_000_000)


def test_other_filters_are_left_to_python(spark):
    for filter in (umbel.Bloom(10, kind="classic"), umbel.Counting(10), umbel.Foreign("spark", 10, 0.1), umbel.Attributes(["a", "b"], 10)):
        assert not us.Shared(filter).in_java


def test_without_a_compiler(spark, monkeypatch):
    """As if Spark had another one."""
    from py4j.protocol import Py4JError

    def refuse(context):
        raise Py4JError("no Janino")

    monkeypatch.setattr(_jvm, "_compiled", refuse)
    monkeypatch.setattr(_jvm, "_classes", {})
    numbers, filter = spark.range(50), umbel.Bloom(1_000, 1e-6)
    filter.update(range(10))
    with pytest.warns(UserWarning, match="Spark's Java compiler refuses Filter.java.*no Janino"):
        assert numbers.where(us.maybe_in(numbers, "id", filter)).count() == 10
    assert us.semi_join(spark.range(100), numbers, "id", prune=True).count() == 50


@pytest.fixture(scope="module")
def opened(spark):
    """`Filter.open`, as Scala and Java call it."""
    us.Shared(umbel.Bloom(10), spark)
    loader = _jvm._loader(spark.sparkContext)
    gateway = spark.sparkContext._gateway
    (method,) = [method for method in loader.loadClass("umbel.spark.Filter").getMethods() if method.getName() == "open"]

    def open(path):
        arguments = gateway.new_array(gateway.jvm.java.lang.Object, 1)
        arguments[0] = str(path)
        return method.invoke(None, arguments)

    return open


def test_filters_opened_by_java(spark, table, opened, tmp_path):
    from pyspark.sql.classic.column import Column

    for key in ("t", "l", "text", "bin", ["l", "text"]):
        half = table.where(F.hash("l", "text", "bin") % 2 == 0)
        us.save(us.build(half, key, 0.2), f"{tmp_path}/seen.umbel")
        filter = opened(f"file://{tmp_path}/seen.umbel")
        column = F.col(key) if isinstance(key, str) else F.struct(*key)
        ours = Column(filter.mightContain(column._jc))
        theirs = us.maybe_in(table, key, us.load(f"{tmp_path}/seen.umbel"))
        found = table.select(ours.alias("ours"), theirs.alias("theirs")).collect()
        assert all(row.ours == row.theirs for row in found)
        assert {row.ours for row in found} == {True, False, None}
    us.save(us.build(spark.range(100), "id", 1e-6), f"{tmp_path}/seen.umbel")
    filter = opened(f"{tmp_path}/seen.umbel")
    assert all(filter.mightContain(number) for number in range(100))
    assert sum(filter.mightContain(number) for number in range(100, 1_000)) <= 1
    filter = umbel.Bloom(10, 1e-9)
    filter.update(["ä", b"\xff", "b"])
    us.save(filter, f"{tmp_path}/seen.umbel")
    filter = opened(f"{tmp_path}/seen.umbel")
    assert [filter.mightContain(text) for text in ("ä", "a", "b")] == [True, False, True]
    # Spark's text may have any bytes; a Java string loses some, yet every key is found.
    texts = spark.sql("select cast(unhex(x) as string) t from values ('ff'), ('61'), ('62') v(x)")
    assert [row[0] for row in texts.select(Column(filter.mightContain(F.col("t")._jc))).collect()] == [True, False, True]


def test_fields_and_forms_are_those_of_the_filter_in_java(spark, opened, tmp_path):
    from pyspark.sql.classic.column import Column

    table = spark.range(50).select("id", F.col("id").cast("string").alias("text"))

    def found(filter, key):
        us.save(filter, f"{tmp_path}/seen.umbel")
        column = Column(opened(f"{tmp_path}/seen.umbel").mightContain(key._jc))
        return table.where(column).count()

    both = us.build(table, ["id", "text"], 1e-6)
    assert found(both, F.struct("id", "text")) == 50
    for key in (F.struct("text", "id"), F.struct("id"), F.col("id")):
        with pytest.raises(Exception, match="the filter was built from id, text, found "):
            found(both, key)
    numbers, texts = us.build(table, "id", 1e-6), us.build(table, "text", 1e-6)
    assert found(numbers, F.struct("id")) == found(texts, F.struct("text")) == 50
    for filter, key in [(numbers, F.col("text")), (texts, F.col("id")), (numbers, F.struct("id", "id"))]:
        with pytest.raises(Exception, match="the filter was built from one column of (bytes|integer), found "):
            found(filter, key)
    # As from a table of the command line: integers are their digits.
    texts.describe([("field", "id"), ("type", "text")])
    assert found(texts, F.col("id")) == found(texts, F.struct("text")) == 50


def test_what_is_no_key_is_refused_by_java(spark, opened, tmp_path):
    """Cut to integers, 1.5 and 1e20 would be other keys."""
    from pyspark.sql.classic.column import Column

    us.save(us.build(spark.range(10), "id", 1e-6), f"{tmp_path}/seen.umbel")
    filter = opened(f"{tmp_path}/seen.umbel")
    for value in ["1.5d", "cast(1e20 as decimal(38, 0))", "true", "current_date()", "struct(1.5d)", "struct(true, 1)", "array(1)"]:
        column = Column(filter.mightContain(F.expr(value)._jc))
        with pytest.raises(Exception, match="keys are strings, binary or integers, found .*; cast the column"):
            spark.range(1).select(column).collect()


def test_damage_is_refused_by_java(spark, opened, tmp_path):
    path = tmp_path / "seen.umbel"
    filter = umbel.Bloom(1_000_000, 0.01)
    filter.update(range(100))
    whole = filter.to_bytes()
    path.write_bytes(whole)
    assert opened(path).mightContain(7)
    places = [*range(128), 128, 128 + (1 << 20) + 5, len(whole) - 17, len(whole) - 1]
    for place in places:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(Exception, match="seen.umbel: (not an umbel filter|version|the keys have a description|the header is damaged|checksums differ)"):
            opened(path)
    for size in (0, 7, 127, 128, 1 << 20, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(Exception, match="seen.umbel: (not an umbel filter|the header declares)"):
            opened(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(Exception, match="the header declares .* bytes, the file has"):
        opened(path)
    for other in (umbel.Counting(10), umbel.Bloom(10, kind="classic"), umbel.Bloom(10, secret=b"0123456789abcdef")):
        path.write_bytes(other.to_bytes())
        with pytest.raises(Exception, match="seen.umbel: kind . with algorithm .; Java reads blocked filters without a secret"):
            opened(path)


def test_the_page_for_scala_and_java(tmp_path):
    """What docs/spark.md shows is compiled, and with --full run."""
    assert shutil.which("javac"), "no javac: apt-get install openjdk-17-jdk-headless"
    page = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")
    (commands,) = re.findall(r"```\n(javac .*?)```", page, re.DOTALL)
    snippets = {kind: re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)[0] for kind in ("java", "scala")}
    home = Path(pyspark.__file__).parent

    def run(command, expected=""):
        done = subprocess.run(
            ["bash", "-euc", command], cwd=tmp_path, env={**os.environ, "SPARK_HOME": str(home)}, capture_output=True, text=True
        )
        assert done.returncode == 0 and expected in done.stdout, done.stdout + done.stderr
        return done

    (tmp_path / "crates").symlink_to(ROOT / "crates")
    (tmp_path / "Screen.java").write_text(snippets["java"])
    assert run(commands).stderr == ""
    run('javac -cp "classes:$SPARK_HOME/jars/*" -d app Screen.java && jar --create --file app.jar -C app .')
    if FULL:
        filter = umbel.Bloom(1_000, 1e-9)
        filter.update(range(1_000))
        filter.save(tmp_path / "seen.umbel")
        (tmp_path / "Screen.scala").write_text(snippets["scala"])
        local = "--master 'local[1]' --conf spark.ui.enabled=false --jars umbel-spark.jar"
        run(f'"$SPARK_HOME/bin/spark-submit" {local} --class Screen app.jar', "1000\n")
        run(f'"$SPARK_HOME/bin/spark-shell" {local} -I Screen.scala <<< :quit', "1000\n")
