"""Exact set operations on files and iterables of lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from csv import QUOTE_MINIMAL, QUOTE_NONE, reader
from difflib import get_close_matches
from inspect import signature
from itertools import chain
from logging import getLogger
from operator import index
from os import PathLike, fsdecode
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias, TypedDict, TypeGuard, TypeVar, Unpack, overload

from . import _remote
from ._reports import Explanation, Report
from ._tables import Lines, Rows, is_relation, is_table, parquet
from ._umbel import _is_compressed, _job

_log = getLogger("umbel")

Path: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]
# A path, a URL, an iterable of lines, or a column of NumPy, pandas, Polars or Arrow.
Input: TypeAlias = Path | Iterable[str] | Iterable[bytes] | Iterable[int] | Any
# Fields, or the first input's fields and the others'; None instead of the others' where these are bare keys.
Key: TypeAlias = str | Sequence[str] | Mapping[str, str] | Mapping[str, None]
Records: TypeAlias = Literal["csv", "tsv", "jsonl", "fields"]
Form: TypeAlias = Literal["url", "email", "number", "thousands", "nfc"]
# A bar of tqdm, or a function of the bytes read and those to read.
Progress: TypeAlias = bool | Callable[[int, int], None]
Which: TypeAlias = bool | Literal["numbers", "names"]
How: TypeAlias = Literal["inner", "left", "full"]
Job = TypeVar("Job", bound=Callable[..., Any])


class Options(TypedDict, total=False):
    """Options of every job; ``help(umbel.dedup)`` and docs/python.md explain each."""

    memory: int | str
    threads: int | None
    tmp: Path
    records: Records | Sequence[Records | None] | None
    key: Key
    delimiter: str | Sequence[str]
    header: bool | Sequence[bool]
    quotes: Literal["double", "none"]
    skip: int
    comment: str | None
    ragged: Literal["refuse", "pad"] | None
    null: bool
    recursive: bool
    raw: bool
    ignore_case: bool
    trim: bool
    crlf: bool
    normalize: Form | Sequence[Form] | None
    missing: Literal["error", "skip", "keep"]
    empty: Literal["value", "skip", "keep"]
    bad: Literal["error", "skip"]
    progress: Progress


# The description of each option of `Options`, for the documentation of every job.
_WORDS = """
    Options of all jobs:

    - `records`: what a row is: "csv", "tsv", "jsonl", "fields" (words), or None for lines; a list has one for each input, in
      which None is a file of keys
    - `key`: the field or fields to compare; a mapping where the other inputs name them differently, to None where these are keys
    - `delimiter`: the byte between columns of CSV; a list has one for each input
    - `header`: False if the first row of CSV or TSV has no names; a list has one for each input
    - `quotes`: "none" if quotes of CSV are bytes like others, as in inch marks
    - `skip`: how many lines at the start of each file or list of rows are left out, as before a header
    - `comment`: lines that begin with this byte, such as "#", are left out
    - `ragged`: a row of CSV or TSV with fewer or more fields than columns is taken as it is where no column moves; "refuse" it,
      or "pad" it with empty fields, and cut off empty ones that are too many
    - `raw`: whole rows of CSV and values of JSON lines are compared as they are written: "x",1 and x,1 then differ, and 1.0 and 1
    - `ignore_case`, `trim`: compare without regard to case, or to blanks at both ends
    - `crlf`: a carriage return at the end of a line does not count
    - `normalize`: "url", "email", "number", "thousands" (separators in numbers), "nfc", or a list of them: what counts as equal
    - `missing`: a record without the key is an "error", or "skip" it, or "keep" it as one that no other equals
    - `empty`: an empty value in a key is a "value", or "skip" the record, or "keep" it as one that no other equals
    - `bad`: a record that cannot be read is an "error", or "skip" it
    - `null`: lines end with a zero byte
    - `recursive`: a path may be a folder, for all files in it
    - `memory`: bytes to use, such as "1GiB" (default); what does not fit goes to temporary files
    - `tmp`: the folder for temporary files
    - `threads`: how many; by default as many as there are processors
    - `progress`: True for a bar of tqdm, or a function of the bytes read and those to read
