"""What reads an image at places between its elements: by a grid, in regions of interest, or by moved windows.

The places are tensors, so they may be computed, and what they depend on has a gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tinyburn.base.errors import OnnxError
from tinyburn.nn.geometry import Geometry
from tinyburn.nn.normalize import narrowed, widened
from tinyburn.onnx.graph import Run
from tinyburn.onnx.table import operator
from tinyburn.onnx.values import AnyTensor, Value
from tinyburn.tensor import Tensor

from .creation import check_elements
from .images import cubic_far, cubic_near
from .windows import geometry_of

Ints: TypeAlias = tuple[int, ...]
Numbers: TypeAlias = np.ndarray[Any, Any]
Taps: TypeAlias = "list[tuple[AnyTensor, AnyTensor | None]]"
"""Elements around a place along one dim: their numbers, as floats, and their weights; None for 1."""


# Around a place


def _taps(places: AnyTensor, mode: str) -> Taps:
    if mode == "nearest":
        return [(places.round(), None)]
    low = places.floor()
    share = places - low
    if mode == "linear":
        return [(low, 1.0 - share), (low + 1.0, share)]
    far, near = cubic_far, cubic_near
    weights = [far(share + 1.0, -0.75), near(share, -0.75), near(1.0 - share, -0.75), far(2.0 - share, -0.75)]
    return [(low + float(at - 1), weight) for at, weight in enumerate(weights)]


def _terms(
    x: AnyTensor, samples: AnyTensor, taps: Sequence[Taps], is_zero_outside: bool
) -> Iterator[tuple[AnyTensor, AnyTensor]]:
    """For each combination of taps the values, ``(n, points, channels)``, and their weights, ``(n, points, 1)``.

    ``samples`` says which sample of the batch to read, ``(n, 1)``. Beyond an end stands the last element, or 0.
    """
    lengths = x.shape[2:]
    rows = x.permute(0, *range(2, x.rank), 1).reshape((-1, x.shape[1]))
    for chosen in product(*taps):
        index, weight = samples, Tensor.ones((1, 1), x.device, x.dtype)
        for (number, share), length in zip(chosen, lengths, strict=True):
            inside = number.clamp(0.0, float(length - 1))
            index = index * length + inside.cast(samples.dtype)
            weight = weight if share is None else weight * share.cast(x.dtype)
            weight = weight * inside.equal(number).cast(x.dtype) if is_zero_outside else weight
        yield rows.take(0, index), weight.unsqueeze_dim(2)


def _sampled(x: AnyTensor, taps: Sequence[Taps], is_zero_outside: bool) -> AnyTensor:
    """The sum of all terms, ``(n, channels, points)``."""
    samples = Tensor.arange(0, x.shape[0], x.device).reshape((x.shape[0], 1))
    total: Any = None
    for values, weight in _terms(x, samples, taps, is_zero_outside):
        term = values * weight
        total = term if total is None else total + term
    return total.swap_dims(1, 2)


# By a grid


@operator("GridSample", 16, 20, 22)
def grid_sample(
    x: Value, grid: Value, *, mode: str = "linear", padding_mode: str = "zeros", align_corners: int = 0
) -> Value:
    """x at the places of a grid, from -1 to 1 in each dim, of which the last comes first."""
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    if mode not in ("nearest", "linear", "cubic") or padding_mode not in ("zeros", "border", "reflection"):
        raise OnnxError("GridSample", f"there is no mode {mode!r} with the padding {padding_mode!r}")
    image, points = widened(x.tensor), widened(grid.tensor)
    flat = points.reshape((x.shape[0], -1, x.rank - 2))
    taps = []
    for dim, length in enumerate(x.shape[2:]):
        place = flat.narrow(2, x.rank - 3 - dim, 1).squeeze(2)
        place = (place + 1.0) * ((length - 1) / 2) if align_corners else ((place + 1.0) * length - 1.0) * 0.5
        bounds = (0.0, length - 1.0) if align_corners else (-0.5, length - 0.5)
        taps.append(_padded_taps(place, length, bounds, mode, padding_mode))
    result = _sampled(image, taps, padding_mode == "zeros")
    return Value(narrowed(result.reshape((*x.shape[:2], *grid.shape[1:-1])), x.tensor.dtype))


def _padded_taps(place: AnyTensor, length: int, bounds: tuple[float, float], mode: str, padding: str) -> Taps:
    """Brought into the image, if the padding is not zeros. What is beyond the border is the last element anyway."""
    place = place.round() if mode == "nearest" else place
    if padding == "border" and mode != "cubic":
        place = place.clamp(0.0, length - 1.0)
    if padding != "reflection":
        return _taps(place, mode)
    return [(_reflected(number, *bounds), share) for number, share in _taps(_reflected(place, *bounds), mode)]


def _reflected(place: AnyTensor, low: float, high: float) -> AnyTensor:
    """Mirrored at the bounds until it is between them."""
    span = high - low
    if span == 0.0:
        return place * 0.0 + low
    return high - ((place - low).abs().remainder(2 * span) - span).abs()


@operator("AffineGrid", 20, numbers=[1])
def affine_grid(theta: Value, size: Value, *, align_corners: int = 0, run: Run) -> Value:
    """A grid for `GridSample`: each place by an affine map, ``theta`` of shape (n, dims, dims + 1)."""
    samples, _, *lengths = size.ints("the size of AffineGrid")
    check_elements("AffineGrid", (samples, *lengths, len(lengths)), run)
    lines = []
    for length in lengths:
        numbers = np.arange(length)
        lines.append(numbers * (2 / max(length - 1, 1)) - 1 if align_corners else (2 * numbers + 1) / length - 1)
    points = np.meshgrid(*lines, indexing="ij")[::-1]
    rows = np.stack([*points, np.ones(lengths)], -1).reshape(1, prod(lengths), len(lengths) + 1)
    base = Tensor.from_data(rows, theta.tensor.device, theta.tensor.dtype)
    return Value((base @ theta.tensor.transpose()).reshape((samples, *lengths, len(lengths))))


# In regions of interest


class Parts(NamedTuple):
    """How `RoiAlign` reads a region.

    Attributes:
        mode: ``avg`` or ``max``.
        counts: into how many parts each dim is cut.
        ratio: how many places are read along each dim of a part; 0 for as many as it has elements.
        scale: of the corners.
        shift: where the middle of the first element is.
    """

    mode: str
    counts: Ints
    ratio: int
    scale: float
    shift: float


@operator("RoiAlign", 10)
def roi_align_10(
    x: Value,
    rois: Value,
    samples: Value,
    *,
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
    run: Run,
) -> Value:
    """Before version 16 the middle of the first element was at 0.5."""
    parts = Parts(mode, (output_height, output_width), sampling_ratio, spatial_scale, 0.0)
    return _roi_align(x, rois, samples, parts, run)


@operator("RoiAlign", 16, 22)
def roi_align(
    x: Value,
    rois: Value,
    samples: Value,
    *,
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
    coordinate_transformation_mode: str = "half_pixel",
    run: Run,
) -> Value:
    """Each region in equal parts, and the mean of some places of each part, or the largest term of these means.

    A region is (x1, y1, x2, y2), in the sample that ``samples`` says. Without a ``sampling_ratio`` there are as many
    places as a part has elements, which is read from the regions.
    """
    shift = 0.5 if coordinate_transformation_mode == "half_pixel" else 0.0
    parts = Parts(mode, (output_height, output_width), sampling_ratio, spatial_scale, shift)
    return _roi_align(x, rois, samples, parts, run)


def _roi_align(x: Value, rois: Value, samples: Value, parts: Parts, run: Run) -> Value:
    shape = (rois.shape[0], x.shape[1], *parts.counts)
    check_elements("RoiAlign", (*shape, max(parts.ratio, 1) ** 2), run)
    if rois.shape[0] == 0:
        return Value(Tensor.zeros(shape, x.tensor.device, x.tensor.dtype))
    image, corners = widened(x.tensor), widened(rois.tensor) * parts.scale - parts.shift
    which = samples.tensor.cast(image.device.int_dtype).reshape((shape[0], 1))
    if parts.ratio > 0:
        result = _regions(image, corners, which, parts, (parts.ratio, parts.ratio))
        return Value(narrowed(result, x.tensor.dtype))
    found, order = [], []
    for places, rows in _alike(rois, parts):
        check_elements("the places of RoiAlign", (len(rows), x.shape[1], *parts.counts, *places), run)
        chosen = Tensor.from_data(rows, image.device, image.device.int_dtype)
        found.append(_regions(image, corners.select(0, chosen), which.select(0, chosen), parts, places))
        order.append(rows)
    back = Tensor.from_data(np.argsort(np.concatenate(order)), image.device, image.device.int_dtype)
    return Value(narrowed(Tensor.cat(found, 0).select(0, back), x.tensor.dtype))


def _alike(rois: Value, parts: Parts) -> Iterator[tuple[Ints, Numbers]]:
    """The numbers of regions that have the same number of places in a part: as many as it has elements."""
    what = "the regions of RoiAlign, whose places depend on their sizes,"
    edges = rois.numbers(what).astype(np.float64) * parts.scale
    sizes = np.stack([edges[:, 3] - edges[:, 1], edges[:, 2] - edges[:, 0]], 1)
    sizes = sizes if parts.shift else np.maximum(sizes, 1.0)
    places = np.maximum(np.ceil(sizes / parts.counts), 0).astype(int)
    for kind in np.unique(places, axis=0):
        yield tuple(kind.tolist()), np.flatnonzero((places == kind).all(1))


def _regions(x: AnyTensor, corners: AnyTensor, which: AnyTensor, parts: Parts, places: Ints) -> AnyTensor:
    """Regions that have the same number of places: ``(regions, channels, *counts)``."""
    regions, channels, counts = corners.shape[0], x.shape[1], parts.counts
    if min(places) == 0:
        return Tensor.zeros((regions, channels, *counts), x.device, x.dtype)
    rows = _lines(corners, 1, counts[0], places[0], parts.shift)
    columns = _lines(corners, 0, counts[1], places[1], parts.shift)
    shape = (regions, rows.shape[1], columns.shape[1])
    points = [rows.unsqueeze_dim(2).expand(shape), columns.unsqueeze_dim(1).expand(shape)]
    points = [one.reshape((regions, -1)) for one in points]
    is_inside = Tensor.ones((1, 1), x.device, x.dtype)
    for point, length in zip(points, x.shape[2:], strict=True):
        is_inside = is_inside * point.clamp(-1.0, float(length)).equal(point).cast(x.dtype)
    taps = [_taps(point.clamp(0.0, n - 1.0), "linear") for point, n in zip(points, x.shape[2:], strict=True)]
    terms = [values * weight * is_inside.unsqueeze_dim(2) for values, weight in _terms(x, which, taps, False)]
    whole = terms[0]
    for term in terms[1:]:
        whole = whole + term if parts.mode == "avg" else whole.maximum(term)
    split = whole.reshape((regions, counts[0], places[0], counts[1], places[1], channels))
    joined = split.mean_dims((2, 4)) if parts.mode == "avg" else split.max_dims((2, 4))
    return joined.reshape((regions, *counts, channels)).permute(0, 3, 1, 2)


def _lines(corners: AnyTensor, first: int, count: int, places: int, shift: float) -> AnyTensor:
    """Where the places are along one dim, ``(regions, count * places)``."""
    start, end = corners.narrow(1, first, 1), corners.narrow(1, first + 2, 1)
    size = end - start if shift else (end - start).clamp_min(1.0)
    steps = (np.arange(count * places) + 0.5) / (places * count)
    return start + size * Tensor.from_data(steps[np.newaxis], corners.device, corners.dtype)


@operator("MaxRoiPool", 1, 22, numbers=[1])
def max_roi_pool(x: Value, rois: Value, *, pooled_shape: Ints, spatial_scale: float = 1.0, run: Run) -> Value:
    """The largest of each part of a region, (sample, x1, y1, x2, y2); its corners are rounded, and belong to it."""
    check_elements("MaxRoiPool", (rois.shape[0], x.shape[1], *pooled_shape), run)
    results = []
    for sample, *corners in rois.numbers("the regions of MaxRoiPool").tolist():
        left, top, right, bottom = [int(np.floor(corner * spatial_scale + 0.5)) for corner in corners]
        part = x.tensor[int(sample)]
        for dim, (start, end) in enumerate(((top, bottom), (left, right)), 2):
            part = _largest(part, dim, start, max(end - start + 1, 1), pooled_shape[dim - 2])
        results.append(part)
    empty = Tensor.zeros((0, x.shape[1], *pooled_shape), x.tensor.device, x.tensor.dtype)
    return Value(Tensor.cat([empty, *results], 0))


def _largest(x: AnyTensor, dim: int, first: int, size: int, count: int) -> AnyTensor:
    """Of each of some parts along a dim, which may overlap; 0 where one is outside."""
    length = x.shape[dim]
    parts = []
    for at in range(count):
        start = min(max(first + at * size // count, 0), length)
        end = min(max(first - (-(at + 1) * size // count), 0), length)
        inside = x.narrow(dim, start, end - start) if end > start else x.narrow(dim, 0, 1) * 0.0
        parts.append(inside.max_dim(dim))
    return Tensor.cat(parts, dim)


# By moved windows


@operator("DeformConv", 19, 22)
def deform_conv(
    x: Value,
    weight: Value,
    offset: Value,
    bias: Value | None = None,
    mask: Value | None = None,
    *,
    group: int = 1,
    offset_group: int = 1,
    kernel_shape: Ints | None = None,
    pads: Ints | None = None,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    run: Run,
) -> Value:
    """A convolution whose windows read beside their places, by offsets of their own, and weigh what they read.

    Dai et al. 2017, "Deformable Convolutional Networks". Channels come in groups with the same offsets.
    """
    lengths, size, points = offset.shape[2:], prod(weight.shape[2:]), prod(weight.shape[2:]) * prod(offset.shape[2:])
    geometry = geometry_of(x, weight.shape[2:], run, "NOTSET", pads, strides, dilations)
    batch = x.shape[0] * offset_group
    image = x.tensor.reshape((batch, x.shape[1] // offset_group, *x.shape[2:]))
    moves = offset.tensor.reshape((batch, size, geometry.dims, prod(lengths)))
    taps = []
    for dim, place in enumerate(_window_places(x, geometry, lengths)):
        rest = Tensor.from_data(place.reshape(1, points), x.tensor.device, x.tensor.dtype)
        taps.append(_taps(moves.narrow(2, dim, 1).reshape((batch, points)) + rest, "linear"))
    found = _sampled(image, taps, is_zero_outside=True)
    if mask is not None:
        found = found * mask.tensor.reshape((batch, 1, points))
    columns = found.reshape((x.shape[0], group, weight.shape[1] * size, prod(lengths)))
    rows = weight.tensor.reshape((1, group, weight.shape[0] // group, weight.shape[1] * size))
    result = (rows @ columns).reshape((x.shape[0], weight.shape[0], *lengths))
    return Value(result if bias is None else result + bias.tensor.reshape((1, -1, *[1] * geometry.dims)))


def _window_places(x: Value, geometry: Geometry, counts: Ints) -> list[Numbers]:
    """Where each place of each window is, in each dim: ``(*sizes, *counts)``."""
    there = np.indices((*geometry.sizes, *counts))
    pads = geometry.options(x.shape[2:]).padding
    dims = enumerate(zip(geometry.dilation, geometry.stride, pads, strict=True))
    return [there[at] * apart + there[geometry.dims + at] * step - start for at, (apart, step, (start, _)) in dims]
