"""The operations that NumPy lacks, each as a kernel that runs block by block: see `blocks.py` for what that is.

A derivative is 0 where the gradient that comes in, ``a``, is 0. A product gives that by itself, unless the other factor
is inf or NaN. So these kernels ask whether there is one, which is a fast question, and only then look where.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyburn.base.dtype import DType

from .array_namespace import NUMPY_DTYPES
from .blocks import Kernel, NumPyArray, Scratch, blockwise, number
from .interface import Number
from .moments import MOMENTS
from .operations import OPERATIONS, called

_FLOAT64 = NUMPY_DTYPES[DType.FLOAT64]


# Zeros that stay zeros


def is_finite(x: Any) -> bool:
    """Whether no element is inf or NaN. May say no if there are numbers whose squares are too large."""
    if type(x) is not np.ndarray:
        return math.isfinite(x)
    if not x.flags.c_contiguous:
        return math.isfinite(np.add.reduce(x, None))
    flat = x.reshape(-1)
    return math.isfinite(flat.dot(flat))  # the fastest pass that there is


def _multiply_no_nan(s: Scratch, out: NumPyArray, a: Any, b: Any) -> None:
    if is_finite(b):
        np.multiply(a, b, out)
    else:
        np.copyto(s.x, b)
        _times_x(s, out, a)


def _times_x(s: Scratch, out: NumPyArray, a: Any) -> None:
    """``a * s.x``, but 0 where ``a`` is 0."""
    if math.isfinite(s.flat.dot(s.flat)):
        np.multiply(a, s.x, out)
        return
    np.multiply(a, s.x, s.x)
    np.isnan(s.x, s.truth)
    np.equal(a, s.zero, s.other)
    np.logical_and(s.truth, s.other, s.truth)
    np.copyto(s.x, s.zero, where=s.truth)
    np.copyto(out, s.x)


# Choices by the bits, as whole numbers. Times 1 they are the number, and times 0 they are 0.0, also those of inf or
# NaN, where a product of numbers is NaN. To copy where a mask is True takes ten times as long.


def _keep(s: Scratch, out: NumPyArray, a: NumPyArray) -> None:
    """``a`` where ``s.truth``, else 0."""
    np.copyto(s.bits, s.truth)
    whole = s.bits.dtype
    np.multiply(a.view(whole), s.bits, out.view(whole))


def _relu_backward(s: Scratch, out: NumPyArray, a: NumPyArray, result: NumPyArray) -> None:
    """``0 - result`` has a sign just where ``a`` is kept. Moved to the end, that bit fills all of the number."""
    np.subtract(s.zero, result, s.x)
    if math.isfinite(s.flat.dot(s.flat)):
        whole = s.bits.dtype
        np.right_shift(s.bits, s.last_bit, s.bits)
        np.bitwise_and(a.view(whole), s.bits, out.view(whole))
        return
    np.greater(result, s.zero, s.truth)
    _keep_or_nan(s, out, a, result)


def _extreme_backward(s: Scratch, out: NumPyArray, a: NumPyArray, b: NumPyArray, result: NumPyArray) -> None:
    np.equal(b, result, s.truth)
    _keep_or_nan(s, out, a, result)


def _keep_or_nan(s: Scratch, out: NumPyArray, a: NumPyArray, result: NumPyArray) -> None:
    """``a`` where ``s.truth``, else 0; NaN where the result is, which must not be lost, unless the gradient is 0."""
    if is_finite(result):
        _keep(s, out, a)
        return
    _keep(s, s.y, a)
    np.isnan(result, s.truth)
    np.not_equal(a, s.zero, s.other)
    np.logical_and(s.truth, s.other, s.truth)
    np.copyto(s.y, math.nan, where=s.truth)
    np.copyto(out, s.y)


def _clamp_backward(s: Scratch, out: NumPyArray, a: NumPyArray, b: NumPyArray, low: Number, high: Number) -> None:
    np.less(b, low, s.truth)
    np.greater(b, high, s.other)
    np.logical_or(s.truth, s.other, s.truth)
    np.logical_not(s.truth, s.truth)  # so that NaN is not outside
    _keep(s, out, a)


def _leaky_relu(s: Scratch, out: NumPyArray, a: NumPyArray, slope: Number) -> None:
    _leaky_relu_backward(s, out, a, a, slope)


def _leaky_relu_backward(s: Scratch, out: NumPyArray, a: NumPyArray, b: NumPyArray, slope: Number) -> None:
    """A factor that is 1, or the slope where ``b`` is below 0: the bits of 1, and there as much more as the slope's."""
    s.number.fill(slope)
    np.subtract(s.number_bits, s.one_bits, s.number_bits)
    np.less(b, s.zero, s.truth)
    np.copyto(s.bits, s.truth)
    np.multiply(s.bits, s.number_bits, s.bits)
    np.add(s.bits, s.one_bits, s.bits)
    np.multiply(a, s.x, out)


