"""Operations that change the shape or pick a part, and compute nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from operator import index as index_of
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, overload

from typing_extensions import TypeVar

from tinyburn.base.dtype import Bool, Int
from tinyburn.base.errors import DTypeMismatch, ShapeError
from tinyburn.base.shape import (
    D1,
    D2,
    D3,
    D4,
    D5,
    D6,
    MAX_RANK,
    Shape,
    Size,
    expands,
    infer_size,
    num_elements,
    whole_numbers,
)

from . import checks
from .base import DB, B, D, K, TensorBase

if TYPE_CHECKING:
    import numpy as np

    from .tensor import Tensor

R = TypeVar("R")
K2 = TypeVar("K2")

Matrices: TypeAlias = (
    "Movement[B, D2, K] | Movement[B, D3, K] | Movement[B, D4, K] | Movement[B, D5, K] | Movement[B, D6, K]"
)
"""``self`` of whatever needs two dims."""

Part: TypeAlias = "slice | int | np.integer[Any] | EllipsisType"
Index: TypeAlias = "Part | tuple[Part, ...]"
"""What may stand between the brackets of ``x[...]``: slices and ints, one for each dim, from the left."""


class Movement(TensorBase[B, D, K]):
    """Where it can, a result shares the memory of its source: nobody can tell, since values never change.

    Dims are counted from 0, and from the end when negative. Raises ShapeError for one that does not exist.
    """

    __slots__ = ()

    @overload
    def reshape(self, shape: tuple[Size]) -> Tensor[B, D1, K]: ...
    @overload
    def reshape(self, shape: tuple[Size, Size]) -> Tensor[B, D2, K]: ...
    @overload
    def reshape(self, shape: tuple[Size, Size, Size]) -> Tensor[B, D3, K]: ...
    @overload
    def reshape(self, shape: tuple[Size, Size, Size, Size]) -> Tensor[B, D4, K]: ...
    @overload
    def reshape(self, shape: tuple[Size, Size, Size, Size, Size]) -> Tensor[B, D5, K]: ...
    @overload
    def reshape(self, shape: tuple[Size, Size, Size, Size, Size, Size]) -> Tensor[B, D6, K]: ...
    @overload
    def reshape(self, shape: Sequence[Size]) -> Tensor[B, Any, K]: ...
    def reshape(self, shape: Sequence[Size]) -> Tensor[B, Any, K]:
        """The same elements in row-major order under another shape; one dim may be -1, to be worked out."""
        old = self.primitive.shape
        if old == shape:
            return self._new(self.primitive)
        return self._new(self.device.backend.reshape(self.primitive, infer_size("reshape", old, shape)))

    @overload
    def flatten(self) -> Tensor[B, D1, K]: ...
    @overload
    def flatten(self, start_dim: int, end_dim: int = -1) -> Tensor[B, Any, K]: ...
    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor[B, Any, K]:
        """All elements in one dim; or the dims from ``start_dim`` to ``end_dim``, both of them too, as one."""
        start, end = self._dim("flatten", start_dim), self._dim("flatten", end_dim)
        if start > end:
            reason = f"dim {start_dim} comes after dim {end_dim}"
            raise ShapeError("flatten", reason, given={"shape": self.shape})
        mine = self.primitive.shape
        return self.reshape((*mine[:start], num_elements(mine[start : end + 1]), *mine[end + 1 :]))

    @overload
    def unsqueeze(self: Movement[B, D1, K]) -> Tensor[B, D2, K]: ...
    @overload
    def unsqueeze(self: Movement[B, D2, K]) -> Tensor[B, D3, K]: ...
    @overload
    def unsqueeze(self: Movement[B, D3, K]) -> Tensor[B, D4, K]: ...
    @overload
    def unsqueeze(self, rank: Literal[2]) -> Tensor[B, D2, K]: ...
    @overload
    def unsqueeze(self, rank: Literal[3]) -> Tensor[B, D3, K]: ...
    @overload
    def unsqueeze(self, rank: Literal[4]) -> Tensor[B, D4, K]: ...
    @overload
    def unsqueeze(self, rank: int | None = None) -> Tensor[B, Any, K]: ...
    def unsqueeze(self, rank: int | None = None) -> Tensor[B, Any, K]:
        """Dims of size 1 in front, until there are ``rank`` of them; one more, if no rank is given."""
        missing = 1 if rank is None else rank - self.rank
        if missing < 0 or self.rank + missing > MAX_RANK:
            reason = f"a rank from {self.rank} to {MAX_RANK} is possible"
            raise ShapeError(f"unsqueeze to rank {rank}", reason, given={"shape": self.shape})
        if missing == 0:
            return self._new(self.primitive)
        return self._new(self.device.backend.reshape(self.primitive, (1,) * missing + self.shape))

    @overload
    def unsqueeze_dim(self: Movement[B, D1, K], dim: int) -> Tensor[B, D2, K]: ...
    @overload
    def unsqueeze_dim(self: Movement[B, D2, K], dim: int) -> Tensor[B, D3, K]: ...
    @overload
    def unsqueeze_dim(self: Movement[B, D3, K], dim: int) -> Tensor[B, D4, K]: ...
    @overload
    def unsqueeze_dim(self, dim: int) -> Tensor[B, Any, K]: ...
    def unsqueeze_dim(self, dim: int) -> Tensor[B, Any, K]:
        """One more dim of size 1, at ``dim`` of the result."""
        dim = self._dim("unsqueeze_dim", dim, 1)
        return self.reshape((*self.shape[:dim], 1, *self.shape[dim:]))

    @overload
    def squeeze(self: Movement[B, D2, K], dim: int) -> Tensor[B, D1, K]: ...
    @overload
    def squeeze(self: Movement[B, D3, K], dim: int) -> Tensor[B, D2, K]: ...
    @overload
    def squeeze(self: Movement[B, D4, K], dim: int) -> Tensor[B, D3, K]: ...
    @overload
    def squeeze(self, dim: int) -> Tensor[B, Any, K]: ...
    def squeeze(self, dim: int) -> Tensor[B, Any, K]:
        """Without a dim of size 1."""
        dim = self._dim("squeeze", dim)
        if self.shape[dim] != 1 or self.rank == 1:
            reason = "there is no rank 0" if self.rank == 1 else f"dim {dim} has size {self.shape[dim]}, not 1"
            raise ShapeError("squeeze", reason, given={"shape": self.shape})
        return self.reshape(self.shape[:dim] + self.shape[dim + 1 :])

    @overload
    def permute(self: Movement[B, D1, K], axis0: int, /) -> Tensor[B, D, K]: ...
    @overload
    def permute(self: Movement[B, D2, K], axis0: int, axis1: int, /) -> Tensor[B, D, K]: ...
    @overload
    def permute(self: Movement[B, D3, K], axis0: int, axis1: int, axis2: int, /) -> Tensor[B, D, K]: ...
    @overload
    def permute(self: Movement[B, D4, K], axis0: int, axis1: int, axis2: int, axis3: int, /) -> Tensor[B, D, K]: ...
    @overload
    def permute(self: Movement[B, D5, K] | Movement[B, D6, K], *axes: int) -> Tensor[B, D, K]: ...
    def permute(self, *axes: int) -> Tensor[B, D, K]:
        """The dims in another order: dim ``i`` of the result is dim ``axes[i]`` of this tensor."""
        if len(axes) == 1 and isinstance(axes[0], (tuple, list)):
            reason = "the axes are arguments of their own, and not one tuple"
            raise ShapeError("permute", reason, hint=f"write permute({', '.join(map(repr, axes[0]))})")
        order = self._dims("permute", axes)
        if len(order) != self.rank:
            reason = f"{len(axes)} axes are given for {self.rank} dims"
            raise ShapeError("permute", reason, given={"shape": self.shape, "axes": axes})
        return self._new(self.device.backend.permute(self.primitive, order))

    def swap_dims(self, dim1: int, dim2: int) -> Tensor[B, D, K]:
        """Two dims exchanged."""
        first, second = self._dim("swap_dims", dim1), self._dim("swap_dims", dim2)
        axes = list(range(self.rank))
        axes[first], axes[second] = second, first
        return self._new(self.device.backend.permute(self.primitive, tuple(axes)))

    def transpose(self: Matrices[B, K]) -> Tensor[B, D, K]:
        """The last two dims exchanged."""
        rank = len(self.primitive.shape)
        if rank == 2:
            return self._new(self.device.backend.permute(self.primitive, (1, 0)))
        if rank < 2:
            hint = "add one with unsqueeze()"
            raise ShapeError("transpose", "it needs two dims", given={"shape": self.shape}, hint=hint)
        return self._new(self.device.backend.permute(self.primitive, (*range(rank - 2), rank - 1, rank - 2)))

    @property
    def mT(self: Matrices[B, K]) -> Tensor[B, D, K]:  # noqa: N802  # NumPy's and PyTorch's name for it
        """`transpose`, as the matrix formulas write it."""
        matrix: Any = self.transpose()
        return cast("Tensor[B, D, K]", matrix)

    def expand(self, shape: Sequence[Size]) -> Tensor[B, D, K]:
        """Dims of size 1 repeated up to ``shape``, without copying; -1 leaves a dim as it is."""
        mine = self.primitive.shape
        sizes = whole_numbers("expand", shape)
        if -1 in sizes and len(sizes) == len(mine):
            sizes = tuple(m if n == -1 else n for m, n in zip(mine, sizes, strict=True))
        if not expands(mine, sizes):
            reason = "only a dim of size 1 can be repeated, and the rank stays"
            raise ShapeError("expand", reason, given={"from": mine, "to": sizes})
        return self._new(self.device.backend.expand(self.primitive, sizes))

    def flip(self, dims: tuple[int, ...]) -> Tensor[B, D, K]:
        """Some dims read from their end."""
        return self._new(self.device.backend.flip(self.primitive, self._dims("flip", dims)))

    def slice(self, index: Index) -> Tensor[B, D, K]:
        """A part along each dim, as in ``x[1:3, ::-2]``. The rank stays: an int keeps its dim, at size 1."""
        parts, backwards = parse_index("slice", index, self.shape)
        part = self._new(self.device.backend.slice(self.primitive, parts))
        return part.flip(backwards) if backwards else part

    __getitem__ = slice

    def narrow(self, dim: int, start: int, length: int) -> Tensor[B, D, K]:
        """``length`` entries of one dim, from ``start``."""
        dim = self._dim("narrow", dim)
        if not 0 <= start <= start + length <= self.shape[dim]:
            reason = f"{start} to {start + length} is not inside dim {dim}, of size {self.shape[dim]}"
            raise ShapeError("narrow", reason, given={"shape": self.shape})
        return self[(slice(None),) * dim + (slice(start, start + length),)]

    def slice_assign(self, index: Index, values: Tensor[B, D, K]) -> Tensor[B, D, K]:
        """This tensor with the part at ``index`` replaced by ``values``, which must have that part's shape."""
        checks.check_operands("slice_assign", self, values, shapes=False)
        parts, backwards = parse_index("slice_assign", index, self.shape)
        wanted = tuple(len(range(*part.indices(size))) for part, size in zip(parts, self.shape, strict=True))
        if values.shape != wanted:
            raise ShapeError("slice_assign", f"the values have shape {values.shape}, the part has {wanted}")
        forward = values.flip(backwards) if backwards else values
        return self._new(self.device.backend.slice_assign(self.primitive, parts, forward.primitive))

    @staticmethod
    def cat(tensors: Sequence[Tensor[DB, R, K2]], dim: int) -> Tensor[DB, R, K2]:
        """Tensors one after another along one dim, in one new buffer. Their other sizes have to be the same.

        Raises ShapeError, DTypeMismatch or DeviceMismatch, with every reason, if they do not fit, or for none.
        """
        first, *others = _several("cat", tensors)
        dim = first._dim("cat", dim)
        for other in others:
            _check_joined(first, other, dim)
        starts = [0, *accumulate(tensor.shape[dim] for tensor in tensors)]
        whole = [slice(0, size, 1) for size in first.shape]
        places = [(*whole[:dim], slice(*bounds, 1), *whole[dim + 1 :]) for bounds in pairwise(starts)]
        primitives = [tensor.primitive for tensor in tensors]
        return first._new(first.device.backend.cat(tuple(places), *primitives))

    @staticmethod
    def stack(tensors: Sequence[Tensor[DB, Any, K2]], dim: int) -> Tensor[DB, Any, K2]:
        """Tensors of one shape side by side along a new dim, at ``dim`` of the result."""
        first, *others = _several("stack", tensors)
        dim = first._dim("stack", dim, 1)
        for other in others:
            _check_joined(first, other, None)
        return Movement.cat([tensor.unsqueeze_dim(dim) for tensor in (first, *others)], dim)

    def gather(self, dim: int, indices: Tensor[B, D, Int]) -> Tensor[B, D, K]:
        """One element for each index: ``out[i][j] = x[indices[i][j]][j]`` for dim 0."""
        checks.check_operands("gather", self, indices, dtype=False, shapes=False)
        dim = self._check_indices("gather", dim, indices, indices.shape)
        return self._new(self.device.backend.gather(self.primitive, dim, indices.primitive))

    def scatter(self, dim: int, indices: Tensor[B, D, Int], values: Tensor[B, D, K]) -> Tensor[B, D, K]:
        """This tensor with ``values`` added where `gather` would read; an index that comes twice adds twice."""
        checks.check_operands("scatter", self, values, shapes=False)
        checks.check_operands("scatter", self, indices, dtype=False, shapes=False)
        dim = self._check_indices("scatter", dim, indices, values.shape)
        return self._new(self.device.backend.scatter(self.primitive, dim, indices.primitive, values.primitive))

    def select(self, dim: int, indices: Tensor[B, D1, Int]) -> Tensor[B, D, K]:
        """Whole rows (or whatever lies at each index of ``dim``), in the order of the indices."""
        dim = self._check_list("select", dim, indices)
        return self._new(self.device.backend.select(self.primitive, dim, indices.primitive))

    def select_assign(self, dim: int, indices: Tensor[B, D1, Int], values: Tensor[B, D, K]) -> Tensor[B, D, K]:
        """This tensor with ``values`` added where `select` would read; an index that comes twice adds twice."""
        checks.check_operands("select_assign", self, values, shapes=False)
        dim = self._check_list("select_assign", dim, indices)
        wanted = (*self.shape[:dim], *indices.shape, *self.shape[dim + 1 :])
        if values.shape != wanted:
            raise ShapeError("select_assign", f"the values have shape {values.shape}, the places {wanted}")
        return self._new(self.device.backend.select_assign(self.primitive, dim, indices.primitive, values.primitive))

    def _check_list(self, op: str, dim: int, indices: Tensor[B, D1, Int]) -> int:
        checks.check_operands(op, self, indices, dtype=False, shapes=False)
        dim = self._dim(op, dim)
        if indices.rank != 1:
            reason = f"the indices have rank {indices.rank}; they must be one list, of rank 1"
            raise ShapeError(op, reason, given={"indices": indices.shape}, hint="flatten() them, or use gather()")
        self._check_range(op, dim, indices)
        return dim

    def _check_indices(self, op: str, dim: int, indices: Tensor[B, Any, Int], shape: Shape) -> int:
        dim = self._dim(op, dim)
        mine, theirs = self.shape, indices.shape
        fits = len(mine) == len(theirs) and all(
            n <= m for d, (m, n) in enumerate(zip(mine, theirs, strict=True)) if d != dim
        )
        if not fits or theirs != shape:
            reason = "the indices need the tensor's rank, its sizes at most in the other dims, and the values' shape"
            raise ShapeError(op, reason, given={"tensor": mine, "indices": theirs, "values": shape})
        self._check_range(op, dim, indices)
        return dim

    def _check_range(self, op: str, dim: int, indices: Tensor[B, Any, Int]) -> None:
        """Indices are Int, live where the tensor lives, and are within the dim, as far as the backend can tell."""
        array = indices._of_kind(op, "int")
        if not self.shape[dim] and 0 not in indices.shape:
            reason = f"dim {dim} has size 0, so no index is in it"
            raise ShapeError(op, reason, given={"tensor": self.shape, "indices": indices.shape})
        bounds = self.device.backend.index_bounds(array)
        if bounds and not 0 <= bounds[0] <= bounds[1] < self.shape[dim]:
            reason = f"the indices run from {bounds[0]} to {bounds[1]}, and dim {dim} has size {self.shape[dim]}"
            raise ShapeError(op, reason, given={"shape": self.shape})


