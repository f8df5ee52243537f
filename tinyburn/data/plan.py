"""Which items make which batch: the same in a loader's own process and in each of its workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyburn.base.shares import share

from .dataset import Dataset, Indices


@dataclass(frozen=True)
class Plan:
    """How a data set is cut into batches. An epoch's order is drawn from the seed and the number of the epoch alone.

    Attributes:
        items: how many there are.
        stacked: whether a batch is stacked here, or stays a list of items for the user's batcher.
        rank, ranks: which part of each batch is read here, and into how many it is shared out.
    """

    items: int
    batch_size: int
    shuffle: bool
    seed: int
    drop_last: bool
    stacked: bool
    rank: int = 0
    ranks: int = 1

    def __len__(self) -> int:
        whole, rest = divmod(self.items, self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def slice(self, number: int) -> slice:
        """The places of what is read of a batch in the order of its epoch."""
        start = number * self.batch_size
        mine = share(min(self.batch_size, self.items - start), self.rank, self.ranks)
        return slice(start + mine.start, start + mine.stop)

    def size(self, number: int) -> int:
        """How many items of a batch are read."""
        places = self.slice(number)
        return int(places.stop - places.start)


class Reader:
    """Reads the batches of a plan, as they are before they are on a device."""

    def __init__(self, dataset: Dataset[Any], plan: Plan) -> None:
        self.dataset = dataset
        self.plan = plan
        self._epoch = -1
        self._order: Indices = np.arange(0)

    def __repr__(self) -> str:
        return f"Reader({self.dataset!r})"

    def read(self, epoch: int, number: int) -> Any:
        """One batch: stacked, or a list of items. Raises DataError, which names the item.

        Of a part without items it has the first item of the batch, so that the loader can see what items are like.
        """
        indices = self.indices(epoch, number)
        if self.plan.stacked:
            return self.dataset.stacked(indices)
        return [self.dataset.item(index) for index in indices.tolist()]

    def indices(self, epoch: int, number: int) -> Indices:
        """The numbers of the items of one batch."""
        if epoch != self._epoch:
            plan = self.plan
            self._order = self.dataset.order([plan.seed, epoch]) if plan.shuffle else np.arange(plan.items)
            self._epoch = epoch
        places = self.plan.slice(number)
        if places.start == places.stop:
            places = slice(number * self.plan.batch_size, number * self.plan.batch_size + 1)
        return self._order[places]
