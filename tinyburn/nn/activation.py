"""Activation functions as modules, so that they show in a model's display and on its path."""

from __future__ import annotations

from typing import TypeVar

from tinyburn import activation
from tinyburn.backend import Backend
from tinyburn.module import Module
from tinyburn.tensor import Tensor

B = TypeVar("B", bound=Backend)
D = TypeVar("D")


class Relu(Module):
    """See `tinyburn.activation.relu`."""

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.relu(x)


class Gelu(Module):
    """See `tinyburn.activation.gelu`."""

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.gelu(x)


class Tanh(Module):
    """See `tinyburn.activation.tanh`."""

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.tanh(x)


class Sigmoid(Module):
    """See `tinyburn.activation.sigmoid`."""

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.sigmoid(x)
