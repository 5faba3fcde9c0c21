from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Self, SupportsIndex, TypeAlias, TypeVar, final, overload

from typing_extensions import disjoint_base

from ._reports import Comparison, Receipt, Report

# A key: its UTF-8, its bytes, or 8 little-endian bytes.
_Key: TypeAlias = str | bytes | bytearray | memoryview | SupportsIndex

# A list or another iterable of keys, a NumPy array, a pandas or Polars series, an Arrow array or chunked array.
_Keys: TypeAlias = Any

# A boolean column of the library that the keys came in; a list for Python values.
_Answers: TypeAlias = Any

_Size: TypeAlias = int | str
_Interval: TypeAlias = tuple[float, float, float]
_Path: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]
_Bytes: TypeAlias = bytes | bytearray | memoryview

__all__ = [
    "Attributes",
    "Bloom",
    "Bloomier",
    "Cascade",
    "Coded",
    "Counting",
    "FORMATS",
    "Filter",
    "Foreign",
    "Lines",
    "Map",
    "Mask",
    "OverfilledWarning",
    "Parts",
    "Scalable",
    "SharedFile",
    "Stable",
    "Window",
    "_Parameters",
    "__version__",
    "_filters",
    "_find",
    "_index",
    "_is_compressed",
    "_job",
    "_may_hold",
    "_parquet",
    "_plan",
    "_unpickled",
    "compare",
    "from_bytes",
    "open",
    "update",
]

_T = TypeVar("_T")
_K = TypeVar("_K", bound=_Key)

FORMATS: list[str]
__version__: str

class OverfilledWarning(UserWarning): ...

@disjoint_base
class Filter:
    @property
    def kind(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def description(self) -> list[tuple[str, str]]: ...
    def describe(self, entries: Sequence[tuple[str, str]]) -> None: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __or__(self, other: Filter, /) -> Self: ...
    def __ror__(self, other: Filter, /) -> Self: ...
    def __and__(self, other: Filter, /) -> Self: ...
    def __rand__(self, other: Filter, /) -> Self: ...
    def __ior__(self, other: Filter, /) -> Self: ...
    def __iand__(self, other: Filter, /) -> Self: ...
    def __le__(self, other: Filter, /) -> bool: ...
    def __lt__(self, other: Filter, /) -> bool: ...
    def __ge__(self, other: Filter, /) -> bool: ...
    def __gt__(self, other: Filter, /) -> bool: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any) -> Self: ...
    def _repr_html_(self) -> str: ...
    def add(self, key: _Key) -> bool: ...
    def add_many(self, keys: _Keys, *, threads: int | None = None) -> None: ...
    def add_new(self, keys: _Keys) -> _Answers: ...
    def update(self, *others: _Keys) -> None: ...
    def intersection_update(self, *others: _Keys) -> None: ...
    def union(self, *others: _Keys) -> Self: ...
    def intersection(self, *others: _Keys) -> Self: ...
    def issubset(self, other: _Keys) -> bool: ...
    def issuperset(self, other: _Keys) -> bool: ...
    def isdisjoint(self, other: _Keys) -> bool: ...
    def contains_many(self, keys: _Keys, *, threads: int | None = None) -> _Answers: ...
    def contains_rows(self, rows: Any, columns: str | Sequence[str] = ...) -> _Answers: ...
    def add_rows(self, rows: Any, columns: str | Sequence[str] = ...) -> _Answers: ...
    def shrink_to(self, keys: int = 0) -> None: ...
    def clear(self) -> None: ...
    def copy(self) -> Self: ...
    def receipt(self) -> Receipt: ...
    def to_bytes(self, *, packed: bool = False) -> bytes: ...
    def delta(self, new: Filter) -> bytes: ...
    def patched(
        self,
        delta: _Bytes,
        *,
        secret: _Bytes | None = None,
        trust: _Path | None = None,
        list: str | None = None,
        newer_than: int | None = None,
        memory: int | str | None = None,
    ) -> Any: ...
    def save(self, path: _Path, *, packed: bool = False) -> None: ...

