"""Operations that move elements, and that pick some of them by indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyburn.onnx.writing.lengths import Shape, is_free
from tinyburn.onnx.writing.writer import Edge, Writer, check_whole

from .table import export

LAST = -(2**63)
"""The end of a slice that walks to the front and takes the first element too."""


@export("reshape")
def reshape(g: Writer, a: Edge, shape: Shape) -> Edge:
    """A length that follows the batch is left to ONNX, if it is the only one."""
    if a.shape == shape:
        return a
    if 0 in shape:
        return g.node("Reshape", a, list(shape), allowzero=1)
    free = [at for at, length in enumerate(shape) if is_free(length)]
    if len(free) == 1:
        shape = (*shape[: free[0]], -1, *shape[free[0] + 1 :])
    return g.node("Reshape", a, list(shape))


@export("permute")
def permute(g: Writer, a: Edge, axes: tuple[int, ...]) -> Edge:
    """The dims in another order."""
    return a if axes == tuple(range(len(axes))) else g.node("Transpose", a, perm=list(axes))


@export("expand")
def expand(g: Writer, a: Edge, shape: Shape) -> Edge:
    """A dim that stays as it is has the length 1 in the file: it broadcasts."""
    wanted = [1 if new == old else new for new, old in zip(shape, a.shape, strict=True)]
    return a if a.shape == shape else g.node("Expand", a, wanted)


@export("flip")
def flip(g: Writer, a: Edge, dims: tuple[int, ...]) -> Edge:
    """A slice that walks to the front."""
    count = len(dims)
    return g.node("Slice", a, [-1] * count, [LAST] * count, list(dims), [-1] * count) if dims else a


@export("slice")
def part(g: Writer, a: Edge, parts: tuple[slice, ...]) -> Edge:
    """The dims that are not whole."""
    dims = [dim for dim, one in enumerate(parts) if not _is_whole(one, a.shape[dim])]
    if not dims:
        return a
    chosen = [parts[dim] for dim in dims]
    starts, stops, steps = ([getattr(one, name) for one in chosen] for name in ("start", "stop", "step"))
    return g.node("Slice", a, starts, stops, dims, steps)


def _is_whole(one: slice, length: Any) -> bool:
    return (one.start, one.stop, one.step) == (0, length, 1)


@export("cat")
def cat(g: Writer, places: tuple[tuple[slice, ...], ...], *parts: Edge) -> Edge:
    """Side by side along the dim in which their places differ."""
    differing = [dim for dim, each in enumerate(zip(*places, strict=True)) if any(one != each[0] for one in each)]
    return g.node("Concat", *parts, axis=differing[0]) if differing else parts[0]


@export("slice_assign")
def slice_assign(g: Writer, a: Edge, parts: tuple[slice, ...], b: Edge) -> Edge:
    """What stays, dim by dim, around what is new."""
    dims = [dim for dim, one in enumerate(parts) if not _is_whole(one, a.shape[dim])]
    return _assigned(g, a, parts, b, dims)


def _assigned(g: Writer, a: Edge, parts: Sequence[slice], b: Edge, dims: Sequence[int]) -> Edge:
    if not dims:
        return b
    dim, *others = dims
    one, length = parts[dim], a.shape[dim]
    if one.step != 1:
        return _interleaved(g, a, parts, b, dims)

    def cut(start: Any, stop: Any) -> list[Edge]:
        return [] if start == stop else [g.node("Slice", a, [start], [stop], [dim], [1])]

    middle = b
    if others:
        (middle,) = cut(one.start, one.stop)
        middle.shape = (*a.shape[:dim], one.stop - one.start, *a.shape[dim + 1 :])
        middle = _assigned(g, middle, parts, b, others)
    return g.node("Concat", *cut(0, one.start), middle, *cut(one.stop, length), axis=dim)


def _interleaved(g: Writer, a: Edge, parts: Sequence[slice], b: Edge, dims: Sequence[int]) -> Edge:
    """The new entries come behind the old ones, and then each place picks its own."""
    dim, *others = dims
    one, length = parts[dim], a.shape[dim]
    check_whole((one.start, one.stop, length))
    places = np.arange(one.start, one.stop, one.step)
    middle = b
    if others:
        middle = g.node("Gather", a, places, axis=dim)
        middle.shape = (*a.shape[:dim], len(places), *a.shape[dim + 1 :])
        middle = _assigned(g, middle, parts, b, others)
    picked = np.arange(length)
    picked[places] = length + np.arange(len(places))
    return g.node("Gather", g.node("Concat", a, middle, axis=dim), picked, axis=dim)


@export("pad")
def pad(g: Writer, a: Edge, pairs: Sequence[tuple[Any, Any]], value: Any) -> Edge:
    """One number all around."""
    pads = [before for before, _ in pairs] + [after for _, after in pairs]
    return g.node("Pad", a, pads, g.edge(value, a.dtype), mode="constant")


@export("unfold")
def unfold(g: Writer, a: Edge, dim: int, size: int, step: int, dilation: int) -> Edge:
    """Each window by the indices of its elements, which come last."""
    check_whole((a.shape[dim],))
    count = (a.shape[dim] - (size - 1) * dilation - 1) // step + 1
    places = np.arange(count)[:, np.newaxis] * step + np.arange(size) * dilation
    windows = g.node("Gather", a, places, axis=dim)
    axes = [axis for axis in range(a.rank + 1) if axis != dim + 1]
    return g.node("Transpose", windows, perm=[*axes, dim + 1])


@export("gather")
def gather(g: Writer, a: Edge, dim: int, indices: Edge) -> Edge:
    """An entry for each index."""
    return g.node("GatherElements", a, _as_indices(g, indices), axis=dim)


@export("select")
def select(g: Writer, a: Edge, dim: int, indices: Edge) -> Edge:
    """Whole entries of one dim."""
    return g.node("Gather", a, _as_indices(g, indices), axis=dim)


@export("scatter")
def scatter(g: Writer, a: Edge, dim: int, indices: Edge, b: Edge) -> Edge:
    """What comes to one place adds up."""
    return g.node("ScatterElements", a, _as_indices(g, indices), b, axis=dim, reduction="add")


@export("select_assign")
def select_assign(g: Writer, a: Edge, dim: int, indices: Edge, b: Edge) -> Edge:
    """The same with one index for a whole entry."""
    column = g.node("Reshape", _as_indices(g, indices), [-1] + [1] * (a.rank - dim - 1))
    spread = g.node("Expand", column, list(b.shape))
    return g.node("ScatterElements", a, spread, b, axis=dim, reduction="add")


def _as_indices(g: Writer, indices: Edge) -> Edge:
    """ONNX has indices of 32 and of 64 bits."""
    return indices if indices.dtype.itemsize >= 4 else g.cast(indices, np.int64)


@export("spread")
def spread(g: Writer, one: Any, *, shape: Shape, dtype: Any) -> Edge:
    """The same numbers for each sample."""
    wanted = [new if is_free(new) else 1 for new in shape]
    return g.node("Expand", g.constant(one), wanted)


@export("counted")
def counted(g: Writer, start: Any, step: Any, length: Any, *, shape: Shape, dtype: Any) -> Edge:
    """A range, as long as the batch says."""
    places = g.node("Range", np.array(0), g.node("Squeeze", g.ints([length])), np.array(1))
    return g.node("Add", g.node("Mul", g.cast(places, dtype), step), start)
