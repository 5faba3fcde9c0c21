"""Spark as a cluster on this machine: two workers, each with an executor that is a JVM of its own."""

import os
import sys

import pytest
from cluster import java_options

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


def session(folder, **options):
    """A cluster of two workers of one core and 1 GiB each."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Tests are many small jobs: compiling them well takes longer than running them.
        **{f"spark.{process}.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC{java_options()}" for process in ("driver", "executor")},
        # Otherwise a core waits for 3 s before it takes a task whose rows the other one has.
        "spark.locality.wait": "0",
        # Executors work in a folder with this name; without the process, two clusters that start within a second share it.
        "spark.deploy.appIdPattern": f"app-%s-%04d-{os.getpid()}",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        # A scheme other than file:, to test Hadoop's own renaming.
        "spark.hadoop.fs.viewfs.mounttable.test.link./data": f"file://{folder}/mounted",
        **options,
    }
    os.makedirs(f"{folder}/mounted", exist_ok=True)
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("umbel")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


@pytest.fixture
def scaled(monkeypatch):
    """A function that scales the planner's limits, as if tables were larger by one over a share."""

    def scale(share):
        from umbel.spark import _job, _plan

        monkeypatch.setattr(_plan, "START", _plan.START * share)
        for limit in ("_FIRST", "_LISTED"):
            monkeypatch.setattr(_job, limit, int(getattr(_job, limit) * share))
        monkeypatch.setattr(_job.Job, "_broadcast_threshold", lambda job: int((10 << 20) * share))

    return scale


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    spark = session(tmp_path_factory.mktemp("spark"))
    yield spark
    spark.stop()
