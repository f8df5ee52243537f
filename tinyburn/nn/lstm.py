"""The long short-term memory: a second state, the cell, that a step changes only by sums and by gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.backend.interface import Array
from tinyburn.base.errors import DTypeMismatch
from tinyburn.base.shape import D3
from tinyburn.tensor import Tensor

from .recurrence import Arrays, Back, Cell, Ops, joined, side_by_side
from .recurrent import Recurrent, RecurrentConfig

B = TypeVar("B", bound=Backend, covariant=True)
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)


@dataclass(frozen=True)
class LstmState(Generic[B]):
    """Both states of an `Lstm`, each ``(num_layers * directions, batch, d_hidden)``: layer by layer, in each the
    forward direction first."""

    cell: Tensor[B, D3]
    hidden: Tensor[B, D3]


@dataclass(frozen=True)
class LstmConfig(RecurrentConfig):
    """See `RecurrentConfig` for the fields."""

    gates: ClassVar[int] = 4

    def init(self, device: Device[DB]) -> Lstm[DB]:
        """The layer, with its parameters on the device."""
        return Lstm(self._layers(device), self.dropout)


class LstmCell(Cell):
    """The step of an `Lstm`, and its derivative."""

    name: ClassVar[str] = "lstm"

    def step(self, ops: Ops, given: Array, product: Array, states: Arrays) -> tuple[Arrays, Arrays]:
        """See `Cell`."""
        total, before = ops.add(given, product), states[1]
        i, f, _, o = side_by_side(ops, ops.sigmoid(total), 4)  # of the candidate too, which is quicker than three calls
        g = ops.tanh(side_by_side(ops, total, 4)[2])
        cell = ops.add(ops.mul(f, before), ops.mul(i, g))
        bent = ops.tanh(cell)
        return (ops.mul(o, bent), cell), (i, f, g, o, before, bent)

    def back(self, ops: Ops, kept: Arrays, gradients: Arrays) -> Back:
        """See `Cell`."""
        i, f, g, o, before, bent = kept
        of_hidden, of_cell = gradients
        of_cell = ops.add(of_cell, ops.tanh_backward(ops.mul(of_hidden, o), bent))
        of_i = ops.sigmoid_backward(ops.mul(of_cell, g), i)
        of_f = ops.sigmoid_backward(ops.mul(of_cell, before), f)
        of_g = ops.tanh_backward(ops.mul(of_cell, i), g)
        of_o = ops.sigmoid_backward(ops.mul(of_hidden, bent), o)
        total = joined(ops, [of_i, of_f, of_g, of_o], 1)
        return total, total, None, (ops.mul(of_cell, f),)


class Lstm(Recurrent[B]):
    """With the gates i (input), f (forget), o (output) and the candidate g, a step is ``c = f * c + i * g`` and then
    ``h = o * tanh(c)``. The gates are sigmoids, and g a tanh, of sums like that of `Rnn`.

    Hochreiter and Schmidhuber 1997, "Long Short-Term Memory"; the forget gate is of Gers et al. 2000. The parameters of
    i, f, g and o are side by side, in this order: see `Gates`.
    """

    cell: ClassVar[Cell] = LstmCell()

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> Lstm[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> Lstm[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: Lstm[Differentiable[IB]]) -> Lstm[IB]:
            """See `Module.valid`."""
            ...

    def forward(self, x: Tensor[B, D3], state: LstmState[B] | None = None) -> tuple[Tensor[B, D3], LstmState[B]]:
        """The outputs and the last states, with the shapes and the errors of `Rnn.forward`."""
        if state is not None and not isinstance(state, LstmState):
            reason = f"the state is {type(state).__name__}, and an Lstm has two states"
            raise DTypeMismatch("Lstm", reason, hint="write nn.LstmState(cell, hidden)")
        outputs, hidden, cell = self._run(x, [None, None] if state is None else [state.hidden, state.cell])
        return outputs, LstmState(cell, hidden)