# Curves


def _sigmoid(s: Scratch, out: NumPyArray, a: NumPyArray) -> None:
    np.negative(a, out)
    np.exp(out, out)
    np.add(out, s.one, out)
    np.divide(s.one, out, out)


def _silu(s: Scratch, out: NumPyArray, a: NumPyArray) -> None:
    np.negative(a, s.x)
    np.exp(s.x, s.x)
    np.add(s.x, s.one, s.x)
    np.divide(a, s.x, out)


def _softplus(s: Scratch, out: NumPyArray, a: NumPyArray) -> None:
    """``max(a, 0) + log(1 + e)`` with ``e = exp(-abs(a))``. NumPy's own ``log1p`` takes three times as long.

    What ``1 + e`` has lost of ``e`` is added: the slope of the logarithm is nearly 1 where that matters.
    """
    np.abs(a, s.x)
    np.negative(s.x, s.x)
    np.exp(s.x, s.x)
    np.add(s.x, s.one, s.y)
    np.log(s.y, s.z)
    np.subtract(s.y, s.one, s.y)
    np.subtract(s.x, s.y, s.x)
    np.add(s.z, s.x, s.z)
    s.y.fill(0)
    np.maximum(a, s.y, out=s.y)
    np.add(s.y, s.z, out)


def _tanh_backward(s: Scratch, out: NumPyArray, a: NumPyArray, result: NumPyArray) -> None:
    np.multiply(result, result, s.x)
    np.subtract(s.one, s.x, s.x)
    _times_x(s, out, a)


def _sigmoid_backward(s: Scratch, out: NumPyArray, a: NumPyArray, result: NumPyArray) -> None:
    np.subtract(s.one, result, s.x)
    np.multiply(result, s.x, s.x)
    _times_x(s, out, a)


def _softplus_backward(s: Scratch, out: NumPyArray, a: NumPyArray, b: NumPyArray) -> None:
    _sigmoid(s, s.x, b)
    _times_x(s, out, a)


def _silu_backward(s: Scratch, out: NumPyArray, a: NumPyArray, b: NumPyArray) -> None:
    _sigmoid(s, s.x, b)
    np.subtract(s.one, s.x, s.y)
    np.multiply(s.y, b, s.y)
    np.add(s.y, s.one, s.y)
    np.multiply(s.x, s.y, s.x)
    _times_x(s, out, a)


# The error function, as the hyperbolic tangent of an odd function, which NumPy computes fast. That odd function,
# atanh(erf(x)), is x times a smooth function of x * x, so a polynomial comes near to it, or a quotient of two. Their
# coefficients, the highest first, were fitted in 40 digits such that the largest relative error of erf is smallest.
# Where erf is nearly 1 the odd function only has to be large.

_ERF_FLOAT32 = (
    1.41840271e-07,
    -5.66824992e-06,
    8.76358375e-05,
    -0.000619780389,
    -0.000191836197,
    0.102769058,
    1.12837927,
)
_ERF_OVER = (
    -2.1430460390487893e-11,
    -3.8038769489709858e-09,
    1.3546266364070734e-07,
    5.7196640622154766e-06,
    0.00011281753357999024,
    0.0012169467620922582,
    0.0094727227588088433,
    0.043541420864992221,
    0.14394749078789273,
    0.12837916709551248,
)
_ERF_UNDER = (
    -1.0538879839599498e-09,
    -2.3044779827192648e-08,
    2.8218005885734505e-06,
    7.4195168770844322e-05,
    0.0012759803002016336,
    0.011632170712003726,
    0.084036132977649336,
    0.32072873206373448,
    1,
)
_ERF_IS_ONE = 36.0
"""From 6 on, erf is 1 in float64. Beyond the square of that, the quotient was not fitted."""
_ROOT_HALF = math.sqrt(0.5)
_SHARE_FLOAT32 = tuple(_ROOT_HALF * c * 0.5 ** (6 - at) for at, c in enumerate(_ERF_FLOAT32))
"""The same for ``erf(a * sqrt(0.5))``."""


def _numbers(coefficients: Sequence[float], dtype: DType) -> tuple[NumPyArray, ...]:
    return tuple([number(coefficient, NUMPY_DTYPES[dtype]) for coefficient in coefficients])


_ERF, _SHARE = _numbers(_ERF_FLOAT32, DType.FLOAT32), _numbers(_SHARE_FLOAT32, DType.FLOAT32)
_OVER, _UNDER = _numbers(_ERF_OVER, DType.FLOAT64), _numbers(_ERF_UNDER, DType.FLOAT64)


