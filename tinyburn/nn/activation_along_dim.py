"""Activation functions along one dim as modules."""

from __future__ import annotations

from typing import TypeVar

from tinyburn import activation
from tinyburn.backend import Backend
from tinyburn.module import Module
from tinyburn.tensor import Tensor

B = TypeVar("B", bound=Backend)
D = TypeVar("D")


class Softmax(Module):
    """See `tinyburn.activation.softmax`."""

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.softmax(x, self.dim)


class LogSoftmax(Module):
    """See `tinyburn.activation.log_softmax`."""

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.log_softmax(x, self.dim)


class Glu(Module):
    """See `tinyburn.activation.glu`. In Burn it is called GLU."""

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape with an even size in the dim, which becomes half as large."""
        return activation.glu(x, self.dim)
