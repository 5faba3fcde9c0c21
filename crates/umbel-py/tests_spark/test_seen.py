"""An incremental crawl: rows are offered until they are recorded, and never lost."""

import threading
import time
import warnings

import pytest
from pyspark.sql import functions as F

import umbel
from umbel import spark as us
from umbel.spark import _hadoop, _seen


def day(spark, first, last):
    numbers = spark.range(first, last, 1, 3)
    return numbers.unionAll(numbers).select(F.concat(F.lit("page "), F.col("id")).alias("url"), F.col("id"))


def numbers(df):
    return sorted(row.id for row in df.select("id").collect())


def test_each_key_once(spark, tmp_path):
    seen = f"{tmp_path}/seen.umbel"
    with pytest.raises(ValueError, match="there is no filter yet; give keys"):
        us.dedup(day(spark, 0, 10), "url", seen)
    us.dedup(day(spark, 0, 100), "url", seen, keys=10_000).write(f"{tmp_path}/monday")
    receipt = us.dedup(day(spark, 50, 200), "url", seen).write(f"{tmp_path}/tuesday")
    assert round(receipt.keys) in range(198, 203)
    assert numbers(spark.read.parquet(f"{tmp_path}/monday")) == list(range(100))
    assert numbers(spark.read.parquet(f"{tmp_path}/tuesday")) == list(range(100, 200))
    assert all(f"page {number}" in umbel.open(seen) for number in range(200))


def test_rows_without_a_key_are_kept(spark, tmp_path):
    table = spark.createDataFrame([(None, 1), (None, 2), ("a", 3), ("a", 4)], "url string, id int")
    new = us.dedup(table, "url", f"{tmp_path}/seen.umbel", keys=10)
    assert [row.url for row in new.rows.collect()].count(None) == 2
    assert new.rows.count() == 3


def test_a_run_that_stops_before_it_records(spark, tmp_path, monkeypatch):
    seen, out = f"{tmp_path}/seen.umbel", f"{tmp_path}/out"

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_hadoop, "save", stop)
        with pytest.raises(KeyboardInterrupt):
            us.dedup(day(spark, 0, 50), "url", seen, keys=1_000).write(out)
    # Nothing is recorded: another folder gets the rows again.
    assert us.dedup(day(spark, 0, 50), "url", seen, keys=1_000).rows.count() == 50
    # And the same one is recorded as it is, although there are more rows now.
    us.dedup(day(spark, 0, 80), "url", seen, keys=1_000).write(out)
    assert numbers(spark.read.parquet(out)) == list(range(50))
    assert numbers(us.dedup(day(spark, 0, 80), "url", seen).rows) == list(range(50, 80))


def test_a_run_that_stops_while_it_writes(spark, tmp_path):
    (tmp_path / "out").mkdir()
    new = us.dedup(day(spark, 0, 50), "url", f"{tmp_path}/seen.umbel", keys=1_000)
    with pytest.raises(FileExistsError, match="_SUCCESS is missing; remove it first"):
        new.write(f"{tmp_path}/out")
    assert not (tmp_path / "seen.umbel").exists()


def test_tasks_that_fail_and_are_repeated(spark, tmp_path):
    """Each first attempt of a task fails after it has looked up its rows."""
    from pyspark import TaskContext

    def fail_once(batches):
        for batch in batches:
            yield batch
        if TaskContext.get().attemptNumber() == 0:
            raise RuntimeError("the first attempt fails")

    seen = f"{tmp_path}/seen.umbel"
    table = day(spark, 0, 300)
    us.dedup(table.mapInArrow(fail_once, table.schema), "url", seen, keys=1_000).write(f"{tmp_path}/out")
    assert numbers(spark.read.parquet(f"{tmp_path}/out")) == list(range(300))
    assert us.dedup(table, "url", seen).rows.count() == 0


def test_keys_that_are_recorded_in_the_meantime_stay(spark, tmp_path):
    seen = f"{tmp_path}/seen.umbel"
    one = us.dedup(day(spark, 0, 50), "url", seen, keys=1_000)
    two = us.dedup(day(spark, 50, 90), "url", seen, keys=1_000)
    one.write(f"{tmp_path}/one")
    two.write(f"{tmp_path}/two")
    assert us.dedup(day(spark, 0, 90), "url", seen).rows.count() == 0


