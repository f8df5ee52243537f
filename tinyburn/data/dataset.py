"""Dataset: items with a number each, and the data sets that are made from others without a copy of one item."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Generic, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tinyburn.base.errors import ConfigError, DataError, NoSuchItem

from .order import shuffled
from .stacking import stack

T = TypeVar("T", covariant=True)
U = TypeVar("U")

Indices: TypeAlias = NDArray[np.int64]

WINDOW = 4
"""How many blocks of a file are shuffled into each other, and held at once."""


class Dataset(ABC, Generic[T]):
    """Items numbered from 0. Subclass it with ``__len__`` and ``__getitem__``; the rest is here.

    ``len(d)`` items; ``d[i]`` is one, from the end where ``i`` is negative; ``for item in d`` goes through all.
    An item may be anything: a tuple, a dict or a dataclass of numbers and arrays becomes tensors without more.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, index: int) -> T: ...

    def __iter__(self) -> Iterator[T]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} items)"

    # For a data set whose items lie together

    def stacked(self, indices: Indices) -> Any:
        """The items with these numbers as one: arrays with one more dim in front. See `stack`."""
        return stack([self.item(index) for index in indices.tolist()], indices)

    def block_of(self, indices: Indices) -> Indices:
        """The number of the block in which each item lies: what is read at once. Memory is one block."""
        return np.zeros(len(indices), np.int64)

    def item(self, index: int) -> T:
        """``self[index]``; whatever goes wrong in it becomes a DataError that names the item."""
        try:
            return self[index]
        except DataError:
            raise
        except Exception as error:
            reason = f"item {index} raised {type(error).__name__}: {error}"
            hint = f"dataset[{index}] raises it again"
            raise DataError(f"{type(self).__name__}[{index}]", reason, hint=hint) from error

    def order(self, seed: Sequence[int]) -> Indices:
        """The numbers of all items in an order drawn from a seed.

        In memory every order is equally likely. In a file, blocks are drawn in any order, and the items of each
        `WINDOW` of them are shuffled together: an item then meets only the items of three other blocks, but each block
        is read once.
        """
        return shuffled(self.block_of(np.arange(len(self))), seed, WINDOW)

    # Other data sets, made from this one

    def map(self, function: Callable[[T], U]) -> Dataset[U]:
        """``function(item)`` in place of each item, computed anew each time that it is read.

        Workers need a function that a module has under its name, so no lambda.
        """
        if not callable(function):
            raise ConfigError("map", f"{function!r} is no function", hint="write .map(lambda item: ...)")
        return Mapped(self, function)

    def filter(self, keep: Callable[[T], bool]) -> Dataset[T]:
        """The items for which ``keep(item)`` is true. Every item is read once for it, here and now."""
        return Subset(self, [index for index in range(len(self)) if keep(self.item(index))])

    def shuffle(self, seed: int) -> Dataset[T]:
        """All items in one fixed order, drawn from the seed. ``DataLoader(shuffle=True)`` draws one for each epoch."""
        return Subset(self, self.order([_whole("shuffle", "seed", seed, 0)]))

    def subset(self, indices: Sequence[int] | Indices) -> Dataset[T]:
        """The items with these numbers, in this order; a number may come more than once. Raises NoSuchItem."""
        return Subset(self, indices)

    def split(self, *parts: float, seed: int | None = None) -> tuple[Dataset[T], ...]:
        """Cut into parts that share no item: ``train, valid = d.split(0.8, 0.2, seed=0)``.

        Args:
            parts: shares that sum to 1, or numbers of items that sum to ``len(d)``. Shares are rounded so that every
                item is in one part.
            seed: the order that is cut; None keeps the items' own order.
        """
        ends = np.cumsum(part_sizes(parts, len(self)))
        numbers = np.arange(len(self)) if seed is None else self.order([_whole("split", "seed", seed, 0)])
        return tuple(Subset(self, part) for part in np.split(numbers, ends[:-1]))

    def concat(self, *others: Dataset[U]) -> Dataset[T | U]:
        """The items of this data set, then those of the others."""
        return Concat(cast("tuple[Dataset[T | U], ...]", (self, *others)))

    def sample(self, weights: Sequence[float] | NDArray[Any], seed: int, size: int | None = None) -> Dataset[T]:
        """Items drawn by weight, each draw from all of them: a rare class is seen as often as its weight says.

        Args:
            weights: one for each item, 0 or more; they need not sum to 1.
            seed: of the draws.
            size: how many are drawn; as many as there are items unless given.
        """
        sums = np.cumsum(checked_weights(weights, len(self)))
        size = len(self) if size is None else _whole("sample", "size", size, 0)
        raw = np.random.PCG64([_whole("sample", "seed", seed, 0)]).random_raw(size)
        draws = (np.asarray(raw) >> np.uint64(11)) * 2.0**-53 * sums[-1]
        return Subset(self, np.searchsorted(sums, draws, side="right"))


