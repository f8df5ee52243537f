"""The Learner: the loop that trains a model, and what one wants to know meanwhile."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from tinyburn import record
from tinyburn.autodiff import Gradients
from tinyburn.backend import Device
from tinyburn.base.errors import ConfigError
from tinyburn.module import Module
from tinyburn.optim import ConstantLrSchedulerConfig, LrScheduler, LrSchedulerConfig, Optimizer
from tinyburn.optim.clipping import AnyClipping
from tinyburn.parallel import Alone, Communicator, same_start
from tinyburn.parallel.ending import tell_of
from tinyburn.parallel.start import same_tensors

from .batch import AnyTensor, grouped, is_empty, without_autodiff
from .checks import check_fit, check_learner
from .errors import NonFiniteLoss
from .first_nan import reasons_for
from .gradients import are_finite, gradient_norm
from .history import History, Row
from .interrupt import Interrupt
from .loop import Notes, Trainer, Watchers
from .metrics import Loss, Metric
from .place import Place, length
from .planning import FitPlan, Planned, plan_fit
from .progress import progress_sinks
from .ranks import Agreement
from .resume import read_state, written_state
from .seed import seed_everything
from .sinks import Sink
from .step import Outcome, Step, StepFunction, Supervised, run_step, samples_in
from .stopping import EarlyStoppingConfig

M = TypeVar("M", bound=Module)
Batches: TypeAlias = Iterable[Any]


class Learner(Generic[M]):
    """Trains a model. What `fit` does is this loop, with the same numbers to the last bit::

        for epoch in range(epochs):
            for x, target in train:
                loss = loss_of(model(x), target)
                losses.append(loss.into_scalar())
                grads = loss.backward()
                model = optimizer.step(scheduler.step(), model, grads)
            evaluated, total, samples = model.valid(), 0.0, 0
            for x, target in valid:
                loss = loss_of(evaluated(x.inner()), target.inner())
                total += loss.into_scalar() * x.shape[0]
                samples += x.shape[0]
            valid_losses.append(total / samples)

    Everything else looks on, or is asked for by an argument.

    Args:
        model: on a backend with autodiff.
        optimizer: as ``optim.AdamConfig().init()``.
        loss: as ``nn.MseLoss()``: any function ``loss(output, target)`` with a result of shape (1,), the mean over the
            samples. A batch is then ``(x, target)``.
        step: in place of ``loss``, for batches of any other kind: ``step(model, batch) -> train.Step(loss, ...)``.
        lr: the learning rate, if it is always the same.
        scheduler: in place of ``lr``; it gives a rate for each step.
        metrics: what the history says beside the loss.
        clip: as ``optim.GradientClippingConfig.GlobalNorm(1.0)``: the gradients of each step are clipped so.
        accumulate: how many batches make one step. Their gradients are averaged by samples.
        early_stopping: see `EarlyStoppingConfig`.
        seed: see `seed_everything`: for what the model's device draws from now on, as for dropout.
        comm: for a training in several processes, each of which runs this program: see `tinyburn.parallel`. Each hands
            `fit` its own part of every batch, as ``data.DataLoader(..., part=(comm.rank, comm.size))`` does, and all of
            them have the same model, history and early stopping.
        check_gradients: also look for NaN and inf in the gradients of each step. Without it an infinite slope shows
            only in the loss of the next step, when the model is spoilt, and its operation cannot be named any more.

    Attributes:
        model: as it is after the last finished step.
        best_model: of the best epoch, by ``early_stopping``; None without that, or before the first epoch.
        history: the loss of each step, and a row for each epoch.
        epoch: how many epochs are finished.

    Raises ConfigError for arguments that do not fit, with every reason.
    """

    def __init__(
        self,
        model: M,
        optimizer: Optimizer[Any],
        loss: Callable[..., AnyTensor] | None = None,
        *,
        step: StepFunction | None = None,
        lr: float | None = None,
        scheduler: LrScheduler | LrSchedulerConfig | None = None,
        metrics: Sequence[Metric] = (),
        clip: AnyClipping | None = None,
        accumulate: int = 1,
        early_stopping: EarlyStoppingConfig | None = None,
        seed: int | None = None,
        comm: Communicator | None = None,
        check_gradients: bool = False,
    ) -> None:
        self.comm = Alone() if comm is None else comm
        given: dict[str, Any] = {"loss": loss, "step": step, "lr": lr, "scheduler": scheduler, "metrics": metrics}
        given |= {"clip": clip, "comm": self.comm}
        self.device: Device[Any] = check_learner(model, optimizer, given, accumulate, early_stopping)
        self.model = model
        self.scheduler = _scheduler_of(lr, scheduler)
        self.metrics: list[Metric] = [Loss(), *metrics]
        self.accumulate = accumulate
        self.early_stopping = early_stopping
        self.check_gradients = check_gradients
        self.best_model: M | None = None
        self.history = History()
        self.epoch = 0
        self._place = Place()
        self._step: StepFunction = _step_of(loss, step)
        self._trainer = Trainer(self._step, optimizer, clip, self.comm)
        self._prepare()
        if seed is not None:
            seed_everything(seed, self.device)
        self.model = same_start(self.model, self.comm)

    def __repr__(self) -> str:
        at = f"{self.epoch} epochs, {len(self.history.losses)} steps"
        return f"Learner({type(self.model).__name__}, {self.optimizer!r}, {at})"

    def fit(
        self,
        train: Batches,
        valid: Batches | None = None,
        epochs: int = 1,
        *,
        progress: bool | None = None,
        sinks: Sequence[Sink] = (),
        after_step: Callable[[Learner[M]], object] | None = None,
    ) -> History:
        """Trains for some epochs, and returns the history: of this fit, and of those before it.

        An epoch that was interrupted is finished first, and counts as one of these. So after ``epochs - learner.epoch``
        more, a training that was resumed is where it would have been.

        Args:
            train: the batches; an epoch is one pass over them.
            valid: batches to evaluate the model with after each epoch.
            epochs: how many.
            progress: whether to show a bar. None shows one in a terminal only.
            sinks: where else the numbers go, as ``train.CsvSink(path)``.
            after_step: is called with the learner after each step, to look at it or to save its state.

        With Ctrl-C the running step is finished, a line says so, and the history is returned as usual. A second Ctrl-C
        ends Python's way, perhaps in the middle of a step. Raises NonFiniteLoss, which names the operation that made
        the first NaN or inf; the learner then has the model before that step.
        """
        check_fit(train, valid, epochs, self.position)
        self.comm.renew()
        told = self._sinks(progress, epochs * self._steps_in(train), sinks)
        self._place.use(train)
        self.history.stopped = ""
        try:
            with Interrupt(self.comm.size > 1) as interrupt:
                for _ in range(epochs):
                    if not self._run_epoch(train, valid, told, after_step, interrupt):
                        break
        except Exception as error:
            tell_of(error, self.comm)
            raise
        finally:
            for sink in told:
                sink.close()
            self._place.leave()
        return self.history

    def _sinks(self, progress: bool | None, steps: int, sinks: Sequence[Sink]) -> list[Sink]:
        """Who is told: one rank speaks for all."""
        return [*progress_sinks(progress, steps), *sinks] if self.comm.rank == 0 else []

    @property
    def optimizer(self) -> Optimizer[Any]:
        """The one that it was made with."""
        return self._trainer.optimizer

    @property
    def position(self) -> int:
        """How many batches of the next epoch are done: 0, unless it was interrupted."""
        return self._place.position

    # An epoch

    def _run_epoch(
        self,
        train: Batches,
        valid: Batches | None,
        sinks: Sequence[Sink],
        after_step: Callable[[Learner[M]], object] | None,
        interrupt: Interrupt,
    ) -> bool:
        """Trains and evaluates once. Whether to go on."""
        if self.position == 0:
            for metric in self.metrics:
                metric.reset()
        agreement = Agreement(self.comm, interrupt)
        self.comm.meet(f"epoch {self.epoch + 1}, of {length(train)} batches, from batch {self.position} on")
        for group in grouped(self._place.rest(train), self.accumulate):
            self._train_step(group, agreement)
            for sink in sinks:
                sink.on_step(len(self.history.losses), self.history.losses[-1])
            if after_step is not None:
                after_step(self)
            if interrupt.is_due:
                return self._interrupted()
        if self.position == 0:
            reason = f"train had no batch in epoch {self.epoch + 1}"
            hint = "hand it a list or a loader: a generator gives its batches once, and then it is empty"
            raise ConfigError("Learner.fit", reason, hint=hint)
        self._join_tensors()
        row = agreement.row(self.epoch + 1, self.metrics) | self._evaluated(valid, interrupt, agreement)
        if interrupt.is_due:
            return self._interrupted()
        self._end_epoch(row)
        for sink in sinks:
            sink.on_epoch(self.history)
        return not self.history.stopped

    def _evaluated(self, valid: Batches | None, interrupt: Interrupt, agreement: Agreement) -> Row:
        """What they say about the model on other data."""
        if valid is None:
            return {}
        model: Any = self.model.valid()
        step: Any = self._step
        step = step.valid() if isinstance(step, Supervised) else step
        for metric in self._valid_metrics:
            metric.reset()
        for given in valid:
            if interrupt.asked:
                break
            batch = without_autodiff(given)
            if self.comm.size > 1 and is_empty(batch):
                continue
            result = run_step(step, model, batch)
            outcome = Outcome(result, result.loss.into_scalar(), samples_in(result, batch))
            for metric in self._valid_metrics:
                metric.update(outcome)
        return {f"valid {name}": value for name, value in agreement.row(self.epoch + 1, self._valid_metrics).items()}

    def _join_tensors(self) -> None:
        """What a forward pass changes differs by rank, for each has seen its own samples: from here on that of rank 0
        counts."""
        if self._has_tensors:
            self.model = same_tensors(self.model, self.comm)

    def _end_epoch(self, row: Row) -> None:
        self.history.rows.append(row)
        self.history.clocks |= {metric.name for metric in self.metrics if metric.is_clock}
        self.epoch += 1
        self._place.position = 0
        stopping = self.early_stopping
        if stopping is not None:
            if stopping.best_epoch(self.history) == self.epoch:
                self.best_model = self.model.map(lambda _, param: param)  # what a forward pass changes is its own
            self.history.stopped = stopping.why_stop(self.history)

    def _interrupted(self) -> bool:
        self._join_tensors()
        at = f"{self.position} batches into epoch {self.epoch + 1}"
        done = f"stopped by Ctrl-C after step {len(self.history.losses)}, {at}"
        self.history.stopped = f"{done}: the model and the history are those of that step"
        if self.comm.rank == 0:
            print(self.history.stopped)
        return False

    # A step

    def _train_step(self, batches: Iterator[Any], agreement: Agreement) -> None:
        """One step of the optimizer, and what the metrics see of it. If it fails, the model is as it was before."""
        before, notes = self.model, self._notes
        notes.tensors = dict(before.named_tensors()) if self._has_tensors else None
        notes.random_later = self.device.random_state()
        try:
            after = self._trainer.train(before, self._next_rate, batches, self._watchers)
        except BaseException:
            self.model = self._untouched()
            notes.seen.clear()
            raise
        self.model = after
        self._tell(before, after, agreement)

    def _untouched(self) -> M:
        """The model as it was before the step. A forward pass may have changed it, as that of a batch norm does."""
        tensors = self._notes.tensors
        return self.model if tensors is None else self.model.with_tensors(tensors)

    def _next_rate(self) -> float:
        self._notes.rate = self.scheduler.step()
        return self._notes.rate

    def _look_at_loss(self, batch: Any, step: Step, samples: int) -> None:
        notes = self._notes
        notes.random, notes.random_later = notes.random_later, self.device.random_state()
        loss = step.loss.into_scalar()
        if not math.isfinite(loss):
            raise self._not_finite(batch, f"the loss is {loss}")
        notes.batch = batch if self._plans else None
        notes.seen.append((step, loss, samples))

    def _look_at_gradients(self, batch: Any, grads: Gradients[Any]) -> None:
        if not are_finite(grads):
            raise self._not_finite(batch, "the loss is finite, and its gradients are not")

    def _look_at_total(self, grads: Gradients[Any]) -> None:
        self._notes.norm = gradient_norm(grads)

    def _not_finite(self, batch: Any, what: str) -> NonFiniteLoss:
        at = f"step {len(self.history.losses) + 1}, batch {self.position} of epoch {self.epoch + 1}"
        reasons = reasons_for(self._step, self._untouched(), batch, self.device, self._notes.random)
        hint = "a lower learning rate or clip=... keeps the numbers small; look for log, division and sqrt at 0"
        if any("already" in reason for reason in reasons) and not self.check_gradients:
            hint = "train again from an earlier state with check_gradients=True: it names the operation"
        return NonFiniteLoss("Learner.fit", [what, *reasons], given={"at": at}, hint=hint)

    def _tell(self, before: M, after: M, agreement: Agreement) -> None:
        """Tells the metrics, and the history."""
        seen, batch = self._notes.seen, self._notes.batch
        samples = sum(one[2] for one in seen)
        loss = seen[0][1] if len(seen) == 1 else sum(one[1] * one[2] for one in seen) / max(samples, 1)
        whole = Outcome(
            seen[-1][0] if seen else None,
            loss,
            samples,
            lr=self._notes.rate,
            before=before,
            after=after,
            gradient_norm=self._notes.norm,
            plan=(lambda: self.plan(batch).peak_bytes) if seen else None,
        )
        outcomes = [whole] if len(seen) == 1 else [Outcome(*one) for one in seen]
        for metric in self.metrics:
            for outcome in (whole,) if metric.training_only else outcomes:
                metric.update(outcome)
        self.history.losses.append(agreement.loss(len(self.history.losses) + 1, loss, samples, self.device))
        seen.clear()
        self._notes.batch = None

    # Before and between

    def plan(self, batch: Any, available_bytes: int | None = None) -> FitPlan:
        """What a step on a batch of these shapes needs, before it is run: planned on shapes, to the byte.

        Args:
            batch: as `fit` gets it; its values are not read. A step of one's own is planned too, if it reads no values
                and makes its tensors on the device of its batch.
            available_bytes: the budget. With it the plan says whether the batch fits, and the largest that does.
        """
        are_read = self.check_gradients or self._watchers.total is not None
        planned = Planned(self._trainer, self.model, batch, self.accumulate, are_read)
        return plan_fit(planned, self.device, available_bytes)

    def state(self) -> dict[str, Any]:
        """Everything that the next step depends on, as nested dicts and lists of numbers, strings and tensors.

        It may be asked for between two fits, and by ``after_step`` in the middle of an epoch. But for what a clock
        says, a learner that loads it goes on with the same numbers to the last bit. A loader with ``state`` and
        ``load_state`` goes on where it was; any other batches are passed over up to there.

        Of several ranks all have to ask for it, and get the same; any number of ranks can go on from it.
        """
        self._join_tensors()
        return written_state(self, self._place.state())

    def save(self, path: str | os.PathLike[str], notes: dict[str, Any] | None = None) -> None:
        """Writes the state as one file, with ``record.save``; of several ranks all have to call it, and one writes.

        ``learner.load_state(record.load(path))`` goes on from it. Raises as ``record.save`` does.
        """
        state = self.state()
        try:
            if self.comm.rank == 0:
                record.save(path, state, notes)
        except Exception as error:
            tell_of(error, self.comm)
            raise
        self.comm.meet("a state is written")  # from here on every rank finds the file

    def load_state(self, state: dict[str, Any]) -> None:
        """Goes on from what `state` has returned, perhaps in another process, in a learner that was made alike.

        Raises ConfigError, with everything that does not fit, and RecordError for another model; then nothing has
        changed.
        """
        loader_state = read_state(self, state)
        self._place = Place(state["position"], loader_state)
        self._prepare()

    def _prepare(self) -> None:
        """What is asked for at each step, found once."""
        self._notes = Notes()
        self._has_tensors = any(True for _ in self.model.named_tensors())
        self._plans = any(metric.needs_plan for metric in self.metrics)
        self._watchers = Watchers(
            self._look_at_loss,
            self._look_at_gradients if self.check_gradients else None,
            self._look_at_total if any(metric.needs_gradients for metric in self.metrics) else None,
        )
        self._valid_metrics = copy.deepcopy([metric for metric in self.metrics if not metric.training_only])

    def _steps_in(self, train: Batches) -> int:
        return math.ceil((length(train) or 0) / self.accumulate)


def _step_of(loss: Callable[..., AnyTensor] | None, step: Any) -> StepFunction:
    function: StepFunction = step if loss is None else Supervised(loss)
    return function


def _scheduler_of(lr: float | None, scheduler: LrScheduler | LrSchedulerConfig | None) -> LrScheduler:
    if isinstance(scheduler, LrScheduler):
        return scheduler
    return (scheduler or ConstantLrSchedulerConfig(lr if lr is not None else 0.0)).init()
