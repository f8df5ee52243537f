"""Numbers that describe many: extremes over several dims, the largest distance from 0, variances and covariances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

from tinyburn.base.dtype import Float, Int
from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import D1, D2

from .base import B, D, K, TensorBase

if TYPE_CHECKING:
    from .tensor import Tensor

Numeric: TypeAlias = "Statistics[B, D, Float] | Statistics[B, D, Int]"
"""``self`` of whatever truth values do not have."""


class Statistics(TensorBase[B, D, K]):
    """Reductions that are made of other reductions. Reduced dims stay, at size 1, but for what is said to drop them.

    Raises ShapeError for a dim that does not exist, and for the extreme of no element.
    """

    __slots__ = ()

    def max_abs(self: Numeric[B, D]) -> Tensor[B, D1, K]:
        """The largest distance from 0. Elements that tie for it share the gradient evenly."""
        x: Any = self
        return cast("Tensor[B, D1, K]", x.abs().max())

    def max_abs_dim(self: Numeric[B, D], dim: int) -> Tensor[B, D, K]:
        """The largest distance from 0 along one dim."""
        x: Any = self
        return cast("Tensor[B, D, K]", x.abs().max_dim(dim))

    def max_dims(self: Numeric[B, D], dims: tuple[int, ...]) -> Tensor[B, D, K]:
        """The largest along several dims."""
        return self._new(
            self.device.backend.max_dims(self._of_kind("max_dims", "number"), self._some("max_dims", dims))
        )

    def min_dims(self: Numeric[B, D], dims: tuple[int, ...]) -> Tensor[B, D, K]:
        """The smallest along several dims."""
        return self._new(
            self.device.backend.min_dims(self._of_kind("min_dims", "number"), self._some("min_dims", dims))
        )

    def prod_dims(self: Numeric[B, D], dims: tuple[int, ...]) -> Tensor[B, D, K]:
        """Multiplied along several dims, one after another."""
        x: Any = self
        for dim in self._dims("prod_dims", dims):
            x = x.prod_dim(dim)
        return cast("Tensor[B, D, K]", x)

    def sum_dims_squeeze(self: Numeric[B, D], dims: tuple[int, ...]) -> Tensor[B, Any, K]:
        """Added along several dims, which the result does not have. There is no rank 0: of all dims one stays."""
        x: Any = self
        total = x.sum_dims(dims)
        sizes = [size for dim, size in enumerate(total.shape) if dim not in self._dims("sum_dims_squeeze", dims)]
        return cast("Tensor[B, Any, K]", total.reshape(sizes or [1]))

    def var_mean(self: Statistics[B, D, Float], dim: int) -> tuple[Tensor[B, D, Float], Tensor[B, D, Float]]:
        """The unbiased variance along one dim, and the mean."""
        x: Any = self
        return x.var(dim), x.mean_dim(dim)

    def var_mean_bias(self: Statistics[B, D, Float], dim: int) -> tuple[Tensor[B, D, Float], Tensor[B, D, Float]]:
        """The biased variance along one dim, and the mean."""
        x: Any = self
        return x.var_bias(dim), x.mean_dim(dim)

    def cov(self: Statistics[B, D2, Float], dim: int, correction_factor: int) -> Tensor[B, D2, Float]:
        """How features vary together: ``sum((a - mean(a)) * (b - mean(b))) / (n - correction_factor)`` for each two.

        The ``n`` samples lie along ``dim`` of a matrix, the features along the other; the result is a square of those.
        A factor of 1 is for samples, 0 for a whole population.
        """
        if self.rank != 2:
            raise ShapeError("cov", f"it takes a matrix, and the rank is {self.rank}", given={"shape": self.shape})
        dim = self._dim("cov", dim)
        n = self.shape[dim]
        if n <= correction_factor:
            reason = f"dim {dim} has {n} samples, and the correction takes {correction_factor} away"
            raise ShapeError("cov", reason, given={"shape": self.shape})
        x: Any = self
        centred = x - x.mean_dim(dim)
        samples = centred if dim == 0 else centred.mT
        return cast("Tensor[B, D2, Float]", (samples.mT @ samples) / (n - correction_factor))

    def _some(self, op: str, dims: tuple[int, ...]) -> tuple[int, ...]:
        """Dims that have elements."""
        found = self._dims(op, dims)
        if 0 in [self.shape[dim] for dim in found]:
            reason = "the tensor has no elements along the reduced dims (an empty batch?)"
            raise ShapeError(op, reason, given={"shape": self.shape})
        return found
