"""Whether a training fits into memory, told before it begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from tinyburn import memory
from tinyburn.autodiff import Gradients
from tinyburn.backend import Device
from tinyburn.base.text import amount, thousands
from tinyburn.memory import BatchPlan, JobError, MemoryReport
from tinyburn.module import Module
from tinyburn.optim import Groups, Optimizer
from tinyburn.parallel import Communicator, Pretend, Sharded

from .batch import grouped, of_size, samples_of
from .loop import Trainer, Watchers
from .step import Step


@dataclass(frozen=True, repr=False)
class FitPlan:
    """What a step of training needs, planned on shapes.

    Attributes:
        batch_size: the samples of a batch.
        report: of two steps: the second has the optimizer's state from its beginning.
        available_bytes: the budget; None if none was named.
        largest: the largest batch that fits the budget; None without a budget, or if not even one sample fits.
        reason: why there is no largest batch, though there is a budget.
    """

    batch_size: int
    report: MemoryReport
    available_bytes: int | None = None
    largest: BatchPlan | None = None
    reason: str = ""

    @property
    def peak_bytes(self) -> int:
        """The most bytes of tensor data that are alive at once."""
        return self.report.peak_bytes

    @property
    def fits(self) -> bool | None:
        """Whether the peak is within the budget; None if none was named."""
        return None if self.available_bytes is None else self.peak_bytes <= self.available_bytes

    def __repr__(self) -> str:
        lines = [
            f"A batch of {thousands(self.batch_size)} peaks at {amount(self.peak_bytes)}, at {self.report.peak_op}"
        ]
        if self.available_bytes is not None:
            verdict = "fits" if self.fits else "does not fit"
            lines.append(f"it {verdict} into {amount(self.available_bytes)}")
        if self.largest is not None:
            lines.append(f"the largest batch that fits is {thousands(self.largest.batch_size)}")
        return "\n".join([*lines, *([self.reason] if self.reason else [])])


class Planned(NamedTuple):
    """What is to be planned: steps of a model on batches like this one.

    Attributes:
        accumulate: how many batches a step has.
        are_read: whether somebody reads the gradients, which an optimizer then cannot write over.
    """

    trainer: Trainer
    model: Module
    batch: Any
    accumulate: int
    are_read: bool


def plan_fit(planned: Planned, device: Device[Any], available_bytes: int | None) -> FitPlan:
    """Plans two steps, and with a budget the largest batch."""
    trainer, model, batch, accumulate, are_read = planned
    ranks = trainer.comm
    comm = ranks if ranks.size == 1 else Pretend(ranks.rank, ranks.size)

    def read(grads: Gradients[Any]) -> None:
        if are_read:
            grads.tensors()

    def job(where: Device[Any], batch_size: int) -> Module:
        step: Any = trainer.step
        there = step.fork(where) if hasattr(step, "fork") else step
        own = Trainer(there, fresh(trainer.optimizer, comm), trainer.clip, comm)
        trained = model.fork(where)
        for group in grouped(_made(batch, batch_size, where, 2 * accumulate), accumulate):
            earlier = list(trained.named_tensors())  # as a learner holds them, to go back if the step fails
            held: list[Step] = []  # for the metrics
            watch = Watchers(_holding(held), None, read)
            trained = own.train(trained, lambda: 1e-3, group, watch)
            del earlier
        return trained

    size = samples_of(batch)
    report = memory.plan(job, size, device=device)
    if available_bytes is None:
        return FitPlan(size, report)
    try:
        largest = memory.max_batch_size(job, available_bytes, device=device)
    except JobError as error:
        return FitPlan(size, report, available_bytes, reason=str(error))
    return FitPlan(size, report, available_bytes, largest)


def _made(batch: Any, size: int, device: Device[Any], count: int) -> Iterator[Any]:
    """Batches as a loader hands them out: each is held until the next one is asked for."""
    for _ in range(count):
        made = of_size(batch, size, device)
        yield made
        del made


def _holding(held: list[Step]) -> Callable[[Any, Step, int], None]:
    return lambda batch, step, samples: held.append(step)


def fresh(optimizer: Optimizer[Any], comm: Communicator) -> Optimizer[Any]:
    """An optimizer of the same config that has not seen a model yet."""
    if isinstance(optimizer, Sharded):
        return optimizer.anew(comm)
    if isinstance(optimizer, Groups):
        return Groups(optimizer.config)
    made: Optimizer[Any] = optimizer.config.init()
    return made
