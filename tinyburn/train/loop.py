"""One step of training. The run and the plan of its memory go through here: they are one program."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from tinyburn.autodiff import Gradients
from tinyburn.module import Module
from tinyburn.optim import Optimizer
from tinyburn.optim.clipping import AnyClipping, clip_gradients
from tinyburn.parallel import Communicator, Sharded, all_reduce
from tinyburn.tensor import Tensor

from .batch import is_empty
from .gradients import Accumulator
from .step import Step, StepFunction, run_step, samples_in

M = TypeVar("M", bound=Module)


class Watchers(NamedTuple):
    """Who looks on while a step runs. Each may end the step by an error.

    Attributes:
        loss: is told of each batch, its step and its samples, before the backward pass.
        gradients: is told of each batch and its gradients.
        total: is told of the gradients of the whole step, before they are clipped.
    """

    loss: Callable[[Any, Step, int], None] | None = None
    gradients: Callable[[Any, Gradients[Any]], None] | None = None
    total: Callable[[Gradients[Any]], None] | None = None


class Notes:
    """What was noted while the last step ran.

    Attributes:
        seen: of each of its batches the step, the loss as a number, and how much it counts.
        batch: the last of them, if a metric asks for a plan.
        rate: the learning rate.
        norm: of all gradients; None if nobody asked.
        random, random_later: where the random numbers stood before the last batch, and after it.
        tensors: those of the model that a forward pass may change, as they were before the step; None if it has none.
    """

    def __init__(self) -> None:
        self.seen: list[tuple[Step, float, int]] = []
        self.batch: Any = None
        self.rate = math.nan
        self.norm: float | None = None
        self.random: Any = None
        self.random_later: Any = None
        self.tensors: Mapping[str, Tensor[Any, Any, Any]] | None = None

    def __repr__(self) -> str:
        return f"Notes({len(self.seen)} batches)"


class Trainer(NamedTuple):
    """What a step is made of, beside the model and the data. Its ranks share the batches."""

    step: StepFunction
    optimizer: Optimizer[Any]
    clip: AnyClipping | None
    comm: Communicator

    def train(self, model: M, lr: Callable[[], float], batches: Iterator[Any], watch: Watchers) -> M:
        """The model one step further, by the mean of the gradients of the batches, over the samples of all ranks."""
        total = Accumulator()
        self._add_up(total, model, batches, watch)
        grads, samples = total.mean(), total.weight
        if isinstance(self.optimizer, Sharded):
            return self.optimizer.step(lr(), model, grads, samples, self.clip)
        grads = all_reduce(grads, model, self.comm, samples)
        if watch.total is not None:
            watch.total(grads)
        if self.clip is not None:
            grads = clip_gradients(grads, self.clip)
        return self.optimizer.step(lr(), model, grads)

    def _add_up(self, total: Accumulator, model: Module, batches: Iterator[Any], watch: Watchers) -> None:
        """The gradients of this rank's samples. Of several ranks, one may have a batch without any."""
        for batch in batches:
            if self.comm.size > 1 and is_empty(batch):
                continue
            step = run_step(self.step, model, batch)
            samples = samples_in(step, batch)
            if watch.loss is not None:
                watch.loss(batch, step, samples)
            grads = step.loss.backward()
            if watch.gradients is not None:
                watch.gradients(batch, grads)
            total.add(grads, samples)
            del batch, step, grads  # before the next batch is made, so that the two are never alive together
