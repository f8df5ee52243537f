"""What slides a window over an input: convolutions and pools, in any number of spatial dims."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import TypeAlias

from tinyburn.activation import silu
from tinyburn.backend.convolution import ConvOptions
from tinyburn.base.errors import OnnxError
from tinyburn.nn.geometry import Geometry, geometry_problems
from tinyburn.nn.padding import Explicit
from tinyburn.nn.pool import avg_pool, max_pool, padded
from tinyburn.onnx.graph import Run
from tinyburn.onnx.table import operator
from tinyburn.onnx.values import AnyTensor, Value, reshaped
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_operands

from .creation import check_elements

Ints: TypeAlias = tuple[int, ...]
Pairs: TypeAlias = tuple[tuple[int, int], ...]


# How windows slide


def geometry_of(
    x: Value,
    sizes: Ints,
    run: Run,
    auto_pad: str = "NOTSET",
    pads: Ints | None = None,
    strides: Ints | None = None,
    dilations: Ints | None = None,
) -> Geometry:
    """From an operator's attributes. Raises OnnxError for numbers that no windows have, and for too large an input."""
    geometry, padded = _geometry(x.shape, sizes, auto_pad, pads, strides, dilations)
    check_elements("the padding", padded, run)
    return geometry


@lru_cache(maxsize=256)
def _geometry(
    shape: Ints, sizes: Ints, auto_pad: str, pads: Ints | None, strides: Ints | None, dilations: Ints | None
) -> tuple[Geometry, Ints]:
    """How the windows slide over an input of a shape, and its shape with the padding."""
    ones, dims = (1,) * len(sizes), len(shape) - 2
    stride, dilation = strides or ones, dilations or ones
    problems = geometry_problems(dims, sizes, stride, dilation, Explicit(pads or (0,) * dims))
    if auto_pad not in ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"):
        problems.append(f"auto_pad is {auto_pad!r}, and none of NOTSET, SAME_UPPER, SAME_LOWER and VALID")
    if problems:
        raise OnnxError("windows", problems, given={"input": shape})
    if auto_pad.startswith("SAME"):
        pads = _halves(_missing(shape, sizes, stride, dilation), more_at_end=auto_pad == "SAME_UPPER")
    if not pads or auto_pad == "VALID":
        pads = (0,) * len(sizes)
    geometry = Geometry(tuple(sizes), stride, dilation, Explicit(pads))
    return geometry, (*shape[:2], *geometry.options(shape[2:]).padded(shape[2:]))


