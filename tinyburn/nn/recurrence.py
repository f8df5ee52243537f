"""A whole sequence as one node of the graph, with a derivative of its own: the loop over the steps, and the loop back.

Step by step, a graph would have some twenty nodes for each step, and a gradient as wide as all gates for each of them.
Here the way back is written out. It has one product in each step too, with the gradient of the state; the gradient of
the matrix is one product over all steps, after the loop.

The loops ask the backend inside for each operation, as its composed operations do: a step is so short that the way
through a tensor would take longer than what it computes. As they are its operations, and no others, the derivative can
be differentiated again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

from tinyburn.autodiff.nodes import GraphArray, attach_node
from tinyburn.backend.interface import Array, Backend
from tinyburn.tensor import Tensor

Ops: TypeAlias = type[Backend]
Arrays: TypeAlias = tuple[Array, ...]
AnyTensor: TypeAlias = Tensor[Any, Any]
Tensors: TypeAlias = tuple[AnyTensor, ...]

Back: TypeAlias = tuple[Array, Array, Array | None, Arrays]
"""What a step back returns: the gradients of what was given, of the product, of the hidden state beside the product
(None if it acts through that alone), and of the other states."""


class Cell:
    """What one step computes, by the operations of a backend. All are ``(batch, …)``; the first state is the hidden
    one."""

    name: ClassVar[str]
    """That of the node."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def step(self, ops: Ops, given: Array, product: Array, states: Arrays) -> tuple[Arrays, Arrays]:
        """The next states, and what `back` needs. ``given`` is of the input, ``product`` of the hidden state."""
        raise NotImplementedError

    def back(self, ops: Ops, kept: Arrays, gradients: Arrays) -> Back:
        """The gradients of what `step` was given, from those of the states after it."""
        raise NotImplementedError


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
    inputs = [x.primitive for x in (given, weight, *([] if bias is None else [bias]), *starts)]
    backend: Any = given.device.backend
    if not backend.is_autodiff:
        loop = Loop(cell, backend, length, bias is not None, len(starts), backwards)
        return given._new(loop.forward(inputs)[0])
    loop = Loop(cell, backend.inner, length, bias is not None, len(starts), backwards)
    out, kept = loop.forward([x.primitive for x in inputs])
    result = GraphArray(out)
    tracked = loop.tracked = [at for at, x in enumerate(inputs) if x.is_tracked]
    if tracked:
        saved = (*[x.primitive for x in inputs[1:]], out, *kept)
        names = ("weight", *["bias"] * loop.has_bias, *["state"] * loop.states, "out", *["step"] * len(kept))
        inside = length * sum(given._new(x).payload_bytes for x in kept[: len(kept) // length])
        rules: Any = [
            (at, LoopRule(loop, at, names if at == tracked[-1] else (), inside), 0, at == tracked[0]) for at in tracked
        ]
        attach_node(result, cell.name, inputs, tuple(reversed(rules)), saved, loop.ops)
    return given._new(result)


class Loop:
    """The two loops. The inputs come in the order of `run`."""

    def __init__(self, cell: Cell, ops: Ops, length: int, has_bias: bool, states: int, backwards: bool) -> None:
        self.cell, self.ops, self.length = cell, ops, length
        self.has_bias, self.states, self.backwards = has_bias, states, backwards
        self.tracked: list[int] = []  # the inputs that a gradient goes to
        self.gradients: dict[int, Array] = {}

    def __repr__(self) -> str:
        return f"Loop({self.cell.name})"

    def forward(self, inputs: Sequence[Array]) -> tuple[Array, list[Array]]:
        """The result, and what all steps keep, one after another."""
        ops = self.ops
        given, weight, *rest = inputs
        bias = ops.reshape(rest.pop(0), (1, weight.shape[1])) if self.has_bias else None
        states: Arrays = tuple(rest)
        hidden: list[Array] = []
        kept: list[Array] = []
        steps = below(ops, given, self.length)
        for step in reversed(steps) if self.backwards else steps:
            product = ops.matmul(states[0], weight)
            product = product if bias is None else ops.add(product, bias)
            states, more = self.cell.step(ops, step, product, states)
            hidden.append(states[0])
            kept += more
        if self.backwards:
            hidden.reverse()
        return joined(ops, [*hidden, *states[1:]], 0), kept

    def backward(self, g: Array, saved: Sequence[Array]) -> list[Array]:
        """The gradients of the inputs."""
        ops, length = self.ops, self.length
        weight, *rest = saved
        rest = rest[self.has_bias :]
        start, result, kept = rest[0], rest[self.states], rest[self.states + 1 :]
        each = len(kept) // length
        before = self._before(start, result)
        transposed = ops.permute(weight, (1, 0))
        arriving = below(ops, g, length + self.states - 1)
        of_hidden, others = None, tuple(arriving[length:])
        of_given: list[Array] = [None] * length
        of_product: list[Array] = [None] * length
        for count, at in enumerate(range(length) if self.backwards else range(length - 1, -1, -1)):
            first = (length - 1 - count) * each
            arrived = arriving[at] if of_hidden is None else ops.add(arriving[at], of_hidden)
            back = self.cell.back(ops, tuple(kept[first : first + each]), (arrived, *others))
            of_given[at], of_product[at], direct, others = back
            of_hidden = ops.matmul(of_product[at], transposed)
            of_hidden = of_hidden if direct is None else ops.add(of_hidden, direct)
        gradient = joined(ops, of_given, 0)
        rows = gradient if of_given[0] is of_product[0] else joined(ops, of_product, 0)
        of_bias = [ops.reshape(ops.sum_dims(rows, (0,)), (weight.shape[1],))] if self.has_bias else []
        return [gradient, ops.matmul(ops.permute(before, (1, 0)), rows), *of_bias, of_hidden, *others]

    def _before(self, start: Array, result: Array) -> Array:
        """The hidden state before each step, as rows, in the order of the input."""
        hidden = below(self.ops, result, self.length + self.states - 1)[: self.length]
        return joined(self.ops, [*hidden[1:], start] if self.backwards else [start, *hidden[:-1]], 0)


class LoopRule:
    """The rule of one input of a loop: the first that is asked runs it back, for all, and is the one that saves.

    Attributes:
        inside: the bytes of what the steps keep, which no other node of the graph stands for.
    """

    is_exclusive = True
    makes_new = False

    def __init__(self, loop: Loop, at: int, names: tuple[str, ...], inside: int) -> None:
        self.loop, self.at, self.names, self.inside = loop, at, names, inside

    def __repr__(self) -> str:
        return f"LoopRule({self.loop}, {self.at})"

    def gradient(self, g: AnyTensor, saved: Sequence[Any], parent: Any, is_spare: bool) -> AnyTensor:
        """The gradient of the input."""
        if self.names:
            found = self.loop.backward(g.primitive, saved)
            self.loop.gradients = {at: found[at] for at in self.loop.tracked}
        return g._new(self.loop.gradients.pop(self.at))

    def tensors(self, saved: Sequence[Any]) -> list[tuple[str, Array]]:
        """What is kept."""
        return list(zip(self.names, saved, strict=True))


# Parts of matrices, and matrices of parts


def below(ops: Ops, x: Array, count: int) -> list[Array]:
    """The rows in parts of one size, without a copy."""
    rows, columns = x.shape
    size = rows // count
    whole = slice(0, columns, 1)
    return [ops.slice(x, (slice(at * size, (at + 1) * size, 1), whole)) for at in range(count)]


def side_by_side(ops: Ops, x: Array, count: int) -> list[Array]:
    """The gates of a step: the last dim in parts of one size, without a copy."""
    rows, columns = x.shape
    size = columns // count
    whole = slice(0, rows, 1)
    return [ops.slice(x, (whole, slice(at, at + size, 1))) for at in range(0, columns, size)]


def joined(ops: Ops, parts: Sequence[Array], dim: int) -> Array:
    """Matrices of one shape below each other, for dim 0, or side by side."""
    rows, columns = parts[0].shape
    size, whole = (rows, slice(0, columns, 1)) if dim == 0 else (columns, slice(0, rows, 1))
    bounds = [slice(at * size, (at + 1) * size, 1) for at in range(len(parts))]
    places = [(bound, whole) if dim == 0 else (whole, bound) for bound in bounds]
    return ops.cat(tuple(places), *parts)
