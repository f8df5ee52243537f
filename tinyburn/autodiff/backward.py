"""The backward pass: from the root to the leaves, each node after all that depend on it.

The walk is a loop, not a recursion, so a chain of 100 000 operations is no trouble. Each saved buffer is let go right
after the rule that named it has run.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import Any

from tinyburn.backend.device import Device
from tinyburn.backend.interface import Backend
from tinyburn.backend.operations import label_of
from tinyburn.base.errors import BackendMismatch, GraphError, ShapeError
from tinyburn.base.scope import leave
from tinyburn.base.shape import Shape
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_operands, reject_operand
from tinyburn.tensor.gradients import Gradients

from .nodes import LEAF, Node
from .observer import Flow, Observer, observe
from .rules import AnyTensor

_number = attrgetter("number")


def run_backward(
    root: AnyTensor,
    gradient: AnyTensor | None,
    retain_graph: bool,
    record_flow: bool,
    retain_grads: Sequence[AnyTensor] = (),
) -> Gradients[Any]:
    """Checks everything first, so that an error leaves the graph as it was; then walks."""
    if not root.primitive.is_tracked:
        reason = "no tensor that it depends on is tracked"
        raise GraphError("backward", reason, hint="call .require_grad() on what you want the gradient of")
    if record_flow and not root.device.backend.has_values:
        reason = "a flow is made of the sizes of gradients, and this backend keeps shapes only"
        hint = "use NdArray, or leave record_flow out"
        raise BackendMismatch("backward(record_flow=True)", reason, hint=hint)
    node: Node = root.primitive.node
    order = backward_order(node)
    retained = _nodes_of(retain_grads, root, order) if retain_grads else frozenset()
    if not retain_graph:
        root.primitive.recipe = None  # nobody will ask for it, and it would keep what it starts from
    backend: Any = root.device.backend
    inner: type[Backend] = backend.inner
    inner.note(root.primitive.primitive, "phase", "backward")
    try:
        flow = Flow() if record_flow else None
        walk = Walk(inner, retain_graph, observe(backend, flow, keeps_graph=retain_graph), retained=retained)
        walk.pending[node] = (_start(root), True) if gradient is None else (_checked(root, gradient), False)
        walk.run(order)
        if flow is not None:
            flow.finish()
        return Gradients(walk.kept, flow, walk.exclusive)
    finally:
        inner.note(root.primitive.primitive, "phase", "forward")


def backward_order(root: Node, after: int = 0) -> list[Node]:
    """Every node that a gradient reaches, children before parents; the same order every time.

    ``after`` is the number of the last node that is not to be entered: the walk ends at nodes up to it, as at leaves.
    Raises GraphError if an earlier backward pass has used one of them up.
    """
    found = {root: None}  # a dict, because it keeps the order of discovery
    stack = [root] if root.number > after else []
    while stack:
        node = stack.pop()
        if node.saved is None:
            raise _used_up(node, is_root=node is root)
        for at, _, _, _ in reversed(node.rules):
            parent = node.second if at == 1 else node.argument(at) if at else node.first  # a call takes its time
            if parent not in found:
                found[parent] = None
                if parent.op is not LEAF and parent.number > after:
                    stack.append(parent)
    return sorted(found, key=_number, reverse=True)


def _used_up(node: Node, is_root: bool) -> GraphError:
    where = f"{label_of(node.op)} in {node.path}" if node.path else label_of(node.op)
    reason = f"an earlier backward() used up the graph at {where} and freed what its rules had saved"
    if is_root:
        return GraphError(
            "backward", reason, hint="compute the loss again, or keep the graph with backward(retain_graph=True)"
        )
    hint = (
        "cut off what comes from an earlier step, such as a hidden state, with .detach();\n"
        "or, for several losses of one graph, add them, or keep it with backward(retain_graph=True)"
    )
    return GraphError("backward", reason, hint=hint)


def _nodes_of(results: Sequence[AnyTensor], root: AnyTensor, order: list[Node]) -> frozenset[Node]:
    """The nodes of the tensors whose gradients are to be kept. Raises GraphError for one that gets none."""
    nodes = set(order)
    for tensor in results:
        check_operands("backward(retain_grads=...)", root, tensor, dtype=False, shapes=False)
        if tensor.primitive.node not in nodes:
            reason = f"{tensor.shape} {tensor.dtype} gets no gradient: it is not tracked, or not on the way to a leaf"
            raise GraphError("backward(retain_grads=...)", reason, hint="name results that the loss was made from")
    return frozenset([tensor.primitive.node for tensor in results])


def _start(root: AnyTensor) -> AnyTensor:
    """Ones: the gradient of the root's sum. A single 1, read again and again."""
    device: Device[Any] = root.device.inner  # type: ignore[attr-defined]
    shape: Shape = root.primitive.shape
    one = Tensor._around(device.backend.full((1,) * len(shape), 1.0, root.dtype, device), device)
    return one if shape.count(1) == len(shape) else one.expand(shape)


