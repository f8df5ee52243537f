"""Activation functions. Each takes a Float tensor of any shape and returns one of the same shape and dtype."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import D1, normalize_dim
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


def log_sigmoid(x: Tensor[B, D]) -> Tensor[B, D]:
    """The logarithm of `sigmoid`, exact also where that is too small for the dtype: ``-softplus(-x)``."""
    check_tensor("log_sigmoid", x)
    return -softplus(-x)


def softsign(x: Tensor[B, D]) -> Tensor[B, D]:
    """``x / (1 + |x|)``, from -1 to 1, which it comes near to more slowly than `tanh`."""
    check_tensor("softsign", x)
    return x / (x.abs() + 1.0)


def tanhshrink(x: Tensor[B, D]) -> Tensor[B, D]:
    """``x - tanh(x)``."""
    check_tensor("tanhshrink", x)
    return x - x.tanh()


def gelu_approximate(x: Tensor[B, D]) -> Tensor[B, D]:
    """`gelu` by a tanh in place of the erf, nowhere off by 0.0005 (Hendrycks and Gimpel 2016)."""
    check_tensor("gelu_approximate", x)
    inside = (x * x * 0.044715 + 1.0) * x * math.sqrt(2 / math.pi)
    return x * (inside.tanh() + 1.0) * 0.5


def mish(x: Tensor[B, D]) -> Tensor[B, D]:
    """``x * tanh(softplus(x))`` (Misra 2019)."""
    check_tensor("mish", x)
    return x * softplus(x).tanh()


def elu(x: Tensor[B, D], alpha: float = 1.0) -> Tensor[B, D]:
    """``x`` above 0, else ``alpha * (exp(x) - 1)``, whose slope at 0 is alpha (Clevert et al. 2015)."""
    check_tensor("elu", x)
    return relu(x) + (x.clamp_max(0.0).exp() - 1.0) * alpha


def celu(x: Tensor[B, D], alpha: float = 1.0) -> Tensor[B, D]:
    """``x`` above 0, else ``alpha * (exp(x / alpha) - 1)``: an `elu` whose slope at 0 is 1 for every alpha."""
    check_tensor("celu", x)
    return relu(x) + ((x.clamp_max(0.0) * (1 / alpha)).exp() - 1.0) * alpha


def selu(x: Tensor[B, D]) -> Tensor[B, D]:
    """A scaled `elu` with constants that bring a deep net's activations to mean 0 and variance 1.

    Klambauer et al. 2017, "Self-Normalizing Neural Networks", which has the two numbers.
    """
    check_tensor("selu", x)
    return elu(x, 1.6732632423543772) * 1.0507009873554805


def hard_sigmoid(x: Tensor[B, D], alpha: float = 0.2, beta: float = 0.5) -> Tensor[B, D]:
    """``alpha * x + beta``, kept from 0 to 1. Burn's alpha is 0.2, PyTorch's is 1/6."""
    check_tensor("hard_sigmoid", x)
    return (x * alpha + beta).clamp(0.0, 1.0)


def hard_swish(x: Tensor[B, D]) -> Tensor[B, D]:
    """``x * hard_sigmoid(x)`` with alpha 1/6 (Howard et al. 2019)."""
    check_tensor("hard_swish", x)
    return x * hard_sigmoid(x, 1 / 6, 0.5)


def shrink(x: Tensor[B, D], lambd: float = 0.5, bias: float = 0.0) -> Tensor[B, D]:
    """``x`` moved towards 0 by ``bias`` where it is farther than ``lambd`` from 0, and 0 elsewhere."""
    check_tensor("shrink", x)
    moved = x - x.sign() * bias if bias else x
    return moved.mask_fill(x.abs() <= lambd, 0.0)


def hard_shrink(x: Tensor[B, D], lambd: float = 0.5) -> Tensor[B, D]:
    """``x`` where it is farther than ``lambd`` from 0, and 0 elsewhere."""
    check_tensor("hard_shrink", x)
    return shrink(x, lambd)


def soft_shrink(x: Tensor[B, D], lambd: float = 0.5) -> Tensor[B, D]:
    """``x`` moved towards 0 by ``lambd``, and not beyond."""
    check_tensor("soft_shrink", x)
    return x - x.clamp(-lambd, lambd)


def thresholded_relu(x: Tensor[B, D], alpha: float = 1.0) -> Tensor[B, D]:
    """``x`` above ``alpha``, and 0 elsewhere."""
    check_tensor("thresholded_relu", x)
    return x.mask_fill(x <= alpha, 0.0)


def prelu(x: Tensor[B, D], alpha: Tensor[B, D1]) -> Tensor[B, D]:
    """``alpha * x`` below 0, else ``x``, with one alpha, or one for each entry of dim 1 (He et al. 2015).

    Raises ShapeError for another number of alphas.
    """
    check_tensor("prelu", x)
    check_tensor("prelu", alpha)
    count, channels = alpha.shape[0], x.shape[1] if x.rank > 1 else 1
    if alpha.rank != 1 or count not in (1, channels):
        reason = f"there must be one alpha, or one for each of the {channels} entries of dim 1"
        raise ShapeError("prelu", reason, given={"input": x.shape, "alpha": alpha.shape})
    slopes: Tensor[B, D] = alpha.reshape((1, count, *(1,) * (x.rank - 2)) if x.rank > 1 else (count,))
    return x.mask_where(x < 0.0, x * slopes)


def glu(x: Tensor[B, D], dim: int) -> Tensor[B, D]:
    """Half of a dim times the `sigmoid` of its other half (Dauphin et al. 2016). Raises ShapeError for an odd size."""
    check_tensor("glu", x)
    at = normalize_dim("glu", dim, x.shape)
    half, odd = divmod(x.shape[at], 2)
    if odd:
        raise ShapeError("glu", f"dim {at} has the odd size {x.shape[at]}, which has no halves", given={"x": x.shape})
    return x.narrow(at, 0, half) * sigmoid(x.narrow(at, half, half))


def softmin(x: Tensor[B, D], dim: int) -> Tensor[B, D]:
    """`softmax` of ``-x``."""
    check_tensor("softmin", x)
    return softmax(-x, dim)


def quiet_softmax(x: Tensor[B, D], dim: int) -> Tensor[B, D]:
    """``exp(x)`` over **1 +** its sum along one dim: a `softmax` that may choose nothing (Miller 2023)."""
    check_tensor("quiet_softmax", x)
    largest = x.detach().max_dim(dim).clamp_min(0.0)  # taken off before, so that no exponential overflows
    weights = (x - largest).exp()
    return weights / (weights.sum_dim(dim) + (-largest).exp())
