"""Primitives of the same values in other layouts: an operation must not care how its operand lies in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Values = np.ndarray[Any, Any]
Make = Callable[[Any, Any], Any]


def contiguous(values: Values, device: Any) -> Any:
    return device.backend.from_numpy(values, device)


def permuted(values: Values, device: Any) -> Any:
    """Column-major: stored with the dims reversed, then permuted back."""
    axes = tuple(reversed(range(values.ndim)))
    return device.backend.permute(device.backend.from_numpy(values.transpose(axes), device), axes)


def rotated(values: Values, device: Any) -> Any:
    """Stored with the last dim first, then permuted back."""
    rank = values.ndim
    stored = device.backend.from_numpy(values.transpose((rank - 1, *range(rank - 1))), device)
    return device.backend.permute(stored, (*range(1, rank), 0))


def sliced(values: Values, device: Any) -> Any:
    """Every second element of a larger array."""
    large = np.zeros(tuple(2 * size + 1 for size in values.shape), dtype=values.dtype)
    parts = tuple(slice(1, 2 * size + 1, 2) for size in values.shape)
    large[parts] = values
    return device.backend.slice(device.backend.from_numpy(large, device), parts)


LAYOUTS: dict[str, Make] = {
    "contiguous": contiguous,
    "permuted": permuted,
    "rotated": rotated,
    "sliced": sliced,
}


def arguments(row_args: tuple[Any, ...], device: Any, layout: str = "contiguous", dtype: str = "float64") -> list[Any]:
    """A row's arguments as primitives of a device; float arrays in ``dtype``."""
    return [
        LAYOUTS[layout](in_dtype(argument, dtype), device) if isinstance(argument, np.ndarray) else argument
        for argument in row_args
    ]


def in_dtype(argument: Any, dtype: str) -> Any:
    is_float = isinstance(argument, np.ndarray) and argument.dtype.kind == "f"
    return argument.astype(dtype) if is_float else argument


def expected(row: Any, dtype: str) -> Values:
    """The reference on the values that the dtype can hold, in float64."""
    with np.errstate(all="ignore"):
        rounded = [in_dtype(in_dtype(argument, dtype), "float64") for argument in row.args]
        return np.asarray(row.reference(*rounded))
