"""umbel on Spark: filters made by a cluster, and exact set operations that prune before the shuffle.

Needs PySpark 4: ``pip install 'umbel[spark]'``. The executors also need umbel; docs/spark.md shows how to install it there.
"""

try:
    import pyspark
except ImportError:
    raise ImportError("umbel.spark needs PySpark 4; pip install 'umbel[spark]'") from None
if int(pyspark.__version__.split(".")[0]) < 4:
    raise ImportError(f"umbel.spark needs PySpark 4, found {pyspark.__version__}; pip install 'umbel[spark]'")
try:
    import py4j  # type: ignore[import-untyped]  # noqa: F401
except ImportError:
    raise ImportError("umbel.spark needs PySpark 4, found only its Spark Connect client; pip install 'umbel[spark]'") from None
try:
    import pyarrow  # type: ignore[import-untyped]  # noqa: F401
except ImportError:
    # Executors also import this package, with their first task.
    raise ImportError(
        "umbel.spark needs pyarrow on the driver and on every executor; pip install 'umbel[spark]' where they run, or send them an "
        "environment that has it (docs/spark.md)"
    ) from None

from ._filters import build, maybe_in
from ._hadoop import from_native, load, save, to_native
from ._plan import Plan, Table
from ._seen import New, dedup
from ._shared import Shared
from ._sets import anti_join, common, diff, distinct, except_, semi_join

__all__ = [
    "New",
    "Plan",
    "Shared",
    "Table",
    "anti_join",
    "build",
    "common",
    "dedup",
    "diff",
    "distinct",
    "except_",
    "from_native",
    "load",
    "maybe_in",
    "save",
    "semi_join",
    "to_native",
]
