"""Indexes of many files, and the lines that hold a text."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike, fsdecode
from typing import Literal, TypeAlias

from ._files import refuse
from ._umbel import _find, _index

Path: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]
Form: TypeAlias = Literal["url", "email", "number", "thousands", "nfc"]


@dataclass(frozen=True)
class Hit:
    """A line that was found: its file, its number from 1, its text, and which of the texts it has.

    Bytes that are not UTF-8 are in the text as Python's ``surrogateescape`` makes them.
    """

    file: str
    line: int
    text: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Indexed:
    """What was done to make an index.

    `unreadable` are files that are not in it, each with the reason; an update tries them again.
    """

    files: int
    files_read: int
    files_gone: int
    blocks: int
    text: int
    text_read: int
    keys: int
    nbytes: int
    unreadable: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SearchReport:
    """What a search read, in bytes of text, and which files and texts the index did not help with.

    `stale` lists files that changed since they were indexed, `new` files that are not in the index, and `searched_in_full` texts
    that no filter can narrow down, each with the reason. `unreadable` lists files that were left out, each with the reason.
    """

    files: int
    blocks: int
    blocks_read: int
    text: int
    text_read: int
    stale: tuple[str, ...]
    new: tuple[str, ...]
    searched_in_full: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)


class Hits(list[Hit]):
    """The lines that were found, in the order of their files' names and of the lines, and the report of the search."""

    report: SearchReport

    def __repr__(self) -> str:
        if len(self) <= 10:
            return super().__repr__()
        return f"<Hits: {len(self)} lines, the first {self[0]!r}>"


def index(
    target: Path,
    paths: Path | Iterable[Path] | None = None,
    *,
    update: bool = False,
    records: Literal["csv", "tsv", "jsonl", "fields"] | None = None,
    key: str | Sequence[str] = (),
    delimiter: str | None = None,
    header: bool = True,
    null: bool = False,
    ignore_case: bool = False,
    trim: bool = False,
    crlf: bool = False,
    normalize: Form | Sequence[Form] = (),
    missing: Literal["error", "skip"] = "error",
    bad: Literal["error", "skip"] = "error",
    memory: int | str = "1GiB",
    threads: int | None = None,
) -> Indexed:
    """Indexes files, compressed or not, and the files in folders: their words, or with `records` and `key` the values of a field.

    With `update` the index is brought up to date: it reads what is new or has changed, and drops what is gone. An index takes the
    place of an older one in one step.

    >>> import os, tempfile, umbel
    >>> folder = tempfile.mkdtemp()
    >>> for day in ("monday", "tuesday"):
    ...     with open(f"{folder}/{day}.log", "w") as log:
    ...         _ = log.write(f"{day} 10.0.3.17 ok\\n{day} 10.0.3.18 refused\\n")
    >>> umbel.index(f"{folder}/logs.index", [f"{folder}/monday.log", f"{folder}/tuesday.log"]).files
    2
    >>> [(os.path.basename(hit.file), hit.line) for hit in umbel.find(f"{folder}/logs.index", "10.0.3.18 refused")]
    [('monday.log', 2), ('tuesday.log', 2)]
    """
    if update is (paths is not None):
        raise ValueError("name the paths of a new index, or give update=True")
    if records is not None and not key:
        raise ValueError("key: an index of records needs a field; name one")
    listed = None if paths is None else [paths] if isinstance(paths, (str, bytes, PathLike)) else list(paths)
    for path in listed or ():
        # A file that cannot be read is left out, with a warning that names it.
        with suppress(OSError):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    if file.read(4) == b"PAR1":
                        raise ValueError(
                            f"{fsdecode(path)}: is a Parquet file, which has no lines; umbel.parquet.may_hold looks keys up in its filters"
                        )
    options = {
        "records": records, "key": [key] if isinstance(key, str) else list(key), "delimiter": [] if delimiter is None else [delimiter],
        "header": header, "null": null, "ignore_case": ignore_case, "trim": trim, "crlf": crlf,
        "normalize": [normalize] if isinstance(normalize, str) else list(normalize), "missing": missing, "bad": bad,
        "memory": memory, "threads": threads,
    }
    refuse(options)
    made, unreadable = _index(target, listed, options)
    return Indexed(*made, _warned(unreadable))


def _bytes_of(text: str | bytes) -> bytes:
    """A text as bytes. A line that was not UTF-8 gets its original bytes back."""
    if isinstance(text, str):
        return text.encode(errors="surrogateescape")
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise TypeError(f"a text is str or bytes, not {type(text).__name__}; convert it with str()")


def _warned(unreadable: list[tuple[Path, str]]) -> dict[str, str]:
    """Warns about files that were left out, at the line that called `find` or `index`."""
    reasons = {fsdecode(path): why for path, why in unreadable}
    for path, why in reasons.items():
        warnings.warn(f"{path}: {why}; it is left out", stacklevel=3)
    return reasons


def find(
    place: Path,
    texts: str | bytes | Iterable[str | bytes],
    *,
    inside: bool = False,
    ignore_case: bool = False,
    memory: int | str = "1GiB",
    threads: int | None = None,
) -> Hits:
    """The lines that hold one of the texts, exactly, in the files of an index; a file or folder is searched in full.

    A text begins and ends with whole words of the line, unless it may be `inside` of them. For an index of a field, texts are
    values, and records are found. All lines that are found are held in memory.
    A file that cannot be read is left out, with a warning. Raises FileNotFoundError if a file of the index is gone.
    """
    given = [texts] if isinstance(texts, (str, bytes)) else texts
    wanted = list(dict.fromkeys(map(_bytes_of, given)))
    lines, numbers, stale, new, wide, unreadable = _find(
        place, wanted, inside=inside, ignore_case=ignore_case, memory=memory, threads=threads
    )
    shown = [text.decode(errors="surrogateescape") for text in wanted]
    hits = Hits(
        Hit(fsdecode(file), line, text.decode(errors="surrogateescape"), tuple(shown[number] for number in numbers_of))
        for file, line, text, numbers_of in lines
    )
    hits.report = SearchReport(
        *numbers,
        tuple(map(fsdecode, stale)),
        tuple(map(fsdecode, new)),
        {shown[number]: why for number, why in wide},
        _warned(unreadable),
    )
    return hits
