"""Lion."""

from __future__ import annotations

from dataclasses import dataclass

from tinyburn.module import Config

from .checks import finite_from_zero, shares
from .clipping import AnyClipping
from .optimizer import Optimizer
from .update import Primitive, Update


@dataclass(frozen=True)
class LionConfig(Config):
    """Lion: every number moves by the learning rate, up or down. So that is smaller than for Adam, about a tenth.

    Attributes:
        beta_1: the share of the momentum in the direction of a step.
        beta_2: the share of the momentum that stays.
        weight_decay: a pull towards 0 that is no part of the gradient: ``w = w - lr * weight_decay * w``.
        grad_clipping: a `GradientClippingConfig`, done before everything else.
    """

    beta_1: float = 0.9
    beta_2: float = 0.99
    weight_decay: float = 0.0
    grad_clipping: AnyClipping | None = None

    def problems(self) -> list[str]:
        """Values that no optimizer can have."""
        return [*shares(self, "beta_1", "beta_2"), *finite_from_zero(self, "weight_decay")]

    def init(self) -> Lion:
        """The optimizer, without any state yet."""
        return Lion(self)


class Lion(Optimizer[LionConfig]):
    """With gradient g and momentum m, from 0: the direction is ``sign(beta_1 * m + (1 - beta_1) * g)``, and then
    ``m = beta_2 * m + (1 - beta_2) * g``.

    Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms". PyTorch has no Lion. Beside the momentum a step
    needs memory for the direction of one parameter at a time.
    """

    def kept_names(self) -> tuple[str, ...]:
        """The momentum."""
        return ("momentum",)

    def _next(self, lr: float, p: Update) -> Primitive:
        config = self.config
        direction = p.backend.sign(self._mixed(p))
        p.keep("momentum", "weighted_sum", p.gradient, config.beta_2, 1 - config.beta_2)
        return p.overwrite("weighted_sum", p.value, direction, 1 - lr * config.weight_decay, -lr)

    def _mixed(self, p: Update) -> Primitive:
        momentum = p.kept("momentum")
        if momentum is None:
            return p.gradient  # zeros and this: its sign is that of the share
        return p.backend.weighted_sum(momentum, p.gradient, self.config.beta_1, 1 - self.config.beta_1)