def test_only_what_was_delivered_is_recorded(spark, tmp_path):
    """Rows that are other ones each time: computing them again must not record what went nowhere."""
    seen = f"{tmp_path}/seen.umbel"
    random = spark.range(200).select((F.rand() * 1e15).cast("bigint").alias("id"))
    us.dedup(random, "id", seen, keys=10_000).write(f"{tmp_path}/out")
    filter, delivered = umbel.open(seen), numbers(spark.read.parquet(f"{tmp_path}/out"))
    assert all(number in filter for number in delivered)
    expected = umbel.Bloom(10_000, 1e-6)
    expected.update(delivered)
    assert filter == expected


def test_rows_that_differ_each_time_are_offered_once(spark, tmp_path):
    """If a row had a key in one pass and none in the other, neither pass would output it."""
    from random import SystemRandom

    sometimes = F.udf(lambda id: id if SystemRandom().random() < 0.5 else None, "long").asNondeterministic()
    table = spark.range(2_000).select(sometimes("id").alias("key"), "id")
    assert us.dedup(table, "key", f"{tmp_path}/seen.umbel", keys=10_000).rows.select("id").distinct().count() == 2_000


def test_a_filter_of_rows_is_refused_before_rows_go_out(spark, tmp_path):
    umbel.Attributes(["url", "id"], 100).save(f"{tmp_path}/seen.umbel")
    with pytest.raises(ValueError, match="holds rows of url, id; dedup"):
        us.dedup(day(spark, 0, 10), "url", f"{tmp_path}/seen.umbel")


@pytest.mark.filterwarnings("ignore::umbel.OverfilledWarning")
def test_a_full_filter_is_told_and_then_refused(spark, tmp_path):
    seen = f"{tmp_path}/seen.umbel"
    new = us.dedup(day(spark, 0, 300), "url", seen, keys=100)
    with pytest.warns(UserWarning, match="the filter is full"):
        new.write(f"{tmp_path}/out")
    with pytest.raises(ValueError, match="the filter is full, with about"):
        us.dedup(day(spark, 0, 10), "url", seen)
    full = umbel.Bloom(1)
    full.update(range(10_000))
    us.save(full, seen)
    with pytest.raises(ValueError, match="the filter is full, with more keys than can be counted"):
        us.dedup(day(spark, 0, 10), "url", seen)


def test_a_filter_that_cannot_be_merged_is_refused_before_rows_go_out(spark, tmp_path):
    umbel.Bloomier(["a", "b"]).save(f"{tmp_path}/seen.umbel")
    with pytest.raises((ValueError, TypeError)):
        us.dedup(day(spark, 0, 10), "url", f"{tmp_path}/seen.umbel")


def test_nothing_is_told_without_need(spark, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        us.dedup(day(spark, 0, 10), "url", f"{tmp_path}/seen.umbel", keys=100).write(f"{tmp_path}/out")


@pytest.fixture(params=["local", "viewfs"])
def place(request, spark, tmp_path):
    """A folder that Python writes to, and one that Hadoop does."""
    if request.param == "local":
        return str(tmp_path)
    return f"viewfs://test/data/{tmp_path.name}"


def test_two_commits_at_once(spark, place, monkeypatch):
    """Both have read the file before one of them writes it, unless one waits for the other."""
    seen, load = f"{place}/seen.umbel", _hadoop.load
    umbel_ = umbel.Bloom(1_000, 1e-6)
    us.save(umbel_, seen)

    def slowly(*arguments, **options):
        filter = load(*arguments, **options)
        time.sleep(1)
        return filter

    days = [day(spark, first, first + 50) for first in (0, 50)]
    news = [us.dedup(rows, "url", seen) for rows in days]
    for module in (_hadoop, _seen):
        monkeypatch.setattr(module, "load", slowly, raising=False)
    errors = []

    def commit(new, rows):
        try:
            new.commit(rows)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=commit, args=pair) for pair in zip(news, days)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    filter = load(seen)
    assert all(f"page {number}" in filter for number in range(100))
    assert _hadoop._Place(seen, spark)._content(_hadoop._Place(seen, spark).beside("lock")) == ""


def test_the_lock_of_a_dead_process_is_broken(spark, place):
    import socket
    import subprocess

    process = subprocess.Popen(["true"])
    process.wait()
    seen = f"{place}/seen.umbel"
    us.save(umbel.Bloom(1_000), seen)
    target = _hadoop._Place(seen, spark)
    assert target._make(target.beside("lock"), f"{socket.gethostname()} {process.pid} 0")
    start = time.monotonic()
    us.dedup(day(spark, 0, 10), "url", seen).commit(day(spark, 0, 10))
    assert time.monotonic() - start < 60


