"""Recurrent layers: what they share. The three kinds of step are in `rnn.py`, `lstm.py` and `gru.py`.

All steps of a layer need a product of the input with one matrix. None of these products waits for another, so they
are one product, before the loop. In the loop there remains the product with the state of the step before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.base.errors import ForeignCall, ShapeError
from tinyburn.base.shape import D2, D3
from tinyburn.module import Config, Module
from tinyburn.module.initializer import AnyInitializer, KaimingUniform
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_tensor

from .checks import check_features, check_meets, not_a_share, too_small
from .dropout import Dropout
from .linear import Linear
from .recurrence import Cell, Tensors, run

B = TypeVar("B", bound=Backend, covariant=True)
DB = TypeVar("DB", bound=Backend)


@dataclass(frozen=True)
class RecurrentConfig(Config):
    """From ``d_input`` features of each step to a state of ``d_hidden``.

    Attributes:
        bias: whether each of the two products gets a bias.
        num_layers: layers on top of each other: the outputs of one are the input of the next.
        bidirectional: whether each layer also reads the sequence from its end, with parameters of its own. The outputs
            of both are side by side, so there are ``2 * d_hidden``.
        dropout: the share of the outputs that is dropped between layers, as in `Dropout`.
        initializer: of all parameters; by default uniform in ``±1 / sqrt(d_hidden)``, as in PyTorch.
    """

    d_input: int
    d_hidden: int
    bias: bool = True
    num_layers: int = 1
    bidirectional: bool = False
    dropout: float = 0.0
    initializer: AnyInitializer = field(default_factory=KaimingUniform)

    gates: ClassVar[int] = 1
    """How many times ``d_hidden`` numbers a step computes."""

    def problems(self) -> list[str]:
        """Sizes that no layer can have, and what is no share."""
        sizes = too_small(d_input=self.d_input, d_hidden=self.d_hidden, num_layers=self.num_layers)
        return sizes + not_a_share(dropout=self.dropout)

    def _layers(self, device: Device[DB]) -> list[list[Gates[DB]]]:
        """The parameters of each layer: those of one direction, or of two."""
        directions = 1 + self.bidirectional
        widths = [self.d_input, *[self.d_hidden * directions] * (self.num_layers - 1)]
        return [[self._gates(width, device) for _ in range(directions)] for width in widths]

    def _gates(self, width: int, device: Device[DB]) -> Gates[DB]:
        return Gates(self._linear(width, device), self._linear(self.d_hidden, device))

    def _linear(self, width: int, device: Device[DB]) -> Linear[DB]:
        size = self.gates * self.d_hidden
        weight = self.initializer.init((width, size), device, fan_in=self.d_hidden)
        bias = self.initializer.init((size,), device, fan_in=self.d_hidden) if self.bias else None
        return Linear(weight, bias)


class Gates(Module, Generic[B]):
    """The parameters of one direction of one layer: a product with the input, and one with the hidden state.

    The gates of a step are side by side in the last dim, in PyTorch's order, so that each product is one for all.
    PyTorch stores the same matrices the other way round: ``input.weight`` is its ``weight_ih.T``, ``input.bias`` its
    ``bias_ih``, and ``hidden`` has those called ``hh``. Burn has a pair of linear layers for each gate.
    """

    def __init__(self, input: Linear[B], hidden: Linear[B]) -> None:  # the word of the formulas
        self.input = input
        self.hidden = hidden

    def forward(self, x: Tensor[Any, D2], with_both: bool) -> Tensor[Any, D2]:
        """The product with the inputs of all steps, and its bias; with the other bias too, where that is only added."""
        if self.input.bias is None or self.hidden.bias is None or not with_both:
            return self.input(x)
        return x._ask("linear", self.input.weight.val(), self.input.bias.val() + self.hidden.bias.val())


class Recurrent(Module, Generic[B]):
    """The loop over the steps, in as many layers and directions as there are; a subclass says what a step is."""

    cell: ClassVar[Cell]
    """What a step is."""
    adds_biases: ClassVar[bool] = True
    """Whether a step only adds the bias of the hidden state, so that it can be added to all steps at once."""

    def __init__(self, layers: list[list[Gates[B]]], dropout: float) -> None:
        name = type(self).__name__
        if not _are_gates(layers):
            reason = "a layer is made by its config, which makes the parameters on a device"
            raise ForeignCall(f"nn.{name}", reason, hint=f"write nn.{name}Config(d_input, d_hidden).init(device)")
        self.d_input = layers[0][0].input.d_input
        self.d_hidden = layers[0][0].hidden.d_input
        self.layers = layers
        self.dropout = Dropout(dropout)

    def torch_name(self, name: str) -> str:
        """``weight_ih_l0`` for ``layers.0.0.input.weight``; see `Module.torch_name`."""
        _, layer, direction, product, kind = name.split(".")
        return f"{kind}_{'ih' if product == 'input' else 'hh'}_l{layer}{'_reverse' if direction == '1' else ''}"

    def _run(self, x: Tensor[B, D3], starts: Sequence[Tensor[Any, D3] | None]) -> list[Tensor[Any, D3]]:
        """The outputs of the last layer, ``(batch, length, directions * d_hidden)``, and each kind of final state."""
        kinds = self._checked(x, starts)
        finals: list[Tensors] = []
        for at, layer in enumerate(self.layers):
            outputs: list[Tensor[Any, D3]] = []
            for gates in layer:
                states = tuple([kind[len(finals)] for kind in kinds])
                output, states = self._along(gates, x, states, backwards=bool(outputs))
                outputs.append(output)
                finals.append(states)
            x = outputs[0] if len(outputs) == 1 else Tensor.cat(outputs, 2)
            if at + 1 < len(self.layers):
                x = self.dropout(x)
        return [x, *[Tensor.stack(kind, 0) for kind in zip(*finals, strict=True)]]

    def _along(
        self, gates: Gates[Any], x: Tensor[Any, D3], states: Tensors, backwards: bool
    ) -> tuple[Tensor[Any, D3], Tensors]:
        """One direction of one layer: its outputs in the order of the input, and its states after the last step."""
        batch, length, width = x.shape
        rows = x.swap_dims(0, 1).reshape((length * batch, width))
        projected = gates(rows, self.adds_biases)
        bias = None if self.adds_biases or gates.hidden.bias is None else gates.hidden.bias.val()
        result = run(self.cell, length, projected, gates.hidden.weight.val(), bias, states, backwards)
        outputs = result[: length * batch].reshape((length, batch, self.d_hidden)).swap_dims(0, 1)
        ends = [0 if backwards else length - 1, *range(length, length + len(states) - 1)]
        return outputs, tuple([result[at * batch : (at + 1) * batch] for at in ends])

    def _checked(self, x: Tensor[B, D3], starts: Sequence[Tensor[Any, D3] | None]) -> list[list[Tensor[Any, D2]]]:
        """The states to start with, a list for each kind, after all checks. Zeros where none is given."""
        name = type(self).__name__
        check_features(name, x, -1, self.d_input, "d_input", ranks=(3,))
        check_meets(name, x, self.layers[0][0].input.weight.val())
        batch, length, _ = x.shape
        if not length:
            raise ShapeError(name, "the sequence has no steps", given={"input": x.shape}, hint="leave it out")
        shape = (sum(map(len, self.layers)), batch, self.d_hidden)
        for start in starts:
            if start is not None:
                _check_state(name, x, start, shape)
        zeros = Tensor.zeros((1, self.d_hidden), x.device, x.dtype).expand((batch, self.d_hidden))
        return [
            [zeros] * shape[0] if start is None else [start[at].reshape(shape[1:]) for at in range(shape[0])]
            for start in starts
        ]


def _are_gates(layers: object) -> bool:
    """Whether they are layers of gates, as a config makes them."""
    if not isinstance(layers, list) or not layers:
        return False
    return all(isinstance(layer, list) and layer and all(isinstance(part, Gates) for part in layer) for layer in layers)


def _check_state(name: str, x: Tensor[Any, D3], state: Tensor[Any, D3], shape: tuple[int, int, int]) -> None:
    check_tensor(name, state)
    check_meets(name, x, state)
    if state.shape != shape:
        reason = f"the state has shape {state.shape}, and must have {shape}"
        hint = "its dims are layer and direction, batch, d_hidden"
        raise ShapeError(name, reason, given={"input": x.shape, "state": state.shape}, hint=hint)
