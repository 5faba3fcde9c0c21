"""Filters at any path that Hadoop opens, through the file systems of the driver's JVM, and Spark's own filters."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

import umbel
from umbel import Filter


def save(filter: Filter, path: str, *, spark: SparkSession | None = None) -> None:
    """Writes a filter as a file that every door of umbel opens.

    The file is written under another name and renamed, so that readers see the old one or the new one, whole, on file systems
    whose rename is atomic, such as HDFS; object stores show a file only when it is complete. Folders are made.

    Raises `OSError` when the file system refuses.
    """
    place = _Place(path, spark)
    if place.local is not None:
        os.makedirs(os.path.dirname(place.local), exist_ok=True)
        filter.save(place.local)
        return
    with _temporary() as local, place.errors():
        filter.save(local)
        name = place.path.getName()
        beside = place.new_path(place.path.getParent(), f".{name}.{uuid.uuid4().hex}")
        try:
            place.files.copyFromLocalFile(False, True, place.new_path(f"file://{local}"), beside)
            place.rename(beside)
        finally:
            place.files.delete(beside, False)


def load(path: str, *, secret: bytes | None = None, spark: SparkSession | None = None) -> Any:
    """The filter in a file, checked byte for byte as `umbel.open` does.

    Raises `FileNotFoundError`, `OSError` when the file system refuses, and `ValueError` for a file that is no filter or is
    damaged.
    """
    place = _Place(path, spark)
    if place.local is not None:
        return umbel.open(place.local, secret=secret)
    if not place.exists():
        raise FileNotFoundError(f"{path}: no such file")
    with _temporary() as local:
        with place.errors():
            place.files.copyToLocalFile(False, place.path, place.new_path(f"file://{local}"), True)
        try:
            return umbel.open(local, secret=secret)
        except ValueError as error:
            raise ValueError(str(error).replace(local, path)) from None


def from_native(filter: Any) -> umbel.Foreign:
    """A filter of Spark, such as ``df._jdf.stat().bloomFilter("id", 1000, 0.01)``, of version 1 or 2, as one of umbel.

    It answers for the same keys: integers as longs, and text as its UTF-8.
    """
    stream = _session(None)._jvm.java.io.ByteArrayOutputStream()  # type: ignore[union-attr]
    filter.writeTo(stream)
    native: umbel.Foreign = umbel.from_bytes(bytes(stream.toByteArray()), "spark")
    return native


def to_native(filter: umbel.Foreign, *, spark: SparkSession | None = None) -> Any:
    """A filter of the format ``spark`` as Spark's own ``org.apache.spark.util.sketch.BloomFilter``, in the driver's JVM.

    Raises `TypeError` for another filter: its keys cannot be hashed again. Make one with ``build(…, format="spark")``.
    """
    if not isinstance(filter, umbel.Foreign) or filter.kind != "spark":
        raise TypeError(f"expected a filter of the format spark, found {filter.kind}; make one with build(format='spark')")
    jvm: Any = _session(spark)._jvm
    stream = jvm.java.io.ByteArrayInputStream(bytearray(filter.to_bytes()))
    return jvm.org.apache.spark.util.sketch.BloomFilter.readFrom(stream)


def _session(spark: SparkSession | None) -> SparkSession:
    session = spark or SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError("no Spark session is active; pass spark=")
    return session


class _Place:
    """A path, and the file system that it is on."""

    def __init__(self, path: str, spark: SparkSession | None) -> None:
        session = _session(spark)
        self.jvm: Any = session._jvm
        self.gateway: Any = session.sparkContext._gateway
        self.given = path
        with self.errors():
            self.conf = session._jsparkSession.sessionState().newHadoopConf()
            bare = self.new_path(path)
            self.files = bare.getFileSystem(self.conf)
            self.path = self.files.makeQualified(bare)
        # The driver's Python is on the driver's machine: its own rename is atomic, which Hadoop's on local files is not.
        uri = self.path.toUri()
        self.local: str | None = uri.getPath() if uri.getScheme() == "file" else None

    def new_path(self, *parts: Any) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(*parts)

    def exists(self) -> bool:
        with self.errors():
            return bool(self.files.exists(self.path))

    def rename(self, source: Any) -> None:
        """In place of what is there."""
        options = self.jvm.org.apache.hadoop.fs.Options.Rename
        overwrite = self.gateway.new_array(options, 1)
        overwrite[0] = options.OVERWRITE
        context = self.jvm.org.apache.hadoop.fs.FileContext.getFileContext(self.path.toUri(), self.conf)
        context.rename(source, self.path, overwrite)

    @contextmanager
    def errors(self) -> Iterator[None]:
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

        try:
            yield
        except Py4JJavaError as error:
            raise OSError(f"{self.given}: {error.java_exception}") from error


@contextmanager
def _temporary() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="umbel-") as folder:
        yield os.path.join(folder, "filter")
