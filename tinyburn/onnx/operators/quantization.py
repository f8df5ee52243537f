"""Numbers of 8 and 16 bits that stand for floats: by a scale and the whole number that stands for 0.

A sum of products of such numbers is computed in whole numbers, so it is exact as long as 32 bits hold it.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from tinyburn.base.errors import OnnxError
from tinyburn.onnx.graph import Run
from tinyburn.onnx.protos import dtype_of
from tinyburn.onnx.table import operator
from tinyburn.onnx.values import AnyTensor, Value
from tinyburn.tensor import Tensor

from .creation import cast_to
from .products import product
from .windows import convolved, geometry_of

Ints: TypeAlias = tuple[int, ...]


# Into whole numbers and back


@operator("QuantizeLinear", 10, 13, 19, 21, 23, 24, 25, 28)
def quantize(
    x: Value,
    scale: Value,
    zero_point: Value | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Value:
    """``round(x / scale) + zero_point``, kept within the dtype: that of the zero point, or uint8."""
    dtype = dtype_of(output_dtype) if output_dtype else "uint8" if zero_point is None else zero_point.dtype
    computed = dtype_of(precision) if precision else scale.dtype
    divisor = _along(cast_to(scale, computed), x, axis, block_size)
    offset = None if zero_point is None else _along(cast_to(zero_point, "float32"), x, axis, block_size)
    return Value(_saturated(cast_to(x, computed).tensor / divisor, offset, dtype), x.is_scalar)


def _saturated(x: AnyTensor, offset: AnyTensor | None, dtype: str) -> AnyTensor:
    """Rounded, of two the even number, and kept within a dtype of 16 bits or less, which float32 holds exactly."""
    if dtype not in ("uint8", "int8", "int16"):
        raise OnnxError("quantization", f"it would be to {dtype}, and tinyburn has uint8, int8 and int16 for it")
    bounds = np.iinfo(dtype)
    rounded = x.round().cast("float32")
    moved = rounded if offset is None else rounded + offset
    return moved.clamp(int(bounds.min), int(bounds.max)).cast(dtype)


@operator("DequantizeLinear", 10, 13, 19, 21, 23, 24, 25, 28)
def dequantize(
    x: Value,
    scale: Value,
    zero_point: Value | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Value:
    """``(x - zero_point) * scale``, in the dtype of the scale, or in another one."""
    dtype = dtype_of(output_dtype) if output_dtype else scale.dtype
    whole = x.tensor.cast("int32")
    if zero_point is not None:
        whole = whole - _along(cast_to(zero_point, "int32"), x, axis, block_size)
    factor = _along(cast_to(scale, dtype), x, axis, block_size)
    return Value(whole.cast(dtype) * factor, x.is_scalar)


def _along(values: Value, x: Value, axis: int, block_size: int) -> AnyTensor:
    """One number for all of x, one for each entry of a dim, or one for each block of such entries, as it meets x."""
    rank = max(x.rank, 1)
    if values.tensor.shape == (1,):
        return values.tensor.reshape((1,) * rank)
    dim = axis % rank
    if block_size:
        blocks = Tensor.from_data(np.arange(x.shape[dim]) // block_size, x.tensor.device, x.tensor.device.int_dtype)
        return values.tensor.select(dim, blocks)
    return values.tensor.reshape([-1 if at == dim else 1 for at in range(rank)])


@operator("DynamicQuantizeLinear", 11)
def dynamic_quantize(x: Value) -> tuple[Value, Value, Value]:
    """To uint8, by a scale and a zero point of its own: 0 and all its numbers just fit."""
    low, high = x.tensor.min().clamp_max(0.0), x.tensor.max().clamp_min(0.0)
    scale = (high - low) / 255.0
    offset = (-low / scale).clamp(0.0, 255.0).round()
    size = (1,) * max(x.rank, 1)
    result = _saturated(x.tensor / scale.reshape(size), offset.reshape(size), "uint8")
    return Value(result, x.is_scalar), Value(scale, True), Value(offset.cast("uint8"), True)


# Products of whole numbers


@operator("MatMulInteger", 10)
def matmul_integer(a: Value, b: Value, a_zero: Value | None = None, b_zero: Value | None = None) -> Value:
    """A matrix product in int32, of what is left after the zero points: one for each row of a, or column of b."""
    return product(_centred(a, a_zero, -2), _centred(b, b_zero, -1))


def _centred(x: Value, zero_point: Value | None, dim: int) -> Value:
    """``x - zero_point`` in int32."""
    whole = cast_to(x, "int32")
    if zero_point is None:
        return whole
    return Value(whole.tensor - _facing(cast_to(zero_point, "int32"), x, dim), x.is_scalar)


def _facing(values: Value, x: Value, dim: int) -> AnyTensor:
    """Numbers for the entries of one dim, or a whole tensor of them, as they meet x."""
    if values.rank > 1:
        return values.tensor.unsqueeze(x.rank)
    return values.tensor.reshape([-1 if at == dim % x.rank else 1 for at in range(x.rank)])


@operator("QLinearMatMul", 10, 21)
def qlinear_matmul(
    a: Value,
    a_scale: Value,
    a_zero: Value,
    b: Value,
    b_scale: Value,
    b_zero: Value,
    y_scale: Value,
    y_zero: Value,
) -> Value:
    """A matrix product of two quantized matrices, quantized again."""
    sums = product(_centred(a, a_zero, -2), _centred(b, b_zero, -1))
    rows, columns = (cast_to(scale, "float32") for scale in (a_scale, b_scale))
    factor = _facing(rows, sums, -2) * _facing(columns, sums, -1)
    return _requantized(sums, factor, y_scale, y_zero)


def _requantized(sums: Value, factor: AnyTensor, scale: Value, zero_point: Value) -> Value:
    """What sums of products stand for, by another scale and zero point."""
    divisor, offset = (_facing(cast_to(one, "float32"), sums, -2) for one in (scale, zero_point))
    return Value(_saturated(sums.tensor.cast("float32") * (factor / divisor), offset, zero_point.dtype), sums.is_scalar)


@operator("ConvInteger", 10)
def conv_integer(
    x: Value,
    weight: Value,
    x_zero: Value | None = None,
    w_zero: Value | None = None,
    *,
    group: int = 1,
    kernel_shape: Ints | None = None,
    auto_pad: str = "NOTSET",
    pads: Ints | None = None,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    run: Run,
) -> Value:
    """A convolution in int32, of what is left after the zero points, so that padding is 0."""
    geometry = geometry_of(x, weight.shape[2:], run, auto_pad, pads, strides, dilations)
    given, kernel = _centred(x, x_zero, 1), _centred(weight, w_zero, 0)
    return Value(convolved(given.tensor, kernel.tensor, geometry, group))


@operator("QLinearConv", 10)
def qlinear_conv(
    x: Value,
    x_scale: Value,
    x_zero: Value,
    weight: Value,
    w_scale: Value,
    w_zero: Value,
    y_scale: Value,
    y_zero: Value,
    bias: Value | None = None,
    *,
    group: int = 1,
    kernel_shape: Ints | None = None,
    auto_pad: str = "NOTSET",
    pads: Ints | None = None,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    run: Run,
) -> Value:
    """A convolution of a quantized input and weight, quantized again. The bias, int32, adds to the sums."""
    geometry = geometry_of(x, weight.shape[2:], run, auto_pad, pads, strides, dilations)
    given, kernel = _centred(x, x_zero, 1), _centred(weight, w_zero, 0)
    sums = Value(convolved(given.tensor, kernel.tensor, geometry, group))
    if bias is not None:
        sums = Value(sums.tensor + _facing(bias, sums, 1))
    return _requantized(sums, _facing(w_scale, sums, 1) * _facing(x_scale, sums, 1), y_scale, y_zero)
