"""Numbers along some dims brought into a common size, composed of other operations: softmax and standardization.

Each of them passes over its operand several times. What lies between two passes is seen by nobody else, so the next
one writes where it lies (see `Backend.into`): a function allocates its result, and few things beside it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from .operations import composed, like_first

Array: TypeAlias = Any
Dims: TypeAlias = tuple[int, ...]
Ops: TypeAlias = Any
"""The class of a backend, which has the operations that are asked for here."""


class Normalization:
    """Part of `Backend`."""

    @classmethod
    @composed(like_first)
    def softmax(cls: Ops, a: Array, dim: int) -> Array:
        """``exp(a)`` over its sum. A row of -inf alone (all masked) gives zeros."""
        shifted = _shifted(cls, a, dim)
        weights = cls.into(shifted, "exp", shifted)
        total = cls.sum_dims(weights, (dim,))
        return cls.into(weights, "div", weights, cls.maximum(total, 1.0))  # the largest alone is 1, if there is one

    @classmethod
    @composed(like_first)
    def softmax_backward(cls: Ops, a: Array, out: Array, dim: int) -> Array:
        """``out * (a - total)``, where the total is that of ``a * out``: ``out`` is a softmax, ``a`` its gradient."""
        total = cls.sum_dims(cls.multiply_no_nan(a, out), (dim,))
        centred = cls.sub(a, total)
        return cls.into(centred, "multiply_no_nan", centred, out)

    @classmethod
    @composed(like_first)
    def log_softmax(cls: Ops, a: Array, dim: int) -> Array:
        """The logarithm of `softmax`, exact also where that is too small for its dtype."""
        shifted = _shifted(cls, a, dim)
        total = cls.sum_dims(cls.exp(shifted), (dim,))
        return cls.into(shifted, "sub", shifted, cls.log(cls.maximum(total, 1.0)))  # as above

    @classmethod
    @composed(like_first)
    def log_softmax_backward(cls: Ops, a: Array, out: Array, dim: int) -> Array:
        """``a - total * exp(out)``, where the total is that of ``a``: ``out`` is a log_softmax, ``a`` its gradient."""
        weights = cls.exp(out)
        weights = cls.into(weights, "multiply_no_nan", cls.sum_dims(a, (dim,)), weights)
        return cls.into(weights, "sub", a, weights)

    @classmethod
    @composed(like_first)
    def standardize(cls: Ops, a: Array, b: Array, c: Array, dims: Dims) -> Array:
        """``(a - b) * c``, where ``b`` is the mean of ``a`` over some dims, and ``c`` what brings its spread to 1.

        Both are functions of ``a``. So the derivative by ``a`` is that of all three together, and they have none.
        """
        centred = cls.sub(a, b)
        return cls.into(centred, "mul", centred, c)

    @classmethod
    @composed(like_first)
    def standardize_backward(cls: Ops, a: Array, out: Array, c: Array, dims: Dims) -> Array:
        """``(a - mean(a) - out * mean(a * out)) * c``: ``out`` is the result of `standardize`, ``a`` its gradient."""
        product = cls.multiply_no_nan(a, out)
        slope = cls.mean_dims(product, dims)
        product = cls.into(product, "multiply_no_nan", slope, out)
        product = cls.into(product, "add", product, cls.mean_dims(a, dims))
        product = cls.into(product, "sub", a, product)
        return cls.into(product, "multiply_no_nan", product, c)


def _shifted(cls: Ops, a: Array, dim: int) -> Array:
    """Moves the largest along a dim to 0, so that exp cannot overflow. An infinite one stays so, and moves no other
    to NaN."""
    if a.shape[dim] == 0:
        return cls.neg(a)  # no element, but a buffer of its own, as below
    bound = float(np.finfo(a.dtype).max)
    return cls.sub(a, cls.clamp(cls.max_dims(a, (dim,)), -bound, bound))
