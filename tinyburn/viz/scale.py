"""A plot whose upward axis counts powers of ten, for sizes that differ by many: gradients by depth, ratios by step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .axes import spread
from .svg import circle, number, path, polyline, text, xy

DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "12 4", "2 2 8 2", "1 4")
"""The lines of a plot, told apart without colour: each has a dash of its own, and its number at its end."""
MOST_LINES = len(DASHES)

_FEWEST_POWERS = 2
_MOST_POWERS = 40
"""Numbers further below the largest than that stand on the floor: float32 itself ends there."""


@dataclass(frozen=True)
class Powers:
    """From numbers to pixels.

    Attributes:
        low, high: the powers of ten at the lower and the upper edge.
        count: how many steps there are from the left edge to the right one; at least 1.
        left, top, width, height: of the plot, in pixels.
    """

    low: int
    high: int
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

    def y(self, size: float) -> float:
        """The height of a size. Zero, and what is too small for the axis, is on the floor; inf is at the ceiling."""
        if size <= 0:
            return self.base
        power = self.high if math.isinf(size) else min(max(math.log10(size), self.low), self.high)
        return self.base - self.height * (power - self.low) / (self.high - self.low)

    def axes(self, label: str, ticks: Sequence[int]) -> list[str]:
        """The frame, a line at each power of ten (every so many, where there are too many), and the steps below."""
        drawn = []
        stride = max(1, math.ceil((self.high - self.low) / 8))
        for power in range(self.low, self.high + 1, stride):
            y = self.y(10.0**power)
            drawn.append(path(f"M{xy(self.left, y)}H{number(self.right)}", "line", 'stroke-width=".4"'))
            drawn.append(text(self.left - 8, y + 4, power_text(power), "soft", "end"))
        for step in ticks:
            drawn.append(path(f"M{xy(self.x(step), self.base)}v5", "rule"))
            drawn.append(text(self.x(step), self.base + 18, str(step), "soft", "middle"))
        edge = f"M{xy(self.left, self.top)}V{number(self.base)}H{number(self.right)}"
        drawn.append(path(edge, "rule", 'fill="none"'))
        return [*drawn, text((self.left + self.right) / 2, self.base + 36, label, "soft", "middle")]

    def line(self, sizes: Sequence[float], dash: str) -> list[str]:
        """The sizes from left to right. It is broken where one is NaN; a cross stands where one is inf or NaN, and a
        ring on the floor where one is 0."""
        drawn = []
        for run in _runs(sizes):
            points = [(self.x(step), self.y(size)) for step, size in run]
            extra = (
                f'stroke-width="1.8" fill="none" stroke-dasharray="{dash}"'
                if dash
                else 'stroke-width="1.8" fill="none"'
            )
            drawn.append(path(polyline(points), "rule", extra) if len(points) > 1 else circle(*points[0], 2, "ink"))
        for step, size in enumerate(sizes):
            if not math.isfinite(size):
                drawn.append(_cross(self.x(step), self.top + 8))
            elif size == 0:
                drawn.append(circle(self.x(step), self.base, 3.5, "rule", 'fill="none"'))
        return drawn

    def numbers(self, ends: Sequence[float]) -> list[str]:
        """The number of each line, from 1 on, beside its right end; a thread leads there, since no two may meet."""
        heights = [self.y(size) for size in ends]
        drawn = []
        for index, (end, height) in enumerate(zip(heights, spread(heights, 13, self.base), strict=True), start=1):
            drawn.append(path(f"M{xy(self.right, end)}L{xy(self.right + 12, height)}", "line", 'stroke-width=".5"'))
            drawn.append(text(self.right + 15, height + 4, str(index), "ink bold"))
        return drawn


def power_text(power: int) -> str:
    """``10^-3``, and plain numbers near 1."""
    plain = {-2: "0.01", -1: "0.1", 0: "1", 1: "10", 2: "100"}
    return plain.get(power, f"10^{power}")


def powers_around(sizes: Iterable[float]) -> tuple[int, int]:
    """The powers of ten below and above all sizes that are numbers above 0."""
    known = [math.log10(size) for size in sizes if size > 0 and math.isfinite(size)] or [0.0]
    high = math.ceil(max(known) + 1e-9)
    low = max(math.floor(min(known) - 1e-9), high - _MOST_POWERS)
    return min(low, high - _FEWEST_POWERS), high


def _runs(sizes: Sequence[float]) -> list[list[tuple[int, float]]]:
    """The stretches without a NaN, each size with its step."""
    runs: list[list[tuple[int, float]]] = [[]]
    for step, size in enumerate(sizes):
        if math.isnan(size):
            runs.append([])
        else:
            runs[-1].append((step, size))
    return [run for run in runs if run]


def _cross(x: float, y: float) -> str:
    return path(f"M{xy(x - 4, y - 4)}l8 8m0 -8l-8 8", "rule", 'stroke-width="1.6"')