def parse_index(op: str, index: Index, shape: Shape) -> tuple[tuple[slice, ...], tuple[int, ...]]:
    """One forward slice for each dim, with every bound filled in, and the dims that are to be read backwards then.

    An int becomes a slice of length 1. Raises ShapeError for too many parts, an int out of range, or a step of 0.
    """
    asked = index if isinstance(index, tuple) else (index,)
    for part in asked:
        _check_part(op, part)
    parts = _fill_ellipsis(op, asked, shape)
    bounded = [_bounded(op, part, dim, size) for dim, (part, size) in enumerate(zip(parts, shape, strict=True))]
    backwards = tuple([dim for dim, part in enumerate(bounded) if part.step < 0])
    return tuple([_forward(part) for part in bounded]) if backwards else tuple(bounded), backwards


def _check_part(op: str, part: object) -> None:
    """A slice, an ellipsis or a whole number; NumPy's other ways to index have methods here."""
    if isinstance(part, (slice, EllipsisType)):
        return
    if isinstance(part, bool) or not hasattr(part, "__index__") or getattr(part, "shape", ()) != ():
        reason = f"{type(part).__name__} is neither a slice nor an int"
        if part is None:
            hint = "a new dim in front is unsqueeze(), and another one is unsqueeze_dim(dim)"
        elif isinstance(part, bool) or getattr(part, "kind", None) is Bool:
            hint = "use mask_where() or mask_fill() for a mask: a result has a shape that does not depend on values"
        else:
            hint = "use gather() or select() for a tensor of indices, mask_where() for a mask"
        raise ShapeError(op, reason, hint=hint)


