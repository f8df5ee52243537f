"""Operators that take elements by their indices, put elements where indices say, or find where something stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tinyburn.base.errors import OnnxError
from tinyburn.onnx.graph import Run
from tinyburn.onnx.table import ALL, operator
from tinyburn.onnx.values import AnyTensor, Numbers, Value, dtype_on, host, reshaped
from tinyburn.tensor import Tensor

from .creation import check_elements
from .movement import axes_of

Function: TypeAlias = Callable[..., AnyTensor]


def as_index(indices: AnyTensor) -> AnyTensor:
    """As int64, which the standard has for indices."""
    return indices.cast(dtype_on("int64", indices.device))


def counted(count: int, like: AnyTensor) -> AnyTensor:
    """The whole numbers from 0, in the dtype of another tensor and beside it."""
    return Tensor.arange(0, count, like.device).cast(like.dtype)


def _from_start(indices: AnyTensor, size: int) -> AnyTensor:
    """Indices below 0 are counted from the end."""
    return indices.mask_where(indices.lower(0), indices + size)


# Taking


@operator("Gather", 1, 11, 13)
def gather(x: Value, indices: Value, *, axis: int = 0) -> Value:
    """Whole entries of one axis, one for each index: the dims of the indices stand where the axis was."""
    at = axes_of([axis], x.rank)[0]
    taken = x.tensor.select(at, _from_start(indices.tensor, x.shape[at]).reshape((prod(indices.shape),)))
    return reshaped(Value(taken), (*x.shape[:at], *indices.shape, *x.shape[at + 1 :]))


@operator("GatherElements", 11, 13)
def gather_elements(x: Value, indices: Value, *, axis: int = 0) -> Value:
    """One element for each index, which says where it stands along the axis; in other dims as the index does."""
    return Value(x.tensor.gather(axis, _from_start(indices.tensor, x.shape[axis])))


@operator("GatherND", 11, 12, 13)
def gather_nd(x: Value, indices: Value, *, batch_dims: int = 0) -> Value:
    """What stands at each row of indices, which names a place in the first dims behind those of the batch."""
    width = batch_dims + indices.shape[-1]
    shape = (*indices.shape[:-1], *x.shape[width:])
    names = [name.reshape((-1, 1)) for name in _grid(indices.shape[:-1], range(batch_dims), indices.tensor)]
    columns = indices.tensor.reshape((prod(indices.shape[:-1]), indices.shape[-1]))
    places = _columns_from_start(columns, x.shape[batch_dims:])
    return reshaped(Value(x.tensor.gather_nd(Tensor.cat([*names, places], 1))), shape)


def _grid(shape: Sequence[int], dims: Sequence[int], like: AnyTensor) -> list[AnyTensor]:
    """For each of some dims of a shape a tensor of that shape with the indices along the dim."""
    lines = [counted(shape[dim], like).reshape([-1 if at == dim else 1 for at in range(len(shape))]) for dim in dims]
    return [line.expand(shape) for line in lines]


def _columns_from_start(places: AnyTensor, shape: Sequence[int]) -> AnyTensor:
    """Rows of indices, all counted from 0."""
    columns = [_from_start(column, size) for column, size in zip(places.split(1, 1), shape, strict=False)]
    return Tensor.cat(columns, 1)


# Putting: each variant is brought down to rows of indices, which name places in the first dims


@operator("ScatterElements", 11, 13, 16, 18)
@operator("Scatter", 9, 11)
def scatter_elements(x: Value, indices: Value, updates: Value, *, axis: int = 0, reduction: str = "none") -> Value:
    """x with an update at each index, which says where it goes along the axis, as in `gather_elements`."""
    at = axes_of([axis], x.rank)[0]
    columns = _grid(indices.shape, range(x.rank), indices.tensor)
    columns[at] = _from_start(indices.tensor, x.shape[at])
    places = Tensor.cat([column.reshape((prod(indices.shape), 1)) for column in columns], 1)
    return Value(_scattered(x.tensor, places, updates.tensor.reshape((prod(indices.shape),)), reduction))


@operator("ScatterND", 11, 13, 16, 18)
def scatter_nd(x: Value, indices: Value, updates: Value, *, reduction: str = "none") -> Value:
    """x with an update for each row of indices, which names a place in the first dims, as in `gather_nd`."""
    count, width = prod(indices.shape[:-1]), indices.shape[-1]
    places = _columns_from_start(indices.tensor.reshape((count, width)), x.shape)
    return Value(_scattered(x.tensor, places, updates.tensor.reshape((count, *x.shape[width:])), reduction))


@operator("TensorScatter", 24)
def tensor_scatter(
    cache: Value, update: Value, starts: Value | None = None, *, axis: int = -2, mode: str = "linear"
) -> Value:
    """A cache with an update, which begins for each sample of the batch at an index of its own along the axis."""
    at = axes_of([axis], cache.rank)[0]
    shape = update.shape[: at + 1]
    first = host(np.zeros(shape[:1], np.int64)).on(cache.tensor.device) if starts is None else starts
    columns = _grid(shape, range(at + 1), first.tensor)
    columns[at] = columns[at] + first.tensor.reshape((-1, *[1] * at))
    if mode == "circular":
        columns[at] = columns[at].remainder(cache.shape[at])
    places = Tensor.cat([column.reshape((prod(shape), 1)) for column in columns], 1)
    return Value(_scattered(cache.tensor, places, update.tensor.reshape((prod(shape), *cache.shape[at + 1 :])), "none"))


_REDUCTIONS: dict[str, Function] = {
    "none": lambda old, new: new,
    "mul": Tensor.mul,
    "max": Tensor.maximum,
    "min": Tensor.minimum,
}


def _scattered(x: AnyTensor, places: AnyTensor, updates: AnyTensor, reduction: str) -> AnyTensor:
    """x with the updates at rows of indices: in place of what is there, or brought together with it.

    Where a place comes twice, its updates follow each other.
    """
    if 0 in places.shape:
        return x
    if reduction == "add":
        return x.scatter_nd(places, updates)
    if reduction not in _REDUCTIONS:
        raise OnnxError("a scatter", f"the reduction is {reduction!r}, and there are none, add, mul, max and min")
    for at, new in _without_repeats(places, updates, x.shape):
        x = _replaced(x, at, _REDUCTIONS[reduction](x.gather_nd(at), new))
    return x


def _replaced(x: AnyTensor, places: AnyTensor, updates: AnyTensor) -> AnyTensor:
    """The updates in place of what is there: it becomes 0, and they are added."""
    width, dtype = places.shape[1], places.dtype
    empty: AnyTensor = Tensor.zeros((*x.shape[:width], *[1] * (x.rank - width)), x.device, dtype)
    ones: AnyTensor = Tensor.ones((places.shape[0], *empty.shape[width:]), x.device, dtype)
    is_new = empty.scatter_nd(places, ones).greater(0).expand(x.shape)
    return x.mask_fill(is_new, False if x.dtype == "bool" else 0).scatter_nd(places, updates)


def _without_repeats(places: AnyTensor, updates: AnyTensor, shape: Sequence[int]) -> list[tuple[AnyTensor, AnyTensor]]:
    """Places and updates in groups, in none of which a place comes twice: the first of each place, the second, and so
    on. Where there are no values, it is one group."""
    if not places.backend.has_values:
        return [(places, updates)]
    names: Any = np.ravel_multi_index(list(places.to_numpy().T), tuple(shape[: places.shape[1]]))
    order: Numbers = np.argsort(names, kind="stable")
    _, firsts, counts = np.unique(names[order], return_index=True, return_counts=True)
    if len(firsts) == len(names):
        return [(places, updates)]
    ranks = np.arange(len(names)) - np.repeat(firsts, counts)
    groups = [host(order[ranks == rank]).on(places.device).tensor for rank in range(counts.max())]
    return [(places.select(0, rows), updates.select(0, rows)) for rows in groups]


@operator("OneHot", 9, 11, 28, numbers=[1])
def one_hot(indices: Value, depth: Value, values: Value, *, axis: int = -1, run: Run) -> Value:
    """A new axis, on which the second of two values stands at the index and the first elsewhere.

    An index that the axis has not, gives the first everywhere.
    """
    count, rank = depth.ints("the depth of OneHot")[0], indices.rank + 1
    at = axes_of([axis], rank)[0]
    shape = (*indices.shape[:at], count, *indices.shape[at:])
    check_elements("OneHot", shape, run)
    classes = indices.tensor.int()
    ones = [count if dim == at else 1 for dim in range(rank)]
    wanted = _from_start(classes, count).reshape((*indices.shape[:at], 1, *indices.shape[at:]))
    is_hot = wanted.equal(counted(count, classes).reshape(ones))
    off, on = [value.reshape((1,) * rank).expand(shape) for value in values.tensor.split(1, 0)]
    return Value(off.mask_where(is_hot, on))


# What depends on values: the indices are found on the host


@operator("NonZero", 9, 13)
def non_zero(x: Value) -> Value:
    """Where elements are not 0: a row for each dim, a column for each element."""
    return host(np.argwhere(x.numbers("the shape of NonZero")).T.astype(np.int64))


@operator("Compress", 9, 11, 28, numbers=[1])
def compress(x: Value, condition: Value, *, axis: int | None = None) -> Value:
    """Entries of an axis for which a condition holds; without an axis, elements."""
    places = host(np.flatnonzero(condition.numbers("the shape of Compress"))).on(x.tensor.device)
    flat = x.tensor.flatten() if axis is None else x.tensor
    return Value(flat.select(axis or 0, places.tensor))


@operator("Unique", 11, 28)
def unique(x: Value, *, axis: int | None = None, sorted: int = 1) -> tuple[Value, ...]:
    """The different elements, or entries of an axis; where each comes first, which one each is, and how often it comes.

    They are in order, or, if that is not asked for, as they come first.
    """
    numbers = x.numbers("the shape of Unique")
    _, firsts, names, counts = np.unique(numbers, axis=axis, return_index=True, return_inverse=True, return_counts=True)
    order = np.arange(len(firsts)) if sorted else np.argsort(firsts)
    new_names = np.argsort(order)[names.reshape(-1)]
    flat = x.tensor.flatten() if axis is None else x.tensor
    found = flat.select(axis or 0, host(firsts[order]).on(x.tensor.device).tensor)
    return Value(found), *[host(each.astype(np.int64)) for each in (firsts[order], new_names, counts[order])]


# Order


@operator("TopK", 1)
def top_k_1(x: Value, *, k: int, axis: int = -1) -> tuple[Value, Value]:
    """The k largest along an axis, the largest first, and where each stands."""
    values, places = x.tensor.topk_with_indices(k, axis)
    return Value(values), Value(as_index(places))


@operator("TopK", 10, 11, 24, numbers=[1])
def top_k(x: Value, k: Value, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[Value, Value]:
    """The k largest, or smallest, along an axis, that one first, and where each stands."""
    count = k.ints("the number of TopK")[0]
    if largest:
        return top_k_1(x, k=count, axis=axis)
    values, places = x.tensor.sort_with_indices(axis)
    return Value(values.narrow(axis, 0, count)), Value(as_index(places.narrow(axis, 0, count)))


def _arg(name: str, function: Function) -> None:
    """Where the largest or the smallest stands."""

    @operator(name, 1, 11, 12, 13)
    def row(x: Value, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Value:
        tensor, at = x.tensor, axes_of([axis], max(x.rank, 1))[0]
        place = function(tensor.flip((at,)), at) if select_last_index else function(tensor, at)
        place = as_index(tensor.shape[at] - 1 - place if select_last_index else place)
        return reshaped(Value(place), [1 if dim == at else n for dim, n in enumerate(x.shape) if keepdims or dim != at])


_arg("ArgMax", Tensor.argmax)
_arg("ArgMin", Tensor.argmin)


# Boxes


@operator("NonMaxSuppression", 10, 11, numbers=ALL)
def non_max_suppression(
    boxes: Value,
    scores: Value,
    most: Value | None = None,
    overlap: Value | None = None,
    least: Value | None = None,
    *,
    center_point_box: int = 0,
) -> Value:
    """The boxes of each class that are no doubles of a better one: rows of batch, class and box.

    A box is a double where the area that two have in common is a larger share of both than ``overlap``.
    """
    corners = _corners(boxes.numbers("the boxes").astype(np.float64), center_point_box)
    marks = scores.numbers("their scores")
    count = most.ints("the number of boxes")[0] if most is not None else 0
    share, floor = [0.0 if one is None else float(one.number("a threshold")) for one in (overlap, least)]
    found = []
    for batch, of_class in np.ndindex(marks.shape[:2]):
        of_box = marks[batch, of_class]
        order = [box for box in np.argsort(-of_box, kind="stable") if least is None or of_box[box] > floor]
        found += [(batch, of_class, box) for box in _best(corners[batch], order, count, share)]
    return host(np.asarray(found, np.int64).reshape(-1, 3))


def _best(boxes: Numbers, order: list[Any], count: int, share: float) -> list[int]:
    """The first boxes of an order that are doubles of none before them."""
    kept: list[int] = []
    for box in order:
        if len(kept) == count:
            break
        if not kept or (_overlaps(boxes[box], boxes[kept]) <= share).all():
            kept.append(int(box))
    return kept


def _corners(boxes: Numbers, is_centered: int) -> Numbers:
    """Boxes as their lowest and highest corner."""
    if is_centered:
        middle, half = boxes[..., :2], boxes[..., 2:] / 2
        return np.concatenate([middle - half, middle + half], -1)
    first, second = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], -1)


def _overlaps(box: Numbers, others: Numbers) -> Numbers:
    """The area that a box has in common with others, as a share of the area that both cover."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    common = np.maximum(sides, 0).prod(-1)
    both = (box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(-1) - common
    shares: Numbers = np.divide(common, both, out=np.zeros_like(common), where=both > 0)
    return shares
