"""Products for the derivative rules, each with one buffer, which is the result's."""

from __future__ import annotations

from typing import Any

import numpy as np

from .interface import Number, Operand

NumPyArray = np.ndarray[Any, Any]


def multiply_no_nan(a: NumPyArray, b: Operand) -> NumPyArray:
    """``a * b``, but 0 wherever ``a`` is 0."""
    return _zero_where(np.multiply(a, b, order="C"), a)


def scaled_mul(a: NumPyArray, b: NumPyArray, scale: Number) -> NumPyArray:
    """``a * b * scale``."""
    out = np.multiply(a, b, order="C")
    out *= scale
    return out


def relu_backward(a: NumPyArray, out: NumPyArray) -> NumPyArray:
    """``a`` where ``out``, which is 0 or more, is above 0: a product with its sign is faster than a mask."""
    result = np.sign(out, order="C")
    result *= a
    result += 0.0  # -0.0 + 0.0 is 0.0, which prints better
    return _zero_where(result, out)


def _zero_where(product: NumPyArray, factor: NumPyArray) -> NumPyArray:
    """A product that is 0 wherever ``factor`` is, also against inf or NaN. One fast pass tells if there is a NaN."""
    flat = product.reshape(-1)
    if np.isnan(np.vdot(flat, flat)):
        np.copyto(product, 0, where=factor == 0)
    return product
