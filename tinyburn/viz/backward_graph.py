"""Picture 2, the backward graph: the forward pass down the left, the backward pass up the right, and between them
the buffers that the second needs from the first.

Each row is one step of the program. On the left what it computed; on the right the gradient ``g`` of its result, and
what each operand gets from it. In the middle what the operation had to keep for that, and why: the name stands in
the line on the right. A row with an empty middle keeps nothing. After ``backward()`` the middle is dashed, because
each buffer was let go right after its last use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from typing import Any

from tinyburn.base.text import amount, table, thousands
from tinyburn.tensor import Tensor

from .cards import Card, Key, arrow, card_key, fit, leaf_keys, line_key, sheet
from .fold import Box, Drawn, box_label, checked_boxes, fold, small_enough, with_notes
from .formula import count, listed
from .graph import absent_note, card_of
from .layout import Edge, Point
from .model import Graph, Name, read_graph
from .picture import Picture
from .saved import Saved, gradients_of, mark_of, own_bytes, reason_of, saved_by_operation
from .svg import polyline, text

_ROWS = 40
_LINE = 43  # characters in a line of a card
_LISTED = 4  # how many lines a box of several operations gives to each side

_GAP = 26.0  # between rows
_BETWEEN = 34.0  # between columns
_KEPT_GAP = 6  # between the buffers of one row
_LANE = 10.0
_HEADER = 24.0


def backward_graph(tensor: Tensor[Any, Any, Any], /, *, boxes: int = _ROWS, **names: Name) -> Picture:
    """The forward and the backward graph of a tensor on an Autodiff backend, and what is saved between them.

    Args and errors are those of `graph`.
    """
    model = read_graph("backward_graph", [tensor], names)
    saved = saved_by_operation(model)
    draw = lambda limit: _picture(_View(model, fold(model, limit), saved))  # noqa: E731
    return small_enough(draw, checked_boxes("backward_graph", boxes))


@dataclass(frozen=True)
class _View:
    model: Graph
    drawn: Drawn
    saved: dict[int, list[Saved]]

    def of_box(self, box: Box) -> list[Saved]:
        return [saved for number in box.items for saved in self.saved.get(number, [])]

    @property
    def unique(self) -> list[Saved]:
        """One for each buffer: two operations that keep the same memory keep one buffer."""
        return [saved for each in self.saved.values() for saved in each if not saved.again]


def _bytes(saved: Sequence[Saved]) -> int:
    return sum(each.storage.size for each in saved if not each.again)


def _picture(view: _View) -> Picture:
    notes = [note for note in (_kinds_note(view), view.drawn.note, absent_note(view.model)) if note]
    title = _title(view)
    stages = [_stage(view, box) for box in view.drawn.boxes]
    return Picture(title, with_notes(_table(view), notes), _svg(title, stages, view.drawn.edges, notes))


def _title(view: _View) -> str:
    unique = view.unique
    buffers = f"{count(len(unique), 'saved buffer')}, {amount(_bytes(unique))}{_inside(view)}"
    operations = view.model.operations
    used_up = [number for number in operations if view.model.items[number].node.edges is None]
    if used_up and len(used_up) < len(operations):
        return f"An earlier backward() has used up {len(used_up)} of {count(len(operations), 'operation')}"
    if used_up:
        found = f"used its {buffers}, and let go of them" if unique else "run; nothing was saved"
        return f"backward() has {found}"
    if not unique:
        return "Backward needs no saved buffer: no slope depends on a value"
    return f"Backward needs {buffers}{_keepers_of_nothing(view)}"


def _inside(view: _View) -> str:
    """What loops keep of their steps, which is no value of the graph."""
    items = [view.model.items[number] for number in view.model.operations]
    inside = {item.op: own_bytes(item.node) for item in items if own_bytes(item.node)}
    total = sum(own_bytes(item.node) for item in items)
    return f", and {amount(total)} of the steps inside {listed(list(inside))}" if inside else ""


def _keepers_of_nothing(view: _View) -> str:
    """The operations that keep nothing, if they are few enough for a title."""
    keeps = {view.model.items[number].op for number, saved in view.saved.items() if saved}
    free = [op for op in dict.fromkeys(view.model.items[number].op for number in view.saved) if op not in keeps]
    if not free or len(free) > 4:
        return ""
    return f"; {listed(free)} {'keeps' if len(free) == 1 else 'keep'} nothing"


def _kinds_note(view: _View) -> str:
    """Which of the buffers live longer because of the backward pass."""
    unique = view.unique
    own = _bytes([saved for saved in unique if saved.storage.is_operation])
    if all(saved.freed for saved in unique):
        return ""
    rest = _bytes(unique) - own
    held = f"; {amount(rest)} are inputs and parameters, which the program holds anyway" if rest else ""
    return f"{amount(own)} are results that stay alive for the backward pass (activations){held}"


# The table


def _table(view: _View) -> str:
    header = ("operation", "keeps", "shape", "bytes", "memory", "why", "gradient")
    boxes = [box for box in view.drawn.boxes if box.kind != "item" or box.items[0] in view.saved]
    return table(header, [row for box in boxes for row in _rows(view, box)])


def _rows(view: _View, box: Box) -> list[tuple[str, ...]]:
    saved = view.of_box(box)
    if box.kind != "item":
        kept = count(len([each for each in saved if not each.again]), "buffer")
        inside = count(len(box.items), "operation")
        return [(box_label(view.model, box), kept, "", thousands(_bytes(saved)), "", inside, "")]
    item = view.model.items[box.items[0]]
    name = f"{item.label} = {item.formula}"
    pairs = enumerate(zip_longest(saved, gradients_of(view.model, box.items[0])))
    return [
        (name if row == 0 else "", *_saved_cells(view.model, each), gradient or "") for row, (each, gradient) in pairs
    ]


def _saved_cells(model: Graph, saved: Saved | None) -> tuple[str, ...]:
    if saved is None:
        return ("", "", "", "", "")
    item, storage = saved.item, saved.storage
    words = [mark_of(storage).name]
    words += [f"a view of {storage.label}"] if storage is not item else []
    words += ["counted above"] if saved.again else []
    words += ["gone"] if saved.freed else []
    return (item.label, str(item.shape), thousands(item.size), ", ".join(words), reason_of(model, saved))


# The cards


@dataclass(frozen=True)
class Stage:
    """One row: what was computed, what it keeps, and the backward step; None where no gradient arrives."""

    forward: Card
    saved: tuple[Card, ...]
    backward: Card | None

    @property
    def saved_height(self) -> float:
        """Of the middle column."""
        return sum(card.size[1] + _KEPT_GAP for card in self.saved) - _KEPT_GAP

    @property
    def backward_height(self) -> float:
        """Of the right column."""
        return self.backward.size[1] if self.backward else 0

    @property
    def height(self) -> float:
        """Of the highest of the three columns."""
        return max(self.forward.size[1], self.saved_height, self.backward_height)


def _stage(view: _View, box: Box) -> Stage:
    last = view.model.items[box.items[-1]]
    forward = card_of(view.model, box)
    if box.kind != "item":
        return Stage(forward, _group_saved(view, box), _group_backward(view, box))
    if last.is_operation:
        saved = tuple(_saved_card(view.model, each) for each in view.of_box(box))
        return Stage(forward, saved, _backward_card(view.model, box.items[0]))
    if last.gets_gradient:
        return Stage(forward, (), Card(*fit("gradient of", last.label), (last.summary,), "G", "box sG frame"))
    return Stage(forward, (), None)


def _saved_card(model: Graph, saved: Saved) -> Card:
    item, storage = saved.item, saved.storage
    lines = [reason_of(model, saved)] + ([f"a view of {storage.label}"] if storage is not item else [])
    if saved.freed:
        lines.append("gone: backward() has used it")
    elif saved.again:
        lines.append("kept already: counts once")
    letter, style = ("", "ghost frame") if saved.again or saved.freed else (mark_of(storage).letter, "box frame")
    return Card(*fit(item.label, f"{item.shape} {amount(item.size)}"), _wrapped(lines), letter, style)


def _backward_card(model: Graph, number: int) -> Card:
    item = model.items[number]
    start = ", starts as ones" if item is model.root else ""
    return Card(*fit("g", f"= gradient of {item.label}{start}"), _wrapped(gradients_of(model, number)))


def _wrapped(lines: Iterable[str]) -> tuple[str, ...]:
    """At most two lines of a card for each; the text form of the picture has the rest."""
    wrapped: list[str] = []
    for line in lines:
        parts = wrap(line, _LINE, subsequent_indent="  ") or [""]
        wrapped += parts if len(parts) < 3 else [parts[0], fit(f"{parts[1]} …", "", _LINE)[0]]
    return tuple(wrapped)


def _group_saved(view: _View, box: Box) -> tuple[Card, ...]:
    saved = [each for each in view.of_box(box) if not each.again]
    if not saved:
        return ()
    marks = [mark_of(each.storage).letter for each in saved]
    lines = [
        f"{letter} {fit(each.item.label, '', 24)[0]} {amount(each.storage.size)}"
        for letter, each in zip(marks, saved, strict=True)
    ]
    freed = all(each.freed for each in saved)
    under = _shortened(lines, "") + (("gone: backward() has used them",) if freed else ())
    letter = marks[0] if len(set(marks)) == 1 and not freed else ""
    head = (count(len(saved), "buffer"), amount(_bytes(saved)))
    return (Card(*head, under, letter, "ghost frame" if freed else "box frame", stacked=len(saved) > 1),)


def _group_backward(view: _View, box: Box) -> Card:
    leaves = [view.model.items[leaf] for leaf in box.leaves]
    gets = [fit(f"{leaf.label} gets its gradient")[0] for leaf in leaves if leaf.gets_gradient]
    under = (f"{count(len(box.items), 'operation')}, last to first", *_shortened(gets, " leaves"))
    return Card("g", "= gradient of the output", under, stacked=True)


def _shortened(lines: list[str], noun: str) -> tuple[str, ...]:
    """As many as there is room for; the last then says how many more there are."""
    left_out = len(lines) - _LISTED
    return tuple(lines if left_out <= 0 else [*lines[: _LISTED - 1], f"and {left_out + 1} more{noun}"])


# The drawing: three columns, and lines that never cross a box


def _svg(title: str, stages: Sequence[Stage], edges: Sequence[Edge], notes: Sequence[str]) -> str:
    """The SVG. ``edges`` go from a stage to one that uses its result, by their numbers."""
    frame = _Frame(stages, edges)
    heads = {"forward, down": frame.left, "saved in between": frame.middle, "backward, up": frame.right}
    body = [text(x, 12, head, "soft bold") for head, x in heads.items()] + frame.lines()
    for row in range(len(stages)):
        body += frame.cards(row)
    return sheet(title, (frame.width, frame.height), body, _keys(stages), notes)


class _Frame:
    """Where the columns and rows are, and the lanes.

    Neighbours in a column are joined by a short arrow. A line that passes other rows runs beside the column, each in a
    lane of its own for as long as it needs it.
    """

    def __init__(self, stages: Sequence[Stage], edges: Sequence[Edge]) -> None:
        self.stages, self.edges = stages, edges
        self.back_edges = [(start, end) for start, end in edges if stages[start].backward and stages[end].backward]
        self.lanes, self.back_lanes = _lanes(edges), _lanes(self.back_edges)
        self.left = _room(self.lanes)
        self.wide = _widest([stage.forward for stage in stages])
        self.middle = self.left + self.wide + _BETWEEN
        self.wide_saved = max(_widest([card for stage in stages for card in stage.saved]), 130)
        self.right = self.middle + self.wide_saved + _BETWEEN
        self.wide_back = _widest([stage.backward for stage in stages if stage.backward])
        self.width = self.right + self.wide_back + _room(self.back_lanes)
        self.tops = [_HEADER]
        for stage in stages:
            self.tops.append(self.tops[-1] + stage.height + _GAP)
        self.height = self.tops[-1] - _GAP

    def centre(self, row: int) -> float:
        return self.tops[row] + self.stages[row].height / 2

    def cards(self, row: int) -> list[str]:
        """The boxes of one row, and the arrows from left to right between them."""
        stage, centre = self.stages[row], self.centre(row)
        parts = stage.forward.draw(self.left, centre - stage.forward.size[1] / 2, self.wide)
        if stage.backward:
            parts += stage.backward.draw(self.right, centre - stage.backward_height / 2, self.wide_back)
        y = centre - stage.saved_height / 2
        for card in stage.saved:
            parts += card.draw(self.middle, y, self.wide_saved)
            at = y + card.size[1] / 2
            parts.append(arrow(polyline([(self.left + self.wide, centre), (self.middle, at)])))
            parts.append(arrow(polyline([(self.middle + self.wide_saved, at), (self.right, centre)])))
            y += card.size[1] + _KEPT_GAP
        return parts

    def lines(self) -> list[str]:
        """The arrows of both passes, under the boxes. Those of the backward pass are walked from the end."""
        drawn: list[str] = []
        heights = [stage.forward.size[1] for stage in self.stages]
        for edge in self.edges:
            lane = self.left - 8 - _LANE * self.lanes[edge] if edge in self.lanes else None
            points = self._way(edge, heights, self.left + self.wide / 2, self.left, lane)
            drawn.append(arrow(polyline(points), is_dashed=not self.stages[edge[0]].backward))
        heights = [stage.backward_height for stage in self.stages]
        border = self.right + self.wide_back
        for edge in self.back_edges:
            lane = border + 8 + _LANE * self.back_lanes[edge] if edge in self.back_lanes else None
            points = self._way(edge, heights, self.right + self.wide_back / 2, border, lane)
            drawn.append(arrow(polyline(points[::-1])))
        return drawn

    def _way(self, edge: Edge, heights: list[float], middle: float, border: float, lane: float | None) -> list[Point]:
        """Down from one card of a column to another: straight to a neighbour, or else along a lane."""
        start, end = edge
        if lane is None:
            bottom, top = self.centre(start) + heights[start] / 2, self.centre(end) - heights[end] / 2
            return [(middle, bottom), (middle, top)]
        low, high = self.centre(start) + 10, self.centre(end) - 10
        return [(border, low), (lane, low), (lane, high), (border, high)]


def _widest(cards: Sequence[Card]) -> float:
    return max((card.size[0] for card in cards), default=0.0)


def _room(lanes: dict[Edge, int]) -> float:
    return _LANE * (1 + max(lanes.values())) + 8 if lanes else 0


def _lanes(edges: Sequence[Edge]) -> dict[Edge, int]:
    """The lane of each line that passes other rows: the nearest one that is free, short lines first."""
    lanes: dict[Edge, int] = {}
    for start, end in sorted(edges, key=lambda edge: (edge[1] - edge[0], edge)):
        if end - start > 1:
            taken = {lane for (first, last), lane in lanes.items() if first < end and start < last}
            lanes[start, end] = min(set(range(len(taken) + 1)) - taken)
    return lanes


def _keys(stages: Sequence[Stage]) -> list[Key]:
    """Only what is on the picture."""
    letters = {card.letter for stage in stages for card in stage.saved}
    styles = {card.style for stage in stages for card in stage.saved}
    keys = [card_key("activation: a result, kept", "box frame", "A")] if "A" in letters else []
    keys += [card_key("input", "box frame", "I")] if "I" in letters else []
    keys += leaf_keys({stage.forward.letter for stage in stages})
    keys += [card_key("gradient of a leaf", "box sG frame", "G")]
    keys += [card_key("a constant; or counted elsewhere, or gone", "ghost frame")] if "ghost frame" in styles else []
    keys += (
        [line_key("no gradient comes back", "line arrow off")] if any(not stage.backward for stage in stages) else []
    )
    return keys
