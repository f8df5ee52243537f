"""NdArray: NumPy on the CPU. The reference that every other backend is held to."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tinyburn.base.distribution import AnyDistribution
from tinyburn.base.dtype import DType
from tinyburn.base.shape import Shape, broadcast_shape, num_elements

from . import indexing
from .array_namespace import (
    IGNORED,
    NUMPY_DTYPES,
    STANDARD,
    ArrayNamespace,
    float_bounds,
    ignore_errors,
    quiet,
    restore_errors,
    rowmajor,
)
from .blocks import apart, few_zeros
from .device import Device, MemoryUsage, SeededDevice, check_only_device
from .folds import BLOCK, accumulate, add_up, extreme
from .fused import FUSED, is_finite
from .interface import Dims, Number, Operand, window_places, windowed, without_windows
from .operations import OPERATIONS, broadcast, called, shortcut
from .random import draw_into
from .room import NO_ROOM, explain, fitting

NumPyArray = np.ndarray[Any, Any]

_FLOAT16, _FLOAT32 = NUMPY_DTYPES[DType.FLOAT16], NUMPY_DTYPES[DType.FLOAT32]


class CpuDevice(SeededDevice["NdArray"]):
    """The memory of this computer."""

    @property
    def description(self) -> str:
        return f"NumPy {np.__version__}"

    def memory_usage(self) -> MemoryUsage:
        """NumPy neither pads nor keeps a pool; who holds how much, only a `Traced` backend counts."""
        return MemoryUsage(bytes_padding=0)


def _bounded(ufunc: Any, is_lower: bool) -> Any:
    """The larger or the smaller of two. NumPy's own way takes four times as long as `np.clip` where one is a number."""

    def compute(a: Operand, b: Operand) -> NumPyArray:
        array, number = (a, b) if type(a) is np.ndarray else (b, a)
        result: NumPyArray
        if type(number) is np.ndarray or array.size < _MANY or array.dtype.kind != "f":
            result = ufunc(a, b)
        else:
            result = _clip(array, number, math.inf) if is_lower else _clip(array, -math.inf, number)
        return result

    return compute


@quiet
def _clip(a: NumPyArray, low: Number, high: Number) -> NumPyArray:
    """Each element moved into ``[low, high]``. For few elements, NumPy's way to its own clip is too long."""
    out = np.empty(a.shape, a.dtype)
    if a.size < _MANY:
        np.maximum(a, low, out=out)
        np.minimum(out, high, out=out)
    else:
        np.clip(a, low, high, out=out)
    return out


_MANY = 4096
"""From so many elements on, the time for a call of `np.clip` no longer matters."""


@quiet
def _whole_power(a: NumPyArray, exponent: int) -> NumPyArray:
    """By squares: after the first 1, each binary digit of the exponent is a square, and each 1 a product as well.

    A negative one starts from ``1 / a``: the power of a large number is inf where its inverse is not yet 0.
    """
    digits = bin(abs(exponent))[3:]
    if exponent < 0:
        out = np.divide(1, a, order="C")
        return np.multiply(out, out, out=out) if digits else out
    if not digits:
        return a.copy()
    out = np.multiply(a, a, order="C")
    for at, digit in enumerate(digits):
        if at:
            np.multiply(out, out, out=out)
        if digit == "1":
            np.multiply(out, a, out=out)
    return out


_WHOLE_POWERS = (-2, -1, 1, 3, 4, 5, 6)
"""As a product each of these is within 4 units in the last place."""


