"""What is known of a table before work on it begins: its first rows, or a sample of its keys.

The sample consists of the rows with the smallest hashes. As hashes are spread evenly, the largest of them shows what share of
all keys is in the sample. Spark gathers them in one pass over the key columns, without a shuffle.

Bar-Yossef, Jayram, Kumar, Sivakumar, Trevisan, 2002, "Counting distinct elements in a data stream",
<https://doi.org/10.1007/3-540-45726-7_1>.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ._keys import HASH

# Rows in a sample: an estimate of the number of keys has a standard error of 1/sqrt(8192), 1.1 %.
_ROWS = 8192
# With fewer different keys among them, some keys are so frequent that they have to be counted first.
_TOO_FEW = 512
_LOWEST = -(2**63)


@dataclass(frozen=True)
class Sample:
    """The keys of the smallest hashes."""

    #: Their hashes, sorted, once each.
    hashes: npt.NDArray[np.int64]
    #: How many rows have each.
    counts: npt.NDArray[np.int64]
    #: The share of all possible hashes that is below the sample's end, in (0, 1]; 1 if it has all keys.
    share: float
    #: Bytes of a key, on average.
    key_bytes: float

    @property
    def rows(self) -> int:
        """About how many rows have a key."""
        return round(int(self.counts.sum()) / self.share)

    @property
    def keys(self) -> int:
        """About how many different keys there are."""
        return round(self.hashes.size / self.share)

    @property
    def planned_keys(self) -> int:
        """At least as many keys, but in one of a thousand cases: three standard errors more."""
        if self.share == 1.0:
            return self.keys
        return round(self.keys * (1 + 3 / math.sqrt(self.hashes.size)))

    @property
    def repeated(self) -> float:
        """The share of rows whose key also occurs in other rows."""
        return float(self.counts[self.counts > 1].sum() / max(1, self.counts.sum()))


def sample(df: DataFrame, key_hash: Column, key_bytes: Column | None = None) -> Sample:
    """The sample of a table: one pass over the columns of its key. Rows with a null hash are not in it."""
    size = F.lit(0) if key_bytes is None else key_bytes
    keys = df.select(key_hash.alias(HASH), size.alias("size")).where(F.col(HASH).isNotNull())
    table = keys.orderBy(HASH).limit(_ROWS).toArrow()
    hashes, counts = np.unique(table.column(HASH).to_numpy(), return_counts=True)
    complete = table.num_rows < _ROWS
    if not complete and len(hashes) < _TOO_FEW:
        different = keys.groupBy(HASH).agg(F.count("*").alias("rows"), F.max("size").alias("size"))
        table = different.orderBy(HASH).limit(_ROWS).toArrow()
        hashes, counts = (table.column(name).to_numpy() for name in (HASH, "rows"))
        complete = table.num_rows < _ROWS
    mean = float(np.mean(table.column("size").to_numpy())) if table.num_rows else 0.0
    if complete:
        return Sample(hashes, counts, 1.0, mean)
    # Not all rows of the last hash need be in the sample: it ends before.
    return Sample(hashes[:-1], counts[:-1], (float(hashes[-1]) - _LOWEST) / 2.0**64, mean)


def heads(df: DataFrame, rows: int) -> DataFrame:
    """The first rows of each partition, up to this many. The others are not read.

    Spark has this only as the inner half of a limit, one over each partition before the one over all. Where it cannot be had,
    it is the limit: rows of the first partitions.
    """
    limited = df.limit(rows)
    jvm: Any = df.sparkSession._jvm
    try:
        inner = limited._jdf.queryExecution().analyzed().child()
        taken = jvm.org.apache.spark.sql.classic.Dataset.ofRows(df.sparkSession._jsparkSession, inner)
    except (Py4JError, TypeError):
        return limited
    return DataFrame(taken, df.sparkSession)


def partitions(df: DataFrame) -> int:
    """How many partitions a table has; for one that is shuffled, how many at most."""
    plan = df._jdf.queryExecution().executedPlan()
    if plan.nodeName() == "AdaptiveSparkPlan":
        # Spark would have to shuffle to find out.
        return int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    return max(1, int(plan.execute().getNumPartitions()))
