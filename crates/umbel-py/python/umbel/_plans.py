"""Which filter to choose for a goal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ._reports import draw_rates, figure_of_rates
from ._umbel import _plan


@dataclass(frozen=True, repr=False)
class Choice:
    """A kind of filter for a goal, as `plan` ranks them.

    `fits` is whether it fits the goal; `obstacles` are the reasons if it does not. `fpp` is the predicted false positive rate,
    `keys` the planned number of keys; `bits_per_key` and `probes` are per key. All are None when there is no plan. `nbytes` is the
    size in memory, `ship` the size of the file to send, in bytes. `cost` is the expected time per lookup with the filter in front,
    in nanoseconds, if the goal includes the cost of lookups.
    """

    kind: str
    fits: bool
    obstacles: list[str]
    fpp: float | None
    keys: int | None
    bits_per_key: float | None
    probes: int | None
    nbytes: int
    ship: int
    cost: float | None
    _parameters: Any = field(default=None, compare=False)

    def predicted_fpp(self, keys: float) -> float | None:
        """The false positive rate with this many keys, which may exceed the plan; None when there is no plan."""
        return None if self._parameters is None else float(self._parameters.predicted_fpp(keys))

    def __repr__(self) -> str:
        if not self.fits or self.bits_per_key is None:
            return f"<Choice: not {self.kind}: {'; '.join(self.obstacles)}>"
        return f"<Choice: {self.kind}, {self.bits_per_key:.2f} bits per key, fpp {self.fpp:.3e}, {self.nbytes} bytes>"


@dataclass(frozen=True)
class Plan:
    """The kinds of filters for a goal, the best first.

    `verdict` is the kind to choose, ``"no filter"`` when a filter would not pay, or ``"nothing"`` when no kind fits.
    """

    verdict: str
    choices: list[Choice]

    @property
    def best(self) -> Choice | None:
        """The kind to choose; None when there is none."""
        first = self.choices[0] if self.choices else None
        return first if first is not None and first.kind == self.verdict else None

    def __str__(self) -> str:
        lines = [f"choose {self.verdict}" if self.best else self.verdict]
        for choice in self.choices:
            if choice.fits and choice.bits_per_key is not None:
                what = f"{choice.bits_per_key:8.2f} bits per key, fpp {choice.fpp:.3g}, {choice.nbytes:,} bytes"
            else:
                what = f"         {'; '.join(choice.obstacles)}"
            lines.append(f"  {choice.kind:<10} {what}")
        return "\n".join(lines)

    def plot(self) -> Any:
        """A matplotlib figure: the false positive rate of the kinds that fit, by how many keys they hold."""
        figure, axes = figure_of_rates()
        for choice in self.choices:
            if choice.fits and choice.keys is not None:
                draw_rates(axes, choice.keys, choice.predicted_fpp, choice.kind)
        axes.legend()
        return figure


def plan(
    keys: float | None = None,
    fpp: float | None = None,
    *,
    memory: int | str | None = None,
    ship: int | str | None = None,
    deletes: bool = False,
    grows: bool = False,
    known: bool = False,
    ages: bool = False,
    excluded: int = 0,
    lookup: float | None = None,
    false_answer: float | None = None,
    absent: float = 0.5,
) -> Plan:
    """Ranks the kinds of filters for a goal, like ``umbel filter plan``.

    Two of `keys`, `fpp` and a size suffice: `memory` is the most bytes in memory, `ship` the most bytes of a file that is sent.
    `deletes`, `grows`, `known` (all keys are known beforehand), `ages` (only the last keys matter) and `excluded` (this many known
    keys must not pass) describe the use of the filter. `lookup` is the cost of a lookup that the filter can save, in seconds,
    `false_answer` the cost of a false answer, and `absent` the share of lookups whose key is absent.

    >>> import umbel
    >>> umbel.plan(1e8, 0.01, deletes=True).verdict
    'counting'
    """
    verdict, choices = _plan({
        "keys": keys, "fpp": fpp, "memory": memory, "ship": ship, "deletes": deletes, "grows": grows, "known": known, "ages": ages,
        "excluded": excluded, "lookup": lookup, "false_answer": false_answer, "absent": absent,
    })
    return Plan(verdict, [Choice(**choice) for choice in choices])
