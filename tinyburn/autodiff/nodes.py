"""The graph: one node for each recorded operation, which holds its parents; nothing points back.

So the graph belongs to the tensors: when the last tensor of a computation goes, its nodes and what they keep go with
it, by reference counts alone. A node keeps what its rules have saved: values, or recipes for values.
"""

from __future__ import annotations

from itertools import count
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from tinyburn.backend.interface import Array, Backend
from tinyburn.base.scope import current_path
from tinyburn.base.shape import Shape

from .recipes import Recipe, sources_of
from .rules import Rule, Saved

LEAF, CONSTANT = "leaf", "constant"

Edge: TypeAlias = "tuple[Node, Rule, Saved]"


_numbers = count(1)
_handing_over = Lock()


class Node:
    """What one operation leaves behind.

    Attributes:
        op: the operation's name, or LEAF or CONSTANT.
        arguments: its arguments in order: a Node for each tensor, anything else as it was given.
        edges: for each tracked operand its node, the rule that leads there, and what that rule saved. None once
            a backward pass has used them up.
        shape, dtype: of the result, since the result itself is not kept.
        path: the module that the operation ran in.
        is_parameter: whether it is the leaf of a `Param`; such a leaf has the parameter's ``identity`` too.
        number: counts all nodes in the order in which they are made. Parents are made before children, so a walk by
            falling number meets children first.
    """

    __slots__ = ("__weakref__", "arguments", "dtype", "edges", "number", "op", "path", "shape")
    is_parameter = False

    def __init__(
        self, op: str, arguments: tuple[Any, ...], edges: list[Edge] | None, like: GraphArray, path: str
    ) -> None:
        self.op = op
        self.arguments = arguments
        self.edges = edges
        self.shape: Shape = like.shape
        self.dtype: np.dtype[Any] = like.dtype
        self.path = path
        self.number = next(_numbers)

    @property
    def is_leaf(self) -> bool:
        """Whether gradients end here: a tensor made with ``require_grad()``."""
        return self.op is LEAF

    @property
    def is_constant(self) -> bool:
        """Whether no gradient is wanted here."""
        return self.op is CONSTANT

    @property
    def parents(self) -> tuple[Node, ...]:
        """The nodes of the operands, tracked or not."""
        return tuple(argument for argument in self.arguments if isinstance(argument, Node))

    def take_edges(self, keep: bool) -> list[Edge] | None:
        """The edges, for a backward pass. The node has none any more, unless another pass is to follow.

        Of several threads one gets them, and the others None.
        """
        if keep:
            return self._copy_edges()
        with _handing_over:
            edges, self.edges = self.edges, None
        return edges

    def _copy_edges(self) -> list[Edge] | None:
        with _handing_over:
            if self.edges is None:
                return None
            expect_calls(self.edges)  # this pass calls each recipe once, and the next one will again
            return self.edges.copy()

    def __repr__(self) -> str:
        return f"Node({self.op}, shape={self.shape}, dtype={self.dtype.name})"


class LeafNode(Node):
    """Where gradients end: a tensor made with ``require_grad()``. It can become that of a `Param`."""

    __slots__ = ("identity", "is_parameter")

    def __init__(self, array: GraphArray, path: str) -> None:
        super().__init__(LEAF, (), [], array, path)
        self.is_parameter = False
        self.identity: object = None


class WatchedNode(Node):
    """A node on a backend that is observed: it says what it saves, and when it goes, what it still kept."""

    __slots__ = ("backend",)
    backend: type[Backend]

    def watch(self, backend: type[Backend]) -> None:
        """Tells the backend what the rules of this node have saved."""
        self.backend = backend
        self._note("save")

    def __del__(self) -> None:
        self._note("release")

    def _note(self, event: str) -> None:
        for _, rule, saved in self.edges or ():
            note_kept(self.backend, event, self, rule, saved)


class GraphArray:
    """The primitive of `Autodiff`: an inner primitive, and the node that it has in the graph, if any.

    Attributes:
        is_tracked: whether a backward pass can reach it; a constant may have a node too, for the pictures.
        recipe: how to compute it again, if the strategy says so.
    """

    __slots__ = ("dtype", "is_tracked", "node", "primitive", "recipe", "shape")

    def __init__(self, primitive: Array, node: Node | None = None) -> None:
        self.primitive = primitive
        self.node = node
        self.is_tracked = node is not None
        self.recipe: Recipe | None = None
        self.shape = primitive.shape
        self.dtype = primitive.dtype

    def __repr__(self) -> str:
        return f"GraphArray({self.shape}, {self.dtype.name})"

    def as_constant(self) -> Node:
        """The node of a constant, made when a tracked operation first uses it; it says what was there and keeps no
        buffer."""
        self.node = Node(CONSTANT, (), None, self, "")
        return self.node


def attach_node(
    result: GraphArray, op: str, arguments: tuple[Any, ...], edges: list[Edge], inner: type[Backend]
) -> None:
    """Makes a result tracked: gives it the node of the operation that it came from."""
    nodes = tuple([x.node or x.as_constant() if type(x) is GraphArray else x for x in arguments])
    result.is_tracked = True
    if inner.observed:
        result.node = watched = WatchedNode(op, nodes, edges, result, current_path())
        watched.watch(inner)
    else:
        result.node = Node(op, nodes, edges, result, current_path())


def new_number() -> int:
    """A number above that of every node so far, and below that of every node to come."""
    return next(_numbers)


def note_kept(backend: type[Backend], event: str, node: Node, rule: Rule, saved: Saved) -> None:
    """Tells a listening backend what happens to what a rule of a node has saved, and which save it is."""
    for operand, value in rule.tensors(saved):
        for primitive in sources_of([value]):
            backend.note(primitive, event, (operand, node.op, node.path))


def expect_calls(edges: list[Edge]) -> None:
    """Tells every recipe among what some rules have saved that a rule will call it once."""
    for _, _, saved in edges:
        for value in saved:
            if type(value) is Recipe:
                value.expect_call()
