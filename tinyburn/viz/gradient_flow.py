"""Picture 8, the gradient flow: how large the gradient is on its way from the loss back to every leaf.

The boxes stand as in picture 1, and the gradient runs up. The wider a line, the larger the gradient there; each step
of width is a factor, not a difference, because a gradient that shrinks does so by factors. Where it stops being
useful the line changes its form and gets a letter. Six states are told apart, because each has another cause and
another cure:

    flows           an ordinary gradient
    none         N  no gradient comes here: a constant, or a way that has no derivative. This is not zero.
    dead         0  a gradient arrives, and every element is exactly 0
    cancelled    C  large parts arrive, and their sum is a thousand times smaller. It happens in a box.
    non-finite   !  at least one element is inf or NaN
    unknown         it was not recorded
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import hypot, isfinite, log, log10, prod
from typing import Any

from tinyburn.autodiff import Gradients
from tinyburn.autodiff.observer import Flow, GradientSize, measure_size
from tinyburn.base.text import table, thousands
from tinyburn.tensor import Tensor

from .cards import Card, Key, arrow, curve, leaf_keys, line_key, sheet
from .fold import LIMIT, Box, Drawn, box_words, checked_boxes, fold, small_enough, with_notes
from .formula import count, digits, listed
from .graph import absent_note, card_of, tips_over
from .layout import Point, Spacing, arrange
from .model import Graph, Item, Name, check_gradients, read_graph
from .picture import Picture
from .svg import circle, number, path, polyline, text

FLOWS, NONE, DEAD, CANCELLED, NONFINITE, UNKNOWN = "flows", "none", "dead", "cancelled", "non-finite", "unknown"
_WORST_FIRST = (NONFINITE, CANCELLED, DEAD, FLOWS, UNKNOWN, NONE)
_CANCELS = 1e-3  # the sum over its largest part
_SAME = 1.05  # within this factor a gradient has kept its size
_HOW = "for the way between the loss and the leaves, record it: loss.backward(record_flow=True)"

_WIDEST, _THINNEST = 13.0, 1.5
_DECADES = 2.0  # that the widths span at least, so that a small difference does not look like a large one
_HEAD = 11.0
_ROOM = Spacing(beside=32, below=46)
_LETTERS = {NONE: "N", DEAD: "0", NONFINITE: "!", CANCELLED: "C"}
_LINES = {NONE: "line arrow off", DEAD: "rule flow zero", NONFINITE: "rule broken"}
"""The lines that have a letter; cancelling happens where lines meet, in a box."""
_STYLE = (
    ".flow{fill:none;stroke-linecap:butt}.zero{stroke-width:2;stroke-dasharray:2 4}"
    ".broken{stroke-width:5;stroke-dasharray:9 3 2 3;fill:none}.badge{stroke-width:1.4}"
    ".halo{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}"
)


def gradient_flow(
    tensor: Tensor[Any, Any, Any], grads: Gradients[Any], /, *, boxes: int = LIMIT, **names: Name
) -> Picture:
    """The size of every gradient between a tensor and its leaves.

    Args:
        tensor: the one whose ``backward()`` gave ``grads``.
        grads: what ``backward(record_flow=True)`` returned; without that, only the leaves have sizes.
        boxes: how many boxes of operations to draw at most, as for `graph`.
        names: labels, as for `graph`.

    Raises:
        ConfigError: ``grads`` is no Gradients, or a name for something that is no Tensor, Param or Module.
        BackendMismatch: the tensor, or a named one, is not on an Autodiff backend.
        GraphError: the tensor is untracked, or ``grads`` comes from another one.
    """
    model = read_graph("gradient_flow", [tensor], names)
    check_gradients("gradient_flow", model, grads)
    states = item_states(model, grads)
    draw = lambda limit: _picture(model, fold(model, limit), states, grads.flow)  # noqa: E731
    return small_enough(draw, checked_boxes("gradient_flow", boxes))


def _picture(model: Graph, drawn: Drawn, states: Sequence[State], flow: Flow | None) -> Picture:
    boxes = [box_state(box, states) for box in drawn.boxes]
    edges = edge_states(model, drawn, flow)
    absent = f"{absent_note(model)}: no gradient (None), which is not zero" if model.absent else ""
    notes = [note for note in (_HOW if flow is None else "", drawn.note, absent) if note]
    title = _title(model, states, flow is not None)
    rows = _rows(model, drawn, boxes)
    svg = _svg(title, model, drawn, boxes, edges, rows, notes)
    return Picture(title, with_notes(table(_HEADER, rows[::-1]), notes), svg)


_HEADER = ("name", "operation", "formula", "shape", "gradient", "RMS", "remark", "module")


# The states


@dataclass(frozen=True)
class State:
    """Of a gradient, or of the part of one that takes one way.

    Attributes:
        kind: one of the six above.
        rms: the root of the mean of the squares; 0 where there is no number.
        remark: what else there is to say.
        share: of a box of several operations, for how many of them this holds.
    """

    kind: str
    rms: float = 0.0
    remark: str = ""
    share: str = ""

    @property
    def text(self) -> str:
        """In a few words."""
        if self.kind == FLOWS:
            return f"RMS {digits(self.rms)}" + (f", {self.remark}" if self.remark else "")
        words = {NONE: "no gradient", DEAD: "all zeros", UNKNOWN: "not recorded", NONFINITE: self.remark}
        return words.get(self.kind, self.kind) + (f", {self.share}" if self.share else "")


def item_states(graph: Graph, grads: Gradients[Any]) -> list[State]:
    """The gradient of each item's value: of every result if the flow was recorded, else of the leaves alone."""
    if grads.flow is None:
        return [_leaf_state(graph, number, grads) for number in range(len(graph.items))]
    parts: list[list[GradientSize]] = [[] for _ in graph.items]  # for each item what arrives from each of its users
    for item in graph.items:
        for parent in dict.fromkeys(item.parents):
            parts[parent] += grads.flow.parts.get((item.node, graph.items[parent].node), [])
    return [_item_state(graph, number, grads.flow, parts[number]) for number in range(len(graph.items))]


