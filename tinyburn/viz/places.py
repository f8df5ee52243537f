"""What a layout is: corners for the boxes, and curves for the lines between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Size: TypeAlias = tuple[float, float]
"""Width and height, in pixels."""
Edge: TypeAlias = tuple[int, int]
"""From one box to another, by their places in the list of boxes."""
Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Layout:
    """Pixels from the top left corner.

    Attributes:
        corners: the top left corner of each box.
        routes: for each edge a start, then three points for each part of a Bézier curve, as SVG's ``C`` takes them.
    """

    width: float
    height: float
    corners: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]
