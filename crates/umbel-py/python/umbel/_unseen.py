"""Keys that no earlier run has seen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import mkdtemp
from typing import Any

from ._files import Path, dedup
from ._umbel import Scalable, update


def _make(path: Path, keys: float, fpp: float) -> None:
    """Makes an empty filter, unless there is one, or another process is first."""
    if os.path.exists(path):
        return
    folder = mkdtemp(prefix="umbel-", dir=os.path.dirname(os.fsdecode(path)) or None)
    new = os.path.join(folder, "new")
    try:
        Scalable(keys, fpp).save(new)
        os.link(new, path)
    except FileExistsError:
        pass
    finally:
        if os.path.exists(new):
            os.unlink(new)
        os.rmdir(folder)


@contextmanager
def unseen(path: Path, keys: Any, *, expected: float = 1_000_000, fpp: float = 1e-4) -> Iterator[Any]:
    """The keys that no earlier block with the filter at `path` had, once each, in their order, as `umbel unseen` prints lines.

    `keys` are as in `Filter.add_new`, or the path of a file of lines. A column yields a column of the same kind, anything else
    a list. The keys are recorded when the block ends. After an exception, or if the process is killed, the next block sees
    them as new again. Other processes that use the same file wait.

    A filter that does not exist yet is made for `expected` keys, and grows beyond them. A new key is taken for one seen
    before at the rate `fpp`, which an existing filter has already. The file is one of `umbel.open` and of `umbel unseen`.

    >>> import umbel
    >>> with umbel.unseen("pages.umbel", ["/a", "/b", "/a"]) as new:
    ...     new
    ['/a', '/b']
    >>> with umbel.unseen("pages.umbel", ["/b", "/c"]) as new:
    ...     new
    ['/c']
    """
    if isinstance(keys, (str, bytes, os.PathLike)):
        keys = list(dedup(keys))
    _make(path, expected, fpp)
    with update(path) as seen:
        is_column = hasattr(keys, "__arrow_c_array__") or hasattr(keys, "__arrow_c_stream__") or hasattr(keys, "dtype")
        keys = keys if is_column else list(keys)
        new = seen.add_new(keys)
        if not is_column:
            yield [key for key, is_new in zip(keys, new) if is_new]
        elif hasattr(keys, "filter") and not hasattr(keys, "iloc"):
            yield keys.filter(new)
        else:
            yield keys[new]
