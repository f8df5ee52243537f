"""Losses of the difference between a prediction and its target, element by element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.base.shape import D1
from tinyburn.module import Config, Module
from tinyburn.nn.checks import not_positive
from tinyburn.tensor import Tensor

from .checks import Reduction, check_pair, check_reduction, reduced

B = TypeVar("B", bound=Backend)
D = TypeVar("D")


class MseLoss(Module):
    """The squared differences. The target is a constant unless the caller tracks it."""

    def forward(self, prediction: Tensor[B, D], target: Tensor[B, D], reduction: Reduction = "auto") -> Tensor[B, D1]:
        """Two tensors of one shape: broadcasting a target over a batch is nearly always a mistake.

        Raises ShapeError if the shapes differ, and for the mean of an empty batch; DeviceMismatch or DTypeMismatch for
        another device or dtype.
        """
        check_reduction("MseLoss", reduction)
        return reduced(self.forward_no_reduction(prediction, target), reduction)

    def forward_no_reduction(self, prediction: Tensor[B, D], target: Tensor[B, D]) -> Tensor[B, D]:
        """The loss of each element."""
        check_pair("MseLoss", prediction, target)
        return prediction._ask("squared_difference", target)


class L1Loss(Module):
    """The absolute differences. Where there is no difference the slope is taken as 0."""

    def forward(self, prediction: Tensor[B, D], target: Tensor[B, D], reduction: Reduction = "auto") -> Tensor[B, D1]:
        """Two tensors of one shape. Raises as `MseLoss` does."""
        check_reduction("L1Loss", reduction)
        return reduced(self.forward_no_reduction(prediction, target), reduction)

    def forward_no_reduction(self, prediction: Tensor[B, D], target: Tensor[B, D]) -> Tensor[B, D]:
        """The loss of each element."""
        check_pair("L1Loss", prediction, target)
        return (prediction - target).abs()


@dataclass(frozen=True)
class HuberLossConfig(Config):
    """``delta`` is the difference up to which the loss is a parabola."""

    delta: float

    def problems(self) -> list[str]:
        """Values that no loss can have."""
        return not_positive(delta=self.delta)

    def init(self, device: Device[Any] | None = None) -> HuberLoss:
        """The loss. It needs no device; one may be given, as to every other config."""
        return HuberLoss(self.delta)


class HuberLoss(Module):
    """Half the square of a difference up to ``delta``, and from there on a straight line of slope ``delta``.

    Huber 1964, "Robust Estimation of a Location Parameter": an outlier pulls no harder than delta.
    """

    def __init__(self, delta: float) -> None:
        self.delta = delta

    def forward(self, prediction: Tensor[B, D], target: Tensor[B, D], reduction: Reduction = "auto") -> Tensor[B, D1]:
        """Two tensors of one shape. Raises as `MseLoss` does."""
        check_reduction("HuberLoss", reduction)
        return reduced(self.forward_no_reduction(prediction, target), reduction)

    def forward_no_reduction(self, prediction: Tensor[B, D], target: Tensor[B, D]) -> Tensor[B, D]:
        """The loss of each element."""
        check_pair("HuberLoss", prediction, target)
        return _huber(prediction, target, self.delta)


@dataclass(frozen=True)
class SmoothL1LossConfig(Config):
    """``beta`` is the difference up to which the loss is a parabola."""

    beta: float = 1.0

    def problems(self) -> list[str]:
        """Values that no loss can have."""
        return not_positive(beta=self.beta)

    def init(self, device: Device[Any] | None = None) -> SmoothL1Loss:
        """The loss. It needs no device; one may be given, as to every other config."""
        return SmoothL1Loss(self.beta)


class SmoothL1Loss(Module):
    """`HuberLoss` with delta = beta, over beta: far from the target it is `L1Loss` less beta / 2."""

    def __init__(self, beta: float = 1.0) -> None:
        self.beta = beta

    def forward(self, prediction: Tensor[B, D], target: Tensor[B, D], reduction: Reduction = "auto") -> Tensor[B, D1]:
        """Two tensors of one shape. Raises as `MseLoss` does."""
        check_reduction("SmoothL1Loss", reduction)
        return reduced(self.forward_no_reduction(prediction, target), reduction)

    def forward_no_reduction(self, prediction: Tensor[B, D], target: Tensor[B, D]) -> Tensor[B, D]:
        """The loss of each element."""
        check_pair("SmoothL1Loss", prediction, target)
        return _huber(prediction, target, self.beta) / self.beta


def _huber(prediction: Tensor[B, D], target: Tensor[B, D], delta: float) -> Tensor[B, D]:
    """With r the difference and c = r kept within ±delta, c * (r - c / 2): inside r * r / 2, else delta * |r| and less.

    Its slope is (r - c / 2) + c / 2 = r inside and c outside, so nothing has to be masked.
    """
    difference = prediction - target
    kept = difference.clamp(-delta, delta)
    return kept * (difference - kept * 0.5)
