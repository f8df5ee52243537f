"""The gated recurrent unit: a step that decides how much of its state it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from tinyburn.activation import sigmoid
from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.base.shape import D2, D3
from tinyburn.tensor import Tensor

from .recurrent import Gates, Recurrent, RecurrentConfig, States, side_by_side

B = TypeVar("B", bound=Backend, covariant=True)
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)


@dataclass(frozen=True)
class GruConfig(RecurrentConfig):
    """See `RecurrentConfig` for the other fields.

    ``reset_after`` says where the reset gate acts: on the product with the state (True, as in PyTorch), or on the state
    before that product (False, as in the paper).
    """

    reset_after: bool = True

    gates: ClassVar[int] = 3

    def init(self, device: Device[DB]) -> Gru[DB]:
        """The layer, with its parameters on the device."""
        return Gru(self._layers(device), self.dropout, self.reset_after)


class Gru(Recurrent[B]):
    """With the gates r (reset) and z (update), a step is ``h = (1 - z) * n + z * h``, where the new state n is
    ``tanh(x W_in + b_in + r * (h W_hn + b_hn))``, or without ``reset_after`` ``tanh(x W_in + b_in + (r * h) W_hn +
    b_hn)``. Each gate is the sigmoid of a sum like that of `Rnn`.

    Cho et al. 2014, "Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine Translation".
    The parameters of r, z and n are side by side, in this order: see `Gates`.
    """

    adds_biases: ClassVar[bool] = False

    def __init__(self, layers: list[list[Gates[B]]], dropout: float, reset_after: bool = True) -> None:
        super().__init__(layers, dropout)
        self.reset_after = reset_after

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> Gru[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> Gru[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: Gru[Differentiable[IB]]) -> Gru[IB]:
            """See `Module.valid`."""
            ...

    def forward(self, x: Tensor[B, D3], state: Tensor[B, D3] | None = None) -> tuple[Tensor[B, D3], Tensor[B, D3]]:
        """The outputs and the last state, with the shapes and the errors of `Rnn.forward`."""
        outputs, hidden = self._run(x, [state])
        return outputs, hidden

    def _step(self, gates: Gates[Any], given: Tensor[Any, D2], states: States) -> States:
        (hidden,) = states
        if not self.reset_after:
            return (self._step_of_the_paper(gates, given, hidden),)
        input_r, input_z, input_n = side_by_side(given, 3)
        hidden_r, hidden_z, hidden_n = side_by_side(gates.hidden(hidden), 3)
        reset, update = sigmoid(input_r + hidden_r), sigmoid(input_z + hidden_z)
        new = (input_n + reset * hidden_n).tanh()
        return (new + update * (hidden - new),)

    def _step_of_the_paper(self, gates: Gates[Any], given: Tensor[Any, D2], hidden: Tensor[Any, D2]) -> Tensor[Any, D2]:
        size, weight = self.d_hidden, gates.hidden.weight.val()
        if gates.hidden.bias is not None:
            given = given + gates.hidden.bias.val().unsqueeze()
        reset, update = side_by_side(sigmoid(given[:, : 2 * size] + hidden @ weight[:, : 2 * size]), 2)
        new = (given[:, 2 * size :] + (reset * hidden) @ weight[:, 2 * size :]).tanh()
        return new + update * (hidden - new)
