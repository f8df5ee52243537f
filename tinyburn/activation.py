"""Activation functions. Each takes a Float tensor of any shape and returns one of the same shape and dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tinyburn.base.shape import normalize_dim
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_scalar, check_tensor

if TYPE_CHECKING:
    from tinyburn.backend import Backend

B = TypeVar("B", bound="Backend")
D = TypeVar("D")


def relu(x: Tensor[B, D]) -> Tensor[B, D]:
    """``max(x, 0)``. Its slope at 0 is taken as 0."""
    check_tensor("relu", x)
    return x._new(x.backend.relu(x._of_kind("relu", "float")))


def leaky_relu(x: Tensor[B, D], negative_slope: float = 0.01) -> Tensor[B, D]:
    """``x`` above 0, else ``negative_slope * x``."""
    check_tensor("leaky_relu", x)
    slope = check_scalar("leaky_relu", x, negative_slope)
    return x._new(x.backend.leaky_relu(x._of_kind("leaky_relu", "float"), slope))


def sigmoid(x: Tensor[B, D]) -> Tensor[B, D]:
    """``1 / (1 + exp(-x))``, from 0 to 1."""
    check_tensor("sigmoid", x)
    return x._new(x.backend.sigmoid(x._of_kind("sigmoid", "float")))


def tanh(x: Tensor[B, D]) -> Tensor[B, D]:
    """The hyperbolic tangent, from -1 to 1."""
    check_tensor("tanh", x)
    return x.tanh()


def silu(x: Tensor[B, D]) -> Tensor[B, D]:
    """``x * sigmoid(x)``, also called swish."""
    check_tensor("silu", x)
    return x._new(x.backend.silu(x._of_kind("silu", "float")))


def gelu(x: Tensor[B, D]) -> Tensor[B, D]:
    """``x * P(N <= x)`` for a standard normal N, exactly, by erf (Hendrycks and Gimpel 2016)."""
    check_tensor("gelu", x)
    return x._new(x.backend.gelu(x._of_kind("gelu", "float")))


def softplus(x: Tensor[B, D], beta: float = 1.0) -> Tensor[B, D]:
    """``log(1 + exp(beta * x)) / beta``: a smooth `relu`, sharper for a larger beta."""
    check_tensor("softplus", x)
    scaled = x if beta == 1.0 else x * beta
    result = x._new(x.backend.softplus(scaled._of_kind("softplus", "float")))
    return result if beta == 1.0 else result / beta


def softmax(x: Tensor[B, D], dim: int) -> Tensor[B, D]:
    """``exp(x)`` over its sum along one dim. A row of -inf alone (all masked) gives zeros."""
    check_tensor("softmax", x)
    return x._new(x.backend.softmax(x._of_kind("softmax", "float"), normalize_dim("softmax", dim, x.shape)))


def log_softmax(x: Tensor[B, D], dim: int) -> Tensor[B, D]:
    """The logarithm of `softmax`, exact also where that is too small for the dtype."""
    check_tensor("log_softmax", x)
    return x._new(x.backend.log_softmax(x._of_kind("log_softmax", "float"), normalize_dim("log_softmax", dim, x.shape)))
