"""The drawing of picture 8: the boxes of the graph, and lines as wide as the gradient that comes back on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import hypot, log10

from .draw import Card, Key, curve, leaf_keys, line_key, sheet
from .fold import Drawn
from .formula import digits
from .graph import card_of
from .layout import Spacing, place
from .model import Graph
from .places import Point
from .sizes import CANCELLED, DEAD, FLOWS, NONE, NONFINITE, State
from .svg import number, path, text

_WIDEST, _THINNEST = 13.0, 1.5
_DECADES = 2.0  # that the widths span at least, so that a small difference does not look like a large one
_HEAD = 11.0
_ROOM = Spacing(beside=32, below=46)

_LETTERS = {NONE: "N", DEAD: "0", NONFINITE: "!", CANCELLED: "C"}
_MARKED = (NONE, DEAD, NONFINITE)  # what a line shows; cancelling happens where lines meet, in a box
_STYLE = (
    ".flow{fill:none;stroke-linecap:butt}.zero{stroke-width:2;stroke-dasharray:2 4}"
    ".broken{stroke-width:5;stroke-dasharray:9 3 2 3;fill:none}.badge{stroke-width:1.4}"
)


class Scale:
    """From a gradient's size to a line's width, by its logarithm."""

    def __init__(self, sizes: Sequence[float]) -> None:
        found = sorted(size for size in sizes if size > 0)
        self.high = found[-1] if found else 1.0
        self.low = found[0] if found else 1.0
        decades = log10(self.high) - log10(self.low)
        self.step = (_WIDEST - _THINNEST) / max(decades, _DECADES)

    def width(self, rms: float) -> float:
        """In pixels; never so thin that the line is lost."""
        return _THINNEST if rms <= 0 else max(_WIDEST - self.step * (log10(self.high) - log10(rms)), _THINNEST)


def river(
    title: str, model: Graph, drawn: Drawn, boxes: Sequence[State], edges: Sequence[State], notes: Sequence[str]
) -> str:
    """The SVG. ``boxes`` and ``edges`` are the states of what is drawn, in the order of ``drawn``."""
    cards = [_with_state(card_of(model, box), state) for box, state in zip(drawn.boxes, boxes, strict=True)]
    layout = place([card.size for card in cards], drawn.edges, drawn.spine, _ROOM)
    scale = Scale([state.rms for state in edges if state.kind == FLOWS])
    ways = [(points[::-1], state) for points, state in zip(layout.routes, edges, strict=True)]
    body = [line for points, state in ways for line in _edge(points, state, scale)]
    body += [line for points, state in ways if state.kind in _MARKED for line in _badge(_middle(points), state.kind)]
    for card, state, (x, y) in zip(cards, boxes, layout.corners, strict=True):
        body += card.draw(x, y)
        if state.kind in (DEAD, NONFINITE, CANCELLED):
            body += _badge((x + card.size[0], y), state.kind)
    kinds = {state.kind for state in (*boxes, *edges)}
    keys = _keys(kinds, {state.kind for state in edges}, scale)
    keys += leaf_keys({card.letter for card in cards})
    return sheet(title, (layout.width + 10, layout.height), body, keys, notes, _STYLE)


def _with_state(card: Card, state: State) -> Card:
    """The card of picture 1, with the gradient's size in place of the value's. A constant's says it already."""
    if state.kind == NONE and card.style.startswith("ghost"):
        return replace(card, under=card.under[:1])
    return replace(card, under=(*card.under[1:-1], f"gradient: {state.text}"))


def _edge(points: Sequence[Point], state: State, scale: Scale) -> list[str]:
    """One line, from a result back to an operand."""
    if state.kind == FLOWS:
        return _stream(points, scale.width(state.rms))
    if state.kind == NONE:
        return [path(curve(points), "line arrow off")]
    if state.kind == DEAD:
        return [path(curve(points), "rule flow zero")]
    if state.kind == NONFINITE:
        return [path(curve(points), "rule broken")]
    return [path(curve(points), "line arrow", 'marker-end="url(#arrow)"')]


def _stream(points: Sequence[Point], width: float) -> list[str]:
    """A line that ends in a triangle of its own width, so that wide and thin ones show the same direction."""
    (x, y), (from_x, from_y) = points[-1], points[-2]
    length = hypot(x - from_x, y - from_y) or 1.0
    along = ((x - from_x) / length, (y - from_y) / length)
    head = min(_HEAD, length)
    base = (x - along[0] * head, y - along[1] * head)
    half = width / 2 + 3.5
    side = (-along[1] * half, along[0] * half)
    corners = [(x, y), (base[0] + side[0], base[1] + side[1]), (base[0] - side[0], base[1] - side[1])]
    triangle = "L".join(f"{number(px)} {number(py)}" for px, py in corners)
    return [
        path(curve([*points[:-1], base]), "sG flow", f'stroke-width="{number(width)}"'),
        path(f"M{triangle}z", "cG"),
    ]


def _middle(points: Sequence[Point]) -> Point:
    """A point half way along: the joint in the middle of the curve, or the middle of its only part."""
    parts = (len(points) - 1) // 3
    if parts > 1:
        return points[3 * (parts // 2)]
    a, b, c, d = points[:4]
    return ((a[0] + 3 * b[0] + 3 * c[0] + d[0]) / 8, (a[1] + 3 * b[1] + 3 * c[1] + d[1]) / 8)


def _badge(at: Point, kind: str) -> list[str]:
    """The letter of a state, in a circle."""
    circle = f'<circle cx="{number(at[0])}" cy="{number(at[1])}" r="8" class="paper rule badge"/>'
    return [circle, text(at[0], at[1] + 4, _LETTERS[kind], "ink bold", "middle")]


def _keys(kinds: set[str], lines: set[str], scale: Scale) -> list[Key]:
    """Only what is on the picture."""
    keys: list[Key] = []
    for rms in dict.fromkeys((scale.high, scale.low)) if FLOWS in lines else ():
        keys.append(line_key(f"RMS {digits(rms)}", "sG flow", f'stroke-width="{number(scale.width(rms))}"'))
    if NONE in lines:
        keys.append(_badged("no gradient (None)", "line arrow off", NONE))
    if DEAD in kinds:
        keys.append(_badged("dead: every element is 0", "rule flow zero", DEAD))
    if NONFINITE in kinds:
        keys.append(_badged("inf or NaN", "rule broken", NONFINITE))
    if CANCELLED in kinds:
        keys.append(Key("".join(_badge((13, 7), CANCELLED)), "cancelled: large parts, small sum"))
    return keys


def _badged(meaning: str, style: str, kind: str) -> Key:
    return Key(path("M0 7H26", style) + "".join(_badge((13, 7), kind)), meaning)
