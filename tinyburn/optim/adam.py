"""Adam and AdamW."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tinyburn.module import Config

from .checks import above_zero, finite_from_zero, shares
from .clipping import AnyClipping
from .optimizer import C, Optimizer
from .update import Primitive, Update

FIRST, SECOND, LARGEST = "first_moment", "second_moment", "largest_second_moment"


@dataclass(frozen=True)
class AdamConfig(Config):
    """Adam: each number of a parameter gets a step of its own length.

    Attributes:
        beta_1: the share of the running mean of the gradients that stays.
        beta_2: the same for the running mean of their squares.
        epsilon: keeps the step finite where all gradients were 0. It is Burn's 1e-5; PyTorch has 1e-8.
        weight_decay: a pull towards 0 that is part of the gradient, ``g + weight_decay * w``. See `AdamWConfig`.
        amsgrad: divide by the largest second moment so far (Reddi et al. 2018, "On the Convergence of Adam and
            Beyond").
        grad_clipping: a `GradientClippingConfig`, done before everything else.
    """

    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-5
    weight_decay: float = 0.0
    amsgrad: bool = False
    grad_clipping: AnyClipping | None = None

    def problems(self) -> list[str]:
        """Values that no optimizer can have."""
        return _problems(self)

    def init(self) -> Adam:
        """The optimizer, without any state yet."""
        return Adam(self)


@dataclass(frozen=True)
class AdamWConfig(Config):
    """Adam with a weight decay that pulls all numbers alike, also those with large gradients.

    Attributes:
        weight_decay: ``w = w - lr * weight_decay * w`` before the step. It is Burn's 1e-4; PyTorch has 0.01.
        beta_1, beta_2, epsilon, amsgrad, grad_clipping: see `AdamConfig`.
    """

    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-5
    weight_decay: float = 1e-4
    amsgrad: bool = False
    grad_clipping: AnyClipping | None = None

    def problems(self) -> list[str]:
        """Values that no optimizer can have."""
        return _problems(self)

    def init(self) -> AdamW:
        """The optimizer, without any state yet."""
        return AdamW(self)


def _problems(config: AdamConfig | AdamWConfig) -> list[str]:
    return [
        *shares(config, "beta_1", "beta_2"),
        *above_zero(config, "epsilon"),
        *finite_from_zero(config, "weight_decay"),
    ]


class _Moments(Optimizer[C]):
    """What the two share: with gradient g, after t steps,

    ``m = beta_1 * m + (1 - beta_1) * g`` and ``v = beta_2 * v + (1 - beta_2) * g * g``, both from 0, and the step is
    ``lr * M / (sqrt(V) + epsilon)`` with ``M = m / (1 - beta_1 ** t)`` and ``V = v / (1 - beta_2 ** t)``.

    Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization". The corrections are multiplied into ``lr`` and
    ``epsilon``, as at the end of its section 2, so that a step needs no memory beside m and v. With amsgrad the largest
    v is taken, as in PyTorch: before its correction.
    """

    config: Any

    def kept_names(self) -> tuple[str, ...]:
        """The two moments, and the largest second one for amsgrad."""
        return (FIRST, SECOND, LARGEST) if self.config.amsgrad else (FIRST, SECOND)

    def _adam(self, lr: float, p: Update, share: float) -> Primitive:
        """``share`` of the value is left before the step."""
        config, steps = self.config, p.count()
        first = p.keep(FIRST, "weighted_sum", p.gradient, config.beta_1, 1 - config.beta_1)
        second = p.keep(SECOND, "weighted_square_sum", p.gradient, config.beta_2, 1 - config.beta_2)
        if config.amsgrad:
            second = p.keep(LARGEST, "maximum", second)
        root = math.sqrt(1 - config.beta_2**steps)
        rate = lr * root / (1 - config.beta_1**steps)
        return p.overwrite("adaptive_sum", p.value, first, second, share, -rate, config.epsilon * root)


class Adam(_Moments[AdamConfig]):
    """Keeps two moments for each parameter."""

    def _next(self, lr: float, p: Update) -> Primitive:
        decay = self.config.weight_decay
        if decay:
            p.overwrite("add_scaled", p.gradient, p.value, decay)
        return self._adam(lr, p, 1.0)


class AdamW(_Moments[AdamWConfig]):
    """Keeps two moments for each parameter. Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization"."""

    def _next(self, lr: float, p: Update) -> Primitive:
        return self._adam(lr, p, 1 - lr * self.config.weight_decay)
