"""Resizing: every element of the result is a weighted mean of a few elements around a place of the input.

One dim is resized after another. Where the places are, and with which weights, follows from shapes and scales alone, so
it is computed on the host; what remains on the device are sums of products.
"""

from __future__ import annotations

from math import ceil, floor
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tinyburn.base.errors import OnnxError
from tinyburn.nn.normalize import widened
from tinyburn.onnx.graph import Run
from tinyburn.onnx.table import operator
from tinyburn.onnx.values import AnyTensor, Value
from tinyburn.tensor import Tensor

from .creation import cast_to, check_elements

Numbers: TypeAlias = np.ndarray[Any, Any]
Ints: TypeAlias = tuple[int, ...]


class Side(NamedTuple):
    """What becomes of one dim.

    Attributes:
        length: that of the result.
        scale: how many times longer it becomes; the length is rounded, and this is not.
        start, end: the part of the input that is meant, as shares of it, for ``tf_crop_and_resize``.
    """

    dim: int
    given: int
    length: int
    scale: float
    start: float = 0.0
    end: float = 1.0


class Manner(NamedTuple):
    """How elements of the result come about: the attributes of `Resize`."""

    mode: str = "nearest"
    places: str = "asymmetric"
    nearest: str = "floor"
    cubic: float = -0.75
    exclude_outside: int = 0
    antialias: int = 0
    extrapolation: float = 0.0


# The operators


@operator("Resize", 11, 13, 18, 19, numbers=[1, 2, 3])
def resize(
    x: Value,
    roi: Value | None = None,
    scales: Value | None = None,
    sizes: Value | None = None,
    *,
    mode: str = "nearest",
    coordinate_transformation_mode: str = "half_pixel",
    nearest_mode: str = "round_prefer_floor",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    antialias: int = 0,
    axes: Ints | None = None,
    keep_aspect_ratio_policy: str = "stretch",
    run: Run,
) -> Value:
    """To other lengths, which are given, or follow from scales. The attributes say how places correspond."""
    manner = Manner(mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a)
    manner = manner._replace(exclude_outside=exclude_outside, antialias=antialias, extrapolation=extrapolation_value)
    dims = [dim % x.rank for dim in axes] if axes is not None else list(range(x.rank))
    if scales is not None and scales.shape[0]:
        sides = _by_scales(x, dims, scales.numbers("the scales of Resize").tolist())
    elif sizes is not None:
        sides = _by_sizes(x, dims, sizes.ints("the sizes of Resize"), keep_aspect_ratio_policy)
    else:
        raise OnnxError("Resize", "neither scales nor sizes are given")
    if roi is not None and manner.places == "tf_crop_and_resize":
        edges = roi.numbers("the roi of Resize").tolist()
        count = len(dims)
        sides = [side._replace(start=edges[at], end=edges[count + at]) for at, side in enumerate(sides)]
    return _resized(x, sides, manner, run)


@operator("Resize", 10, numbers=[1])
def resize_10(x: Value, scales: Value, *, mode: str = "nearest", run: Run) -> Value:
    """Before version 11: the place of an element is its number over the scale."""
    return _upsampled(x, scales.numbers("the scales of Resize").tolist(), mode, run)


@operator("Upsample", 7)
def upsample_7(x: Value, *, scales: tuple[float, ...], mode: str = "nearest", run: Run) -> Value:
    """The same with scales that are an attribute."""
    return _upsampled(x, list(scales), mode, run)


@operator("Upsample", 9, 10, numbers=[1])
def upsample(x: Value, scales: Value, *, mode: str = "nearest", run: Run) -> Value:
    """The same under its older name."""
    return _upsampled(x, scales.numbers("the scales of Upsample").tolist(), mode, run)


def _upsampled(x: Value, scales: list[float], mode: str, run: Run) -> Value:
    sides = _by_scales(x, list(range(x.rank)), scales)
    return _resized(x, sides, Manner("linear" if mode == "bilinear" else mode), run)


# Lengths


def _by_scales(x: Value, dims: list[int], scales: list[float]) -> list[Side]:
    """Rounded down."""
    pairs = zip(dims, scales, strict=True)
    return [Side(dim, x.shape[dim], floor(x.shape[dim] * scale), scale) for dim, scale in pairs]


def _by_sizes(x: Value, dims: list[int], sizes: list[int], policy: str) -> list[Side]:
    """As they are, or by one scale for all dims, so that none is larger, or none is smaller."""
    scales = [size / x.shape[dim] for dim, size in zip(dims, sizes, strict=True)]
    if policy == "stretch":
        return [Side(dim, x.shape[dim], size, scale) for dim, size, scale in zip(dims, sizes, scales, strict=True)]
    if policy not in ("not_larger", "not_smaller"):
        raise OnnxError("keep_aspect_ratio_policy", f"{policy!r} is none of stretch, not_larger and not_smaller")
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [Side(dim, x.shape[dim], floor(scale * x.shape[dim] + 0.5), scale) for dim in dims]


# Places, and what stands around them


