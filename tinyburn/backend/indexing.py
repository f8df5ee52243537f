"""Gathering and scattering on NumPy: the places of the elements in memory, a piece of the indices at a time.

NumPy's own way is an index array for each dim, and a slow walk along all of them for every element. With the
place of each element in the flattened array it is two to four times as fast. All places at once would take more
memory than the result, so they are found for a piece of the indices at a time, which the processor's cache holds
too. The event log does not see a piece: its size has a bound, as that of the buffers that NumPy itself works with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from tinyburn.base.shape import Shape, num_elements, row_major_strides

from .array_namespace import quiet
from .interface import picked

NumPyArray: TypeAlias = np.ndarray[Any, Any]

_PIECE = 16_384
"""Indices of a piece: their places take 128 KiB."""

INDEX = np.dtype(np.intp)
"""A place in memory: 64 bits, and in a browser 32."""

_LONG_RUN = 512
"""From so many elements side by side on, one call for them all is faster than finding the place of each."""


def _as_places(indices: NumPyArray) -> NumPyArray:
    """Indices as NumPy counts places in memory. Where addresses have 32 bits, its `take` has no wider ones."""
    return indices if indices.dtype is INDEX else indices.astype(INDEX)


def gather(a: NumPyArray, dim: int, indices: NumPyArray) -> NumPyArray:
    """An entry for each index."""
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


@quiet
def scatter(a: NumPyArray, dim: int, indices: NumPyArray, b: NumPyArray) -> NumPyArray:
    """``b`` added where `gather` reads."""
    out = a.copy()
    flat = out.reshape(-1)
    for piece in _pieces(indices.shape):
        # `flat[places] += b` would count a repeated index once. For arrays of rank 1 `at` is many times faster.
        np.add.at(flat, _places(a.shape, dim, indices, piece).reshape(-1), b[piece].reshape(-1))
    return out


def select(a: NumPyArray, dim: int, indices: NumPyArray) -> NumPyArray:
    """Whole entries of one dim."""
    if a.flags.c_contiguous:
        taken: NumPyArray = a.take(_as_places(indices), axis=dim)
        return taken
    out = np.empty(picked(a, dim, indices), a.dtype)  # `take` would copy the whole operand before
    for piece in _pieces(out.shape):
        index: tuple[Any, ...] = (*piece[:dim], indices[piece[dim]], *piece[dim + 1 :])
        out[piece] = a[index]
    return out


@quiet
def select_assign(a: NumPyArray, dim: int, indices: NumPyArray, b: NumPyArray) -> NumPyArray:
    """``b`` added where `select` reads."""
    if num_elements(a.shape[dim + 1 :]) < _LONG_RUN:
        every = _lying_along(dim, a.ndim, indices)  # the same indices for each element of an entry
        added: NumPyArray = scatter(a, dim, np.broadcast_to(every, b.shape), b)
        return added
    out = a.copy()
    rows = np.moveaxis(out, dim, 0)
    for index, values in zip(indices.tolist(), np.moveaxis(b, dim, 0), strict=True):
        row = rows[index]
        np.add(row, values, row)
    return out


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
        places = new = np.multiply(places, steps[dim], dtype=INDEX)
    for axis, (part, step) in enumerate(zip(piece, steps, strict=True)):
        if axis != dim:
            before = _lying_along(axis, len(shape), np.arange(part.start * step, part.stop * step, step))
            places = new = np.add(places, before, new, dtype=INDEX)
    return _as_places(places)


def _take_lines(a: NumPyArray, indices: NumPyArray, out: NumPyArray) -> None:
    """Reads along the last dim, one line after another."""
    if a.ndim == 1:  # "wrap": the tensor has checked, and NumPy's own check would take a buffer
        a.take(_as_places(indices), None, out, "wrap")
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
