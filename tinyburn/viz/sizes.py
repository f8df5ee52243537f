"""How the gradient fares on each part of its way: the data of picture 8.

Six states are told apart, because each has another cause and another cure:

    flows        an ordinary gradient
    none         no gradient comes here: a constant, or a way that has no derivative. This is not zero.
    dead         a gradient arrives, and every element is exactly 0
    cancelled    large parts arrive, and their sum is a thousand times smaller
    non-finite   at least one element is inf or NaN
    unknown      it was not recorded
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from tinyburn.autodiff import Gradients
from tinyburn.autodiff.flow import Flow, Size, measure_size
from tinyburn.base.text import thousands

from .fold import Box, Drawn
from .formula import count, digits
from .model import Graph

FLOWS, NONE, DEAD, CANCELLED, NONFINITE, UNKNOWN = "flows", "none", "dead", "cancelled", "non-finite", "unknown"
_WORST_FIRST = (NONFINITE, CANCELLED, DEAD, FLOWS, UNKNOWN, NONE)
_CANCELS = 1e-3  # the sum over its largest part


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
        words = {
            NONE: "no gradient",
            DEAD: "all zeros",
            CANCELLED: "cancelled",
            UNKNOWN: "not recorded",
            NONFINITE: self.remark,
        }
        if self.kind in words:
            return words[self.kind] + (f", {self.share}" if self.share else "")
        return f"RMS {digits(self.rms)}" + (f", {self.remark}" if self.remark else "")


def item_states(graph: Graph, grads: Gradients[Any]) -> list[State]:
    """The gradient of each item's value: of every result if the flow was recorded, else of the leaves alone."""
    if grads.flow is None:
        return [_leaf_state(graph, number, grads) for number in range(len(graph.items))]
    parts = _parts(graph, grads.flow)
    return [_item_state(graph, number, grads.flow, parts[number]) for number in range(len(graph.items))]


def _leaf_state(graph: Graph, number: int, grads: Gradients[Any]) -> State:
    item = graph.items[number]
    if not item.gets_gradient:
        return State(NONE)
    gradient = None if item.is_operation else grads.of_node(item.node)
    if gradient is None:
        return State(UNKNOWN if item.is_operation else NONE)
    return state_of(measure_size(gradient), prod(item.shape))


def _parts(graph: Graph, flow: Flow) -> list[list[Size]]:
    """For each item the sizes of what arrives from each of its users."""
    parts: list[list[Size]] = [[] for _ in graph.items]
    for item in graph.items:
        for parent in dict.fromkeys(item.parents):
            parts[parent] += flow.edges.get((item.node, graph.items[parent].node), [])
    return parts


def _item_state(graph: Graph, number: int, flow: Flow, parts: list[Size]) -> State:
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


def state_of(size: Size, elements: int) -> State:
    """The state of one gradient by itself."""
    if size.nonfinite:
        return State(NONFINITE, size.rms, f"{size.nonfinite} of {count(elements, 'element')} inf or NaN")
    if not elements:
        return State(FLOWS, 0.0, "no elements")
    if size.zeros == 1:
        return State(DEAD)
    share = f"{digits(100 * size.zeros)} % zeros" if size.zeros else ""
    return State(FLOWS, size.rms, share)


def worst(states: Iterable[State]) -> State:
    """The one that a reader should hear of first; the largest of those that flow."""
    return min(states, key=lambda state: (_WORST_FIRST.index(state.kind), -state.rms), default=State(UNKNOWN))


def box_state(box: Box, states: Sequence[State]) -> State:
    """Of a box's result; if something goes wrong inside a box of several, that."""
    inside = worst(states[number] for number in box.items)
    if inside.kind == FLOWS or len(box.items) == 1:
        return states[box.items[-1]]
    same = sum(states[number].kind == inside.kind for number in box.items)
    return replace(inside, share=f"{thousands(same)} of {thousands(len(box.items))} inside")


def edge_states(graph: Graph, drawn: Drawn, flow: Flow | None) -> list[State]:
    """For each drawn edge what comes back on it."""
    found: dict[tuple[int, int], list[State]] = {edge: [] for edge in drawn.edges}
    for number, item in enumerate(graph.items):
        for parent in dict.fromkeys(item.parents):
            edge = (drawn.box_of[parent], drawn.box_of[number])
            if edge in found:
                found[edge] += _edge_state(graph, number, parent, flow)
    return [worst(found[edge]) for edge in drawn.edges]


def _edge_state(graph: Graph, number: int, parent: int, flow: Flow | None) -> list[State]:
    target = graph.items[parent]
    if not target.gets_gradient:
        return [State(NONE)]
    if flow is None:
        return [State(UNKNOWN)]
    sizes = flow.edges.get((graph.items[number].node, target.node), [])
    return [state_of(size, prod(target.shape)) for size in sizes] or [State(NONE)]