def _resized(x: Value, sides: list[Side], manner: Manner, run: Run) -> Value:
    shape = list(x.shape)
    for side in sides:
        shape[side.dim] = side.length
    check_elements("Resize", shape, run)
    is_exact = manner.mode == "nearest"
    tensor = x.tensor if is_exact else widened(x.tensor if x.is_float else x.tensor.float())
    for side in sides:
        places = _places(side, manner.places)
        if not np.array_equal(places, np.arange(side.given)):
            tensor = _along(tensor, side, places, manner)
    return cast_to(Value(tensor), x.dtype)


def _places(side: Side, way: str) -> Numbers:
    """Where in the input each element of the result is: in float32, in which a scale of 0.8 is as good as 4 / 5."""
    here = np.arange(side.length, dtype=np.float32)
    given, scale = side.given, np.float32(side.scale)
    whole = side.scale * given
    if way == "asymmetric":
        return here / scale
    if way == "align_corners":
        return here * ((given - 1) / (whole - 1)) if whole != 1 else here * 0.0
    if way == "tf_crop_and_resize":
        share = here / (side.length - 1) if side.length > 1 else here + 0.5
        return (side.start + share * (side.end - side.start)) * (given - 1)
    if way == "tf_half_pixel_for_nn":
        return (here + 0.5) / scale
    if way == "pytorch_half_pixel" and side.length == 1:
        return here
    if way in ("half_pixel", "pytorch_half_pixel"):
        return (here + 0.5) / scale - 0.5
    if way == "half_pixel_symmetric":
        return given / 2 * (1 - side.length / whole) + (here + 0.5) / scale - 0.5
    raise OnnxError("coordinate_transformation_mode", f"there is no {way!r}")


def _along(x: AnyTensor, side: Side, places: Numbers, manner: Manner) -> AnyTensor:
    """One dim."""
    shape = [side.length if dim == side.dim else 1 for dim in range(x.rank)]
    if manner.mode == "nearest":
        result = _entries(x, side, _nearest(places, manner.nearest))
    else:
        numbers, weights = _around(side, places, manner)
        terms = [
            _entries(x, side, numbers[:, at]) * Tensor.from_data(weights[:, at].reshape(shape), x.device, x.dtype)
            for at in range(numbers.shape[1])
        ]
        result = terms[0]
        for term in terms[1:]:
            result = result + term
    is_outside = (places < 0) | (places > side.given - 1)
    if manner.places != "tf_crop_and_resize" or not is_outside.any():
        return result
    mask = Tensor.from_data(is_outside.reshape(shape), x.device).expand(result.shape)
    return result.mask_fill(mask, manner.extrapolation)


def _entries(x: AnyTensor, side: Side, numbers: Numbers) -> AnyTensor:
    """Those of a dim; beyond an end stands the last."""
    inside = numbers.clip(0, side.given - 1).astype(np.int64)
    return x.select(side.dim, Tensor.from_data(inside, x.device, x.device.int_dtype))


def _nearest(places: Numbers, way: str) -> Numbers:
    ways = {
        "round_prefer_floor": lambda: np.ceil(places - 0.5),
        "round_prefer_ceil": lambda: np.floor(places + 0.5),
        "floor": lambda: np.floor(places),
        "ceil": lambda: np.ceil(places),
    }
    if way not in ways:
        raise OnnxError("nearest_mode", f"{way!r} is none of {', '.join(ways)}")
    found: Numbers = ways[way]()
    return found


def _around(side: Side, places: Numbers, manner: Manner) -> tuple[Numbers, Numbers]:
    """The elements around each place, and their weights, whose sum is 1: ``(length, elements)``.

    With ``antialias`` a smaller result is a mean over more elements: as many as come together in one.
    """
    if manner.mode not in ("linear", "cubic"):
        raise OnnxError("the mode of Resize", f"{manner.mode!r} is none of nearest, linear and cubic")
    stretch = min(side.scale, 1.0) if manner.antialias else 1.0
    reach = (1 if manner.mode == "linear" else 2) / stretch
    lowest = np.floor(places)[:, np.newaxis]
    numbers = lowest + np.arange(floor(-reach) + 1, ceil(reach) + 1)
    distances = np.abs(numbers - places[:, np.newaxis]) * stretch
    weights = np.maximum(1 - distances, 0.0) if manner.mode == "linear" else cubic(distances, manner.cubic)
    if manner.exclude_outside:
        weights = np.where((numbers >= 0) & (numbers < side.given), weights, 0.0)
    return numbers, weights / weights.sum(1, keepdims=True)


def cubic(distances: Numbers, a: float) -> Numbers:
    """The weights of cubic convolution: Keys 1981, "Cubic Convolution Interpolation for Digital Image Processing"."""
    return np.where(distances < 1, cubic_near(distances, a), np.where(distances < 2, cubic_far(distances, a), 0.0))


def cubic_near(distance: Any, a: float) -> Any:
    """At a distance from 0 to 1, of a tensor too."""
    return ((a + 2) * distance - (a + 3)) * distance * distance + 1


def cubic_far(distance: Any, a: float) -> Any:
    """At a distance from 1 to 2."""
    return (((distance - 5) * distance + 8) * distance - 4) * a
