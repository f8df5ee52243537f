"""Stochastic gradient descent, with momentum and weight decay."""

from __future__ import annotations

from dataclasses import dataclass

from tinyburn.module import Config

from .checks import finite_from_zero
from .clipping import AnyClipping
from .optimizer import Optimizer
from .update import Primitive, Update


@dataclass(frozen=True)
class MomentumConfig(Config):
    """A step goes by a running sum of the gradients, the velocity, and so past small hollows.

    With velocity v and gradient g: ``v = momentum * v + (1 - dampening) * g``, and the first v is the first g.

    Attributes:
        momentum: the share of the velocity that stays.
        dampening: the share of the gradient that is left out.
        nesterov: step by ``g + momentum * v``, which looks ahead to where the velocity leads (Sutskever et al. 2013,
            "On the importance of initialization and momentum in deep learning").
    """

    momentum: float = 0.9
    dampening: float = 0.1
    nesterov: bool = False

    def problems(self) -> list[str]:
        """Values that no momentum can have."""
        return finite_from_zero(self, "momentum", "dampening")


@dataclass(frozen=True)
class SgdConfig(Config):
    """Plain SGD by default: ``w = w - lr * g``.

    Attributes:
        momentum: the share of the last step that goes into the next, which stands for a `MomentumConfig` without
            dampening; or that config; 0 keeps no state.
        weight_decay: a pull towards 0, in proportion to the parameter: the gradient is ``g + weight_decay * w``.
        grad_clipping: a `GradientClippingConfig`, done before everything else.
    """

    momentum: float | MomentumConfig = 0.0
    weight_decay: float = 0.0
    grad_clipping: AnyClipping | None = None

    def problems(self) -> list[str]:
        """Values that no optimizer can have."""
        numbers = ["weight_decay"] if isinstance(self.momentum, MomentumConfig) else ["momentum", "weight_decay"]
        return finite_from_zero(self, *numbers)

    def init(self) -> Sgd:
        """The optimizer, without any state yet."""
        return Sgd(self)


class Sgd(Optimizer[SgdConfig]):
    """Keeps one velocity for each parameter if there is momentum.

    The formulas are Burn's and PyTorch's: the learning rate multiplies the velocity and is no part of it.
    """

    def __init__(self, config: SgdConfig) -> None:
        super().__init__(config)
        given = config.momentum
        made = given if isinstance(given, MomentumConfig) else MomentumConfig(given, dampening=0.0)
        self._momentum = made if made.momentum else None

    def kept_names(self) -> tuple[str, ...]:
        """The velocity, if there is momentum."""
        return ("velocity",) if self._momentum else ()

    def _next(self, lr: float, p: Update) -> Primitive:
        decay = self.config.weight_decay
        if decay:
            p.overwrite("add_scaled", p.gradient, p.value, decay)
        direction = p.gradient if self._momentum is None else self._direction(self._momentum, p)
        return p.overwrite("add_scaled", p.value, direction, -lr)

    def _direction(self, momentum: MomentumConfig, p: Update) -> Primitive:
        """Where the step leads, by the new velocity."""
        if p.kept("velocity") is not None:
            share = 1 - momentum.dampening
            velocity = p.keep("velocity", "weighted_sum", p.gradient, momentum.momentum, share)
        else:
            velocity = p.keep_gradient("velocity")
        if not momentum.nesterov:
            return velocity
        return p.overwrite("add_scaled", p.gradient, velocity, momentum.momentum)
