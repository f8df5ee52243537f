"""Order: sorting along one dim, and what is found in a sorted dim: the largest few, the median, a quantile.

Every sort is stable: of equal elements, the one that stood first comes first, in both directions. NaN counts as the
largest, as for `max`: it comes last in ascending order and first in descending order.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

from tinyburn.backend.interface import Array
from tinyburn.base.dtype import Float, Int
from tinyburn.base.errors import ConfigError, ShapeError

from . import checks
from .base import B, D, K, TensorBase

if TYPE_CHECKING:
    from .tensor import Tensor

Numeric: TypeAlias = "Order[B, D, Float] | Order[B, D, Int]"
"""``self`` of whatever truth values do not have."""


class Order(TensorBase[B, D, K]):
    """The dim that is sorted, or looked through, stays. A gradient goes to the elements that the result was taken from.

    Raises ShapeError for a dim that does not exist, and for the median or a quantile of no element.
    """

    __slots__ = ()

    def argsort(self: Numeric[B, D], dim: int) -> Tensor[B, D, Int]:
        """The indices that sort along one dim, the smallest first: `gather` with them gives `sort`."""
        return self._new(self._order("argsort", dim, False))

    def argsort_descending(self: Numeric[B, D], dim: int) -> Tensor[B, D, Int]:
        """The indices that sort along one dim, the largest first."""
        return self._new(self._order("argsort_descending", dim, True))

    def sort(self: Numeric[B, D], dim: int) -> Tensor[B, D, K]:
        """The elements along one dim in order, the smallest first."""
        return self._taken(dim, self._order("sort", dim, False))

    def sort_descending(self: Numeric[B, D], dim: int) -> Tensor[B, D, K]:
        """The elements along one dim in order, the largest first."""
        return self._taken(dim, self._order("sort_descending", dim, True))

    def sort_with_indices(self: Numeric[B, D], dim: int) -> tuple[Tensor[B, D, K], Tensor[B, D, Int]]:
        """`sort`, and where each element stood."""
        order = self._order("sort_with_indices", dim, False)
        return self._taken(dim, order), self._new(order)

    def sort_descending_with_indices(self: Numeric[B, D], dim: int) -> tuple[Tensor[B, D, K], Tensor[B, D, Int]]:
        """`sort_descending`, and where each element stood."""
        order = self._order("sort_descending_with_indices", dim, True)
        return self._taken(dim, order), self._new(order)

    def topk(self: Numeric[B, D], k: int, dim: int) -> Tensor[B, D, K]:
        """The ``k`` largest along one dim, in descending order."""
        return self._taken(dim, self._largest("topk", k, dim))

    def topk_with_indices(self: Numeric[B, D], k: int, dim: int) -> tuple[Tensor[B, D, K], Tensor[B, D, Int]]:
        """`topk`, and where each of them stands."""
        order = self._largest("topk_with_indices", k, dim)
        return self._taken(dim, order), self._new(order)

    def median(self: Numeric[B, D], dim: int) -> Tensor[B, D, K]:
        """The middle one along one dim, of an even number the lower of the two; NaN if there is one."""
        return self._taken(dim, self._middle("median", dim))

    def median_with_indices(self: Numeric[B, D], dim: int) -> tuple[Tensor[B, D, K], Tensor[B, D, Int]]:
        """`median`, and where it stands; of NaN the first."""
        middle = self._middle("median_with_indices", dim)
        return self._taken(dim, middle), self._new(middle)

    def quantile(self: Order[B, D, Float], q: float, dim: int) -> Tensor[B, D, Float]:
        """The value below which the share ``q`` of the elements along one dim lies; NaN if there is one.

        Between two elements it is interpolated, as by default in NumPy and PyTorch: of the sorted elements it is the
        one at the place ``q * (size - 1)``.

        Raises:
            ConfigError: ``q`` is not from 0 to 1.
        """
        array, dim = self._of_kind("quantile", "float"), self._dim("quantile", dim)
        q = checks.check_scalar("quantile", self, q)
        if not 0 <= q <= 1:
            raise ConfigError("quantile", "a share lies from 0 to 1", given={"q": q})
        self._not_empty("quantile", (dim,))
        place = q * (self.shape[dim] - 1)
        order = self.device.backend.argsort(array, dim, False, self.device.int_dtype)
        low, high = (self._entry(order, dim, int(at)) for at in (math.floor(place), math.ceil(place)))
        below, share = self._taken(dim, self._or_nan(low, dim)), place - math.floor(place)
        if share == 0:
            return below
        above: Tensor[B, D, Any] = self._taken(dim, self._or_nan(high, dim))
        return below * (1 - share) + above * share

    def _order(self, op: str, dim: int, descending: bool) -> Array:
        """The indices that sort, as a primitive."""
        array, dim = self._of_kind(op, "number"), self._dim(op, dim)
        return self.device.backend.argsort(array, dim, descending, self.device.int_dtype)

    def _taken(self, dim: int, indices: Array) -> Tensor[B, D, Any]:
        """What stands at some indices of the dim."""
        return self._new(self.device.backend.gather(self.primitive, self._dim("gather", dim), indices))

    def _largest(self, op: str, k: int, dim: int) -> Array:
        """The indices of the k largest."""
        self._of_kind(op, "number")
        size = self.shape[self._dim(op, dim)]
        if not isinstance(k, Integral) or isinstance(k, bool) or not 0 <= k <= size:
            reason = f"k is {k!r}, and there are {size} elements along dim {dim}"
            raise ShapeError(op, reason, given={"shape": self.shape}, hint=f"give a whole number from 0 to {size}")
        return self._part(self._order(op, dim, True), self._dim(op, dim), 0, int(k))

    def _middle(self, op: str, dim: int) -> Array:
        """The index of the lower median."""
        self._of_kind(op, "number")
        dim = self._dim(op, dim)
        self._not_empty(op, (dim,))
        return self._or_nan(self._entry(self._order(op, dim, False), dim, (self.shape[dim] - 1) // 2), dim)

    def _or_nan(self, index: Array, dim: int) -> Array:
        """An index for each line; where the line has a NaN, that of the first one."""
        backend = self.device.backend
        if self.primitive.dtype.kind != "f":
            return index
        has_nan = backend.is_nan(backend.max_dims(self.primitive, (dim,)))
        return backend.mask_where(index, has_nan, backend.argmax(self.primitive, dim, self.device.int_dtype))

    def _entry(self, order: Array, dim: int, at: int) -> Array:
        return self._part(order, dim, at, at + 1)

    def _part(self, order: Array, dim: int, start: int, stop: int) -> Array:
        parts = [slice(0, size, 1) for size in self.shape]
        parts[dim] = slice(start, stop, 1)
        return self.device.backend.slice(order, tuple(parts))
