"""Spark next to Spark pruned by umbel, on a cluster of two workers of one core each.

    cargo x bench --spark [--rows 10000000] [--build-rows 100000000] [--rounds 3] [--only join,inner,killed,common,build] [--ways spark,umbel] [--out FILE.jsonl]

join     semi_join of two tables of keys of 40 bytes, 1 % common, next to Spark's sort-merge join without and with its runtime
         filters, in turn, after each has run once; the time includes the plan. `--ways` selects some of these
inner    Spark's inner join of two such tables, 1 % and 90 % common, next to the same after a semi_join of the left one and of both
killed   the semi_join with an executor killed midway: the rows must be the same
common   90 % common: what the planner does
build    a filter of keys of 40 bytes, with a driver of 1 GB, next to `umbel filter build` on one core
Bytes of shuffle come from the stages of the REST interface. `processor` is the processor time of all processes together, in
seconds, which other work on the machine changes less than the time. Each figure is a JSON object.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

from pyspark.sql import SparkSession, functions as F  # noqa: E402

sys.path.append(str(Path(__file__).parents[2] / "crates/umbel-py/tests_spark"))
from cluster import java_options  # noqa: E402
from umbel import spark as us  # noqa: E402
from umbel.spark import _jvm  # noqa: E402


def session(folder):
    spark = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.driver.memory", "1g")
        .config("spark.ui.port", "0")
        .config("spark.driver.extraJavaOptions", java_options())
        .config("spark.executor.extraJavaOptions", java_options())
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


class Shuffled:
    """Bytes that stages have written to the shuffle."""

    def __init__(self, spark):
        context = spark.sparkContext
        self.url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"

    def bytes(self):
        # The listener behind the interface is a moment late.
        time.sleep(1)
        with urllib.request.urlopen(self.url) as answer:
            return sum(stage["shuffleWriteBytes"] for stage in json.load(answer))


def keys(spark, first, last):
    """Rows with a key of 40 bytes and a number."""
    key = F.sha1(F.col("id").cast("string")).alias("key")
    return spark.range(first, last, 1, 8).select(key, (F.col("id") % 1000).alias("value"))


def tables(spark, folder, rows, common):
    for name, first in (("left", 0), ("right", rows - round(rows * common))):
        keys(spark, first, first + rows).write.mode("overwrite").parquet(f"{folder}/{name}")
    return spark.read.parquet(f"{folder}/left"), spark.read.parquet(f"{folder}/right")


def total(df):
    """A count and a sum that depend on all rows, which forces all to be computed."""
    row = df.agg(F.count("*"), F.sum(F.xxhash64(*df.columns).cast("decimal(38,0)"))).first()
    return row[0], str(row[1])


def plain(spark, left, right, runtime_filters):
    spark.conf.set("spark.sql.optimizer.runtime.bloomFilter.enabled", str(runtime_filters).lower())
    try:
        return total(left.join(right.hint("merge"), "key", "left_semi"))
    finally:
        spark.conf.unset("spark.sql.optimizer.runtime.bloomFilter.enabled")


def in_python(work):
    """As where Java cannot have the class."""
    loader, _jvm._loader = _jvm._loader, lambda context: None
    try:
        return work()
    finally:
        _jvm._loader = loader


def processes():
    """This process and its descendants: of each its command and its seconds of processor time."""
    children, told = {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.name))
        told[int(entry.name)] = command, sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    found, todo = {}, [os.getpid()]
    while todo:
        process = todo.pop()
        todo += children.get(process, [])
        found[process] = told.get(process, (b"", 0.0))
    return found


def executors():
    """The process ids of executors that this program's JVM started."""
    return [process for process, (command, _) in processes().items() if b"CoarseGrainedExecutorBackend" in command]


