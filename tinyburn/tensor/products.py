"""Products of vectors, and the notation that names them all: einsum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from typing_extensions import TypeVar

from tinyburn.backend.device import Device
from tinyburn.base.dtype import Float, Int
from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import D1, MAX_RANK, Size

from . import checks
from .base import DB, B, D, K, TensorBase, as_temporary
from .creation import Creation, _checked_shape
from .einsum import contract, parse
from .movement import Movement

if TYPE_CHECKING:
    from .tensor import Tensor

EK = TypeVar("EK")

Numeric: TypeAlias = "Products[B, D, Float] | Products[B, D, Int]"
"""``self`` of whatever truth values do not have."""


class Products(TensorBase[B, D, K]):
    """Sums of products, none of which needs an operation of its own."""

    __slots__ = ()

    def dot(self: Products[B, D1, K], other: Tensor[B, D1, K]) -> Tensor[B, D1, K]:
        """The inner product of two vectors of one size, of shape ``(1,)``; 0 for vectors of no element."""
        x: Any = self._vectors("dot", other)
        return cast("Tensor[B, D1, K]", x.mul(other).sum())

    def cross(self: Numeric[B, D], other: Tensor[B, D, K], dim: int) -> Tensor[B, D, K]:
        """The cross product along a dim of size 3: at right angles to both, as long as the area that they span.

        The other dims broadcast where one of them is 1.
        """
        checks.check_operands("cross", self, other)
        dim = self._dim("cross", dim)
        if self.shape[dim] != 3 or other.shape[dim] != 3:
            given = {"left": checks.describe(self), "right": checks.describe(other)}
            raise ShapeError("cross", f"dim {dim} must have size 3 in both", given=given)
        x: Any = self
        a, b = list(x.iter_dim(dim)), list(other.iter_dim(dim))
        parts: list[Any] = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
        return Movement.cat(parts, dim)

    @staticmethod
    def einsum(equation: str, *tensors: Tensor[DB, Any, EK]) -> Tensor[DB, Any, EK]:
        """Einstein's notation: a letter for each dim of each operand, an arrow, and the letters of the result.

        What has the same letter is multiplied; a letter that the result lacks is summed over. ``"ij,jk->ik"`` is the
        matrix product, ``"bi,bj->bij"`` an outer product for each b, ``"ii->i"`` a diagonal. Three dots are all dims
        that have no letter, ``"...ij,...jk->...ik"`` a batch of products; they have the same sizes in every operand.
        Without an arrow the result has those, and the letters that come once, in alphabetical order.

        More than two operands are contracted pair by pair: always the pair whose result is smallest beside its
        operands, and of several the one with the fewest products. Each pair becomes one batched `matmul`, or a product
        of elements if there is nothing to sum. An empty right side gives shape ``(1,)``, as every full reduction does.

        Raises ShapeError for an equation that cannot be read, or sizes that differ for one letter; DTypeMismatch,
        DeviceMismatch or BackendMismatch as `matmul` does.
        """
        return contract(*parse(equation, tensors), list(tensors))

    @staticmethod
    def cartesian_grid(shape: Sequence[Size], device: Device[DB]) -> Tensor[DB, Any, Int]:
        """The index of each element of a shape: ``(*shape, rank)``, with as many whole numbers as it has dims."""
        sizes = _checked_shape("cartesian_grid", shape)
        if len(sizes) == MAX_RANK:
            reason = f"the result would have rank {MAX_RANK + 1}, and {MAX_RANK} is the most"
            raise ShapeError("cartesian_grid", reason, given={"shape": sizes})
        lines: list[Any] = []
        for dim, size in enumerate(sizes):
            line = as_temporary(Creation.arange(0, size, device))
            lines.append(line.reshape([size if at == dim else 1 for at in range(len(sizes))]).expand(sizes))
        return Movement.stack(lines, -1)

    def _vectors(self, op: str, other: Tensor[B, Any, K]) -> TensorBase[B, D, K]:
        """This tensor, if it and the other are vectors of one size."""
        checks.check_operands(op, self, other, shapes=False)
        self._of_kind(op, "number")
        if self.rank != 1 or self.shape != other.shape:
            given = {"left": checks.describe(self), "right": checks.describe(other)}
            reason = "it takes two vectors, of rank 1 and of one size"
            raise ShapeError(op, reason, given=given, hint="write x @ w for matrices; flatten() makes vectors")
        return self
