"""From numbers to pixels: the axes of a plot, in equal steps or in powers of ten.

Equal steps suit a loss or a count. Powers of ten suit sizes that differ by many: gradients by depth, ratios by step.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from .svg import number, path, text, xy

Side: TypeAlias = Literal["left", "right"]
Mark: TypeAlias = tuple[float, str]
"""A place on an axis, and what stands there."""

_FEWEST_POWERS = 2
_MOST_POWERS = 40
"""Numbers further below the largest than that stand on the floor: float32 itself ends there."""
_PLAIN_POWERS = range(-4, 5)
"""Between these an axis has plain numbers, such as 0.001; beyond them it has all of them as powers, such as 1e-22."""


@dataclass(frozen=True)
class Scale(ABC):
    """From numbers to pixels.

    Attributes:
        low, high: what is at the lower and the upper edge; a subclass says in which unit.
        count: how many steps there are from the left edge to the right one; at least 1.
        left, top, width, height: of the plot, in pixels.
    """

    low: float
    high: float
    count: int
    left: float
    top: float
    width: float
    height: float

    @property
    def base(self) -> float:
        """The y of the lower edge."""
        return self.top + self.height

    @property
    def right(self) -> float:
        """The x of the right edge."""
        return self.left + self.width

    def x(self, step: float) -> float:
        """How far to the right a step is, from 0 on."""
        return self.left + self.width * step / max(self.count, 1)

    @abstractmethod
    def y(self, size: float) -> float:
        """The height of a size that is not NaN. What the axis has no room for stands on its edge."""

    @abstractmethod
    def marks(self) -> list[Mark]:
        """The upward axis: some round numbers, each with its height."""

    def _at(self, place: float) -> float:
        """The y of a place in the unit of the edges."""
        inside = min(max(place, self.low), self.high)
        return self.base - self.height * (inside - self.low) / (self.high - self.low)

    def axes(self, label: str, steps: Iterable[Mark], side: Side = "left") -> list[str]:
        """The frame, a line at each round number, and the steps below. ``side`` is where the upward axis stands."""
        drawn = []
        anchor, beside, edge = ("end", self.left - 8, self.left)
        if side == "right":
            anchor, beside, edge = ("start", self.right + 8, self.right)
        for y, words in self.marks():
            drawn.append(path(f"M{xy(self.left, y)}H{number(self.right)}", "line", 'stroke-width=".4"'))
            drawn.append(text(beside, y + 4, words, "soft", anchor))
        for step, words in steps:
            drawn.append(path(f"M{xy(self.x(step), self.base)}v5", "rule"))
            drawn.append(text(self.x(step), self.base + 18, words, "soft", "middle"))
        other = self.left + self.right - edge
        frame = f"M{xy(edge, self.top)}V{number(self.base)}H{number(other)}"
        drawn.append(path(frame, "rule", 'fill="none"'))
        return [*drawn, text((self.left + self.right) / 2, self.base + 36, label, "soft", "middle")]


class Powers(Scale):
    """Equal factors have equal heights; the edges are powers of ten."""

    def y(self, size: float) -> float:
        """See `Scale`. Zero, and what is too small for the axis, is on the floor; inf is at the ceiling."""
        return self._at(self.low if size <= 0 else self.high if math.isinf(size) else math.log10(size))

    def marks(self) -> list[Mark]:
        """See `Scale`: every power of ten, or every so many, where there are too many."""
        low, high = int(self.low), int(self.high)
        stride = max(1, math.ceil((high - low) / 8))
        is_plain = _is_plain(low, high)
        return [(self._at(power), power_text(power, is_plain)) for power in range(low, high + 1, stride)]


class Linear(Scale):
    """Equal differences have equal heights."""

    def y(self, size: float) -> float:
        """See `Scale`."""
        return self._at(size)

    def marks(self) -> list[Mark]:
        """See `Scale`."""
        sizes = round_numbers(self.low, self.high)
        return [(self._at(float(size)), words) for size, words in zip(sizes, rounded_texts(sizes), strict=True)]


# Words for numbers


def three_digits(size: float) -> str:
    """``0.123``, ``520`` or ``1.2e-6``: more digits of a float32 result differ from machine to machine."""
    return short_power(f"{size:.3g}")


def short_power(words: str) -> str:
    """``1e-6`` in place of Python's ``1e-06``."""
    digits, e, power = words.partition("e")
    return f"{digits}e{int(power)}" if e else words


