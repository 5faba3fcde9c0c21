"""The requirements of umbel.spark, and its error messages."""

import subprocess
import sys

import pytest

from umbel import spark as us


def imported(folder, name, content, more=""):
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(content)
    script = f"import sys; sys.path.insert(0, {str(folder)!r}); {more}import umbel.spark"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


def test_other_versions_of_spark(tmp_path):
    told = imported(tmp_path, "pyspark", "__version__ = '3.5.6'")
    assert told == "ImportError: umbel.spark needs PySpark 4, found 3.5.6; pip install 'umbel[spark]'"


def test_the_client_alone(tmp_path):
    told = imported(tmp_path, "pyspark", "__version__ = '4.0.0'", "sys.modules['py4j'] = None; ")
    assert told == "ImportError: umbel.spark needs PySpark 4, found only its Spark Connect client; pip install 'umbel[spark]'"


def test_no_pyarrow_on_an_executor(tmp_path):
    told = imported(tmp_path, "pyspark", "__version__ = '4.0.0'", "sys.modules.update(py4j=sys, pyarrow=None); ")
    assert told.startswith("ImportError: umbel.spark needs pyarrow on the driver and on every executor; pip install 'umbel[spark]' where they run")


class Remote:
    """A table of Spark Connect, as far as it is looked at."""

    class sparkSession:
        pass

    def __getattr__(self, name):
        return lambda *arguments, **options: self


@pytest.mark.parametrize(
    "call",
    [
        lambda table: us.build(table, "id"),
        lambda table: us.maybe_in(table, "id", None),
        lambda table: us.dedup(table, "id", "seen.umbel", keys=10),
        lambda table: us.semi_join(table, table, "id"),
        lambda table: us.distinct(table),
        lambda table: us.save(None, "seen.umbel", spark=table.sparkSession),
        lambda table: us.load("seen.umbel", spark=table.sparkSession),
        lambda table: us.Shared(None, table.sparkSession),
    ],
)
def test_spark_connect_is_named(call):
    with pytest.raises(TypeError, match="found a session of Spark Connect"):
        call(Remote())
