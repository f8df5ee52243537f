"""RMSProp."""

from __future__ import annotations

from dataclasses import dataclass

from tinyburn.module import Config

from .checks import above_zero, finite_from_zero, shares
from .clipping import AnyClipping
from .optimizer import Optimizer
from .update import Primitive, Update

SQUARES, MEAN, VELOCITY = "mean_of_squares", "mean", "velocity"


@dataclass(frozen=True)
class RmsPropConfig(Config):
    """RMSProp: a step is divided by the size that the gradients have had lately.

    Attributes:
        alpha: the share of the running mean of the squares that stays.
        momentum: the share of the last step that goes into the next. It is Burn's 0.9; PyTorch has 0.
        epsilon: keeps the step finite where all gradients were 0. It is Burn's 1e-5; PyTorch has 1e-8.
        centered: divide by the deviation from the running mean of the gradients.
        weight_decay: a pull towards 0 that is part of the gradient, ``g + weight_decay * w``.
        grad_clipping: a `GradientClippingConfig`, done before everything else.
    """

    alpha: float = 0.99
    momentum: float = 0.9
    epsilon: float = 1e-5
    centered: bool = False
    weight_decay: float = 0.0
    grad_clipping: AnyClipping | None = None

    def problems(self) -> list[str]:
        """Values that no optimizer can have."""
        return [
            *shares(self, "alpha"),
            *finite_from_zero(self, "momentum", "weight_decay"),
            *above_zero(self, "epsilon"),
        ]

    def init(self) -> RmsProp:
        """The optimizer, without any state yet."""
        return RmsProp(self)


class RmsProp(Optimizer[RmsPropConfig]):
    """With gradient g: ``s = alpha * s + (1 - alpha) * g * g``, from 0, and the step is ``g / (sqrt(s) + epsilon)``.

    Tieleman and Hinton 2012, "Lecture 6.5", and for the centered form Graves 2013, "Generating Sequences With Recurrent
    Neural Networks". With momentum, the steps add up in a velocity. A variance that rounding makes negative counts as
    0, where PyTorch gives NaN.
    """

    def kept_names(self) -> tuple[str, ...]:
        """The mean of the squares, and what the two options need."""
        config = self.config
        return (SQUARES, *([MEAN] if config.centered else []), *([VELOCITY] if config.momentum else []))

    def _next(self, lr: float, p: Update) -> Primitive:
        config = self.config
        if config.weight_decay:
            p.overwrite("add_scaled", p.gradient, p.value, config.weight_decay)
        size = p.keep(SQUARES, "weighted_square_sum", p.gradient, config.alpha, 1 - config.alpha)
        if config.centered:
            mean = p.keep(MEAN, "weighted_sum", p.gradient, config.alpha, 1 - config.alpha)
            size = p.backend.clamp_min(p.backend.weighted_square_sum(size, mean, 1.0, -1.0), 0.0)
        if config.momentum:
            velocity = p.keep(VELOCITY, "adaptive_sum", p.gradient, size, config.momentum, 1.0, config.epsilon)
            return p.overwrite("add_scaled", p.value, velocity, -lr)
        return p.overwrite("adaptive_sum", p.value, p.gradient, size, 1.0, -lr, config.epsilon)