def _checked(root: AnyTensor, gradient: AnyTensor) -> AnyTensor:
    if not isinstance(gradient, Tensor):
        raise reject_operand("backward", root, gradient)
    check_operands("backward", root.inner(), gradient, shapes=False)
    if gradient.shape != root.shape:
        reason = f"the gradient has shape {gradient.shape}, the tensor {root.shape}"
        raise ShapeError("backward", reason, hint="give a gradient of the tensor's own shape")
    return gradient


class Walk:
    """One way back through a graph, with the gradients that wait for their nodes.

    A gradient is *exclusive* if nothing but this walk can see it. Then its memory may be used again: see
    `Backend.into`. That is known by where a gradient comes from. What a rule gives is new, or it is a view of the
    gradient that came in, which nobody needs any more after the last rule of its node.

    Attributes:
        pending: for each node that has not been reached the sum of what has come so far, and whether it is exclusive.
        kept: the gradients of the leaves, of nodes up to ``after``, and of those that are to be ``retained``.
        exclusive: those of them that are.
    """

    def __init__(
        self,
        backend: type[Backend],
        keep_graph: bool,
        observer: Observer | None,
        after: int = 0,
        retained: AbstractSet[Node] = frozenset(),
    ) -> None:
        self.pending: dict[Node, tuple[AnyTensor, bool]] = {}
        self.kept: dict[Node, AnyTensor] = {}
        self.exclusive: set[Node] = set()
        self._backend, self._keep_graph, self._observer = backend, keep_graph, observer
        self._after, self._retained = after, retained

    def __repr__(self) -> str:
        return f"Walk({len(self.pending)} pending, {len(self.kept)} kept)"

    def run(self, order: list[Node]) -> None:
        """Runs the rules of each node in order."""
        pending, observer, after, retained = self.pending, self._observer, self._after, self._retained
        for node in order:
            g, is_exclusive = pending.pop(node)
            is_end = node.op is LEAF or node.number <= after
            if is_end or node in retained:
                self.kept[node] = g
                if observer is not None:
                    observer.keep(node, g)
                if is_end:
                    if is_exclusive:
                        self.exclusive.add(node)
                    continue
                is_exclusive = False
            if observer is None:
                self._run_rules(node, g, is_exclusive)
                continue
            outside = observer.arrive(node, g)
            try:
                self._run_rules(node, g, is_exclusive)
            finally:
                leave(outside)

    def _run_rules(self, node: Node, g: AnyTensor, is_exclusive: bool) -> None:
        """Runs the rules of one node, and adds what they give to the gradients of its parents."""
        saved: Any = node.take_saved(self._keep_graph)
        if saved is None:
            reason = f"backward() of another thread has used up the graph at {label_of(node.op)} at the same time"
            raise GraphError("backward", reason, hint="let each thread compute a loss of its own")
        pending, observer = self.pending, self._observer
        for at, rule, first, is_last in node.rules:
            parent = node.second if at == 1 else node.argument(at) if at else node.first
            values, saved = (saved[first:], saved[:first]) if first else (saved, ())
            called = values if observer is None else observer.values(values)
            is_spare = is_exclusive and is_last
            part = rule.gradient(g, called, parent, is_spare)
            is_new = rule.is_exclusive
            if part.primitive.shape != parent.shape:
                part, is_new = sum_to(part, parent.shape), True
            elif not (is_spare or rule.makes_new) and self._backend.shares_buffer(part.primitive, g.primitive):
                is_new = is_exclusive = False  # from now on the parent sees it too
            if observer is not None:
                observer.follow_edge(node, rule, values, parent, part)
            del values, called  # their last use: the buffers go now, before the next rule allocates
            held = pending.pop(parent, None)
            pending[parent] = (part, is_new) if held is None else self._sum(*held, part, is_new)
            if held is not None and observer is not None:
                observer.collect(parent, pending[parent][0])
            del part, held

    def _sum(self, held: AnyTensor, is_exclusive: bool, part: AnyTensor, is_new: bool) -> tuple[AnyTensor, bool]:
        """Two gradients of one node added up, in the memory of one of them if that is exclusive."""
        if not (is_exclusive or is_new):
            return held + part, True
        target = held if is_exclusive else part
        return held._new(self._backend.into(target.primitive, "add", held.primitive, part.primitive)), True


def sum_to(gradient: AnyTensor, shape: Shape) -> AnyTensor:
    """Undoes broadcasting: sums over the dims that the operand had at size 1."""
    wide = gradient.primitive
    stretched = tuple([dim for dim, size in enumerate(shape) if size != wide.shape[dim]])
    return gradient._new(gradient.device.backend.sum_dims(wide, stretched))
