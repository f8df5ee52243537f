"""DataLoader: the batches of a data set, epoch after epoch, on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np

from tinyburn.backend import Device
from tinyburn.base.errors import ConfigError
from tinyburn.base.machine import in_browser
from tinyburn.base.shape import is_count

from .dataset import Dataset
from .plan import Plan, Reader
from .report import LoaderReport
from .stacking import to_tensors, without_samples

if TYPE_CHECKING:
    from .workers import Workers

T = TypeVar("T")
B = TypeVar("B")
Batch = TypeVar("Batch", covariant=True)


class DataLoader(Generic[Batch]):
    """``for batch in loader`` is one epoch; ``len(loader)`` is the number of its batches.

    The order of an epoch depends on the seed, on the number of the epoch and on the data set, and on nothing else. With
    `state` and `load_state` an epoch is gone on with in the middle.

    Args:
        dataset: wrap a list of items as ``data.InMemory(items)``.
        batch_size: how many items a batch has; the last may have fewer.
        device: where the tensors are made.
        batcher: ``batcher(items, device)`` makes a batch from a list of items. Unless given, items are stacked: what is
            a number or an array in an item is a tensor in the batch, with one more dim in front.
        shuffle: whether each epoch has an order of its own.
        seed: of these orders.
        workers: how many processes read ahead. With 0 the loop reads by itself, and nothing else is started. They
            live as long as the loader; `close`, or ``with DataLoader(...) as loader``, ends them before.
        drop_last: whether a last batch with fewer items is left out.
        part: ``(rank, ranks)`` for one of several processes that share each batch: ``(comm.rank, comm.size)``. All of
            them have the same number of batches, and the parts of a batch are together the whole one. Where there are
            fewer items than ranks, the last ranks have a batch with tensors of 0 samples.

    Raises:
        ConfigError: an argument is not as it is described here. It has every reason.
    """

    @overload
    def __init__(
        self: DataLoader[Any],
        dataset: Dataset[Any],
        batch_size: int,
        device: Device[Any],
        batcher: None = None,
        shuffle: bool = False,
        seed: int = 0,
        workers: int = 0,
        drop_last: bool = False,
        part: tuple[int, int] = (0, 1),
    ) -> None: ...
    @overload
    def __init__(
        self,
        dataset: Dataset[T],
        batch_size: int,
        device: Device[B],
        batcher: Callable[[list[T], Device[B]], Batch],
        shuffle: bool = False,
        seed: int = 0,
        workers: int = 0,
        drop_last: bool = False,
        part: tuple[int, int] = (0, 1),
    ) -> None: ...
    def __init__(
        self,
        dataset: Dataset[Any],
        batch_size: int,
        device: Device[Any],
        batcher: Callable[[list[Any], Device[Any]], Batch] | None = None,
        shuffle: bool = False,
        seed: int = 0,
        workers: int = 0,
        drop_last: bool = False,
        part: tuple[int, int] = (0, 1),
    ) -> None:
        counts = {"batch_size": (batch_size, 1), "seed": (seed, 0), "workers": (workers, 0)}
        _check(dataset, device, batcher, counts, part)
        self.dataset = dataset
        self.device = device
        self.batcher: Callable[[Any, Device[Any]], Batch] = batcher or to_tensors
        self.workers = int(workers)
        self.plan = Plan(
            len(dataset), int(batch_size), bool(shuffle), int(seed), bool(drop_last), batcher is None, *part
        )
        self._reader = Reader(dataset, self.plan)
        self._pool: Workers | None = None
        self._epoch = 0
        self._done = 0
        self._is_new = True
        self._report = LoaderReport(workers=self.workers)

    def __len__(self) -> int:
        return len(self.plan)

    def __repr__(self) -> str:
        return f"DataLoader({self.dataset!r}, {len(self)} batches of {self.plan.batch_size}, on {self.device})"

    def __iter__(self) -> Iterator[Batch]:
        """One epoch; the rest of one after `load_state`. A loop that was left early is not gone on with."""
        if not self._is_new:
            self._epoch, self._done = self._epoch + 1, 0
        self._is_new = False
        epoch, count = self._epoch, len(self.plan)
        source = self._from_workers if self.workers else self._from_here
        asked = perf_counter()
        for number, host in enumerate(source(epoch, self._done), start=self._done):
            got = perf_counter()
            batch = self._batch(epoch, number, host)
            self._epoch, self._done, self._is_new = epoch, number + 1, False
            if number + 1 == count:
                self._epoch, self._done, self._is_new = epoch + 1, 0, True
            ready = perf_counter()
            yield batch
            size = self.plan.size(number)
            self._count(1, size, got - asked, ready - got, perf_counter() - ready)
            asked = perf_counter()

    def _from_here(self, epoch: int, first: int) -> Iterator[Any]:
        for number in range(first, len(self.plan)):
            yield self._reader.read(epoch, number)

    def _from_workers(self, epoch: int, first: int) -> Iterator[Any]:
        if self._pool is None:
            from .workers import Workers  # it starts Python's multiprocessing, which most loaders do not need

            self._pool = Workers(self.dataset, self.plan, self.workers)
        try:
            for host, seconds in self._pool.batches(epoch, first, len(self.plan)):
                self._report = replace(self._report, reading=self._report.reading + seconds)
                yield host
        except (Exception, KeyboardInterrupt):
            self.close()
            raise

    def _batch(self, epoch: int, number: int, host: Any) -> Batch:
        """What the batcher makes of a batch; its errors say which items it had."""
        try:
            batch = self.batcher(host, self.device)
            return batch if self.plan.size(number) else without_samples(batch)
        except Exception as error:
            items = self._reader.indices(epoch, number).tolist()
            error.add_note(f"in batch {number} of epoch {epoch}, with the items {_shortened(items)}")
            raise

    def close(self) -> None:
        """Ends the workers. The next epoch starts new ones."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def __enter__(self) -> DataLoader[Batch]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What is kept, and what it cost

    def state(self) -> dict[str, Any]:
        """Where the loader stands, as a plain dict: the epoch, and how many of its batches were handed over."""
        return {**self._identity(), "epoch": self._epoch, "batch": self._done}

    def load_state(self, state: dict[str, Any]) -> None:
        """Continues from what `state` has returned: the next epoch begins with the batch after the last one.

        Raises:
            ConfigError: it is no such state, or one of a loader whose batches are others. It has every reason.
        """
        given = state if isinstance(state, dict) else {}
        reasons = [
            f"its {name} is {given.get(name)!r}, and this loader has {value!r}"
            for name, value in self._identity().items()
            if given.get(name) != value
        ]
        reasons += [
            f"{name} is {given.get(name)!r}, and must be a whole number of 0 or more"
            for name in ("epoch", "batch")
            if type(given.get(name)) is not int or given[name] < 0
        ]
        if not reasons and given["batch"] >= max(len(self), 1):
            reasons = [f"batch is {given['batch']}, and an epoch has {len(self)}"]
        reasons += [f"the name {key!r} is unknown" for key in given if key not in self.state()]
        if reasons:
            raise ConfigError("DataLoader.load_state", reasons, hint="hand it what state() of a like loader returns")
        self._epoch, self._done, self._is_new = given["epoch"], given["batch"], True

    def _identity(self) -> dict[str, Any]:
        """What decides which items make which batch. The number of workers does not, and the part of it does not."""
        plan = self.plan
        return {
            "items": plan.items,
            "batch_size": plan.batch_size,
            "shuffle": plan.shuffle,
            "seed": plan.seed,
            "drop_last": plan.drop_last,
        }

    def report(self) -> LoaderReport:
        """What the batches have cost so far, and where the loop has waited. Print it, or read its numbers."""
        return self._report

    def _count(self, batches: int, items: int, got: float, batching: float, using: float) -> None:
        now = self._report
        self._report = replace(
            now,
            batches=now.batches + batches,
            items=now.items + items,
            reading=now.reading + (0.0 if self.workers else got),
            waiting=now.waiting + (got if self.workers else 0.0),
            batching=now.batching + batching,
            using=now.using + using,
        )


