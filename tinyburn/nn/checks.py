"""What several layers check, and how they say it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tinyburn.base.errors import ShapeError
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_operands, check_tensor

AnyTensor = Tensor[Any, Any, Any]


def too_small(**sizes: int) -> list[str]:
    """A reason for each of some sizes that is below 1, for `Config.problems`."""
    return [f"{name} is {size}, and must be 1 or more" for name, size in sizes.items() if size < 1]


def not_positive(**numbers: float) -> list[str]:
    """A reason for each of some numbers that is not above 0 and finite, for `Config.problems`."""
    return [
        f"{name} is {number}, and must be a finite number above 0"
        for name, number in numbers.items()
        if not 0 < number < math.inf
    ]


def not_finite(**numbers: float) -> list[str]:
    """A reason for each of some numbers that is infinite or NaN, for `Config.problems`."""
    return [f"{name} is {number}, and must be finite" for name, number in numbers.items() if not math.isfinite(number)]


def not_a_share(**numbers: float) -> list[str]:
    """A reason for each of some numbers that is not from 0 to 1, for `Config.problems`."""
    return [f"{name} is {number}, and lies from 0 to 1" for name, number in numbers.items() if not 0 <= number <= 1]


def check_meets(name: str, x: AnyTensor, *others: AnyTensor) -> None:
    """Raises one error of a layer's name if its input and its own tensors differ in backend, device or dtype."""
    for other in others:
        if other.device is not x.device or other.primitive.dtype is not x.primitive.dtype:
            check_operands(name, x, other, shapes=False)


def check_features(name: str, x: object, dim: int, size: int, called: str, ranks: Sequence[int] = range(1, 7)) -> None:
    """Raises ShapeError unless an input has one of some ranks, and as many features in a dim as its layer was made for.

    ``called`` is what the configuration calls that number.
    """
    check_tensor(name, x)
    shape: tuple[int, ...] = x.primitive.shape  # type: ignore[attr-defined]
    if len(shape) in ranks and shape[dim] == size:
        return
    reasons, hint = [], f"make the layer with {called} = that size, or reorder the dims with permute(...)"
    if len(shape) not in ranks:
        reasons.append(f"the input has rank {len(shape)}, and must have {_one_of(ranks)}")
        hint = "a single sample becomes a batch of one with unsqueeze()"
    elif shape[dim] != size:
        which = "the last dim" if dim == -1 else f"dim {dim}"
        reasons.append(f"{which} is {shape[dim]}, and the layer fixes it at {called} = {size}")
    raise ShapeError(name, reasons, given={"input": shape}, hint=hint)


def _one_of(ranks: Sequence[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"rank {ranks[0]} to {ranks[-1]}"
