"""AdaGrad."""

from __future__ import annotations

from dataclasses import dataclass

from tinyburn.module import Config

from .checks import above_zero, finite_from_zero
from .clipping import AnyClipping
from .optimizer import Optimizer
from .update import Primitive, Update


@dataclass(frozen=True)
class AdaGradConfig(Config):
    """AdaGrad: the more a number has moved, the shorter its steps become.

    Attributes:
        lr_decay: the learning rate is divided by ``1 + lr_decay * t`` after t steps.
        weight_decay: a pull towards 0 that is part of the gradient, ``g + weight_decay * w``.
        epsilon: keeps the step finite where all gradients were 0. It is Burn's 1e-5; PyTorch has 1e-10.
        grad_clipping: a `GradientClippingConfig`, done before everything else.
    """

    lr_decay: float = 0.0
    weight_decay: float = 0.0
    epsilon: float = 1e-5
    grad_clipping: AnyClipping | None = None

    def problems(self) -> list[str]:
        """Values that no optimizer can have."""
        return [*finite_from_zero(self, "lr_decay", "weight_decay"), *above_zero(self, "epsilon")]

    def init(self) -> AdaGrad:
        """The optimizer, without any state yet."""
        return AdaGrad(self)


class AdaGrad(Optimizer[AdaGradConfig]):
    """With gradient g: ``s = s + g * g``, from 0, and ``w = w - lr * g / (sqrt(s) + epsilon)``.

    Duchi et al. 2011, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization".
    """

    def kept_names(self) -> tuple[str, ...]:
        """The sum of all squares so far."""
        return ("sum_of_squares",)

    def _next(self, lr: float, p: Update) -> Primitive:
        config, steps = self.config, p.count()
        if config.weight_decay:
            p.overwrite("add_scaled", p.gradient, p.value, config.weight_decay)
        total = p.keep("sum_of_squares", "weighted_square_sum", p.gradient, 1.0, 1.0)
        rate = lr / (1 + config.lr_decay * (steps - 1))
        return p.overwrite("adaptive_sum", p.value, p.gradient, total, 1.0, -rate, config.epsilon)