class Bloom(Filter):
    def __new__(
        cls,
        keys: float | None = None,
        fpp: float | None = None,
        *,
        kind: str = "blocked",
        memory: _Size | None = None,
        seed: int = 0,
        secret: _Bytes | None = None,
    ) -> Self: ...
    # Also of a class that extends this one: only copy.copy() and pickling keep it.
    def __or__(self, other: Filter, /) -> Bloom: ...
    def __ror__(self, other: Filter, /) -> Bloom: ...
    def __and__(self, other: Filter, /) -> Bloom: ...
    def __rand__(self, other: Filter, /) -> Bloom: ...
    def union(self, *others: _Keys) -> Bloom: ...
    def intersection(self, *others: _Keys) -> Bloom: ...
    def copy(self) -> Bloom: ...

@final
class Counting(Filter):
    def __new__(
        cls,
        keys: float | None = None,
        fpp: float | None = None,
        *,
        bits: int = 4,
        memory: _Size | None = None,
        seed: int = 0,
        secret: _Bytes | None = None,
    ) -> Self: ...
    def remove(self, key: _Key) -> bool: ...
    def remove_many(self, keys: _Keys) -> _Answers: ...
    def count(self, key: _Key) -> int: ...
    def to_bloom(self) -> Bloom: ...

@final
class Scalable(Filter):
    def __new__(
        cls,
        keys: float | None = None,
        fpp: float | None = None,
        *,
        even: bool = False,
        memory: _Size | None = None,
        seed: int = 0,
        secret: _Bytes | None = None,
    ) -> Self: ...
    def set_limit(self, memory: _Size) -> None: ...

@final
class Window(Filter):
    def __new__(
        cls,
        keys: float | None = None,
        fpp: float | None = None,
        *,
        generations: int = 4,
        span: int | None = None,
        memory: _Size | None = None,
        seed: int = 0,
        secret: _Bytes | None = None,
    ) -> Self: ...
    @property
    def span(self) -> int | None: ...
    def add_at(self, key: _Key, tick: int) -> bool: ...
    def add_new_at(self, keys: _Keys, ticks: Any) -> _Answers: ...
    def advance(self, tick: int) -> None: ...

@final
class Stable(Filter):
    def __new__(
        cls,
        keys: float | None = None,
        fpp: float | None = None,
        *,
        cell_bits: int = 4,
        memory: _Size | None = None,
        seed: int = 0,
        secret: _Bytes | None = None,
    ) -> Self: ...

@final
class Coded(Filter):
    def __new__(
        cls,
        keys: float | None = None,
        fpp: float | None = None,
        *,
        bits: int | None = None,
        memory: _Size | None = None,
        seed: int = 0,
        secret: _Bytes | None = None,
    ) -> Self: ...

@final
class Bloomier(Filter):
    def __new__(
        cls, keys: _Keys, fpp: float = 0.01, *, seed: int = 0, secret: _Bytes | None = None
    ) -> Self: ...

@final
class Map(Filter):
    def __new__(
        cls,
        items: Mapping[Any, int] | Iterable[tuple[_Key, int]],
        fpp: float = 0.0001,
        *,
        seed: int = 0,
        secret: _Bytes | None = None,
    ) -> Self: ...
    # It does not keep its keys.
    __iter__: None
    __reversed__: None
    def __getitem__(self, key: _Key, /) -> int: ...
    @overload
    def get(self, key: _Key) -> int | None: ...
    @overload
    def get(self, key: _Key, default: _T) -> int | _T: ...
    def get_many(self, keys: _Keys, default: int | None = None) -> Any: ...

@final
class Attributes(Filter):
    def __new__(
        cls,
        names: str | Sequence[str],
        keys: float | None = None,
        fpp: float | None = None,
        *,
        tags: str = "row",
        classic: bool = False,
        memory: _Size | None = None,
        seed: int = 0,
        secret: _Bytes | None = None,
    ) -> Self: ...
    @property
    def names(self) -> list[str]: ...
    def add_row(self, *values: _Key) -> bool: ...
    def contains_row(self, **values: _Key) -> bool: ...

@final
class Cascade(Filter):
    def __new__(
        cls,
        included: _Keys,
        excluded: _Keys,
        fpp: float = 0.01,
        *,
        exact_list: bool = False,
        seed: int = 0,
        secret: _Bytes | None = None,
    ) -> Self: ...

