"""Metrics of the training itself: how far a step goes, what it needs, and how long it takes."""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any

import numpy as np

from tinyburn.module import Module

from .metrics import Mean, Metric
from .step import Outcome


class LearningRate(Metric):
    """That of the last step."""

    name = "learning rate"
    training_only = True

    def update(self, step: Outcome) -> None:
        """See `Metric`."""
        self.sums["last"] = step.lr

    def merged(self, parts: list[dict[str, Any]]) -> dict[str, Any]:
        """See `Metric`: the rate is the same everywhere."""
        return next((part for part in parts if part), {})

    @property
    def value(self) -> float:
        """See `Metric`."""
        return float(self.sums.get("last", math.nan))


class GradientNorm(Mean):
    """The root of the sum of the squares of all gradients, before they are clipped; the mean over the steps."""

    name = "gradient norm"
    training_only = True
    needs_gradients = True

    def update(self, step: Outcome) -> None:
        """See `Metric`."""
        self.add(math.nan if step.gradient_norm is None else step.gradient_norm, 1)


class UpdateRatio(Mean):
    """How far a step moves the parameters, as a share of their own size: ``|after - before| / |before|``; the mean over
    the steps. A rule of thumb is one thousandth."""

    name = "update ratio"
    training_only = True

    def update(self, step: Outcome) -> None:
        """See `Metric`."""
        if step.before is not None and step.after is not None:
            self.add(update_ratio(step.before, step.after), 1)


def update_ratio(before: Module, after: Module) -> float:
    """The ratio over all parameters together, in float64; inf if they were all 0 and are not so any more."""
    moved, size = 0.0, 0.0
    new = dict(after.named_params())
    for path, param in before.named_params():
        old = param.val().to_numpy().astype(np.float64)
        moved += float(np.sum((new[path].val().to_numpy() - old) ** 2))
        size += float(np.sum(old**2))
    if size == 0:
        return math.inf if moved else 0.0
    return math.sqrt(moved / size)


class PeakMemory(Metric):
    """The most bytes of tensor data that are alive at once in a step: planned, for the largest batch so far."""

    name = "peak bytes"
    training_only = True
    needs_plan = True

    def update(self, step: Outcome) -> None:
        """See `Metric`."""
        if step.plan is not None and step.samples > self.sums.get("samples", -1):
            self.sums = {"samples": step.samples, "peak": max(step.plan(), self.sums.get("peak", 0))}

    def merged(self, parts: list[dict[str, Any]]) -> dict[str, Any]:
        """See `Metric`: that of the process that needs most."""
        return max(parts, key=lambda part: part.get("peak", -1))

    @property
    def value(self) -> int:
        """See `Metric`; 0 before the first step."""
        peak: int = self.sums.get("peak", 0)
        return peak


class SamplesPerSecond(Metric):
    """By the clock, so the history shows it only if it is asked to."""

    name = "samples a second"
    training_only = True
    is_clock = True

    def reset(self) -> None:
        """See `Metric`."""
        super().reset()
        self._started = perf_counter()

    def update(self, step: Outcome) -> None:
        """See `Metric`."""
        now = perf_counter()
        self.sums["seconds"] = self.sums.get("seconds", 0.0) + now - self._started
        self.sums["samples"] = self.sums.get("samples", 0) + step.samples
        self._started = now

    def merged(self, parts: list[dict[str, Any]]) -> dict[str, Any]:
        """See `Metric`: the samples of all, in the time of the slowest."""
        seconds = max((part.get("seconds", 0.0) for part in parts), default=0.0)
        return super().merged(parts) | ({"seconds": seconds} if any(parts) else {})

    @property
    def value(self) -> float:
        """See `Metric`."""
        seconds = self.sums.get("seconds", 0.0)
        return float(self.sums["samples"] / seconds) if seconds else math.nan
