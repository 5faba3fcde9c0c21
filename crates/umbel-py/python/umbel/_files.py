"""Exact set operations on files and iterables of lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from logging import getLogger
from os import PathLike, fsdecode
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, overload

from . import _remote
from ._reports import Report
from ._umbel import Lines, _job

_log = getLogger("umbel")

Path: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]
# A path, a URL, an iterable of lines, or a column of NumPy, pandas, Polars or Arrow.
Input: TypeAlias = Path | Iterable[str] | Iterable[bytes] | Iterable[int] | Any
Key: TypeAlias = str | Sequence[str] | Mapping[str, str]
Form: TypeAlias = Literal["url", "email", "number", "nfc"]
# A bar of tqdm, or a function of the bytes read and those to read.
Progress: TypeAlias = bool | Callable[[int, int], None]
How: TypeAlias = Literal["inner", "left", "full"]


class Options(TypedDict, total=False):
    """What all jobs take; see docs/python.md."""

    memory: int | str
    threads: int | None
    tmp: Path
    records: Literal["csv", "tsv", "jsonl", "fields"] | None
    key: Key
    delimiter: str | Sequence[str]
    header: bool
    null: bool
    recursive: bool
    ignore_case: bool
    trim: bool
    crlf: bool
    normalize: Form | Sequence[Form] | None
    missing: Literal["error", "skip", "keep"]
    empty: Literal["value", "skip", "keep"]
    bad: Literal["error", "skip"]
    progress: Progress


@contextmanager
def _progress(verb: str, wanted: Progress) -> Iterator[Callable[[int, int], None] | None]:
    if not isinstance(wanted, bool):
        yield wanted
        return
    if not wanted:
        yield None
        return
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise ImportError("progress needs tqdm; pip install 'umbel[progress]'") from None
    with tqdm(desc=verb, unit="B", unit_scale=True) as bar:

        def report(done: int, total: int) -> None:
            bar.total = total or None
            bar.update(done - bar.n)

        yield report
        # The last of it was read after the last look.
        report(bar.total or bar.n, bar.total or 0)


@contextmanager
def _local(outs: dict[str, Path | None], tmp: Path | None) -> Iterator[dict[str, Any]]:
    """Local files in place of those at URLs, to which they are uploaded when all are complete."""
    urls = {name: out for name, out in outs.items() if isinstance(out, str) and "://" in out}
    for url in urls.values():
        _remote.check(url)
    place = None if tmp is None else fsdecode(tmp)
    with TemporaryDirectory(prefix="umbel-", dir=place) if urls else nullcontext() as folder:
        local = {name: f"{folder}/{name}-{url.rpartition('/')[2]}" for name, url in urls.items()}
        yield {**outs, **local}
        for name, url in urls.items():
            _remote.upload(url, local[name])


def _run(verb: str, inputs: Sequence[Input], outs: dict[str, Path | None], given: Any, **own: Any) -> Any:
    options = dict(given)
    key = options.get("key")
    if isinstance(key, Mapping):
        if verb not in ("common", "except", "join"):
            raise ValueError(f"key: the inputs of {verb} name their fields alike; give names, not a mapping")
        options["others"] = list(key.values())
    for several in ("key", "normalize", "delimiter"):
        value = options.pop(several, None)
        options[several] = [value] if isinstance(value, str) else list(value or ())
    with (
        _local(outs, options.get("tmp")) as local,
        _progress(verb, options.pop("progress", False)) as progress,
    ):
        result = _job(
            verb,
            list(inputs),
            own,
            [name for name, value in own.items() if value not in (None, False, "first")],
            progress=progress,
            **local,
            **options,
        )
    _log.info("%s: %s", verb, result.report if isinstance(result, Lines) else result)
    return result


@overload
def common(
    first: Input, *others: Input, out: None = None, all: bool = ..., at_least: int | None = ...,
    fpp: float | None = ..., **options: Unpack[Options],
) -> Lines: ...
@overload
def common(
    first: Input, *others: Input, out: Path, all: bool = ..., at_least: int | None = ...,
    fpp: float | None = ..., **options: Unpack[Options],
) -> Report: ...
def common(
    first: Input,
    *others: Input,
    out: Path | None = None,
    all: bool = False,
    at_least: int | None = None,
    fpp: float | None = None,
    **options: Unpack[Options],
) -> Lines | Report:
    """The lines that all inputs have, once each, in the order of the first.

    `all` keeps every row of the first input whose key is in the others (a semi-join); `at_least` keeps lines that so many
    inputs have; `fpp` reads every input once, with that chance of an error. With `out` the result is written to that file,
    whole or not at all, and a report is returned; otherwise the lines are.

    >>> import umbel
    >>> list(umbel.common(["a", "b", "c"], ["c", "a"]))
    ['a', 'c']
    """
    if not others:
        raise ValueError("common compares two inputs or more; found one")
    return _run("common", (first, *others), {"out": out}, options, all=all, at_least=at_least, fpp=fpp)  # type: ignore[no-any-return]


@overload
def except_(
    first: Input, *others: Input, out: None = None, all: bool = ..., fpp: float | None = ...,
    **options: Unpack[Options],
) -> Lines: ...
@overload
def except_(
    first: Input, *others: Input, out: Path, all: bool = ..., fpp: float | None = ...,
    **options: Unpack[Options],
) -> Report: ...
def except_(
    first: Input,
    *others: Input,
    out: Path | None = None,
    all: bool = False,
    fpp: float | None = None,
    **options: Unpack[Options],
) -> Lines | Report:
    """The lines of the first input that no other has, once each, in its order.

    `all` keeps every row of the first input whose key is not in the others (an anti-join). `out` and `fpp` as in `common`.

    >>> import umbel
    >>> list(umbel.except_(["a", "b", "c"], ["c", "a"]))
    ['b']
    """
    if not others:
        raise ValueError("except_ compares two inputs or more; found one")
    return _run("except", (first, *others), {"out": out}, options, all=all, fpp=fpp)  # type: ignore[no-any-return]


@overload
def join(
    left: Input, right: Input, *, on: Key, out: None = None, how: How = ..., first: bool = ...,
    unique: bool = ..., prefix: str | None = ..., **options: Unpack[Options],
) -> Lines: ...
@overload
def join(
    left: Input, right: Input, *, on: Key, out: Path, how: How = ..., first: bool = ...,
    unique: bool = ..., prefix: str | None = ..., **options: Unpack[Options],
) -> Report: ...
def join(
    left: Input,
    right: Input,
    *,
    on: Key,
    out: Path | None = None,
    how: How = "inner",
    first: bool = False,
    unique: bool = False,
    prefix: str | None = None,
    **options: Unpack[Options],
) -> Lines | Report:
    """Each row of the left input with the other columns, members or words of its partners in the right one.

    `on` names the key, as `key` of the other jobs does: a mapping where the names differ, from those of the left input to those
    of the right one. `records` says what a row is. `how="left"` keeps rows of the left input without a partner, `"full"` those
    of both. `first` takes only the first partner of a row, `unique` refuses several; `prefix` goes in front of columns of the
    right input that are named like one of the left, and of all its members of JSON lines, besides the key. `out` as in `common`.

    >>> import umbel
    >>> orders = ["order,customer", "1,ann", "2,bob"]
    >>> customers = ["id,city", "ann,Rome"]
    >>> list(umbel.join(orders, customers, on={"customer": "id"}, how="left", records="csv"))
    ['order,customer,city', '1,ann,Rome', '2,bob,']
    """
    if "key" in options:
        raise TypeError("join takes on in place of key")
    given = {**options, "key": on}
    return _run(  # type: ignore[no-any-return]
        "join", (left, right), {"out": out}, given, how=how, first=first, unique=unique, prefix=prefix,
    )


@overload
def dedup(
    first: Input, *others: Input, out: None = None, repeated: bool = ..., at_least: int | None = ...,
    keep: Literal["first", "last"] = ..., count: bool = ..., by_count: bool = ..., top: int | None = ...,
    fpp: float | None = ..., **options: Unpack[Options],
) -> Lines: ...
@overload
def dedup(
    first: Input, *others: Input, out: Path, repeated: bool = ..., at_least: int | None = ...,
    keep: Literal["first", "last"] = ..., count: bool = ..., by_count: bool = ..., top: int | None = ...,
    fpp: float | None = ..., **options: Unpack[Options],
) -> Report: ...
def dedup(
    first: Input,
    *others: Input,
    out: Path | None = None,
    repeated: bool = False,
    at_least: int | None = None,
    keep: Literal["first", "last"] = "first",
    count: bool = False,
    by_count: bool = False,
    top: int | None = None,
    fpp: float | None = None,
    **options: Unpack[Options],
) -> Lines | Report:
    """Each different line of all inputs, once, in the order in which they first occur.

    `repeated` keeps only lines that occur more than once, `at_least` those that occur so often; `keep="last"` keeps the last
    row of each key; `count` puts the number in front; `by_count` and `top` begin with the most frequent. `out` and `fpp` as in
    `common`.

    >>> import umbel
    >>> list(umbel.dedup(["b", "a", "b"], ["c", "a"]))
    ['b', 'a', 'c']
    """
    return _run(  # type: ignore[no-any-return]
        "dedup", (first, *others), {"out": out}, options,
        repeated=repeated, at_least=at_least, keep=keep, count=count, by_count=by_count, top=top, fpp=fpp,
    )


@overload
def diff(
    old: Input, new: Input, *, out: None = None, added: None = None, removed: None = None,
    kept: None = None, ignore_columns: str | Sequence[str] = ..., **options: Unpack[Options],
) -> Lines: ...
@overload
def diff(
    old: Input, new: Input, *, out: Path | None = None, added: Path | None = None,
    removed: Path | None = None, kept: Path | None = None,
    ignore_columns: str | Sequence[str] = ..., **options: Unpack[Options],
) -> Lines | Report: ...
def diff(
    old: Input,
    new: Input,
    *,
    out: Path | None = None,
    added: Path | None = None,
    removed: Path | None = None,
    kept: Path | None = None,
    ignore_columns: str | Sequence[str] = (),
    **options: Unpack[Options],
) -> Lines | Report:
    """The lines that only one of two inputs has: `-` in front of those removed, `+` of those added.

    With `records` and `key`, `~` is in front of rows whose key is in both and whose other fields changed. `added`, `removed`
    and `kept` write rows without marks to a file each instead, and a report is returned; changed rows count as added.
    Rows of CSV or TSV that differ in `ignore_columns` alone are the same. `report.changes` has the numbers, and `report.uneven` that
    of rows which both inputs have, but one more often.

    >>> import umbel
    >>> list(umbel.diff(["a", "b"], ["b", "c"]))
    ['- a', '+ c']
    """
    separate = {"added": added, "removed": removed, "kept": kept}
    if out is not None and any(separate.values()):
        raise ValueError("out is for all changes; omit it with added, removed and kept")
    ignored = [ignore_columns] if isinstance(ignore_columns, str) else list(ignore_columns)
    return _run("diff", (old, new), {"out": out, **separate}, {**options, "ignored": ignored})  # type: ignore[no-any-return]