def test_the_lock_of_another_machine_is_waited_for_and_told(spark, place, monkeypatch):
    monkeypatch.setattr(_hadoop, "_STALE", 7.0)
    seen = f"{place}/seen.umbel"
    us.save(umbel.Bloom(1_000), seen)
    target = _hadoop._Place(seen, spark)
    assert target._make(target.beside("lock"), "elsewhere 1 0")
    with pytest.warns(UserWarning, match=r"waiting for another run; it holds .*\.seen\.umbel\.lock"):
        _hadoop.update(seen, lambda before: before, spark)
    # And one that loses its lock writes nothing.
    def lose(before):
        target._remove(target.beside("lock"))
        return before

    with pytest.raises(OSError, match="another run has replaced the filter in the meantime; repeat the call"):
        _hadoop.update(seen, lose, spark)


def test_a_driver_that_stops_while_the_file_is_replaced(spark, tmp_path):
    """Most file systems delete the old file before they rename the new one."""
    folder = f"viewfs://test/data/{tmp_path.name}"
    seen = f"{folder}/seen.umbel"
    us.dedup(day(spark, 0, 10), "url", seen, keys=1_000).commit(day(spark, 0, 10))
    place = _hadoop._Place(seen, spark)
    # The state between these two steps, with the start of another run's file.
    place.files.rename(place.path, place.beside("a" * 32))
    place._make(place.beside("b" * 32), "half a fil")
    assert not place.exists()
    again = us.dedup(day(spark, 0, 15), "url", seen, keys=1_000)
    assert numbers(again.rows) == list(range(10, 15))
    again.commit(day(spark, 0, 15))
    assert us.dedup(day(spark, 0, 15), "url", seen).rows.count() == 0
    # Nothing is left that would be taken for it when somebody deletes it.
    assert place.left_beside() == []


def test_object_stores_are_written_directly(spark, tmp_path, monkeypatch):
    """There a rename is a copy, after the old file was deleted. The store is a local folder under the name of one."""
    folder = spark.conf.get("spark.hadoop.fs.viewfs.mounttable.test.link./data").removeprefix("file://")
    monkeypatch.setattr(_hadoop, "_OBJECT_STORES", _hadoop._OBJECT_STORES | {"viewfs"})

    def rename(*_):
        raise AssertionError("renamed")

    monkeypatch.setattr(_hadoop._Place, "rename", rename)
    seen = f"viewfs://test/data/{tmp_path.name}/seen.umbel"
    us.save(umbel.Bloom(10), seen)
    us.dedup(day(spark, 0, 10), "url", seen, keys=1_000).commit(day(spark, 0, 10))
    assert not umbel.open(f"{folder}/{tmp_path.name}/seen.umbel").receipt().over_filled
    assert {"s3a", "gs"} <= _hadoop._OBJECT_STORES


def test_tables_with_a_log(spark, tmp_path):
    """Delta's tables have no _SUCCESS, and refuse to be read with a schema; here is one with both habits."""
    from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceWriter, WriterCommitMessage

    class Logged(DataSource):
        @classmethod
        def name(cls):
            return "logged"

        def schema(self):
            return "url string, id long"

        def reader(self, schema):
            return Reader(self.options["path"])

        def writer(self, schema, overwrite):
            return Writer(self.options["path"])

    class Reader(DataSourceReader):
        def __init__(self, path):
            self.path = path

        def read(self, partition):
            import glob
            import json

            for name in glob.glob(f"{self.path}/*.json"):
                for line in open(name):
                    yield tuple(json.loads(line))

    class Writer(DataSourceWriter):
        def __init__(self, path):
            self.path = path

        def write(self, iterator):
            import json
            import os
            import uuid

            os.makedirs(self.path, exist_ok=True)
            with open(f"{self.path}/{uuid.uuid4()}.json", "w") as file:
                file.writelines(json.dumps(list(row)) + "\n" for row in iterator)
            return WriterCommitMessage()

        def commit(self, messages):
            import os

            os.makedirs(f"{self.path}/_delta_log", exist_ok=True)
            open(f"{self.path}/_delta_log/00000000000000000000.json", "w").close()

    spark.dataSource.register(Logged)
    seen, out = f"{tmp_path}/seen.umbel", f"{tmp_path}/out"

    def new():
        return us.dedup(day(spark, 0, 20), "url", seen, keys=1_000)

    rows = new().rows
    rows.write.format("logged").mode("append").save(out)
    # It was written, and not recorded.
    assert round(new().write(out, "logged").keys) in range(19, 22)
    assert us.dedup(day(spark, 0, 20), "url", seen).rows.count() == 0
