"""The examples in docs/spark.md."""

import doctest
from pathlib import Path

import umbel.spark

PAGE = Path(__file__).parents[3] / "docs" / "spark.md"


def test_the_page(spark, tmp_path):
    text, report = PAGE.read_text(encoding="utf-8"), []
    test = doctest.DocTestParser().get_doctest(text, {"spark": spark, "folder": tmp_path}, "spark.md", str(PAGE), 0)
    assert len(test.examples) > 30
    runner = doctest.DocTestRunner()
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_everything_is_documented():
    for name in umbel.spark.__all__:
        assert getattr(umbel.spark, name).__doc__, name


def test_pyspark_is_imported_only_when_it_is_used():
    import subprocess
    import sys

    script = "import sys, umbel; assert not any(name.startswith('pyspark') for name in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
