"""What may stand between the brackets of ``x[...]``: slices and ints, one for each dim, from the left."""

from __future__ import annotations

from operator import index as index_of
from types import EllipsisType
from typing import TypeAlias

from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import Shape

Part: TypeAlias = "slice | int | EllipsisType"
Index: TypeAlias = "Part | tuple[Part, ...]"


def parse_index(op: str, index: Index, shape: Shape) -> tuple[slice, ...]:
    """One forward slice for each dim, with every bound filled in. An int becomes a slice of length 1.

    Raises ShapeError for too many parts, an int out of range, or a step that is not positive.
    """
    parts = _fill_ellipsis(op, index if isinstance(index, tuple) else (index,), shape)
    return tuple(_bounded(op, part, dim, size) for dim, (part, size) in enumerate(zip(parts, shape, strict=True)))


def _fill_ellipsis(op: str, parts: tuple[Part, ...], shape: Shape) -> tuple[slice | int, ...]:
    missing = len(shape) - sum(part is not Ellipsis for part in parts)
    places = [place for place, part in enumerate(parts) if part is Ellipsis]
    if missing < 0 or len(places) > 1:
        reason = "it has two ellipses" if missing >= 0 else f"it has parts for {len(shape) - missing} dims"
        raise ShapeError(op, reason, given={"index": parts, "shape": shape})
    place = places[0] if places else len(parts)
    filled = (*parts[:place], *[slice(None)] * missing, *parts[place + 1 :])
    return tuple(part for part in filled if not isinstance(part, EllipsisType))


def _bounded(op: str, part: slice | int, dim: int, size: int) -> slice:
    if isinstance(part, slice):
        return _bounded_slice(op, part, dim, size)
    if isinstance(part, bool) or not hasattr(part, "__index__") or getattr(part, "shape", ()) != ():
        reason = f"{type(part).__name__} is neither a slice nor an int"
        hint = "use gather() or select() for a tensor of indices, mask_where() for a mask"
        raise ShapeError(op, reason, hint=hint)
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
    if step < 1:
        raise ShapeError(op, f"the step {step} of dim {dim} is not positive")
    return slice(start, max(start, stop), step)
