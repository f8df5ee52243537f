"""The graph: one node for each recorded operation, which holds its parents; nothing points back.

So the graph belongs to the tensors: when the last tensor of a computation goes, its nodes and saved buffers go
with it, by reference counts alone.
"""

from __future__ import annotations

from itertools import count
from typing import Any, TypeAlias

import numpy as np

from tinyburn.backend.defaults import Backend
from tinyburn.backend.interface import Array
from tinyburn.base.scope import current_path
from tinyburn.base.shape import Shape

from .compiled import CompiledRule, Saved
from .recipe import Recipe

LEAF, CONSTANT = "leaf", "constant"

Edge: TypeAlias = "tuple[Node, CompiledRule, Saved]"


_numbers = count(1)


class Node:
    """What one operation leaves behind.

    Attributes:
        op: the operation's name, or LEAF or CONSTANT.
        arguments: its arguments in order: a Node for each tensor, anything else as it was given.
        edges: for each tracked operand its node, the rule that leads there, and what that rule saved. None once
            a backward pass has used them up.
        shape, dtype: of the result, since the result itself is not kept.
        path: the module that the operation ran in.
        number: counts all nodes in the order in which they are made. Parents are made before children, so a walk by
            falling number meets children first.
    """

    __slots__ = ("__weakref__", "arguments", "dtype", "edges", "number", "op", "path", "shape")

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
    def is_parameter(self) -> bool:
        """Whether it is the leaf of a `Param`."""
        return False

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

    def __repr__(self) -> str:
        return f"Node({self.op}, shape={self.shape}, dtype={self.dtype.name})"


class LeafNode(Node):
    """Where gradients end: a tensor made with ``require_grad()``."""

    __slots__ = ("_is_parameter",)

    def __init__(self, array: GraphArray, path: str) -> None:
        super().__init__(LEAF, (), [], array, path)
        self._is_parameter = False

    @property
    def is_parameter(self) -> bool:
        """Whether it is the leaf of a `Param`."""
        return self._is_parameter

    def become_parameter(self) -> None:
        """A `Param` has been made of the tensor."""
        self._is_parameter = True


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
            note_all(self.backend, event, self, rule.buffers(saved))


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


def latest_number() -> int:
    """A number above that of every node so far, and below that of every node to come."""
    return next(_numbers)


def note_all(backend: type[Backend], event: str, node: Node, buffers: list[tuple[str, Array]]) -> None:
    """Tells a listening backend what happens to what a rule of a node has saved, and which save it is."""
    for operand, primitive in buffers:
        backend.note(primitive, event, f"{node.op} {operand} {node.path}")


def expect_calls(edges: list[Edge]) -> None:
    """Tells every recipe among what some rules have saved that a rule will call it once."""
    for _, _, saved in edges:
        for value in saved:
            if type(value) is Recipe:
                value.expect_call()
