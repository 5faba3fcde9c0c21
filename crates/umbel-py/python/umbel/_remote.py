"""Files at URLs, through fsspec."""

from collections.abc import Callable
from secrets import token_hex
from typing import IO, Any


def _located(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise ImportError(f"{url}: URLs need fsspec; pip install 'umbel[remote]'") from None
    system, path = url_to_fs(url)
    return system, path


def open_read(url: str) -> IO[bytes]:
    """The file, to be read."""
    system, path = _located(url)
    file: IO[bytes] = system.open(path, "rb")
    return file


def read(url: str) -> bytes:
    """All bytes of the file."""
    with open_read(url) as file:
        return file.read()


def check(url: str) -> None:
    """Refuses a URL of which no file system is known, or whose package is missing."""
    _located(url)


def write(url: str, content: bytes) -> None:
    """Replaces the file's content by these bytes; after an error the file is unchanged."""
    _replace(url, lambda system, path: system.pipe_file(path, content))


def upload(url: str, local: str) -> None:
    """Replaces the file's content by a local file's; after an error the file is unchanged."""
    _replace(url, lambda system, path: system.put_file(local, path))


def _replace(url: str, put: Callable[[Any, str], None]) -> None:
    """Puts a file in the place of the one at a URL.

    An object store shows an object only once it is complete. File systems that can rename (SFTP, FTP, SMB, HDFS, local disks)
    show partial writes, so there the bytes go to another file in the same folder, which is then renamed.
    """
    system, path = _located(url)
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped,unused-ignore]

    if type(system).mv is AbstractFileSystem.mv:
        put(system, path)
        return
    beside = f"{path}.umbel-{token_hex(4)}"
    removed = False
    try:
        put(system, beside)
        try:
            system.mv(beside, path)
        except Exception:
            if not system.exists(path):
                raise
        if system.exists(beside):
            # HDFS and SMB do not rename over an existing name, and HDFS does not even report it.
            removed = True
            system.rm_file(path)
            system.mv(beside, path)
    except BaseException as error:
        if removed and not system.exists(path):
            error.add_note(f"{url}: the new file is whole, at {beside}")
        elif system.exists(beside):
            system.rm_file(beside)
        raise