def _missing(shape: Ints, sizes: Ints, stride: Ints, dilation: Ints) -> list[int]:
    """How much padding makes the number of windows that of the elements over the stride, rounded up."""
    spans = zip(shape[2:], sizes, stride, dilation, strict=True)
    return [max((-(-n // step) - 1) * step + (size - 1) * apart + 1 - n, 0) for n, size, step, apart in spans]


def _halves(totals: list[int], more_at_end: bool) -> Ints:
    """All that comes before, then all that comes after. Of an odd number one side has one more."""
    less, more = [total // 2 for total in totals], [total - total // 2 for total in totals]
    return tuple(less + more if more_at_end else more + less)


# Convolutions


@operator("Conv", 1, 11, 22)
def conv(
    x: Value,
    weight: Value,
    bias: Value | None = None,
    *,
    group: int = 1,
    kernel_shape: Ints | None = None,
    auto_pad: str = "NOTSET",
    pads: Ints | None = None,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    run: Run,
) -> Value:
    """See `nn.Conv2d`. Padding may differ at the two ends of a dim."""
    _check_kernel(weight, kernel_shape)
    geometry = geometry_of(x, weight.shape[2:], run, auto_pad, pads, strides, dilations)
    return _biased(Value(convolved(x.tensor, weight.tensor, geometry, group)), bias)


def convolved(x: AnyTensor, weight: AnyTensor, geometry: Geometry, group: int) -> AnyTensor:
    """A convolution of floats or of whole numbers."""
    geometry.check("Conv", x, weight.shape[1] * group, weight=weight.shape)
    check_operands("Conv", x, weight, shapes=False)
    options = geometry.options(x.shape[2:], group)
    return x._new(x.device.backend.conv(x.primitive, weight.primitive, options))


def _check_kernel(weight: Value, kernel_shape: Ints | None) -> None:
    if kernel_shape is not None and kernel_shape != weight.shape[2:]:
        raise OnnxError("kernel_shape", f"it is {kernel_shape}, and the weight has {weight.shape[2:]}")


def _biased(x: Value, bias: Value | None) -> Value:
    return x if bias is None else Value(x.tensor + bias.tensor.reshape((1, -1, *[1] * (x.rank - 2))))


@operator("ConvTranspose", 1, 11, 22)
def conv_transpose(
    x: Value,
    weight: Value,
    bias: Value | None = None,
    *,
    group: int = 1,
    kernel_shape: Ints | None = None,
    auto_pad: str = "NOTSET",
    pads: Ints | None = None,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    output_padding: Ints | None = None,
    output_shape: Ints | None = None,
    run: Run,
) -> Value:
    """See `nn.ConvTranspose2d`. What is asked for beyond the end of the windows is 0."""
    _check_kernel(weight, kernel_shape)
    geometry = geometry_of(x, weight.shape[2:], run, "NOTSET", pads, strides, dilations)
    more = output_padding or (0,) * geometry.dims
    if auto_pad in ("SAME_UPPER", "SAME_LOWER") and output_shape is None:
        output_shape = tuple([n * step for n, step in zip(x.shape[2:], geometry.stride, strict=True)])
    part = _inside(x, geometry, more)
    if output_shape is not None:
        part = _centre(x, geometry, more, output_shape, auto_pad)
    for lengths in (part[1], _whole_lengths(x, geometry)):
        check_elements("ConvTranspose", (x.shape[0], weight.shape[1] * group, *lengths), run)
    return _biased(Value(_transposed(x.tensor, weight.tensor, geometry, group, *part)), bias)


def _inside(x: Value, geometry: Geometry, more: Ints) -> tuple[Ints, Ints]:
    """What the padding leaves, with some more at the end: where it starts, and its lengths."""
    pads = geometry.options(x.shape[2:]).padding
    lengths = [n + end - sum(pair) for n, end, pair in zip(_whole_lengths(x, geometry), more, pads, strict=True)]
    return tuple([start for start, _ in pads]), tuple(lengths)


def _centre(x: Value, geometry: Geometry, more: Ints, shape: Ints, auto_pad: str) -> tuple[Ints, Ints]:
    """Some lengths from the middle: where they start. Of an odd rest more is cut off at the start or the end."""
    lengths = shape[-geometry.dims :]
    dims = zip(_whole_lengths(x, geometry), more, lengths, strict=True)
    surplus = [max(n + end - length, 0) for n, end, length in dims]
    return _halves(surplus, more_at_end=auto_pad == "SAME_UPPER")[: geometry.dims], lengths


def _whole_lengths(x: Value, geometry: Geometry) -> Ints:
    """Those of all windows together."""
    dims = zip(x.shape[2:], geometry.sizes, geometry.stride, geometry.dilation, strict=True)
    return tuple([(n - 1) * step + (size - 1) * apart + 1 for n, size, step, apart in dims])


def _transposed(
    x: AnyTensor, weight: AnyTensor, geometry: Geometry, group: int, starts: Ints, wanted: Ints
) -> AnyTensor:
    """All windows, without what lies before the starts and behind the lengths that are wanted."""
    geometry.check("ConvTranspose", x, weight.shape[0], needs_room=False, weight=weight.shape)
    check_operands("ConvTranspose", x, weight, shapes=False)
    whole = _whole_lengths(Value(x), geometry)
    cut = tuple([(start, max(n - start - length, 0)) for n, start, length in zip(whole, starts, wanted, strict=True)])
    there = tuple([n - sum(pair) for n, pair in zip(whole, cut, strict=True)])
    if min(there) < 1:
        raise OnnxError("ConvTranspose", f"the padding leaves nothing of the output, whose lengths would be {there}")
    options = ConvOptions(geometry.stride, cut, geometry.dilation, group)
    result = x._new(x.device.backend.conv_transpose(x.primitive, weight.primitive, there, options))
    missing = [(0, length - n) for n, length in zip(there, wanted, strict=True)]
    return result.pad(missing) if any(map(sum, missing)) else result


@operator("CausalConvWithState", 27)
def causal_conv_with_state(
    x: Value,
    weight: Value,
    bias: Value | None = None,
    past: Value | None = None,
    *,
    activation: str = "none",
    run: Run,
) -> tuple[Value, Value]:
    """Each channel by a kernel of its own, which sees what came before; and the end of it, for the next call."""
    kept = weight.shape[2] - 1
    before = Tensor.zeros((*x.shape[:2], kept), x.tensor.device, x.tensor.dtype) if past is None else past.tensor
    whole = Tensor.cat([before, x.tensor], 2)
    geometry = geometry_of(Value(whole), weight.shape[2:], run)
    result = _biased(Value(convolved(whole, weight.tensor, geometry, x.shape[1])), bias)
    if activation not in ("none", "silu", "swish"):
        raise OnnxError("activation", f"{activation!r} is none of none, silu and swish")
    end = Value(whole.narrow(2, whole.shape[2] - kept, kept))
    return result if activation == "none" else Value(silu(result.tensor)), end


# Pools


def _pool_geometry(
    x: Value,
    kernel_shape: Ints,
    auto_pad: str,
    pads: Ints | None,
    strides: Ints | None,
    dilations: Ints | None,
    ceil_mode: int,
    run: Run,
) -> tuple[Geometry, Pairs]:
    """The windows, and what stands beyond the padding, so that the last windows are whole.

    With ``ceil_mode`` a last window counts that begins in the input or the padding before it.
    """
    lengths = x.shape[2:]
    geometry = geometry_of(x, kernel_shape, run, auto_pad, pads, strides, dilations)
    if not ceil_mode or auto_pad != "NOTSET":
        return geometry, ((0, 0),) * geometry.dims
    beyond = []
    for dim, (before, after) in enumerate(geometry.options(lengths).padding):
        step, span = geometry.stride[dim], (geometry.sizes[dim] - 1) * geometry.dilation[dim] + 1
        count = -(-(before + lengths[dim] + after - span) // step) + 1
        count -= (count - 1) * step >= before + lengths[dim]
        beyond.append((0, max((count - 1) * step + span - before - lengths[dim] - after, 0)))
    return geometry, tuple(beyond)


def _widened(geometry: Geometry, lengths: Ints, beyond: Pairs, has_pads: bool) -> Geometry:
    """The same windows with the padding, if that is not there already, and with what stands beyond it."""
    pads = geometry.options(lengths).padding if has_pads else ((0, 0),) * geometry.dims
    starts = [a for a, _ in pads]
    ends = [b + more for (_, b), (_, more) in zip(pads, beyond, strict=True)]
    return Geometry(geometry.sizes, geometry.stride, geometry.dilation, Explicit((*starts, *ends)))


def _pooled(pool: Callable[[AnyTensor, Geometry], AnyTensor], x: AnyTensor, geometry: Geometry) -> AnyTensor:
    """Of more than two dims, one after another: what holds for a box holds along each of its sides."""
    geometry.check("pool", x, None)
    if geometry.dims <= 2:
        return pool(x, geometry)
    pads = geometry.options(x.shape[2:]).padding
    for dim, pair in enumerate(pads):
        before, length, after = prod(x.shape[: dim + 2]), x.shape[dim + 2], x.shape[dim + 3 :]
        side = Geometry(
            (geometry.sizes[dim], 1),
            (geometry.stride[dim], 1),
            (geometry.dilation[dim], 1),
            Explicit((pair[0], 0, pair[1], 0)),
        )
        flat = pool(x.reshape((before, 1, length, prod(after))), side)
        x = flat.reshape((*x.shape[: dim + 2], flat.shape[2], *after))
    return x


@operator("MaxPool", 1, 8, 10, 11, 12, 22)
def maximum_pool(
    x: Value,
    *,
    kernel_shape: Ints,
    auto_pad: str = "NOTSET",
    pads: Ints | None = None,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    ceil_mode: int = 0,
    storage_order: int = 0,
    count: int,
    run: Run,
) -> Value | tuple[Value, Value]:
    """The largest of each window, and if that is asked for, where it stands: its place among all elements."""
    geometry, beyond = _pool_geometry(x, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode, run)
    geometry = _widened(geometry, x.shape[2:], beyond, has_pads=True)
    floats = x.tensor if x.is_float else x.tensor.cast("float32")  # exact for the whole numbers of 8 bits
    if count == 1:
        result = _pooled(lambda one, windows: max_pool("MaxPool", one, windows), floats, geometry)
        return Value(result.cast(x.dtype))
    result, places = _with_places(floats, _places(x, storage_order), geometry)
    return Value(result.cast(x.dtype)), Value(places)


def _places(x: Value, storage_order: int) -> AnyTensor:
    """The number of each element; with 1 as ``storage_order`` the first spatial dim is the one that runs fastest."""
    lengths = x.shape[2:]
    numbers = Tensor.arange(0, prod(x.shape), x.tensor.device)
    if not storage_order:
        return numbers.reshape(x.shape)
    order = (0, 1, *range(x.rank - 1, 1, -1))
    return numbers.reshape((*x.shape[:2], *reversed(lengths))).permute(*order)


def _with_places(x: AnyTensor, places: AnyTensor, geometry: Geometry) -> tuple[AnyTensor, AnyTensor]:
    """Of equal elements the first: along the last dim first, so that rows decide before columns."""
    geometry.check("pool", x, None)
    pads = geometry.options(x.shape[2:]).padding
    x, places = padded(x, pads, -float("inf")), padded(places, pads, 0)
    for dim in range(geometry.dims - 1, -1, -1):
        window = (dim + 2, geometry.sizes[dim], geometry.stride[dim], geometry.dilation[dim])
        values, numbers = x.unfold(*window), places.unfold(*window)
        first = values.argmax(-1)
        x, places = values.gather(-1, first).squeeze(-1), numbers.gather(-1, first).squeeze(-1)
    return x, places


@operator("AveragePool", 7, 10, 11, 19, 22)
def average_pool(
    x: Value,
    *,
    kernel_shape: Ints,
    auto_pad: str = "NOTSET",
    pads: Ints | None = None,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    run: Run,
) -> Value:
    """The mean of each window. The padding counts only if that is asked for, and what stands beyond it never."""
    geometry, beyond = _pool_geometry(x, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode, run)
    tensor = x.tensor
    if count_include_pad:
        tensor = padded(tensor, geometry.options(x.shape[2:]).padding, 0.0)
    geometry = _widened(geometry, x.shape[2:], beyond, has_pads=not count_include_pad)
    return Value(_pooled(lambda one, windows: avg_pool("AveragePool", one, windows, False), tensor, geometry))


@operator("LpPool", 2, 11, 18, 22)
def lp_pool(
    x: Value,
    *,
    kernel_shape: Ints,
    p: int = 2,
    auto_pad: str = "NOTSET",
    pads: Ints | None = None,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    ceil_mode: int = 0,
    run: Run,
) -> Value:
    """The length of each window as a vector: the root of the sum of powers."""
    geometry, beyond = _pool_geometry(x, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode, run)
    geometry = _widened(geometry, x.shape[2:], beyond, has_pads=True)
    powers = x.tensor.abs().powf_scalar(p)
    means = _pooled(lambda one, windows: avg_pool("LpPool", one, windows, True), powers, geometry)
    return Value((means * prod(kernel_shape)).powf_scalar(1 / p))


# Over all places


@operator("GlobalAveragePool", 1, 22)
def global_average_pool(x: Value) -> Value:
    """The mean of each channel."""
    return Value(x.tensor.mean_dims(tuple(range(2, x.rank))))


@operator("GlobalMaxPool", 1, 22)
def global_max_pool(x: Value) -> Value:
    """The largest of each channel."""
    return Value(x.tensor.max_dims(tuple(range(2, x.rank))))


@operator("GlobalLpPool", 2, 22)
def global_lp_pool(x: Value, *, p: int = 2) -> Value:
    """The length of each channel as a vector."""
    return Value(x.tensor.abs().powf_scalar(p).sum_dims(tuple(range(2, x.rank))).powf_scalar(1 / p))


# The way back


@operator("MaxUnpool", 9, 11, 22, numbers=[2])
def max_unpool(
    x: Value,
    places: Value,
    output_shape: Value | None = None,
    *,
    kernel_shape: Ints,
    pads: Ints | None = None,
    strides: Ints | None = None,
    run: Run,
) -> Value:
    """Each element at the place where `MaxPool` found it, and 0 elsewhere. One found twice stands there once."""
    geometry = geometry_of(x, kernel_shape, run, "NOTSET", pads, strides)
    pairs = geometry.options(x.shape[2:]).padding
    lengths = [n - sum(pair) for n, pair in zip(_whole_lengths(x, geometry), pairs, strict=True)]
    shape = (*x.shape[:2], *lengths)
    check_elements("MaxUnpool", shape, run)
    zeros = Tensor.zeros((prod(shape),), x.tensor.device, x.tensor.dtype)
    where, values = places.tensor.flatten(), x.tensor.flatten()
    sums = zeros.select_assign(0, where, values)
    times = zeros.select_assign(0, where, values.ones_like())
    result = reshaped(Value(sums / times.clamp_min(1.0)), shape)
    if output_shape is None:
        return result
    wanted = output_shape.ints("the output_shape of MaxUnpool")
    check_elements("MaxUnpool", wanted, run)
    return Value(result.tensor.pad([(0, length - n) for n, length in zip(shape, wanted, strict=True)]))
