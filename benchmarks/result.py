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
    """Two contenders at one task.

    Attributes:
        benchmark, case: what was done.
        other: the name of what tinyburn is compared with.
        unit: of the next four: ``us`` (microseconds), ``ms`` or ``B``.
        mine, theirs: one number for each: the best round where there were rounds.
        added: how much more tinyburn's is.
        ratio: tinyburn's over the other's: the median over the rounds.
        spread: the quartiles of the ratio, so half of all rounds lie between them; None for an exact number.
        target: None where the project has set none.
    """

    benchmark: str
    case: str
    other: str
    unit: str
    mine: float
    theirs: float
    added: float
    ratio: float
    spread: tuple[float, float] | None = None
    target: Target | None = None

    @property
    def verdict(self) -> str:
        """``pass``, ``fail`` or ``no target``."""
        if self.target is None:
            return "no target"
        measured = {"value": self.mine, "ratio": self.ratio, "added": self.added}[self.target.quantity]
        return "pass" if measured <= self.target.at_most else "fail"

    def cells(self) -> list[str]:
        """The row as text, one entry for each of `HEADER`."""
        spread = "exact" if self.spread is None else f"{self.spread[0]:.2f} to {self.spread[1]:.2f}"
        return [
            self.benchmark,
            self.case,
            self._amount(self.mine),
            self.other,
            self._amount(self.theirs),
            f"{self.ratio:.2f}",
            spread,
            self._amount(self.added),
            self._target_text(),
            self.verdict,
        ]

    def _amount(self, number: float) -> str:
        return f"{number:,.0f} B".replace(",", " ") if self.unit == "B" else f"{number:.2f} {self.unit}"

    def _target_text(self) -> str:
        if self.target is None:
            return ""
        limit = f"{self.target.at_most:.2f}" if self.target.quantity == "ratio" else self._amount(self.target.at_most)
        return f"{self.target.quantity} at most {limit}"


HEADER = ("benchmark", "case", "tinyburn", "against", "theirs", "ratio", "middle half", "added", "target", "verdict")


def exact_row(benchmark: str, case: str, mine: int, other: str, theirs: int, target: Target | None) -> Row:
    """A row of two byte counts, which are the same in every run."""
    return Row(benchmark, case, other, "B", mine, theirs, mine - theirs, mine / theirs, None, target)