# Powers of ten


def power_text(power: int, is_plain: bool) -> str:
    """``0.001`` or ``1e-3``."""
    return f"{10.0**power:.{max(-power, 0)}f}" if is_plain else f"1e{power}"


def powers_around(sizes: Iterable[float]) -> tuple[int, int]:
    """The powers of ten below and above all sizes that are numbers above 0."""
    known = [math.log10(size) for size in sizes if size > 0 and math.isfinite(size)] or [0.0]
    high = math.ceil(max(known) + 1e-9)
    low = max(math.floor(min(known) - 1e-9), high - _MOST_POWERS)
    return min(low, high - _FEWEST_POWERS), high


def sizes_text(sizes: Sequence[float]) -> list[str]:
    """Sizes with two digits, all written in the same way: as an axis of powers around them would be."""
    is_plain = _is_plain(*powers_around(sizes))
    return [short_power(f"{size:.{'2g' if is_plain or not size else '1e'}}") for size in sizes]


def _is_plain(low: int, high: int) -> bool:
    return low in _PLAIN_POWERS and high in _PLAIN_POWERS


# Round numbers


def round_step(span: float, most: int = 5) -> Decimal:
    """The smallest of 1, 2, 5, 10, 20 and so on, also below 1, of which at most ``most`` fit into a span above 0."""
    power = math.floor(math.log10(span / most)) - 1
    while True:
        for digit in (1, 2, 5):
            step = Decimal(digit).scaleb(power)
            if float(step) * most >= span:
                return step
        power += 1


def round_numbers(low: float, high: float, most: int = 5) -> list[Decimal]:
    """The multiples of a round step from ``low`` to ``high``."""
    step = round_step(high - low, most)
    first, last = math.ceil(low / float(step) - 1e-9), math.floor(high / float(step) + 1e-9)
    return [step * index for index in range(first, last + 1)]


def rounded_texts(sizes: Sequence[Decimal]) -> list[str]:
    """All in the same way: as ``0.05`` and ``10 000``, or as ``5e-7``."""
    largest = max((abs(size) for size in sizes), default=Decimal(0))
    as_powers = bool(largest) and not 1e-3 <= largest < 1e7
    return [_power_form(size) if as_powers else _plain_form(size) for size in sizes]


def _power_form(size: Decimal) -> str:
    return short_power(f"{size.normalize():e}") if size else "0"


def _plain_form(size: Decimal) -> str:
    whole, _, rest = f"{size or abs(size):,f}".partition(".")
    return whole.replace(",", " ") + (f".{rest}" if rest else "")


def numbers_around(sizes: Iterable[float]) -> tuple[float, float]:
    """Round numbers below and above all sizes that are finite. 0 is one of them, unless all are far from it."""
    known = [size for size in sizes if math.isfinite(size)] or [0.0]
    low, high = min(known), max(known)
    if low > 0 and low < high / 2:
        low = 0.0
    if high < 0 and high > low / 2:
        high = 0.0
    if low == high:
        low, high = (low - abs(low) / 2, high + abs(high) / 2) if low else (0.0, 1.0)
    return _widened(low, high)


def _widened(low: float, high: float) -> tuple[float, float]:
    """To multiples of the step that the wider range has itself."""
    while True:
        step = round_step(high - low)
        before = low, high
        low, high = float(step * math.floor(low / float(step))), float(step * math.ceil(high / float(step)))
        if (low, high) == before:
            return before