def _polynomial(out: NumPyArray, x: NumPyArray, coefficients: tuple[NumPyArray, ...]) -> None:
    """By Horner's rule: one product and one sum for each coefficient."""
    first, second, *others = coefficients
    np.multiply(x, first, out)
    np.add(out, second, out)
    for coefficient in others:
        np.multiply(out, x, out)
        np.add(out, coefficient, out)


def _odd_tanh(s: Scratch, out: NumPyArray, a: NumPyArray, coefficients: tuple[NumPyArray, ...]) -> None:
    """The tanh of ``a`` times a polynomial of its square. That grows without end, and so it needs no bounds."""
    np.multiply(a, a, s.x)
    _polynomial(s.y, s.x, coefficients)
    np.multiply(a, s.y, out)
    np.tanh(out, out)


def _erf(s: Scratch, out: NumPyArray, a: NumPyArray) -> None:
    """Within 4 units in the last place of float32, and within 3 of float64; the tests measure it.

    In float64 the quotient is what is more than ``a``: a smaller number brings a smaller error.
    """
    if s.dtype != _FLOAT64:
        _odd_tanh(s, out, a, _ERF)
        return
    np.multiply(a, a, s.x)
    s.y.fill(_ERF_IS_ONE)
    np.minimum(s.x, s.y, out=s.x)
    _polynomial(s.y, s.x, _OVER)
    _polynomial(s.z, s.x, _UNDER)
    np.divide(s.y, s.z, s.y)
    np.multiply(a, s.y, s.y)
    np.add(a, s.y, out)
    np.tanh(out, out)


def _share_below(s: Scratch, a: NumPyArray) -> NumPyArray:
    """The share of the bell curve that lies below ``a``, in ``s.w``."""
    if s.dtype == _FLOAT64:
        np.multiply(a, number(_ROOT_HALF, _FLOAT64), s.w)
        _erf(s, s.w, s.w)
    else:
        _odd_tanh(s, s.w, a, _SHARE)
    half = number(0.5, s.dtype)
    np.multiply(s.w, half, s.w)
    np.add(s.w, half, s.w)
    return s.w


def _gelu(s: Scratch, out: NumPyArray, a: NumPyArray) -> None:
    np.multiply(a, _share_below(s, a), out)


def _gelu_backward(s: Scratch, out: NumPyArray, a: NumPyArray, b: NumPyArray) -> None:
    share = _share_below(s, b)
    np.multiply(b, b, s.x)
    np.multiply(s.x, number(-0.5, s.dtype), s.x)
    np.exp(s.x, s.x)
    np.multiply(s.x, number(1 / math.sqrt(2 * math.pi), s.dtype), s.x)
    np.multiply(s.x, b, s.x)
    np.add(share, s.x, s.x)
    _times_x(s, out, a)


# Sums


def _squared_difference(s: Scratch, out: NumPyArray, a: NumPyArray, b: NumPyArray) -> None:
    np.subtract(a, b, s.x)
    np.multiply(s.x, s.x, out)


def _squared_difference_backward(s: Scratch, out: NumPyArray, a: NumPyArray, b: NumPyArray, other: NumPyArray) -> None:
    np.subtract(b, other, s.x)
    _times_x(s, out, a)
    np.add(out, out, out)


def _add_scaled(s: Scratch, out: NumPyArray, a: NumPyArray, b: NumPyArray, scale: Number) -> None:
    s.number.fill(scale)
    np.multiply(b, s.number, s.x)
    np.add(a, s.x, out)


KERNELS: dict[str, Kernel] = {
    "multiply_no_nan": _multiply_no_nan,
    "relu_backward": _relu_backward,
    "extreme_backward": _extreme_backward,
    "erf": _erf,
    "leaky_relu": _leaky_relu,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "gelu": _gelu,
    "softplus": _softplus,
    "tanh_backward": _tanh_backward,
    "sigmoid_backward": _sigmoid_backward,
    "clamp_backward": _clamp_backward,
    "leaky_relu_backward": _leaky_relu_backward,
    "silu_backward": _silu_backward,
    "gelu_backward": _gelu_backward,
    "softplus_backward": _softplus_backward,
    "squared_difference": _squared_difference,
    "squared_difference_backward": _squared_difference_backward,
    "add_scaled": _add_scaled,
    **MOMENTS,
}
"""The kernel of each operation that has one."""

FUSED: dict[str, Callable[..., NumPyArray]] = {
    name: called(f"NdArray.{name}", blockwise(kernel, len(OPERATIONS[name].tensors)))
    for name, kernel in KERNELS.items()
}
"""The same as operations."""
