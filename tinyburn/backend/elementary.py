"""Elementary functions, composed of those that every backend has to have.

The libraries have them too, so each of our backends asks its own, which allocates the result alone. What stands here
says what they mean, and how a formula keeps its digits: no difference of two numbers that are nearly equal, and no
square that overflows where the result does not.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from .operations import broadcast, composed

Array: TypeAlias = Any
Ops: TypeAlias = Any
"""The class of a backend, which has the operations that are asked for here."""


class Elementary:
    """Part of `Backend`."""

    # Angles and their tangents

    @classmethod
    @composed(broadcast, fused=True)
    def tan(cls: Ops, a: Array) -> Array:
        """The tangent, in radians: ``sin(a) / cos(a)``."""
        return cls.div(cls.sin(a), cls.cos(a))

    @classmethod
    @composed(broadcast, fused=True)
    def asin(cls: Ops, a: Array) -> Array:
        """The angle whose sine is ``a``: that of the point ``(sqrt((1 - a) * (1 + a)), a)`` of the unit circle."""
        return cls.atan2(a, _other_leg(cls, a))

    @classmethod
    @composed(broadcast, fused=True)
    def acos(cls: Ops, a: Array) -> Array:
        """The angle whose cosine is ``a``: that of the point ``(a, sqrt((1 - a) * (1 + a)))`` of the unit circle."""
        return cls.atan2(_other_leg(cls, a), a)

    @classmethod
    @composed(broadcast, fused=True)
    def atan(cls: Ops, a: Array) -> Array:
        """The angle whose tangent is ``a``: that of the point ``(1, a)``."""
        return cls.atan2(a, 1.0)

    @classmethod
    @composed(broadcast, fused=True)
    def asinh(cls: Ops, a: Array) -> Array:
        """The number whose hyperbolic sine is ``a``: ``log(t + sqrt(t * t + 1))`` for its size t, with its sign.

        With ``q = t / (1 + sqrt(1 + t * t))`` that is ``log1p(t + t * q)``, which keeps the digits of a small t. As
        ``log1p(t) + log1p(t * q / (1 + t))`` no part of it overflows, where q is found from ``1 / t``.
        """
        size = cls.abs(a)
        inverse = cls.div(1.0, size)
        q = cls.div(1.0, cls.add(inverse, cls.sqrt(cls.add(cls.mul(inverse, inverse), 1.0))))
        return cls.mul(cls.sign(a), cls.add(cls.log1p(size), cls.log1p(cls.div(q, cls.add(inverse, 1.0)))))

    @classmethod
    @composed(broadcast, fused=True)
    def acosh(cls: Ops, a: Array) -> Array:
        """The number from 0 on whose hyperbolic cosine is ``a``: ``2 * asinh(sqrt((a - 1) / 2))``."""
        return cls.mul(cls.asinh(cls.sqrt(cls.mul(cls.sub(a, 1.0), 0.5))), 2.0)

    @classmethod
    @composed(broadcast, fused=True)
    def atanh(cls: Ops, a: Array) -> Array:
        """The number whose hyperbolic tangent is ``a``: ``log1p(2 * t / (1 - t)) / 2`` of its size t, and its sign."""
        size = cls.abs(a)
        return cls.mul(cls.sign(a), cls.mul(cls.log1p(cls.div(cls.mul(size, 2.0), cls.sub(1.0, size))), 0.5))

    @classmethod
    @composed(broadcast, fused=True)
    def log2(cls: Ops, a: Array) -> Array:
        """The logarithm to base 2."""
        return cls.div(cls.log(a), math.log(2))

    @classmethod
    @composed(broadcast, fused=True)
    def log10(cls: Ops, a: Array) -> Array:
        """The logarithm to base 10."""
        return cls.div(cls.log(a), math.log(10))

    @classmethod
    @composed(broadcast, fused=True)
    def hypot(cls: Ops, a: Array, b: Array) -> Array:
        """``sqrt(a * a + b * b)``, by the larger of the two, so that no square overflows or is lost.

        An infinite leg makes it infinite, also beside NaN, as IEEE 754 has it.
        """
        sizes = _size(cls, a), _size(cls, b)
        larger, smaller = cls.maximum(*sizes), cls.minimum(*sizes)
        ratio = cls.div(smaller, cls.mask_where(larger, cls.equal(larger, 0.0), 1.0))
        length = cls.mul(larger, cls.sqrt(cls.add(cls.mul(ratio, ratio), 1.0)))
        return cls.mask_where(length, cls.bool_or(_is_inf(cls, a), _is_inf(cls, b)), math.inf)

    # Whole numbers and fractions

    @classmethod
    @composed(broadcast, fused=True)
    def trunc(cls: Ops, a: Array) -> Array:
        """The next whole number towards 0."""
        return cls.mul(cls.sign(a), cls.floor(cls.abs(a)))

    @classmethod
    @composed(broadcast, fused=True)
    def fmod(cls: Ops, a: Array, b: Array) -> Array:
        """What ``a / b`` leaves, with the sign of ``a``."""
        return cls.mul(cls.sign(a), cls.remainder(cls.abs(a), _size(cls, b)))

    @classmethod
    @composed(broadcast, fused=True, result="bool")
    def is_finite(cls: Ops, a: Array) -> Array:
        """False for NaN, inf and -inf."""
        return cls.bool_not(cls.bool_or(cls.is_nan(a), cls.is_inf(a)))


def _size(cls: Ops, x: Any) -> Any:
    """The distance of an operand from 0, also of a number."""
    return cls.abs(x) if hasattr(x, "shape") else abs(x)


def _is_inf(cls: Ops, x: Any) -> Any:
    """Whether an operand is infinite, also a number."""
    return cls.is_inf(x) if hasattr(x, "shape") else math.isinf(x)


def _other_leg(cls: Ops, a: Array) -> Array:
    """``sqrt(1 - a * a)`` as a product, which keeps its digits where ``a`` is near to 1 or -1; NaN beyond these."""
    return cls.sqrt(cls.mul(cls.sub(1.0, a), cls.add(a, 1.0)))
