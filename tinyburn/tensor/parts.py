"""A tensor taken apart along one dim, and the entries that stand at an index in several dims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tinyburn.base.dtype import Bool, Int
from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import D1, D2, MAX_RANK, is_count, num_elements, whole_numbers

from . import checks
from .base import B, D, K, Scalar, TensorBase

if TYPE_CHECKING:
    from .movement import Index
    from .tensor import Tensor


class Parts(TensorBase[B, D, K]):
    """The parts are views: they share the memory of their source.

    Dims are counted from 0, and from the end when negative. Raises ShapeError for one that does not exist.
    """

    __slots__ = ()

    def chunk(self, chunks: int, dim: int) -> tuple[Tensor[B, D, K], ...]:
        """At most ``chunks`` parts of one size along a dim; the last may be smaller. There may be fewer: 5 in 4 chunks
        are three, of 2, 2 and 1."""
        dim = self._dim("chunk", dim)
        if not is_count(chunks) or chunks == 0:
            raise ShapeError("chunk", f"{chunks!r} is not a whole number of 1 or more")
        size = self.shape[dim]
        return self.split(-(-size // chunks), dim) if size else self.split_with_sizes([0] * chunks, dim)

    def split(self, split_size: int, dim: int) -> tuple[Tensor[B, D, K], ...]:
        """Parts of ``split_size`` entries each along a dim; the last may be smaller."""
        dim = self._dim("split", dim)
        size = self.shape[dim]
        if not is_count(split_size) or split_size == 0:
            raise ShapeError("split", f"{split_size!r} is not a whole number of 1 or more", given={"shape": self.shape})
        full, rest = divmod(size, split_size)
        return self.split_with_sizes([split_size] * full + [rest] * (rest > 0 or not full), dim)

    def split_with_sizes(self, split_sizes: Sequence[int], dim: int) -> tuple[Tensor[B, D, K], ...]:
        """Parts of these sizes one after another along a dim. Together they have to be all of it."""
        dim = self._dim("split_with_sizes", dim)
        sizes = whole_numbers("split_with_sizes", split_sizes)
        if sum(sizes) != self.shape[dim] or min(sizes, default=0) < 0:
            reason = f"the sizes add up to {sum(sizes)}, and dim {dim} has {self.shape[dim]} entries"
            given = {"shape": self.shape, "split_sizes": sizes}
            raise ShapeError("split_with_sizes", reason if min(sizes, default=0) >= 0 else "a size is negative",
                             given=given)  # fmt: skip
        bounds = pairwise(accumulate(sizes, initial=0))
        return tuple([self._whole().narrow(dim, start, stop - start) for start, stop in bounds])

    def iter_dim(self, dim: int) -> Iterator[Tensor[B, D, K]]:
        """One entry of a dim after another. The rank stays: each part has that dim at size 1."""
        return iter(self.split(1, dim) if self.shape[self._dim("iter_dim", dim)] else ())

    def slice_dim(self, dim: int, part: slice | int) -> Tensor[B, D, K]:
        """A part along one dim, as in ``x[:, 1:3]``."""
        dim = self._dim("slice_dim", dim)
        return self._whole()[(slice(None),) * dim + (part,)]

    def slice_fill(self, index: Index, value: Scalar) -> Tensor[B, D, K]:
        """This tensor with one number at every place of ``index``."""
        x = self._whole()
        number = checks.check_scalar("slice_fill", self, value)
        one = self._single(number, self.rank)
        return x.slice_assign(index, one.expand(x[index].shape))

    def take(self, dim: int, indices: Tensor[B, Any, Int]) -> Tensor[B, Any, K]:
        """Whole entries of one dim, one for each index: the dims of ``indices`` stand where that dim was.

        A table of shape (n, d) and indices of shape (batch, length) give (batch, length, d).
        """
        dim = self._dim("take", dim)
        checks.check_tensor("take", indices)
        shape = (*self.shape[:dim], *indices.shape, *self.shape[dim + 1 :])
        if len(shape) > MAX_RANK:
            reason = f"the result would have rank {len(shape)}, and {MAX_RANK} is the most"
            raise ShapeError("take", reason, given={"shape": self.shape, "indices": indices.shape})
        return self._whole().select(dim, indices.flatten()).reshape(shape)

    def gather_nd(self, indices: Tensor[B, Any, Int]) -> Tensor[B, Any, K]:
        """Whole entries of the first dims: each row of ``indices`` names one place in the first ``k`` of them.

        ``indices`` of shape (…, k) give ``(…, *x.shape[k:])``.
        """
        rows, k = self._rows("gather_nd", indices)
        flat = self._whole().reshape((num_elements(self.shape[:k]), *self.shape[k:]))
        found: Tensor[B, Any, K] = flat.select(0, rows).reshape((*indices.shape[:-1], *self.shape[k:]) or (1,))
        return found

    def scatter_nd(self, indices: Tensor[B, Any, Int], values: Tensor[B, Any, K]) -> Tensor[B, D, K]:
        """This tensor with ``values`` added where `gather_nd` would read; a place that comes twice adds twice."""
        rows, k = self._rows("scatter_nd", indices)
        checks.check_operands("scatter_nd", self, values, shapes=False)
        wanted = (*indices.shape[:-1], *self.shape[k:]) or (1,)
        if values.shape != wanted:
            raise ShapeError("scatter_nd", f"the values have shape {values.shape}, the places {wanted}")
        flat = self._whole().reshape((num_elements(self.shape[:k]), *self.shape[k:]))
        added = flat.select_assign(0, rows, values.reshape((*rows.shape, *self.shape[k:])))
        return added.reshape(self.shape)

    def argwhere(self: Parts[B, D, Bool]) -> Tensor[B, D2, Int]:
        """Where a mask is True: one row of indices for each place, in row-major order.

        The shape of the result depends on values, so they are read to the host, and nothing is recorded for autodiff.
        Raises BackendMismatch on a backend that has no values.
        """
        self._of_kind("argwhere", "bool")
        places = np.argwhere(self._whole().to_numpy()).astype(str(self.device.int_dtype))
        return self._new(self.device.backend.from_numpy(places, self.device))

    def nonzero(self: Parts[B, D, Bool]) -> tuple[Tensor[B, D1, Int], ...]:
        """`argwhere`, as one list of indices for each dim. They are read from values on the host, too."""
        self._of_kind("nonzero", "bool")
        places = self.argwhere()
        count, rank = places.shape
        return tuple([places[:, dim].reshape((count,)) for dim in range(rank)])

    def _rows(self, op: str, indices: Tensor[B, Any, Int]) -> tuple[Tensor[B, D1, Int], int]:
        """Each row of indices as one index into the first ``k`` dims, taken as one."""
        checks.check_operands(op, self, indices, dtype=False, shapes=False)
        indices._of_kind(op, "int")
        k = indices.shape[-1]
        if not 1 <= k <= self.rank:
            reason = f"the last dim of the indices has size {k}, and names that many of {self.rank} dims"
            raise ShapeError(op, reason, given={"shape": self.shape, "indices": indices.shape})
        columns = [column.reshape((num_elements(indices.shape[:-1]),)) for column in indices.iter_dim(-1)]
        for dim, column in enumerate(columns):
            self._whole()._check_range(op, dim, column)
        row = columns[0]
        for column, size in zip(columns[1:], self.shape[1:k], strict=True):
            row = row * size + column
        return row, k

    def _whole(self) -> Tensor[B, D, K]:
        return cast("Tensor[B, D, K]", self)