def _leaf_state(graph: Graph, number: int, grads: Gradients[Any]) -> State:
    item = graph.items[number]
    if item.is_operation:
        return State(UNKNOWN)
    gradient = grads.of_node(item.node) if item.gets_gradient else None
    return State(NONE) if gradient is None else state_of(measure_size(gradient), prod(item.shape))


def _item_state(graph: Graph, number: int, flow: Flow, parts: list[GradientSize]) -> State:
    item = graph.items[number]
    size = flow.nodes.get(item.node)
    if size is None:
        return State(NONE)
    largest = max((part.rms for part in parts), default=0.0)
    is_finite = not size.nonfinite and not any(part.nonfinite for part in parts)
    if len(parts) > 1 and is_finite and size.rms < _CANCELS * largest:
        remark = f"{len(parts)} parts of up to {digits(largest)} (RMS) add up to less than a thousandth"
        return State(CANCELLED, 0.0, remark)  # what is left is rounding: its digits would differ between machines
    return state_of(size, prod(item.shape))


def state_of(size: GradientSize, elements: int) -> State:
    """The state of one gradient by itself."""
    if size.nonfinite:
        return State(NONFINITE, size.rms, f"{size.nonfinite} of {count(elements, 'element')} inf or NaN")
    if not elements:
        return State(FLOWS, 0.0, "no elements")
    if size.zeros == 1:
        return State(DEAD)
    return State(FLOWS, size.rms, f"{digits(100 * size.zeros)} % zeros" if size.zeros else "")


def worst(states: Iterable[State]) -> State:
    """The one that a reader should hear of first; the largest of those that flow."""
    return min(states, key=lambda state: (_WORST_FIRST.index(state.kind), -state.rms), default=State(UNKNOWN))


def box_state(box: Box, states: Sequence[State]) -> State:
    """What a box shows: the state of its result, unless an operation inside a box of several is worse off."""
    inside = worst(states[number] for number in box.items)
    if inside.kind == FLOWS or len(box.items) == 1:
        return states[box.items[-1]]
    same = sum(states[number].kind == inside.kind for number in box.items)
    return replace(inside, share=f"{thousands(same)} of {thousands(len(box.items))} inside")


def edge_states(graph: Graph, drawn: Drawn, flow: Flow | None) -> list[State]:
    """For each drawn edge what comes back on it."""
    found: dict[tuple[int, int], list[State]] = {edge: [] for edge in drawn.edges}
    for item, box in zip(graph.items, drawn.box_of, strict=True):
        for parent in dict.fromkeys(item.parents):
            edge = (drawn.box_of[parent], box)
            if edge in found:
                found[edge] += _edge_state(item, graph.items[parent], flow)
    return [worst(found[edge]) for edge in drawn.edges]


