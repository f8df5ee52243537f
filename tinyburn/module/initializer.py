"""How parameters start: small frozen descriptions that a config can hold, print and save."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from tinyburn.backend.device import Device
from tinyburn.backend.interface import Backend
from tinyburn.base.distribution import Distribution
from tinyburn.base.shape import Shape
from tinyburn.tensor import Tensor

from .param import Param

B = TypeVar("B", bound=Backend)


@dataclass(frozen=True)
class Constant:
    """Every number the same."""

    value: float = 0.0

    def init(self, shape: Shape, device: Device[B], fan_in: int | None = None) -> Param[B, Any]:
        """A new parameter of this shape."""
        return Param.from_tensor(Tensor.full(shape, self.value, device))


@dataclass(frozen=True)
class Normal:
    """Draws from the bell curve."""

    mean: float = 0.0
    std: float = 0.02

    def init(self, shape: Shape, device: Device[B], fan_in: int | None = None) -> Param[B, Any]:
        """A new parameter of this shape."""
        return Param.from_tensor(Tensor.random(shape, Distribution.Normal(self.mean, self.std), device))


@dataclass(frozen=True)
class Uniform:
    """Draws from ``[low, high)``, each number alike."""

    low: float = 0.0
    high: float = 1.0

    def init(self, shape: Shape, device: Device[B], fan_in: int | None = None) -> Param[B, Any]:
        """A new parameter of this shape."""
        return Param.from_tensor(Tensor.random(shape, Distribution.Uniform(self.low, self.high), device))


@dataclass(frozen=True)
class KaimingUniform:
    """Uniform in ``±gain * sqrt(3 / fan_in)``, which keeps the size of activations from layer to layer.

    He et al. 2015, "Delving Deep into Rectifiers". The default gain makes the bound ``1 / sqrt(fan_in)``, as in
    Burn's and PyTorch's linear layers.
    """

    gain: float = 1 / math.sqrt(3)

    def init(self, shape: Shape, device: Device[B], fan_in: int | None = None) -> Param[B, Any]:
        """A new parameter; ``fan_in`` is how many inputs each output adds up, by default the first dim."""
        bound = self.gain * math.sqrt(3 / max(shape[0] if fan_in is None else fan_in, 1))
        return Uniform(-bound, bound).init(shape, device)


AnyInitializer: TypeAlias = Constant | Normal | Uniform | KaimingUniform


class Initializer:
    """The initializers under one name, as in ``Initializer.Normal(0, 0.02)``."""

    Constant = Constant
    Normal = Normal
    Uniform = Uniform
    KaimingUniform = KaimingUniform
    Zeros = Constant(0.0)
    Ones = Constant(1.0)
