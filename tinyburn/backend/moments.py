"""The operations that optimizers are made of, as NumPy kernels: see `blocks.py` for what a kernel is.

Optimizers keep running means of the gradients and of their squares, the moments. Each kernel reads all its operands of
a block before it writes there, so a new moment can take the memory of the old one, and a new parameter that of its
gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .blocks import Kernel, NumPyArray, Scratch
from .interface import Number


def _weighted_sum(s: Scratch, out: NumPyArray, a: Any, b: Any, first: Number, second: Number) -> None:
    np.multiply(b, second, out=s.x)
    _add_share(s, out, a, first)


def _weighted_square_sum(s: Scratch, out: NumPyArray, a: Any, b: Any, first: Number, second: Number) -> None:
    np.multiply(b, second, out=s.x)
    np.multiply(s.x, b, out=s.x)
    _add_share(s, out, a, first)


def _adaptive_sum(
    s: Scratch, out: NumPyArray, a: Any, b: Any, c: NumPyArray, first: Number, second: Number, epsilon: Number
) -> None:
    np.sqrt(c, out=s.y)
    np.add(s.y, epsilon, out=s.y)
    np.multiply(b, second, out=s.x)
    np.divide(s.x, s.y, out=s.x)
    _add_share(s, out, a, first)


def _add_share(s: Scratch, out: NumPyArray, a: Any, first: Number) -> None:
    """``a * first + s.x``. A product with 1 is left out, since it takes a pass and changes nothing."""
    if first == 1:
        np.add(a, s.x, out=out)
    else:
        np.multiply(a, first, out=s.y)
        np.add(s.y, s.x, out=out)


MOMENTS: dict[str, Kernel] = {
    "weighted_sum": _weighted_sum,
    "weighted_square_sum": _weighted_square_sum,
    "adaptive_sum": _adaptive_sum,
}
"""The kernel of each operation."""
