"""Where the boxes and the lines of a graph go.

Graphviz's `dot` algorithm decides, run by the `graphviz-pure` program, which pip installs with tinyburn: it gets fixed
box sizes, so its answer does not depend on a machine's fonts. It only gives coordinates; tinyburn draws. Where that
program is missing, `layered` takes over, so a picture never needs more than Python.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

Size: TypeAlias = tuple[float, float]
"""Width and height, in pixels."""
Edge: TypeAlias = tuple[int, int]
"""From one box to another, by their numbers in the list of boxes."""
Point: TypeAlias = tuple[float, float]

_INCH = 72.0  # Graphviz measures boxes in inches; here an inch is 72 pixels
_PROGRAM = "graphviz-pure"
_SECONDS = 60  # a picture takes milliseconds; this only ends a run that hangs

_STEP = 30.0  # between two lines on a border
_CORNER = 16.0  # free of lines at each end of a border
_ALIGNED = 2.0  # pixels; a line this close to upright is drawn upright

_SWEEPS = 8
_PULL = 9  # how much stronger the spine holds together than other edges
_STOP = 12.0  # the width of an invisible stop


@dataclass(frozen=True)
class Spacing:
    """Free pixels between boxes: next to each other, and from one row to the next."""

    beside: float = 22
    below: float = 30


_USUAL = Spacing()
_NONE: Set[Edge] = frozenset()


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


def arrange(
    sizes: Sequence[Size], edges: Sequence[Edge], spine: Set[Edge] = _NONE, spacing: Spacing = _USUAL
) -> Layout:
    """Boxes by their width and height, and edges that run down from one box to another.

    The edges of the ``spine`` are drawn as straight as possible.
    """
    program = find_program()
    answer = _run(program, _dot(sizes, edges, spine, spacing)) if program else None
    found = _read(answer, sizes, edges) if answer else layered(sizes, edges, spine, spacing)
    return tidy(found, sizes, edges)


# The layout program


def find_program() -> str | None:
    """The layout program beside this Python, which a notebook kernel's PATH may lack; else one on the PATH."""
    scripts = sysconfig.get_path("scripts")
    return shutil.which(_PROGRAM, path=scripts) or shutil.which(_PROGRAM)


def _dot(sizes: Sequence[Size], edges: Sequence[Edge], spine: Set[Edge], spacing: Spacing) -> str:
    """The graph in the DOT language, with boxes of fixed size and no text in them."""
    from graphviz import Digraph  # here, so that `import tinyburn` needs NumPy alone

    settings = {"nodesep": f"{spacing.beside / _INCH:.4f}", "ranksep": f"{spacing.below / _INCH:.4f}"}
    graph = Digraph(graph_attr=settings, node_attr={"shape": "box", "fixedsize": "true", "label": ""})
    for number, (width, height) in enumerate(sizes):
        graph.node(str(number), width=f"{width / _INCH:.4f}", height=f"{height / _INCH:.4f}")
    for start, end in edges:
        graph.edge(str(start), str(end), arrowhead="none", weight="9" if (start, end) in spine else "1")
    return str(graph.source)


