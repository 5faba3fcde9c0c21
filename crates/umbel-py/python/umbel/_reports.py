"""What filters and jobs report. The functions that report make these; they are values, to be compared and pickled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Interval: TypeAlias = tuple[float, float, float]


def figure_of_rates() -> tuple[Any, Any]:
    """A figure of matplotlib, which need not have a display, and its axes."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plot() needs matplotlib; pip install 'umbel[plot]'") from None
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel="keys", ylabel="false positive rate", yscale="log")
    return figure, axes


def draw_rates(axes: Any, keys: int, rate: Callable[[float], float | None], label: str) -> None:
    """Draws the rate up to twice this many keys."""
    counts = [max(1, keys * step // 20) for step in range(1, 41)]
    axes.plot(counts, [rate(count) or 0.0 for count in counts], label=label)


@dataclass(frozen=True, repr=False)
class Receipt:
    """A filter's actual performance, computed from its bits.

    `kind` is its kind, or the format of another system's filter. `keys` is the estimated number of distinct keys; `keys_low` and
    `keys_high` bound its 95 % interval. `fpp` is the current chance that a key never added passes. `planned_keys`, `planned_fpp`
    and `room` (about how many more keys the plan allows) are None when the file does not record them. `over_filled` is True if the
    filter certainly holds more keys than planned. `bits` counts the bits of all its parts, `set_bits` the set ones, or cells in
    use; `fill` is their share; `nbytes` is the size of the bits in bytes. `scheme` is how it hashes keys. `facts` has what only
    filters of its kind report, by name.
    """

    kind: str
    keys: float
    keys_low: float
    keys_high: float
    fpp: float
    planned_keys: int | None
    planned_fpp: float | None
    bits: int
    set_bits: int
    fill: float
    nbytes: int
    room: int | None
    over_filled: bool
    scheme: str
    facts: dict[str, int | float | str]
    _parameters: Any = field(default=None, compare=False)

    def predicted_fpp(self, keys: float) -> float | None:
        """The false positive rate with this many keys, which may exceed the plan; None if the file does not record its plan."""
        return None if self._parameters is None else float(self._parameters.predicted_fpp(keys))

    def plot(self) -> Any:
        """A matplotlib figure: the false positive rate by the number of keys, as planned, and where the filter is now."""
        figure, axes = figure_of_rates()
        if self.planned_keys is not None:
            draw_rates(axes, self.planned_keys, self.predicted_fpp, "predicted")
            axes.axvline(self.planned_keys, linestyle="--", label="planned")
        axes.plot([self.keys], [self.fpp], "o", label="now")
        axes.set_title(self.kind)
        axes.legend()
        return figure

    def __str__(self) -> str:
        planned = "" if self.planned_keys is None else f" of {self.planned_keys}"
        rate = "" if self.planned_fpp is None else f" (planned {self.planned_fpp:g})"
        return f"{self.kind}, about {self.keys:.0f} keys{planned}, fpp {self.fpp:.3e}{rate}, {self.nbytes} bytes"

    def __repr__(self) -> str:
        return f"<Receipt: {self}>"

    def _repr_html_(self) -> str:
        planned = "" if self.planned_keys is None else f" of {self.planned_keys:,}"
        rate = "" if self.planned_fpp is None else f", planned {self.planned_fpp:g}"
        rows = {
            "kind": self.kind,
            "keys": f"about {self.keys:,.0f}{planned} (95 %: {self.keys_low:,.0f} to {self.keys_high:,.0f})",
            "false positive rate": f"{self.fpp:.3g}{rate}" + (" <b>over-filled</b>" if self.over_filled else ""),
            "fill": f"{self.fill:.1%} of {self.bits:,} bits",
            "size": f"{self.nbytes:,} bytes",
        }
        cells = (f"<tr><th style='text-align: left'>{name}</th><td>{text}</td></tr>" for name, text in rows.items())
        return f"<table>{''.join(cells)}</table>"


@dataclass(frozen=True, repr=False)
class Comparison:
    """What two filters tell about the sets in them; estimates are tuples of a value and the ends of its 95 % interval.

    `left` and `right` are the keys of the two sets, `union` those in either, `intersection` those in both, `jaccard` the one over the
    other, and `left_in_right` and `right_in_left` the share of one set that is in the other: None when the filters are too full to
    tell.
    """

    left: Interval
    right: Interval
    union: Interval | None
    intersection: Interval | None
    jaccard: Interval | None
    left_in_right: Interval | None
    right_in_left: Interval | None

    def __repr__(self) -> str:
        both = "unknown" if self.intersection is None else f"{self.intersection[0]:.0f}"
        return f"<Comparison: about {self.left[0]:.0f} and {self.right[0]:.0f} keys, {both} in both>"


@dataclass(frozen=True, repr=False)
class Report:
    """What a job did.

    `lines` counts the lines or records of all inputs, `found` those in the result. `missing` counts records left out because they
    lack a field of the key, `bad` those that cannot be read, `empty` those with an empty value in their key, where that is not a
    value like any other. `bytes_read` counts all passes, `bytes_spilled` what was written to temporary files, `bytes_written` the
    result. The answer is `exact`, unless `fpp` was given. `changes` has the numbers of rows that `diff` found removed, added,
    changed and kept; `uneven` counts the kept rows that one input has more often. `joined` has the numbers of pairs that `join`
    made, of left rows with a partner and without, and of right rows without; the last is None unless they are printed. After any
    other job these three are None.
    """

    lines: int
    found: int
    missing: int
    bad: int
    empty: int
    bytes_read: int
    bytes_spilled: int
    bytes_written: int
    exact: bool
    changes: tuple[int, int, int, int] | None
    uneven: int | None
    joined: tuple[int, int, int, int | None] | None
    seconds: float

    @classmethod
    def _of(
        cls, counts: tuple[int, int, int, int, int], nbytes: tuple[int, int, int], exact: bool, changes: Any, joined: Any, seconds: float
    ) -> Report:
        return cls(*counts, *nbytes, exact, changes and changes[:4], changes and changes[4], joined, seconds)

    def __str__(self) -> str:
        exact = "" if self.exact else ", not exact"
        return f"{self.lines} lines, {self.found} found, {self.seconds:.3f} s{exact}"

    def __repr__(self) -> str:
        return f"<Report: {self}>"


@dataclass(frozen=True)
class Explanation:
    """What a job would do: its plan, from samples of the inputs.

    `strategy` is "merge" (inputs that seem to be sorted are compared side by side), "one-pass" (filters alone decide), "filter" (a
    first pass selects the lines to compare), "side-by-side" (a diff forgets rows that come next in both files, and
    compares the others) or "table" (every line is compared). `lines` has the estimated lines of each input,
    `distinct` the number of different lines that may be in the result, `compared` the number of lines compared byte by byte, and
    `pairs` the rows of a join. `filter` is the size of the filter and `table` of the lines kept in memory, in bytes; `bytes_read`
    counts all `passes`, and `bytes_spilled` what goes to temporary files. None if there is none, or if no sample was read.
    """

    strategy: str
    exact: bool
    lines: tuple[int, ...]
    distinct: int | None
    compared: int
    pairs: int | None
    filter: int | None
    table: int
    bytes_read: int
    bytes_spilled: int
    passes: int

    @classmethod
    def _of(cls, strategy: str, keys: tuple[Any, ...], numbers: tuple[Any, ...]) -> Explanation:
        lines, *others = keys
        return cls(strategy, strategy != "one-pass", tuple(lines), *others, *numbers)
