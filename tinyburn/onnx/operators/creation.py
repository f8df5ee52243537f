"""Operators that make tensors from numbers: constants, ranges, shapes and casts; and random ones."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tinyburn import activation
from tinyburn.base.distribution import AnyDistribution, Distribution
from tinyburn.base.errors import OnnxError
from tinyburn.onnx.graph import Run
from tinyburn.onnx.protos import dtype_of
from tinyburn.onnx.table import operator
from tinyburn.onnx.values import AnyTensor, Value, dtype_on, host, lifted
from tinyburn.tensor import Tensor


@operator("Constant", 1, 9, 11, 12, 13, 19, 21, 23, 24, 25)
def constant(
    *,
    value: Value | None = None,
    value_float: float | None = None,
    value_floats: tuple[float, ...] | None = None,
    value_int: int | None = None,
    value_ints: tuple[int, ...] | None = None,
) -> Value:
    """A tensor that is in the file."""
    if value is not None:
        return value
    for number, dtype in (
        (value_float, np.float32),
        (value_floats, np.float32),
        (value_int, np.int64),
        (value_ints, np.int64),
    ):
        if number is not None:
            return host(np.asarray(number, dtype))
    raise OnnxError("Constant", "it has no value of a dtype that tinyburn has")


def check_elements(what: str, shape: Any, run: Run) -> None:
    """Raises OnnxError for a tensor that is larger than the limit."""
    if any(length < 0 for length in shape):
        raise OnnxError(what, f"its shape would be {tuple(shape)}")
    if prod(shape) > run.limits.elements:
        reason = f"its shape would be {tuple(shape)}: {prod(shape)} elements, and the limit is {run.limits.elements}"
        raise OnnxError(what, reason, hint="onnx.load(..., limits=onnx.Limits(elements=N)) allows more")


@operator("ConstantOfShape", 9, 20, 21, 23, 24, 25, numbers=[0])
def constant_of_shape(shape: Value, *, value: Value | None = None, run: Run) -> Value:
    """One number everywhere, by default 0.0."""
    lengths = shape.ints("the shape of ConstantOfShape")
    check_elements("ConstantOfShape", lengths, run)
    number = np.zeros(1, np.float32) if value is None else value.numbers("its value").reshape(-1)
    return host(np.full(lengths, number[0]))


@operator("Range", 11, numbers=[0, 1, 2])
def number_range(start: Value, limit: Value, delta: Value, *, run: Run) -> Value:
    """From a start, in steps, up to a limit that is not reached."""
    first, last, step = (each.number("an operand of Range") for each in (start, limit, delta))
    count = max(int(np.ceil((float(last) - float(first)) / float(step))), 0)
    check_elements("Range", [count], run)
    return host((first + np.arange(count) * step).astype(start.dtype))


@operator("Shape", 1, 13, 15, 19, 21, 23, 24, 25, numbers=[0])
def shape(x: Value, *, start: int = 0, end: int | None = None) -> Value:
    """The lengths of its dims, or of some of them: known wherever it is computed."""
    return host(np.asarray(x.shape[slice(start, end)], np.int64))


@operator("Size", 1, 13, 19, 21, 23, 24, 25, numbers=[0])
def size(x: Value) -> Value:
    """The number of elements."""
    return host(np.asarray(prod(x.shape), np.int64))


@operator("Cast", 6, 9, 13, 19, 21, 23, 24, 25)
def cast(x: Value, *, to: int, saturate: int = 1, round_mode: str = "up") -> Value:
    """The same numbers in another dtype."""
    return cast_to(x, dtype_of(to))


@operator("CastLike", 15, 19, 21, 23, 24, 25, numbers=[1])
def cast_like(x: Value, like: Value, *, saturate: int = 1, round_mode: str = "up") -> Value:
    """The same numbers in the dtype of another tensor."""
    return cast_to(x, like.dtype)


def cast_to(x: Value, dtype: str) -> Value:
    """The numbers of a tensor in another dtype of any kind. A float is cut off to a whole number."""
    return lifted(lambda each: _cast(each, dtype), x)


def _cast(x: AnyTensor, dtype: str) -> AnyTensor:
    dtype = dtype_on(dtype, x.device)
    return x if x.dtype == dtype else x.cast(dtype)


@operator("EyeLike", 9, 22, numbers=[0])
def eye_like(x: Value, *, dtype: int | None = None, k: int = 0) -> Value:
    """1 on a diagonal, 0 elsewhere."""
    rows, columns = x.shape
    return host(np.eye(rows, columns, k, dtype=dtype_of(dtype) if dtype else x.dtype))


@operator("Identity", 1, 13, 14, 16, 19, 21, 23, 24, 25, numbers=[0])
def identity(x: Any) -> Any:
    """Itself."""
    return x


# Random numbers: the device's own generator draws them, so `Device.seed` holds, and the seed of a node does not


def _drawn(shape: Any, of: AnyDistribution, dtype: str, run: Run) -> Value:
    check_elements("a random tensor", shape, run)
    target: Any = dtype
    return Value(Tensor.random(tuple(shape) or (1,), of, run.device, target), not shape)


@operator("RandomNormal", 1, 22)
def random_normal(
    *, shape: Any, dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: float = 0.0, run: Run
) -> Value:
    """From a normal distribution, with ``scale`` as its standard deviation."""
    return _drawn(shape, Distribution.Normal(mean, scale), dtype_of(dtype), run)


@operator("RandomUniform", 1, 22)
def random_uniform(
    *, shape: Any, dtype: int = 1, high: float = 1.0, low: float = 0.0, seed: float = 0.0, run: Run
) -> Value:
    """Each number from low to high alike."""
    return _drawn(shape, Distribution.Uniform(low, high), dtype_of(dtype), run)


@operator("RandomNormalLike", 1, 22, numbers=[0])
def random_normal_like(
    x: Value, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0, seed: float = 0.0, run: Run
) -> Value:
    """`random_normal` in the shape of another tensor."""
    return _drawn(x.shape, Distribution.Normal(mean, scale), dtype_of(dtype) if dtype else x.dtype, run)


@operator("RandomUniformLike", 1, 22, numbers=[0])
def random_uniform_like(
    x: Value, *, dtype: int | None = None, high: float = 1.0, low: float = 0.0, seed: float = 0.0, run: Run
) -> Value:
    """`random_uniform` in the shape of another tensor."""
    return _drawn(x.shape, Distribution.Uniform(low, high), dtype_of(dtype) if dtype else x.dtype, run)


@operator("Bernoulli", 15, 22)
def bernoulli(x: Value, *, dtype: int | None = None, seed: float = 0.0, run: Run) -> Value:
    """1 with the probability that stands in x, else 0."""
    chances = x.on(run.device)
    draws = _drawn(x.shape, Distribution.Default, x.dtype, run)
    return cast_to(lifted(Tensor.lower, draws, chances), dtype_of(dtype) if dtype else x.dtype)


@operator("Multinomial", 7, 22)
def multinomial(x: Value, *, dtype: int = 6, sample_size: int = 1, seed: float = 0.0, run: Run) -> Value:
    """Classes by their probabilities, whose logarithms stand in each row of x: so many for each row.

    A draw from 0 to 1 falls into the share of a class; how many shares end before it says in which.
    """
    rows, classes = x.shape
    check_elements("Multinomial", [rows, sample_size, classes], run)
    draws = _drawn((rows, sample_size, 1), Distribution.Default, x.dtype, run)
    shares = activation.softmax(x.on(run.device).tensor, 1).narrow(1, 0, classes - 1).cumsum(1)
    ends = draws.tensor.greater_equal(shares.reshape((rows, 1, classes - 1)))
    return cast_to(Value(ends.int().sum_dim(2).reshape((rows, sample_size))), dtype_of(dtype))
