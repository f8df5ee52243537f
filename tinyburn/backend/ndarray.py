"""NdArray: NumPy on the CPU. The reference that every other backend is held to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tinyburn.base.distribution import AnyDistribution
from tinyburn.base.dtype import DType
from tinyburn.base.shape import Shape, num_elements, reduced_count, reduced_shape, row_major_strides

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
from .blocks import apart
from .device import Device, MemoryUsage, SeededDevice, check_only_device
from .fused import FUSED
from .interface import Dims, Number, Operand, picked, window_places, windowed, without_windows
from .operations import OPERATIONS, called
from .random import draw_into

NumPyArray = np.ndarray[Any, Any]

_FLOAT16, _FLOAT32 = NUMPY_DTYPES[DType.FLOAT16], NUMPY_DTYPES[DType.FLOAT32]


def _fold(ufunc: np.ufunc, a: NumPyArray, dims: Dims, dtype: np.dtype[Any] | None = None) -> NumPyArray:
    """Folds a ufunc along some dims, which stay at size 1; in the dtype of the array unless given."""
    if a.ndim < 3 or a.flags.c_contiguous:
        row_major: NumPyArray = ufunc.reduce(a, axis=dims, dtype=dtype or a.dtype, keepdims=True)
        return row_major
    out = np.empty(reduced_shape(a.shape, dims), dtype or a.dtype)  # by itself NumPy would copy the operand's layout
    if 1 < reduced_count(a.shape, dims) <= _FEW_ENTRIES and out.dtype == a.dtype:
        return _fold_entries(ufunc, a, dims, out)
    ufunc.reduce(a, axis=dims, dtype=out.dtype, out=out, keepdims=True)
    return out


def _fold_entries(ufunc: np.ufunc, a: NumPyArray, dims: Dims, out: NumPyArray) -> NumPyArray:
    """The same, one entry of the dims after another: NumPy would go along the dims that lie innermost in memory, and
    over the windows of an image these are a few elements long."""
    others = tuple([dim for dim in range(a.ndim) if dim not in dims])
    outer = a.transpose((*dims, *others))
    entries = [outer[place] for place in np.ndindex(outer.shape[: len(dims)])]
    whole = out
    out = out.reshape(outer.shape[len(dims) :])
    ufunc(entries[0], entries[1], out=out)
    for entry in entries[2:]:
        ufunc(out, entry, out=out)
    return whole


_FEW_ENTRIES = 16
"""With more of them, to pass over the result so often takes longer."""


def _accumulate(ufunc: np.ufunc, a: NumPyArray, dim: int) -> NumPyArray:
    """What a ufunc makes of all elements up to each one; of float16 in float32, as a sum."""
    is_half = a.dtype.itemsize == 2 and a.dtype.kind == "f"
    out = np.empty(a.shape, _FLOAT32 if is_half else a.dtype)
    ufunc.accumulate(a, axis=dim, dtype=out.dtype, out=out)
    return out.astype(a.dtype) if is_half else out


def _add_up(a: NumPyArray, dims: Dims) -> NumPyArray:
    """The sum over some dims, which stay at size 1; of float16 in float32, so that it neither overflows nor stalls.

    To add a million numbers one by one rounds a million times, each time by more. NumPy adds in pairs along the dim
    that lies innermost in memory, and one by one along any other. So there we add blocks, then what they gave, and
    so on: the partial sums take 1/32 of the operand's bytes for a moment.
    """
    dtype = _FLOAT32 if a.dtype == _FLOAT16 else a.dtype
    is_precise = a.flags.forc if len(dims) == a.ndim else len(dims) == 1 and a.shape[dims[0]] <= _BLOCK
    if a.size > _FEW and not is_precise:
        inner = _trailing(dims, a.ndim) if a.flags.c_contiguous else ()
        if 0 < len(inner) < len(dims):
            a = _fold(np.add, a, inner, dtype)  # in pairs, so that little is left for the other dims
        while reduced_count(a.shape, dims) > _BLOCK and not _in_pairs(a, dims):
            a = _add_blocks(a, max(dims, key=a.shape.__getitem__), dtype)
    return _fold(np.add, a, dims, dtype)


def _trailing(dims: Dims, rank: int) -> Dims:
    """Those of some dims that are the last ones without a gap."""
    first = rank
    while first - 1 in dims:
        first -= 1
    return tuple(range(first, rank))


def _in_pairs(a: NumPyArray, dims: Dims) -> bool:
    """Whether some dims lie innermost in memory without gaps, the last ones or, in column-major order, the first."""
    flags, outer = a.flags, a.ndim - len(dims)
    return (flags.c_contiguous and min(dims) >= outer) or (flags.f_contiguous and max(dims) < len(dims))


def _add_blocks(a: NumPyArray, dim: int, dtype: np.dtype[Any]) -> NumPyArray:
    """The sums of the blocks along one dim; the last one may be short."""
    shape, (blocks, rest) = a.shape, divmod(a.shape[dim], _BLOCK)
    before: tuple[slice, ...] = (slice(None),) * dim
    out = np.empty((*shape[:dim], blocks + bool(rest), *shape[dim + 1 :]), dtype)
    whole = a[(*before, slice(blocks * _BLOCK))].reshape(*shape[:dim], blocks, _BLOCK, *shape[dim + 1 :])
    np.add.reduce(whole, axis=dim + 1, dtype=dtype, out=out[(*before, slice(blocks))])
    if rest:
        np.add.reduce(a[(*before, slice(blocks * _BLOCK, None))], axis=dim, dtype=dtype, out=out[(*before, blocks)])
    return out


_BLOCK = 32
_FEW = 256
"""So many may be added one by one: the error stays below a millionth, and it is faster."""


class CpuDevice(SeededDevice["NdArray"]):
    """The memory of this computer."""

    def __init__(self, float_dtype: DType, int_dtype: DType) -> None:
        super().__init__(NdArray, "cpu", float_dtype, int_dtype)

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
        return CpuDevice(float_dtype, int_dtype)

    @classmethod
    def devices(cls) -> list[str]:
        return ["cpu"]

    # In and out

    @staticmethod
    def from_numpy(values: NumPyArray, device: Device[Any]) -> NumPyArray:
        return np.array(values, order="C")

    @staticmethod
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
    def add_scaled(a: NumPyArray, b: NumPyArray, scale: Number) -> NumPyArray:
        if a.shape != b.shape or a.dtype.itemsize == 2:
            return FUSED["add_scaled"](a, b, scale)
        out: NumPyArray = np.multiply(b, scale, order="C")
        out += a
        return out

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

    @staticmethod
    @quiet
    def mask_where(a: NumPyArray, mask: NumPyArray, b: Operand) -> NumPyArray:
        shape = np.broadcast_shapes(a.shape, mask.shape, getattr(b, "shape", ()))
        out = np.empty(shape, a.dtype)
        out[...] = a
        np.copyto(out, b, where=mask)
        return out

    # One operand

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

    max_dims: Any = staticmethod(called("NdArray.max_dims", quiet(partial(_fold, np.maximum))))
    min_dims: Any = staticmethod(called("NdArray.min_dims", quiet(partial(_fold, np.minimum))))

    @staticmethod
    @quiet
    def sum_dims(a: NumPyArray, dims: Dims) -> NumPyArray:
        total = _add_up(a, dims)
        return total if total.dtype is a.dtype else total.astype(a.dtype)

    @staticmethod
    @quiet
    def mean_dims(a: NumPyArray, dims: Dims) -> NumPyArray:
        total = _add_up(a, dims)
        np.divide(total, a.size // max(total.size, 1), total)
        return total if total.dtype is a.dtype else total.astype(a.dtype)

    @staticmethod
    def _order(a: NumPyArray, dim: int) -> NumPyArray:
        return a.argsort(dim, "stable")

    # Scans

    cumsum: Any = staticmethod(called("NdArray.cumsum", quiet(partial(_accumulate, np.add))))
    cumprod: Any = staticmethod(called("NdArray.cumprod", quiet(partial(_accumulate, np.multiply))))
    cummax: Any = staticmethod(called("NdArray.cummax", quiet(partial(_accumulate, np.maximum))))
    cummin: Any = staticmethod(called("NdArray.cummin", quiet(partial(_accumulate, np.minimum))))
    logcumsumexp: Any = staticmethod(called("NdArray.logcumsumexp", quiet(partial(_accumulate, np.logaddexp))))

    # Movement. As methods of an array these take half the time.

    @staticmethod
    def reshape(a: NumPyArray, shape: Shape) -> NumPyArray:
        if a.flags.c_contiguous:
            return a.reshape(shape)
        out = np.empty(shape, a.dtype)
        out.reshape(a.shape)[...] = a
        return out

    @staticmethod
    def permute(a: NumPyArray, axes: Dims) -> NumPyArray:
        return a.transpose(axes)

    @staticmethod
    def expand(a: NumPyArray, shape: Shape) -> NumPyArray:
        if a.size == 1:  # the same as below, in a tenth of the time
            return np.ndarray(shape, a.dtype, a, strides=(0,) * len(shape))
        return a if a.shape == shape else np.broadcast_to(a, shape)  # which can only be read

    @staticmethod
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

    @staticmethod
    def gather(a: NumPyArray, dim: int, indices: NumPyArray) -> NumPyArray:
        out = np.empty(indices.shape, a.dtype)
        is_row_major = a.flags.c_contiguous
        if is_row_major and dim == a.ndim - 1 and _LONG_RUN <= indices.shape[dim] <= _PIECE:
            _take_lines(a, indices, out)
            return out
        for piece in _pieces(indices.shape):
            if is_row_major:
                a.take(_places(a.shape, dim, indices, piece), None, out[piece], "wrap")
            else:
                part = a[(*piece[:dim], slice(None), *piece[dim + 1 :])]
                out[piece] = part[_along(dim, indices[piece])]
        return out

    @staticmethod
    @quiet
    def scatter(a: NumPyArray, dim: int, indices: NumPyArray, b: NumPyArray) -> NumPyArray:
        out = a.copy()
        flat = out.reshape(-1)
        for piece in _pieces(indices.shape):
            # `flat[places] += b` would count a repeated index once. For arrays of rank 1 `at` is many times faster.
            np.add.at(flat, _places(a.shape, dim, indices, piece).reshape(-1), b[piece].reshape(-1))
        return out

    @staticmethod
    def select(a: NumPyArray, dim: int, indices: NumPyArray) -> NumPyArray:
        if a.flags.c_contiguous:
            taken: NumPyArray = a.take(indices, axis=dim)
            return taken
        out = np.empty(picked(a, dim, indices), a.dtype)  # `take` would copy the whole operand before
        for piece in _pieces(out.shape):
            index: tuple[Any, ...] = (*piece[:dim], indices[piece[dim]], *piece[dim + 1 :])
            out[piece] = a[index]
        return out

    @staticmethod
    @quiet
    def select_assign(a: NumPyArray, dim: int, indices: NumPyArray, b: NumPyArray) -> NumPyArray:
        if num_elements(a.shape[dim + 1 :]) < _LONG_RUN:
            every = _lying_along(dim, a.ndim, indices)  # the same indices for each element of an entry
            added: NumPyArray = NdArray.scatter(a, dim, np.broadcast_to(every, b.shape), b)
            return added
        out = a.copy()
        rows = np.moveaxis(out, dim, 0)
        for index, values in zip(indices.tolist(), np.moveaxis(b, dim, 0), strict=True):
            row = rows[index]
            np.add(row, values, row)
        return out

    # About primitives

    @classmethod
    def into(cls, target: NumPyArray, name: str, *arguments: Any) -> NumPyArray:
        if name in _INTO and target.flags.c_contiguous and target.size:
            shape, dtype, are_owners = target.shape, target.dtype, target.base is None
            for x in arguments:
                if type(x) is np.ndarray:
                    if x.shape != shape or x.dtype is not dtype:
                        break
                    are_owners = are_owners and x.base is None
            else:  # the usual case, in a fraction of the time; two arrays that own their memory have none in common
                return _INTO[name](*(arguments if are_owners else apart(arguments, target)), out=target)
        result: NumPyArray = super().into(target, name, *arguments)
        return result

    @classmethod
    def _write(cls, target: NumPyArray, name: str, *arguments: Any) -> NumPyArray:
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


def _add(a: Operand, b: Operand, out: NumPyArray) -> NumPyArray:
    token = ignore_errors(IGNORED)
    try:
        return np.add(a, b, out)
    finally:
        restore_errors(token)


_INTO: dict[str, Callable[..., NumPyArray]] = {
    "add": _add,
    **{name: compute for name, compute in FUSED.items() if OPERATIONS[name].in_place},
}
"""The operations that write into an array of the shape and dtype of their result, called ``out``."""


# Indices. NumPy's own way is an index array for each dim, and a slow walk along all of them for every element. With the
# place of each element in the flattened array it is two to four times as fast. All places at once would take more
# memory than the result, so they are found for a piece of the indices at a time, which the processor's cache holds
# too. The event log does not see a piece: its size has a bound, as that of the buffers that NumPy itself works with.

_PIECE = 16_384
"""Indices of a piece: their places take 128 KiB."""

_LONG_RUN = 512
"""From so many elements side by side on, one call for them all is faster than finding the place of each."""


def _pieces(shape: Shape) -> Iterator[tuple[slice, ...]]:
    """Cuts a shape into parts of at most `_PIECE` elements, in row-major order."""
    if num_elements(shape) <= _PIECE:
        yield tuple([slice(0, size) for size in shape])
        return
    step = max(_PIECE // num_elements(shape[1:]), 1)
    for start in range(0, shape[0], step):
        for rest in _pieces(shape[1:]):
            yield (slice(start, min(start + step, shape[0])), *rest)


def _places(shape: Shape, dim: int, indices: NumPyArray, piece: tuple[slice, ...]) -> NumPyArray:
    """Where a piece of the indices reads in a flattened row-major array of a shape."""
    steps = row_major_strides(shape)
    places, new = indices[piece], None
    if steps[dim] != 1:
        places = new = np.multiply(places, steps[dim], dtype=np.intp)
    for axis, (part, step) in enumerate(zip(piece, steps, strict=True)):
        if axis != dim:
            before = _lying_along(axis, len(shape), np.arange(part.start * step, part.stop * step, step))
            places = new = np.add(places, before, new, dtype=np.intp)
    return places


def _take_lines(a: NumPyArray, indices: NumPyArray, out: NumPyArray) -> None:
    """Reads along the last dim, one line after another."""
    if a.ndim == 1:  # "wrap": the tensor has checked, and NumPy's own check would take a buffer
        a.take(indices, None, out, "wrap")
        return
    for parts in zip(a, indices, out, strict=False):
        _take_lines(*parts)


def _along(dim: int, indices: NumPyArray) -> tuple[Any, ...]:
    """NumPy's index for reading ``indices`` along one dim, and every other dim at its own position."""
    return tuple(
        indices if axis == dim else _lying_along(axis, indices.ndim, np.arange(size))
        for axis, size in enumerate(indices.shape)
    )


def _lying_along(dim: int, rank: int, values: NumPyArray) -> NumPyArray:
    """A list as an array of some rank, of size 1 in all dims but one."""
    return values.reshape((1,) * dim + (-1,) + (1,) * (rank - dim - 1))


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
