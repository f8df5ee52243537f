"""How parameters start: small frozen descriptions that a config can hold, print and save.

A layer hands over its ``fan_in``, how many inputs each output adds up, and its ``fan_out``, how many outputs each input
goes to. Where they are not given, a shape of rank 1 or 2 tells them: (d_input, d_output), as of a linear layer.
A device with the same seed starts the same parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from tinyburn.backend.device import Device
from tinyburn.backend.interface import Backend
from tinyburn.base.distribution import Distribution
from tinyburn.base.errors import ConfigError
from tinyburn.base.shape import Shape
from tinyburn.tensor import Tensor

from .param import Param

B = TypeVar("B", bound=Backend)


@dataclass(frozen=True)
class Constant:
    """Every number the same."""

    value: float = 0.0

    def init(
        self, shape: Shape, device: Device[B], fan_in: int | None = None, fan_out: int | None = None
    ) -> Param[B, Any]:
        """A new parameter of this shape."""
        return Param.from_tensor(Tensor.full(shape, self.value, device))


@dataclass(frozen=True)
class Normal:
    """Draws from the bell curve."""

    mean: float = 0.0
    std: float = 0.02

    def init(
        self, shape: Shape, device: Device[B], fan_in: int | None = None, fan_out: int | None = None
    ) -> Param[B, Any]:
        """A new parameter of this shape."""
        return Param.from_tensor(Tensor.random(shape, Distribution.Normal(self.mean, self.std), device))


@dataclass(frozen=True)
class Uniform:
    """Draws from ``[low, high)``, each number alike."""

    low: float = 0.0
    high: float = 1.0

    def init(
        self, shape: Shape, device: Device[B], fan_in: int | None = None, fan_out: int | None = None
    ) -> Param[B, Any]:
        """A new parameter of this shape."""
        return Param.from_tensor(Tensor.random(shape, Distribution.Uniform(self.low, self.high), device))


@dataclass(frozen=True)
class TruncatedNormal:
    """Draws from the bell curve, of which only the part in ``[low, high]`` is left.

    A number drawn from 0 to 1 says how much of that part shall lie below (the inverse transform: Devroye 1986,
    "Non-Uniform Random Variate Generation", chapter 2). Where that is on the axis is found by halving.
    """

    mean: float = 0.0
    std: float = 0.02
    low: float = -0.04
    high: float = 0.04

    def __post_init__(self) -> None:
        reasons = [] if self.low < self.high else ["low is not below high"]
        reasons += [] if self.std > 0 else ["a standard deviation is above 0 here"]
        if reasons:
            raise ConfigError(repr(self), reasons)

    def init(
        self, shape: Shape, device: Device[B], fan_in: int | None = None, fan_out: int | None = None
    ) -> Param[B, Any]:
        """A new parameter of this shape."""
        low, high = (max(-_FAR, min(_FAR, (edge - self.mean) / self.std)) for edge in (self.low, self.high))
        shares = Distribution.Uniform(_share_below(low), _share_below(high))
        wanted: Tensor[B, Any] = Tensor.random(shape, shares, device)
        left, right = wanted.full_like(low), wanted.full_like(high)
        for _ in range(_HALVINGS):
            middle = (left + right) * 0.5
            too_low = ((middle * math.sqrt(0.5)).erf() + 1.0) * 0.5 < wanted
            left, right = left.mask_where(too_low, middle), middle.mask_where(too_low, right)
        drawn = (left + right) * (0.5 * self.std) + self.mean
        return Param.from_tensor(drawn.clamp(self.low, self.high))


_FAR = 9.0
"""In standard deviations: beyond, the bell curve has less than one part in 10^18."""

_HALVINGS = 30
"""Enough for float32: the interval is then a part in 10^9 of what it was."""


def _share_below(x: float) -> float:
    """The share of the bell curve that lies below."""
    return 0.5 * (1.0 + math.erf(x * math.sqrt(0.5)))


@dataclass(frozen=True)
class KaimingUniform:
    """Uniform in ``±gain * sqrt(3 / fan_in)``, which keeps the size of activations from layer to layer.

    He et al. 2015, "Delving Deep into Rectifiers". The default gain makes the bound ``1 / sqrt(fan_in)``, as in
    Burn's and PyTorch's linear layers; ``sqrt(2)`` is the paper's for relu. With ``fan_out_only``, which keeps the size
    of gradients, ``fan_out`` counts in place of ``fan_in``.
    """

    gain: float = 1 / math.sqrt(3)
    fan_out_only: bool = False

    def init(
        self, shape: Shape, device: Device[B], fan_in: int | None = None, fan_out: int | None = None
    ) -> Param[B, Any]:
        """A new parameter of this shape."""
        bound = math.sqrt(3) * _kaiming_std(self, shape, fan_in, fan_out)
        return Uniform(-bound, bound).init(shape, device)


@dataclass(frozen=True)
class KaimingNormal:
    """The bell curve with the standard deviation ``gain / sqrt(fan_in)``: the other form of `KaimingUniform`."""

    gain: float = 1 / math.sqrt(3)
    fan_out_only: bool = False

    def init(
        self, shape: Shape, device: Device[B], fan_in: int | None = None, fan_out: int | None = None
    ) -> Param[B, Any]:
        """A new parameter of this shape."""
        return Normal(0.0, _kaiming_std(self, shape, fan_in, fan_out)).init(shape, device)


@dataclass(frozen=True)
class XavierUniform:
    """Uniform in ``±gain * sqrt(6 / (fan_in + fan_out))``: between what keeps activations and what keeps gradients.

    Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward neural networks".
    """

    gain: float = 1.0

    def init(
        self, shape: Shape, device: Device[B], fan_in: int | None = None, fan_out: int | None = None
    ) -> Param[B, Any]:
        """A new parameter of this shape."""
        bound = math.sqrt(3) * _xavier_std(self, shape, fan_in, fan_out)
        return Uniform(-bound, bound).init(shape, device)


@dataclass(frozen=True)
class XavierNormal:
    """The bell curve with the standard deviation ``gain * sqrt(2 / (fan_in + fan_out))``, see `XavierUniform`."""

    gain: float = 1.0

    def init(
        self, shape: Shape, device: Device[B], fan_in: int | None = None, fan_out: int | None = None
    ) -> Param[B, Any]:
        """A new parameter of this shape."""
        return Normal(0.0, _xavier_std(self, shape, fan_in, fan_out)).init(shape, device)


@dataclass(frozen=True)
class Orthogonal:
    """A matrix that turns and mirrors but stretches nothing (but by ``gain``), any such one as likely as another.

    Its rows are at right angles to each other and of length 1, or its columns if there are fewer of them. A tensor of
    a higher rank is taken as a matrix of its first dim by all others. Saxe, McClelland and Ganguli 2013, "Exact
    solutions to the nonlinear dynamics of learning in deep linear neural networks".
    """

    gain: float = 1.0

    def init(
        self, shape: Shape, device: Device[B], fan_in: int | None = None, fan_out: int | None = None
    ) -> Param[B, Any]:
        """A new parameter of this shape, which has rank 2 or more. Raises ConfigError for another."""
        if len(shape) < 2:
            reason = f"it makes matrices, and the shape is {shape}"
            hint = "use another initializer for a bias, or bias=False"
            raise ConfigError(repr(self), reason, hint=hint)
        rows, columns = shape[0], math.prod(shape[1:])
        few, many = min(rows, columns), max(rows, columns)
        basis = _orthonormal(Tensor.random((few, many), Distribution.Normal(0.0, 1.0), device))
        matrix = basis if rows <= columns else basis.mT
        return Param.from_tensor((matrix * self.gain).reshape(shape))


def _orthonormal(rows: Tensor[B, Any]) -> Tensor[B, Any]:
    """Each row without what it shares with those before it, and of length 1: Gram-Schmidt.

    Rounding leaves a little of what was taken off, so it is taken off twice, which is enough (Giraud, Langou and
    Rozloznik 2005, "The loss of orthogonality in the Gram-Schmidt orthogonalization process").
    """
    basis = rows[0:0]
    for at in range(rows.shape[0]):
        row = rows[at]
        for _ in range(2):
            row = row - (row @ basis.mT) @ basis
        basis = Tensor.cat([basis, row / row.norm().unsqueeze(2)], 0)
    return basis


AnyInitializer: TypeAlias = (
    Constant
    | Normal
    | Uniform
    | TruncatedNormal
    | KaimingUniform
    | KaimingNormal
    | XavierUniform
    | XavierNormal
    | Orthogonal
)


class Initializer:
    """The initializers under one name, as in ``Initializer.Normal(0, 0.02)``."""

    Constant = Constant
    Normal = Normal
    Uniform = Uniform
    TruncatedNormal = TruncatedNormal
    KaimingUniform = KaimingUniform
    KaimingNormal = KaimingNormal
    XavierUniform = XavierUniform
    XavierNormal = XavierNormal
    Orthogonal = Orthogonal
    Zeros = Constant(0.0)
    Ones = Constant(1.0)


def _kaiming_std(asked: KaimingUniform | KaimingNormal, shape: Shape, fan_in: int | None, fan_out: int | None) -> float:
    """The standard deviation for one fan."""
    fan = _fan(asked, "fan_out", shape, fan_out) if asked.fan_out_only else _fan(asked, "fan_in", shape, fan_in)
    return asked.gain / math.sqrt(fan)


def _xavier_std(asked: XavierUniform | XavierNormal, shape: Shape, fan_in: int | None, fan_out: int | None) -> float:
    """The standard deviation for both fans."""
    both = _fan(asked, "fan_in", shape, fan_in) + _fan(asked, "fan_out", shape, fan_out)
    return asked.gain * math.sqrt(2.0 / both)


def _fan(asked: object, name: str, shape: Shape, given: int | None) -> int:
    """A fan as it is given, else as the shape tells it; 1 or more. Raises ConfigError where the shape does not tell."""
    if given is None and not 1 <= len(shape) <= 2:
        reason = f"the shape {shape} does not tell its {name}"
        raise ConfigError(repr(asked), reason, hint=f"give it, as in .init(shape, device, {name}=...)")
    told = shape[0] if name == "fan_in" else shape[-1]
    return max(told if given is None else given, 1)
