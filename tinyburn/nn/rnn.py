"""The simple recurrent layer: one product of the input, one of the state, and a tanh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.backend.interface import Array
from tinyburn.base.shape import D3
from tinyburn.tensor import Tensor

from .recurrence import Arrays, Back, Cell, Ops
from .recurrent import Recurrent, RecurrentConfig

B = TypeVar("B", bound=Backend, covariant=True)
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)


@dataclass(frozen=True)
class RnnConfig(RecurrentConfig):
    """See `RecurrentConfig` for the fields."""

    def init(self, device: Device[DB]) -> Rnn[DB]:
        """The layer, with its parameters on the device."""
        return Rnn(self._layers(device), self.dropout)


class RnnCell(Cell):
    """The step of an `Rnn`, and its derivative."""

    name: ClassVar[str] = "rnn"

    def step(self, ops: Ops, given: Array, product: Array, states: Arrays) -> tuple[Arrays, Arrays]:
        """See `Cell`."""
        hidden = ops.tanh(ops.add(given, product))
        return (hidden,), (hidden,)

    def back(self, ops: Ops, kept: Arrays, gradients: Arrays) -> Back:
        """See `Cell`."""
        total = ops.tanh_backward(gradients[0], kept[0])
        return total, total, None, ()


class Rnn(Recurrent[B]):
    """At each step ``h = tanh(x W_i + b_i + h W_h + b_h)``, from the state h of the step before.

    Elman 1990, "Finding Structure in Time".
    """

    cell: ClassVar[Cell] = RnnCell()

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> Rnn[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> Rnn[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: Rnn[Differentiable[IB]]) -> Rnn[IB]:
            """See `Module.valid`."""
            ...

    def forward(self, x: Tensor[B, D3], state: Tensor[B, D3] | None = None) -> tuple[Tensor[B, D3], Tensor[B, D3]]:
        """From ``(batch, length, d_input)`` to the outputs, ``(batch, length, directions * d_hidden)``, and last state.

        A state is ``(num_layers * directions, batch, d_hidden)``, layer by layer, in each the forward direction first;
        it starts at 0 unless given.

        Raises ShapeError for other shapes and for no steps, and DeviceMismatch or DTypeMismatch for another device or
        dtype.
        """
        outputs, hidden = self._run(x, [state])
        return outputs, hidden
