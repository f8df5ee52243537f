"""The depth fan as a widget: another gain, another activation function, more layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from tinyburn import activation as functions
from tinyburn.autodiff import Autodiff
from tinyburn.backend import NdArray
from tinyburn.base.distribution import Distribution
from tinyburn.base.errors import ConfigError
from tinyburn.module.initializer import KaimingNormal
from tinyburn.nn import LinearConfig
from tinyburn.tensor import Tensor
from tinyburn.viz import Picture
from tinyburn.viz import depth_fan as fan
from tinyburn.viz.depth_fan import Sizes

from .checks import choice_problems, count_problems
from .controls import choice, decimal, number, with_slider
from .live import Controls, Live

AnyTensor: TypeAlias = Tensor[Any, Any]
Function: TypeAlias = Callable[[AnyTensor], AnyTensor]
Deep: TypeAlias = Callable[[Function, float, int], Sizes]
"""From an activation function, a gain and a number of layers to what ``backward(record_flow=True)`` returns."""

FUNCTIONS: dict[str, Function] = {
    "relu": functions.relu,
    "tanh": functions.tanh,
    "sigmoid": functions.sigmoid,
    "silu": functions.silu,
    "gelu": functions.gelu,
}
"""What the choice of an activation function has."""
OTHER_GAINS = (0.5, 1.0, 2.0)
"""Drawn beside the chosen one: from far too small to too large."""
LEAST_GAIN, MOST_GAIN = 0.1, 4.0
MOST_LAYERS = 60
_WIDTH, _SAMPLES = 32, 64


def depth_fan(gradients: Deep | None = None, *, gain: float = 1.0, activation: str = "relu", layers: int = 20) -> Live:
    """`viz.depth_fan` of a deep model, with a gain, an activation function and a number of layers to choose.

    The models with the gains 0.5, 1 and 2 stand beside the chosen one.

    Args:
        gradients: computes what is drawn: ``gradients(function, gain, layers)`` makes a model of so many layers, each
            followed by the function, with weights that start with this gain, and returns
            ``loss.backward(record_flow=True)``. It must compute the same each time. None for linear layers of 32 inputs
            and outputs.
        gain: at the start, from 0.1 to 4.
        activation: at the start: relu, tanh, sigmoid, silu or gelu.
        layers: at the start, from 2 to 60.

    Raises ConfigError for an argument that makes no sense; and what ``gradients`` raises.
    """
    deep = _linear_layers if gradients is None else gradients
    _check(deep, gain, activation, layers)

    @lru_cache(2 * len(OTHER_GAINS))
    def sizes(name: str, gain: float, layers: int) -> Sizes:
        return deep(FUNCTIONS[name], gain, layers)

    def draw(name: str, gain: float, layers: int) -> Picture:
        chosen = f"{name}, gain {gain:g}"
        others = {f"gain {other:g}": sizes(name, other, layers) for other in OTHER_GAINS if other != gain}
        return fan({chosen: sizes(name, gain, layers), **others}, chosen)

    def controls(widgets: Any) -> Controls:
        factor = decimal(widgets, "Gain", gain, LEAST_GAIN, MOST_GAIN, 0.1)
        name = choice(widgets, "Activation function", FUNCTIONS, activation)
        depth, depths = with_slider(widgets, number(widgets, "Layers", layers, 2, MOST_LAYERS))
        return Controls([factor, name, depth, depths], {"gain": factor, "name": name, "layers": depth})

    return Live(draw(activation, gain, layers), draw, controls)


def _check(gradients: Any, gain: Any, activation: Any, layers: Any) -> None:
    reasons = [] if callable(gradients) else [f"{type(gradients).__name__} is no function that returns gradients"]
    if not (isinstance(gain, int | float) and LEAST_GAIN <= gain <= MOST_GAIN):
        reasons.append(f"gain is {gain!r}, and must be a number from {LEAST_GAIN:g} to {MOST_GAIN:g}")
    reasons += choice_problems("activation", activation, FUNCTIONS) + count_problems(2, MOST_LAYERS, layers=layers)
    if reasons:
        hint = "write widgets.depth_fan(), or widgets.depth_fan(gradients) with gradients(function, gain, layers)"
        raise ConfigError("widgets.depth_fan", reasons, hint=hint)


def _linear_layers(function: Function, gain: float, layers: int) -> Sizes:
    """The same random numbers each time, so that only what was chosen makes a difference."""
    made: Any = Autodiff[NdArray]
    device = made.device()
    device.seed(0)
    x: AnyTensor = Tensor.random((_SAMPLES, _WIDTH), Distribution.Normal(0.0, 1.0), device)
    config = LinearConfig(_WIDTH, _WIDTH, bias=False, initializer=KaimingNormal(gain))
    for _ in range(layers):
        x = function(config.init(device)(x))
    return (x * x).mean().backward(record_flow=True)
