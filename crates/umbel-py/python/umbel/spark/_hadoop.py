"""Filters at any path that Hadoop opens, through the file systems of the driver's JVM, and Spark's own filters."""

from __future__ import annotations

import os
import socket
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

import umbel
from umbel import Filter

from ._session import classic
from ._shared import check_filter

# Schemes of stores whose connectors for Hadoop show an object only when it is complete, and rename by copying.
_OBJECT_STORES = {"s3", "s3a", "s3n", "gs", "oss", "cosn", "obs"}
# Seconds after which a lock of another run counts as left behind: many times what it takes to read, merge and write a file.
_STALE = 600.0


def save(filter: Filter, path: str | os.PathLike[str], *, spark: SparkSession | None = None) -> None:
    """Writes a filter as a file that every door of umbel opens.

    Readers see the old file or the new one, whole: on file systems it is written under another name and renamed; object
    stores show a file only when it is complete. Folders are made.

    Raises `OSError` when the file system refuses.
    """
    place = _Place(path, spark)
    check_filter(filter)
    if place.local is not None:
        os.makedirs(os.path.dirname(place.local), exist_ok=True)
        filter.save(place.local)
        return
    with _temporary() as local, place.errors():
        filter.save(local)
        source = place.new_path(f"file://{local}")
        if place.is_object_store:
            # A rename would delete the old file before it copies the new one.
            place.files.copyFromLocalFile(False, True, source, place.path)
            return
        beside = place.beside(uuid.uuid4().hex)
        try:
            place.files.copyFromLocalFile(False, True, source, beside)
            place.rename(beside)
        except BaseException:
            # Without the old file it is the only one.
            if place.files.exists(place.path):
                place.files.delete(beside, False)
            raise


