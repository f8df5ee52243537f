"""Shapes: tuples of ints, the rank types D1 to D6, and the arithmetic on dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .errors import ShapeError

if TYPE_CHECKING:
    import numpy as np

Shape: TypeAlias = tuple[int, ...]

Size: TypeAlias = "int | np.integer[Any]"
"""One dim of a shape, as a user may give it."""

D1 = Literal[1]
D2 = Literal[2]
D3 = Literal[3]
D4 = Literal[4]
D5 = Literal[5]
D6 = Literal[6]

MAX_RANK = 6


def is_count(value: object) -> bool:
    """Whether something is a whole number of 0 or more."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def num_elements(shape: Sequence[int]) -> int:
    """The product of the dims; 0 when any dim is 0."""
    return prod(shape)


def reduced_count(shape: Shape, dims: Sequence[int]) -> int:
    """How many elements one result of a reduction over some dims gathers."""
    return prod(shape[dim] for dim in dims)


def broadcast_shape(a: Shape, b: Shape) -> Shape:
    """The common shape of two shapes of equal rank, where a dim of size 1 stretches to the other's."""
    return tuple(n if m == 1 else m for m, n in zip(a, b, strict=True))


def broadcasts(a: Shape, b: Shape) -> bool:
    """Whether two shapes have equal rank, and each dim is the same in both or 1 in one."""
    if len(a) != len(b):
        return False
    for m, n in zip(a, b):  # noqa: B905, SIM110  # a plain loop: this runs in every operation
        if m != n and m != 1 and n != 1:
            return False
    return True


def expands(a: Shape, b: Shape) -> bool:
    """Whether a shape can be repeated up to another of equal rank: each dim is the same in both, or 1 in the first."""
    if len(a) != len(b):
        return False
    for m, n in zip(a, b):  # noqa: B905, SIM110  # a plain loop, as in `broadcasts`
        if m != n and (m != 1 or n < 0):
            return False
    return True


def broadcast_conflicts(a: Shape, b: Shape) -> list[str]:
    """Every reason why two shapes do not broadcast; empty when they do."""
    if len(a) != len(b):
        return [f"the ranks differ: {len(a)} and {len(b)}"]
    return [
        f"dim {dim} is {m} in one and {n} in the other, and neither is 1"
        for dim, (m, n) in enumerate(zip(a, b, strict=True))
        if m != n and m != 1 and n != 1
    ]


def normalize_dim(op: str, dim: int, shape: Shape) -> int:
    """Counts a negative dim from the end. Raises ShapeError for one that does not exist."""
    rank = len(shape)
    if isinstance(dim, bool) or not hasattr(dim, "__index__") or not -rank <= index(dim) < rank:
        reason = f"dim {dim!r} does not exist in a tensor of rank {rank}"
        raise ShapeError(op, reason, given={"shape": shape}, hint=f"use a dim from {-rank} to {rank - 1}")
    return index(dim) % rank


def normalize_dims(op: str, dims: Sequence[int], shape: Shape) -> tuple[int, ...]:
    """Like `normalize_dim` for several dims, which must differ."""
    if not isinstance(dims, tuple | list):
        raise ShapeError(op, f"{dims!r} is not a tuple of dims", hint="write (0,) for one dim")
    found = tuple(normalize_dim(op, dim, shape) for dim in dims)
    if len(set(found)) != len(found):
        raise ShapeError(op, f"a dim is named twice in {tuple(dims)}", given={"shape": shape})
    return found


def permuted(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """The entries of a shape, or of strides, in the order of ``axes``."""
    return tuple(shape[axis] for axis in axes)


def reduced_shape(shape: Shape, dims: Sequence[int]) -> Shape:
    """A reduction keeps its dims, at size 1."""
    return tuple(1 if dim in dims else size for dim, size in enumerate(shape))


def part_shape(parts: Sequence[slice]) -> Shape:
    """How many entries each of some slices has, all of whose bounds are given."""
    return tuple(len(range(part.start, part.stop, part.step)) for part in parts)


def window_count(length: int, size: int, step: int, dilation: int) -> int:
    """How many whole windows lie in a dim: each spans ``(size - 1) * dilation + 1`` entries, and they start ``step``
    apart."""
    return max((length - (size - 1) * dilation - 1) // step + 1, 0)


def row_major_strides(shape: Shape) -> tuple[int, ...]:
    """Elements to step over for each dim when the last dim is contiguous."""
    strides = [1] * len(shape)
    for dim in range(len(shape) - 2, -1, -1):
        strides[dim] = strides[dim + 1] * max(shape[dim + 1], 1)
    return tuple(strides)


def is_contiguous(shape: Shape, strides: Sequence[int]) -> bool:
    """Whether elements lie in row-major order without gaps. The stride of a dim of size 1 never matters."""
    if 0 in shape:
        return True
    expected = row_major_strides(shape)
    return all(size == 1 or a == b for size, a, b in zip(shape, strides, expected, strict=True))


def whole_numbers(op: str, shape: Sequence[Size]) -> Shape:
    """A shape as a tuple of ints. Raises ShapeError for anything else."""
    try:
        return tuple([index(size) for size in shape])
    except TypeError:
        reason = f"{shape!r} is not a tuple of whole numbers"
        raise ShapeError(op, reason, hint="write (3,) for one dim of size 3") from None


def infer_size(op: str, old: Shape, new: Sequence[Size]) -> Shape:
    """Fills in the one dim given as -1, and checks that no element is lost or made."""
    total, sizes = num_elements(old), whole_numbers(op, new)
    if min(sizes, default=-1) >= 0 and len(sizes) <= MAX_RANK and num_elements(sizes) == total:
        return sizes
    known = num_elements(tuple(size for size in sizes if size != -1))
    reasons = []
    if sizes.count(-1) > 1:
        reasons.append("only one dim can be -1")
    elif -1 in sizes and (known == 0 or total % known):
        reasons.append(f"no size for -1 makes {total} elements")
    elif -1 not in sizes and known != total:
        reasons.append(f"{sizes} has {known} elements, not {total}")
    if any(size < -1 for size in sizes):
        reasons.append("a dim is negative")
    if not 1 <= len(sizes) <= MAX_RANK:
        reasons.append(f"the rank {len(sizes)} is not from 1 to {MAX_RANK}")
    if reasons:
        raise ShapeError(op, reasons, given={"from": old, "to": sizes})
    return tuple(total // known if size == -1 else size for size in sizes)
