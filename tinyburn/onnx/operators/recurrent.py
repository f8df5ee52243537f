"""Recurrent layers: a loop over the steps of a sequence, in one direction or in both.

All steps need a product of the input with one matrix. None of these products waits for another, so they are one
product, before the loop. In the loop there remains the product with the state of the step before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from tinyburn import activation
from tinyburn.base.errors import OnnxError
from tinyburn.onnx.table import operator
from tinyburn.onnx.values import AnyTensor, Value
from tinyburn.tensor import Tensor

Tensors: TypeAlias = tuple[AnyTensor, ...]
Function: TypeAlias = Callable[[AnyTensor], AnyTensor]
Step: TypeAlias = Callable[[AnyTensor, Tensors], Tensors]
"""From what the input adds, ``(batch, gates * hidden)``, and the states, to the next states."""
Floats: TypeAlias = tuple[float, ...]
Names: TypeAlias = tuple[str, ...]


# Activations, by the standard's names: a function of x, alpha and beta, and the defaults of alpha and beta

ACTIVATIONS: dict[str, tuple[Callable[[AnyTensor, float, float], AnyTensor], float | None, float | None]] = {
    "relu": (lambda x, a, b: activation.relu(x), None, None),
    "tanh": (lambda x, a, b: x.tanh(), None, None),
    "sigmoid": (lambda x, a, b: activation.sigmoid(x), None, None),
    "softsign": (lambda x, a, b: activation.softsign(x), None, None),
    "softplus": (lambda x, a, b: activation.softplus(x), None, None),
    "affine": (lambda x, a, b: x * a + b, 1.0, 0.0),
    "leakyrelu": (lambda x, a, b: activation.leaky_relu(x, a), 0.01, None),
    "thresholdedrelu": (lambda x, a, b: activation.thresholded_relu(x, a), 1.0, None),
    "scaledtanh": (lambda x, a, b: (x * b).tanh() * a, 1.0, 1.0),
    "hardsigmoid": (lambda x, a, b: activation.hard_sigmoid(x, a, b), 0.2, 0.5),
    "elu": (lambda x, a, b: activation.elu(x, a), 1.0, None),
}


class Settings(NamedTuple):
    """What the three operators have in common.

    Attributes:
        clip: the bound of what goes into the activation of a gate; None for none.
        layout: 1 where the batch is the first dim.
    """

    direction: str
    activations: Names
    alphas: Floats
    betas: Floats
    clip: float | None
    layout: int

    @property
    def backwards(self) -> list[bool]:
        """For each direction, whether it reads from the end."""
        found = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(self.direction)
        if found is None:
            raise OnnxError("direction", f"{self.direction!r} is none of forward, reverse and bidirectional")
        return found

    def functions(self) -> list[Function]:
        """The activations of all directions. Each takes the next alpha and beta, if it has such."""
        alphas, betas = iter(self.alphas), iter(self.betas)
        return [self._function(name, alphas, betas) for name in self.activations]

    def _function(self, name: str, alphas: Iterator[float], betas: Iterator[float]) -> Function:
        if name.lower() not in ACTIVATIONS:
            raise OnnxError("activations", f"there is no {name!r}: known are {', '.join(ACTIVATIONS)}")
        function, alpha, beta = ACTIVATIONS[name.lower()]
        a = 0.0 if alpha is None else next(alphas, alpha)
        b = 0.0 if beta is None else next(betas, beta)
        return lambda x: function(x, a, b)


class Part(NamedTuple):
    """One direction of a layer: its matrices, transposed, its two biases or zeros, and its activations."""

    input: AnyTensor
    hidden: AnyTensor
    input_bias: AnyTensor
    hidden_bias: AnyTensor
    functions: Sequence[Function]
    clip: float | None

    def clipped(self, x: AnyTensor) -> AnyTensor:
        """What goes into the activation of a gate."""
        return x if self.clip is None else x.clamp(-self.clip, self.clip)

    def gates(self, x: AnyTensor) -> list[AnyTensor]:
        """The gates, which are side by side in the last dim."""
        return list(x.split(self.hidden.shape[0], -1))


def _parts(weight: Value, recurrence: Value, bias: Value | None, settings: Settings) -> list[Part]:
    """One for each direction."""
    count, rows, _ = weight.shape
    functions = settings.functions()
    each = len(functions) // count
    if bias is None:
        biases = Tensor.zeros((1, 2 * rows), weight.tensor.device, weight.tensor.dtype).expand((count, 2 * rows))
    else:
        biases = bias.tensor
    return [
        Part(
            weight.tensor[at].squeeze(0).transpose(),
            recurrence.tensor[at].squeeze(0).transpose(),
            biases[at, :rows],
            biases[at, rows:],
            functions[at * each : (at + 1) * each],
            settings.clip,
        )
        for at in range(count)
    ]


def _run(
    x: Value,
    lengths: Value | None,
    starts: Sequence[Value | None],
    parts: list[Part],
    steps: list[Step],
    settings: Settings,
) -> tuple[Value, ...]:
    """The outputs of all steps, ``(length, directions, batch, hidden)``, and the last of each kind of state."""
    sequence = x.tensor.swap_dims(0, 1) if settings.layout else x.tensor
    before = [_states(start, sequence, parts, settings) for start in starts]
    outputs, lasts = [], []
    for at, backwards in enumerate(settings.backwards):
        states = tuple([kind[at] for kind in before])
        output, states = _along(sequence, lengths, states, parts[at], steps[at], backwards)
        outputs.append(output)
        lasts.append(states)
    dim = 2 if settings.layout else 1
    found = [Tensor.stack(outputs, 1).permute(2, 0, 1, 3) if settings.layout else Tensor.stack(outputs, 1)]
    found += [Tensor.stack(kind, dim - 1) for kind in zip(*lasts, strict=True)]
    return tuple([Value(one) for one in found])


def _states(start: Value | None, sequence: AnyTensor, parts: list[Part], settings: Settings) -> list[AnyTensor]:
    """One for each direction, ``(batch, hidden)``; zeros where none is given."""
    shape = (sequence.shape[1], parts[0].hidden.shape[0])
    if start is None:
        return [Tensor.zeros((1, shape[1]), sequence.device, sequence.dtype).expand(shape)] * len(parts)
    first = start.tensor.swap_dims(0, 1) if settings.layout else start.tensor
    return [first[at].reshape(shape) for at in range(len(parts))]


def _along(
    sequence: AnyTensor, lengths: Value | None, states: Tensors, part: Part, step: Step, backwards: bool
) -> tuple[AnyTensor, Tensors]:
    """The outputs, ``(length, batch, hidden)``, and the last states.

    Where a sequence has ended, its states stay, and its outputs are 0.
    """
    length, batch, width = sequence.shape
    given = sequence.reshape((length * batch, width)) @ part.input + part.input_bias
    outputs: list[AnyTensor] = []
    for at in range(length - 1, -1, -1) if backwards else range(length):
        after = step(given[at * batch : (at + 1) * batch], states)
        output = after[0]
        if lengths is not None:
            has_ended = lengths.tensor.lower_equal(at).reshape((batch, 1)).expand(output.shape)
            after = tuple(
                [new.mask_where(has_ended, old.expand(new.shape)) for new, old in zip(after, states, strict=True)]
            )
            output = output.mask_fill(has_ended, 0.0)
        states = after
        outputs.append(output)
    return Tensor.stack(outputs[::-1] if backwards else outputs, 0), states


# The three kinds of step


@operator("RNN", 7, 14, 22)
def rnn(
    x: Value,
    weight: Value,
    recurrence: Value,
    bias: Value | None = None,
    lengths: Value | None = None,
    start: Value | None = None,
    *,
    hidden_size: int | None = None,
    direction: str = "forward",
    activations: Names = ("Tanh", "Tanh"),
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    clip: float | None = None,
    layout: int = 0,
) -> tuple[Value, ...]:
    """``h = f(x W + h R + b)``."""
    names = activations[: weight.shape[0]]
    settings = Settings(direction, names, activation_alpha, activation_beta, clip, layout)
    parts = _parts(weight, recurrence, bias, settings)
    return _run(x, lengths, [start], parts, [_rnn_step(part) for part in parts], settings)


def _rnn_step(part: Part) -> Step:
    def step(given: AnyTensor, states: Tensors) -> Tensors:
        return (part.functions[0](part.clipped(given + states[0] @ part.hidden + part.hidden_bias)),)

    return step


@operator("GRU", 7, 14, 22)
def gru(
    x: Value,
    weight: Value,
    recurrence: Value,
    bias: Value | None = None,
    lengths: Value | None = None,
    start: Value | None = None,
    *,
    hidden_size: int | None = None,
    direction: str = "forward",
    activations: Names = ("Sigmoid", "Tanh"),
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    clip: float | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
) -> tuple[Value, ...]:
    """``h = (1 - z) * n + z * h``, with the gates z (update) and r (reset) and the new state n: see `nn.Gru`.

    With ``linear_before_reset`` the reset gate acts on the product with the state, else on the state.
    """
    names = activations if len(activations) >= 2 * weight.shape[0] else activations * weight.shape[0]
    settings = Settings(direction, names, activation_alpha, activation_beta, clip, layout)
    parts = _parts(weight, recurrence, bias, settings)
    return _run(x, lengths, [start], parts, [_gru_step(part, bool(linear_before_reset)) for part in parts], settings)


def _gru_step(part: Part, resets_product: bool) -> Step:
    f, g = part.functions
    size = 2 * part.hidden.shape[0]
    of_gates, of_new = part.hidden[:, :size], part.hidden[:, size:]
    gate_bias, new_bias = part.hidden_bias[:, :size], part.hidden_bias[:, size:]

    def step(given: AnyTensor, states: Tensors) -> Tensors:
        (hidden,) = states
        update, reset = part.gates(f(part.clipped(given[:, :size] + hidden @ of_gates + gate_bias)))
        product = (hidden if resets_product else reset * hidden) @ of_new + new_bias
        new = g(part.clipped(given[:, size:] + (reset * product if resets_product else product)))
        return (new + update * (hidden - new),)

    return step


@operator("LSTM", 7, 14, 22)
def lstm(
    x: Value,
    weight: Value,
    recurrence: Value,
    bias: Value | None = None,
    lengths: Value | None = None,
    start: Value | None = None,
    cell_start: Value | None = None,
    peepholes: Value | None = None,
    *,
    hidden_size: int | None = None,
    direction: str = "forward",
    activations: Names = ("Sigmoid", "Tanh", "Tanh"),
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    clip: float | None = None,
    layout: int = 0,
    input_forget: int = 0,
) -> tuple[Value, ...]:
    """``c = f * c + i * g`` and ``h = o * tanh(c)``: see `nn.Lstm`.

    By peepholes the gates also see the cell. With ``input_forget`` the forget gate is ``1 - i``.
    """
    names = activations if len(activations) >= 3 * weight.shape[0] else activations * weight.shape[0]
    settings = Settings(direction, names, activation_alpha, activation_beta, clip, layout)
    parts = _parts(weight, recurrence, bias, settings)
    holes = [None if peepholes is None else peepholes.tensor[at] for at in range(len(parts))]
    steps = [_lstm_step(part, hole, bool(input_forget)) for part, hole in zip(parts, holes, strict=True)]
    return _run(x, lengths, [start, cell_start], parts, steps, settings)


def _lstm_step(part: Part, peephole: AnyTensor | None, is_coupled: bool) -> Step:
    f, g, h = part.functions
    of_input, of_output, of_forget = [None] * 3 if peephole is None else part.gates(peephole)

    def seen(gate: AnyTensor, cell: AnyTensor, weight: AnyTensor | None) -> AnyTensor:
        return f(part.clipped(gate if weight is None else gate + cell * weight))

    def step(given: AnyTensor, states: Tensors) -> Tensors:
        hidden, before = states
        i, o, forget, new = part.gates(given + hidden @ part.hidden + part.hidden_bias)
        i = seen(i, before, of_input)
        forget = 1.0 - i if is_coupled else seen(forget, before, of_forget)
        cell = forget * before + i * g(part.clipped(new))
        return seen(o, cell, of_output) * h(cell), cell

    return step