def _forward(part: slice) -> slice:
    """The same entries from first to last."""
    if part.step > 0:
        return part
    last = part.start + (len(range(part.start, part.stop, part.step)) - 1) * part.step
    return slice(last, part.start + 1, -part.step)


def _fill_ellipsis(op: str, parts: tuple[Part, ...], shape: Shape) -> tuple[slice | Size, ...]:
    missing = len(shape) - sum(part is not Ellipsis for part in parts)
    ellipses = [at for at, part in enumerate(parts) if part is Ellipsis]
    if missing < 0 or len(ellipses) > 1:
        reason = "it has two ellipses" if missing >= 0 else f"it has parts for {len(shape) - missing} dims"
        raise ShapeError(op, reason, given={"index": parts, "shape": shape})
    at = ellipses[0] if ellipses else len(parts)
    filled = (*parts[:at], *[slice(None)] * missing, *parts[at + 1 :])
    return tuple(part for part in filled if not isinstance(part, EllipsisType))


def _bounded(op: str, part: slice | Size, dim: int, size: int) -> slice:
    if isinstance(part, slice):
        return _bounded_slice(op, part, dim, size)
    part = index_of(part)
    if not -size <= part < size:
        raise ShapeError(op, f"index {part} is outside dim {dim}, of size {size}")
    return slice(part % size, part % size + 1, 1)


