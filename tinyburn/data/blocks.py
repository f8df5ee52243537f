"""Data sets in files, which are read a block at a time: a block is what fits in memory, and is read at once."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from tinyburn.base.errors import DataError

from .dataset import WINDOW, Dataset, Indices, T, position
from .stacking import Array

Row: TypeAlias = dict[str, Any]


class Blocks(Dataset[T]):
    """Items that lie in blocks. The last `WINDOW` blocks are held, since as many are shuffled into each other.

    Args:
        sizes: how many items each block has.
    """

    def __init__(self, sizes: list[int]) -> None:
        self.ends = np.cumsum([0, *sizes])[1:]
        self._held: OrderedDict[int, Any] = OrderedDict()

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def __getstate__(self) -> dict[str, Any]:
        """A worker opens the file by itself, and reads blocks of its own."""
        return {**self.__dict__, "_held": OrderedDict()}

    @abstractmethod
    def _read(self, block: int) -> Any:
        """The items of a block. Raises DataError, which names the line or the row."""

    def held(self, block: int) -> Any:
        """The items of a block, read unless they are held."""
        if block not in self._held:
            while len(self._held) >= WINDOW:
                self._held.popitem(last=False)
            self._held[block] = self._read(block)
        self._held.move_to_end(block)
        return self._held[block]

    def block_of(self, indices: Indices) -> Indices:
        """See `Dataset`."""
        return np.searchsorted(self.ends, indices, side="right")

    def place_of(self, index: int) -> tuple[int, int]:
        """The block of an item, and its place in it."""
        index = position(self, index)
        block = int(np.searchsorted(self.ends, index, side="right"))
        return block, index - self.start_of(block)

    def start_of(self, block: int) -> int:
        """The number of the first item of a block."""
        return int(self.ends[block - 1]) if block else 0


class RowBlocks(Blocks[Row]):
    """Rows of named columns. A block is a dict of arrays, and a batch is cut from each of them at once."""

    def __getitem__(self, index: int) -> Row:
        block, place = self.place_of(index)
        return {name: column[place] for name, column in self.held(block).items()}

    def stacked(self, indices: Indices) -> dict[str, Array]:
        """See `Dataset`."""
        blocks = self.block_of(indices)
        block = int(blocks[0])
        if (blocks == block).all():
            cut = _cut(indices - self.start_of(block))
            return {name: column[cut] for name, column in self.held(block).items()}
        return self._gathered(indices, blocks)

    def _gathered(self, indices: Indices, blocks: Indices) -> dict[str, Array]:
        """Rows of several blocks: first of those that are held, before a new one takes the place of one of them."""
        made: dict[str, Array] = {}
        for block in sorted(np.unique(blocks).tolist(), key=lambda block: block not in self._held):
            here = np.flatnonzero(blocks == block)
            for name, column in self.held(block).items():
                if name not in made:
                    made[name] = np.empty((len(indices), *column.shape[1:]), column.dtype)
                made[name][here] = column[indices[here] - self.start_of(block)]
        return made


def _cut(places: Indices) -> Any:
    """Places as an index: as a slice, which copies nothing, where they are in a row."""
    first, last = int(places[0]), int(places[-1])
    in_a_row = last - first == len(places) - 1 and bool((places[1:] > places[:-1]).all())
    return slice(first, last + 1) if in_a_row else places


def chosen(asked: str, names: list[str], columns: list[str] | None, others: Mapping[str, object]) -> list[str]:
    """The columns to read. Raises DataError for a name that the file lacks, or has twice."""
    wanted = names if columns is None else [*columns]
    reasons = [f"there is no column {name!r}" for name in (*wanted, *others) if name not in names]
    reasons += [
        f"there are {names.count(name)} columns {name!r}" for name in dict.fromkeys(wanted) if names.count(name) > 1
    ]
    reasons += ["no column is asked for"] if not wanted else []
    if reasons:
        raise DataError(asked, dict.fromkeys(reasons), hint=f"the columns are {', '.join(names[:20])}")
    return wanted
