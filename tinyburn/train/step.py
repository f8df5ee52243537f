"""A step: what one batch gives, and what is known about it once the model has been changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tinyburn.backend import Device
from tinyburn.base.errors import ConfigError, ForeignCall
from tinyburn.module import Module
from tinyburn.tensor import Tensor

from .batch import samples_of

AnyTensor: TypeAlias = Tensor[Any, Any, Any]
Values: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Step:
    """What a model gives for one batch.

    Attributes:
        loss: shape (1,): the mean over the samples.
        output: what the model said, for the metrics that look at it; ``(batch, classes)`` for those that count classes.
        target: what it should have said; ``(batch,)`` Int for those metrics.
        samples: how much the step counts in the mean over an epoch; None for the first dim of the batch. For a language
            model it would be the number of words.
    """

    loss: AnyTensor
    output: AnyTensor | None = None
    target: AnyTensor | None = None
    samples: int | None = None


StepFunction: TypeAlias = Callable[[Any, Any], Step]
"""``step(model, batch)``. It is handed another copy of the model to evaluate, so it takes no other one."""


class Supervised:
    """The usual step: ``loss(model(x), target)`` for a batch ``(x, target)``."""

    def __init__(self, loss: Callable[..., AnyTensor]) -> None:
        self.loss = loss

    def __repr__(self) -> str:
        return f"Supervised({type(self.loss).__name__})"

    def __call__(self, model: Any, batch: Any) -> Step:
        """See `Step`."""
        if not (isinstance(batch, tuple | list) and len(batch) == 2):
            reason = f"a batch is a pair (x, target), and this one is a {type(batch).__name__}"
            hint = (
                "for another kind of batch write a function step(model, batch) -> train.Step, and hand it as step=..."
            )
            raise ConfigError("Learner.fit", reason, hint=hint)
        x, target = batch
        output = model(x)
        return Step(self.loss(output, target), output, target)

    def valid(self) -> Supervised:
        """The same on the backend inside autodiff."""
        return Supervised(self.loss.valid()) if isinstance(self.loss, Module) else self

    def fork(self, device: Device[Any]) -> Supervised:
        """The same on another device."""
        return Supervised(self.loss.fork(device)) if isinstance(self.loss, Module) else self


def run_step(function: StepFunction, model: Any, batch: Any) -> Step:
    """One step. Raises ForeignCall if the function returns no `Step`."""
    step = function(model, batch)
    if not isinstance(step, Step) or not isinstance(step.loss, Tensor):
        reason = f"it returned {type(step).__name__}, and should return train.Step with the loss in it"
        raise ForeignCall("step(model, batch)", reason, hint="end it with return train.Step(loss, output, target)")
    return step


class Outcome:
    """A step as metrics see it: the numbers, and for a training step what it did to the model.

    Attributes:
        loss: as a number.
        samples: how much it counts.
        output, target: see `Step`; None of several processes where this one had no samples.
        lr: the learning rate; None where nothing was trained.
        before, after: the model; None where nothing was trained.
        gradient_norm: the root of the sum of the squares of all gradients, before clipping; None if no metric asked.
        plan: says the peak of such a step in bytes, by planning it.
    """

    __slots__ = ("_labels", "after", "before", "gradient_norm", "loss", "lr", "output", "plan", "samples", "target")

    def __init__(
        self,
        step: Step | None,
        loss: float,
        samples: int,
        *,
        lr: float | None = None,
        before: Module | None = None,
        after: Module | None = None,
        gradient_norm: float | None = None,
        plan: Callable[[], int] | None = None,
    ) -> None:
        self.loss, self.samples = loss, samples
        self.output, self.target = (None, None) if step is None else (step.output, step.target)
        self.lr, self.before, self.after = lr, before, after
        self.gradient_norm, self.plan = gradient_norm, plan
        self._labels: tuple[Values, Values] | None = None

    def __repr__(self) -> str:
        return f"Outcome(loss={self.loss}, samples={self.samples})"

    def labels(self, asked: str) -> tuple[Values, Values]:
        """The class that the model chose for each sample, and the right one. Raises ConfigError if there are none."""
        if self._labels is None:
            scores, right = self.scores(asked)
            self._labels = scores.argmax(1), right
        return self._labels

    def scores(self, asked: str) -> tuple[Values, Values]:
        """The scores ``(batch, classes)``, and the right class of each sample: that of the largest share if the target
        has shares."""
        output, target = self.output, self.target
        shapes = {
            "output": None if output is None else output.shape,
            "target": None if target is None else target.shape,
        }
        if output is None or target is None or output.rank != 2 or output.shape[0] != target.shape[0]:
            raise _no_classes(asked, shapes)
        right = target.to_numpy()
        if right.dtype.kind == "f" and right.shape == tuple(output.shape):
            return output.to_numpy(), right.argmax(1)
        if right.dtype.kind != "i" or right.ndim != 1:
            raise _no_classes(asked, shapes)
        return output.to_numpy(), right


def _no_classes(asked: str, shapes: dict[str, Any]) -> ConfigError:
    reason = "it counts classes, and needs scores (batch, classes) with labels (batch,)"
    hint = "leave the metric out, or return train.Step(loss, scores, labels) from a step of your own"
    return ConfigError(asked, reason, given=shapes, hint=hint)


def samples_in(step: Step, batch: Any) -> int:
    """How much a step counts."""
    return samples_of(batch) if step.samples is None else step.samples
