"""Operations on angles and triangles: the tangent, the inverses of sine, cosine and tangent, and hyperbolic ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tinyburn.base.dtype import Float

from .base import B, D, K, Scalar, TensorBase

if TYPE_CHECKING:
    from .tensor import Tensor


class Trigonometry(TensorBase[B, D, K]):
    """Angles are in radians. Outside of the numbers for which a function is real, it is NaN.

    Where a slope is infinite, a gradient of 0 stays 0.
    """

    __slots__ = ()

    def tan(self: Trigonometry[B, D, Float]) -> Tensor[B, D, Float]:
        """The tangent of an angle, ``sin(x) / cos(x)``."""
        return self._new(self.device.backend.tan(self._of_kind("tan", "float")))

    def asin(self: Trigonometry[B, D, Float]) -> Tensor[B, D, Float]:
        """The angle from -pi/2 to pi/2 whose sine is x; NaN outside [-1, 1]. Its slope at -1 and 1 is inf."""
        return self._new(self.device.backend.asin(self._of_kind("asin", "float")))

    def acos(self: Trigonometry[B, D, Float]) -> Tensor[B, D, Float]:
        """The angle from 0 to pi whose cosine is x; NaN outside [-1, 1]. Its slope at -1 and 1 is -inf."""
        return self._new(self.device.backend.acos(self._of_kind("acos", "float")))

    def atan(self: Trigonometry[B, D, Float]) -> Tensor[B, D, Float]:
        """The angle from -pi/2 to pi/2 whose tangent is x."""
        return self._new(self.device.backend.atan(self._of_kind("atan", "float")))

    def atan2(self: Trigonometry[B, D, Float], other: Tensor[B, D, Float] | Scalar) -> Tensor[B, D, Float]:
        """The angle from -pi to pi of the point ``(other, x)``: its height is x. At the origin its slopes are 0."""
        return self._new(self.device.backend.atan2(self._of_kind("atan2", "float"), self._operand("atan2", other)))

    def hypot(self: Trigonometry[B, D, Float], other: Tensor[B, D, Float] | Scalar) -> Tensor[B, D, Float]:
        """``sqrt(x * x + y * y)``, of which no square overflows or is lost. At the origin its slopes are 0."""
        return self._new(self.device.backend.hypot(self._of_kind("hypot", "float"), self._operand("hypot", other)))

    def sinh(self: Trigonometry[B, D, Float]) -> Tensor[B, D, Float]:
        """The hyperbolic sine, ``(exp(x) - exp(-x)) / 2``."""
        return self._new(self.device.backend.sinh(self._of_kind("sinh", "float")))

    def cosh(self: Trigonometry[B, D, Float]) -> Tensor[B, D, Float]:
        """The hyperbolic cosine, ``(exp(x) + exp(-x)) / 2``."""
        return self._new(self.device.backend.cosh(self._of_kind("cosh", "float")))

    def asinh(self: Trigonometry[B, D, Float]) -> Tensor[B, D, Float]:
        """The number whose hyperbolic sine is x."""
        return self._new(self.device.backend.asinh(self._of_kind("asinh", "float")))

    def acosh(self: Trigonometry[B, D, Float]) -> Tensor[B, D, Float]:
        """The number from 0 on whose hyperbolic cosine is x; NaN below 1. Its slope at 1 is inf."""
        return self._new(self.device.backend.acosh(self._of_kind("acosh", "float")))

    def atanh(self: Trigonometry[B, D, Float]) -> Tensor[B, D, Float]:
        """The number whose hyperbolic tangent is x; NaN outside [-1, 1], and infinite at its ends."""
        return self._new(self.device.backend.atanh(self._of_kind("atanh", "float")))

    def deg2rad(self: Trigonometry[B, D, Float]) -> Tensor[B, D, Float]:
        """An angle in degrees, in radians."""
        return self._new(self.device.backend.mul(self._of_kind("deg2rad", "float"), math.pi / 180))

    def rad2deg(self: Trigonometry[B, D, Float]) -> Tensor[B, D, Float]:
        """An angle in radians, in degrees."""
        return self._new(self.device.backend.mul(self._of_kind("rad2deg", "float"), 180 / math.pi))
