"""Operations that gather many elements into one: sums, means, extremes, and the matrix product."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from tinyburn.backend.interface import Array
from tinyburn.base.dtype import Bool, Float, Int
from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import D1, D2, D3, D4, D5, D6, broadcast_conflicts, broadcasts

from . import checks
from .base import B, D, K, TensorBase

if TYPE_CHECKING:
    from .tensor import Tensor

Numeric: TypeAlias = "Reduction[B, D, Float] | Reduction[B, D, Int]"
"""``self`` of whatever truth values do not have."""

Matrices: TypeAlias = (
    "Reduction[B, D2, K] | Reduction[B, D3, K] | Reduction[B, D4, K] | Reduction[B, D5, K] | Reduction[B, D6, K]"
)
"""``self`` of whatever needs two dims."""


class Reduction(TensorBase[B, D, K]):
    """A reduction along a dim keeps that dim at size 1. A full reduction gives shape ``(1,)``: there is no rank 0.

    Raises ShapeError for a dim that does not exist, and for the mean or the extreme of no element.
    """

    __slots__ = ()

    def sum(self: Numeric[B, D]) -> Tensor[B, D1, K]:
        """All elements added; 0 if there are none. Of small integers it is the widest Int that the backend has."""
        return self._new(self.device.backend.sum(self._wide("sum")))

    def sum_dim(self: Numeric[B, D], dim: int) -> Tensor[B, D, K]:
        """Added along one dim."""
        return self._new(self.device.backend.sum_dims(self._wide("sum_dim"), (self._dim("sum_dim", dim),)))

    def sum_dims(self: Numeric[B, D], dims: tuple[int, ...]) -> Tensor[B, D, K]:
        """Added along several dims."""
        return self._new(self.device.backend.sum_dims(self._wide("sum_dims"), self._dims("sum_dims", dims)))

    def mean(self: Reduction[B, D, Float]) -> Tensor[B, D1, Float]:
        """The average of all elements. In float16 it adds in float32, so that the sum does not overflow."""
        self._not_empty("mean", range(self.rank))
        return self._new(self.device.backend.mean(self._of_kind("mean", "float")))

    def mean_dims(self: Reduction[B, D, Float], dims: tuple[int, ...]) -> Tensor[B, D, Float]:
        """The average along several dims."""
        array = self._of_kind("mean_dims", "float")
        dims = self._dims("mean_dims", dims)
        self._not_empty("mean_dims", dims)
        return self._new(self.device.backend.mean_dims(array, dims))

    def mean_dim(self: Reduction[B, D, Float], dim: int) -> Tensor[B, D, Float]:
        """The average along one dim."""
        array = self._of_kind("mean_dim", "float")
        return self._new(self.device.backend.mean_dims(array, self._filled("mean_dim", dim)))

    def prod(self: Numeric[B, D]) -> Tensor[B, D1, K]:
        """All elements multiplied; 1 if there are none. A product of halves: no division, so zeros are no trouble."""
        return self._new(self.device.backend.prod(self._wide("prod")))

    def prod_dim(self: Numeric[B, D], dim: int) -> Tensor[B, D, K]:
        """Multiplied along one dim."""
        return self._new(self.device.backend.prod_dim(self._wide("prod_dim"), self._dim("prod_dim", dim)))

    def max(self: Numeric[B, D]) -> Tensor[B, D1, K]:
        """The largest element. Elements that tie for it share the gradient evenly."""
        self._not_empty("max", range(self.rank))
        return self._new(self.device.backend.max(self._of_kind("max", "number")))

    def max_dim(self: Numeric[B, D], dim: int) -> Tensor[B, D, K]:
        """The largest along one dim."""
        return self._new(self.device.backend.max_dims(self._of_kind("max_dim", "number"), self._filled("max_dim", dim)))

    def min(self: Numeric[B, D]) -> Tensor[B, D1, K]:
        """The smallest element. Elements that tie for it share the gradient evenly."""
        self._not_empty("min", range(self.rank))
        return self._new(self.device.backend.min(self._of_kind("min", "number")))

    def min_dim(self: Numeric[B, D], dim: int) -> Tensor[B, D, K]:
        """The smallest along one dim."""
        return self._new(self.device.backend.min_dims(self._of_kind("min_dim", "number"), self._filled("min_dim", dim)))

    def argmax(self: Numeric[B, D], dim: int) -> Tensor[B, D, Int]:
        """Where the largest along one dim stands; the first of several."""
        found = self._filled("argmax", dim)
        return self._new(self.device.backend.argmax(self._of_kind("argmax", "number"), *found, self.device.int_dtype))

    def argmin(self: Numeric[B, D], dim: int) -> Tensor[B, D, Int]:
        """Where the smallest along one dim stands; the first of several."""
        found = self._filled("argmin", dim)
        return self._new(self.device.backend.argmin(self._of_kind("argmin", "number"), *found, self.device.int_dtype))

    def max_dims(self: Numeric[B, D], dims: tuple[int, ...]) -> Tensor[B, D, K]:
        """The largest along several dims."""
        return self._extreme("max_dims", dims, self.device.backend.max_dims)

    def min_dims(self: Numeric[B, D], dims: tuple[int, ...]) -> Tensor[B, D, K]:
        """The smallest along several dims."""
        return self._extreme("min_dims", dims, self.device.backend.min_dims)

    def max_abs(self: Numeric[B, D]) -> Tensor[B, D1, K]:
        """The largest distance from 0."""
        self._not_empty("max_abs", range(self.rank))
        return self._new(self.device.backend.max(self.device.backend.abs(self._of_kind("max_abs", "number"))))

    def max_abs_dim(self: Numeric[B, D], dim: int) -> Tensor[B, D, K]:
        """The largest distance from 0 along one dim."""
        return self._farthest("max_abs_dim", (dim,))

    def max_abs_dims(self: Numeric[B, D], dims: tuple[int, ...]) -> Tensor[B, D, K]:
        """The largest distance from 0 along several dims."""
        return self._farthest("max_abs_dims", dims)

    def max_dim_with_indices(self: Numeric[B, D], dim: int) -> tuple[Tensor[B, D, K], Tensor[B, D, Int]]:
        """The largest along one dim, and where it stands."""
        largest: Tensor[B, D, Any] = self.max_dim(dim)
        return largest, self.argmax(dim)

    def min_dim_with_indices(self: Numeric[B, D], dim: int) -> tuple[Tensor[B, D, K], Tensor[B, D, Int]]:
        """The smallest along one dim, and where it stands."""
        smallest: Tensor[B, D, Any] = self.min_dim(dim)
        return smallest, self.argmin(dim)

    def var(self: Reduction[B, D, Float], dim: int) -> Tensor[B, D, Float]:
        """The unbiased variance along one dim: squares over ``n - 1``; NaN for a single element."""
        return self._new(self.device.backend.var(self._of_kind("var", "float"), *self._filled("var", dim), 1))

    def var_bias(self: Reduction[B, D, Float], dim: int) -> Tensor[B, D, Float]:
        """The biased (population) variance along one dim: squares over ``n``."""
        return self._new(self.device.backend.var(self._of_kind("var_bias", "float"), *self._filled("var_bias", dim), 0))

    def var_mean(self: Reduction[B, D, Float], dim: int) -> tuple[Tensor[B, D, Float], Tensor[B, D, Float]]:
        """`var` along one dim, and the average."""
        return self.var(dim), self.mean_dim(dim)

    def var_mean_bias(self: Reduction[B, D, Float], dim: int) -> tuple[Tensor[B, D, Float], Tensor[B, D, Float]]:
        """`var_bias` along one dim, and the average."""
        return self.var_bias(dim), self.mean_dim(dim)

    def std(self: Reduction[B, D, Float], dim: int) -> Tensor[B, D, Float]:
        """The root of `var`. Its slope for a constant input is taken as 0."""
        return self._new(self.device.backend.std(self._of_kind("std", "float"), *self._filled("std", dim), 1))

    def std_bias(self: Reduction[B, D, Float], dim: int) -> Tensor[B, D, Float]:
        """The root of `var_bias`. Its slope for a constant input is taken as 0."""
        return self._new(self.device.backend.std(self._of_kind("std_bias", "float"), *self._filled("std_bias", dim), 0))

    def norm(self: Reduction[B, D, Float]) -> Tensor[B, D1, Float]:
        """The Euclidean length of all elements taken as one vector. Its slope at 0 is taken as 0."""
        return self._new(self.device.backend.norm(self._of_kind("norm", "float")))

    def any(self: Reduction[B, D, Bool]) -> Tensor[B, D1, Bool]:
        """True if at least one element of a mask is."""
        return self._new(self.device.backend.any(self._of_kind("any", "bool")))

    def all(self: Reduction[B, D, Bool]) -> Tensor[B, D1, Bool]:
        """True if every element of a mask is."""
        return self._new(self.device.backend.all(self._of_kind("all", "bool")))

    def matmul(self: Matrices[B, K], other: Tensor[B, D, K]) -> Tensor[B, D, K]:
        """The matrix product over the last two dims: ``(…, n, k) @ (…, k, m)`` gives ``(…, n, m)``.

        Dims before the last two broadcast where one of them is 1. Both tensors need rank 2 or more.
        """
        left = self.primitive
        if not isinstance(other, TensorBase):
            raise checks.reject_operand("matmul", self, other)
        right = other.primitive
        fits = (
            other.device is self.device
            and right.dtype is left.dtype
            and left.dtype.kind != "b"
            and 2 <= len(left.shape) == len(right.shape)
            and left.shape[-1] == right.shape[-2]
            and (len(left.shape) == 2 or broadcasts(left.shape[:-2], right.shape[:-2]))
        )
        if not fits:
            _check_matmul(self, other)
        return self._new(self.device.backend.matmul(left, right))

    __matmul__ = matmul

    if not TYPE_CHECKING:  # a checker would think that anything can stand on the left

        def __rmatmul__(self, other: object) -> Any:
            raise checks.reject_operand("matmul", self, other)

    def _extreme(
        self, op: str, dims: tuple[int, ...], reduce: Callable[[Array, tuple[int, ...]], Array]
    ) -> Tensor[B, D, Any]:
        """A reduction along several dims that have elements."""
        array, dims = self._of_kind(op, "number"), self._dims(op, dims)
        self._not_empty(op, dims)
        return self._new(reduce(array, dims))

    def _farthest(self, op: str, dims: tuple[int, ...]) -> Tensor[B, D, Any]:
        """The largest distance from 0 along some dims."""
        backend = self.device.backend
        return self._extreme(op, dims, lambda array, dims: backend.max_dims(backend.abs(array), dims))

    def _filled(self, op: str, dim: int) -> tuple[int]:
        """One dim, as the tuple that a reduction takes, if it has any elements."""
        found = self._dim(op, dim)
        self._not_empty(op, (found,))
        return (found,)


def _check_matmul(a: TensorBase[Any, Any, Any], b: TensorBase[Any, Any, Any]) -> None:
    checks.check_operands("matmul", a, b, shapes=False)
    a._of_kind("matmul", "number")
    given = {"left": checks.describe(a), "right": checks.describe(b)}
    if a.rank != b.rank or a.rank < 2:
        reason = f"the ranks are {a.rank} and {b.rank}; both must be the same, and 2 or more"
        raise ShapeError("matmul", reason, given=given, hint="add a dim with unsqueeze()")
    conflicts = broadcast_conflicts(a.shape[:-2], b.shape[:-2])
    if a.shape[-1] != b.shape[-2]:
        sides = f"{a.shape[-1]} columns on the left, {b.shape[-2]} rows on the right"
        conflicts = [f"the inner dims differ: {sides}", *conflicts]
    if conflicts:
        hint = "transpose one of them" if a.shape[-1] == b.shape[-1] or a.shape[-2] == b.shape[-2] else None
        raise ShapeError("matmul", conflicts, given=given, hint=hint)
