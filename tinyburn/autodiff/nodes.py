"""The graph: one node for each recorded operation, which holds its parents; nothing points back.

So the graph belongs to the tensors: when the last tensor of a computation goes, its nodes and what they keep go with
it, by reference counts alone. A node keeps what its rules have saved: values, or recipes for values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
NOTHING = object()

Edge: TypeAlias = "tuple[Node, Rule, Saved]"
"""The way to one operand that is tracked: its node, the rule that leads there, and what that rule saved."""

Step: TypeAlias = "tuple[int, Rule, int, bool]"
"""A rule of a node: the position of its operand among the arguments, the rule, where its values begin among all that is
saved, and whether it is the last to run."""

_numbers = count(1)
new_number = _numbers.__next__
"""Returns a number above that of every node so far, and below that of every node to come."""

_handing_over = Lock()


class Node:
    """What one operation leaves behind.

    A long graph has many, and Python's garbage collector looks at each of its objects again and again. So most nodes
    are a single one: the first two arguments have a place of their own, and few operations have more.

    Attributes:
        op: the operation's name, or LEAF or CONSTANT.
        first, second, others: its arguments in order, a Node for each tensor, anything else as it was given; NOTHING
            where it has fewer than two. See `arguments`.
        rules: the rule of each tracked operand, in the order in which they run: from the last operand to the first.
            All nodes of the same operation share them.
        saved: what the rules have saved, in the order of the operands. None once a backward pass has used it up.
        shape, dtype: of the result, since the result itself is not kept.
        path: the module that the operation ran in.
        is_parameter: whether it is the leaf of a `Param`; such a leaf has the parameter's ``identity`` too.
        number: counts all nodes in the order in which they are made. Parents are made before children, so a walk by
            falling number meets children first.
    """

    __slots__ = ("dtype", "first", "number", "op", "others", "path", "rules", "saved", "second", "shape")
    is_parameter = False

    def __init__(
        self,
        op: str,
        rules: tuple[Step, ...],
        saved: Saved | None,
        shape: Shape,
        dtype: np.dtype[Any],
        path: str,
        first: Any = NOTHING,
        second: Any = NOTHING,
        *others: Any,
    ) -> None:
        self.op = op
        self.rules = rules
        self.saved = saved
        self.shape = shape
        self.dtype = dtype
        self.path = path
        self.first = first
        self.second = second
        self.others = others
        self.number = new_number()

    @property
    def arguments(self) -> tuple[Any, ...]:
        """All arguments in order."""
        return tuple(x for x in (self.first, self.second) if x is not NOTHING) + self.others

    def argument(self, at: int) -> Any:
        """One of the arguments."""
        return self.others[at - 2] if at > 1 else self.second if at else self.first

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

    @property
    def edges(self) -> list[Edge] | None:
        """An edge for each tracked operand; None once a backward pass has used them up."""
        saved = self.saved
        return None if saved is None else list(self._edges(saved))

    def _edges(self, saved: Saved) -> Iterator[Edge]:
        for at, rule, first, _ in reversed(self.rules):
            yield self.argument(at), rule, saved[first : first + len(rule.names)]

    def take_saved(self, keep: bool) -> Saved | None:
        """What the rules have saved, for a backward pass. The node has it no more, unless another pass is to follow.

        Of several threads one gets it, and the others None.
        """
        with _handing_over:
            saved = self.saved
            if not keep:
                self.saved = None
            elif saved is not None:
                expect_calls(saved)  # this pass calls each recipe once, and the next one will again
        return saved

    def __repr__(self) -> str:
        return f"Node({self.op}, shape={self.shape}, dtype={self.dtype.name})"


class LeafNode(Node):
    """Where gradients end: a tensor made with ``require_grad()``. It can become that of a `Param`."""

    __slots__ = ("identity", "is_parameter")

    def __init__(self, array: GraphArray, path: str, is_parameter: bool = False, identity: object = None) -> None:
        # Written out, since each step of an optimizer makes one for each parameter.
        self.op, self.path = LEAF, path
        self.rules = self.saved = self.others = ()
        self.shape, self.dtype = array.shape, array.dtype
        self.first = self.second = NOTHING
        self.number = new_number()
        self.is_parameter = is_parameter
        self.identity = identity


class StandIn(LeafNode):
    """The leaf of a segment's input while the segment runs: its gradient goes on, to the node that it stands for."""

    __slots__ = ("stands_for",)

    def __init__(self, array: GraphArray, stands_for: Node) -> None:
        super().__init__(array, stands_for.path)
        self.stands_for = stands_for


def ends_graph(node: Node) -> bool:
    """Whether a gradient ends here for good, and not only in a segment."""
    while isinstance(node, StandIn):
        node = node.stands_for
    return node.is_leaf


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
        for _, rule, saved in self._edges(self.saved) if self.saved else ():
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

    def track(self, node: Node) -> None:
        """Makes it part of the graph."""
        self.node = node
        self.is_tracked = True

    def as_constant(self, listener: type[Backend] | None = None) -> Node:
        """The node of a constant, made when a tracked operation first uses it; it says what was there and keeps no
        buffer."""
        self.node = Node(CONSTANT, (), None, self.shape, self.dtype, "")
        if listener is not None and listener.observed:
            note_value(listener, self.primitive, self.node)
        return self.node


def nodes_of(arguments: Sequence[Any], listener: type[Backend]) -> list[Any]:
    """The arguments as a node keeps them: nodes in place of tensors. The listener is told of new ones."""
    return [x.node or x.as_constant(listener) if type(x) is GraphArray else x for x in arguments]


def attach_node(
    result: GraphArray, op: str, arguments: Sequence[Any], rules: tuple[Step, ...], saved: Saved, inner: type[Backend]
) -> None:
    """Makes a result tracked: gives it the node of the operation that it came from."""
    kind = WatchedNode if inner.observed else Node
    node = kind(op, rules, saved, result.shape, result.dtype, current_path(), *nodes_of(arguments, inner))
    result.track(node)
    if type(node) is WatchedNode:
        node.watch(inner)
        note_value(inner, result.primitive, node)


def note_value(backend: type[Backend], primitive: Array, node: Node) -> None:
    """Tells a listening backend whose value a primitive is."""
    backend.note(primitive, "node", ("value", node.number))


def note_kept(backend: type[Backend], event: str, node: Node, rule: Rule, saved: Sequence[Any]) -> None:
    """Tells a listening backend what happens to what a rule of a node has saved, and which save it is."""
    for operand, value in rule.tensors(saved):
        for primitive in sources_of([value]):
            backend.note(primitive, event, (operand, node.op, node.path))


def expect_calls(saved: Sequence[Any]) -> None:
    """Tells every recipe among what some rules have saved that a rule will call it once."""
    for value in saved:
        if type(value) is Recipe:
            value.expect_call()
