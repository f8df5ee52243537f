"""Losses that compare distributions: KLDivLoss and PoissonNllLoss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.base.shape import D1
from tinyburn.module import Config, Module
from tinyburn.nn.checks import not_positive
from tinyburn.tensor import Tensor

from .checks import Reduction, check_pair, check_reduction, reduced

B = TypeVar("B", bound=Backend)
D = TypeVar("D")


@dataclass(frozen=True)
class KLDivLossConfig(Config):
    """``log_target`` says that the targets are logarithms too, as the predictions always are."""

    log_target: bool = False

    def init(self, device: Device[Any] | None = None) -> KLDivLoss:
        """The loss. It needs no device; one may be given, as to every other config."""
        return KLDivLoss(self.log_target)


class KLDivLoss(Module):
    """The Kullback-Leibler divergence, ``t * (log(t) - prediction)``, of predictions that are logarithms.

    Make them by `activation.log_softmax`. A target of 0 takes nothing, whatever the prediction. ``"auto"`` is
    ``"batch_mean"``: the sum over the size of dim 0, which is what mathematics calls the divergence. PyTorch's mean is
    over all elements by default, and its name is batchmean.
    """

    def __init__(self, log_target: bool = False) -> None:
        self.log_target = log_target

    def forward(
        self,
        prediction: Tensor[B, D],
        target: Tensor[B, D],
        reduction: Literal["auto", "batch_mean", "mean", "sum"] = "auto",
    ) -> Tensor[B, D1]:
        """Two tensors of one shape. Raises as `MseLoss` does."""
        check_reduction("KLDivLoss", reduction, ("auto", "batch_mean", "mean", "sum"))
        losses: Tensor[B, Any] = self.forward_no_reduction(prediction, target)
        if reduction in ("auto", "batch_mean"):
            return losses.mean() * (math.prod(losses.shape) / max(losses.shape[0], 1))
        return reduced(losses, reduction)

    def forward_no_reduction(self, prediction: Tensor[B, D], target: Tensor[B, D]) -> Tensor[B, D]:
        """The loss of each element."""
        check_pair("KLDivLoss", prediction, target)
        if self.log_target:
            return target.exp()._ask("multiply_no_nan", target - prediction)
        return target._ask("multiply_no_nan", target.log() - prediction)


@dataclass(frozen=True)
class PoissonNllLossConfig(Config):
    """``log_input`` says that predictions are logarithms of the rate; if not, ``eps`` keeps them from log(0).

    ``full`` adds Stirling's approximation of log(target!), which depends on the targets alone.
    """

    log_input: bool = True
    full: bool = False
    eps: float = 1e-8

    def problems(self) -> list[str]:
        """Values that no loss can have."""
        return not_positive(eps=self.eps)

    def init(self, device: Device[Any] | None = None) -> PoissonNllLoss:
        """The loss. It needs no device; one may be given, as to every other config."""
        return PoissonNllLoss(self.log_input, self.full, self.eps)


class PoissonNllLoss(Module):
    """Minus the logarithm of the probability of a count by Poisson's distribution, ``rate - target * log(rate)``."""

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8) -> None:
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, prediction: Tensor[B, D], target: Tensor[B, D], reduction: Reduction = "auto") -> Tensor[B, D1]:
        """Two Float tensors of one shape. Raises as `MseLoss` does."""
        check_reduction("PoissonNllLoss", reduction)
        return reduced(self.forward_no_reduction(prediction, target), reduction)

    def forward_no_reduction(self, prediction: Tensor[B, D], target: Tensor[B, D]) -> Tensor[B, D]:
        """The loss of each element."""
        check_pair("PoissonNllLoss", prediction, target)
        if self.log_input:
            losses = prediction.exp() - target * prediction
        else:
            losses = prediction - target * (prediction + self.eps).log()
        return losses + _log_factorial(target) if self.full else losses


def _log_factorial(n: Tensor[B, D]) -> Tensor[B, D]:
    """Stirling's ``n log(n) - n + log(2 pi n) / 2`` above 1, and 0 up to there."""
    approximate = n * n.log() - n + (n * (2 * math.pi)).log() * 0.5
    return approximate.mask_fill(n <= 1.0, 0.0)
