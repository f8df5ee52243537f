"""The drawing of picture 2: one row for each step, three columns, and lines that never cross a box.

Neighbours in a column are joined by a short arrow. A line that passes other rows runs beside the column, each in a lane
of its own for as long as it needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .draw import Card, Key, card_key, leaf_keys, line_key, sheet
from .places import Edge
from .svg import number, path, text

_GAP = 26.0  # between rows
_BETWEEN = 34.0  # between columns
_LANE = 10.0
_HEADER = 24.0


@dataclass(frozen=True)
class Step:
    """One row: what was computed, what it keeps, and the backward step; None where no gradient arrives."""

    forward: Card
    saved: tuple[Card, ...]
    backward: Card | None

    @property
    def height(self) -> float:
        """Of the highest of the three columns."""
        kept = sum(card.size[1] + 6 for card in self.saved) - 6
        return max(self.forward.size[1], kept, self.backward.size[1] if self.backward else 0)


def ladder(title: str, steps: Sequence[Step], edges: Sequence[Edge], notes: Sequence[str]) -> str:
    """The SVG. ``edges`` go from a step to one that uses its result, by their places in ``steps``."""
    chart = _Chart(steps, edges)
    body = [
        text(chart.left, 12, "forward, down", "soft bold"),
        text(chart.middle, 12, "saved in between", "soft bold"),
        text(chart.right, 12, "backward, up", "soft bold"),
    ]
    body += chart.lines()
    for row, step in enumerate(steps):
        body += chart.cards(row, step)
    return sheet(title, (chart.width, chart.height), body, _keys(steps), notes)


class _Chart:
    """Where the columns, rows and lanes are."""

    def __init__(self, steps: Sequence[Step], edges: Sequence[Edge]) -> None:
        self.steps, self.edges = steps, edges
        self.back_edges = [(start, end) for start, end in edges if steps[start].backward and steps[end].backward]
        self.lanes = _lanes(edges)
        self.back_lanes = _lanes(self.back_edges)
        self.left = _LANE * (1 + max(self.lanes.values(), default=-1)) + (8 if self.lanes else 0)
        self.wide = _widest([step.forward for step in steps])
        self.middle = self.left + self.wide + _BETWEEN
        self.wide_saved = max(_widest([card for step in steps for card in step.saved]), 130)
        self.right = self.middle + self.wide_saved + _BETWEEN
        self.wide_back = _widest([step.backward for step in steps if step.backward])
        lanes = _LANE * (1 + max(self.back_lanes.values(), default=-1)) + (8 if self.back_lanes else 0)
        self.width = self.right + self.wide_back + lanes
        self.tops: list[float] = []
        y = _HEADER
        for step in steps:
            self.tops.append(y)
            y += step.height + _GAP
        self.height = y - _GAP

    def centre(self, row: int) -> float:
        return self.tops[row] + self.steps[row].height / 2

    def _span(self, row: int, card: Card) -> tuple[float, float]:
        """The top and the bottom of a card that stands in the middle of its row."""
        half = card.size[1] / 2
        return self.centre(row) - half, self.centre(row) + half

    def cards(self, row: int, step: Step) -> list[str]:
        """The boxes of one row, and the arrows from left to right between them."""
        top, _ = self._span(row, step.forward)
        parts = step.forward.draw(self.left, top, self.wide)
        if step.backward:
            top, _ = self._span(row, step.backward)
            parts += step.backward.draw(self.right, top, self.wide_back)
        y = self.centre(row) - (sum(card.size[1] + 6 for card in step.saved) - 6) / 2
        for card in step.saved:
            parts += card.draw(self.middle, y, self.wide_saved)
            at = y + card.size[1] / 2
            parts.append(_arrow([(self.left + self.wide, self.centre(row)), (self.middle, at)], "arrow"))
            parts.append(_arrow([(self.middle + self.wide_saved, at), (self.right, self.centre(row))], "arrow"))
            y += card.size[1] + 6
        return parts

    def lines(self) -> list[str]:
        """The arrows of both passes, under the boxes."""
        return [self._forward(edge) for edge in self.edges] + [self._backward(edge) for edge in self.back_edges]

    def _forward(self, edge: Edge) -> str:
        start, end = edge
        style = "arrow" if self.steps[start].backward else "arrow off"
        if edge not in self.lanes:
            x = self.left + self.wide / 2
            bottom, top = self._span(start, self.steps[start].forward)[1], self._span(end, self.steps[end].forward)[0]
            return _arrow([(x, bottom), (x, top)], style)
        lane = self.left - 8 - _LANE * self.lanes[edge]
        low, high = self.centre(start) + 10, self.centre(end) - 10
        return _arrow([(self.left, low), (lane, low), (lane, high), (self.left, high)], style)

    def _backward(self, edge: Edge) -> str:
        start, end = edge
        to, since = self.steps[start].backward, self.steps[end].backward
        assert to is not None
        assert since is not None
        if edge not in self.back_lanes:
            x = self.right + self.wide_back / 2
            return _arrow([(x, self._span(end, since)[0]), (x, self._span(start, to)[1])], "arrow")
        border = self.right + self.wide_back
        lane = border + 8 + _LANE * self.back_lanes[edge]
        low, high = self.centre(end) - 10, self.centre(start) + 10
        return _arrow([(border, low), (lane, low), (lane, high), (border, high)], "arrow")


def _widest(cards: Sequence[Card]) -> float:
    return max((card.size[0] for card in cards), default=0.0)


def _lanes(edges: Sequence[Edge]) -> dict[Edge, int]:
    """The lane of each line that passes other rows: the nearest one that is free, short lines first."""
    taken: list[list[Edge]] = []
    lanes: dict[Edge, int] = {}
    for start, end in sorted(edges, key=lambda edge: (edge[1] - edge[0], edge)):
        if end - start < 2:
            continue
        fits = [all(end <= other[0] or other[1] <= start for other in lane) for lane in taken]
        lane = fits.index(True) if True in fits else len(taken)
        if lane == len(taken):
            taken.append([])
        taken[lane].append((start, end))
        lanes[start, end] = lane
    return lanes


def _arrow(points: Sequence[tuple[float, float]], style: str) -> str:
    commands = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return path(f"M{commands}", f"line {style}", 'marker-end="url(#arrow)"')


def _keys(steps: Sequence[Step]) -> list[Key]:
    """Only what is on the picture."""
    letters = {card.letter for step in steps for card in step.saved}
    styles = {card.style for step in steps for card in step.saved}
    keys = [card_key("activation: a result, kept", "box frame", "A")] if "A" in letters else []
    keys += [card_key("input", "box frame", "I")] if "I" in letters else []
    keys += leaf_keys({step.forward.letter for step in steps})
    keys += [card_key("gradient of a leaf", "box sG frame", "G")]
    keys += [card_key("a constant; or counted elsewhere, or gone", "ghost frame")] if "ghost frame" in styles else []
    keys += [line_key("no gradient comes back", "line arrow off")] if any(not step.backward for step in steps) else []
    return keys
