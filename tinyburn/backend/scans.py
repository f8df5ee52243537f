"""Scans: each result is what all elements up to its own make, along one dim, as a sum that is noted while it grows.

The compositions go by doubling. Each element takes in the one before it, then the one two before, then four before:
after ``log2(size)`` rounds it has taken in all. Our own backends have one buffer for the result and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .operations import composed, like_first

Array: TypeAlias = Any
Ops: TypeAlias = Any
"""The class of a backend, which has the operations that are asked for here."""


class Scans:
    """Part of `Backend`."""

    @classmethod
    @composed(like_first, fused=True)
    def cumsum(cls: Ops, a: Array, dim: int) -> Array:
        """The sums of all elements up to each one, along a dim."""
        return _scan(cls, a, dim, cls.add)

    @classmethod
    @composed(like_first, fused=True)
    def cumprod(cls: Ops, a: Array, dim: int) -> Array:
        """The products of all elements up to each one, along a dim."""
        return _scan(cls, a, dim, cls.mul)

    @classmethod
    @composed(like_first, fused=True)
    def cummax(cls: Ops, a: Array, dim: int) -> Array:
        """The largest of all elements up to each one, along a dim; NaN from the first NaN on."""
        return _scan(cls, a, dim, cls.maximum)

    @classmethod
    @composed(like_first, fused=True)
    def cummin(cls: Ops, a: Array, dim: int) -> Array:
        """The smallest of all elements up to each one, along a dim; NaN from the first NaN on."""
        return _scan(cls, a, dim, cls.minimum)

    @classmethod
    @composed(like_first, fused=True, cheap=False)
    def logcumsumexp(cls: Ops, a: Array, dim: int) -> Array:
        """The logarithm of the `cumsum` of ``exp(a)``, also where that is too large or too small for its dtype."""
        return _scan(cls, a, dim, lambda x, y: _log_add_exp(cls, x, y))


def _scan(cls: Ops, a: Array, dim: int, join: Callable[[Array, Array], Array]) -> Array:
    """Doubles how far back each element has taken in what stands before it."""
    size, back = a.shape[dim], 1
    while back < size:
        head, rest = _places(a, dim, 0, back), _places(a, dim, back, size)
        earlier = cls.slice(a, _places(a, dim, 0, size - back))
        a = cls.cat((head, rest), cls.slice(a, head), join(earlier, cls.slice(a, rest)))
        back *= 2
    return a


def _places(a: Array, dim: int, start: int, stop: int) -> tuple[slice, ...]:
    """A part of one dim, and all of the others."""
    return tuple([slice(start, stop, 1) if axis == dim else slice(0, size, 1) for axis, size in enumerate(a.shape)])


def _log_add_exp(cls: Ops, a: Array, b: Array) -> Array:
    """``log(exp(a) + exp(b))``, from the larger of the two. Where both are the same infinity, their distance is 0."""
    apart = cls.abs(cls.mask_where(cls.sub(a, b), cls.equal(a, b), 0.0))
    return cls.add(cls.maximum(a, b), cls.log1p(cls.exp(cls.neg(apart))))