def load(path: str | os.PathLike[str], *, secret: bytes | None = None, spark: SparkSession | None = None) -> Any:
    """The filter in a file, checked byte for byte as `umbel.open` does.

    Raises `FileNotFoundError`, `OSError` when the file system refuses, and `ValueError` for a damaged file or one that is not a
    filter.
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
            raise ValueError(str(error).replace(local, place.given)) from None


def saved(path: str, spark: SparkSession) -> Filter | None:
    """The filter at this path, or None.

    Most file systems of Hadoop replace a file in two steps. If a driver was stopped between them, the new file still has its
    other name: it is taken from there.
    """
    place = _Place(path, spark)
    if place.exists():
        filter: Filter = load(path, spark=spark)
        return filter
    for beside in place.left_beside():
        try:
            filter = load(beside, spark=spark)
        except (OSError, ValueError):
            # It was not written completely, and so did not replace anything.
            continue
        return filter
    return None


def update(path: str, change: Callable[[Filter | None], Filter], spark: SparkSession) -> Filter:
    """Replaces the filter at this path by the result of `change`. Concurrent callers wait for each other.

    Raises `OSError` if the file system refuses, or a caller that waited for long has taken over.
    """
    place = _Place(path, spark)
    with place.locked() as is_locked:
        filter = change(saved(path, spark))
        if not is_locked():
            raise OSError(f"{path}: another run has replaced the filter in the meantime; repeat the call")
        save(filter, path, spark=spark)
        if place.local is None and not place.is_object_store:
            # What a stopped run left is not taken for the filter when somebody deletes that.
            for beside in place.left_beside():
                place._remove(place.new_path(beside))
    return filter


def from_native(filter: Any) -> umbel.Foreign:
    """A filter of Spark, such as ``df._jdf.stat().bloomFilter("id", 1000, 0.01)``, of version 1 or 2, as one of umbel.

    It answers for the same keys: integers as longs, and text as its UTF-8.
    """
    stream = classic()._jvm.java.io.ByteArrayOutputStream()  # type: ignore[union-attr]
    filter.writeTo(stream)
    native: umbel.Foreign = umbel.from_bytes(bytes(stream.toByteArray()), "spark")
    return native


def to_native(filter: umbel.Foreign, *, spark: SparkSession | None = None) -> Any:
    """A filter of the format ``spark`` as Spark's own ``org.apache.spark.util.sketch.BloomFilter``, in the driver's JVM.

    Raises `TypeError` for another filter: its keys cannot be hashed again. Make one with ``build(…, format="spark")``.
    """
    check_filter(filter)
    if not isinstance(filter, umbel.Foreign) or filter.kind != "spark":
        raise TypeError(f"expected a filter of the format spark, found {filter.kind}; make one with build(format='spark')")
    jvm: Any = classic(spark)._jvm
    stream = jvm.java.io.ByteArrayInputStream(bytearray(filter.to_bytes()))
    return jvm.org.apache.spark.util.sketch.BloomFilter.readFrom(stream)


class _Place:
    """A path, and the file system that it is on."""

    def __init__(self, path: str | os.PathLike[str], spark: SparkSession | None) -> None:
        session = classic(spark)
        self.jvm: Any = session._jvm
        self.gateway: Any = session.sparkContext._gateway
        self.given = path = os.fspath(path)
        with self.errors():
            self.conf = session._jsparkSession.sessionState().newHadoopConf()
            bare = self.new_path(path)
            self.files = bare.getFileSystem(self.conf)
            self.path = self.files.makeQualified(bare)
        # The driver's Python is on the driver's machine: its own rename is atomic, which Hadoop's on local files is not.
        uri = self.path.toUri()
        self.local: str | None = uri.getPath() if uri.getScheme() == "file" else None
        self.is_object_store = uri.getScheme() in _OBJECT_STORES

    def new_path(self, *parts: Any) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(*parts)

    def beside(self, suffix: str) -> Any:
        """A hidden file next to it."""
        return self.new_path(self.path.getParent(), f".{self.path.getName()}.{suffix}")

    def left_beside(self) -> list[str]:
        """The paths of files that were to be renamed to this one, the newest first."""
        with self.errors():
            folder = self.path.getParent()
            found = self.files.listStatus(folder) if self.files.exists(folder) else []
            start = f".{self.path.getName()}."
            named = [one for one in found if one.getPath().getName().startswith(start)]
            named = [one for one in named if len(one.getPath().getName()) == len(start) + 32]
            named.sort(key=lambda one: one.getModificationTime(), reverse=True)
            return [one.getPath().toString() for one in named]

    def exists(self) -> bool:
        with self.errors():
            return bool(self.files.exists(self.path))

    def rename(self, source: Any) -> None:
        """Renames over the existing file."""
        options = self.jvm.org.apache.hadoop.fs.Options.Rename
        overwrite = self.gateway.new_array(options, 1)
        overwrite[0] = options.OVERWRITE
        context = self.jvm.org.apache.hadoop.fs.FileContext.getFileContext(self.path.toUri(), self.conf)
        context.rename(source, self.path, overwrite)

    @contextmanager
    def locked(self) -> Iterator[Callable[[], bool]]:
        """Holds a lock file next to this one; yields a function that returns whether the lock is still held.

        A stale lock is broken: immediately if its process ran on this machine and has ended, otherwise after ten minutes. Object
        stores may let in two callers that arrive within the same second.
        """
        token = f"{socket.gethostname()} {os.getpid()} {uuid.uuid4().hex}"
        lock = self.beside("lock")
        other, since, told = "", time.monotonic(), False
        while not self._make(lock, token):
            found = self._content(lock)
            if found != other:
                other, since = found, time.monotonic()
            if _is_gone(found) or time.monotonic() - since > _STALE:
                if self._content(lock) == found:
                    self._remove(lock)
                continue
            if not told and time.monotonic() - since > 5:
                told = True
                warnings.warn(f"{self.given}: waiting for another run; it holds {lock.toString()}", stacklevel=5)
            time.sleep(0.2)
        try:
            yield lambda: self._content(lock) == token
        finally:
            if self._content(lock) == token:
                self._remove(lock)

    def _make(self, path: Any, content: str) -> bool:
        """Makes a file; False if it exists."""
        if self.local is not None:
            # Hadoop looks for a local file before it makes it, which is not one step.
            name = path.toUri().getPath()
            os.makedirs(os.path.dirname(name), exist_ok=True)
            try:
                file = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            except FileExistsError:
                return False
            with os.fdopen(file, "w") as out:
                out.write(content)
            return True
        with self.errors():
            if self.files.exists(path):
                return False
        try:
            stream = self.files.create(path, False)
            stream.write(bytearray(content.encode()))
            stream.close()
        except Py4JJavaError:
            with self.errors():
                if self.files.exists(path):
                    return False
            raise
        if self.is_object_store:
            # Object stores also check before they write: the last writer gets the lock.
            time.sleep(1)
        return self._content(path) == content

    def _content(self, path: Any) -> str:
        """The text of a small file; nothing if there is none."""
        try:
            stream = self.files.open(path)
        except Py4JJavaError:
            with self.errors():
                if not self.files.exists(path):
                    return ""
            raise
        try:
            return str(self.jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def _remove(self, path: Any) -> None:
        with self.errors():
            self.files.delete(path, False)

    @contextmanager
    def errors(self) -> Iterator[None]:
        try:
            yield
        except Py4JJavaError as error:
            raise OSError(f"{self.given}: {error.java_exception}") from error


def _is_gone(token: str) -> bool:
    """Whether a lock certainly belongs to a process of this machine that has ended."""
    host, _, rest = token.partition(" ")
    process = rest.partition(" ")[0]
    if host != socket.gethostname() or not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


@contextmanager
def _temporary() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="umbel-") as folder:
        yield os.path.join(folder, "filter")
