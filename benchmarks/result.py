"""One row of the table: what was measured, against what, and whether that meets its target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Quantity = Literal["value", "ratio", "added"]


@dataclass(frozen=True)
class Target:
    """The most that one of a row's numbers may be.

    Attributes:
        quantity: ``value`` is tinyburn's own number, ``ratio`` that number over the other one, and ``added`` the
            difference of the two.
        at_most: in the row's unit, or a plain number for a ratio.
    """

    quantity: Quantity
    at_most: float


@dataclass(frozen=True)
class Row:
    """Two contenders at one task, or one contender and its target.

    Attributes:
        benchmark, case: what was done.
        other: the name of what tinyburn is compared with; empty for nothing.
        unit: of the next three: ``us`` (microseconds), ``ms``, ``s``, ``B`` or ``calls``.
        mine, theirs: one number for each: the median where there were rounds.
        added: how much more tinyburn's is: the median of the differences where there were rounds.
        ratio: tinyburn's over the other's: the median over the rounds.
        spread: the range of the ratio: the quartiles over the rounds of a race, or the lowest and the highest of
            several races; None where nothing was timed side by side.
        targets: empty where the project has set none.
    """

    benchmark: str
    case: str
    other: str
    unit: str
    mine: float
    theirs: float | None = None
    added: float | None = None
    ratio: float | None = None
    spread: tuple[float, float] | None = None
    targets: tuple[Target, ...] = ()

    @property
    def verdict(self) -> str:
        """``pass`` or ``fail`` for each target in turn, or ``no target``."""
        return ", ".join(self._verdict(target) for target in self.targets) or "no target"

    def _verdict(self, target: Target) -> str:
        measured = {"value": self.mine, "ratio": self.ratio, "added": self.added}[target.quantity]
        if measured is None:
            raise ValueError(f"{self.benchmark}, {self.case}: a target for the {target.quantity}, and there is none")
        return "pass" if measured <= target.at_most else "fail"

    def cells(self) -> list[str]:
        """The row as text, one entry for each of `HEADER`."""
        spread = "" if self.spread is None else f"{self.spread[0]:.2f} to {self.spread[1]:.2f}"
        return [
            self.benchmark,
            self.case,
            self._amount(self.mine),
            self.other,
            self._amount(self.theirs),
            "" if self.ratio is None else f"{self.ratio:.2f}",
            "exact" if self.unit in EXACT else spread,
            self._amount(self.added),
            "; ".join(self._target_text(target) for target in self.targets),
            self.verdict,
        ]

    def _amount(self, number: float | None) -> str:
        if number is None:
            return ""
        return f"{number:,.0f} {self.unit}".replace(",", " ") if self.unit in EXACT else f"{number:.2f} {self.unit}"

    def _target_text(self, target: Target) -> str:
        limit = f"{target.at_most:.2f}" if target.quantity == "ratio" else self._amount(target.at_most)
        return f"{target.quantity} at most {limit}"


EXACT = ("B", "calls")
"""Units of what is counted, and the same in every run."""

HEADER = ("benchmark", "case", "tinyburn", "against", "theirs", "ratio", "range", "added", "target", "verdict")


def exact_row(benchmark: str, case: str, mine: int, other: str, theirs: int, *targets: Target, unit: str = "B") -> Row:
    """A row of two counts, which are the same in every run."""
    return Row(benchmark, case, other, unit, mine, theirs, mine - theirs, mine / theirs, None, targets)
