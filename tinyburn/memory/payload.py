"""The smallest number of bytes that a tensor's values can take."""

from __future__ import annotations

from math import prod

from tinyburn.base.dtype import DType
from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import Shape, is_count

SCALAR_BYTES: dict[str, int] = {
    **{member.value: member.bytes for member in DType},
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
}
"""Bytes of one scalar by the name of its format: those of tinyburn, and others that models are stored in."""


def tensor_payload_bytes(shape: Shape, scalar_bytes: int | str) -> int:
    """Elements times bytes of a scalar: what a contiguous tensor needs, before any extra.

    Alignment, caches, graph metadata, temporaries, gradients and staging come on top; see the memory pages.

    Args:
        shape: the size of each dim, 0 or more; ``()`` is a single scalar.
        scalar_bytes: bytes of one scalar, 1 or more, or the name of a format in `SCALAR_BYTES`: 4 or "float32".

    Raises:
        ShapeError: a dim is negative or not whole, or ``scalar_bytes`` is neither 1 or more nor a known name.
    """
    reasons = [
        f"dim {dim} is {size!r}, not a whole number of 0 or more"
        for dim, size in enumerate(shape)
        if not is_count(size)
    ]
    size = SCALAR_BYTES.get(scalar_bytes) if isinstance(scalar_bytes, str) else scalar_bytes
    if not is_count(size) or not size:
        names = ", ".join(SCALAR_BYTES)
        reasons.append(f"scalar_bytes is {scalar_bytes!r}, neither a whole number of 1 or more nor one of {names}")
    if reasons or size is None:
        raise ShapeError(f"tensor_payload_bytes({shape!r}, {scalar_bytes!r})", reasons)
    return prod(shape) * size