"""


def _documented(job: Job) -> Job:
    job.__doc__ = f"{job.__doc__}{_WORDS}"
    return job


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


def _each(name: str, given: Sequence[Any], inputs: int) -> list[Any]:
    if len(given) != inputs:
        raise ValueError(f"{name}: found {len(given)} in a list for {inputs} inputs; give one for each, or one for all")
    return list(given)


def _is_path(value: Input) -> TypeGuard[Path]:
    return isinstance(value, (str, bytes, PathLike))


def _text(line: Any) -> str:
    return line if isinstance(line, str) else line.decode(errors="surrogateescape")


def _are_keys(inputs: list[Any], number: int, options: dict[str, Any], name: str, renamed: bool) -> bool:
    """Whether an input is one of bare keys: a column whose key has a name, one value per line under no header, or, next to
    JSON lines, values that are no objects or arrays. An iterator is replaced by one that has its first value again."""
    records, value = options["records"], inputs[number]
    if isinstance(value, Rows):
        return False
    has_header = records in ("csv", "tsv") and options.get("header", True)
    if _is_path(value) or not (records == "jsonl" or (has_header and not name.isdecimal())):
        return False
    is_column = any(hasattr(value, of) for of in ("dtype", "__arrow_c_stream__", "__arrow_c_array__"))
    if is_column and (has_header or not hasattr(value, "__getitem__")):
        return True
    try:
        values = iter(value)
    except TypeError:
        return False
    left_out, comment = options.get("skip") or 0, options.get("comment")
    first, seen = None, []
    for line in values:
        seen.append(line)
        first = line.as_py() if hasattr(line, "as_py") else line
        is_line = isinstance(first, (str, bytes, bytearray))
        passed = is_line and (len(seen) <= left_out or _text(first) in ("\n", "\r\n") or comment and _text(first).startswith(comment))
        if not passed:
            break
    if values is value and seen:
        rest = chain(seen, values)
        inputs[:] = [rest if other is value else other for other in inputs]
    if first is None:
        return is_column
    if not isinstance(first, (str, bytes, bytearray)):
        return True
    line = _text(first)
    if records == "jsonl":
        return not line.lstrip().startswith(("{", "["))
    if renamed:
        return False
    line = line.rstrip("\r\n")
    delimiters = options.get("delimiter") or ","
    delimiter = "\t" if records == "tsv" else delimiters[min(number, len(delimiters) - 1)]
    quoting: Literal[0, 3] = QUOTE_NONE if records == "tsv" or options.get("quotes") == "none" else QUOTE_MINIMAL
    names = next(reader([line], delimiter=delimiter, quoting=quoting), [""])
    if name in names:
        return False
    if len(names) == 1:
        return True
    raise ValueError(
        f"input {number + 1}: its first line, {line}, is not a header with {name}, and not one value: name its field with "
        f'key={{"{name}": …}}; for a list of keys with delimiters in them, key={{"{name}": None}}'
    )


def _per_input(verb: str, options: dict[str, Any], inputs: list[Input], of_all: bool) -> None:
    """Splits options that may differ per input into the first input's value and the exceptions among the others."""
    key, records, header = (options.get(name) for name in ("key", "records", "header"))
    bare: set[int] = set()
    if isinstance(key, Mapping):
        if verb not in ("common", "except", "join", "diff"):
            raise ValueError(f"key: the inputs of {verb} name their fields alike; give names, not a mapping")
        others = list(key.values())
        if verb == "diff" and (None in others or records not in ("csv", "tsv") or header is False):
            raise ValueError("key: diff compares whole rows, so a mapping renames a column; it needs the header of CSV or TSV")
        if None in others:
            bare.update(range(1, len(inputs)))
        else:
            options["others"] = others
    if records is not None and not isinstance(records, str):
        each = _each("records", records, len(inputs))
        if set(each) != {None} and (each[0] is None or set(each) - {None, each[0]}):
            raise ValueError(
                "records: the first input has rows, such as \"csv\"; others have the same, or None if they are keys, one per line"
            )
        options["records"] = each[0]
        bare.update(number for number, of in enumerate(each) if of is None and each[0])
    headers: list[bool] = [] if header is None or isinstance(header, bool) else _each("header", header, len(inputs))
    if headers:
        options["header"], options["headers"] = headers[0], headers
    names = [key] if isinstance(key, str) else list(key or ())
    fields = len(names)
    if fields == 1 and not of_all and options.get("records") is not None:
        renamed = options.get("others")
        for number in sorted(set(range(1, len(inputs))) - bare):
            if _are_keys(inputs, number, options, (renamed or names)[0], renamed is not None):
                bare.add(number)
    if bare and fields != 1:
        raise ValueError(f"input {min(bare) + 1}: bare keys are values of one field, and the key has {fields}; name one with key")
    if of_all and (bare or len(set(headers)) > 1):
        number, needs = (min(bare), "rows") if bare else (headers.index(not headers[0]), "a header if the first one has one, else none")
        raise ValueError(f"input {number + 1}: the result has rows of all inputs, so this one needs {needs}")
    options["bare"] = sorted(bare)


