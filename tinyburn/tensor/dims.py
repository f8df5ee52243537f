"""Dims moved, added and taken away, several at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import MAX_RANK, normalize_dims

from .base import B, D, K, TensorBase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .tensor import Tensor


class Dims(TensorBase[B, D, K]):
    """Nothing is computed or copied, where the memory's order lets it be a view."""

    __slots__ = ()

    def movedim(self, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor[B, D, K]:
        """Dims of this tensor to other places of the result; the others keep their order."""
        origins = self._dims("movedim", _as_tuple(source))
        targets = self._dims("movedim", _as_tuple(destination))
        if len(origins) != len(targets):
            reason = f"{len(origins)} dims cannot go to {len(targets)} places"
            raise ShapeError("movedim", reason, given={"source": source, "destination": destination})
        origin_of = dict(zip(targets, origins, strict=True))
        rest = iter([dim for dim in range(self.rank) if dim not in origins])
        axes = [origin_of[dim] if dim in origin_of else next(rest) for dim in range(self.rank)]
        return self._new(self.device.backend.permute(self.primitive, tuple(axes)))

    def unsqueeze_dims(self, dims: Sequence[int]) -> Tensor[B, Any, K]:
        """New dims of size 1, at these places of the result."""
        asked = _as_tuple(dims)
        rank = self.rank + len(asked)
        if rank > MAX_RANK:
            raise ShapeError("unsqueeze_dims", f"the result would have rank {rank}, and {MAX_RANK} is the most",
                             given={"shape": self.shape})  # fmt: skip
        new = normalize_dims("unsqueeze_dims", asked, (1,) * rank)
        sizes = iter(self.shape)
        return self._this().reshape([1 if dim in new else next(sizes) for dim in range(rank)])

    def squeeze_dims(self, dims: Sequence[int] = ()) -> Tensor[B, Any, K]:
        """Without these dims, which have size 1; without every dim of size 1, if none is named.

        There is no rank 0: of a tensor of ones in every dim, the last one stays.
        """
        ones = [dim for dim, size in enumerate(self.shape) if size == 1]
        asked = self._dims("squeeze_dims", _as_tuple(dims))
        others = [f"dim {dim} has size {self.shape[dim]}, not 1" for dim in asked if dim not in ones]
        if others:
            raise ShapeError("squeeze_dims", others, given={"shape": self.shape})
        gone = asked or ones
        kept = [size for dim, size in enumerate(self.shape) if dim not in gone]
        if not kept and asked:
            raise ShapeError("squeeze_dims", "there is no rank 0", given={"shape": self.shape})
        return self._this().reshape(kept or [1])

    def _this(self) -> Tensor[B, D, K]:
        return cast("Tensor[B, D, K]", self)


def _as_tuple(dims: int | Sequence[int]) -> tuple[int, ...]:
    return tuple(dims) if isinstance(dims, tuple | list) else (cast(int, dims),)
