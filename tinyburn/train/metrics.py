"""Metrics: numbers about an epoch, as sums over its steps.

A metric keeps nothing but sums, so its value depends neither on how the samples were cut into batches nor on where a
run was interrupted. A batch of fewer samples counts less.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from tinyburn.base.errors import ConfigError

from .step import Outcome, Values


class Metric(ABC):
    """A number about an epoch. A subclass says what one more step adds, and what the value is.

    Attributes:
        name: of its column in the history.
        training_only: whether there is nothing to say about a model that is evaluated.
        is_clock: whether it comes from a clock, so that no two runs have the same.
        needs_gradients: whether somebody has to measure the gradients for it, before a step takes them.
        needs_plan: whether it asks for a plan of the step.
        sums: all that it keeps: numbers and lists of them, by name.
    """

    name: str
    training_only: ClassVar[bool] = False
    is_clock: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False
    needs_plan: ClassVar[bool] = False

    def __init__(self) -> None:
        self.sums: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.value})"

    def reset(self) -> None:
        """Before an epoch."""
        self.sums = {}

    @abstractmethod
    def update(self, step: Outcome) -> None:
        """After a step."""

    @property
    @abstractmethod
    def value(self) -> Any:
        """Of the steps since `reset`; NaN if there were none."""

    def merged(self, parts: list[dict[str, Any]]) -> dict[str, Any]:
        """The sums of several processes, each of which has seen other samples, as those of one that has seen all."""
        total: dict[str, Any] = {}
        for part in parts:
            for name, value in part.items():
                total[name] = _sum(total[name], value) if name in total else value
        return total

    def state(self) -> dict[str, Any]:
        """What it keeps, as a plain dict."""
        return copy.deepcopy(self.sums)

    def load_state(self, state: dict[str, Any]) -> None:
        """Continues from what `state` has returned."""
        self.sums = copy.deepcopy(state)


def _sum(a: Any, b: Any) -> Any:
    """Of two numbers, or of two lists of them, place by place."""
    return [_sum(one, other) for one, other in zip(a, b, strict=True)] if isinstance(a, list) else a + b


class Mean(Metric):
    """Base of each metric that is a total over a count."""

    def add(self, total: float, count: float) -> None:
        """One more step."""
        sums = self.sums
        sums["total"] = sums.get("total", 0.0) + total
        sums["count"] = sums.get("count", 0) + count

    @property
    def value(self) -> float:
        """The total over the count."""
        count = self.sums.get("count", 0)
        return float(self.sums["total"] / count) if count else math.nan


class Loss(Mean):
    """The mean of the loss over the samples. A learner always has it, as the first column."""

    name = "loss"

    def update(self, step: Outcome) -> None:
        """See `Metric`."""
        self.add(step.loss * step.samples, step.samples)


class Perplexity(Mean):
    """``exp`` of the mean loss: for a cross-entropy, between how many equally likely classes the model still doubts."""

    name = "perplexity"

    def update(self, step: Outcome) -> None:
        """See `Metric`."""
        self.add(step.loss * step.samples, step.samples)

    @property
    def value(self) -> float:
        """The exponential of the mean; inf where that is too large for a float."""
        mean = super().value
        return math.inf if mean > 709 else math.exp(mean)


class Accuracy(Mean):
    """The share of samples whose largest score is that of the right class."""

    name = "accuracy"

    def update(self, step: Outcome) -> None:
        """See `Metric`."""
        chosen, right = step.labels("Accuracy")
        self.add(int((chosen == right).sum()), right.size)


class TopK(Mean):
    """The share of samples whose right class is among the ``k`` largest scores. Of equal scores the first class wins,
    so that ``TopK(1)`` is `Accuracy`."""

    def __init__(self, k: int) -> None:
        super().__init__()
        if type(k) is not int or k < 1:
            raise ConfigError("TopK", f"k is {k!r}, and must be a whole number of 1 or more")
        self.k = k
        self.name = f"top {k}"

    def update(self, step: Outcome) -> None:
        """See `Metric`."""
        scores, right = step.scores("TopK")
        own = scores[np.arange(right.size), right][:, None]
        earlier = np.arange(scores.shape[1])[None, :] < right[:, None]
        better = ((scores > own) | ((scores == own) & earlier)).sum(1)
        self.add(int(((better < self.k) & ~np.isnan(own[:, 0])).sum()), right.size)


class ConfusionMatrix(Metric):
    """How many samples of each right class (rows) the model took for each class (columns)."""

    name = "confusion matrix"

    def update(self, step: Outcome) -> None:
        """See `Metric`."""
        scores, right = step.scores(type(self).__name__)
        chosen, _ = step.labels(type(self).__name__)
        classes = scores.shape[1]
        pairs = (right * classes + chosen).astype(np.intp)  # `bincount` takes no wider integer than an address
        counts = np.bincount(pairs, minlength=classes * classes).reshape(classes, classes)
        before = self.sums.get("counts")
        self.sums["counts"] = counts.tolist() if before is None else (counts + np.array(before)).tolist()

    @property
    def value(self) -> Any:
        """Nested lists, ``(classes, classes)``; empty before the first step."""
        return self.sums.get("counts", [])

    def shares(self) -> tuple[Values, Values, Values]:
        """For each class: how many it was rightly taken for, how often the model chose it, and how many it has."""
        counts = np.array(self.sums.get("counts", np.zeros((0, 0))), dtype=np.float64)
        return counts.diagonal(), counts.sum(0), counts.sum(1)


class OfClasses(ConfusionMatrix):
    """Base of what is one number for each class: that of ``positive``, or the mean over all classes that occur.

    A class that occurs is one that some sample has or was taken for. Where the number would be 0 / 0 it is 0.
    """

    title: ClassVar[str]

    def __init__(self, positive: int | None = None) -> None:
        super().__init__()
        if positive is not None and (type(positive) is not int or positive < 0):
            raise ConfigError(type(self).__name__, f"positive is {positive!r}, and should be the number of a class")
        self.positive = positive
        self.name = self.title if positive is None else f"{self.title} of {positive}"

    @property
    def value(self) -> float:
        """See `Metric`."""
        right, chosen, actual = self.shares()
        each = self.of_each(right, chosen, actual)
        if self.positive is not None:
            return float(each[self.positive]) if self.positive < each.size else math.nan
        occurs = (chosen + actual) > 0
        return float(each[occurs].mean()) if occurs.any() else math.nan

    def of_each(self, right: Values, chosen: Values, actual: Values) -> Values:
        """The number of each class."""
        raise NotImplementedError


class Precision(OfClasses):
    """Of the samples that the model took for a class, the share that are of it."""

    title = "precision"

    def of_each(self, right: Values, chosen: Values, actual: Values) -> Values:
        """See `OfClasses`."""
        return _ratio(right, chosen)


class Recall(OfClasses):
    """Of the samples of a class, the share that the model took for it."""

    title = "recall"

    def of_each(self, right: Values, chosen: Values, actual: Values) -> Values:
        """See `OfClasses`."""
        return _ratio(right, actual)


class F1(OfClasses):
    """The harmonic mean of precision and recall of a class: ``2 * right / (chosen + actual)``."""

    title = "F1"

    def of_each(self, right: Values, chosen: Values, actual: Values) -> Values:
        """See `OfClasses`."""
        return _ratio(2 * right, chosen + actual)


def _ratio(a: Values, b: Values) -> Values:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
