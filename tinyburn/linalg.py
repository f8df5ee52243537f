"""Linear algebra on tensors: products, diagonals, and the lengths of vectors.

A vector lies along one dim, and a matrix in the last two; the other dims are a batch. A dim that is reduced stays, at
size 1, as in every reduction here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from tinyburn.base.errors import ConfigError, ShapeError
from tinyburn.base.shape import D1, D2, D3, D4, MAX_RANK, normalize_dim
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_operands, check_tensor, describe
from tinyburn.tensor.einsum import diagonal

if TYPE_CHECKING:
    from tinyburn.backend import Backend

B = TypeVar("B", bound="Backend")
D = TypeVar("D")
K = TypeVar("K")


# Products and diagonals


@overload
def outer(x: Tensor[B, D1, K], y: Tensor[B, D1, K]) -> Tensor[B, D2, K]: ...
@overload
def outer(x: Tensor[B, D2, K], y: Tensor[B, D2, K]) -> Tensor[B, D3, K]: ...
@overload
def outer(x: Tensor[B, D3, K], y: Tensor[B, D3, K]) -> Tensor[B, D4, K]: ...
@overload
def outer(x: Tensor[B, D, K], y: Tensor[B, D, K]) -> Tensor[B, Any, K]: ...
def outer(x: Tensor[B, D, K], y: Tensor[B, D, K]) -> Tensor[B, Any, K]:
    """``x[…, i] * y[…, j]``: every entry of one vector by every entry of another, of shape (…, i, j)."""
    return outer_dim(x, y, -1)


def outer_dim(x: Tensor[B, D, K], y: Tensor[B, D, K], dim: int) -> Tensor[B, Any, K]:
    """`outer` of the vectors along ``dim``, which becomes two dims, for ``x`` and for ``y``."""
    check_operands("outer", x, y, shapes=False)
    dim = normalize_dim("outer", dim, x.shape)
    if x.rank == MAX_RANK:
        raise ShapeError("outer", f"the result would have rank {MAX_RANK + 1}, and {MAX_RANK} is the most")
    left, right = x.unsqueeze_dim(dim + 1), y.unsqueeze_dim(dim)
    return cast("Tensor[B, Any, K]", cast(Any, left).mul(right))


@overload
def matvec(matrix: Tensor[B, D2, K], vector: Tensor[B, D1, K]) -> Tensor[B, D1, K]: ...
@overload
def matvec(matrix: Tensor[B, D3, K], vector: Tensor[B, D2, K]) -> Tensor[B, D2, K]: ...
@overload
def matvec(matrix: Tensor[B, D4, K], vector: Tensor[B, D3, K]) -> Tensor[B, D3, K]: ...
@overload
def matvec(matrix: Tensor[B, Any, K], vector: Tensor[B, Any, K]) -> Tensor[B, Any, K]: ...
def matvec(matrix: Tensor[B, Any, K], vector: Tensor[B, Any, K]) -> Tensor[B, Any, K]:
    """``(…, n, k)`` by ``(…, k)`` gives ``(…, n)``. The dims of the batch broadcast where one of them is 1."""
    check_operands("matvec", matrix, vector, shapes=False)
    if matrix.rank != vector.rank + 1:
        given = {"matrix": describe(matrix), "vector": describe(vector)}
        reason = f"the ranks are {matrix.rank} and {vector.rank}; the vector has one less than the matrix"
        raise ShapeError("matvec", reason, given=given, hint="add a dim for the batch with unsqueeze()")
    return (matrix @ vector.unsqueeze_dim(-1)).squeeze(-1)


@overload
def diag(x: Tensor[B, D2, K]) -> Tensor[B, D1, K]: ...
@overload
def diag(x: Tensor[B, D3, K]) -> Tensor[B, D2, K]: ...
@overload
def diag(x: Tensor[B, D4, K]) -> Tensor[B, D3, K]: ...
@overload
def diag(x: Tensor[B, Any, K]) -> Tensor[B, Any, K]: ...
def diag(x: Tensor[B, Any, K]) -> Tensor[B, Any, K]:
    """The main diagonal of each matrix: ``(…, n, m)`` gives ``(…, min(n, m))``."""
    return diagonal(_matrices("diag", x))


def trace(x: Tensor[B, D, K]) -> Tensor[B, D, K]:
    """The sum of the main diagonal of each matrix: ``(…, n, m)`` gives ``(…, 1, 1)``."""
    total: Any = cast(Any, diagonal(_matrices("trace", x))).sum_dim(-1)
    return cast("Tensor[B, D, K]", total.unsqueeze_dim(-1))


def _matrices(op: str, x: Tensor[B, Any, K]) -> Tensor[B, Any, K]:
    check_tensor(op, x)
    if x.rank < 2:
        raise ShapeError(op, "it needs two dims", given={"shape": x.shape}, hint="add one with unsqueeze()")
    return x


# Lengths. Each has slope 0 at the vector of zeros, where the mathematics leaves a choice.


def vector_norm(x: Tensor[B, D], norm: float, dim: int) -> Tensor[B, D]:
    """The length of each vector along ``dim``, by one of the norms.

    Args:
        x: a Float tensor.
        norm: 0 counts what is not 0; inf and -inf are the largest and the smallest distance from 0; every other
            ``p > 0`` is ``sum(|x|^p)^(1/p)``: 1 the sum of distances, 2 the Euclidean length.
        dim: where the vectors lie.

    Raises ConfigError for another norm.
    """
    check_tensor("vector_norm", x)
    x._of_kind("vector_norm", "float")
    if norm == 0:
        return l0_norm(x, dim)
    if norm == 1:
        return l1_norm(x, dim)
    if norm == math.inf:
        return max_abs_norm(x, dim)
    return min_abs_norm(x, dim) if norm == -math.inf else lp_norm(x, norm, dim)


def l0_norm(x: Tensor[B, D, K], dim: int) -> Tensor[B, D, K]:
    """How many entries of each vector are not 0, in the dtype of ``x``."""
    check_tensor("l0_norm", x)
    count: Any = cast(Any, x).not_equal(0).cast(x.dtype).sum_dim(dim)
    return cast("Tensor[B, D, K]", count)


def l1_norm(x: Tensor[B, D, K], dim: int) -> Tensor[B, D, K]:
    """The distances from 0 added up."""
    check_tensor("l1_norm", x)
    return cast("Tensor[B, D, K]", cast(Any, x).abs().sum_dim(dim))


def l2_norm(x: Tensor[B, D], dim: int) -> Tensor[B, D]:
    """The Euclidean length, ``sqrt(sum(x^2))``. No square overflows or is lost."""
    return lp_norm(x, 2.0, dim)


def lp_norm(x: Tensor[B, D], p: float, dim: int) -> Tensor[B, D]:
    """``sum(|x|^p)^(1/p)`` for any ``p > 0``. The entries are scaled first, so that no power overflows or is lost."""
    check_tensor("lp_norm", x)
    x._of_kind("lp_norm", "float")
    if not 0 < p < math.inf:
        reason = f"p is {p!r}, and must be above 0 and finite"
        raise ConfigError("lp_norm", reason, hint="vector_norm(x, norm, dim) also takes 0, inf and -inf")
    dim = normalize_dim("lp_norm", dim, x.shape)
    if x.shape[dim] == 0:
        return x.sum_dim(dim)
    scale = _scale(x, dim)
    scaled = x / scale
    total = (scaled * scaled if p == 2 else _power(scaled.abs(), p)).sum_dim(dim)
    return _power(total, 1 / p) * scale


def max_abs_norm(x: Tensor[B, D, K], dim: int) -> Tensor[B, D, K]:
    """The largest distance from 0."""
    check_tensor("max_abs_norm", x)
    return cast("Tensor[B, D, K]", cast(Any, x).abs().max_dim(dim))


def min_abs_norm(x: Tensor[B, D, K], dim: int) -> Tensor[B, D, K]:
    """The smallest distance from 0."""
    check_tensor("min_abs_norm", x)
    return cast("Tensor[B, D, K]", cast(Any, x).abs().min_dim(dim))


def vector_normalize(x: Tensor[B, D], norm: float, dim: int, eps: float = 1e-12) -> Tensor[B, D]:
    """Each vector divided by its `vector_norm`, or by ``eps`` where that is smaller."""
    return x / vector_norm(x, norm, dim).clamp_min(eps)


def cosine_similarity(x: Tensor[B, D], y: Tensor[B, D], dim: int, eps: float = 1e-8) -> Tensor[B, D]:
    """The cosine of the angle between vectors: ``sum(x * y) / (|x| * |y|)``, with no length below ``eps``.

    The shapes broadcast. The dim stays, at size 1.
    """
    check_operands("cosine_similarity", x, y)
    lengths = l2_norm(x, dim).clamp_min(eps) * l2_norm(y, dim).clamp_min(eps)
    return (x * y).sum_dim(dim) / lengths


def _scale(x: Tensor[B, D], dim: int) -> Tensor[B, D]:
    """The largest distance from 0 along a dim; 1 where that is 0 or infinite. A norm of ``x / scale`` times ``scale``
    does not depend on the scale, so the gradient has no part through it."""
    largest = x.detach().abs().max_dim(dim)
    return largest.mask_fill((largest == 0.0) | largest.is_inf(), 1.0)


def _power(x: Tensor[B, D], exponent: float) -> Tensor[B, D]:
    """``x ** exponent`` for numbers from 0 on; the slope at 0 is taken as 0, also where it would be infinite."""
    nothing = x == 0.0
    filled = x.mask_fill(nothing, 1.0)
    return (filled.sqrt() if exponent == 0.5 else filled.powf_scalar(exponent)).mask_fill(nothing, 0.0)
