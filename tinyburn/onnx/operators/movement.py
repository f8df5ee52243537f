"""Operators that put the same elements elsewhere: other shapes, orders and parts, paddings and repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tinyburn.base.errors import OnnxError
from tinyburn.onnx.graph import Run
from tinyburn.onnx.protos import dtype_of
from tinyburn.onnx.table import operator
from tinyburn.onnx.values import AnyTensor, Value, host, reshaped
from tinyburn.tensor import Tensor

from .creation import check_elements

Ints: TypeAlias = Sequence[int]


def axes_of(axes: Ints, rank: int) -> list[int]:
    """Axes counted from 0. Raises OnnxError for one that does not exist."""
    wrong = [axis for axis in axes if not -rank <= axis < rank]
    if wrong:
        raise OnnxError(f"axis {wrong[0]}", f"a tensor of rank {rank} has not this axis")
    return [axis % rank for axis in axes]


# Shapes


@operator("Reshape", 5, 13, 14, 19, 21, 23, 24, 25, numbers=[1])
def reshape(x: Value, shape: Value, *, allowzero: int = 0) -> Value:
    """Into a shape: -1 is what remains, and 0, but with ``allowzero``, the length that x has there."""
    lengths = shape.ints("the shape of Reshape")
    if not allowzero:
        lengths = [length or x.shape[at] for at, length in enumerate(lengths)]
    return reshaped(x, lengths)


@operator("Flatten", 1, 9, 11, 13, 21, 23, 24, 25)
def flatten(x: Value, *, axis: int = 1) -> Value:
    """A matrix: the dims before ``axis`` are its rows, and the others its columns."""
    at = axis + x.rank if axis < 0 else axis
    return reshaped(x, (prod(x.shape[:at]), prod(x.shape[at:])))


@operator("Squeeze", 1, 11)
def squeeze_11(x: Value, *, axes: Ints | None = None) -> Value:
    """Without some dims of length 1; without all of them if none is named."""
    gone = [at for at, length in enumerate(x.shape) if length == 1] if axes is None else axes_of(axes, x.rank)
    longer = [at for at in gone if x.shape[at] != 1]
    if longer:
        raise OnnxError("Squeeze", f"dim {longer[0]} of {x.shape} is longer than 1")
    return reshaped(x, [length for at, length in enumerate(x.shape) if at not in gone])


@operator("Squeeze", 13, 21, 23, 24, 25, numbers=[1])
def squeeze(x: Value, axes: Value | None = None) -> Value:
    """Without some dims of length 1; without all of them if none is named."""
    return squeeze_11(x, axes=None if axes is None else axes.ints("the axes of Squeeze"))


@operator("Unsqueeze", 1, 11)
def unsqueeze_11(x: Value, *, axes: Ints) -> Value:
    """With new dims of length 1, at these axes of the result."""
    rank = x.rank + len(axes)
    new, lengths = axes_of(axes, rank), iter(x.shape)
    if len(set(new)) < len(new):
        raise OnnxError("Unsqueeze", f"an axis comes twice in {tuple(axes)}")
    return reshaped(x, [1 if at in new else next(lengths) for at in range(rank)])


@operator("Unsqueeze", 13, 21, 23, 24, 25, numbers=[1])
def unsqueeze(x: Value, axes: Value) -> Value:
    """With new dims of length 1, at these axes of the result."""
    return unsqueeze_11(x, axes=axes.ints("the axes of Unsqueeze"))


@operator("Transpose", 1, 13, 21, 23, 24, 25)
def transpose(x: Value, *, perm: Ints | None = None) -> Value:
    """Dim ``i`` of the result is dim ``perm[i]`` of x; without it, the dims are reversed."""
    order = reversed(range(x.rank)) if perm is None else perm
    return x if x.is_scalar else Value(x.tensor.permute(*order))


@operator("Expand", 8, 13, numbers=[1])
def expand(x: Value, shape: Value, *, run: Run) -> Value:
    """Broadcast with a shape."""
    wanted = shape.ints("the shape of Expand")
    rank = max(x.rank, len(wanted))
    mine, theirs = (1,) * (rank - x.rank) + x.shape, [1] * (rank - len(wanted)) + wanted
    lengths = [own if other == 1 else other for own, other in zip(mine, theirs, strict=True)]
    check_elements("Expand", lengths, run)
    return Value(reshaped(x, mine).tensor.expand(lengths or [1]), not lengths)


@operator("Tile", 6, 13, numbers=[1])
def tile(x: Value, repeats: Value, *, run: Run) -> Value:
    """Each dim as often as the second input says."""
    times = repeats.ints("the repeats of Tile")
    check_elements("Tile", [length * count for length, count in zip(x.shape, times, strict=True)], run)
    return x if x.is_scalar else Value(x.tensor.repeat(times))


# Parts


@operator("Concat", 4, 11, 13)
def concat(*parts: Value, axis: int) -> Value:
    """One after another along an axis."""
    return Value(Tensor.cat([part.tensor for part in parts], axis))


@operator("Split", 2, 11)
def split_11(x: Value, *, axis: int = 0, split: Ints | None = None, count: int) -> tuple[Value, ...]:
    """Parts of these lengths along an axis, or, without them, of the same length."""
    length = -(-x.shape[axis] // count)
    bounds = [min(length * at, x.shape[axis]) for at in range(count + 1)]
    if split is not None:
        bounds = list(accumulate(split, initial=0))
    if bounds[-1] != x.shape[axis]:
        raise OnnxError("Split", f"the lengths {tuple(split or ())} are not those of dim {axis} of {x.shape}")
    return tuple([Value(x.tensor.narrow(axis, start, stop - start)) for start, stop in pairwise(bounds)])


@operator("Split", 13, 18, numbers=[1])
def split(
    x: Value, lengths: Value | None = None, *, axis: int = 0, num_outputs: int | None = None, count: int
) -> tuple[Value, ...]:
    """Parts of these lengths along an axis, or, without them, of one length, of which the last may be shorter."""
    given = None if lengths is None else lengths.ints("the lengths of Split")
    return split_11(x, axis=axis, split=given, count=num_outputs or count)


@operator("Slice", 1)
def slice_1(x: Value, *, starts: Ints, ends: Ints, axes: Ints | None = None) -> Value:
    """From a start to before an end along each of some axes."""
    return _sliced(x, starts, ends, axes, None)


@operator("Slice", 10, 11, 13, numbers=[1, 2, 3, 4])
def slice_10(x: Value, starts: Value, ends: Value, axes: Value | None = None, steps: Value | None = None) -> Value:
    """From a start to before an end, in steps, which may go backwards, along each of some axes."""
    of_axes = None if axes is None else axes.ints("the axes of Slice")
    of_steps = None if steps is None else steps.ints("the steps of Slice")
    return _sliced(x, starts.ints("the starts of Slice"), ends.ints("the ends of Slice"), of_axes, of_steps)


def _sliced(x: Value, starts: Ints, ends: Ints, axes: Ints | None, steps: Ints | None) -> Value:
    """What lies beyond a dim is cut off, as in Python."""
    parts = [slice(None)] * x.rank
    places = axes_of(range(len(starts)) if axes is None else axes, x.rank)
    for at, *bounds in zip(places, starts, ends, steps or [1] * len(starts), strict=True):
        parts[at] = slice(*bounds)
    return Value(x.tensor[tuple(parts)])


@operator("Trilu", 14, numbers=[1])
def trilu(x: Value, k: Value | None = None, *, upper: int = 1) -> Value:
    """The upper or the lower triangle of each matrix, with 0 beyond the ``k``-th diagonal."""
    diagonal = 0 if k is None else k.ints("the diagonal of Trilu")[0]
    return Value(x.tensor.triu(diagonal) if upper else x.tensor.tril(diagonal))


@operator("CenterCropPad", 18, numbers=[1])
def center_crop_pad(x: Value, shape: Value, *, axes: Ints | None = None, run: Run) -> Value:
    """The middle of what is longer than the shape, and what is shorter in the middle of zeros."""
    lengths = shape.ints("the shape of CenterCropPad")
    pads = [(0, 0)] * x.rank
    for at, length in zip(axes_of(range(x.rank) if axes is None else axes, x.rank), lengths, strict=True):
        missing = length - x.shape[at]
        before = missing // 2 if missing >= 0 else -(-missing // 2)
        pads[at] = (before, missing - before)
    return _padded(x, pads, "constant", None, run)


# Padding


@operator("Pad", 2)
def pad_2(x: Value, *, pads: Ints, mode: str = "constant", value: float = 0.0, run: Run) -> Value:
    """More at the ends of each dim: a number, or by ``mode`` what the dim has. Below 0 it is less."""
    return _padded(x, _pairs(pads, range(x.rank), x.rank), mode, value, run)


@operator("Pad", 11, 13, 18, 19, 21, 23, 24, 25, numbers=[1, 2, 3])
def pad(
    x: Value, pads: Value, fill: Value | None = None, axes: Value | None = None, *, mode: str = "constant", run: Run
) -> Value:
    """More at the ends of each of some axes: a number, or by ``mode`` what the dim has. Below 0 it is less."""
    number = None if fill is None else fill.number("the number of Pad")
    at = range(x.rank) if axes is None else axes_of(axes.ints("the axes of Pad"), x.rank)
    return _padded(x, _pairs(pads.ints("the pads of Pad"), at, x.rank), mode, number, run)


def _pairs(pads: Ints, axes: Ints, rank: int) -> list[tuple[int, int]]:
    """How many come before and after, for each dim."""
    if len(pads) != 2 * len(axes):
        raise OnnxError("Pad", f"it has {len(pads)} pads for {len(axes)} axes, and needs two for each")
    pairs = [(0, 0)] * rank
    for at, before, after in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        pairs[at] = (before, after)
    return pairs


def _padded(x: Value, pairs: Sequence[tuple[int, int]], mode: str, number: Any, run: Run) -> Value:
    """What a pad below 0 takes away goes first."""
    check_elements("Pad", [length + sum(pair) for length, pair in zip(x.shape, pairs, strict=True)], run)
    if x.is_scalar:
        return x
    parts = [slice(max(-pair[0], 0), x.shape[at] - max(-pair[1], 0)) for at, pair in enumerate(pairs)]
    kept = x.tensor[tuple(parts)]
    more = [(max(before, 0), max(after, 0)) for before, after in pairs]
    if mode == "constant":
        zero = False if x.dtype == "bool" else 0
        return Value(kept.pad(more, zero if number is None else number) if any(map(any, more)) else kept)
    if mode not in ("reflect", "edge", "wrap"):
        raise OnnxError("Pad", f"the mode is {mode!r}, and there are constant, reflect, edge and wrap")
    for dim, pair in enumerate(more):
        kept = _continued(kept, dim, pair, mode) if any(pair) else kept
    return Value(kept)


def _continued(x: AnyTensor, dim: int, pair: tuple[int, int], mode: Any) -> AnyTensor:
    """A dim that goes on at its ends with what it has: the indices are padded, and each names an entry."""
    places = np.pad(np.arange(x.shape[dim]), pair, mode)
    return x.select(dim, host(places).on(x.device).tensor)


# Blocks


@operator("DepthToSpace", 1, 11, 13, 28)
def depth_to_space(x: Value, *, blocksize: int, mode: str = "DCR") -> Value:
    """Channels as blocks of an image; ``mode`` says whether those of one block lie apart (DCR) or together (CRD)."""
    batch, channels, height, width = x.shape
    size, depth = blocksize, channels // blocksize**2
    if mode == "CRD":
        blocks = x.tensor.reshape((batch, depth, size, size, height, width)).permute(0, 1, 4, 2, 5, 3)
    else:
        blocks = x.tensor.reshape((batch, size, size, depth, height, width)).permute(0, 3, 4, 1, 5, 2)
    return Value(blocks.reshape((batch, depth, height * size, width * size)))


@operator("SpaceToDepth", 1, 13, 28)
def space_to_depth(x: Value, *, blocksize: int, mode: str = "DCR") -> Value:
    """The way back from `depth_to_space`."""
    batch, channels, height, width = x.shape
    size, rows, columns = blocksize, height // blocksize, width // blocksize
    blocks = x.tensor.reshape((batch, channels, rows, size, columns, size))
    order = (0, 1, 3, 5, 2, 4) if mode == "CRD" else (0, 3, 5, 1, 2, 4)
    return Value(blocks.permute(*order).reshape((batch, channels * size**2, rows, columns)))


@operator("Col2Im", 18, numbers=[1, 2])
def col_to_im(
    x: Value,
    image: Value,
    block: Value,
    *,
    dilations: Ints | None = None,
    pads: Ints | None = None,
    strides: Ints | None = None,
    run: Run,
) -> Value:
    """Blocks put back into an image, each element added where it came from.

    The columns of x, of shape (batch, channels * block, blocks), are the blocks.
    """
    lengths, sizes = image.ints("the shape of the image"), block.ints("the shape of a block")
    rank = len(lengths)
    pairs = _pairs(pads or [0] * (2 * rank), range(rank), rank)
    padded = [length + sum(pair) for length, pair in zip(lengths, pairs, strict=True)]
    batch, channels = x.shape[0], x.shape[1] // prod(sizes)
    check_elements("Col2Im", [batch, channels, *padded], run)
    places = _places_of_blocks(padded, sizes, strides or [1] * rank, dilations or [1] * rank)
    flat, device = host(places.reshape(-1)), x.tensor.device
    dtype: Any = x.dtype
    empty: AnyTensor = Tensor.zeros((batch, channels, prod(padded)), device, dtype)
    added = empty.select_assign(2, flat.on(device).tensor, x.tensor.reshape((batch, channels, places.size)))
    whole = [slice(before, before + length) for length, (before, _) in zip(lengths, pairs, strict=True)]
    return Value(added.reshape((batch, channels, *padded))[(slice(None), slice(None), *whole)])


def _places_of_blocks(lengths: Ints, sizes: Ints, strides: Ints, dilations: Ints) -> np.ndarray[Any, Any]:
    """The flat index in an image of each element (a row) of each block (a column)."""
    rows, columns = np.zeros((1,), np.int64), np.zeros((1,), np.int64)
    for length, size, stride, dilation in zip(lengths, sizes, strides, dilations, strict=True):
        starts = np.arange(0, max(length - (size - 1) * dilation, 0), stride)
        rows = (rows[:, None] * length + np.arange(size) * dilation).reshape(-1)
        columns = (columns[:, None] * length + starts).reshape(-1)
    return rows[:, None] + columns


# Orders and bits


@operator("ReverseSequence", 10, 28)
def reverse_sequence(x: Value, lengths: Value, *, batch_axis: int = 1, time_axis: int = 0) -> Value:
    """Each sequence of a batch backwards up to its own length; what stands behind it stays."""
    batch, time = x.shape[batch_axis], x.shape[time_axis]
    across = [batch if at == batch_axis else 1 for at in range(x.rank)]
    along = [time if at == time_axis else 1 for at in range(x.rank)]
    ends = lengths.tensor.reshape(across).expand([max(pair) for pair in zip(across, along, strict=True)])
    dtype: Any = lengths.dtype
    steps = Tensor.arange(0, time, x.tensor.device).cast(dtype).reshape(along)
    backwards = ends - steps - 1
    order = backwards.mask_where(backwards.lower(0), steps.expand(backwards.shape))
    return Value(x.tensor.gather(time_axis, order.expand(x.shape)))


@operator("BitCast", 26)
def bit_cast(x: Value, *, to: int) -> Value:
    """The same bits as numbers of another dtype. They are read on the host: no operation of tensors sees bits."""
    dtype: Any = dtype_of(to)
    if np.dtype(dtype).itemsize != np.dtype(x.dtype).itemsize:
        raise OnnxError("BitCast", f"{x.dtype} and {dtype} have not the same number of bits")
    if not x.tensor.backend.has_values:
        return Value(Tensor.zeros(x.tensor.shape, x.tensor.device, dtype), x.is_scalar)
    return host(x.numbers("the bits").view(dtype)).on(x.tensor.device)
