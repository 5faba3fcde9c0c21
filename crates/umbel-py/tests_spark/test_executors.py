"""How the wheel reaches executors whose own Python does not have it."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import umbel

if "UMBEL_TEST_FULL" not in os.environ:
    pytest.skip("takes clusters of its own: cargo x test spark --full", allow_module_level=True)

# The executors' packages besides umbel; PySpark itself comes with Spark, and only PySpark 4.0 also needs pandas.
PACKAGES = ["numpy", "pyarrow"]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """An environment with umbel, packed as docs/spark.md shows, without what pip would download again."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    (site,) = (folder / "env" / "lib").glob("python3.*/site-packages")
    shutil.copytree(Path(umbel.__file__).parent, site / "umbel", ignore=shutil.ignore_patterns("__pycache__"))
    for package in PACKAGES:
        for file in importlib.metadata.files(package):
            source = Path(file.locate())
            if ".." not in file.parts and "__pycache__" not in file.parts and "tests" not in file.parts:
                target = site / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
    packed = folder / "umbel.tar.gz"
    command = [sys.executable, "-m", "venv_pack", "--prefix", folder / "env", "--output", packed, "--compress-level", "1"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(folder / "env")
    return packed


SCRIPT = """
import os, sys
sys.path.insert(0, {tests!r})
from conftest import session

spark = session({folder!r}, **{options!r})
{more}
import pyarrow as pa
from umbel import spark as us

made = us.build(spark.range(1000), "id", keys=1000)
assert all(number in made for number in range(1000))
assert us.semi_join(spark.range(100), spark.range(50, 200), "id", prune=True).count() == 50

def where(batches):
    import umbel
    for _ in batches:
        yield pa.RecordBatch.from_pydict({{"file": [umbel.__file__], "python": [sys.executable]}})

for row in spark.range(4).mapInArrow(where, "file string, python string").collect():
    assert "/environment/" in row.file and "/environment/" in row.python, row
print("reached")
spark.stop()
"""


def run(tmp_path, python, options, more=""):
    script = SCRIPT.format(tests=os.path.dirname(__file__), folder=str(tmp_path), options=options, more=more)
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYSPARK_PYTHON": python},
    )
    assert done.stdout == "reached\n", done.stdout + done.stderr[-5_000:]


def test_archives(archive, tmp_path):
    run(tmp_path, "./environment/bin/python", {"spark.archives": f"{archive}#environment"})


def test_artifacts(archive, tmp_path):
    more = f"spark.addArtifacts('{archive}#environment', archive=True)"
    # What is started without the artifact would have no umbel.
    run(tmp_path, "/usr/bin/false", {"spark.sql.execution.pyspark.python": "environment/bin/python"}, more)

