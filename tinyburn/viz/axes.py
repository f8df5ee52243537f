"""What the plots share: the axes of the memory strip and the batch lines, with bytes upwards; ticks; labels apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tinyburn.base.text import thousands
from tinyburn.memory.lines import Bytes


@dataclass(frozen=True)
class Axes:
    """From numbers to pixels.

    Attributes:
        count: how many columns, or samples, there are from the left edge to the right one.
        top: bytes at the upper edge; more than 0.
        left, base: the corner where both axes begin.
        width, height: of the plot.
    """

    count: int
    top: float
    left: float
    base: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of the right edge."""
        return self.x(self.count)

    @property
    def roof(self) -> float:
        """The y of the upper edge."""
        return self.base - self.height

    def x(self, number: float) -> float:
        """How far to the right a number is."""
        return self.left + self.width * number / max(self.count, 1)

    def y(self, size: Bytes | float) -> float:
        """The height of a number of bytes."""
        return self.base - self.height * float(size) / self.top

    def marks(self) -> list[tuple[float, str]]:
        """The axis of bytes: at most five round numbers above 0, each as its height and its label."""
        sizes = ticks(int(self.top))
        return [(self.y(size), short(size, sizes.step)) for size in sizes]


def ticks(top: int, most: int = 5) -> range:
    """Round numbers from 0 on: 1, 2 or 5 and zeros apart."""
    step = 1
    while top > most * step:
        step = step * 5 // 2 if str(step).startswith("2") else step * 2
    return range(0, top + 1, step)


def short(size: int, step: int) -> str:
    """A number of bytes in the largest unit that leaves every multiple of ``step`` whole; k stands for 1 000."""
    for unit, factor in {"TB": 10**12, "GB": 10**9, "MB": 10**6, "kB": 10**3, "B": 1}.items():
        if size and step % factor == 0:
            return f"{thousands(size // factor)} {unit}"
    return "0"


def spread(wanted: Sequence[float], apart: float, lowest: float, highest: float = -math.inf) -> list[float]:
    """The wanted heights, moved so that no two are nearer than ``apart``, and none is below ``lowest`` or, as far as
    there is room, above ``highest``."""
    heights = list(wanted)
    for index in sorted(range(len(wanted)), key=lambda index: (-wanted[index], index)):
        heights[index] = min(wanted[index], lowest)
        lowest = heights[index] - apart
    if min(heights, default=highest) < highest:
        for index in sorted(range(len(heights)), key=heights.__getitem__):
            heights[index] = max(heights[index], highest)
            highest = heights[index] + apart
    return heights