class Mapped(Dataset[U], Generic[T, U]):
    """A function of the items of another data set."""

    def __init__(self, source: Dataset[T], function: Callable[[T], U]) -> None:
        self.source = source
        self.function = function

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> U:
        return self.function(self.source[index])

    def block_of(self, indices: Indices) -> Indices:
        """See `Dataset`."""
        return self.source.block_of(indices)


class Subset(Dataset[T]):
    """Items of another data set, by number."""

    def __init__(self, source: Dataset[T], indices: Sequence[int] | Indices) -> None:
        self.source = source
        self.indices = checked_indices("subset", indices, len(source))

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> T:
        return self.source.item(int(self.indices[position(self, index)]))

    def stacked(self, indices: Indices) -> Any:
        """See `Dataset`."""
        return self.source.stacked(self.indices[indices])

    def block_of(self, indices: Indices) -> Indices:
        """See `Dataset`."""
        return self.source.block_of(self.indices[indices])


class Concat(Dataset[T]):
    """The items of several data sets, one data set after the other."""

    def __init__(self, sources: tuple[Dataset[T], ...]) -> None:
        wrong = [f"{type(source).__name__} is no Dataset" for source in sources if not isinstance(source, Dataset)]
        if wrong:
            raise ConfigError("concat", wrong, hint="wrap a list of items as data.InMemory(items)")
        self.sources = sources
        self.ends = np.cumsum([len(source) for source in sources])

    def __len__(self) -> int:
        return int(self.ends[-1])

    def __getitem__(self, index: int) -> T:
        index = position(self, index)
        which = int(np.searchsorted(self.ends, index, side="right"))
        return self.sources[which].item(index - self._start(which))

    def _start(self, which: int) -> int:
        return int(self.ends[which]) - len(self.sources[which])

    def block_of(self, indices: Indices) -> Indices:
        """See `Dataset`: the blocks of the second data set come after those of the first."""
        which, blocks, first = np.searchsorted(self.ends, indices, side="right"), np.zeros(len(indices), np.int64), 0
        for number, source in enumerate(self.sources):
            here = which == number
            found = source.block_of(indices[here] - self._start(number))
            blocks[here] = found + first
            first += int(found.max(initial=0)) + 1
        return blocks


# What is asked of arguments


def position(dataset: Dataset[Any], index: int) -> int:
    """An index as a number from 0. Raises NoSuchItem if the data set has no such item."""
    size = len(dataset)
    if not -size <= index < size:
        reason = f"there are {size} items" + (f", numbered from 0 to {size - 1}" if size else "")
        raise NoSuchItem(f"{type(dataset).__name__}[{index}]", reason)
    return int(index) % size


def checked_indices(asked: str, indices: Any, size: int) -> Indices:
    """Numbers of items, from 0. Raises NoSuchItem with the first that is out of range."""
    numbers = np.asarray(indices if not isinstance(indices, range) else [*indices])
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        reason = f"{type(indices).__name__} of {numbers.dtype} is no row of whole numbers"
        raise ConfigError(asked, reason, hint="write .subset([0, 5, 7]), or .subset(range(100))")
    wrong = np.flatnonzero((numbers < -size) | (numbers >= size)) if numbers.size else numbers
    if wrong.size:
        raise NoSuchItem(asked, f"number {int(numbers[wrong[0]])} is asked for, and there are {size} items")
    numbers = numbers.astype(np.int64)
    return np.where(numbers < 0, numbers + size, numbers)


def part_sizes(parts: Sequence[float], size: int) -> list[int]:
    """How many items each part of a split has; they sum to ``size``."""
    hint = f"shares such as split(0.8, 0.2), or numbers of items that sum to {size}"
    if not parts or any(isinstance(part, bool) or not part >= 0 for part in parts):
        raise ConfigError(
            f"split{tuple(parts)}", "each part is a number of 0 or more, and there is one at least", hint=hint
        )
    if all(isinstance(part, int) for part in parts) and sum(parts) == size:
        return [int(part) for part in parts]
    if abs(sum(parts) - 1) > 1e-9:
        raise ConfigError(f"split{tuple(parts)}", f"the parts sum to {sum(parts)}", hint=hint)
    ends = [0, *(round(size * share) for share in np.cumsum(parts).tolist()[:-1]), size]
    return [end - start for start, end in pairwise(ends)]


def checked_weights(weights: Any, size: int) -> NDArray[np.float64]:
    """Weights as float64. Raises ConfigError unless there is one for each item, each 0 or more, not all 0."""
    values = np.asarray(weights, np.float64)
    reasons = []
    if values.shape != (size,):
        reasons.append(f"there are {size} items, and the weights have the shape {values.shape}")
    if not (np.isfinite(values) & (values >= 0)).all():
        reasons.append("a weight is a finite number of 0 or more")
    elif not values.any():
        reasons.append("all weights are 0, so nothing can be drawn")
    if reasons:
        raise ConfigError("sample", reasons)
    return values


def _whole(asked: str, name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ConfigError(asked, f"{name} is {value!r}, and must be a whole number of {least} or more")
    return int(value)
