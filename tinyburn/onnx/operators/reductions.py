"""Operators that gather many elements into one, along axes: sums, extremes, norms; and scans, products and the like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from string import ascii_letters
from typing import Any, TypeAlias

import numpy as np

from tinyburn import linalg
from tinyburn.base.errors import OnnxError
from tinyburn.onnx.table import operator
from tinyburn.onnx.values import AnyTensor, Value, reshaped
from tinyburn.tensor import Tensor

from .elementwise import div
from .movement import axes_of, flatten
from .pick import counted

Dims: TypeAlias = tuple[int, ...]
Reduction: TypeAlias = Callable[[AnyTensor, Dims], AnyTensor]
"""Of a tensor along dims, which stay, at length 1. Along no dim, each element is reduced by itself."""


# What is computed along some dims


def _sum(x: AnyTensor, dims: Dims) -> AnyTensor:
    return x.sum_dims(dims).cast(x.dtype) if dims else x


def _prod(x: AnyTensor, dims: Dims) -> AnyTensor:
    return x.prod_dims(dims).cast(x.dtype) if dims else x


def _mean(x: AnyTensor, dims: Dims) -> AnyTensor:
    """Of whole numbers it is cut off."""
    if not dims or str(x.dtype).startswith("float"):
        return x.mean_dims(dims) if dims else x
    total = Value(_sum(x, dims))
    return div(total, Value(total.tensor.full_like(prod(x.shape[dim] for dim in dims)))).tensor


def _max(x: AnyTensor, dims: Dims) -> AnyTensor:
    """Of no element it is the lowest that the dtype has; of truth values, whether one is true."""
    if x.dtype == "bool":
        return _max(x.int(), dims).greater(0)
    return _extreme(x, dims, Tensor.max_dims, _limits(x)[0])


def _min(x: AnyTensor, dims: Dims) -> AnyTensor:
    """Of no element it is the highest that the dtype has; of truth values, whether all are true."""
    if x.dtype == "bool":
        return _min(x.int(), dims).greater(0)
    return _extreme(x, dims, Tensor.min_dims, _limits(x)[1])


def _extreme(x: AnyTensor, dims: Dims, function: Callable[..., AnyTensor], of_nothing: float) -> AnyTensor:
    if 0 in [x.shape[dim] for dim in dims]:
        shape = [1 if dim in dims else length for dim, length in enumerate(x.shape)]
        return Tensor.full(shape, of_nothing, x.device, x.dtype)
    return function(x, dims) if dims else x


def _limits(x: AnyTensor) -> tuple[float, float]:
    dtype: Any = np.dtype(x.dtype)
    return (-np.inf, np.inf) if dtype.kind == "f" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def _l1(x: AnyTensor, dims: Dims) -> AnyTensor:
    return _sum(x.abs(), dims)


def _l2(x: AnyTensor, dims: Dims) -> AnyTensor:
    """The reduced dims become one, along which the vectors lie: so no square overflows, and the slope at 0 is 0."""
    if not dims:
        return x.abs()
    kept = [dim for dim in range(x.rank) if dim not in dims]
    lengths = [x.shape[dim] for dim in kept]
    vectors = x.permute(*kept, *dims).reshape((*lengths, prod(x.shape[dim] for dim in dims)))
    return linalg.l2_norm(vectors, -1).reshape([1 if dim in dims else n for dim, n in enumerate(x.shape)])


def _log_sum(x: AnyTensor, dims: Dims) -> AnyTensor:
    return _sum(x, dims).log()


def _log_sum_exp(x: AnyTensor, dims: Dims) -> AnyTensor:
    """The largest is taken out first, so that no exponential overflows; an infinite one stays where it is."""
    largest = _max(x.detach(), dims)
    base = largest.mask_fill(largest.is_finite().bool_not(), 0.0)
    return _sum((x - base).exp(), dims).log() + base


def _sum_square(x: AnyTensor, dims: Dims) -> AnyTensor:
    return _sum(x.square(), dims)


def _of_floats(function: Reduction) -> Reduction:
    """Whole numbers are computed with in floats."""

    def computed(x: AnyTensor, dims: Dims) -> AnyTensor:
        if str(x.dtype).startswith("float"):
            return function(x, dims)
        return function(x.float(), dims).cast(x.dtype)

    return computed


# The rows: axes are an attribute at first, and an input later


def _reduced(x: Value, axes: Sequence[int], keepdims: int, function: Reduction) -> Value:
    """Along some axes, which stay, at length 1, or go."""
    dims = tuple(sorted(axes_of(axes, x.rank)))
    result = function(x.tensor, (0,) if x.is_scalar else dims)
    kept = [1 if dim in dims else length for dim, length in enumerate(x.shape) if keepdims or dim not in dims]
    return reshaped(Value(result), kept)


def _reduction(name: str, of_attribute: tuple[int, ...], of_input: tuple[int, ...], function: Reduction) -> None:
    @operator(name, *of_attribute)
    def attribute_row(x: Value, *, axes: Sequence[int] = (), keepdims: int = 1) -> Value:
        return _reduced(x, axes or range(x.rank), keepdims, function)

    @operator(name, *of_input, numbers=[1])
    def input_row(x: Value, axes: Value | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Value:
        given = [] if axes is None else axes.ints(f"the axes of {name}")
        if given or not noop_with_empty_axes:
            return _reduced(x, given or range(x.rank), keepdims, function)
        return Value(function(x.tensor, ()), x.is_scalar)


_REDUCTIONS: tuple[tuple[str, tuple[int, ...], tuple[int, ...], Reduction], ...] = (
    ("ReduceSum", (1, 11), (13,), _sum),
    ("ReduceMean", (1, 11, 13), (18,), _mean),
    ("ReduceProd", (1, 11, 13), (18,), _prod),
    ("ReduceMax", (1, 11, 12, 13), (18, 20), _max),
    ("ReduceMin", (1, 11, 12, 13), (18, 20), _min),
    ("ReduceL1", (1, 11, 13), (18,), _l1),
    ("ReduceL2", (1, 11, 13), (18,), _of_floats(_l2)),
    ("ReduceLogSum", (1, 11, 13), (18, 28), _of_floats(_log_sum)),
    ("ReduceLogSumExp", (1, 11, 13), (18, 28), _of_floats(_log_sum_exp)),
    ("ReduceSumSquare", (1, 11, 13), (18,), _sum_square),
)
for _name, _of_attribute, _of_input, _function in _REDUCTIONS:
    _reduction(_name, _of_attribute, _of_input, _function)


# Scans


def _scan(x: Value, axis: Value, exclusive: int, reverse: int, function: Callable[..., AnyTensor], first: int) -> Value:
    """What the elements up to each one make, along an axis: without itself if exclusive, from the end if reverse."""
    at = axes_of(axis.ints("the axis of a scan")[:1], x.rank)[0]
    tensor = x.tensor.flip((at,)) if reverse else x.tensor
    result = function(tensor, at).cast(x.dtype)
    if exclusive and x.shape[at]:
        start = result.narrow(at, 0, 1).full_like(first)
        result = Tensor.cat([start, result.narrow(at, 0, x.shape[at] - 1)], at)
    return Value(result.flip((at,)) if reverse else result)


@operator("CumSum", 11, 14, numbers=[1])
def cum_sum(x: Value, axis: Value, *, exclusive: int = 0, reverse: int = 0) -> Value:
    """The sums of the elements up to each one."""
    return _scan(x, axis, exclusive, reverse, Tensor.cumsum, 0)


@operator("CumProd", 26, numbers=[1])
def cum_prod(x: Value, axis: Value, *, exclusive: int = 0, reverse: int = 0) -> Value:
    """The products of the elements up to each one."""
    return _scan(x, axis, exclusive, reverse, Tensor.cumprod, 1)


# Along one axis


@operator("Hardmax", 13)
def hardmax(x: Value, *, axis: int = -1) -> Value:
    """1 at the first of the largest along an axis, else 0."""
    at = axes_of([axis], x.rank)[0]
    places = x.tensor.argmax(at)
    entries = counted(x.shape[at], places).reshape([-1 if dim == at else 1 for dim in range(x.rank)])
    return Value(places.equal(entries).cast(x.tensor.dtype))


@operator("Hardmax", 1, 11)
def hardmax_of_matrix(x: Value, *, axis: int = 1) -> Value:
    """Before version 13: over all dims from ``axis`` on together."""
    return reshaped(hardmax(flatten(x, axis=axis), axis=1), x.shape)


@operator("LpNormalization", 1, 22)
def lp_normalization(x: Value, *, axis: int = -1, p: int = 2) -> Value:
    """Each vector along an axis with length 1, of the norm with ``p`` 1 or 2; one of length 0 stays."""
    if p not in (1, 2):
        raise OnnxError("LpNormalization", f"p is {p}, and the standard has 1 and 2")
    lengths: AnyTensor = linalg.vector_norm(x.tensor, p, axis)
    return Value(x.tensor / lengths.mask_fill(lengths.equal(0.0), 1.0))


# Matrices


@operator("Det", 11, 22)
def det(x: Value) -> Value:
    """The determinant of each matrix: the product of the pivots, each the largest of its column that is left."""
    size = x.shape[-1]
    rest = x.tensor.reshape((prod(x.shape[:-2]), *x.shape[-2:]))
    result = Tensor.ones((rest.shape[0], 1, 1), rest.device, x.tensor.dtype)
    for left in range(size, 0, -1):
        place = rest.narrow(2, 0, 1).abs().argmax(1)
        row = rest.gather(1, place.expand((place.shape[0], 1, left)))
        is_row = counted(left, place).reshape((1, left, 1)).equal(place).expand(rest.shape)
        others = rest.mask_where(is_row, rest.narrow(1, 0, 1).expand(rest.shape)).narrow(1, 1, left - 1)
        pivot = row.narrow(2, 0, 1)
        result = result * pivot.mask_where(place.not_equal(0), pivot.neg())
        factors = others.narrow(2, 0, 1) / pivot.mask_fill(pivot.equal(0.0), 1.0)
        rest = (others - factors * row).narrow(2, 1, left - 1)
    return reshaped(Value(result), x.shape[:-2])


@operator("Einsum", 12, 28)
def einsum(*operands: Value, equation: str) -> Value:
    """Einstein's notation: what has the same letter is multiplied, and what the result has not is added up.

    The dims of three dots get letters of their own, and are broadcast. So does the one element of an operand of rank 0.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    free = [letter for letter in ascii_letters if letter not in equation]
    hidden = [one.rank - len(term) + 3 for one, term in zip(operands, terms, strict=True) if "..." in term]
    dots = "".join(free[: max([0, *hidden])])
    letters = [term.replace("...", dots) or free[-1] for term in terms]
    once = [letter for letter in sorted(set(left)) if left.count(letter) == 1 and letter.isalpha()]
    result = right.replace("...", dots) if arrow else dots + "".join(once)
    tensors = _broadcast([one.tensor for one in operands], letters, dots)
    return Value(Tensor.einsum(f"{','.join(letters)}->{result}", *tensors), not result)


def _broadcast(tensors: Sequence[AnyTensor], letters: Sequence[str], some: str) -> list[AnyTensor]:
    """The dims with some letters expanded to their greatest length."""
    pairs = [list(zip(term, one.shape, strict=True)) for term, one in zip(letters, tensors, strict=True)]
    longest = {letter: max(length for pair in pairs for name, length in pair if name == letter) for letter in some}
    return [
        one.expand([longest.get(letter, length) for letter, length in pair])
        for one, pair in zip(tensors, pairs, strict=True)
    ]
