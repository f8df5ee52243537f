"""Scans: what all elements up to each one make, along one dim."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tinyburn.base.dtype import Float, Int

from .base import B, D, K, TensorBase

if TYPE_CHECKING:
    from .tensor import Tensor

Numeric: TypeAlias = "Scans[B, D, Float] | Scans[B, D, Int]"
"""``self`` of whatever truth values do not have."""


class Scans(TensorBase[B, D, K]):
    """The result has the shape of the tensor, and its last entry along the dim is that of the reduction.

    Raises ShapeError for a dim that does not exist.
    """

    __slots__ = ()

    def cumsum(self: Numeric[B, D], dim: int) -> Tensor[B, D, K]:
        """The sums of all elements up to each one. Of small integers in the widest Int that the backend has."""
        return self._new(self.device.backend.cumsum(self._wide("cumsum"), self._dim("cumsum", dim)))

    def cumprod(self: Numeric[B, D], dim: int) -> Tensor[B, D, K]:
        """The products of all elements up to each one. Its gradient divides by none, so zeros are no trouble."""
        return self._new(self.device.backend.cumprod(self._wide("cumprod"), self._dim("cumprod", dim)))

    def cummax(self: Numeric[B, D], dim: int) -> Tensor[B, D, K]:
        """The largest of all elements up to each one; NaN from the first NaN on.

        Elements that tie for it share the gradient evenly: of each result, among those up to it.
        """
        return self._new(self.device.backend.cummax(self._of_kind("cummax", "number"), self._dim("cummax", dim)))

    def cummin(self: Numeric[B, D], dim: int) -> Tensor[B, D, K]:
        """The smallest of all elements up to each one; NaN from the first NaN on. Ties share as in `cummax`."""
        return self._new(self.device.backend.cummin(self._of_kind("cummin", "number"), self._dim("cummin", dim)))

    def logcumsumexp(self: Scans[B, D, Float], dim: int) -> Tensor[B, D, Float]:
        """``x.exp().cumsum(dim).log()``, also where an exponential is too large or too small for its dtype."""
        array = self._of_kind("logcumsumexp", "float")
        return self._new(self.device.backend.logcumsumexp(array, self._dim("logcumsumexp", dim)))
