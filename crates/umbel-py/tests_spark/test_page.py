"""The examples in docs/spark.md."""

import doctest
import os
from pathlib import Path

import umbel.spark

PAGE = Path(__file__).parents[3] / "docs" / "spark.md"


# Of the large tables and of what is printed of them. The quick part runs the page with a tenth of these rows.
ROWS = {"3_000_000": "300_000", "2_970_000": "297_000", "6_000_000": "600_000", "\n30000\n": "\n3000\n"}


def test_the_page(spark, tmp_path, scaled):
    text, report = PAGE.read_text(encoding="utf-8"), []
    if "UMBEL_TEST_FULL" not in os.environ:
        for rows, fewer in ROWS.items():
            assert rows in text
            text = text.replace(rows, fewer)
        scaled(0.1)
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
