"""Filters that executors share: one copy on each, and none left behind."""

import gc
import os
import subprocess
import sys
import time

import pytest
from pyspark.sql import functions as F

import umbel
from umbel import spark as us
from umbel.spark import _filters, _job, _shared
from umbel.spark._filters import cores


def blocked(keys=1_000):
    filter = umbel.Bloom(keys, 1e-6)
    filter.update(range(100))
    return filter


def left(spark):
    """Files of the driver's Python, which holds one for each broadcast. Those of earlier tests may go at any time."""
    return set(os.listdir(spark.sparkContext._temp_dir))


def test_one_copy_for_all_calls(spark):
    before = left(spark)
    numbers = spark.range(200)
    with us.Shared(blocked()) as shared:
        for _ in range(10):
            assert numbers.where(us.maybe_in(numbers, "id", shared)).count() == 100
        assert len(left(spark) - before) == 1
    shared.close()
    assert not left(spark) - before
    with pytest.raises(ValueError, match="this Shared is closed; share the filter again"):
        us.maybe_in(numbers, "id", shared)


def test_processes_map_the_file(spark):
    """A filter of 32 MiB is in no process as memory of its own, but as pages of one file."""
    big = umbel.Bloom(memory="32MiB", fpp=0.01)
    big.update(range(100))

    def look(batches):
        import pyarrow as pa

        for batch in batches:
            found = shared.filter.contains_many(batch.column(0), threads=1)
            mapped = [line.split()[-1] for line in open("/proc/self/maps") if "broadcast" in line or "pyspark-" in line]
            yield pa.RecordBatch.from_pydict({"found": [sum(map(bool, found))], "path": [mapped[-1] if mapped else "none"]})

    with us.Shared(big) as shared:
        rows = spark.range(0, 200, 1, 4).mapInArrow(look, "found long, path string").collect()
    assert sum(row.found for row in rows) == 100
    # Two executors, with a file each.
    assert 1 <= len({row.path for row in rows}) <= 2 and "none" not in {row.path for row in rows}


@pytest.mark.parametrize("way", ["shared", "each"])
def test_a_stream_leaves_no_files(spark, tmp_path, way):
    """A hundred small batches, with --full: one copy of the filter if it is shared; otherwise the copies that Java has not collected yet."""
    batches = 100 if "UMBEL_TEST_FULL" in os.environ else 8
    spark.range(0, batches, 1, batches).write.parquet(f"{tmp_path}/in")
    filter, counts, found = blocked(), [], []
    gc.collect()
    before = left(spark)
    shared = us.Shared(filter) if way == "shared" else filter

    def held():
        """Of these batches, the broadcasts that Java has not collected."""
        new = [reference for _, reference, path in _shared._left if os.path.basename(path) not in before]
        return sum(reference.get() is not None for reference in new)

    def screen(batch, number):
        found.append(batch.where(us.maybe_in(batch, "id", shared)).count())
        if way == "each":
            # Python notifies Java on a thread of its own, which is slow on a busy machine.
            until = time.monotonic() + 60
            while held() > 3 and time.monotonic() < until:
                gc.collect()
                time.sleep(0.5)
                spark._jvm.System.gc()
        counts.append(len(left(spark) - before))

    stream = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1).parquet(f"{tmp_path}/in").writeStream
    stream.trigger(availableNow=True).option("checkpointLocation", f"{tmp_path}/state").foreachBatch(screen).start().awaitTermination()
    assert len(counts) == batches and sum(found) == batches
    assert max(counts) <= (1 if way == "shared" else 4), counts
    if way == "shared":
        shared.close()
        assert not left(spark) - before


def test_set_operations_leave_no_files(spark):
    gc.collect()
    us.Shared(blocked()).close()
    before = left(spark)
    for _ in range(3):
        # Spark looks the list up; the filter that found it is gone.
        assert us.semi_join(spark.range(100), spark.range(50, 200), "id", prune=True).count() == 50
        assert not left(spark) - before


def test_other_filters_are_shared(spark):
    numbers = spark.range(300)
    native = umbel.Foreign("spark", 1_000, 0.001)
    native.update(range(100))
    counting = umbel.Counting(1_000, 1e-6)
    counting.update(range(100))
    for filter in (native, counting):
        with us.Shared(filter) as shared:
            assert numbers.where(us.maybe_in(numbers, "id", shared)).count() in range(100, 103)
    with pytest.raises(ValueError, match="secret are not supported in Spark"):
        us.Shared(umbel.Bloom(10, secret=b"0123456789abcdef"))


SCRIPT = """
import os, sys
sys.path.insert(0, {tests!r})
from conftest import session

spark = session({folder!r}, **{options!r})
import umbel
from umbel import spark as us
from umbel.spark._filters import cores
{work}
print("reached")
spark.stop()
"""