def _edge_state(item: Item, operand: Item, flow: Flow | None) -> list[State]:
    if not operand.gets_gradient:
        return [State(NONE)]
    if flow is None:
        return [State(UNKNOWN)]
    size = flow.edges.get((item.node, operand.node))
    return [State(NONE)] if size is None else [state_of(size, prod(operand.shape))]


# The title: the worst that happens, else where the gradient changes most


def _title(model: Graph, states: Sequence[State], is_recorded: bool) -> str:
    labels = [item.label for item in model.items]
    tracked = [leaf for leaf in model.leaves if model.items[leaf].gets_gradient]
    for label, state in zip(reversed(labels), reversed(states), strict=True):
        if state.kind == NONFINITE:
            return f"Gradient stops being finite at {label}: {state.text}"
    for kind, words in ((CANCELLED, "Gradient cancels at"), (DEAD, "Only zeros arrive at")):
        leaves = [labels[leaf] for leaf in tracked if states[leaf].kind == kind]
        if leaves:
            return f"{words} {listed(leaves)}{_cause(model, states, kind)}"
    if is_recorded:
        return _change(model, states, tracked)
    sizes = [f"{labels[leaf]} {digits(states[leaf].rms)}" for leaf in tracked if states[leaf].kind == FLOWS]
    return f"Gradient sizes (RMS): {listed(sizes)}" if sizes else "No gradient is left to show"


def _cause(model: Graph, states: Sequence[State], kind: str) -> str:
    """Where zeros start on the way back, or what it is that cancels."""
    if kind == CANCELLED:
        return f": {next(state.remark for state in states if state.kind == CANCELLED)}"
    dead = [number for number in model.operations if states[number].kind == DEAD]
    return f": all zeros from {model.items[dead[-1]].label} on" if dead else ""


def _change(model: Graph, states: Sequence[State], tracked: Sequence[int]) -> str:
    start = states[-1].rms
    factors = {leaf: states[leaf].rms / start for leaf in tracked if start and states[leaf].rms}
    factors = {leaf: factor for leaf, factor in factors.items() if factor and isfinite(factor)}
    if not factors:
        return f"Gradient of {model.root.label}: RMS {digits(start)}"
    leaf = max(factors, key=lambda number: abs(log(factors[number])))
    ends = f"between {model.root.label} and {model.items[leaf].label}"
    if 1 / _SAME <= factors[leaf] <= _SAME:
        return f"Gradient keeps its size, {digits(start)} (RMS), {ends}"
    verb = "grows" if factors[leaf] > 1 else "shrinks"
    return f"Gradient {verb} from {digits(start)} to {digits(states[leaf].rms)} (RMS) {ends}"


def _rows(model: Graph, drawn: Drawn, states: Sequence[State]) -> list[tuple[str, ...]]:
    """What the table says of each box; it begins with the last of them, as the gradient does."""
    rows: list[tuple[str, ...]] = []
    for box, state in zip(drawn.boxes, states, strict=True):
        rms = {FLOWS: digits(state.rms), DEAD: "0"}.get(state.kind, "")
        remark = "; ".join(part for part in (state.share, state.remark) if part)
        rows.append((*box_words(model, box), state.kind, rms, remark, model.items[box.items[-1]].path))
    return rows


# The drawing: the boxes of the graph, and lines as wide as the gradient that comes back on them


class Widths:
    """From a gradient's size to a line's width, by its logarithm."""

    def __init__(self, sizes: Sequence[float]) -> None:
        found = [size for size in sizes if size > 0]
        self.high, self.low = max(found, default=1.0), min(found, default=1.0)
        decades = log10(self.high) - log10(self.low)
        self.step = (_WIDEST - _THINNEST) / max(decades, _DECADES)

    def __repr__(self) -> str:
        return f"Widths(step={self.step:.3g})"

    def of(self, rms: float) -> float:
        """In pixels; never so thin that the line is lost."""
        return _THINNEST if rms <= 0 else max(_WIDEST - self.step * (log10(self.high) - log10(rms)), _THINNEST)


