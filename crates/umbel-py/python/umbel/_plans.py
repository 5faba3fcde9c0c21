"""Which filter to choose for a goal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._umbel import Choice, _plan


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

    def figure(self) -> Any:
        """A matplotlib figure: the false positive rate of the kinds that fit, by how many keys they hold."""
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError("figures need matplotlib; pip install 'umbel[plot]'") from None
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        axes = figure.subplots()
        for choice in self.choices:
            if not choice.fits or choice.keys is None:
                continue
            counts = [max(1, choice.keys * step // 20) for step in range(1, 41)]
            rates = [choice.predicted_fpp(count) or 0.0 for count in counts]
            axes.plot(counts, rates, label=choice.kind)
        axes.set(xlabel="keys", ylabel="false positive rate", yscale="log")
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
    """Ranks the kinds of filters for a goal, as ``umbel plan`` does.

    Two of `keys`, `fpp` and a size suffice: `memory` is the most bytes in memory, `ship` the most bytes of a file that is sent.
    `deletes`, `grows`, `known` (all keys are known beforehand), `ages` (only the last keys matter) and `excluded` (so many
    known keys must not pass) say what the filter is for. `lookup` is what a lookup costs that the filter can spare, in
    seconds, `false_answer` what a false answer costs, and `absent` the share of lookups whose key is absent.

    >>> import umbel
    >>> umbel.plan(1e8, 0.01, deletes=True).verdict
    'counting'
    """
    verdict, choices = _plan(
        keys,
        fpp,
        memory=memory,
        ship=ship,
        deletes=deletes,
        grows=grows,
        known=known,
        ages=ages,
        excluded=excluded,
        lookup=lookup,
        false_answer=false_answer,
        absent=absent,
    )
    return Plan(verdict, choices)
