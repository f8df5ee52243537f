"""What all normalisations do: numbers with mean 0 and variance 1, then a scale and an offset for each channel."""

from __future__ import annotations

from typing import Any, TypeVar

from tinyburn.backend import Backend
from tinyburn.tensor import Tensor

B = TypeVar("B", bound=Backend)
D = TypeVar("D")

AnyTensor = Tensor[Any, Any]


NAMES_IN_TORCH = {"gamma": "weight", "beta": "bias"}
"""PyTorch's words for scale and offset."""


def standardized(x: Tensor[B, D], dims: tuple[int, ...], epsilon: float) -> Tensor[B, D]:
    """``(x - mean) / sqrt(variance + epsilon)``, with mean and biased variance over some dims.

    It multiplies by the root's reciprocal, which is small, so that the backward pass keeps one large buffer for the
    product and divides no large one.
    """
    centred = x - x.mean_dims(dims)
    variance = (centred**2).mean_dims(dims)
    return centred * (variance + epsilon).sqrt().recip()


def by_channel(values: AnyTensor, rank: int) -> AnyTensor:
    """One number for each channel, ``(channels,)``, as it meets a batch ``(batch, channels, …)`` of some rank."""
    return values.reshape((1, values.shape[0], *(1,) * (rank - 2)))
