"""Reductions that are made of other reductions: over several dims, and how features vary together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

from tinyburn.base.dtype import Float, Int
from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import D2

from .base import B, D, K, TensorBase

if TYPE_CHECKING:
    from .tensor import Tensor

Numeric: TypeAlias = "Statistics[B, D, Float] | Statistics[B, D, Int]"
"""``self`` of whatever truth values do not have."""


class Statistics(TensorBase[B, D, K]):
    """Reduced dims stay, at size 1, but for what is said to drop them. A dim that does not exist raises ShapeError."""

    __slots__ = ()

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
