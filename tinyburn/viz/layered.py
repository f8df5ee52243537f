"""A small layered layout, for machines without the layout program: rows by depth, few crossings, no line through a box.

It is the method of Sugiyama and others (1981) in its plainest form: give each box a row below its operands; put an
invisible stop into each row that a long edge passes; sort each row by the average place of its neighbours; then
move everything to the average of its neighbours as far as the others in the row let it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import pairwise

from .places import Edge, Layout, Point, Size

_SWEEPS = 8
_PULL = 9  # how much stronger the spine holds together than other edges
_STOP = 12.0  # the width of an invisible stop


def layered(sizes: Sequence[Size], edges: Sequence[Edge], spine: Set[Edge], beside: float, below: float) -> Layout:
    """See `layout.place`. The edges must not form a circle."""
    chart = _Chart(sizes, edges, spine)
    chart.sort_rows()
    centres = chart.spread(beside)
    tops, height = chart.tops(below)
    left = min((centres[n] - chart.widths[n] / 2 for n in range(len(centres))), default=0)
    right = max((centres[n] + chart.widths[n] / 2 for n in range(len(centres))), default=0)
    centres = [x - left for x in centres]
    corners = tuple([(centres[n] - sizes[n][0] / 2, chart.top(n, tops)) for n in range(len(sizes))])
    routes = tuple([_route(chain, chart, centres, tops) for chain in chart.chains])
    return Layout(right - left, height, corners, routes)


class _Chart:
    """The boxes and the stops of long edges, in rows.

    Attributes:
        rows: the row of each box, then of each stop.
        chains: for each edge its start, its stops and its end.
        up, down: the neighbours of each box and stop in the row above and below; those on the spine several times,
            so that they pull more.
        order: for each row its boxes and stops from left to right.
    """

    def __init__(self, sizes: Sequence[Size], edges: Sequence[Edge], spine: Set[Edge]) -> None:
        self.widths = [width for width, _ in sizes]
        self.heights = [height for _, height in sizes]
        self.rows = _rows(len(sizes), edges)
        self.chains = [self._chain(start, end) for start, end in edges]
        self.up: list[list[int]] = [[] for _ in self.rows]
        self.down: list[list[int]] = [[] for _ in self.rows]
        for edge, chain in zip(edges, self.chains, strict=True):
            pull = _PULL if edge in spine else 1
            for start, end in pairwise(chain):
                self.down[start] += [end] * pull
                self.up[end] += [start] * pull
        self.order: list[list[int]] = [[] for _ in range(max(self.rows, default=0) + 1)]
        for number, row in enumerate(self.rows):
            self.order[row].append(number)

    def _chain(self, start: int, end: int) -> list[int]:
        stops = list(range(self.rows[start] + 1, self.rows[end]))
        first = len(self.rows)
        self.rows += stops
        self.widths += [_STOP] * len(stops)
        self.heights += [0.0] * len(stops)
        return [start, *range(first, first + len(stops)), end]

    def sort_rows(self) -> None:
        """By the average place of the neighbours above, then of those below, again and again."""
        for sweep in range(_SWEEPS):
            is_down = sweep % 2 == 0
            neighbours = self.up if is_down else self.down
            for row in self.order if is_down else reversed(self.order):
                places = {number: place for each in self.order for place, number in enumerate(each)}
                here = {number: _average([places[n] for n in neighbours[number]], places[number]) for number in row}
                row.sort(key=here.__getitem__)

    def spread(self, beside: float) -> list[float]:
        """The middle of each box and stop, from left to right."""
        centres = [0.0] * len(self.rows)
        for row in self.order:
            self._push_apart(row, centres, beside)
        for sweep in range(_SWEEPS):
            for row in self.order if sweep % 2 == 0 else reversed(self.order):
                for number in row:
                    around = [centres[n] for n in (*self.up[number], *self.down[number])]
                    centres[number] = _average(around, centres[number])
                self._push_apart(row, centres, beside)
        return centres

    def _push_apart(self, row: list[int], centres: list[float], beside: float) -> None:
        """Keeps the order of a row and its average place; moves what is too close."""
        wanted = [centres[number] for number in row]
        for left, right in pairwise(row):
            least = centres[left] + (self.widths[left] + self.widths[right]) / 2 + beside
            centres[right] = max(centres[right], least)
        shift = sum(centres[number] - want for number, want in zip(row, wanted, strict=True)) / max(len(row), 1)
        for number in row:
            centres[number] -= shift

    def top(self, number: int, tops: list[float]) -> float:
        """Boxes stand in the middle of their row."""
        row = self.rows[number]
        return tops[row] + (max(self.heights[other] for other in self.order[row]) - self.heights[number]) / 2

    def tops(self, below: float) -> tuple[list[float], float]:
        """The upper edge of each row, and the height of all."""
        tops: list[float] = []
        y = 0.0
        for row in self.order:
            tops.append(y)
            y += max((self.heights[number] for number in row), default=0.0) + below
        return tops, y - below


def _rows(boxes: int, edges: Sequence[Edge]) -> list[int]:
    """Each box as low as its users allow, so that an operand stands just above its first use."""
    parents: list[list[int]] = [[] for _ in range(boxes)]
    waiting = [0] * boxes
    for start, end in edges:
        parents[end].append(start)
        waiting[start] += 1
    from_below = [0] * boxes
    ready = [box for box in range(boxes) if not waiting[box]]
    while ready:
        box = ready.pop()
        for parent in parents[box]:
            from_below[parent] = max(from_below[parent], from_below[box] + 1)
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)
    highest = max(from_below, default=0)
    return [highest - row for row in from_below]


def _average(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _route(chain: list[int], chart: _Chart, centres: list[float], tops: list[float]) -> tuple[Point, ...]:
    """A curve from the bottom of a box through the stops to the top of another, upright at each of them."""
    start = chain[0]
    x, y = centres[start], chart.top(start, tops) + chart.heights[start]
    points: list[Point] = [(x, y)]
    for number in chain[1:]:
        to_x, to_y = centres[number], tops[chart.rows[number]]
        points += [(x, (y + to_y) / 2), (to_x, (y + to_y) / 2), (to_x, to_y)]
        x, y = to_x, to_y
        if number != chain[-1]:  # straight down past the boxes of this row
            bottom = to_y + max(chart.heights[other] for other in chart.order[chart.rows[number]])
            points += [(x, y), (x, bottom), (x, bottom)]
            y = bottom
    return tuple(points)
