"""What is done beside a backward pass, if anybody wants it.

Results are computed again from their recipes; a listening backend hears which operation's rules run, and which saves
end; the sizes of the gradients are noted for the pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import Token
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyburn.backend.interface import Backend
from tinyburn.backend.log import Role
from tinyburn.base.scope import Scope, enter

from .nodes import Node, ends_graph, note_kept
from .recipes import Recipe
from .rules import AnyTensor, Rule


@dataclass(frozen=True)
class GradientSize:
    """The size of one gradient.

    Attributes:
        rms: the root of the mean of the squares of its finite elements, in float64.
        zeros: the share of elements that are exactly 0.
        nonfinite: how many elements are inf or NaN.
    """

    rms: float
    zeros: float
    nonfinite: int


def measure_size(gradient: AnyTensor) -> GradientSize:
    """The size of one gradient; reads its values, so it waits for the device."""
    return size_of(gradient.to_numpy().astype(np.float64))


def size_of(values: np.ndarray[Any, Any]) -> GradientSize:
    """The size of some numbers in float64."""
    finite = values[np.isfinite(values)]
    scale = np.abs(finite).max(initial=0.0) or 1.0  # squares of very small or large numbers would leave the range
    rms = float(scale * np.sqrt(np.mean((finite / scale) ** 2))) if finite.size else 0.0
    zeros = float(np.mean(values == 0)) if values.size else 0.0
    return GradientSize(rms, zeros, values.size - finite.size)


class Flow:
    """The sizes of the gradients of one walk.

    Attributes:
        nodes: of the whole gradient that has arrived at a node.
        parts: of each part of it, by child and parent. A child that uses its parent twice gives two.
        edges: of what a child gives its parent in all.
    """

    def __init__(self) -> None:
        self.nodes: dict[Node, GradientSize] = {}
        self.parts: dict[tuple[Node, Node], list[GradientSize]] = {}
        self.edges: dict[tuple[Node, Node], GradientSize] = {}
        self._giving: tuple[Node | None, dict[Node, np.ndarray[Any, Any]]] = None, {}

    def add(self, node: Node, parent: Node, part: AnyTensor) -> None:
        """Notes a part. What a child has given so far is copied: the walk may write over it."""
        if self._giving[0] is not node:
            self._giving = node, {}
        given, values = self._giving[1], part.to_numpy().astype(np.float64)
        given[parent] = given[parent] + values if parent in given else values
        self.parts.setdefault((node, parent), []).append(size_of(values))
        self.edges[node, parent] = size_of(given[parent])

    def finish(self) -> None:
        """Lets the copies go."""
        self._giving = None, {}

    def __repr__(self) -> str:
        return f"Flow({len(self.nodes)} gradients)"


def observe(backend: Any, flow: Flow | None, *, keeps_graph: bool, is_part: bool = False) -> Observer | None:
    """The observer of a walk on an Autodiff backend; None if there is nothing beside the walk to be done."""
    needed = backend.inner.observed or flow is not None or not backend.keeps_all
    return Observer(backend.inner, flow, keeps_graph, is_part) if needed else None


class Observer:
    """Goes along with a walk.

    Args:
        inner: the backend that the walk runs on.
        flow: where to note sizes; None for nowhere.
        keeps_graph: no save ends with this walk.
        is_part: the walk is inside another one, that of a segment: what is no leaf gets only a part of its gradient.
    """

    def __init__(self, inner: type[Backend], flow: Flow | None, keeps_graph: bool, is_part: bool) -> None:
        self._inner, self._flow, self._keeps_graph, self._is_part = inner, flow, keeps_graph, is_part

    def __repr__(self) -> str:
        return "Observer()"

    def keep(self, node: Node, g: AnyTensor) -> None:
        """The whole gradient of a leaf is there, or of another node that it is kept for."""
        if self._flow is not None:
            self._flow.nodes[node] = measure_size(g)
        if ends_graph(node) or not (self._is_part or node.is_leaf):
            self._inner.note(g.primitive, "gradient")
        self._mark("gradient", node, g)

    def arrive(self, node: Node, g: AnyTensor) -> Token[Scope]:
        """The rules of a node run from now on: for the log, its operation is the phase, and its module the path.

        Hand the token to `scope.leave`, in a ``finally``.
        """
        if self._flow is not None:
            self._flow.nodes[node] = measure_size(g)
        self._inner.note(g.primitive, "phase", f"backward {node.op}")
        self._mark("gradient", node, g)
        return enter(node.path if self._inner.observed else "")

    def values(self, saved: Sequence[Any]) -> list[Any]:
        """What a rule has saved, with the values of recipes."""
        return [x.call() if type(x) is Recipe else x for x in saved]

    def follow_edge(self, node: Node, rule: Rule, saved: Sequence[Any], parent: Node, part: AnyTensor) -> None:
        """A rule has run, and what it had saved is about to go."""
        self._note_leaf(parent, part)
        self._mark("part", parent, part)
        if self._inner.observed and not self._keeps_graph:
            note_kept(self._inner, "release", node, rule, saved)
        if self._flow is not None:
            self._flow.add(node, parent, part)

    def collect(self, node: Node, g: AnyTensor) -> None:
        """A part of a node's gradient was added to those before."""
        self._note_leaf(node, g)
        self._mark("sum", node, g)

    def _note_leaf(self, node: Node, g: AnyTensor) -> None:
        """A gradient of a node has been written. A leaf's is one from now on, and not only when all of it is there."""
        if ends_graph(node):
            self._inner.note(g.primitive, "gradient")

    def _mark(self, role: Role, node: Node, g: AnyTensor) -> None:
        """Says whose gradient it is. Inside a segment the nodes are not those of the graph, and last no longer."""
        if self._inner.observed and not self._is_part:
            self._inner.note(g.primitive, "node", (role, node.number))