def processor():
    return sum(seconds for _, seconds in processes().values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--build-rows", type=float, default=1e8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="join,inner,killed,common,build")
    parser.add_argument("--ways", default="spark,spark with runtime filters,umbel,umbel in Python,umbel split by hash range")
    parser.add_argument("--umbel", help="the command line, for build")
    parser.add_argument("--data", help="where tables go; default: a temporary folder")
    parser.add_argument("--out")
    given = parser.parse_args()
    rows, wanted = round(given.rows), given.only.split(",")
    folder = tempfile.mkdtemp(prefix="umbel-spark-", dir=given.data)
    out = open(given.out, "a") if given.out else None

    def report(**figures):
        line = json.dumps(figures)
        print(line, flush=True)
        if out:
            print(line, file=out, flush=True)

    spark = session(folder)
    shuffled = Shuffled(spark)

    def measure(what, work, **more):
        before, used, start = shuffled.bytes(), processor(), time.perf_counter()
        answer = work()
        figures = {"seconds": round(time.perf_counter() - start, 2), "processor": round(processor() - used, 2)}
        report(what=what, rows=rows, **figures, shuffled=shuffled.bytes() - before, answer=str(answer), **more)
        return answer

    try:
        if "join" in wanted or "killed" in wanted:
            left, right = tables(spark, folder, rows, 0.01)
            report(what="plan", plan=str(us.semi_join(left, right, "key", explain=True)).splitlines())
            # What runs first pays for classes to be loaded and compiled.
            plain(spark, left, right, False)
            total(us.semi_join(left, right, "key"))
        if "join" in wanted:
            answers = set()
            ways = {
                "spark": lambda: plain(spark, left, right, False),
                "spark with runtime filters": lambda: plain(spark, left, right, True),
                "umbel": lambda: total(us.semi_join(left, right, "key")),
                "umbel in Python": lambda: in_python(lambda: total(us.semi_join(left, right, "key"))),
                "umbel split by hash range": lambda: total(us.semi_join(left, right, "key", limit=1, prune=True)),
            }
            ways = {way: ways[way] for way in given.ways.split(",")}
            for number in range(given.rounds):
                order = list(ways)[number % len(ways) :] + list(ways)[: number % len(ways)]
                for way in order:
                    answers.add(measure(way, ways[way], round=number))
            assert len(answers) == 1, answers
        for common in (0.01, 0.9) if "inner" in wanted else ():
            first, second = tables(spark, f"{folder}/{common}", rows, common)
            second = second.withColumnRenamed("value", "other")
            plan = us.semi_join(first, second, "key", explain=True)
            report(what="plan, inner", common=common, plan=str(plan).splitlines())
            ways = {
                "spark, inner": lambda: first.join(second, "key"),
                "umbel, inner, left": lambda: us.semi_join(first, second, "key").join(second, "key"),
                "umbel, inner, both": lambda: us.semi_join(first, second, "key").join(us.semi_join(second, first, "key"), "key"),
            }
            answers = {total(joined()) for joined in ways.values()}
            for number in range(given.rounds):
                for way, joined in ways.items():
                    answers.add(measure(way, lambda: total(joined()), common=common, round=number))
            assert len(answers) == 1, answers
        if "killed" in wanted:
            expected = plain(spark, left, right, False)

            def kill():
                victim = executors()[0]
                report(what="kill", process="one of two executors")
                os.kill(victim, signal.SIGKILL)

            timer = threading.Timer(5.0, kill)
            timer.start()
            answer = measure("umbel, an executor killed", lambda: total(us.semi_join(left, right, "key")))
            assert not timer.is_alive(), "the work was over before the executor was killed; give more rows"
            assert answer == expected, (answer, expected)
        if "common" in wanted:
            left, right = tables(spark, folder, rows, 0.9)
            report(what="plan, 90 % common", plan=str(us.semi_join(left, right, "key", explain=True)).splitlines())
            for number in range(given.rounds):
                measure("spark, 90 % common", lambda: plain(spark, left, right, False), round=number)
                measure("umbel, 90 % common", lambda: total(us.semi_join(left, right, "key")), round=number)
                measure("umbel, 90 % common, forced", lambda: total(us.semi_join(left, right, "key", prune=True)), round=number)
        if "build" in wanted:
            count = round(given.build_rows)
            used, start = processor(), time.perf_counter()
            filter = us.build(keys(spark, 0, count), "key", 0.01, keys=count)
            figures = {"seconds": round(time.perf_counter() - start, 2), "processor": round(processor() - used, 2)}
            report(what="build", rows=count, **figures, receipt=str(filter.receipt()))
            few = min(count, 10_000_000)
            lines, target = f"{folder}/lines", f"{folder}/filter.umbel"
            with open(lines, "w") as file:
                file.writelines(hashlib.sha1(str(id).encode()).hexdigest() + "\n" for id in range(few))
            command = ["taskset", "-c", "0", given.umbel, "filter", "build", "--threads", "1", "--keys", str(few), "--force", "-o", target, lines]
            for number in range(given.rounds):
                used, start = processor(), time.perf_counter()
                subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
                figures = {"seconds": round(time.perf_counter() - start, 2), "processor": round(processor() - used, 2)}
                report(what="umbel filter build, one core", rows=few, **figures)
    finally:
        spark.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
