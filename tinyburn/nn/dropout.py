"""Dropout: some elements are set to 0 by chance while a model trains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.base.distribution import Distribution
from tinyburn.module import Config, Module
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_tensor, reject_dtype

from .checks import not_a_share

B = TypeVar("B", bound=Backend)
D = TypeVar("D")


@dataclass(frozen=True)
class DropoutConfig(Config):
    """Each element is dropped with probability ``prob``."""

    prob: float = 0.5

    def problems(self) -> list[str]:
        """What is no probability."""
        return not_a_share(prob=self.prob)

    def init(self, device: Device[Any] | None = None) -> Dropout:
        """The layer. It has no parameters, so it needs no device; one may be given, as to every other config."""
        return Dropout(self.prob)


class Dropout(Module):
    """Sets each element to 0 with probability ``prob``, and divides the others by ``1 - prob``: the mean stays.

    Srivastava et al. 2014, "Dropout: A Simple Way to Prevent Neural Networks from Overfitting". It does so on a backend
    with autodiff, and returns its input on one without: ``model.valid()`` is the model to evaluate. There is no switch
    that could be forgotten.

    What is dropped is drawn by the device's own generator (see ``device.seed``), once for each forward pass: the
    backward pass uses the same mask, also where it computes activations again.
    """

    def __init__(self, prob: float) -> None:
        self.prob = prob

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept. Raises DTypeMismatch if the input is not Float."""
        check_tensor("Dropout", x)
        if x.primitive.dtype.kind != "f":
            raise reject_dtype("Dropout", x, "float")
        if self.prob == 0 or not x.backend.is_autodiff:
            return x
        kept = x.random_like(Distribution.Bernoulli(1 - self.prob))
        scale = 1 / (1 - self.prob) if self.prob < 1 else 0.0
        return x._ask("scaled_mul", kept, scale)  # one buffer for both products
