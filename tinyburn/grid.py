"""Grids: what stands at each point, from one line of coordinates for each direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import D1, MAX_RANK
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_operands, check_tensor

if TYPE_CHECKING:
    from tinyburn.backend import Backend

B = TypeVar("B", bound="Backend")
K = TypeVar("K")

Indexing: TypeAlias = Literal["matrix", "cartesian"]


def meshgrid(
    lines: Sequence[Tensor[B, D1, K]], indexing: Indexing = "matrix", sparse: bool = False
) -> tuple[Tensor[B, Any, K], ...]:
    """The coordinates of each point of a grid: one tensor for each line, and all of one shape.

    Args:
        lines: the coordinates along each direction, of rank 1.
        indexing: in ``"matrix"`` the first line runs down the rows; in ``"cartesian"`` it runs along the columns, as x
            does in a picture: the first two dims are exchanged.
        sparse: leave the dims at size 1 along which nothing changes; they broadcast to the same grid.

    The points are views: a line is read again and again, and takes no further memory.
    """
    _check_lines(lines, indexing)
    sizes = [line.shape[0] for line in lines]
    order = list(range(len(lines)))
    if indexing == "cartesian" and len(lines) > 1:
        order[:2] = [1, 0]  # line 0 lies along dim 1, and line 1 along dim 0
    shape = [sizes[dim] for dim in order]
    points = []
    for at, line in enumerate(lines):
        spread = line.reshape([sizes[at] if dim == order[at] else 1 for dim in range(len(lines))])
        points.append(spread if sparse else spread.expand(shape))
    return tuple(points)


def meshgrid_stack(lines: Sequence[Tensor[B, D1, K]], indexing: Indexing = "matrix") -> Tensor[B, Any, K]:
    """`meshgrid` as one tensor, with the coordinates of each point in the last dim."""
    if isinstance(lines, tuple | list) and len(lines) == MAX_RANK:
        raise ShapeError("meshgrid_stack", f"the result would have rank {MAX_RANK + 1}, and {MAX_RANK} is the most")
    return Tensor.stack(meshgrid(lines, indexing), -1)


def _check_lines(lines: Sequence[Tensor[Any, Any, Any]], indexing: str) -> None:
    if indexing not in ("matrix", "cartesian"):
        raise ShapeError("meshgrid", f"there is no indexing {indexing!r}", hint='use "matrix" or "cartesian"')
    if not isinstance(lines, tuple | list) or not 1 <= len(lines) <= MAX_RANK:
        raise ShapeError("meshgrid", f"it takes a list of 1 to {MAX_RANK} lines", hint="write meshgrid([x, y])")
    for line in lines:
        check_tensor("meshgrid", line)
        check_operands("meshgrid", lines[0], line, shapes=False)
        if line.rank != 1:
            reason = f"a line has rank 1, and here is one of rank {line.rank}"
            raise ShapeError("meshgrid", reason, given={"shape": line.shape}, hint="flatten() it")
