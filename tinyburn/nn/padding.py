"""What stands around an input before a window slides over it: nothing, what keeps the size, or what is written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Pairs: TypeAlias = tuple[tuple[int, int], ...]
"""For each spatial dim, how much stands before it and after it."""


@dataclass(frozen=True)
class Valid:
    """Nothing: only windows that lie in the input count."""


@dataclass(frozen=True)
class Same:
    """So much that each output length is the input's, divided by the stride and rounded up; an odd one more stands at
    the end."""


@dataclass(frozen=True)
class Explicit:
    """So much as the sizes say: one for each dim, which stands at both ends; or first all at the front, as in ``(top,
    left, bottom, right)``."""

    sizes: tuple[int, ...]


Padding: TypeAlias = Valid | Same | Explicit


class PaddingConfig1d:
    """The paddings of one dim under one name, as in ``PaddingConfig1d.Explicit(1, 1)``."""

    Valid = Valid()
    Same = Same()

    @staticmethod
    def Explicit(left: int, right: int | None = None) -> Explicit:  # noqa: N802  # Burn's name
        """Before and after; the same on both sides, if only one is given."""
        return Explicit((left,) if right is None else (left, right))


class PaddingConfig2d:
    """The paddings of two dims under one name, as in ``PaddingConfig2d.Explicit(1, 1)``."""

    Valid = Valid()
    Same = Same()

    @staticmethod
    def Explicit(top: int, left: int, bottom: int | None = None, right: int | None = None) -> Explicit:  # noqa: N802
        """At each of the four sides; the same on both sides of a dim, if only two are given."""
        both = (top if bottom is None else bottom, left if right is None else right)
        return Explicit((top, left, *both))


class PaddingConfig3d:
    """The paddings of three dims under one name, as in ``PaddingConfig3d.Explicit(1, 1, 1)``."""

    Valid = Valid()
    Same = Same()

    @staticmethod
    def Explicit(depth: int, height: int, width: int) -> Explicit:  # noqa: N802
        """On both sides of each dim."""
        return Explicit((depth, height, width))


def padding_problems(padding: Padding, dims: int) -> list[str]:
    """What is wrong with a padding for so many dims."""
    if not isinstance(padding, Explicit):
        return []
    sizes = padding.sizes
    problems = [f"padding is {size}, and must be 0 or more" for size in sizes if size < 0]
    if len(sizes) not in (dims, 2 * dims):
        problems.append(
            f"padding has {len(sizes)} sizes, and {dims} or {2 * dims} are needed: one for each dim, or side"
        )
    return problems


def pairs_of(
    padding: Padding, lengths: Sequence[int], sizes: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Pairs:
    """The padding of an input of these lengths, for windows of these sizes."""
    dims = len(sizes)
    if isinstance(padding, Same):
        return tuple([_same(*dim) for dim in zip(lengths, sizes, stride, dilation, strict=True)])
    if isinstance(padding, Explicit):
        return tuple(zip(padding.sizes[:dims], padding.sizes[-dims:], strict=True))
    return ((0, 0),) * dims


def _same(length: int, size: int, stride: int, dilation: int) -> tuple[int, int]:
    """What is missing for ``length / stride`` windows, rounded up."""
    count = -(-length // stride)
    missing = max((count - 1) * stride + (size - 1) * dilation + 1 - length, 0) if count else 0
    return missing // 2, missing - missing // 2
