"""The ratio clock as a widget: the same training with another learning rate, and with clipping."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tinyburn.activation import relu
from tinyburn.autodiff import Autodiff, Gradients
from tinyburn.backend import Device, NdArray
from tinyburn.base.distribution import Distribution
from tinyburn.base.errors import ConfigError
from tinyburn.module import Module
from tinyburn.nn import Linear, LinearConfig, MseLoss
from tinyburn.optim import GradientClippingConfig, SgdConfig
from tinyburn.tensor import Tensor
from tinyburn.viz import Picture, update_ratio
from tinyburn.viz import update_ratios as clock

from .checks import choice_problems, count_problems
from .controls import choice
from .live import Controls, Live

Loss: TypeAlias = Callable[[Any], Tensor[Any, Any]]
"""The loss of a model on the reader's data."""

RATES = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
THRESHOLDS = (0.001, 0.01, 0.1, 1.0, 10.0)
CLIPPINGS: dict[str, Callable[[float], Any] | None] = {
    "none": None,
    "by value": GradientClippingConfig.Value,
    "by norm": GradientClippingConfig.Norm,
    "by global norm": GradientClippingConfig.GlobalNorm,
}
MOST_STEPS = 200


def update_ratios(
    model: Module | None = None,
    loss: Loss | None = None,
    *,
    learning_rate: float = 0.1,
    clipping: str = "none",
    threshold: float = 1.0,
    steps: int = 60,
) -> Live:
    """`viz.update_ratios` of a training with SGD, with choices of the learning rate and of the clipping.

    Each state trains anew, from the same model on. What stands at the first and at the last step is the loss.

    Args:
        model: where each training starts; it does not change. None, without a loss too, for a small model that learns
            to add eight numbers.
        loss: ``loss(model)`` is the loss on the reader's data. It must compute the same each time.
        learning_rate, threshold: at the start.
        clipping: at the start: none, by value, by norm or by global norm.
        steps: of each training, from 1 to 200.

    Raises ConfigError for an argument that makes no sense; and what ``loss`` raises.
    """
    _check(model, loss, learning_rate, clipping, threshold, steps)
    start, loss_of = _adder() if model is None or loss is None else (model, loss)

    def draw(rate: float, way: str, threshold: float) -> Picture:
        return _trained(start, loss_of, rate, _Clipping(way, threshold), steps)

    def controls(widgets: Any) -> Controls:
        rate = choice(widgets, "Learning rate", _with(RATES, learning_rate), learning_rate)
        way = choice(widgets, "Clipping", CLIPPINGS, clipping, 140)
        most = choice(widgets, "Threshold", _with(THRESHOLDS, threshold), threshold)
        return Controls([rate, way, most], {"rate": rate, "way": way, "threshold": most})

    return Live(draw(learning_rate, clipping, threshold), draw, controls)


def _with(values: tuple[float, ...], value: float) -> list[tuple[str, float]]:
    """The values and one more, in order, as they are read."""
    return [(f"{each:g}", each) for each in sorted({*values, value})]


def _check(model: Any, loss: Any, rate: Any, clipping: Any, threshold: Any, steps: Any) -> None:
    reasons = []
    if (model is None) != (loss is None):
        reasons.append(f"there is a {'model' if loss is None else 'loss'} and no {'loss' if loss is None else 'model'}")
    elif model is not None:
        reasons += [] if isinstance(model, Module) else [f"{type(model).__name__} is no module"]
        reasons += [] if callable(loss) else [f"{type(loss).__name__} is no function of a model"]
    for name, value in (("learning_rate", rate), ("threshold", threshold)):
        if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
            reasons.append(f"{name} is {value!r}, and must be a finite number above 0")
    reasons += choice_problems("clipping", clipping, CLIPPINGS) + count_problems(1, MOST_STEPS, steps=steps)
    if reasons:
        hint = "write widgets.update_ratios(), or widgets.update_ratios(model, lambda model: mse(model(x), target))"
        raise ConfigError("widgets.update_ratios", reasons, hint=hint)


# A training


class _Clipping:
    """A way to clip, which counts the steps in which it changes anything."""

    def __init__(self, way: str, threshold: float) -> None:
        made = CLIPPINGS[way]
        self.config = None if made is None else made(threshold)
        self.way, self.threshold = way, threshold
        self.steps: list[int] = []

    def look(self, step: int, grads: Gradients[Any]) -> None:
        """Before a step: whether its gradients will be clipped."""
        if self.config is None:
            return
        gradients = [tensor.to_numpy().astype(np.float64) for tensor in grads.tensors()]
        sizes = [np.abs(each).max() if self.way == "by value" else np.linalg.norm(each) for each in gradients]
        size = np.linalg.norm(sizes) if self.way == "by global norm" else max(sizes)
        if size > self.threshold:
            self.steps.append(step)


def _trained(model: Module, loss_of: Loss, rate: float, clipping: _Clipping, steps: int) -> Picture:
    sgd = SgdConfig(grad_clipping=clipping.config).init()
    ratios, losses = [], []
    with np.errstate(all="ignore"):  # a learning rate that is too high is a state like any other
        for step in range(steps):
            loss = loss_of(model)
            losses.append(float(loss.into_scalar()))
            grads = loss.backward()
            clipping.look(step, grads)
            stepped = sgd.step(rate, model, grads)
            ratios.append(update_ratio(model, stepped))
            model = stepped
    return clock(ratios, _events(losses, clipping.steps))


def _events(losses: list[float], clipped: list[int]) -> dict[int, str]:
    """What happened at which step: the loss at both ends, where it was lost, and the last clipping."""
    last = len(losses) - 1
    found = [(0, f"the loss is {losses[0]:.2g}")]
    found += [(last, f"the loss is {losses[-1]:.2g}")] if last else []
    found += [(step, "the loss is not finite") for step, loss in enumerate(losses) if not math.isfinite(loss)][:1]
    if clipped:
        found.append((clipped[-1], f"the last of {len(clipped)} steps that are clipped"))
    events: dict[int, str] = {}
    for step, words in found:
        events[step] = f"{events[step]}; {words}" if step in events else words
    return events


class _Mlp(Module):
    hidden: Linear[Any]
    output: Linear[Any]

    def __init__(self, device: Device[Any]) -> None:
        self.hidden = LinearConfig(8, 32).init(device)
        self.output = LinearConfig(32, 1).init(device)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.output(relu(self.hidden(x)))


def _adder() -> tuple[Module, Loss]:
    """A model that learns to add eight numbers; the same random ones each time."""
    made: Any = Autodiff[NdArray]
    device = made.device()
    device.seed(0)
    model = _Mlp(device)
    x: Tensor[Any, Any] = Tensor.random((64, 8), Distribution.Normal(0.0, 1.0), device)
    target, mse = x.sum_dim(1), MseLoss()
    return model, lambda model: mse(model(x), target)