def _run(program: str, source: str) -> str | None:
    """The program's answer in its ``plain`` format; None if it cannot run here."""
    try:
        done = subprocess.run(
            [program, "-Tplain"], input=source, capture_output=True, text=True, encoding="utf-8", timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 and done.stdout.startswith("graph") else None


def _read(answer: str, sizes: Sequence[Size], edges: Sequence[Edge]) -> Layout:
    """Graphviz counts upwards from the bottom and gives the middle of a box; here y grows down from the top."""
    lines = [line.split() for line in answer.splitlines()]
    width, height = (float(word) * _INCH for word in lines[0][2:4])
    corners: list[Point] = [(0.0, 0.0)] * len(sizes)
    routes: dict[Edge, tuple[Point, ...]] = {}
    for words in lines:
        if words[0] == "node":
            number = int(words[1])
            x, y = float(words[2]) * _INCH, height - float(words[3]) * _INCH
            corners[number] = (x - sizes[number][0] / 2, y - sizes[number][1] / 2)
        elif words[0] == "edge":
            values = [float(word) * _INCH for word in words[4 : 4 + 2 * int(words[3])]]
            points = zip(values[::2], values[1::2], strict=True)
            routes[int(words[1]), int(words[2])] = tuple([(x, height - y) for x, y in points])
    return Layout(width, height, tuple(corners), tuple([routes[edge] for edge in edges]))


# Lines that leave a box straight down and arrive straight from above, side by side instead of on one point
#
# The layout programs aim each line at the middle of a box and cut it off at the border, often at a corner. That is fine
# for thin lines. A gradient can be 13 pixels wide, so here every line meets the border at a point of its own.


@dataclass(frozen=True)
class _Band:
    """A row of boxes that stand side by side: its number from the top, its upper and its lower end."""

    number: int
    top: float
    bottom: float


def tidy(layout: Layout, sizes: Sequence[Size], edges: Sequence[Edge]) -> Layout:
    """The same boxes, with the ends of all lines moved, and lines between neighbouring rows drawn anew."""
    bands = _bands(layout, sizes)
    leaving = _ends(layout, sizes, edges, at_start=True)
    arriving = _ends(layout, sizes, edges, at_start=False)
    routes: list[tuple[Point, ...]] = []
    for (start, end), route, from_x, to_x in zip(edges, layout.routes, leaving, arriving, strict=True):
        first = (from_x, layout.corners[start][1] + sizes[start][1])
        last = (to_x, layout.corners[end][1])
        if bands[end].number == bands[start].number + 1:
            middle = (bands[start].bottom + bands[end].top) / 2
            routes.append((first, (from_x, middle), (to_x, middle), last))
        else:
            routes.append(_with_ends(route, first, last))
    return replace(layout, routes=tuple(routes))


def _bands(layout: Layout, sizes: Sequence[Size]) -> list[_Band]:
    """For each box the row that it stands in: boxes whose middles are on one height are a row."""
    tops = [y for _, y in layout.corners]
    bottoms = [y + height for y, (_, height) in zip(tops, sizes, strict=True)]
    middles = [round(y + height / 2) for y, (_, height) in zip(tops, sizes, strict=True)]
    bands: dict[int, _Band] = {}
    for number, middle in enumerate(sorted(set(middles))):
        boxes = [box for box, its in enumerate(middles) if its == middle]
        bands[middle] = _Band(number, min(tops[box] for box in boxes), max(bottoms[box] for box in boxes))
    return [bands[middle] for middle in middles]


def _ends(layout: Layout, sizes: Sequence[Size], edges: Sequence[Edge], at_start: bool) -> list[float]:
    """For each edge the x at which it meets the border of its start, or of its end."""
    centres = [x + width / 2 for (x, _), (width, _) in zip(layout.corners, sizes, strict=True)]
    at_box: dict[int, list[tuple[float, int]]] = {}
    for number, (edge, route) in enumerate(zip(edges, layout.routes, strict=True)):
        near, far = edge if at_start else edge[::-1]
        aim = centres[far] if len(route) <= 4 else route[3 if at_start else -4][0]
        at_box.setdefault(near, []).append((aim, number))
    found = [0.0] * len(edges)
    for box, lines in at_box.items():
        lines.sort()
        offsets = _offsets([aim - centres[box] for aim, _ in lines], sizes[box][0] / 2 - _CORNER)
        for (_, number), offset in zip(lines, offsets, strict=True):
            found[number] = centres[box] + offset
    return found


def _offsets(aims: Sequence[float], room: float) -> list[float]:
    """From the middle of the border: 0 for a line that is upright anyway, and the others on their sides of it."""
    middle = (len(aims) - 1) / 2
    zero = next((number for number, aim in enumerate(aims) if abs(aim) < _ALIGNED), middle)
    farthest = max(zero, len(aims) - 1 - zero)
    step = min(_STEP, room / farthest) if farthest else 0.0
    return [(number - zero) * step for number in range(len(aims))]


def _with_ends(route: tuple[Point, ...], first: Point, last: Point) -> tuple[Point, ...]:
    """A long line keeps its way around the boxes; only its first and its last part bend to the new ends."""
    points = list(route)
    points[1] = (first[0], max(points[1][1], first[1] + 12))
    points[-2] = (last[0], min(points[-2][1], last[1] - 12))
    return (first, *points[1:-1], last)


# A small layered layout, for machines without the program: rows by depth, few crossings, no line through a box


def layered(sizes: Sequence[Size], edges: Sequence[Edge], spine: Set[Edge], spacing: Spacing) -> Layout:
    """The method of Sugiyama and others (1981) in its plainest form. The edges must not form a circle.

    Give each box a row below its operands; put an invisible stop into each row that a long edge passes; sort each row
    by the average position of its neighbours; then move everything to the average of its neighbours as far as the
    others in the row let it.
    """
    chart = _Chart(sizes, edges, spine)
    chart.sort_rows()
    centres = chart.spread(spacing.beside)
    tops, height = chart.tops(spacing.below)
    left = min((x - width / 2 for x, width in zip(centres, chart.widths, strict=True)), default=0)
    right = max((x + width / 2 for x, width in zip(centres, chart.widths, strict=True)), default=0)
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
        highest: for each row the height of its highest box.
    """

    def __init__(self, sizes: Sequence[Size], edges: Sequence[Edge], spine: Set[Edge]) -> None:
        self.widths = [width for width, _ in sizes]
        self.heights = [height for _, height in sizes]
        self.rows = _depths(len(sizes), edges)
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
        self.highest = [max((self.heights[number] for number in row), default=0.0) for row in self.order]

    def _chain(self, start: int, end: int) -> list[int]:
        stops = list(range(self.rows[start] + 1, self.rows[end]))
        first = len(self.rows)
        self.rows += stops
        self.widths += [_STOP] * len(stops)
        self.heights += [0.0] * len(stops)
        return [start, *range(first, first + len(stops)), end]

    def sort_rows(self) -> None:
        """By the average position of the neighbours above, then of those below, again and again."""
        for sweep in range(_SWEEPS):
            is_down = sweep % 2 == 0
            neighbours = self.up if is_down else self.down
            for row in self.order if is_down else reversed(self.order):
                at = {number: position for each in self.order for position, number in enumerate(each)}
                wanted = {number: _average([at[n] for n in neighbours[number]], at[number]) for number in row}
                row.sort(key=wanted.__getitem__)

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
        """Keeps the order of a row and its average position; moves what is too close."""
        wanted = [centres[number] for number in row]
        for left, right in pairwise(row):
            least = centres[left] + (self.widths[left] + self.widths[right]) / 2 + beside
            centres[right] = max(centres[right], least)
        shift = sum(centres[number] - want for number, want in zip(row, wanted, strict=True)) / max(len(row), 1)
        for number in row:
            centres[number] -= shift

    def tops(self, below: float) -> tuple[list[float], float]:
        """The upper edge of each row, and the height of all."""
        tops = [0.0]
        for height in self.highest:
            tops.append(tops[-1] + (height + below))
        return tops, tops[-1] - below

    def top(self, number: int, tops: list[float]) -> float:
        """Boxes stand in the middle of their row."""
        row = self.rows[number]
        return tops[row] + (self.highest[row] - self.heights[number]) / 2


def _depths(boxes: int, edges: Sequence[Edge]) -> list[int]:
    """The row of each box, as low as its users allow, so that an operand stands just above its first use."""
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
            bottom = to_y + chart.highest[chart.rows[number]]
            points += [(x, y), (x, bottom), (x, bottom)]
            y = bottom
    return tuple(points)