def _named_form(path: Path) -> str | None:
    """The form of records that the name of a file says, which may be compressed."""
    name = fsdecode(path).lower()
    if _is_compressed(name):
        name = name.rpartition(".")[0]
    forms = {"csv": "csv", "tsv": "tsv", "tab": "tsv", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet", "pq": "parquet"}
    return forms.get(name.rpartition(".")[2]) if "." in name else None


def _forms_by_name(inputs: list[Input], options: dict[str, Any]) -> None:
    """Opens Parquet files, and takes the form of the records that have a key from the names of the files, if all say the same."""
    for number, of in enumerate(inputs):
        if _is_path(of) and _named_form(of) == "parquet" and "://" not in fsdecode(of):
            inputs[number] = parquet(fsdecode(of))
    forms = {_named_form(of) for of in inputs if _is_path(of)}
    if options.get("key") and options.get("records") is None and len(forms) == 1 and None not in forms:
        options["records"] = forms.pop()


def _tables(inputs: list[Input], options: dict[str, Any]) -> list[Any]:
    """Replaces tables by their rows as CSV; returns their schemas."""
    schemas: list[Any] = []
    _forms_by_name(inputs, options)
    several = sum(map(is_relation, inputs)) > 1
    for number, table in enumerate(inputs):
        if not is_table(table):
            continue
        if options.setdefault("records", "csv") is None:
            options["records"] = "csv"
        records, header = options["records"], options.get("header", True)
        if records != "csv" and (isinstance(records, str) or records[number] != "csv"):
            raise ValueError(f'input {number + 1} is a table, whose rows are CSV; give records="csv", or leave it out')
        if not (header if isinstance(header, bool) else header[number]):
            raise ValueError(f"input {number + 1} is a table, which has names; leave header out")
        for name in ("skip", "comment", "quotes"):
            if options.get(name):
                raise ValueError(f"input {number + 1} is a table, which is not read from text; leave {name} out")
        delimiters = options.get("delimiter") or ","
        inputs[number] = rows = Rows(table, number, delimiters[min(number, len(delimiters) - 1)], several)
        schemas.append(rows.schema)
    return schemas


def _alike(inputs: Sequence[Input], options: dict[str, Any]) -> None:
    """Refuses tables with columns to compare that are never equal, because their types are written in other ways."""
    tables = [(number, of) for number, of in enumerate(inputs) if isinstance(of, Rows)]
    if options.get("by_name") or not tables:
        return
    # The inputs after the first may name the fields of the key differently.
    key = [options["key"], options.get("others") or options["key"]]
    (first, rows), *rest = tables
    for number, other in rest:
        # Whole rows are compared by the names of their columns, in whatever order.
        for name, of in zip(key[first > 0] or rows.schema.names, key[1] or rows.schema.names):
            if (rows.schema.names.count(name), other.schema.names.count(of)) != (1, 1):
                continue
            if (this := rows.written(name)) != (that := other.written(of)) and this and that:
                raise TypeError(f"input {number + 1}: column {of} is written as {that}, and {name} of input {first + 1} as {this}; cast one of them")


def _check(verb: str, options: dict[str, Any]) -> None:
    """Refuses options that the job does not have."""
    jobs: dict[str, Any] = {"common": common, "except": except_, "join": join, "dedup": dedup, "diff": diff}
    job = jobs[verb]
    own = [name for name, of in signature(job).parameters.items() if of.kind is of.KEYWORD_ONLY]
    for name in options:
        if name not in Options.__annotations__:
            near = get_close_matches(name, [*own, *Options.__annotations__], 1)
            remedy = f"did you mean {near[0]}?" if near else f"help(umbel.{job.__name__}) lists all options"
            raise TypeError(f"{job.__name__}() has no option {name}; {remedy}")


def refuse(options: Mapping[str, Any]) -> None:
    """Refuses options that do not fit the record format, or each other."""
    records, header, null, raw = (options.get(name) for name in ("records", "header", "null", "raw"))
    columns, quotes, several = records in ("csv", "tsv"), options.get("quotes") != "none", len(options.get("delimiter") or ()) > 1
    by_key, tolerance = bool(options.get("key")), options.get("tolerance")
    columned = 'goes with records="csv" or "tsv"'
    for why, is_wrong in {
        'delimiter goes with records="csv"': bool(options.get("delimiter")) and records != "csv",
        f"header=False {columned}": header is False and not columns,
        'null=True goes with lines, or records="fields"': null and records not in (None, "fields"),
        "skip cannot be used with null; omit one of them": null and options.get("skip"),
        "comment cannot be used with null; omit one of them": null and options.get("comment"),
        'raw=True goes with records="csv" or "jsonl"': raw and records not in ("csv", "jsonl"),
        'quotes="none" goes with records="csv"': not quotes and records != "csv",
        'quotes="none" cannot be used with raw; omit one of them': not quotes and raw,
        'quotes="none": all inputs need the same delimiter; give one': not quotes and several,
        f"ragged {columned}": options.get("ragged") and not columns,
        f"ignore_columns {columned}": options.get("ignored") and not columns,
        "ignore_columns cannot be used with raw; omit one of them": options.get("ignored") and raw,
        "tolerance: give each column a number that is at least 0": any(not most >= 0 for _, most in tolerance or []),
        "cells and tolerance cannot be used with raw; omit one of them": (options.get("cells") or tolerance) and raw,
        'by_name=True needs column names: records="csv" or "tsv", with a header': options.get("by_name") and not (columns and header is not False),
        "all=True requires repeated or at_least: it keeps every row of their keys": (
            options.get("all") and "repeated" in options and not (options["repeated"] or options["at_least"])
        ),
        f"keep: {options.get('keep')} chooses among rows with the same key; name it with key": ":" in options.get("keep", "") and not by_key,
        "old pairs a changed row with the old row of the same key; name the fields with key": options.get("old") and not by_key,
        "cells are compared in rows of CSV, TSV or JSON lines with the same key; name the fields with key": (
            (options.get("cells") or tolerance) and not (by_key and records in ("csv", "tsv", "jsonl"))
        ),
    }.items():
        if is_wrong:
            raise ValueError(why)


def _run(
    verb: str, inputs: Sequence[Input], outs: dict[str, Path | None], given: Any, explain: bool = False,
    ignored: Sequence[str] = (), by_name: bool = False, **own: Any,
) -> Any:
    options = dict(given)
    _check(verb, options)
    inputs = list(inputs)
    of_all = verb in ("dedup", "diff") or any(own.get(name) for name in ("at_least", "which", "only"))
    schemas = _tables(inputs, options)
    _per_input(verb, options, inputs, of_all)
    for several in ("key", "normalize", "delimiter"):
        value = options.pop(several, None)
        options[several] = [value] if isinstance(value, str) else list(value or ())
    options.update(ignored=ignored, by_name=by_name)
    _alike(inputs, options)
    for out in outs.values():
        if out is not None and _named_form(out) == "parquet":
            raise ValueError(f"{fsdecode(out)}: results are written as text; leave it out, and write to_arrow() with pyarrow.parquet.write_table")
    refuse({**options, **own})
    with (
        _local(outs, options.get("tmp")) as local,
        _progress(verb, options.pop("progress", False)) as progress,
    ):
        result = _job(
            verb,
            inputs,
            own,
            [name for name, value in {**own, **outs}.items() if (value if isinstance(value, list) else value not in (None, False, "first"))],
            {**options, "progress": progress, "explain": explain},
            local,
        )
    if isinstance(result, Explanation):
        return result
    _log.info("%s: %s", verb, getattr(result, "report", result))
    return result if isinstance(result, Report) else Lines(result, verb, options, schemas)


@overload
def common(
    first: Input, *others: Input, out: None = None, all: bool = ..., at_least: int | None = ...,
    which: Which = ..., only: int | Sequence[int] | None = ..., sort: bool = ..., fpp: float | None = ...,
    **options: Unpack[Options],
) -> Lines: ...
@overload
def common(
    first: Input, *others: Input, out: Path, all: bool = ..., at_least: int | None = ...,
    which: Which = ..., only: int | Sequence[int] | None = ..., sort: bool = ..., fpp: float | None = ...,
    **options: Unpack[Options],
) -> Report: ...
@overload
def common(
    first: Input, *others: Input, explain: Literal[True], all: bool = ..., at_least: int | None = ...,
    which: Which = ..., only: int | Sequence[int] | None = ..., sort: bool = ..., fpp: float | None = ...,
    **options: Unpack[Options],
) -> Explanation: ...
@_documented
def common(
    first: Input,
    *others: Input,
    out: Path | None = None,
    all: bool = False,
    at_least: int | None = None,
    which: Which = False,
    only: int | Sequence[int] | None = None,
    sort: bool = False,
    fpp: float | None = None,
    explain: bool = False,
    **options: Unpack[Options],
) -> Lines | Report | Explanation:
    """The lines that all inputs have, once each, in the order of the first.

    `all` keeps every row of the first input whose key is in the others (a semi-join); `at_least` keeps lines that are in this many
    inputs; `which` puts the inputs that contain a line in front of it, as numbers from 1 or as ``"names"``; `only` keeps lines that
    are in exactly the inputs with these numbers. `sort` orders the result by the bytes of the keys; `fpp` reads
    every input once, with that chance of an error. With `out` the result is written to that file, whole or not at all, and a
    report is returned; otherwise the lines are. `explain` returns the plan, and writes nothing.

    >>> import umbel
    >>> list(umbel.common(["a", "b", "c"], ["c", "a"]))
    ['a', 'c']
    """
    if not others:
        raise ValueError("common compares two inputs or more; found one")
    numbers = [] if only is None else [index(number) for number in (only if hasattr(only, "__iter__") else [only])]
    if wrong := [number for number in numbers if not 1 <= number <= len(others) + 1]:
        raise ValueError(f"only: found {wrong[0]} for {len(others) + 1} inputs, which are numbered from 1")
    return _run(  # type: ignore[no-any-return]
        "common", (first, *others), {"out": out}, options, explain, all=all, at_least=at_least,
        which="numbers" if which is True else which or None, only=[number - 1 for number in numbers], sort=sort, fpp=fpp,
    )


@overload
def except_(
    first: Input, *others: Input, out: None = None, all: bool = ..., sort: bool = ..., fpp: float | None = ...,
    **options: Unpack[Options],
) -> Lines: ...
@overload
def except_(
    first: Input, *others: Input, out: Path, all: bool = ..., sort: bool = ..., fpp: float | None = ...,
    **options: Unpack[Options],
) -> Report: ...
@overload
def except_(
    first: Input, *others: Input, explain: Literal[True], all: bool = ..., sort: bool = ..., fpp: float | None = ...,
    **options: Unpack[Options],
) -> Explanation: ...
@_documented
def except_(
    first: Input,
    *others: Input,
    out: Path | None = None,
    all: bool = False,
    sort: bool = False,
    fpp: float | None = None,
    explain: bool = False,
    **options: Unpack[Options],
) -> Lines | Report | Explanation:
    """The lines of the first input that are in no other input, once each, in their order.

    `all` keeps every row of the first input whose key is not in the others (an anti-join). `out`, `sort`, `fpp` and
    `explain` as in `common`.

    >>> import umbel
    >>> list(umbel.except_(["a", "b", "c"], ["c", "a"]))
    ['b']
    """
    if not others:
        raise ValueError("except_ compares two inputs or more; found one")
    return _run("except", (first, *others), {"out": out}, options, explain, all=all, sort=sort, fpp=fpp)  # type: ignore[no-any-return]


@overload
def join(
    left: Input, right: Input, *, on: Key, out: None = None, how: How = ..., first: bool = ...,
    unique: bool = ..., left_prefix: str | None = ..., prefix: str | None = ..., **options: Unpack[Options],
) -> Lines: ...
@overload
def join(
    left: Input, right: Input, *, on: Key, out: Path, how: How = ..., first: bool = ...,
    unique: bool = ..., left_prefix: str | None = ..., prefix: str | None = ..., **options: Unpack[Options],
) -> Report: ...
@overload
def join(
    left: Input, right: Input, *, on: Key, explain: Literal[True], how: How = ..., first: bool = ...,
    unique: bool = ..., left_prefix: str | None = ..., prefix: str | None = ..., **options: Unpack[Options],
) -> Explanation: ...
@_documented
def join(
    left: Input,
    right: Input,
    *,
    on: Key,
    out: Path | None = None,
    how: How = "inner",
    first: bool = False,
    unique: bool = False,
    left_prefix: str | None = None,
    prefix: str | None = None,
    explain: bool = False,
    **options: Unpack[Options],
) -> Lines | Report | Explanation:
    """Each row of the left input with the other columns, members or words of its partners in the right one.

    `on` names the key columns, like `key` in the other jobs. If the names differ, give a mapping from the left names to the right
    ones. `records` sets the record format. `how="left"` keeps left rows without a partner, `"full"` also right ones. `first` joins
    a row with its first partner only; `unique` refuses several partners. `prefix` goes in front of the names of right columns that
    the left input has too; for JSON lines, in front of all right members except the key. `left_prefix` does the same for the left
    input. `out` and `explain` as in `common`.

    >>> import umbel
    >>> orders = ["order,customer", "1,ann", "2,bob"]
    >>> customers = ["id,city", "ann,Rome"]
    >>> list(umbel.join(orders, customers, on={"customer": "id"}, how="left", records="csv"))
    ['order,customer,city', '1,ann,Rome', '2,bob,']
    """
    if "key" in options:
        raise TypeError("join uses on instead of key")
    given = {**options, "key": on}
    return _run(  # type: ignore[no-any-return]
        "join", (left, right), {"out": out}, given, explain, how=how, first=first, unique=unique,
        left_prefix=left_prefix, prefix=prefix,
    )


@overload
def dedup(
    first: Input, *others: Input, out: None = None, repeated: bool = ..., unique: bool = ..., at_least: int | None = ...,
    all: bool = ..., keep: str = ..., line_number: bool = ..., count: bool = ..., by_count: bool = ..., top: int | None = ...,
    by_name: bool = ..., sort: bool = ..., fpp: float | None = ..., **options: Unpack[Options],
) -> Lines: ...
@overload
def dedup(
    first: Input, *others: Input, out: Path, repeated: bool = ..., unique: bool = ..., at_least: int | None = ...,
    all: bool = ..., keep: str = ..., line_number: bool = ..., count: bool = ..., by_count: bool = ..., top: int | None = ...,
    by_name: bool = ..., sort: bool = ..., fpp: float | None = ..., **options: Unpack[Options],
) -> Report: ...
@overload
def dedup(
    first: Input, *others: Input, explain: Literal[True], repeated: bool = ..., unique: bool = ..., at_least: int | None = ...,
    all: bool = ..., keep: str = ..., line_number: bool = ..., count: bool = ..., by_count: bool = ..., top: int | None = ...,
    by_name: bool = ..., sort: bool = ..., fpp: float | None = ..., **options: Unpack[Options],
) -> Explanation: ...
@_documented
def dedup(
    first: Input,
    *others: Input,
    out: Path | None = None,
    repeated: bool = False,
    unique: bool = False,
    at_least: int | None = None,
    all: bool = False,
    keep: str = "first",
    line_number: bool = False,
    count: bool = False,
    by_count: bool = False,
    top: int | None = None,
    by_name: bool = False,
    sort: bool = False,
    fpp: float | None = None,
    explain: bool = False,
    **options: Unpack[Options],
) -> Lines | Report | Explanation:
    """Each different line of all inputs, once, in the order in which they first occur.

    `repeated` keeps lines that occur more than once, `unique` those that occur exactly once, `at_least` those that occur this often
    or more; with `repeated` or `at_least`, `all` keeps every row of such a key. `keep` chooses the row to keep per key:
    ``"first"``, ``"last"``, or ``"min:FIELD"`` or ``"max:FIELD"`` for the least or greatest value (numbers by value, anything else
    by its bytes; the first row if several are equal). `count` puts the number of occurrences in front. `line_number` puts the line
    number in front; with several inputs, the input's name too. `by_count` and `top` list the most frequent first. `by_name` matches
    the columns of CSV, TSV or tables by name: every row gets the columns of all inputs, empty where its own input has none. `out`,
    `sort`, `fpp` and `explain` as in `common`.

    >>> import umbel
    >>> list(umbel.dedup(["b", "a", "b"], ["c", "a"]))
    ['b', 'a', 'c']
    """
    for name, number in {"at_least": at_least, "top": top}.items():
        if number is not None and number < 1:
            raise ValueError(f"{name}: expected a whole number of at least 1, found {number}")
    return _run(  # type: ignore[no-any-return]
        "dedup", (first, *others), {"out": out}, options, explain,
        by_name=by_name, repeated=repeated, unique=unique, at_least=at_least, all=all, keep=keep, line_number=line_number, count=count, 
        by_count=by_count, top=top, sort=sort, fpp=fpp,
    )


@overload
def diff(
    before: Input, after: Input, /, *, out: None = None, added: None = None, changed: None = None, removed: None = None,
    kept: None = None, ignore_columns: str | Sequence[str] = ..., old: bool = ..., symmetric: bool = ..., counts: bool = ..., cells: bool = ...,
    mark_column: bool = ..., tolerance: Mapping[str, float] | None = ..., **options: Unpack[Options],
) -> Lines: ...
@overload
def diff(
    before: Input, after: Input, /, *, out: Path | None = None, added: Path | None = None, changed: Path | None = None,
    removed: Path | None = None, kept: Path | None = None, ignore_columns: str | Sequence[str] = ..., old: bool = ...,
    symmetric: bool = ..., counts: bool = ..., cells: bool = ..., mark_column: bool = ..., tolerance: Mapping[str, float] | None = ...,
    **options: Unpack[Options],
) -> Lines | Report: ...
@_documented
def diff(
    before: Input,
    after: Input,
    /,
    *,
    out: Path | None = None,
    added: Path | None = None,
    changed: Path | None = None,
    removed: Path | None = None,
    kept: Path | None = None,
    ignore_columns: str | Sequence[str] = (),
    old: bool = False,
    symmetric: bool = False,
    counts: bool = False,
    cells: bool = False,
    mark_column: bool = False,
    tolerance: Mapping[str, float] | None = None,
    **options: Unpack[Options],
) -> Lines | Report:
    """The lines that only one of two inputs has: `-` in front of those removed, `+` of those added.

    With `records` and `key`, rows whose key is in both but whose other fields changed are marked `~` and shown as they are after;
    `old` puts the earlier row in front, marked `<`. `added`, `changed`, `removed` and `kept` write rows without marks to one file
    each instead, and a report is returned; without `changed`, the new versions of changed rows go to `added` and the old ones to
    `removed`. Rows of CSV or TSV that differ only in `ignore_columns`, which one input may lack, count as equal. `report.changes` has the numbers.
    `report.uneven` counts rows that both inputs have but one has more often; `counts` also prints these, with how many more or
    fewer the second input has: `+2` or `-1`. `symmetric` gives the rows without marks, `cells` the changed cells instead of rows
    (the key, the column, the value before and after), `mark_column` the mark as a first column named ``change``. Numbers of a
    column in `tolerance` are equal if they differ by at most this much: ``{"price": 0.01}``.

    >>> import umbel
    >>> list(umbel.diff(["a", "b"], ["b", "c"]))
    ['- a', '+ c']
    """
    separate = {"added": added, "changed": changed, "removed": removed, "kept": kept}
    if out is not None and any(separate.values()):
        raise ValueError("out is for all changes; omit it with added, changed, removed and kept")
    ignored = [ignore_columns] if isinstance(ignore_columns, str) else list(ignore_columns)
    return _run("diff", (before, after), {"out": out, **separate}, options, ignored=ignored,  # type: ignore[no-any-return]
                old=old, symmetric=symmetric, counts=counts, cells=cells, mark_column=mark_column, tolerance=list((tolerance or {}).items()))
