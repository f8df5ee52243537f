"""The lines of a plot, told apart in three ways: each has a colour, a dash, and its name at its end.

The name stands where the line ends, and a thread leads there, so that nobody has to look for it in a key.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TypeAlias

from .axes import spread
from .cards import cut
from .scale import Scale, Side
from .svg import LINE, circle, path, polyline, rect, text, text_width, xy

Point: TypeAlias = tuple[float, float]
"""A step and a size, or the same in pixels."""

LONGEST = 40
"""Characters of a line's label."""
_THREAD = 14.0
_MARKER_APART = 14.0  # pixels; nearer ones would run together


@dataclass(frozen=True)
class LineStyle:
    """How a line looks.

    Attributes:
        stroke, fill: the CSS classes of its colour.
        dash: as ``stroke-dasharray`` has it; empty for none.
        marker: the form of its points: one of `_MARKERS`.
    """

    stroke: str
    fill: str
    dash: str
    marker: int


_DASHES = ("", "7 3", "2 3", "9 3 2 3")

STYLES = tuple(
    LineStyle(f"s{letter}" if letter else "rule", f"c{letter}" if letter else "ink", _DASHES[at % 4], at % 4)
    for at, letter in enumerate(["P", "A", "I", "O", "T", "G", "Y", ""])
)
"""In the order in which the lines of a plot take them."""
MOST_LINES = len(STYLES)


def draw_line(scale: Scale, points: Sequence[Point], style: LineStyle, width: int = 2) -> list[str]:
    """A line through points from left to right. It is broken where one is NaN; a cross stands where one is inf or NaN.
    A single point between two breaks is a dot."""
    drawn = []
    dash = f' stroke-dasharray="{style.dash}"' if style.dash else ""
    for run in _runs(points):
        places = thinned([(scale.x(step), scale.y(size)) for step, size in run])
        if len(places) > 1:
            drawn.append(path(polyline(places), style.stroke, f'stroke-width="{width}" fill="none"{dash}'))
        elif math.isfinite(run[0][1]):
            drawn.append(circle(*places[0], 2.5, style.fill))
    return drawn + [_cross(scale.x(step), scale.top + 8) for step, size in points if not math.isfinite(size)]


def _runs(points: Sequence[Point]) -> Iterator[list[Point]]:
    """The stretches without a NaN."""
    for is_broken, run in groupby(points, key=lambda point: math.isnan(point[1])):
        if not is_broken:
            yield list(run)


def thinned(places: list[Point]) -> list[Point]:
    """Of the points of a line at most four in each column of pixels: what is drawn looks the same, a spike stays, and
    a line of a million steps is a small file."""
    if len(places) < 2 or len(places) <= 2 * (places[-1][0] - places[0][0]):
        return places
    kept: list[Point] = []
    for _, column in groupby(places, key=lambda place: math.floor(place[0])):
        found = list(column)
        heights = [y for _, y in found]
        chosen = {0, heights.index(min(heights)), heights.index(max(heights)), len(found) - 1}
        kept += [found[at] for at in sorted(chosen)]
    return kept


def _cross(x: float, y: float) -> str:
    return path(f"M{xy(x - 4, y - 4)}l8 8m0 -8l-8 8", "rule", 'stroke-width="1.6"')


def draw_zeros(scale: Scale, points: Sequence[Point]) -> list[str]:
    """A ring on the floor where a size is 0, for which an axis of powers of ten has no place."""
    rings = [(scale.x(step), scale.base) for step, size in points if size == 0]
    return [circle(*place, 3.5, "rule", 'fill="none"') for place in rings]


def draw_markers(scale: Scale, points: Sequence[Point], style: LineStyle) -> list[str]:
    """A small form at each point, in a form of the line's own; none where they would run together."""
    steps = [scale.x(step) for step, _ in points]
    if any(right - left < _MARKER_APART for left, right in pairwise(steps)):
        return []
    return [_marker(scale.x(step), scale.y(size), style) for step, size in points if math.isfinite(size)]


def _marker(x: float, y: float, style: LineStyle) -> str:
    if style.marker == 0:
        return circle(x, y, 4, style.fill)
    if style.marker == 1:
        return rect(x - 3.5, y - 3.5, 7, 7, style.fill)
    corners = f"M{xy(x, y - 5)}l5 9h-10z" if style.marker == 2 else f"M{xy(x, y - 5)}l5 5l-5 5l-5 -5z"
    return path(corners, style.fill)


@dataclass(frozen=True)
class End:
    """Where a line ends, and what is said of it there: its name, in bold, and more. NaN is at the ceiling, where its
    cross is."""

    size: float
    name: str
    more: str
    style: LineStyle

    @property
    def words(self) -> tuple[str, str]:
        """Both, as far as there is room."""
        name = cut(self.name, LONGEST)
        room = LONGEST - len(name) - 1
        return name, cut(self.more, room) if self.more and room > 3 else ""

    @property
    def width(self) -> float:
        """In pixels, with the thread."""
        return text_width(" ".join(filter(None, self.words))) + _THREAD + 10


def draw_ends(scale: Scale, ends: Sequence[End], side: Side = "right") -> list[str]:
    """The labels of the lines beside the plot, in the order in which the lines end there, and no two on each other."""
    wanted = [scale.y(math.inf if math.isnan(end.size) else end.size) for end in ends]
    heights = spread(wanted, LINE, scale.base, scale.top)
    edge, away, anchor = (scale.right, 1, "start") if side == "right" else (scale.left, -1, "end")
    drawn = []
    for end, start, height in zip(ends, wanted, heights, strict=True):
        thread = f"M{xy(edge, start)}L{xy(edge + away * _THREAD, height)}h{3 * away}"
        drawn.append(path(thread, end.style.stroke, 'fill="none"'))
        x, (name, more) = edge + away * (_THREAD + 6), end.words
        gap = text_width(name if side == "right" else more) + text_width(" ")
        places = (x, x + gap) if side == "right" else (x - gap if more else x, x)
        drawn.append(text(places[0], height + 4, name, "ink bold", anchor))
        if more:
            drawn.append(text(places[1], height + 4, more, "soft", anchor))
    return drawn
