"""Operators that work element by element: arithmetic, comparisons, logic, rounding, powers and trigonometry."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from tinyburn.onnx.table import operator
from tinyburn.onnx.values import AnyTensor, Numbers, Value, lifted
from tinyburn.tensor import Tensor

Function: TypeAlias = Callable[..., AnyTensor]
_ANY: Any = Tensor  # some of its methods are those of one kind, and a checker asks for it
Rows: TypeAlias = tuple[tuple[str, tuple[int, ...], Function], ...]


def _unary(name: str, versions: tuple[int, ...], function: Function) -> None:
    @operator(name, *versions)
    def row(x: Value) -> Value:
        return lifted(function, x)


def _binary(name: str, versions: tuple[int, ...], function: Function) -> None:
    @operator(name, *versions)
    def row(a: Value, b: Value) -> Value:
        return lifted(function, a, b)


def _several(name: str, versions: tuple[int, ...], function: Function) -> None:
    """Any number of operands, from the left to the right."""

    @operator(name, *versions)
    def row(first: Value, *others: Value) -> Value:
        return reduce(lambda a, b: lifted(function, a, b), others, first)


def _of_ints_too(function: Function) -> Function:
    """Rounding leaves whole numbers as they are."""
    return lambda x: function(x) if str(x.dtype).startswith("float") else x


_UNARY: Rows = (
    ("Abs", (6, 13), Tensor.abs),
    ("Neg", (6, 13), Tensor.neg),
    ("Sign", (9, 13), Tensor.sign),
    ("Reciprocal", (6, 13), Tensor.recip),
    ("Sqrt", (6, 13), Tensor.sqrt),
    ("Exp", (6, 13), Tensor.exp),
    ("Log", (6, 13), Tensor.log),
    ("Erf", (9, 13), Tensor.erf),
    ("Ceil", (6, 13), _of_ints_too(Tensor.ceil)),
    ("Floor", (6, 13), _of_ints_too(Tensor.floor)),
    ("Round", (11, 22), _of_ints_too(Tensor.round)),
    ("Sin", (7, 22), Tensor.sin),
    ("Cos", (7, 22), Tensor.cos),
    ("Tan", (7, 22), Tensor.tan),
    ("Asin", (7, 22), Tensor.asin),
    ("Acos", (7, 22), Tensor.acos),
    ("Atan", (7, 22), Tensor.atan),
    ("Sinh", (9, 22), Tensor.sinh),
    ("Cosh", (9, 22), Tensor.cosh),
    ("Tanh", (6, 13), Tensor.tanh),
    ("Asinh", (9, 22), Tensor.asinh),
    ("Acosh", (9, 22), Tensor.acosh),
    ("Atanh", (9, 22), Tensor.atanh),
    ("Not", (1,), _ANY.bool_not),
    ("IsNaN", (9, 13, 20), Tensor.is_nan),
)
for _name, _versions, _function in _UNARY:
    _unary(_name, _versions, _function)

_BINARY: Rows = (
    ("Add", (7, 13, 14), Tensor.add),
    ("Sub", (7, 13, 14), Tensor.sub),
    ("Mul", (7, 13, 14), Tensor.mul),
    ("Equal", (7, 11, 13, 19), Tensor.equal),
    ("Greater", (7, 9, 13), Tensor.greater),
    ("GreaterOrEqual", (12, 16), Tensor.greater_equal),
    ("Less", (7, 9, 13), Tensor.lower),
    ("LessOrEqual", (12, 16), Tensor.lower_equal),
    ("And", (7,), _ANY.bool_and),
    ("Or", (7,), _ANY.bool_or),
    ("Xor", (7,), _ANY.bool_xor),
)
for _name, _versions, _function in _BINARY:
    _binary(_name, _versions, _function)

_SEVERAL: Rows = (
    ("Sum", (6, 8, 13), Tensor.add),
    ("Max", (6, 8, 12, 13), Tensor.maximum),
    ("Min", (6, 8, 12, 13), Tensor.minimum),
)
for _name, _versions, _function in _SEVERAL:
    _several(_name, _versions, _function)


@operator("Mean", 6, 8, 13)
def mean(first: Value, *others: Value) -> Value:
    """Of its operands, element by element."""
    total = reduce(lambda a, b: lifted(Tensor.add, a, b), others, first)
    return lifted(lambda x: x / (len(others) + 1), total)


@operator("Div", 7, 13, 14)
def div(a: Value, b: Value) -> Value:
    """Of whole numbers it rounds towards 0."""
    if a.is_float:
        return lifted(Tensor.div, a, b)
    return lifted(_int_div, a, b)


def _int_div(a: AnyTensor, b: AnyTensor) -> AnyTensor:
    """Rounded down, and one more where that is below the quotient of a negative number."""
    down = _floor_div(a, b)
    is_negative = a.lower(0).bool_xor(b.lower(0))
    goes_up = is_negative.bool_and((down * b).not_equal(a))
    return down + goes_up.cast(a.dtype)


def _floor_div(a: AnyTensor, b: AnyTensor) -> AnyTensor:
    """Without its remainder a is a multiple of b. A float holds fewer digits than a whole number may have, so what the
    first quotient leaves is divided too."""
    multiple = a - a.remainder(b)
    first = _quotient(multiple, b)
    return first + _quotient(multiple - first * b, b)


def _quotient(a: AnyTensor, b: AnyTensor) -> AnyTensor:
    dtype = a.device.backend.widest_float
    return a.cast(dtype).div(b.cast(dtype)).round().cast(a.dtype)


@operator("Mod", 10, 13)
def mod(a: Value, b: Value, *, fmod: int = 0) -> Value:
    """With the sign of b, or with ``fmod`` that of a."""
    if not fmod:
        return lifted(Tensor.remainder, a, b)
    if a.is_float:
        return lifted(Tensor.fmod, a, b)
    return lifted(lambda x, y: x - _int_div(x, y) * y, a, b)


@operator("Pow", 7, 12, 13, 15)
def power(base: Value, exponent: Value) -> Value:
    """The result has the dtype of the base."""

    def computed(x: AnyTensor, y: AnyTensor) -> AnyTensor:
        if base.is_float:
            return x.powf(y.cast(base.dtype))
        dtype = x.device.backend.widest_float
        return x.cast(dtype).powf(y.cast(dtype)).round().cast(base.dtype)

    return lifted(computed, base, exponent)


@operator("Where", 9, 16)
def where(condition: Value, x: Value, y: Value) -> Value:
    """x where the condition is true, else y."""
    return lifted(lambda c, a, b: _filled(b, a, c), condition, x, y)


def _filled(otherwise: AnyTensor, then: AnyTensor, mask: AnyTensor) -> AnyTensor:
    shape = tuple(
        max(lengths) if 0 not in lengths else 0 for lengths in zip(otherwise.shape, then.shape, mask.shape, strict=True)
    )
    return otherwise.expand(shape).mask_where(mask.expand(shape), then.expand(shape))


@operator("Clip", 6)
def clip_6(x: Value, *, min: float = -3.4028234663852886e38, max: float = 3.4028234663852886e38) -> Value:
    """Between two numbers."""
    return lifted(lambda each: each.clamp(min, max), x)


@operator("Clip", 11, 12, 13)
def clip(x: Value, low: Value | None = None, high: Value | None = None) -> Value:
    """Between two numbers, each of which may be left out."""
    result = x if low is None else lifted(Tensor.maximum, x, low)
    return result if high is None else lifted(Tensor.minimum, result, high)


@operator("IsInf", 10, 20)
def is_inf(x: Value, *, detect_negative: int = 1, detect_positive: int = 1) -> Value:
    """Which are infinite, of the signs that are asked for."""
    found = lifted(Tensor.is_inf, x)
    if not detect_negative:
        found = lifted(lambda mask, each: mask.bool_and(each.greater(0.0)), found, x)
    if not detect_positive:
        found = lifted(lambda mask, each: mask.bool_and(each.lower(0.0)), found, x)
    return found


# Bits: no operation of tensors sees them, so they are read on the host


def _of_bits(function: Function) -> Function:
    """A function of NumPy arrays as one of tensors. Where there are no values, `Tensor.add` has the same shape."""

    def computed(x: AnyTensor, *others: AnyTensor) -> AnyTensor:
        if not x.backend.has_values:
            return reduce(Tensor.add, others, x)
        dtype: Any = x.dtype
        numbers = [each.to_numpy() for each in (x, *others)]
        return Tensor.from_data(function(*numbers), x.device, dtype)

    return computed


for _name, _function in (("And", np.bitwise_and), ("Or", np.bitwise_or), ("Xor", np.bitwise_xor)):
    _binary(f"Bitwise{_name}", (18,), _of_bits(_function))
_unary("BitwiseNot", (18,), _of_bits(np.bitwise_not))


@operator("BitShift", 11, 28)
def bit_shift(x: Value, by: Value, *, direction: str) -> Value:
    """Each bit so many places on; to the right the sign comes after, and to the left 0. As many places as there are
    bits, or a number below 0, leave nothing else."""
    return lifted(_of_bits(_shifted_right if direction == "RIGHT" else _shifted_left), x, by)


def _shifted_right(x: Numbers, by: Numbers) -> Numbers:
    """One place less than there are bits leaves the sign alone, as any number beyond it does."""
    last = x.dtype.itemsize * 8 - 1
    if x.dtype.kind == "u":
        return np.where(by > last, 0, x >> np.minimum(by, last)).astype(x.dtype)
    return (x >> np.where((by < 0) | (by > last), last, by)).astype(x.dtype)


def _shifted_left(x: Numbers, by: Numbers) -> Numbers:
    is_far = (by < 0) | (by >= x.dtype.itemsize * 8)
    return np.where(is_far, 0, x << np.where(is_far, 0, by)).astype(x.dtype)