def _bounded_slice(op: str, part: slice, dim: int, size: int) -> slice:
    try:
        start, stop, step = part.indices(size)
    except TypeError:
        raise ShapeError(op, f"the bounds and the step of {part} are not whole numbers") from None
    except ValueError:
        raise ShapeError(op, f"the step of dim {dim} is 0") from None
    count = len(range(start, stop, step))
    return slice(start, stop, step) if count else slice(0, 0, 1)


# Putting tensors together


def _several(op: str, tensors: Sequence[Tensor[Any, Any, Any]]) -> list[Tensor[Any, Any, Any]]:
    """The tensors of a list or a tuple, at least one."""
    if not isinstance(tensors, list | tuple):
        reason = f"{type(tensors).__name__} is not a list of tensors"
        raise DTypeMismatch(op, reason, hint=f"write Tensor.{op}([a, b], dim)")
    if not tensors:
        raise ShapeError(op, "the list is empty, so nothing says what shape, dtype and device the result has")
    for tensor in tensors:
        checks.check_tensor(op, tensor)
    return list(tensors)


def _check_joined(first: Tensor[Any, Any, Any], other: Tensor[Any, Any, Any], dim: int | None) -> None:
    """Two tensors that are to lie side by side differ in no size, but for that of ``dim``."""
    op = "stack" if dim is None else "cat"
    checks.check_operands(op, first, other, shapes=False)
    mine, theirs = first.shape, other.shape
    given = {"first": checks.describe(first), "other": checks.describe(other)}
    if len(mine) != len(theirs):
        raise ShapeError(op, f"the ranks differ: {len(mine)} and {len(theirs)}", given=given)
    pairs = enumerate(zip(mine, theirs, strict=True))
    reasons = [f"dim {at} is {m} in one and {n} in the other" for at, (m, n) in pairs if m != n and at != dim]
    if reasons:
        raise ShapeError(op, reasons, given=given)
