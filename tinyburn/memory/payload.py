"""The smallest number of bytes that a tensor's values can take."""

from __future__ import annotations

from math import prod

from tinyburn.tensor import Shape, ShapeError
from tinyburn.tensor.errors import explain


def tensor_payload_bytes(shape: Shape, scalar_bytes: int) -> int:
    """Elements times bytes of a scalar: what a contiguous tensor needs, before any extra.

    Alignment, caches, graph metadata, temporaries, gradients and staging come on top; see the memory pages.

    Args:
        shape: the size of each dim, 0 or more; ``()`` is a single scalar.
        scalar_bytes: bytes of one scalar, 1 or more: 4 for float32.

    Raises:
        ShapeError: a dim is negative or not whole, or ``scalar_bytes`` is not 1 or more.
    """
    reasons = [
        f"dim {dim} is {size!r}, not a whole number of 0 or more"
        for dim, size in enumerate(shape)
        if not _is_count(size)
    ]
    if not _is_count(scalar_bytes) or scalar_bytes == 0:
        reasons.append(f"scalar_bytes is {scalar_bytes!r}, not a whole number of 1 or more")
    if reasons:
        raise ShapeError(explain(f"tensor_payload_bytes({shape!r}, {scalar_bytes!r})", reasons))
    return prod(shape) * scalar_bytes


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
