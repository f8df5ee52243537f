"""What all normalisations do: numbers with mean 0 and variance 1, then a scale and an offset for each channel."""

from __future__ import annotations

from typing import Any, TypeVar

from tinyburn.backend import Backend
from tinyburn.base.dtype import DType
from tinyburn.tensor import Tensor

B = TypeVar("B", bound=Backend)
D = TypeVar("D")

AnyTensor = Tensor[Any, Any]


def widened(x: AnyTensor) -> AnyTensor:
    """Float16 as float32, as a sum has it inside: squares would overflow from 256 on. Any other format as it is."""
    return x._ask("cast", DType.FLOAT32) if x.dtype is DType.FLOAT16 else x


def narrowed(x: AnyTensor, dtype: DType) -> AnyTensor:
    """Back in the format that `widened` was given."""
    return x if x.dtype is dtype else x._ask("cast", dtype)


def standardized(x: Tensor[B, D], dims: tuple[int, ...], epsilon: float) -> Tensor[B, D]:
    """``(x - mean) / sqrt(variance + epsilon)``, with mean and biased variance over some dims.

    It multiplies by the root's reciprocal, which is small, so that the backward pass keeps one large buffer for the
    product and divides no large one.
    """
    wide = widened(x)
    centred = wide - wide.mean_dims(dims)
    variance = (centred**2).mean_dims(dims)
    return narrowed(centred * (variance + epsilon).sqrt().recip(), x.dtype)


def by_channel(values: AnyTensor, rank: int) -> AnyTensor:
    """One number for each channel, ``(channels,)``, as it meets a batch ``(batch, channels, …)`` of some rank."""
    return values.reshape((1, values.shape[0], *(1,) * (rank - 2)))
