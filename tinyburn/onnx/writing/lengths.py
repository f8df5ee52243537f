"""Numbers that follow the batch: what a length is in the file, where the batch is free.

A forward pass is kept for several batches. A number that is the same in all of them is fixed. One that grows with the
batch is a `Length`, which the file computes from the shape of an input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from tinyburn.base.errors import OnnxError


@dataclass(frozen=True)
class Length:
    """``slope * batch + fixed``."""

    slope: int
    fixed: int = 0

    def __str__(self) -> str:
        times = "batch" if self.slope == 1 else f"{self.slope} * batch"
        return times if not self.fixed else f"{times} {'+' if self.fixed > 0 else '-'} {abs(self.fixed)}"

    def __add__(self, other: Number) -> Number:
        slope, fixed = (other.slope, other.fixed) if isinstance(other, Length) else (0, other)
        return _length(self.slope + slope, self.fixed + fixed)

    __radd__ = __add__

    def __mul__(self, factor: int) -> Number:
        return _length(self.slope * factor, self.fixed * factor)

    __rmul__ = __mul__

    def __sub__(self, other: Number) -> Number:
        return self + other * -1

    def __rsub__(self, other: Number) -> Number:
        return self * -1 + other


@dataclass(frozen=True)
class Unknown:
    """A number that follows the batch in another way. Only a reshape can do without it.

    Attributes:
        values: what it is in each of the batches.
        batches: these.
    """

    values: tuple[Any, ...]
    batches: tuple[int, ...]

    def __str__(self) -> str:
        pairs = zip(self.values, self.batches, strict=True)
        return ", ".join(f"{value} for a batch of {batch}" for value, batch in pairs)

    def refused(self, *_: Any) -> Any:
        """Raises OnnxError: nobody can compute with it."""
        hint = "onnx.save(..., batch=None) keeps the batch of the example"
        raise OnnxError("onnx.save", f"a number follows the batch, but not along a line: {self}", hint=hint)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = refused


Number: TypeAlias = "int | Length"
Shape: TypeAlias = tuple[Any, ...]
"""Of ints, `Length`s and `Unknown`s."""


def _length(slope: int, fixed: int) -> Number:
    return Length(slope, fixed) if slope else fixed


def fitted(values: Sequence[Any], batches: Sequence[int]) -> Any:
    """What stands for a number that is ``values`` in some batches."""
    first = values[0]
    if all(value == first for value in values) or all(value != value for value in values):
        return first
    if all(isinstance(value, (int, float)) and float(value).is_integer() for value in values):
        slope, rest = divmod(values[1] - first, batches[1] - batches[0])
        found = Length(int(slope), int(first - slope * batches[0]))
        line = [found.slope * batch + found.fixed for batch in batches]
        if not rest and line == list(values):
            return found
    return Unknown(tuple(values), tuple(batches))


def is_free(number: Any) -> bool:
    """Whether it follows the batch."""
    return isinstance(number, (Length, Unknown))


def elements(shape: Shape) -> int:
    """How many elements the dims have that do not follow the batch."""
    return prod(length for length in shape if not is_free(length))
