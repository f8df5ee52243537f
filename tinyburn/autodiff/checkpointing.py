"""Keeping less for the backward pass, and computing it again: by strategy or by segment.

A strategy is the second parameter of `Autodiff`: it says for each operation whether its result is kept. A segment is a
part of a model of which only the inputs are kept (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost"):
the forward pass throws its graph away; the backward pass makes it again, walks it, and throws it away again. So only
one segment's activations are alive at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from tinyburn.backend.interface import Array
from tinyburn.backend.operations import OPERATIONS
from tinyburn.base.errors import BackendMismatch, GraphError
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_operands

from .backward import Walk, backward_order
from .nodes import GraphArray, Node, StandIn, attach_node, new_number, nodes_of
from .observer import observe
from .rules import AnyTensor


class NoCheckpointing:
    """Keep every result that a rule names. The fastest way, and the one that takes the most memory."""

    @staticmethod
    def recomputes(operation: str) -> bool:
        """Whether a result of an operation is computed again in the backward pass instead of being kept."""
        return False


class BalancedCheckpointing:
    """Keep the results of operations that take long for the bytes that they make; recompute the others from them."""

    @staticmethod
    def recomputes(operation: str) -> bool:
        """Whether the operation's declaration calls it cheap."""
        return OPERATIONS[operation].cheap


CHECKPOINT = "checkpoint"
"""The name of a segment's node. Its arguments are the inputs, their number, and what else the function reached."""


_running_again: ContextVar[bool] = ContextVar("tinyburn_running_again", default=False)


def is_running_again() -> bool:
    """Whether a segment runs for the second time. What a forward counts or averages has been counted by the first."""
    return _running_again.get()


def checkpoint(function: Callable[..., AnyTensor], *inputs: AnyTensor) -> AnyTensor:
    """``function(*inputs)``, keeping only the inputs for the backward pass.

    The function runs once now and once more in the backward pass. Random draws repeat: the device's generator is set
    back for the second run. Parameters that the function uses, and any other tracked tensor that it reaches, get their
    gradients as without the checkpoint.

    Args:
        function: takes the inputs and returns one tensor. It must compute the same each time.
        inputs: tensors on one Autodiff device.

    Raises:
        BackendMismatch: an input is not a tensor on an Autodiff backend, or the function returns something else.
    """
    device = _common_device(inputs)
    segment = Segment(function, inputs, device)
    primitives = tuple(tensor.primitive.primitive for tensor in inputs)
    output = segment.run(primitives)
    result = GraphArray(output.primitive.primitive)
    if output.primitive.is_tracked:
        edge = segment.edge_of_graph(output.primitive.node)
        reached = [outer for outer in edge if outer not in segment.outer]
        arguments = nodes_of((*[tensor.primitive for tensor in inputs], len(inputs), *reached), device.backend.inner)
        rules: list[Any] = []
        for outer in reversed(edge):  # in the order in which they run: the first one keeps the inputs
            rule = SegmentRule(segment, 0 if rules else len(inputs))
            rules.append((arguments.index(outer), rule, 0, outer is edge[0]))
        attach_node(result, CHECKPOINT, arguments, tuple(rules), primitives, device.backend.inner)
    return Tensor._around(result, device)


def _common_device(inputs: tuple[AnyTensor, ...]) -> Any:
    if not inputs or not all(isinstance(tensor, Tensor) and tensor.backend.is_autodiff for tensor in inputs):
        reason = "the inputs of a segment are one or more tensors on an Autodiff backend"
        raise BackendMismatch("checkpoint", reason)
    for tensor in inputs[1:]:
        check_operands("checkpoint", inputs[0], tensor, dtype=False, shapes=False)
    return inputs[0].device


class Segment:
    """A function and what a second run needs, but for the values of its inputs.

    These the node keeps, as any other does, so they go when its rules have run.
    """

    def __init__(self, function: Callable[..., AnyTensor], inputs: tuple[AnyTensor, ...], device: Any) -> None:
        self.function = function
        self.device = device
        self.outer = [tensor.primitive.node if tensor.primitive.is_tracked else None for tensor in inputs]
        self.random_state = device.random_state()
        self.gradients: dict[Node, AnyTensor] = {}

    def __repr__(self) -> str:
        return f"Segment({len(self.outer)} inputs)"

    def run(self, inputs: Sequence[Array]) -> AnyTensor:
        """Runs the function on its inputs, each tracked one as a leaf of its own: the segment's graph ends there."""
        self.before = new_number()
        pairs = list(zip(inputs, self.outer, strict=True))
        self.leaves = [StandIn(primitive, outer) if outer else None for primitive, outer in pairs]
        arrays = map(GraphArray, inputs, self.leaves)
        output = self.function(*[Tensor._around(array, self.device) for array in arrays])
        if not isinstance(output, Tensor) or output.device != self.device:
            reason = f"the function returned {type(output).__name__}, and not one tensor on {self.device}"
            raise BackendMismatch("checkpoint", reason)
        return output

    def edge_of_graph(self, root: Node) -> list[Node]:
        """The nodes that the segment's gradients go to: tracked inputs, parameters, and what else it reached."""
        order = backward_order(root, self.before)
        ends = [node for node in order if node.is_leaf or node.number <= self.before]
        return list(dict.fromkeys(self._outside(node) for node in ends))

    def run_again(self, g: AnyTensor, inputs: Sequence[Array]) -> None:
        """The second run, and the gradients at the edge of the segment."""
        state = self.device.random_state()
        self.device.set_random_state(self.random_state)
        self.gradients.clear()
        again = _running_again.set(True)
        try:
            output = self.run(inputs)
        finally:
            _running_again.reset(again)
            self.device.set_random_state(state)
        if not output.primitive.is_tracked or output.shape != g.shape:
            raise _changed()
        root: Node = output.primitive.node
        del output  # its buffer is not needed on the way back
        order = backward_order(root, self.before)
        observer = observe(self.device.backend, None, keeps_graph=False, is_part=True)
        walk = Walk(self.device.backend.inner, False, observer, self.before)
        walk.pending[root] = g, False
        walk.run(order)
        for node, part in walk.kept.items():
            outer = self._outside(node)
            self.gradients[outer] = self.gradients[outer] + part if outer in self.gradients else part

    def _outside(self, node: Node) -> Node:
        """What a node at the edge stands for: an input's own node for its leaf, else the node itself."""
        return node.stands_for if isinstance(node, StandIn) and node in self.leaves else node


class SegmentRule:
    """The rule of an edge of a checkpoint's node. The first that runs keeps the inputs, and runs the segment again."""

    is_exclusive = False  # two inputs of a segment can have one gradient
    makes_new = False

    def __init__(self, segment: Segment, inputs: int) -> None:
        self.segment = segment
        self.names = ("input",) * inputs

    def __repr__(self) -> str:
        return f"SegmentRule({self.segment})"

    def gradient(self, g: AnyTensor, saved: Sequence[Any], parent: Node, is_spare: bool) -> AnyTensor:
        """The gradient of what the node ``parent`` stands for.

        Raises GraphError if the second run did not reach it: the function did not do the same again.
        """
        if self.names:
            self.segment.run_again(g, saved)
        if parent not in self.segment.gradients:
            raise _changed()
        return self.segment.gradients.pop(parent)

    def tensors(self, saved: Sequence[Any]) -> list[tuple[str, Array]]:
        """The inputs, which are all that a segment keeps."""
        return list(zip(self.names, saved, strict=True))


def _changed() -> GraphError:
    reason = "the second run of the segment did not do the same as the first one"
    return GraphError("checkpoint", reason, hint="its function must compute the same each time")
