"""Filters at URLs, through fsspec."""

from typing import Any


def _open(url: str, mode: str) -> Any:
    try:
        import fsspec  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise ImportError(f"{url}: URLs need fsspec; pip install 'umbel[remote]'") from None
    return fsspec.open(url, mode)


def read(url: str) -> bytes:
    with _open(url, "rb") as file:
        content: bytes = file.read()
    return content


def write(url: str, content: bytes) -> None:
    with _open(url, "wb") as file:
        file.write(content)
