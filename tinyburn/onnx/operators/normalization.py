"""Normalizations: by the statistics of a batch, a sample, a group of channels or some dims; and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyburn.base.distribution import Distribution
from tinyburn.base.dtype import DType
from tinyburn.nn.normalize import narrowed, standardized, standardized_by, statistics, widened
from tinyburn.onnx.table import operator
from tinyburn.onnx.values import AnyTensor, Value, lifted
from tinyburn.tensor import Tensor

from .creation import cast_to


def _by_channel(values: Value, rank: int, dtype: DType) -> AnyTensor:
    """A number for each channel, or for each element of a sample, as it meets a batch."""
    shape = (1, *values.shape, *(1,) * (rank - 1 - values.rank))
    return narrowed(values.tensor, dtype).reshape(shape[:rank])


# By the statistics of a batch


@operator("BatchNormalization", 14, 15, fixed=[3, 4])
def batch_normalization(
    x: Value,
    scale: Value,
    bias: Value,
    mean: Value,
    variance: Value,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
) -> Value | tuple[Value, ...]:
    """By statistics for each channel, which are given, or in training mode those of the batch.

    In training mode the running statistics come out too: ``momentum`` is the share of the old ones.
    """
    if not training_mode:
        return _by_statistics(x, scale, bias, mean, variance, epsilon)
    result, *batch = _by_batch(x, scale, bias, epsilon)
    running = zip((mean, variance), batch, strict=True)
    return result, *[_mixed(old, new, momentum) for old, new in running]


@operator("BatchNormalization", 7, 9, fixed=[3, 4])
def batch_normalization_9(
    x: Value,
    scale: Value,
    bias: Value,
    mean: Value,
    variance: Value,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    spatial: int = 1,
    count: int,
) -> Value | tuple[Value, ...]:
    """Before version 14: it trains if further outputs are asked for; with ``spatial=0`` each element has statistics."""
    if count == 1:
        return _by_statistics(x, scale, bias, mean, variance, epsilon)
    result, *batch = _by_batch(x, scale, bias, epsilon, spatial)
    running = [_mixed(old, new, momentum) for old, new in zip((mean, variance), batch, strict=True)]
    return result, *running, *batch


def _by_statistics(x: Value, scale: Value, bias: Value, mean: Value, variance: Value, epsilon: float) -> Value:
    """A product and a sum for each channel."""
    wide = widened(x.tensor)
    each = [_by_channel(value, wide.rank, wide.dtype) for value in (scale, bias, mean, variance)]
    factor = each[0] * (each[3] + epsilon).sqrt().recip()
    return Value(narrowed(wide * factor + (each[1] - each[2] * factor), x.tensor.dtype))


def _by_batch(x: Value, scale: Value, bias: Value, epsilon: float, spatial: int = 1) -> tuple[Value, Value, Value]:
    """The result, and mean and variance of the batch, in the shape of the scale."""
    wide = widened(x.tensor)
    dims = (0, *range(2, wide.rank)) if spatial and wide.rank > 1 else (0,)
    mean, variance = statistics(wide, dims)
    factor, offset = (_by_channel(value, wide.rank, wide.dtype) for value in (scale, bias))
    result = standardized_by(wide, mean, variance, dims, epsilon) * factor + offset
    mean, variance = (one.reshape(scale.shape) for one in (mean, variance))
    return Value(narrowed(result, x.tensor.dtype)), Value(mean), Value(variance)


def _mixed(old: Value, new: Value, momentum: float) -> Value:
    return Value(old.tensor * momentum + new.tensor.cast(old.dtype) * (1 - momentum))


# By the statistics of a sample


@operator("InstanceNormalization", 6, 22)
def instance_normalization(x: Value, scale: Value, bias: Value, *, epsilon: float = 1e-5) -> Value:
    """Each channel of each sample by its own mean and variance."""
    result = standardized(x.tensor, tuple(range(2, x.rank)), epsilon)
    factor, offset = (_by_channel(value, x.rank, x.tensor.dtype) for value in (scale, bias))
    return Value(result * factor + offset)


@operator("GroupNormalization", 18)
def group_normalization_18(x: Value, scale: Value, bias: Value, *, num_groups: int, epsilon: float = 1e-5) -> Value:
    """Before version 21 scale and bias had a number for each group."""
    result = standardized(_in_groups(x, num_groups), (2,), epsilon)
    factor, offset = (_by_channel(value, 3, x.tensor.dtype) for value in (scale, bias))
    return Value((result * factor + offset).reshape(x.shape))


@operator("GroupNormalization", 21)
def group_normalization(
    x: Value, scale: Value, bias: Value, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> Value:
    """The channels of a sample in groups, each by its own mean and variance; then a scale for each channel."""
    result = standardized(_in_groups(x, num_groups), (2,), epsilon).reshape(x.shape)
    factor, offset = (_by_channel(value, x.rank, x.tensor.dtype) for value in (scale, bias))
    return Value(result * factor + offset)


def _in_groups(x: Value, groups: int) -> AnyTensor:
    return x.tensor.reshape((x.shape[0], groups, -1))


# By the statistics of some dims


@operator("LayerNormalization", 17)
def layer_normalization(
    x: Value, scale: Value, bias: Value | None = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[Value, ...]:
    """Over the dims from ``axis`` on; further outputs are the mean and the reciprocal of the standard deviation."""
    wide = widened(x.tensor)
    dims = _from(axis, x)
    mean, variance = statistics(wide, dims)
    result = Value(narrowed(standardized_by(wide, mean, variance, dims, epsilon), x.tensor.dtype))
    result = lifted(Tensor.mul, result, scale)
    result = result if bias is None else lifted(Tensor.add, result, bias)
    return result, Value(mean), Value((variance + epsilon).sqrt().recip())


@operator("RMSNormalization", 23)
def rms_normalization(x: Value, scale: Value, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Value:
    """Over the root of the mean square of the dims from ``axis`` on."""
    wide = widened(x.tensor)
    size = (wide.square().mean_dims(_from(axis, x)) + epsilon).sqrt()
    return lifted(Tensor.mul, Value(narrowed(wide / size, x.tensor.dtype)), scale)


def _from(axis: int, x: Value) -> tuple[int, ...]:
    return tuple(range(axis % x.rank, x.rank))


@operator("MeanVarianceNormalization", 9, 13)
def mean_variance_normalization(x: Value, *, axes: tuple[int, ...] = (0, 2, 3)) -> Value:
    """Mean 0 and variance 1 over some dims."""
    wide = widened(x.tensor)
    centred = wide - wide.mean_dims(axes)
    deviation = centred.square().mean_dims(axes).sqrt()
    return Value(narrowed(centred / (deviation + 1e-9), x.tensor.dtype))


@operator("LRN", 1, 13)
def local_response_normalization(
    x: Value, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Value:
    """``x / (bias + alpha / size * squares) ** beta``, with the sum of the squares of so many channels around."""
    flat = x.tensor.reshape((*x.shape[:2], -1))
    before, after = (min(more, x.shape[1]) for more in ((size - 1) // 2, size // 2))
    squares = flat.square().pad([(before, after), (0, 0)])
    sums = squares.unfold(1, before + 1 + after, 1).sum_dim(-1).squeeze(-1)
    return Value((flat / (sums * (alpha / size) + bias).powf_scalar(beta)).reshape(x.shape))


# Dropout


@operator("Dropout", 7)
def dropout_7(x: Value, *, ratio: float = 0.5) -> tuple[Value, Value]:
    """Before version 12 it keeps all, and before version 10 the mask was of the dtype of its input."""
    return x, cast_to(_all_kept(x), x.dtype)


@operator("Dropout", 10)
def dropout_10(x: Value, *, ratio: float = 0.5) -> tuple[Value, Value]:
    """Before version 12 it keeps all."""
    return x, _all_kept(x)


@operator("Dropout", 12, 13, 22, numbers=[1, 2])
def dropout(
    x: Value, ratio: Value | None = None, training_mode: Value | None = None, *, seed: int | None = None
) -> tuple[Value, Value]:
    """In training mode each element becomes 0 with a probability, and the others grow so that the mean stays.

    The second output is what was kept. With a seed this is the same on every device.
    """
    is_training = training_mode is not None and bool(training_mode.numbers("training_mode of Dropout"))
    share = 0.5 if ratio is None else float(ratio.number("the ratio of Dropout"))
    if not is_training or share == 0.0:
        return x, _all_kept(x)
    kept = _drawn(x, share, seed)
    scale = 1 / (1 - share) if share < 1 else 0.0
    return Value(x.tensor * kept.cast(x.dtype) * scale, x.is_scalar), Value(kept, x.is_scalar)


def _all_kept(x: Value) -> Value:
    return Value(Tensor.full(x.tensor.shape, True, x.tensor.device, "bool"), x.is_scalar)


def _drawn(x: Value, share: float, seed: int | None) -> AnyTensor:
    """A mask of what is kept."""
    tensor: Any = x.tensor
    if seed is None:
        return tensor.random_like(Distribution.Bernoulli(1 - share)).greater(0.5)
    draws = np.random.RandomState(seed).uniform(0.0, 1.0, tuple(tensor.shape))  # as the standard's own
    return Tensor.from_data(draws >= share, tensor.device)
