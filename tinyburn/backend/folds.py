"""Sums, largest and smallest of NumPy arrays: which way is fast, and does not drift.

To add a million numbers one by one rounds a million times, each time by more. So a sum adds blocks, then what they
gave, and so on: the partial sums take 1/32 of the operand's bytes for a moment.

NumPy folds a row-major array one line after another, and a short line is over before the processor has got going. Where
the lines are short, two other ways take a fraction of the time: a product with ones has their sums, from the library
for matrices, and the index of the largest has the largest.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np

from tinyburn.base.dtype import DType
from tinyburn.base.shape import reduced_count, reduced_shape

from .array_namespace import NUMPY_DTYPES
from .interface import Dims

NumPyArray: TypeAlias = np.ndarray[Any, Any]

_FLOAT16, _FLOAT32, _FLOAT64 = (NUMPY_DTYPES[dtype] for dtype in (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64))

BLOCK = 32
"""Rows that are added one by one, before their sums are added."""
_FEW = 256
"""So many may be added one by one: the error stays below a millionth, and it is faster."""
_MANY = 2048
"""From so many elements on, a quicker way is worth the time that Python takes to find it."""
_FEW_ENTRIES = 16
"""With more of them, to pass over the result so often takes longer."""


def fold(ufunc: np.ufunc, a: NumPyArray, dims: Dims, dtype: np.dtype[Any] | None = None) -> NumPyArray:
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


def accumulate(ufunc: np.ufunc, a: NumPyArray, dim: int) -> NumPyArray:
    """What a ufunc makes of all elements up to each one; of float16 in float32, as a sum."""
    is_half = a.dtype.itemsize == 2 and a.dtype.kind == "f"
    out = np.empty(a.shape, _FLOAT32 if is_half else a.dtype)
    ufunc.accumulate(a, axis=dim, dtype=out.dtype, out=out)
    return out.astype(a.dtype) if is_half else out


# Sums


def add_up(a: NumPyArray, dims: Dims) -> NumPyArray:
    """The sum over some dims, which stay at size 1; of float16 in float32, so that it neither overflows nor stalls.

    NumPy adds in pairs along the dim that lies innermost in memory, and one by one along any other: there it gets
    blocks.
    """
    dtype = _FLOAT32 if a.dtype == _FLOAT16 else a.dtype
    if a.size > _MANY and len(dims) < a.ndim and a.flags.c_contiguous and a.dtype in _ONES:
        total = _add_by_products(a, dims)
        if total is not None:
            return total
    is_precise = a.flags.forc if len(dims) == a.ndim else len(dims) == 1 and a.shape[dims[0]] <= BLOCK
    if a.size > _FEW and not is_precise:
        inner = _trailing(dims, a.ndim) if a.flags.c_contiguous else ()
        if 0 < len(inner) < len(dims):
            a = add_up(a, inner)  # so that little is left for the other dims
        while reduced_count(a.shape, dims) > BLOCK and not _in_pairs(a, dims):
            a = _add_blocks(a, max(dims, key=a.shape.__getitem__), dtype)
    return fold(np.add, a, dims, dtype)


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
    shape, (blocks, rest) = a.shape, divmod(a.shape[dim], BLOCK)
    before: tuple[slice, ...] = (slice(None),) * dim
    out = np.empty((*shape[:dim], blocks + bool(rest), *shape[dim + 1 :]), dtype)
    whole = a[(*before, slice(blocks * BLOCK))].reshape(*shape[:dim], blocks, BLOCK, *shape[dim + 1 :])
    np.add.reduce(whole, axis=dim + 1, dtype=dtype, out=out[(*before, slice(blocks))])
    if rest:
        np.add.reduce(a[(*before, slice(blocks * BLOCK, None))], axis=dim, dtype=dtype, out=out[(*before, blocks)])
    return out


# Sums as products with ones, of row-major arrays. OpenBLAS would hand a large product to several threads, which take
# longer to wake up than it takes. So the array goes in pieces, all of them in one call.

_ONES = {dtype: np.ones(_FEW, dtype) for dtype in (_FLOAT32, _FLOAT64)}
_PIECE = 8192
"""Elements of a piece, or lines of which the places are found at a time."""


def _add_by_products(a: NumPyArray, dims: Dims) -> NumPyArray | None:
    """The sum over the last dims, or the first ones; None where it has to go another way."""
    shape, count = reduced_shape(a.shape, dims), reduced_count(a.shape, dims)
    width = a.size // count
    if dims and (width == 1 or dims[0] == a.ndim - len(dims)):
        lines = _add_lines(a.reshape(width, count))
        return None if lines is None else lines.reshape(shape)
    if dims and dims[-1] == len(dims) - 1 and width * BLOCK <= _PIECE:
        return _add_rows(a.reshape(count, width)).reshape(shape)
    return None


def _add_lines(a: NumPyArray) -> NumPyArray | None:
    """The sum of each line of a matrix, in parts of one size; None if there is no such size."""
    lines, count = a.shape
    while size := _size_of_parts(count):
        a, count = _times_ones(a.reshape(lines * count // size, size)), count // size
        if count == 1:
            return a
    return np.add.reduce(a.reshape(lines, count), 1) if a.ndim == 1 else None


@cache
def _size_of_parts(count: int) -> int:
    """The largest part of a line that can be added one by one, and of which the line has a whole number; else 0."""
    if count <= _FEW:
        return count
    return next((size for size in range(_FEW, BLOCK - 1, -1) if count % size == 0), 0)


def _times_ones(a: NumPyArray) -> NumPyArray:
    """A matrix times ones: the sum of each line, which is short. The processor adds several of its parts at once."""
    lines, size = a.shape
    ones, step = _ONES[a.dtype][:size], _PIECE // size
    whole = lines - lines % step
    out = np.empty(lines, a.dtype)
    if whole:
        np.matmul(a[:whole].reshape(-1, step, size), ones, out[:whole].reshape(-1, step))
    if whole < lines:
        np.matmul(a[whole:], ones, out[whole:])
    return out


def _add_rows(a: NumPyArray) -> NumPyArray:
    """The sum of the rows of a matrix: ones times each block of rows, then what these gave."""
    count, width = a.shape
    ones = _ONES[a.dtype]
    while True:
        blocks, rest = divmod(count, BLOCK)
        out = np.empty((blocks + bool(rest), width), a.dtype)
        if blocks:
            np.matmul(ones[:BLOCK], a[: blocks * BLOCK].reshape(blocks, BLOCK, width), out[:blocks])
        if rest:
            np.matmul(ones[:rest], a[blocks * BLOCK :], out[blocks])
        if len(out) == 1:
            return out
        a, count = out, len(out)


# The largest and the smallest


def extreme(ufunc: np.ufunc, a: NumPyArray, dims: Dims) -> NumPyArray:
    """The largest (`np.maximum`) or the smallest (`np.minimum`) over some dims, which stay at size 1."""
    is_usual = a.size > _MANY and a.flags.c_contiguous and a.dtype in _ONES
    if not (is_usual and dims and dims[0] == a.ndim - len(dims)):
        return fold(ufunc, a, dims)
    out = np.empty(reduced_shape(a.shape, dims), a.dtype)
    lines, found = a.reshape(out.size, -1), out.reshape(-1)
    for start in range(0, out.size, _PIECE):
        _pick_extreme(ufunc, lines[start : start + _PIECE], found[start : start + _PIECE])
    return out


def _pick_extreme(ufunc: np.ufunc, lines: NumPyArray, out: NumPyArray) -> None:
    """That of each line by its index; the index of a NaN, if there is one."""
    places = lines.argmax(1) if ufunc is np.maximum else lines.argmin(1)
    places += np.arange(0, lines.size, lines.shape[1])
    lines.reshape(-1).take(places, None, out, "wrap")