@final
class Foreign(Filter):
    def __new__(
        cls,
        format: str,
        keys: float | None = None,
        fpp: float | None = None,
        *,
        key_type: str | None = None,
        bits: int | None = None,
        bits_per_key: float | None = None,
        probes: int | None = None,
        seed: int | None = None,
        growth: int | None = None,
        bucket_size: int | None = None,
        max_iterations: int | None = None,
        salts: Sequence[bytes] = ...,
        options: str | Sequence[str] = ...,
    ) -> Self: ...
    def finish(self) -> None: ...

@final
class Parts:
    def __new__(cls, parts: int, *, seed: int = 0, secret: _Bytes | None = None) -> Self: ...
    def __len__(self) -> int: ...
    def part(self, key: _Key) -> int: ...
    def split(self, keys: Iterable[_K]) -> list[list[_K]]: ...
    def share(self, keys: int) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[int], dict[str, int]]: ...

@final
class _Parameters:
    def __new__(cls, variant: str, keys: int, fpp: float, bits: int, probes: int) -> Self: ...
    def __getnewargs__(self) -> tuple[str, int, float, int, int]: ...
    def predicted_fpp(self, keys: float) -> float: ...

@final
class Mask:
    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

@final
class SharedFile:
    def __contains__(self, key: object, /) -> bool: ...
    def contains_many(self, keys: _Keys, *, threads: int | None = None) -> _Answers: ...
    def add(self, key: _Key) -> bool: ...
    def add_new(self, keys: _Keys) -> _Answers: ...
    def update(self, *others: _Keys) -> None: ...
    def snapshot(self) -> Any: ...
    def sync(self) -> None: ...
    def close(self) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...

def open(
    path: _Path,
    *,
    mmap: bool = False,
    shared: bool = False,
    secret: _Bytes | None = None,
    format: str | None = None,
    key_type: str | None = None,
    trust: _Path | None = None,
    list: str | None = None,
    newer_than: int | None = None,
    memory: int | str | None = None,
) -> Any: ...
@final
class update:
    def __new__(
        cls,
        path: _Path,
        *,
        secret: _Bytes | None = None,
        format: str | None = None,
        key_type: str | None = None,
    ) -> Self: ...
    def __enter__(self) -> Any: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
def from_bytes(
    data: _Bytes,
    format: str | None = None,
    key_type: str | None = None,
    *,
    secret: _Bytes | None = None,
    trust: _Path | None = None,
    list: str | None = None,
    newer_than: int | None = None,
    memory: int | str | None = None,
) -> Any: ...
@final
class Lines:
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def _read(self, offset: int, size: int) -> bytes: ...
    @property
    def report(self) -> Report: ...

def _is_compressed(name: _Path) -> bool: ...
def _job(
    verb: str,
    inputs: Sequence[Any],
    own: dict[str, Any],
    given: Sequence[str],
    options: dict[str, Any],
    outs: dict[str, Any],
) -> Any: ...
def _index(
    target: _Path, paths: list[Any] | None, options: dict[str, Any]
) -> tuple[tuple[int, int, int, int, int, int, int, int], list[tuple[_Path, str]]]: ...
def _find(
    place: _Path,
    texts: list[bytes],
    *,
    inside: bool = False,
    ignore_case: bool = False,
    memory: _Size | None = None,
    threads: int | None = None,
) -> tuple[
    list[tuple[_Path, int, bytes, list[int]]],
    tuple[int, int, int, int, int],
    list[_Path],
    list[_Path],
    list[tuple[int, str]],
    list[tuple[_Path, str]],
]: ...
def _may_hold(
    files: Sequence[_Path],
    column: str,
    keys: Sequence[bytes],
    memory: _Size | None = None,
) -> tuple[list[list[tuple[int, list[int]]]], list[str]]: ...
def _filters(path: _Path, column: str, memory: _Size | None) -> list[tuple[int, str, bytes]]: ...
def _parquet(path: _Path, out: _Path | None, given: dict[str, Any]) -> tuple[
    list[tuple[str, list[tuple[int, int, float, float]], list[tuple[str, list[int]]]]],
    list[tuple[str, int]],
    int,
    int,
    int,
]: ...
def compare(left: Filter, right: Filter) -> Comparison: ...
def _plan(given: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]: ...
def _unpickled(cls: type[Filter], data: _Bytes, format: str | None, key_type: str | None) -> Filter: ...

