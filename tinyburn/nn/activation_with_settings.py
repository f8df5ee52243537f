"""Activation functions with settings as modules, each made by its config: ``LeakyReluConfig(0.1).init()``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from tinyburn import activation
from tinyburn.backend import Backend, Device
from tinyburn.module import Config, Module
from tinyburn.tensor import Tensor

from .checks import not_finite, not_positive

B = TypeVar("B", bound=Backend)
D = TypeVar("D")
AnyDevice = Device[Any] | None
"""These layers have no parameters, so they need no device; one may be given, as to every other config."""


@dataclass(frozen=True)
class LeakyReluConfig(Config):
    """The slope below 0 is ``negative_slope``."""

    negative_slope: float = 0.01

    def problems(self) -> list[str]:
        """Values that the function does not have."""
        return not_finite(negative_slope=self.negative_slope)

    def init(self, device: AnyDevice = None) -> LeakyRelu:
        """The layer."""
        return LeakyRelu(self.negative_slope)


class LeakyRelu(Module):
    """See `tinyburn.activation.leaky_relu`."""

    def __init__(self, negative_slope: float) -> None:
        self.negative_slope = negative_slope

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.leaky_relu(x, self.negative_slope)


@dataclass(frozen=True)
class EluConfig(Config):
    """Far below 0 it comes near to ``-alpha``."""

    alpha: float = 1.0

    def problems(self) -> list[str]:
        """Values that the function does not have."""
        return not_finite(alpha=self.alpha)

    def init(self, device: AnyDevice = None) -> Elu:
        """The layer."""
        return Elu(self.alpha)


class Elu(Module):
    """See `tinyburn.activation.elu`."""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.elu(x, self.alpha)


@dataclass(frozen=True)
class CeluConfig(Config):
    """Far below 0 it comes near to ``-alpha``."""

    alpha: float = 1.0

    def problems(self) -> list[str]:
        """Values that the function does not have."""
        return not_positive(alpha=self.alpha)

    def init(self, device: AnyDevice = None) -> Celu:
        """The layer."""
        return Celu(self.alpha)


class Celu(Module):
    """See `tinyburn.activation.celu`."""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.celu(x, self.alpha)


@dataclass(frozen=True)
class HardSigmoidConfig(Config):
    """A straight line of slope ``alpha``, at ``beta`` for 0."""

    alpha: float = 0.2
    beta: float = 0.5

    def problems(self) -> list[str]:
        """Values that the function does not have."""
        return not_finite(alpha=self.alpha, beta=self.beta)

    def init(self, device: AnyDevice = None) -> HardSigmoid:
        """The layer."""
        return HardSigmoid(self.alpha, self.beta)


class HardSigmoid(Module):
    """See `tinyburn.activation.hard_sigmoid`."""

    def __init__(self, alpha: float, beta: float) -> None:
        self.alpha = alpha
        self.beta = beta

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.hard_sigmoid(x, self.alpha, self.beta)


@dataclass(frozen=True)
class SoftplusConfig(Config):
    """Sharper at 0 for a larger ``beta``."""

    beta: float = 1.0

    def problems(self) -> list[str]:
        """Values that the function does not have."""
        return not_positive(beta=self.beta)

    def init(self, device: AnyDevice = None) -> Softplus:
        """The layer."""
        return Softplus(self.beta)


class Softplus(Module):
    """See `tinyburn.activation.softplus`."""

    def __init__(self, beta: float) -> None:
        self.beta = beta

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.softplus(x, self.beta)


@dataclass(frozen=True)
class ShrinkConfig(Config):
    """Zero up to ``lambd`` from 0; beyond, ``bias`` nearer to 0."""

    lambd: float = 0.5
    bias: float = 0.0

    def problems(self) -> list[str]:
        """Values that the function does not have."""
        return not_finite(lambd=self.lambd, bias=self.bias)

    def init(self, device: AnyDevice = None) -> Shrink:
        """The layer."""
        return Shrink(self.lambd, self.bias)


class Shrink(Module):
    """See `tinyburn.activation.shrink`."""

    def __init__(self, lambd: float, bias: float) -> None:
        self.lambd = lambd
        self.bias = bias

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.shrink(x, self.lambd, self.bias)


@dataclass(frozen=True)
class HardShrinkConfig(Config):
    """Zero up to ``lambd`` from 0."""

    lambd: float = 0.5

    def problems(self) -> list[str]:
        """Values that the function does not have."""
        return not_finite(lambd=self.lambd)

    def init(self, device: AnyDevice = None) -> HardShrink:
        """The layer."""
        return HardShrink(self.lambd)


class HardShrink(Module):
    """See `tinyburn.activation.hard_shrink`."""

    def __init__(self, lambd: float) -> None:
        self.lambd = lambd

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.hard_shrink(x, self.lambd)


@dataclass(frozen=True)
class SoftShrinkConfig(Config):
    """Zero up to ``lambd`` from 0; beyond, ``lambd`` nearer to 0."""

    lambd: float = 0.5

    def problems(self) -> list[str]:
        """Values that the function does not have."""
        return not_finite(lambd=self.lambd)

    def init(self, device: AnyDevice = None) -> SoftShrink:
        """The layer."""
        return SoftShrink(self.lambd)


class SoftShrink(Module):
    """See `tinyburn.activation.soft_shrink`."""

    def __init__(self, lambd: float) -> None:
        self.lambd = lambd

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.soft_shrink(x, self.lambd)


@dataclass(frozen=True)
class ThresholdedReluConfig(Config):
    """Zero up to ``alpha``."""

    alpha: float = 1.0

    def problems(self) -> list[str]:
        """Values that the function does not have."""
        return not_finite(alpha=self.alpha)

    def init(self, device: AnyDevice = None) -> ThresholdedRelu:
        """The layer."""
        return ThresholdedRelu(self.alpha)


class ThresholdedRelu(Module):
    """See `tinyburn.activation.thresholded_relu`."""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.thresholded_relu(x, self.alpha)
