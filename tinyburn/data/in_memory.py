"""Data sets that are in memory already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyburn.base.errors import ConfigError

from .dataset import Dataset, Indices, T, position
from .stacking import Array, Numbers


class InMemory(Dataset[T]):
    """The items of a list, or of any other sequence.

    Args:
        items: kept as it is, so an item that is added later is there too.
    """

    def __init__(self, items: Sequence[T]) -> None:
        if not hasattr(items, "__getitem__") or not hasattr(items, "__len__"):
            hint = "write data.InMemory([*items]) for what can only be gone through"
            raise ConfigError("InMemory", f"{type(items).__name__} has no items by number", hint=hint)
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> T:
        return self.items[position(self, index)]

    @staticmethod
    def from_arrays(*columns: Array | Sequence[Any]) -> Dataset[tuple[Any, ...]]:
        """One tuple for each place: ``from_arrays(images, labels)[i]`` is ``(images[i], labels[i])``.

        Args:
            columns: arrays, which keep their dtype, or lists of numbers of Python, which get the device's. All of one
                length.
        """
        return Columns(columns)


class Columns(Dataset[tuple[Any, ...]]):
    """Arrays side by side. A batch is cut from each at once."""

    def __init__(self, columns: Sequence[Any]) -> None:
        self.columns = tuple(map(_column, columns))
        lengths = [len(column) for column in self.columns]
        if not lengths or len({*lengths}) > 1:
            reason = f"the columns have {' and '.join(map(str, lengths)) or 'no'} items"
            raise ConfigError("from_arrays", reason, hint="hand it arrays of one length: images, labels")

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        index = position(self, index)
        return tuple(column[index] for column in self.columns)

    def stacked(self, indices: Indices) -> Any:
        """See `Dataset`."""
        return tuple(column[indices] for column in self.columns)


def _column(values: Any) -> Array | Numbers:
    """An array as it is; a list of Python's numbers as `Numbers`."""
    if isinstance(values, np.ndarray):
        if not values.ndim:
            raise ConfigError("from_arrays", "an array of rank 0 has no items")
        return values
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "bif":
        reason = f"{type(values).__name__} is neither an array nor a list of numbers"
        raise ConfigError("from_arrays", reason, hint="write np.array(...) around it")
    return Numbers(array)
