"""The gated recurrent unit: a step that decides how much of its state it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from tinyburn.activation import sigmoid
from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.backend.interface import Array
from tinyburn.base.shape import D3
from tinyburn.tensor import Tensor

from .recurrence import Arrays, Back, Cell, Ops, Tensors, joined, side_by_side
from .recurrent import Gates, Recurrent, RecurrentConfig

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


class GruCell(Cell):
    """The step of a `Gru` with ``reset_after``, and its derivative."""

    name: ClassVar[str] = "gru"

    def step(self, ops: Ops, given: Array, product: Array, states: Arrays) -> tuple[Arrays, Arrays]:
        """See `Cell`."""
        (before,) = states
        both = ops.sigmoid(ops.add(given, product))  # of the new state too: quicker than two calls
        reset, update, _ = side_by_side(ops, both, 3)
        last = side_by_side(ops, product, 3)[2]
        new = ops.tanh(ops.add(side_by_side(ops, given, 3)[2], ops.mul(reset, last)))
        hidden = ops.add(new, ops.mul(update, ops.sub(before, new)))
        return (hidden,), (reset, update, new, last, before)

    def back(self, ops: Ops, kept: Arrays, gradients: Arrays) -> Back:
        """See `Cell`."""
        reset, update, new, last, before = kept
        (of_hidden,) = gradients
        direct = ops.mul(of_hidden, update)
        of_new = ops.tanh_backward(ops.sub(of_hidden, direct), new)
        of_reset = ops.sigmoid_backward(ops.mul(of_new, last), reset)
        of_update = ops.sigmoid_backward(ops.mul(of_hidden, ops.sub(before, new)), update)
        of_product = joined(ops, [of_reset, of_update, ops.mul(of_new, reset)], 1)
        return joined(ops, [of_reset, of_update, of_new], 1), of_product, direct, ()


class Gru(Recurrent[B]):
    """With the gates r (reset) and z (update), a step is ``h = (1 - z) * n + z * h``, where the new state n is
    ``tanh(x W_in + b_in + r * (h W_hn + b_hn))``, or without ``reset_after`` ``tanh(x W_in + b_in + (r * h) W_hn +
    b_hn)``. Each gate is the sigmoid of a sum like that of `Rnn`.

    Cho et al. 2014, "Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine Translation".
    The parameters of r, z and n are side by side, in this order: see `Gates`.
    """

    cell: ClassVar[Cell] = GruCell()
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

    def _along(
        self, gates: Gates[Any], x: Tensor[Any, D3], states: Tensors, backwards: bool
    ) -> tuple[Tensor[Any, D3], Tensors]:
        """The paper's step has two products, one after the other; it is left to autodiff."""
        if self.reset_after:
            return super()._along(gates, x, states, backwards)
        size, weight, hidden = self.d_hidden, gates.hidden.weight.val(), states[0]
        given = gates.input(x)
        if gates.hidden.bias is not None:
            given = given + gates.hidden.bias.val().unsqueeze(3)
        outputs = []
        for at in range(x.shape[1] - 1, -1, -1) if backwards else range(x.shape[1]):
            step = given[:, at].squeeze(1)
            both = sigmoid(step[:, : 2 * size] + hidden @ weight[:, : 2 * size])
            reset, update = both[:, :size], both[:, size:]
            new = (step[:, 2 * size :] + (reset * hidden) @ weight[:, 2 * size :]).tanh()
            hidden = new + update * (hidden - new)
            outputs.append(hidden)
        if backwards:
            outputs.reverse()
        return Tensor.stack(outputs, 1), (hidden,)
