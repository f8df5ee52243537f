"""Activation functions and their derivatives, composed of the operations that every backend has to have.

What stands here says what they mean. Most of them are one kernel on our own backends, which allocates the result alone.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from .operations import broadcast, composed

Array: TypeAlias = Any
Number: TypeAlias = float | int
Ops: TypeAlias = Any
"""The class of a backend, which has the operations that are asked for here."""


class Activations:
    """Part of `Backend`."""

    @classmethod
    @composed(broadcast, fused=True)
    def clamp(cls: Ops, a: Array, low: Number, high: Number) -> Array:
        """Each element moved into ``[low, high]``."""
        return cls.minimum(cls.maximum(a, low), high)

    @classmethod
    @composed(broadcast)
    def clamp_min(cls: Ops, a: Array, low: Number) -> Array:
        """Each element moved up to ``low`` if it is below."""
        return cls.maximum(a, low)

    @classmethod
    @composed(broadcast)
    def clamp_max(cls: Ops, a: Array, high: Number) -> Array:
        """Each element moved down to ``high`` if it is above."""
        return cls.minimum(a, high)

    @classmethod
    @composed(broadcast)
    def relu(cls: Ops, a: Array) -> Array:
        """``max(a, 0)``."""
        return cls.maximum(a, 0.0)

    @classmethod
    @composed(broadcast, fused=True)
    def leaky_relu(cls: Ops, a: Array, slope: Number) -> Array:
        """``a * slope`` below 0, else ``a``."""
        return cls.mask_where(a, cls.lower(a, 0.0), cls.mul(a, slope))

    @classmethod
    @composed(broadcast, fused=True)
    def sigmoid(cls: Ops, a: Array) -> Array:
        """``1 / (1 + exp(-a))``. Where the exponential overflows, 1 over inf is 0, as it should be."""
        return cls.div(1.0, cls.add(cls.exp(cls.neg(a)), 1.0))

    @classmethod
    @composed(broadcast, fused=True)
    def silu(cls: Ops, a: Array) -> Array:
        """``a * sigmoid(a)``."""
        return cls.mul(a, cls.sigmoid(a))

    @classmethod
    @composed(broadcast, fused=True)
    def gelu(cls: Ops, a: Array) -> Array:
        """``a`` times the share of the bell curve that lies below ``a``."""
        return cls.mul(a, _share_below(cls, a))

    @classmethod
    @composed(broadcast, fused=True)
    def softplus(cls: Ops, a: Array) -> Array:
        """``log(1 + exp(a))``, written so that no exponential overflows."""
        return cls.add(cls.maximum(a, 0.0), cls.log1p(cls.exp(cls.neg(cls.abs(a)))))

    # Their derivatives: ``a`` is the gradient that comes in, and 0 where that is 0. ``out`` is the result of the
    # function, ``b`` its operand.

    @classmethod
    @composed(broadcast, fused=True, in_place=True)
    def tanh_backward(cls: Ops, a: Array, out: Array) -> Array:
        """``a * (1 - out * out)``, but 0 where ``a`` is 0."""
        return cls.multiply_no_nan(a, cls.sub(1.0, cls.mul(out, out)))

    @classmethod
    @composed(broadcast, fused=True, in_place=True)
    def sigmoid_backward(cls: Ops, a: Array, out: Array) -> Array:
        """``a * out * (1 - out)``, but 0 where ``a`` is 0."""
        return cls.multiply_no_nan(a, cls.mul(out, cls.sub(1.0, out)))

    @classmethod
    @composed(broadcast, fused=True, in_place=True)
    def clamp_backward(cls: Ops, a: Array, b: Array, low: Number, high: Number) -> Array:
        """``a`` where ``b`` is in ``[low, high]``, else 0."""
        return cls.mask_where(cls.mask_where(a, cls.lower(b, low), 0.0), cls.greater(b, high), 0.0)

    @classmethod
    @composed(broadcast, fused=True, in_place=True)
    def leaky_relu_backward(cls: Ops, a: Array, b: Array, slope: Number) -> Array:
        """``a * slope`` where ``b`` is below 0, else ``a``."""
        return cls.mask_where(a, cls.lower(b, 0.0), cls.mul(a, slope))

    @classmethod
    @composed(broadcast, fused=True, label="where")
    def extreme_backward(cls: Ops, a: Array, b: Array, out: Array) -> Array:
        """``a`` where ``b`` equals ``out``, its extreme, else 0; NaN where that is NaN, unless ``a`` is 0."""
        lost = cls.mask_where(out, cls.bool_not(cls.is_nan(out)), 0.0)
        return cls.mask_where(cls.mask_where(lost, cls.equal(a, 0.0), 0.0), cls.equal(b, out), a)

    @classmethod
    @composed(broadcast, fused=True, in_place=True)
    def silu_backward(cls: Ops, a: Array, b: Array) -> Array:
        """``a * s * (1 + b * (1 - s))`` with ``s = sigmoid(b)``, but 0 where ``a`` is 0."""
        s = cls.sigmoid(b)
        return cls.multiply_no_nan(a, cls.mul(s, cls.add(cls.mul(b, cls.sub(1.0, s)), 1.0)))

    @classmethod
    @composed(broadcast, fused=True, in_place=True)
    def gelu_backward(cls: Ops, a: Array, b: Array) -> Array:
        """``a`` times the share below ``b`` and ``b`` times the bell curve's height there, but 0 where ``a`` is 0."""
        height = cls.mul(cls.exp(cls.mul(cls.mul(b, b), -0.5)), 1 / math.sqrt(2 * math.pi))
        return cls.multiply_no_nan(a, cls.add(_share_below(cls, b), cls.mul(b, height)))

    @classmethod
    @composed(broadcast, fused=True, in_place=True)
    def softplus_backward(cls: Ops, a: Array, b: Array) -> Array:
        """``a * sigmoid(b)``, but 0 where ``a`` is 0."""
        return cls.multiply_no_nan(a, cls.sigmoid(b))


def _share_below(cls: Ops, a: Array) -> Array:
    """The share of the bell curve that lies below ``a``."""
    return cls.mul(cls.add(cls.erf(cls.mul(a, 1 / math.sqrt(2))), 1.0), 0.5)  # a * 2 could overflow
