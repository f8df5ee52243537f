"""Lines that leave a box straight down and arrive straight from above, side by side instead of on one point.

The layout programs aim each line at the middle of a box and cut it off at the border, often at a corner. That is fine
for thin lines. A gradient can be 13 pixels wide, so here every line gets its own place on the border.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .places import Edge, Layout, Point, Size

_STEP = 30.0  # between two lines on a border
_CORNER = 16.0  # free of lines at each end of a border
_ALIGNED = 2.0  # pixels; a line this close to upright is drawn upright


@dataclass(frozen=True)
class _Row:
    """The upper and the lower end of the boxes that stand side by side."""

    top: float
    bottom: float


def tidy(layout: Layout, sizes: Sequence[Size], edges: Sequence[Edge]) -> Layout:
    """The same boxes, with the ends of all lines moved, and lines between neighbouring rows drawn anew."""
    rows, row_of = _rows(layout, sizes)
    leaving = _places(layout, sizes, edges, at_start=True)
    arriving = _places(layout, sizes, edges, at_start=False)
    routes: list[tuple[Point, ...]] = []
    for place, (start, end) in enumerate(edges):
        first = (leaving[place], layout.corners[start][1] + sizes[start][1])
        last = (arriving[place], layout.corners[end][1])
        if row_of[end] == row_of[start] + 1:
            middle = (rows[row_of[start]].bottom + rows[row_of[end]].top) / 2
            routes.append((first, (first[0], middle), (last[0], middle), last))
        else:
            routes.append(_with_ends(layout.routes[place], first, last))
    return replace(layout, routes=tuple(routes))


def _rows(layout: Layout, sizes: Sequence[Size]) -> tuple[list[_Row], list[int]]:
    """Boxes whose middles are on one height are a row."""
    middles = [round(y + height / 2) for (_, y), (_, height) in zip(layout.corners, sizes, strict=True)]
    heights = sorted(set(middles))
    row_of = [heights.index(middle) for middle in middles]
    rows: list[_Row] = []
    for row in range(len(heights)):
        boxes = [box for box, its in enumerate(row_of) if its == row]
        tops = [layout.corners[box][1] for box in boxes]
        bottoms = [layout.corners[box][1] + sizes[box][1] for box in boxes]
        rows.append(_Row(min(tops), max(bottoms)))
    return rows, row_of


def _places(layout: Layout, sizes: Sequence[Size], edges: Sequence[Edge], at_start: bool) -> list[float]:
    """For each edge where it meets the border of its start, or of its end."""
    centres = [x + width / 2 for (x, _), (width, _) in zip(layout.corners, sizes, strict=True)]
    at_box: dict[int, list[tuple[float, int]]] = {}
    for place, (start, end) in enumerate(edges):
        route = layout.routes[place]
        is_short = len(route) <= 4
        other = centres[end if at_start else start] if is_short else route[3 if at_start else -4][0]
        at_box.setdefault(start if at_start else end, []).append((other, place))
    found = [0.0] * len(edges)
    for box, lines in at_box.items():
        lines.sort()
        room = sizes[box][0] / 2 - _CORNER
        for place, offset in zip([place for _, place in lines], _offsets(centres[box], lines, room), strict=True):
            found[place] = centres[box] + offset
    return found


def _offsets(centre: float, lines: Sequence[tuple[float, int]], room: float) -> list[float]:
    """From the middle of the border: 0 for a line that is upright anyway, and the others on their sides of it."""
    upright = next((place for place, (other, _) in enumerate(lines) if abs(other - centre) < _ALIGNED), None)
    zero = (len(lines) - 1) / 2 if upright is None else float(upright)
    farthest = max(zero, len(lines) - 1 - zero)
    step = min(_STEP, room / farthest) if farthest else 0.0
    return [(place - zero) * step for place in range(len(lines))]


def _with_ends(route: tuple[Point, ...], first: Point, last: Point) -> tuple[Point, ...]:
    """A long line keeps its way around the boxes; only its first and its last part bend to the new ends."""
    points = list(route)
    points[1] = (first[0], max(points[1][1], first[1] + 12))
    points[-2] = (last[0], min(points[-2][1], last[1] - 12))
    return (first, *points[1:-1], last)
