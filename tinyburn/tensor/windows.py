"""Windows: the same elements seen again and again, as a kernel of a convolution sees them."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, overload

from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import D1, D2, D3, D4, D5, D6, MAX_RANK

from .base import B, D, K, TensorBase

if TYPE_CHECKING:
    from .tensor import Tensor


class Windows(TensorBase[B, D, K]):
    """A result shares the memory of its source: nobody can tell, since values never change."""

    __slots__ = ()

    @overload
    def unfold(self: Windows[B, D1, K], dim: int, size: int, step: int, dilation: int = 1) -> Tensor[B, D2, K]: ...
    @overload
    def unfold(self: Windows[B, D2, K], dim: int, size: int, step: int, dilation: int = 1) -> Tensor[B, D3, K]: ...
    @overload
    def unfold(self: Windows[B, D3, K], dim: int, size: int, step: int, dilation: int = 1) -> Tensor[B, D4, K]: ...
    @overload
    def unfold(self: Windows[B, D4, K], dim: int, size: int, step: int, dilation: int = 1) -> Tensor[B, D5, K]: ...
    @overload
    def unfold(self: Windows[B, D5, K], dim: int, size: int, step: int, dilation: int = 1) -> Tensor[B, D6, K]: ...
    @overload
    def unfold(self, dim: int, size: int, step: int, dilation: int = 1) -> Tensor[B, Any, K]: ...
    def unfold(self, dim: int, size: int, step: int, dilation: int = 1) -> Tensor[B, Any, K]:
        """Every whole window of one dim, without copying: ``out[…, i, …, j] = x[…, i * step + j * dilation, …]``.

        The dim becomes the number of windows, ``(length - (size - 1) * dilation - 1) // step + 1`` or 0 where none
        fits, and a new last dim holds the elements of each.

        Raises ShapeError for a dim that does not exist, a number below 1, or a seventh dim.
        """
        dim = self._dim("unfold", dim)
        numbers = {"size": size, "step": step, "dilation": dilation}
        reasons = [
            f"{name} is {number!r}, and must be a whole number of 1 or more"
            for name, number in numbers.items()
            if isinstance(number, bool) or not hasattr(number, "__index__") or index(number) < 1
        ]
        if self.rank >= MAX_RANK:
            reasons.append(f"the windows need one more dim, and {MAX_RANK} is the highest rank")
        if reasons:
            raise ShapeError("unfold", reasons, given={"shape": self.shape, "dim": dim})
        backend = self.device.backend
        return self._new(backend.unfold(self.primitive, dim, index(size), index(step), index(dilation)))
