"""The long short-term memory: a second state, the cell, that a step changes only by sums and by gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from tinyburn.activation import sigmoid
from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.base.errors import DTypeMismatch
from tinyburn.base.shape import D2, D3
from tinyburn.tensor import Tensor

from .recurrent import Gates, Recurrent, RecurrentConfig, States, side_by_side

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


class Lstm(Recurrent[B]):
    """With the gates i (input), f (forget), o (output) and the candidate g, a step is ``c = f * c + i * g`` and then
    ``h = o * tanh(c)``. The gates are sigmoids, and g a tanh, of sums like that of `Rnn`.

    Hochreiter and Schmidhuber 1997, "Long Short-Term Memory"; the forget gate is of Gers et al. 2000. The parameters of
    i, f, g and o are side by side, in this order: see `Gates`.
    """

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

    def _step(self, gates: Gates[Any], given: Tensor[Any, D2], states: States) -> States:
        hidden, cell = states
        i, f, g, o = side_by_side(given + hidden @ gates.hidden.weight.val(), 4)
        cell = sigmoid(f) * cell + sigmoid(i) * g.tanh()
        return sigmoid(o) * cell.tanh(), cell