def _svg(
    title: str,
    model: Graph,
    drawn: Drawn,
    boxes: Sequence[State],
    edges: Sequence[State],
    rows: Sequence[Sequence[str]],
    notes: Sequence[str],
) -> str:
    """``boxes`` and ``edges`` are the states of what is drawn, in the order of ``drawn``."""
    cards = [_with_state(card_of(model, box), state) for box, state in zip(drawn.boxes, boxes, strict=True)]
    layout = arrange([card.size for card in cards], drawn.edges, drawn.spine, _ROOM)
    widths = Widths([state.rms for state in edges if state.kind == FLOWS])
    ways = [(points[::-1], state.kind, state.rms) for points, state in zip(layout.routes, edges, strict=True)]
    body = [line for points, kind, rms in ways for line in _line(points, kind, widths.of(rms))]
    body += [part for points, kind, _ in ways if kind in _LINES for part in _badge(_middle(points), kind)]
    arrives = [boxes[start].rms for start, _ in drawn.edges]
    for (points, kind, rms), whole in zip(ways, arrives, strict=True):
        if kind == FLOWS:
            body += _size(points, rms, widths.of(rms), is_said=digits(rms) == digits(whole))
    for card, state, (x, y) in zip(cards, boxes, layout.corners, strict=True):
        body += card.draw(x, y)
        if state.kind in (DEAD, NONFINITE, CANCELLED):
            body += _badge((x + card.size[0], y), state.kind)
    on_lines = {kind for _, kind, _ in ways}
    keys = _keys(on_lines | {state.kind for state in boxes}, on_lines, widths)
    keys += leaf_keys({card.letter for card in cards})
    tips = tips_over(cards, layout.corners, _HEADER, rows)
    return sheet(title, (layout.width + 10, layout.height), body, keys, notes, _STYLE, tips=tips)


def _with_state(card: Card, state: State) -> Card:
    """The card of picture 1, with the gradient's size in place of the value's. A constant's says it already."""
    if state.kind == NONE and card.style.startswith("ghost"):
        return replace(card, under=card.under[:1])
    kept = card.under[1:] if card.letter else ()  # of a leaf, that it is shared
    return replace(card, under=(*kept, f"gradient: {state.text}"))


def _line(points: Sequence[Point], kind: str, width: float) -> list[str]:
    """From a result back to an operand."""
    if kind == FLOWS:
        return _stream(points, width)
    return [path(curve(points), _LINES[kind])] if kind in _LINES else [arrow(curve(points))]


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
    line = path(curve([*points[:-1], base]), "sG flow", f'stroke-width="{number(width)}"')
    return [line, path(f"{polyline(corners)}z", "cG")]


def _middle(points: Sequence[Point]) -> Point:
    """A point half way along: the joint in the middle of the curve, or the middle of its only part."""
    parts = (len(points) - 1) // 3
    if parts > 1:
        return points[3 * (parts // 2)]
    a, b, c, d = points[:4]
    return ((a[0] + 3 * b[0] + 3 * c[0] + d[0]) / 8, (a[1] + 3 * b[1] + 3 * c[1] + d[1]) / 8)


def _size(points: Sequence[Point], rms: float, width: float, is_said: bool) -> list[str]:
    """The number of a line: on its right, or above it where it runs across. There, among others, it is left out if the
    box where the line ends has the same number."""
    x, y = _middle(points)
    (start_x, start_y), (end_x, end_y) = points[0], points[-1]
    if len(points) == 4 and abs(end_x - start_x) > 2 * abs(end_y - start_y):
        return [] if is_said else [text(x, y - width / 2 - 5, digits(rms), "ink gap halo", "middle")]
    return [text(x + width / 2 + 4, y + 4, digits(rms), "ink gap halo")]


def _badge(at: Point, kind: str) -> list[str]:
    """The letter of a state, in a circle."""
    return [circle(*at, 8, "paper rule badge"), text(at[0], at[1] + 4, _LETTERS[kind], "ink bold", "middle")]


def _keys(kinds: set[str], on_lines: set[str], widths: Widths) -> list[Key]:
    """Only what is on the picture."""
    keys: list[Key] = []
    for rms in dict.fromkeys((widths.high, widths.low)) if FLOWS in on_lines else ():
        keys.append(line_key(f"RMS {digits(rms)}", "sG flow", f'stroke-width="{number(widths.of(rms))}"'))
    meanings = {NONE: "no gradient (None)", DEAD: "dead: every element is 0", NONFINITE: "inf or NaN"}
    meanings[CANCELLED] = "cancelled: large parts, small sum"
    for kind, meaning in meanings.items():
        if kind in (on_lines if kind == NONE else kinds):  # a constant's card says by itself that it has none
            line = path("M0 7H26", _LINES[kind]) if kind in _LINES else ""
            keys.append(Key(line + "".join(_badge((13, 7), kind)), meaning))
    return keys
