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


def flipped(values: Values, device: Any) -> Any:
    """Stored from the end, then read backwards."""
    dims = tuple(range(values.ndim))
    return device.backend.flip(device.backend.from_numpy(np.flip(values), device), dims)


LAYOUTS: dict[str, Make] = {
    "contiguous": contiguous,
    "permuted": permuted,
    "rotated": rotated,
    "sliced": sliced,
    "flipped": flipped,
}


def arguments(row_args: tuple[Any, ...], device: Any, layout: str = "contiguous") -> list[Any]:
    """A row's arguments as primitives of a device, in the device's own dtypes."""
    make = LAYOUTS[layout]
    return [
        make(argument.astype(dtype_on(device, argument)), device) if isinstance(argument, np.ndarray) else argument
        for argument in row_args
    ]


def dtype_on(device: Any, values: Values) -> str:
    """The dtype that a row's array gets on a device: the device's float or int dtype, or bool."""
    return {"f": str(device.float_dtype), "i": str(device.int_dtype), "b": "bool"}[values.dtype.kind]


def expected(row: Any, float_dtype: str) -> Values:
    """The reference on the values that the float dtype can hold, in float64."""

    def rounded(argument: Any) -> Any:
        is_float = isinstance(argument, np.ndarray) and argument.dtype.kind == "f"
        return argument.astype(float_dtype).astype("float64") if is_float else argument

    with np.errstate(all="ignore"):
        return np.asarray(row.reference(*map(rounded, row.args)))
