"""A whole sequence as one node of the graph, with a derivative of its own: the loop over the steps, and the loop back.

Step by step, a graph would have some twenty nodes for each step, and a gradient as wide as all gates for each of them.
Here the way back is written out. It has one product in each step too, with the gradient of the state; the gradient of
the matrix is one product over all steps, after the loop.

All is written with tensors of the backend inside, so the derivative can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from tinyburn.autodiff.nodes import GraphArray, attach_node, nodes_of
from tinyburn.backend.interface import Array
from tinyburn.tensor import Tensor

AnyTensor: TypeAlias = Tensor[Any, Any]
Tensors: TypeAlias = tuple[AnyTensor, ...]
Back: TypeAlias = tuple[AnyTensor, AnyTensor, AnyTensor | None, Tensors]
"""What a step back returns: the gradients of what was given, of the product, of the hidden state beside the product
(None if it acts through that alone), and of the other states."""


class Cell(Protocol):
    """What one step computes. All tensors are ``(batch, …)``, and the first state is the hidden one."""

    name: str
    """That of the node."""

    def step(self, given: AnyTensor, product: AnyTensor, states: Tensors) -> tuple[Tensors, Tensors]:
        """The next states, and what `back` needs. ``given`` is of the input, ``product`` of the hidden state."""
        ...

    def back(self, kept: Tensors, gradients: Tensors) -> Back:
        """The gradients of what `step` was given, from those of the states after it."""
        ...


def run(
    cell: Cell,
    length: int,
    given: AnyTensor,
    weight: AnyTensor,
    bias: AnyTensor | None,
    starts: Tensors,
    backwards: bool,
) -> AnyTensor:
    """The hidden states of all steps, and after them the last of each other state, all as rows: ``((length + others) *
    batch, size)``.

    Args:
        given: ``(length * batch, gates * size)``, what the input adds to the product of the hidden state.
        weight, bias: of that product.
        starts: the states before the first step, each ``(batch, size)``.
        backwards: whether the last step is the first one.
    """
    inputs = [given, weight, *([] if bias is None else [bias]), *starts]
    device: Any = given.device
    loop = Loop(cell, length, bias is not None, len(starts), backwards)
    if not device.backend.is_autodiff:
        return loop.forward(inputs)[0]
    result, kept = loop.forward([Tensor._around(x.primitive.primitive, device.inner) for x in inputs])
    array = GraphArray(result.primitive)
    tracked = [at for at, x in enumerate(inputs) if x.primitive.is_tracked]
    if tracked:
        saved = [x.primitive.primitive for x in inputs[1:]] + [x.primitive for x in (result, *kept)]
        names = ("weight", *["bias"] * loop.has_bias, *["state"] * loop.states, "out", *["step"] * len(kept))
        inside = sum(x.payload_bytes for x in kept)
        rules: Any = [
            (at, LoopRule(loop, at, names if at == tracked[-1] else (), inside), 0, at == tracked[0]) for at in tracked
        ]
        arguments = nodes_of([x.primitive for x in inputs])
        attach_node(array, cell.name, arguments, tuple(reversed(rules)), tuple(saved), device.backend.inner)
    return Tensor._around(array, device)


class Loop:
    """The two loops. The inputs come in the order of `run`."""

    def __init__(self, cell: Cell, length: int, has_bias: bool, states: int, backwards: bool) -> None:
        self.cell, self.length, self.has_bias, self.states, self.backwards = cell, length, has_bias, states, backwards
        self.gradients: list[AnyTensor | None] = []

    def __repr__(self) -> str:
        return f"Loop({self.cell.name})"

    def forward(self, inputs: Sequence[AnyTensor]) -> tuple[AnyTensor, list[AnyTensor]]:
        """The result, and what all steps keep, one after another."""
        given, weight, *rest = inputs
        bias = rest.pop(0).unsqueeze() if self.has_bias else None
        states: Tensors = tuple(rest)
        hidden: list[AnyTensor] = []
        kept: list[AnyTensor] = []
        steps = below(given, self.length)
        for step in reversed(steps) if self.backwards else steps:
            product = states[0] @ weight
            states, more = self.cell.step(step, product if bias is None else product + bias, states)
            hidden.append(states[0])
            kept += more
        if self.backwards:
            hidden.reverse()
        return joined([*hidden, *states[1:]], 0), kept

    def backward(self, g: AnyTensor, saved: Sequence[AnyTensor]) -> list[AnyTensor | None]:
        """The gradients of the inputs."""
        weight, *rest = saved
        rest = rest[self.has_bias :]
        starts, result, kept = rest[: self.states], rest[self.states], rest[self.states + 1 :]
        length = self.length
        arriving = below(g, length + self.states - 1)
        each = len(kept) // length
        before = self._before(starts[0], result)
        transposed = weight.mT
        order = range(length) if self.backwards else range(length - 1, -1, -1)
        of_hidden = starts[0].zeros_like()
        others = tuple(arriving[length:])
        of_given: list[Any] = [None] * length
        of_product: list[Any] = [None] * length
        for count, at in enumerate(order):
            first = (length - 1 - count) * each
            back = self.cell.back(tuple(kept[first : first + each]), (arriving[at] + of_hidden, *others))
            of_given[at], of_product[at], direct, others = back
            of_hidden = of_product[at] @ transposed
            of_hidden = of_hidden if direct is None else of_hidden + direct
        del arriving, kept, rest
        gradient = joined(of_given, 0)
        rows = gradient if of_given[0] is of_product[0] else joined(of_product, 0)
        of_bias = [rows.sum_dim(0).squeeze(0)] if self.has_bias else []
        return [gradient, before.mT @ rows, *of_bias, of_hidden, *others]

    def _before(self, start: AnyTensor, result: AnyTensor) -> AnyTensor:
        """The hidden state before each step, as rows, in the order of the input."""
        hidden = below(result, self.length + self.states - 1)[: self.length]
        return joined([*hidden[1:], start] if self.backwards else [start, *hidden[:-1]], 0)


class LoopRule:
    """The rule of one input of a loop: the first that is asked runs it back, for all, and is the one that saves.

    Attributes:
        inside: the bytes of what the steps keep, which no other node of the graph stands for.
    """

    is_exclusive = True

    def __init__(self, loop: Loop, at: int, names: tuple[str, ...], inside: int) -> None:
        self.loop, self.at, self.names, self.inside = loop, at, names, inside

    def __repr__(self) -> str:
        return f"LoopRule({self.loop}, {self.at})"

    def gradient(self, g: AnyTensor, saved: Sequence[Any], parent: Any, is_spare: bool) -> AnyTensor:
        """The gradient of the input."""
        if self.names:
            self.loop.gradients = self.loop.backward(g, [g._new(value) for value in saved])
        found = self.loop.gradients[self.at]
        self.loop.gradients[self.at] = None
        assert found is not None
        return found

    def tensors(self, saved: Sequence[Any]) -> list[tuple[str, Array]]:
        """What is kept."""
        return list(zip(self.names, saved, strict=True))


def below(x: AnyTensor, count: int) -> list[AnyTensor]:
    """The rows in parts of one size, without a copy."""
    rows, columns = x.primitive.shape
    size = rows // count
    whole = slice(0, columns, 1)
    return [x._ask("slice", (slice(at * size, (at + 1) * size, 1), whole)) for at in range(count)]


def side_by_side(x: AnyTensor, count: int) -> list[AnyTensor]:
    """The gates of a step: the last dim in parts of one size, without a copy."""
    rows, columns = x.primitive.shape
    size = columns // count
    whole = slice(0, rows, 1)
    return [x._ask("slice", (whole, slice(at, at + size, 1))) for at in range(0, columns, size)]


def joined(parts: Sequence[AnyTensor], dim: int) -> AnyTensor:
    """Matrices of one shape below each other, for dim 0, or side by side: `Tensor.cat` without its checks."""
    first = parts[0]
    rows, columns = first.primitive.shape
    if dim == 0:
        whole = slice(0, columns, 1)
        places = [(slice(at * rows, (at + 1) * rows, 1), whole) for at in range(len(parts))]
    else:
        whole = slice(0, rows, 1)
        places = [(whole, slice(at * columns, (at + 1) * columns, 1)) for at in range(len(parts))]
    return first._new(first.device.backend.cat(tuple(places), *[part.primitive for part in parts]))
