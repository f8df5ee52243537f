"""Masks by position: triangles and diagonals, one-hot rows; and masks that are gathered along a dim."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as index_of
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

from tinyburn.backend.device import Device
from tinyburn.base.dtype import Bool, Float, Int
from tinyburn.base.errors import DTypeMismatch, ShapeError
from tinyburn.base.shape import D1, D2, D3, D4, D5, D6, MAX_RANK, Size, is_count

from . import checks
from .base import DB, B, D, K, Scalar, TensorBase, as_temporary
from .creation import Creation

if TYPE_CHECKING:
    from .tensor import Tensor

Positions: TypeAlias = "tuple[Tensor[DB, Any, Int], Tensor[DB, Any, Int]]"

Numeric: TypeAlias = "Masks[B, D, Float] | Masks[B, D, Int]"
"""``self`` of whatever truth values do not have."""

Matrices: TypeAlias = "Masks[B, D2, K] | Masks[B, D3, K] | Masks[B, D4, K] | Masks[B, D5, K] | Masks[B, D6, K]"
"""``self`` of whatever needs two dims."""


class Masks(TensorBase[B, D, K]):
    """A matrix is the last two dims; the others are a batch. ``diagonal`` counts diagonals: 0 is the main one, which
    starts at the first element, 1 the next above it, -1 the next below.
    """

    __slots__ = ()

    @overload
    @staticmethod
    def tril_mask(shape: tuple[Size, Size], offset: int, device: Device[DB]) -> Tensor[DB, D2, Bool]: ...
    @overload
    @staticmethod
    def tril_mask(shape: tuple[Size, Size, Size], offset: int, device: Device[DB]) -> Tensor[DB, D3, Bool]: ...
    @overload
    @staticmethod
    def tril_mask(shape: tuple[Size, Size, Size, Size], offset: int, device: Device[DB]) -> Tensor[DB, D4, Bool]: ...
    @overload
    @staticmethod
    def tril_mask(shape: Sequence[Size], offset: int, device: Device[DB]) -> Tensor[DB, Any, Bool]: ...
    @staticmethod
    def tril_mask(shape: Sequence[Size], offset: int, device: Device[DB]) -> Tensor[DB, Any, Bool]:
        """True above a diagonal and False in the lower triangle: what `mask_fill` overwrites to leave that.

        In self-attention this is the causal mask: position i may look at j up to i, and what is True is hidden.
        """
        columns, rows = _positions("tril_mask", shape, offset, device)
        return columns.greater(rows)

    @overload
    @staticmethod
    def triu_mask(shape: tuple[Size, Size], offset: int, device: Device[DB]) -> Tensor[DB, D2, Bool]: ...
    @overload
    @staticmethod
    def triu_mask(shape: tuple[Size, Size, Size], offset: int, device: Device[DB]) -> Tensor[DB, D3, Bool]: ...
    @overload
    @staticmethod
    def triu_mask(shape: tuple[Size, Size, Size, Size], offset: int, device: Device[DB]) -> Tensor[DB, D4, Bool]: ...
    @overload
    @staticmethod
    def triu_mask(shape: Sequence[Size], offset: int, device: Device[DB]) -> Tensor[DB, Any, Bool]: ...
    @staticmethod
    def triu_mask(shape: Sequence[Size], offset: int, device: Device[DB]) -> Tensor[DB, Any, Bool]:
        """True below a diagonal and False in the upper triangle: what `mask_fill` overwrites to leave that."""
        columns, rows = _positions("triu_mask", shape, offset, device)
        return columns.lower(rows)

    @overload
    @staticmethod
    def diag_mask(shape: tuple[Size, Size], offset: int, device: Device[DB]) -> Tensor[DB, D2, Bool]: ...
    @overload
    @staticmethod
    def diag_mask(shape: tuple[Size, Size, Size], offset: int, device: Device[DB]) -> Tensor[DB, D3, Bool]: ...
    @overload
    @staticmethod
    def diag_mask(shape: tuple[Size, Size, Size, Size], offset: int, device: Device[DB]) -> Tensor[DB, D4, Bool]: ...
    @overload
    @staticmethod
    def diag_mask(shape: Sequence[Size], offset: int, device: Device[DB]) -> Tensor[DB, Any, Bool]: ...
    @staticmethod
    def diag_mask(shape: Sequence[Size], offset: int, device: Device[DB]) -> Tensor[DB, Any, Bool]:
        """False on a diagonal, else True: what `mask_fill` overwrites to leave the diagonal."""
        columns, rows = _positions("diag_mask", shape, offset, device)
        return columns.not_equal(rows)

    def tril(self: Matrices[B, K], diagonal: int = 0) -> Tensor[B, D, K]:
        """The lower triangle of each matrix, with 0 above ``diagonal``."""
        return cast("Tensor[B, D, K]", self._cleared("tril", Masks.tril_mask, diagonal))

    def triu(self: Matrices[B, K], diagonal: int = 0) -> Tensor[B, D, K]:
        """The upper triangle of each matrix, with 0 below ``diagonal``."""
        return cast("Tensor[B, D, K]", self._cleared("triu", Masks.triu_mask, diagonal))

    @overload
    def one_hot(self: Numeric[B, D1], num_classes: int) -> Tensor[B, D2, K]: ...
    @overload
    def one_hot(self: Numeric[B, D2], num_classes: int) -> Tensor[B, D3, K]: ...
    @overload
    def one_hot(self: Numeric[B, D3], num_classes: int) -> Tensor[B, D4, K]: ...
    @overload
    def one_hot(self: Numeric[B, D], num_classes: int) -> Tensor[B, Any, K]: ...
    def one_hot(self, num_classes: int) -> Tensor[B, Any, K]:
        """A new last dim of size ``num_classes``, with a 1 at the class that each element names, else 0.

        The dtype stays. Classes are 0 to ``num_classes - 1``; an Int tensor is held to that, as far as its backend can
        tell. What is no class makes a row of zeros.
        """
        hot: Any = self._hot("one_hot", num_classes, -1)
        found: Tensor[B, Any, K] = hot.cast(self.dtype)
        return found

    def one_hot_fill(
        self: Numeric[B, D], num_classes: int, on_value: Scalar, off_value: Scalar, axis: int
    ) -> Tensor[B, Any, K]:
        """`one_hot` with two numbers of your own, and the new dim at ``axis`` of the result."""
        on = checks.check_scalar("one_hot_fill", self, on_value)
        off = checks.check_scalar("one_hot_fill", self, off_value)
        hot: Any = self._hot("one_hot_fill", num_classes, axis)
        return self._single(off, hot.rank).mask_fill(hot, on)

    def any_dim(self: Masks[B, D, Bool], dim: int) -> Tensor[B, D, Bool]:
        """True where at least one entry along a dim is; False for none."""
        self._of_kind("any_dim", "bool")
        dim = self._dim("any_dim", dim)
        return self._new(self.primitive).cast("float32").sum_dim(dim).greater(0.0)  # a sum of ones is never 0

    def all_dim(self: Masks[B, D, Bool], dim: int) -> Tensor[B, D, Bool]:
        """True where every entry along a dim is; True for none."""
        self._of_kind("all_dim", "bool")
        dim = self._dim("all_dim", dim)
        return self._new(self.primitive).bool_not().any_dim(dim).bool_not()

    def _cleared(self, op: str, mask_of: Any, diagonal: int) -> Tensor[B, Any, K]:
        """0 (or False) where the mask of the last two dims is True."""
        if self.rank < 2:
            hint = "add one with unsqueeze()"
            raise ShapeError(op, "it needs two dims", given={"shape": self.shape}, hint=hint)
        mask = mask_of((1,) * (self.rank - 2) + self.shape[-2:], diagonal, self.device)
        zero = False if self.kind is Bool else 0
        return self._new(self.primitive).mask_fill(mask, zero)

    def _hot(self, op: str, num_classes: int, axis: int) -> Tensor[B, Any, Bool]:
        """True where the place along the new dim is the element's class."""
        self._of_kind(op, "number")
        if not is_count(num_classes) or num_classes == 0:
            raise ShapeError(op, f"{num_classes!r} is not a number of classes, 1 or more")
        if self.rank == MAX_RANK:
            raise ShapeError(op, f"the result would have rank {MAX_RANK + 1}, and {MAX_RANK} is the most")
        axis = self._dim(op, axis, 1)
        bounds = self.device.backend.index_bounds(self.primitive) if self.kind is Int else None
        if bounds and not 0 <= bounds[0] <= bounds[1] < num_classes:
            reason = f"the classes run from {bounds[0]} to {bounds[1]}, and there are {num_classes}"
            raise ShapeError(op, reason, hint=f"classes are 0 to {num_classes - 1}")
        classes = as_temporary(Creation.arange(0, num_classes, self.device)).cast(self.dtype)
        places = classes.reshape([num_classes if dim == axis else 1 for dim in range(self.rank + 1)])
        return self._new(self.primitive).unsqueeze_dim(axis).equal(places)


def _positions(op: str, shape: Sequence[Size], offset: int, device: Device[DB]) -> Positions[DB]:
    """The column of each element, and the one where a diagonal meets its row: shapes that broadcast to ``shape``."""
    sizes = tuple(shape) if isinstance(shape, tuple | list) else ()
    if not 2 <= len(sizes) <= MAX_RANK or any(not hasattr(size, "__index__") or size < 0 for size in sizes):
        reason = f"the shape of a matrix, or of a batch of them, has 2 to {MAX_RANK} dims, each 0 or more"
        raise ShapeError(op, reason, given={"shape": shape})
    if isinstance(offset, bool) or not hasattr(offset, "__index__"):
        raise DTypeMismatch(op, f"the diagonal {offset!r} is not a whole number")
    *batch, rows, columns = map(index_of, sizes)
    ones = (1,) * len(batch)
    meets = as_temporary(Creation.arange(index_of(offset), rows + index_of(offset), device))
    across = as_temporary(Creation.arange(0, columns, device)).reshape((*ones, 1, columns))
    return across.expand((*batch, 1, columns)), meets.reshape((*ones, rows, 1))
