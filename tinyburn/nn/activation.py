"""Activation functions without settings as modules, so that they show in a model's display and on its path."""

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
    """See `tinyburn.activation.gelu`; with ``approximate`` it is `tinyburn.activation.gelu_approximate`."""

    def __init__(self, approximate: bool = False) -> None:
        self.approximate = approximate

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.gelu_approximate(x) if self.approximate else activation.gelu(x)


class Sigmoid(Module):
    """See `tinyburn.activation.sigmoid`."""

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.sigmoid(x)


class Tanh(Module):
    """See `tinyburn.activation.tanh`."""

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.tanh(x)


class Silu(Module):
    """See `tinyburn.activation.silu`."""

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.silu(x)


class Mish(Module):
    """See `tinyburn.activation.mish`."""

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.mish(x)


class Selu(Module):
    """See `tinyburn.activation.selu`."""

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.selu(x)


class HardSwish(Module):
    """See `tinyburn.activation.hard_swish`."""

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.hard_swish(x)


class LogSigmoid(Module):
    """See `tinyburn.activation.log_sigmoid`."""

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.log_sigmoid(x)


class Softsign(Module):
    """See `tinyburn.activation.softsign`."""

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.softsign(x)


class Tanhshrink(Module):
    """See `tinyburn.activation.tanhshrink`."""

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept."""
        return activation.tanhshrink(x)
