"""A small filter of hashes that Spark itself looks up, in the JVM: no row goes to Python.

The filter is a column of words in a table of one row, which Spark broadcasts. A hash has three bits: its halves and their
exclusive or, each scaled to the number of bits. With 20 bits per key, (1 - exp(-3/20))^3 = 0.27 % of other hashes pass. That is
faster while the words fit in a processor's cache; for more keys, umbel's own filters are faster, despite the way to Python.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

_PER_KEY = 20
_WORDS = "umbel_words"


def in_bits(df: DataFrame, hash: str, hashes: npt.NDArray[np.int64]) -> DataFrame:
    """The rows whose hash, in the column of this name, is among these, and 0.27 % of the others. At most 10⁸ hashes."""
    words = np.zeros(_PER_KEY * hashes.size // 64 + 1, np.int64)
    bits = np.uint64(64 * words.size)
    low, high = hashes.view(np.uint64) & np.uint64(0xFFFFFFFF), hashes.view(np.uint64) >> np.uint64(32)
    for part in (low, high, low ^ high):
        bit = (part * bits >> np.uint64(32)).view(np.int64)
        np.bitwise_or.at(words, bit >> 6, np.int64(1) << (bit & 63))
    row = df.sparkSession.createDataFrame(pa.table({_WORDS: pa.array([words], pa.list_(pa.int64()))}))
    return df.join(F.broadcast(row), _all_set(F.col(hash), 64 * words.size), "left_semi")


def _all_set(hash: Column, bits: int) -> Column:
    low, high = hash.bitwiseAND(F.lit(0xFFFFFFFF)), F.shiftrightunsigned(hash, 32)

    def is_set(part: Column) -> Column:
        # Below 2^63, as SQL requires, with less than 2^31 bits.
        bit = F.shiftrightunsigned(part * bits, 32)
        word = F.get(F.col(_WORDS), F.shiftrightunsigned(bit, 6).cast("int"))
        return F.getbit(word, bit.bitwiseAND(F.lit(63)).cast("int")) == 1

    return is_set(low) & is_set(high) & is_set(low.bitwiseXOR(high))