def run(tmp_path, work, **options):
    """A session of its own."""
    script = SCRIPT.format(tests=os.path.dirname(__file__), folder=str(tmp_path), options=options, work=work)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "reached\n", done.stdout + done.stderr[-5_000:]


@pytest.mark.skipif("UMBEL_TEST_FULL" not in os.environ, reason="takes a cluster of its own: cargo x test spark --full")
def test_encrypted(tmp_path):
    """Processes get no file then. Executors with two cores have two slots each."""
    work = """
assert cores(spark.range(1)) == 4, cores(spark.range(1))
filter = umbel.Bloom(1_000, 1e-6)
filter.update(range(100))
numbers = spark.range(200)
with us.Shared(filter) as shared:
    assert numbers.where(us.maybe_in(numbers, "id", shared)).count() == 100
"""
    run(tmp_path, work, **{"spark.io.encryption.enabled": "true", "spark.default.parallelism": "7", "spark.master": "local-cluster[2,2,1024]"})


def test_cores_before_there_are_executors(spark, monkeypatch):
    """Right after the start Spark reports a parallelism of 2, however many executors come. A small job waits for them."""
    slots = iter([0, 400])
    monkeypatch.setattr(_filters, "_slots", lambda spark: next(slots))
    assert cores(spark.range(1)) == 400


class Collected:
    """The tables that reach the driver."""

    def __init__(self, monkeypatch):
        from pyspark.sql.classic.dataframe import DataFrame

        self.tables, to_arrow = [], DataFrame.toArrow

        def collect(df):
            self.tables.append(to_arrow(df))
            return self.tables[-1]

        monkeypatch.setattr(DataFrame, "toArrow", collect)

    def rows(self):
        """Of keys, without the first rows of partitions."""
        return [table.num_rows for table in self.tables if "partition" not in table.column_names]


def test_keys_reach_the_driver_once(spark, monkeypatch):
    """The smaller table has 20,000 rows of ten keys that both have."""
    users = spark.range(50_000)
    events = spark.range(20_000).select((F.col("id") % 10).alias("id"))
    collected = Collected(monkeypatch)
    joined = us.semi_join(users, events, "id", prune=True)
    assert joined.count() == 10
    assert max(collected.rows()) < 500, collected.rows()


def test_partitions_do_not_multiply_what_reaches_the_driver(spark, monkeypatch):
    """Each of 400 partitions has more candidates than its share: together they stay below eight times the list."""
    monkeypatch.setattr(_job, "_LISTED", 64 << 10)
    monkeypatch.setattr(_job, "_GATHERERS", 4)
    keys = F.sha1(F.col("id").cast("string")).alias("key")
    left, right = spark.range(0, 40_000, 1, 400).select(keys), spark.range(0, 20_000, 1, 2).select(keys)
    # The first rows of partitions tell nothing.
    monkeypatch.setattr(_job.Job, "_share", _nothing_shared(_job.Job._share))
    collected = Collected(monkeypatch)
    assert us.semi_join(left, right, "key", prune=True).count() == 20_000
    sizes = [table.nbytes for table in collected.tables if "umbel_candidate_0" in table.column_names]
    assert sizes and max(sizes) < 9 * (64 << 10), sizes


def _nothing_shared(share):
    def nothing(job, first):
        share(job, first)
        return 0.0

    return nothing


def test_distinct_keeps_to_the_limit(spark, monkeypatch):
    from umbel.spark import _sets

    sizes, gather = [], _filters.gather

    def watched(df, start, add, join, nbytes, *more):
        sizes.append(nbytes)
        return gather(df, start, add, join, nbytes, *more)

    for module in (_filters, _sets):
        monkeypatch.setattr(module, "gather", watched)
    # 100,000 keys, of which 1,000 are repeated: a filter of all takes 170 KB, and a task would hold two.
    table = spark.range(101_000).select((F.col("id") % 100_000).alias("id"))
    plan = us.distinct(table, prune=True, limit=64 << 10, explain=True)
    assert plan.parts > 1
    assert us.distinct(table, prune=True, limit=64 << 10).count() == 100_000
    assert sizes and max(sizes) <= 64 << 10, sizes


def test_candidates_beyond_the_limit_are_left_to_spark(spark, monkeypatch):
    """The second filter is also broadcast."""
    monkeypatch.setattr(_job, "_LISTED", -1)
    monkeypatch.setattr("umbel.spark._plan.START", 0)
    table = spark.range(0, 400_000, 1, 2).select(F.sha1(F.col("id").cast("string")).alias("key"), F.lit("x" * 400).alias("wide"))
    job = _job.Job("common", (table.select("key"), table.select("key").where("key < '8'")), {})
    assert job.affords(10**6)
    job.limit = 1 << 10
    assert not job.affords(10**6)
    assert "a filter of the rows that pass would have" in str(job.plan) and not job.plan.prunes
