"""The Spark session: a classic one, with a JVM in reach."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def classic(spark: Any = None) -> SparkSession:
    """This session, or the active one.

    Raises `TypeError` for one of Spark Connect, which has no driver here.
    """
    session = spark or SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError("no Spark session is active; pass spark=")
    if not hasattr(session, "_jsparkSession"):
        raise TypeError(
            "umbel.spark needs a driver of its own, found a session of Spark Connect; start one without remote(), or with "
            "spark.api.mode=classic"
        )
    return session


def check_tables(*tables: Any) -> None:
    """Raises `TypeError` unless these are tables of a classic session."""
    for table in tables:
        if not hasattr(table, "sparkSession"):
            name = type(table).__name__
            found = f"a pandas {name}; make one with spark.createDataFrame()" if hasattr(table, "iloc") else f"a {name}"
            raise TypeError(f"expected a DataFrame of Spark, found {found}")
        classic(table.sparkSession)