def _check(dataset: Any, device: Any, batcher: Any, counts: dict[str, tuple[Any, int]], part: Any) -> None:
    reasons = [
        f"{name} is {value!r}, and must be a whole number of {least} or more"
        for name, (value, least) in counts.items()
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least
    ]
    hints = []
    if not (isinstance(part, tuple) and len(part) == 2 and all(map(is_count, part)) and part[0] < part[1]):
        reasons.append(f"part is {part!r}, and must be (rank, ranks), of which rank is the smaller")
        hints.append("write part=(comm.rank, comm.size) with a communicator of tinyburn.parallel")
    if not isinstance(dataset, Dataset):
        reasons.append(f"{type(dataset).__name__} is no Dataset")
        hints.append("wrap a list of items as data.InMemory(items), and arrays as data.InMemory.from_arrays(x, y)")
    if counts["workers"][0] and in_browser():
        reasons.append(f"workers is {counts['workers'][0]!r}, and in a browser Python can start no process")
        hints.append("write workers=0: the order of the batches is the same")
    if not isinstance(device, Device):
        reasons.append(f"{type(device).__name__} is no device")
        hints.append("make one, as in device = NdArray.device()")
    if batcher is not None and not callable(batcher):
        reasons.append(f"the batcher {batcher!r} is no function")
        hints.append("write def batcher(items, device), which returns a batch")
    if reasons:
        raise ConfigError("DataLoader", reasons, hint="\n".join(hints) or None)


def _shortened(items: list[int]) -> str:
    shown = ", ".join(map(str, items[:8]))
    return f"{shown} and {len(items) - 8} more" if len(items) > 8 else shown
