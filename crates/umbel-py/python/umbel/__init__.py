"""Bloom filters for Python, NumPy and Arrow, and exact set operations on files bigger than memory.

A filter answers "have I seen this key?": no for certain, or maybe with a known error rate.

>>> import umbel
>>> seen = umbel.Bloom(1_000_000, fpp=0.01)
>>> seen.update(["ann", "bob"])
>>> "ann" in seen, "eve" in seen
(True, False)
>>> seen.contains_many(["ann", "eve"])
[True, False]
"""

import sys as _sys

from . import parquet
from ._files import common, dedup, diff, except_, join
from ._plans import Choice, Plan, plan
from ._reports import Comparison, Explanation, Receipt, Report
from ._search import Hit, Hits, Indexed, SearchReport, find, index
from ._tables import Lines
from ._umbel import (
    FORMATS,
    Attributes,
    Bloom,
    Bloomier,
    Cascade,
    Coded,
    Counting,
    Filter,
    Foreign,
    Map,
    OverfilledWarning,
    Parts,
    Scalable,
    SharedFile,
    Stable,
    Window,
    __version__,
    compare,
    from_bytes,
    open,
    update,
)
from ._unseen import unseen

# Only Python 3.13 and later have this function.
if not getattr(_sys, "_is_gil_enabled", lambda: True)():
    raise ImportError("umbel needs Python's GIL: start Python without -X gil=0, and without PYTHON_GIL=0 in the environment")

__all__ = [
    "FORMATS",
    "Attributes",
    "Bloom",
    "Bloomier",
    "Cascade",
    "Choice",
    "Coded",
    "Comparison",
    "Counting",
    "Explanation",
    "Filter",
    "Foreign",
    "Hit",
    "Hits",
    "Indexed",
    "Lines",
    "Map",
    "OverfilledWarning",
    "Parts",
    "Plan",
    "Receipt",
    "Report",
    "Scalable",
    "SearchReport",
    "SharedFile",
    "Stable",
    "Window",
    "__version__",
    "common",
    "compare",
    "dedup",
    "diff",
    "except_",
    "find",
    "from_bytes",
    "index",
    "join",
    "open",
    "parquet",
    "plan",
    "unseen",
    "update",
]
