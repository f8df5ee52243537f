"""Operations composed from the required ones: right on every backend, decorators included.

They call ``cls``, so on `Autodiff` each part is recorded (unless the table has a rule for the whole), and on
`Traced` each part is an event: nothing that a default allocates is hidden.
"""

from __future__ import annotations

import math
from typing import Any

from tinyburn.base.dtype import DType

from .interface import Array, Number, size_of
from .required import Required


class Backend(Required):
    """The base of every backend. Override an operation of this class only where the device has a better one."""

    # Full reductions: everything into shape (1,)

    @classmethod
    def sum(cls, a: Array) -> Array:
        return cls.reshape(cls.sum_dims(a, every_dim(a)), (1,))

    @classmethod
    def mean(cls, a: Array) -> Array:
        return cls.reshape(cls.mean_dims(a, every_dim(a)), (1,))

    @classmethod
    def max(cls, a: Array) -> Array:
        return cls.reshape(cls.max_dims(a, every_dim(a)), (1,))

    @classmethod
    def min(cls, a: Array) -> Array:
        return cls.reshape(cls.min_dims(a, every_dim(a)), (1,))

    @classmethod
    def prod(cls, a: Array) -> Array:
        return cls.prod_dim(cls.reshape(a, (size_of(a.shape, every_dim(a)),)), 0)

    @classmethod
    def prod_dim(cls, a: Array, dim: int) -> Array:
        """Multiplies one half by the other until a single entry is left.

        The derivative of a product of two needs no division, so zeros are no trouble (the usual ``out / x`` is).
        """
        size = a.shape[dim]
        if size == 0:
            return cls.add(cls.sum_dims(a, (dim,)), 1)
        while size > 1:
            half = size // 2
            product = cls.mul(_part(cls, a, dim, 0, half), _part(cls, a, dim, half, 2 * half))
            if size % 2:
                last = _part(cls, a, dim, size - 1, size)
                first = cls.mul(_part(cls, product, dim, 0, 1), last)
                product = first if half == 1 else cls.slice_assign(product, _parts(product, dim, 0, 1), first)
            a, size = product, half
        return a

    @classmethod
    def any(cls, a: Array) -> Array:
        return cls.greater(cls.sum(cls.cast(a, DType.FLOAT32)), 0.0)  # a sum of ones may round, but never to 0

    @classmethod
    def all(cls, a: Array) -> Array:
        return cls.bool_not(cls.any(cls.bool_not(a)))

    # Spread

    @classmethod
    def var(cls, a: Array, dim: int, correction: int) -> Array:
        """Squares of the distances from the mean, over ``n - correction`` (Bessel's correction is 1).

        The first entry is taken off before: that changes no distance, and makes those of a constant exactly 0.
        """
        shifted = cls.sub(a, _part(cls, a, dim, 0, 1))
        centred = cls.sub(shifted, cls.mean_dims(shifted, (dim,)))
        del shifted
        squares = cls.mul(centred, centred)
        del centred
        mean = cls.mean_dims(squares, (dim,))
        size = a.shape[dim]
        if correction == 0:
            return mean
        return cls.mul(mean, size / (size - correction) if size > correction else math.nan)

    @classmethod
    def std(cls, a: Array, dim: int, correction: int) -> Array:
        return cls.sqrt(cls.var(a, dim, correction))

    @classmethod
    def norm(cls, a: Array) -> Array:
        return cls.sqrt(cls.sum(cls.mul(a, a)))

    # Elementwise

    @classmethod
    def clamp(cls, a: Array, low: Number, high: Number) -> Array:
        return cls.minimum(cls.maximum(a, low), high)

    @classmethod
    def relu(cls, a: Array) -> Array:
        return cls.maximum(a, 0.0)

    @classmethod
    def sigmoid(cls, a: Array) -> Array:
        """``1 / (1 + exp(-a))``, written so that no exponential overflows."""
        small = cls.exp(cls.neg(cls.abs(a)))
        below_half = cls.div(small, cls.add(small, 1.0))
        return cls.mask_where(below_half, cls.greater_equal(a, 0.0), cls.sub(1.0, below_half))

    @classmethod
    def softplus(cls, a: Array) -> Array:
        """``log(1 + exp(a))``, written so that no exponential overflows."""
        return cls.add(cls.maximum(a, 0.0), cls.log1p(cls.exp(cls.neg(cls.abs(a)))))

    @classmethod
    def softmax(cls, a: Array, dim: int) -> Array:
        """``exp(a)`` over its sum. A row of -inf alone (all masked) gives zeros."""
        weights = cls.exp(_shifted(cls, a, dim))
        total = cls.sum_dims(weights, (dim,))
        return cls.div(weights, cls.mask_where(total, cls.equal(total, 0.0), 1.0))

    @classmethod
    def log_softmax(cls, a: Array, dim: int) -> Array:
        """The logarithm of `softmax`, exact also where that is too small for its dtype."""
        shifted = _shifted(cls, a, dim)
        total = cls.sum_dims(cls.exp(shifted), (dim,))
        return cls.sub(shifted, cls.log(cls.mask_where(total, cls.equal(total, 0.0), 1.0)))


def _shifted(cls: type[Backend], a: Array, dim: int) -> Array:
    """Moves the largest along a dim to 0, so that exp cannot overflow. If it is -inf there is nothing to move."""
    if a.shape[dim] == 0:
        return a
    largest = cls.max_dims(a, (dim,))
    return cls.sub(a, cls.mask_where(largest, cls.is_inf(largest), 0.0))


def every_dim(a: Array) -> tuple[int, ...]:
    """The dims of a full reduction."""
    return tuple(range(len(a.shape)))


def _parts(a: Array, dim: int, start: int, stop: int) -> tuple[slice, ...]:
    bounds = [(0, size) for size in a.shape]
    bounds[dim] = (start, stop)
    return tuple(slice(*pair, 1) for pair in bounds)


def _part(cls: Any, a: Array, dim: int, start: int, stop: int) -> Array:
    part: Array = cls.slice(a, _parts(a, dim, start, stop))
    return part