class NdArray(ArrayNamespace):
    """A primitive is a NumPy array that nobody else can reach, so nobody can change it.

    Where NumPy has a faster way than the standard's, or one without a second buffer, this class goes that way.
    """

    xp: ClassVar[Any] = np

    @classmethod
    def _elementwise(cls, name: str) -> Any:
        if name in ("maximum", "minimum"):
            return _bounded(rowmajor(getattr(np, name)), name == "maximum")
        return FUSED[name] if name in FUSED else rowmajor(getattr(np, STANDARD.get(name, name)))

    @classmethod
    def _open(cls, which: str | int | None, float_dtype: DType, int_dtype: DType) -> Any:
        check_only_device("NdArray", "cpu", which)
        return CpuDevice(cls, "cpu", float_dtype, int_dtype)

    @classmethod
    def devices(cls) -> list[str]:
        return ["cpu"]

    # In and out

    @staticmethod
    @fitting
    def from_numpy(values: NumPyArray, device: Device[Any]) -> NumPyArray:
        return np.array(values, order="C")

    @staticmethod
    @fitting
    def to_numpy(a: NumPyArray) -> NumPyArray:
        return np.array(a, order="C")

    @staticmethod
    @quiet
    def full(shape: Shape, value: Number, dtype: DType, device: Device[Any]) -> NumPyArray:
        out = np.empty(shape, NUMPY_DTYPES[dtype])
        out.fill(value)
        return out

    @staticmethod
    @quiet
    def random(shape: Shape, distribution: AnyDistribution, dtype: DType, device: Any) -> NumPyArray:
        out = np.empty(shape, NUMPY_DTYPES[dtype])
        draw_into(out, distribution, device.next_draw())
        return out

    # Two operands

    @staticmethod
    @quiet
    def multiply_no_nan(a: NumPyArray, b: Operand) -> NumPyArray:
        return _zero_where(np.multiply(a, b, order="C"), a)

    @staticmethod
    @quiet
    def scaled_mul(a: NumPyArray, b: NumPyArray, scale: Number) -> NumPyArray:
        out = np.multiply(a, b, order="C")
        out *= scale
        return _zero_where(out, a)

    @staticmethod
    @quiet
    def extreme_backward(a: NumPyArray, b: NumPyArray, out: NumPyArray) -> NumPyArray:
        """The mask is written where the result will be, as whole numbers: times 1 the bits of ``a`` are ``a``, and
        times 0 they are 0.0. As a mask of its own it would be a second buffer."""
        if b.flags.c_contiguous or not (is_finite(a) and is_finite(out)):
            return FUSED["extreme_backward"](a, b, out)
        result = np.empty(broadcast(a, b, out), a.dtype)
        bits = f"int{8 * a.dtype.itemsize}"
        whole = result.view(bits)
        np.equal(b, out, whole)
        np.multiply(whole, a.view(bits), whole)
        return result

    @staticmethod
    @quiet
    def add_scaled(a: NumPyArray, b: NumPyArray, scale: Number) -> NumPyArray:
        if a.shape != b.shape or a.dtype.itemsize == 2:
            return FUSED["add_scaled"](a, b, scale)
        out: NumPyArray = np.multiply(b, scale, order="C")
        out += a
        return out

    @staticmethod
    @quiet
    def squared_difference(a: NumPyArray, b: NumPyArray) -> NumPyArray:
        if a.shape == b.shape or a.dtype.itemsize == 2:
            return FUSED["squared_difference"](a, b)
        out: NumPyArray = np.subtract(a, b, order="C")
        return np.multiply(out, out, out)

    @classmethod
    def powf_scalar(cls, a: NumPyArray, exponent: Number) -> NumPyArray:
        """A small whole power is a product: the general one takes a hundred times as long for a negative number."""
        if exponent == 2:
            power: NumPyArray = cls.mul(a, a)
        elif exponent in _WHOLE_POWERS and (exponent > 0 or a.dtype.kind == "f"):
            power = _whole_power(a, int(exponent))
        else:
            power = cls.sqrt(a) if exponent == 0.5 and a.dtype.kind == "f" else cls.powf(a, exponent)
        return power

    @staticmethod
    @quiet
    def linear(a: NumPyArray, weight: NumPyArray, bias: NumPyArray) -> NumPyArray:
        """One product over all rows, and the bias added to it where it lies."""
        out: NumPyArray
        if not (a.flags.c_contiguous and weight.flags.forc):
            out = np.matmul(a, weight)
        else:
            out = a.dot(weight) if a.ndim == 2 else _rows_by_matrix(a, weight)
        np.add(out, bias, out)
        return out

    @staticmethod
    @quiet
    def matmul(a: NumPyArray, b: NumPyArray) -> NumPyArray:
        # For rank 2 `dot` is the same product in half the time. But it copies what BLAS cannot read.
        if a.ndim == 2 and a.flags.forc and b.flags.forc:
            product: NumPyArray = a.dot(b)
        elif a.flags.c_contiguous and b.flags.forc and num_elements(b.shape[:-2]) == 1:
            product = _rows_by_matrix(a, b.reshape(b.shape[-2:]))
        else:
            product = np.matmul(a, b)
        return product

    @classmethod
    @shortcut
    def linear_input(cls, a: NumPyArray, weight: NumPyArray) -> NumPyArray:
        if a.ndim == 2 and a.flags.forc and weight.flags.forc:
            return _dot(a, weight.T)
        product: NumPyArray = super().linear_input(a, weight)
        return product

    @classmethod
    @shortcut
    def linear_weight(cls, a: NumPyArray, b: NumPyArray) -> NumPyArray:
        if a.ndim == 2 and a.flags.forc and b.flags.forc:
            return _dot(b.T, a)
        product: NumPyArray = super().linear_weight(a, b)
        return product

    @classmethod
    @shortcut
    def linear_bias(cls, a: NumPyArray) -> NumPyArray:
        """As `add_up` adds few rows, but that it has to find out nothing."""
        if a.ndim == 2 and a.dtype.itemsize > 2 and a.flags.c_contiguous and a.shape[0] <= BLOCK:
            return _sum(a, 0)
        total: NumPyArray = super().linear_bias(a)
        return total

    @staticmethod
    @quiet
    def mask_where(a: NumPyArray, mask: NumPyArray, b: Operand) -> NumPyArray:
        shape = np.broadcast_shapes(a.shape, mask.shape, getattr(b, "shape", ()))
        out = np.empty(shape, a.dtype)
        out[...] = a
        np.copyto(out, b, where=mask)
        return out

    # One operand

    @staticmethod
    @shortcut
    def relu(a: NumPyArray) -> NumPyArray:
        zeros = few_zeros(a)
        if zeros is None or not a.flags.c_contiguous:
            return FUSED["relu"](a)
        token = ignore_errors(IGNORED)
        try:
            small: NumPyArray = np.maximum(a, zeros)
            return small
        finally:
            restore_errors(token)

    clamp: Any = staticmethod(called("NdArray.clamp", _clip))

    @staticmethod
    @quiet
    def leaky_relu(a: NumPyArray, slope: Number) -> NumPyArray:
        if not 0 < slope <= 1:
            return FUSED["leaky_relu"](a, slope)
        out: NumPyArray = np.multiply(a, slope, order="C")
        np.maximum(a, out, out=out)
        return out

    fmod: Any = staticmethod(called("NdArray.fmod", rowmajor(np.fmod)))
    round: Any = staticmethod(called("NdArray.round", rowmajor(np.rint)))  # `np.round` is not a ufunc, and far slower

    @staticmethod
    @quiet
    def _convert(a: NumPyArray, dtype: Any) -> NumPyArray:
        out = a.astype(dtype, order="C")
        if a.dtype.kind == "f" and dtype.kind in "iu" and a.size:
            below, above = float_bounds(dtype)
            if not (a.min() > below and a.max() < above):  # NaN is neither
                np.copyto(out, np.iinfo(dtype).max, where=a >= above)
                np.copyto(out, np.iinfo(dtype).min, where=a <= below)
                np.copyto(out, 0, where=np.isnan(a))
        return out

    # Reductions

    max_dims: Any = staticmethod(called("NdArray.max_dims", quiet(partial(extreme, np.maximum))))
    min_dims: Any = staticmethod(called("NdArray.min_dims", quiet(partial(extreme, np.minimum))))

    @staticmethod
    @quiet
    def sum_dims(a: NumPyArray, dims: Dims) -> NumPyArray:
        total = add_up(a, dims)
        return total if total.dtype is a.dtype else total.astype(a.dtype)

    @staticmethod
    @quiet
    def mean_dims(a: NumPyArray, dims: Dims) -> NumPyArray:
        total = add_up(a, dims)
        np.divide(total, a.size // max(total.size, 1), total)
        return total if total.dtype is a.dtype else total.astype(a.dtype)

    @staticmethod
    def _order(a: NumPyArray, dim: int) -> NumPyArray:
        return a.argsort(dim, "stable")

    # Scans

    cumsum: Any = staticmethod(called("NdArray.cumsum", quiet(partial(accumulate, np.add))))
    cumprod: Any = staticmethod(called("NdArray.cumprod", quiet(partial(accumulate, np.multiply))))
    cummax: Any = staticmethod(called("NdArray.cummax", quiet(partial(accumulate, np.maximum))))
    cummin: Any = staticmethod(called("NdArray.cummin", quiet(partial(accumulate, np.minimum))))
    logcumsumexp: Any = staticmethod(called("NdArray.logcumsumexp", quiet(partial(accumulate, np.logaddexp))))

    # Movement. As methods of an array these take half the time.

    @staticmethod
    def reshape(a: NumPyArray, shape: Shape) -> NumPyArray:
        return a.reshape(shape) if a.flags.c_contiguous else _copied(a, shape)

    @staticmethod
    def permute(a: NumPyArray, axes: Dims) -> NumPyArray:
        return a.transpose(axes)

    @staticmethod
    def expand(a: NumPyArray, shape: Shape) -> NumPyArray:
        try:
            if a.size == 1:  # the same as below, in a tenth of the time
                return np.ndarray(shape, a.dtype, a, strides=(0,) * len(shape))
            return a if a.shape == shape else np.broadcast_to(a, shape)  # which can only be read
        except NO_ROOM as error:
            explain(error, "expand", (a, shape))
            raise

    @staticmethod
    @fitting
    def unfold(a: NumPyArray, dim: int, size: int, step: int, dilation: int) -> NumPyArray:
        # NumPy's own `as_strided` takes three times as long, and loses the array that owns the memory.
        owner, offset = a, 0
        if not a.flags.c_contiguous:
            owner = a if a.base is None else a.base
            offset = a.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        stride = a.strides[dim]
        strides = (*a.strides[:dim], stride * step, *a.strides[dim + 1 :], stride * dilation)
        return np.ndarray(windowed(a, dim, size, step, dilation), a.dtype, owner, offset, strides)

    @staticmethod
    @quiet
    def add_windows(a: NumPyArray, dim: int, length: int, step: int, dilation: int) -> NumPyArray:
        out = np.zeros(without_windows(a, dim, length), a.dtype)
        for at in range(a.shape[-1]):
            places = window_places(out.shape, dim, a.shape[dim], at * dilation, step)
            part = out[places]
            np.add(part, a[..., at], part)
        return out

    gather: Any = staticmethod(called("NdArray.gather", fitting(indexing.gather)))
    scatter: Any = staticmethod(called("NdArray.scatter", indexing.scatter))
    select: Any = staticmethod(called("NdArray.select", fitting(indexing.select)))
    select_assign: Any = staticmethod(called("NdArray.select_assign", indexing.select_assign))

    # About primitives

    @classmethod
    def into(cls, target: NumPyArray, name: str, *arguments: Any) -> NumPyArray:
        compute = _INTO.get(name)
        if compute is not None and target.flags.c_contiguous and target.size:
            shape, dtype, are_owners, is_covered = target.shape, target.dtype, target.base is None, False
            for x in arguments:
                if x is target:
                    is_covered = True
                elif type(x) is np.ndarray:
                    if x.shape == shape:
                        is_covered = True
                    elif broadcast_shape(x.shape, shape) != shape:
                        break
                    if x.dtype is not dtype:
                        break
                    are_owners = are_owners and x.base is None
            else:  # the usual case, in a fraction of the time; two arrays that own their memory have none in common
                if is_covered:
                    return compute(*(arguments if are_owners else apart(arguments, target)), out=target)
        result: NumPyArray = super().into(target, name, *arguments)
        return result

    @classmethod
    def _write(cls, target: NumPyArray, name: str, *arguments: Any) -> NumPyArray:
        if name == "slice_assign":
            a, parts, b = apart(arguments, target)
            assigned: NumPyArray = cls._assign(a, parts, b, target)
            return assigned
        return _INTO[name](*apart(arguments, target), out=target)

    @staticmethod
    def shares_buffer(a: NumPyArray, b: NumPyArray) -> bool:
        return (a if a.base is None else a.base) is (b if b.base is None else b.base)

    @staticmethod
    def index_bounds(a: NumPyArray) -> tuple[int, int] | None:
        return (int(a.min()), int(a.max())) if a.size else None


for _name in FUSED:
    if OPERATIONS[_name].fused and _name not in vars(NdArray):
        setattr(NdArray, _name, staticmethod(FUSED[_name]))


def _written(ufunc: np.ufunc) -> Callable[..., NumPyArray]:
    """A ufunc that writes into ``out``."""

    def compute(*operands: Operand, out: NumPyArray) -> NumPyArray:
        token = ignore_errors(IGNORED)
        try:
            result: NumPyArray = ufunc(*operands, out)
            return result
        finally:
            restore_errors(token)

    return compute


def _multiply_no_nan_into(a: Operand, b: Operand, out: NumPyArray) -> NumPyArray:
    """A column or a row times a large array is quicker whole than in blocks, for which it would be copied."""
    if out.size < _MANY or type(a) is not type(b) or a.shape == b.shape or out.dtype.itemsize == 2:
        return FUSED["multiply_no_nan"](a, b, out=out)
    token = ignore_errors(IGNORED)
    try:
        if is_finite(b):
            return np.multiply(a, b, out)
    finally:
        restore_errors(token)
    return FUSED["multiply_no_nan"](a, b, out=out)


def _add_scaled(a: NumPyArray, b: NumPyArray, scale: Number, out: NumPyArray) -> NumPyArray:
    """In two steps where the first one overwrites no part of ``a``, and there are few elements."""
    is_apart = a is not out and a.base is None and out.base is None  # two owners of memory have none in common
    if not is_apart or out.size > _MANY or out.dtype is _FLOAT16:
        return FUSED["add_scaled"](a, b, scale, out=out)
    token = ignore_errors(IGNORED)
    try:
        np.multiply(b, scale, out)
        return np.add(a, out, out)
    finally:
        restore_errors(token)


_INTO: dict[str, Callable[..., NumPyArray]] = {
    **{name: _written(getattr(np, STANDARD.get(name, name))) for name in ("add", "sub", "mul", "div", "exp")},
    **{name: compute for name, compute in FUSED.items() if OPERATIONS[name].in_place},
    "multiply_no_nan": _multiply_no_nan_into,
    "add_scaled": _add_scaled,
}
"""The operations that write into an array of the shape and dtype of their result, called ``out``."""


def _copied(a: NumPyArray, shape: Shape) -> NumPyArray:
    """The values in a new row-major array of another shape."""
    try:
        out = np.empty(shape, a.dtype)
    except NO_ROOM as error:
        explain(error, "reshape", (a, shape))
        raise
    _copy_into(out.reshape(a.shape), a)
    return out


def _copy_into(out: NumPyArray, a: NumPyArray) -> None:
    """NumPy goes along the last dim of a row-major result. Where that is short, a pass for each of its elements is
    faster."""
    if a.ndim > 1 and a.shape[-1] <= _SHORT and a.strides[-1] != a.itemsize:
        for at in range(a.shape[-1]):
            out[..., at] = a[..., at]
    else:
        out[...] = a


_SHORT = 6
"""Up to here a pass for each takes at most about half of the time; with 16 of them it takes longer."""


def _dot(a: NumPyArray, b: NumPyArray) -> NumPyArray:
    """The product of two matrices that BLAS can read."""
    token = ignore_errors(IGNORED)
    try:
        product: NumPyArray = a.dot(b)
        return product
    finally:
        restore_errors(token)


def _sum(a: NumPyArray, dim: int) -> NumPyArray:
    """The sum along a dim, which does not stay."""
    token = ignore_errors(IGNORED)
    try:
        total: NumPyArray = np.add.reduce(a, dim, a.dtype)
        return total
    finally:
        restore_errors(token)


def _rows_by_matrix(a: NumPyArray, matrix: NumPyArray) -> NumPyArray:
    """A batch by one matrix. The rows of all entries are those of one product, where NumPy computes one for each."""
    out = np.empty((*a.shape[:-1], matrix.shape[1]), a.dtype)
    rows = num_elements(a.shape[:-1])
    a.reshape(rows, a.shape[-1]).dot(matrix, out.reshape(rows, out.shape[-1]))
    return out


def _zero_where(product: NumPyArray, factor: NumPyArray) -> NumPyArray:
    """A product that is 0 wherever a factor is, also against inf or NaN. One fast pass tells if there is a NaN."""
    flat = product.reshape(-1)
    squares = flat.dot(flat)
    if squares != squares:  # only NaN is not itself
        np.copyto(product, 0, where=np.isnan(product) & (factor == 0))
    return product
