"""What all normalisations do: numbers with mean 0 and variance 1, then a scale and an offset for each channel."""

from __future__ import annotations

from typing import Any, TypeVar

from tinyburn.backend import Backend
from tinyburn.base.dtype import DType
from tinyburn.tensor import Tensor

B = TypeVar("B", bound=Backend)
D = TypeVar("D")

AnyTensor = Tensor[Any, Any]


NAMES_IN_TORCH = {"gamma": "weight", "beta": "bias"}
"""PyTorch's words for scale and offset."""


def widened(x: AnyTensor) -> AnyTensor:
    """Float16 as float32, as a sum has it inside: squares would overflow from 256 on. Any other format as it is."""
    return x._ask("cast", DType.FLOAT32) if x.dtype is DType.FLOAT16 else x


def narrowed(x: AnyTensor, dtype: DType) -> AnyTensor:
    """Back in the format that `widened` was given."""
    return x if x.dtype is dtype else x._ask("cast", dtype)


def standardized(x: Tensor[B, D], dims: tuple[int, ...], epsilon: float) -> Tensor[B, D]:
    """``(x - mean) / sqrt(variance + epsilon)``, with mean and biased variance over some dims, from 0 on."""
    wide = widened(x)
    return narrowed(standardized_by(wide, *statistics(wide, dims), dims, epsilon), x.dtype)


def statistics(x: Tensor[B, D], dims: tuple[int, ...]) -> tuple[Tensor[B, D], Tensor[B, D]]:
    """Mean and biased variance over some dims, which stay at size 1, in no graph."""
    constant = x.detach()
    mean = constant.mean_dims(dims)
    return mean, constant._ask("squared_difference", mean).mean_dims(dims)


def standardized_by(
    x: Tensor[B, D], mean: Tensor[B, D], variance: Tensor[B, D], dims: tuple[int, ...], epsilon: float
) -> Tensor[B, D]:
    """The same with the `statistics` that it has. That these depend on ``x`` too, the derivative of the operation says.

    So there is one node for all of it. It keeps its result, and the small reciprocal of the root.
    """
    return x._ask("standardize", mean, (variance + epsilon).sqrt().recip(), dims)


def by_channel(values: AnyTensor, rank: int) -> AnyTensor:
    """One number for each channel, ``(channels,)``, as it meets a batch ``(batch, channels, …)`` of some rank."""
    return values.reshape((1, values.shape[0], *(1,) * (rank - 2)))
