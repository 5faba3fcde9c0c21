"""A filter on all executors: one file on each, which its Python processes map.

Spark gives each executor a Python broadcast as a file. Here that file is the filter's own rather than a pickle of it:
processes share its pages, and a filter uses the memory of one copy however many processes look it up.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO

from pyspark import SparkContext
from pyspark.core.broadcast import Broadcast
from pyspark.sql import SparkSession

import umbel
from umbel import Filter

from ._jvm import knows
from ._session import classic


class Shared:
    """A filter that all executors have, for many calls of `maybe_in`: ``with Shared(blocked) as blocked: …``.

    Each executor keeps one copy, in a file that its Python processes map, until `close` or the end of the application; the
    driver also has one. Tables that look it up cannot be computed afterwards. Keys that are added later are not in it.

    Raises `ValueError` for a filter with a secret: secrets are never sent.
    """

    def __init__(self, filter: Filter, spark: SparkSession | None = None) -> None:
        spark = classic(spark)
        check_filter(filter)
        context = spark.sparkContext
        _forget(context)
        try:
            pickled: Any = filter.__reduce__()
        except ValueError:
            raise ValueError("filters with a secret are not supported in Spark, as it would have to be sent; build one without") from None
        _, (_, data, format, key_type), _ = pickled
        #: The filter itself, on the driver.
        self._filter: Filter | None = filter
        self._kind: Any = {} if format is None else {"format": format, "key_type": key_type}
        #: Whether Java looks it up, and no key goes to Python.
        self.in_java = format is None and knows(filter, data, spark)
        self._broadcast: Broadcast[Any] = _Own(context, (filter, data), context._pickled_broadcast_vars)

    @property
    def filter(self) -> Filter:
        """The filter, here or in a Python process of an executor."""
        if self._filter is None:
            broadcast: Any = self._broadcast
            if hasattr(broadcast, "_value"):
                # It was encrypted on its way, and came through a socket.
                self._filter = broadcast._value
            else:
                self._filter = umbel.open(broadcast._path, **self._kind, mmap=not self._kind)
        return self._filter

    def close(self) -> None:
        """Removes the copies of driver and executors. Does nothing the second time."""
        if not self.closed:
            self._broadcast.destroy()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return not os.path.exists(self._broadcast._path)

    def __enter__(self) -> Shared:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_filter": None}


def check_filter(filter: object) -> None:
    """Raises `TypeError` for anything but a filter."""
    if not isinstance(filter, Filter):
        raise TypeError(f"expected a filter, found a {type(filter).__name__}; load() one, or make one with build()")


class _Own(Broadcast[Any]):
    """A broadcast that uses a filter's file directly."""

    def dump(self, value: Any, f: BinaryIO) -> None:
        filter, data = value
        if self._sc is not None and self._sc._encryption_enabled:
            # Otherwise processes do not get a file, but an object unpickled from a socket.
            super().dump(filter, f)
            return
        f.write(data)
        f.close()


# Files on the driver of broadcasts that only plans need, and Java's weak references to these broadcasts.
_left: list[tuple[SparkContext, Any, str]] = []


def leave(shared: Shared) -> None:
    """Leaves it to the plans that look it up: its files are removed after Java has collected the last of them as garbage."""
    context = shared._broadcast._sc
    assert context is not None and context._jvm is not None
    reference = context._jvm.java.lang.ref.WeakReference(shared._broadcast._jbroadcast)
    _left.append((context, reference, shared._broadcast._path))


def _forget(context: SparkContext) -> None:
    """Removes the driver's files of broadcasts whose plans are gone; Spark itself removes the executors' files."""
    gone = [one for one in _left if one[0] is not context or one[1].get() is None]
    for one in gone:
        _left.remove(one)
        if os.path.exists(one[2]):
            os.unlink(one[2])
