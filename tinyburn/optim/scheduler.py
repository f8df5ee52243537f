"""Learning rates that change while a model trains: each step is ``optimizer.step(scheduler.step(), model, grads)``.

A learning rate is a function of the number of steps alone, so that number is all that a scheduler keeps.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from tinyburn.base.errors import ConfigError
from tinyburn.module import Config

from .checks import finite_from_zero


@dataclass(frozen=True)
class LrSchedulerConfig(Config):
    """Base of every scheduler's config: its formula."""

    @abstractmethod
    def lr_at(self, step: int) -> float:
        """The learning rate of a step; the first is number 0."""

    def init(self) -> LrScheduler:
        """The scheduler, before its first step."""
        return LrScheduler(self)


class LrScheduler:
    """Counts the steps, and says the learning rate of each.

    Attributes:
        config: has the formula.
        steps: how many learning rates it has given.
    """

    def __init__(self, config: LrSchedulerConfig) -> None:
        self.config = config
        self.steps = 0

    def __repr__(self) -> str:
        return f"LrScheduler({self.config}, steps={self.steps})"

    def step(self) -> float:
        """The learning rate of the next step."""
        lr = self.config.lr_at(self.steps)
        self.steps += 1
        return lr

    def state(self) -> dict[str, Any]:
        """What it keeps, as a plain dict."""
        return {"scheduler": type(self.config).__name__, "steps": self.steps}

    def load_state(self, state: dict[str, Any]) -> None:
        """Continues from what `state` has returned. Raises ConfigError for anything else, with every reason."""
        name, given = type(self.config).__name__, state if isinstance(state, dict) else {}
        reasons = []
        if given.get("scheduler") != name:
            reasons.append(f"it is the state of {given.get('scheduler')}, not {name}")
        steps = given.get("steps")
        if type(steps) is not int or steps < 0:
            reasons.append(f"steps is {steps!r}, and must be a whole number of 0 or more")
        reasons += [f"the name {key!r} is unknown" for key in given if key not in ("scheduler", "steps")]
        if reasons:
            raise ConfigError("LrScheduler.load_state", reasons, hint="hand it what scheduler.state() returns")
        self.steps = given["steps"]


def _counts(config: Config, *names: str) -> list[str]:
    return [f"{name} is {getattr(config, name)}, and must be 1 or more" for name in names if getattr(config, name) < 1]


@dataclass(frozen=True)
class ConstantLrSchedulerConfig(LrSchedulerConfig):
    """Always the same."""

    lr: float

    def problems(self) -> list[str]:
        """Values that no scheduler can have."""
        return finite_from_zero(self, "lr")

    def lr_at(self, step: int) -> float:
        """See `LrSchedulerConfig`."""
        return float(self.lr)


@dataclass(frozen=True)
class LinearLrSchedulerConfig(LrSchedulerConfig):
    """In a straight line from ``initial_lr``, at the first step, to ``final_lr`` after ``num_iters`` more."""

    initial_lr: float
    final_lr: float
    num_iters: int

    def problems(self) -> list[str]:
        """Values that no scheduler can have."""
        return [*finite_from_zero(self, "initial_lr", "final_lr"), *_counts(self, "num_iters")]

    def lr_at(self, step: int) -> float:
        """See `LrSchedulerConfig`."""
        left = max(self.num_iters - step, 0) / self.num_iters
        return self.final_lr + (self.initial_lr - self.final_lr) * left


@dataclass(frozen=True)
class CosineAnnealingLrSchedulerConfig(LrSchedulerConfig):
    """Down half a wave of the cosine, from ``initial_lr`` to ``min_lr`` after ``num_iters`` more steps; then again.

    ``warmup`` steps come before: in a straight line up to ``initial_lr``, the first at ``initial_lr / (warmup + 1)``.

    Loshchilov and Hutter 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts". As in Burn it starts anew after
    ``min_lr``; PyTorch's ``CosineAnnealingLR`` would go back up the wave.
    """

    initial_lr: float
    num_iters: int
    min_lr: float = 0.0
    warmup: int = 0

    def problems(self) -> list[str]:
        """Values that no scheduler can have."""
        reasons = [*finite_from_zero(self, "initial_lr", "min_lr"), *_counts(self, "num_iters")]
        if self.min_lr > self.initial_lr:
            reasons.append(f"min_lr is {self.min_lr}, and must be at most initial_lr = {self.initial_lr}")
        return [*reasons, *([f"warmup is {self.warmup}, and must be 0 or more"] if self.warmup < 0 else [])]

    def lr_at(self, step: int) -> float:
        """See `LrSchedulerConfig`."""
        if step < self.warmup:
            return self.initial_lr * (step + 1) / (self.warmup + 1)
        share = (step - self.warmup) % (self.num_iters + 1) / self.num_iters
        return self.min_lr + (self.initial_lr - self.min_lr) * (1 + math.cos(math.pi * share)) / 2


@dataclass(frozen=True)
class ExponentialLrSchedulerConfig(LrSchedulerConfig):
    """``initial_lr * gamma ** step``."""

    initial_lr: float
    gamma: float

    def problems(self) -> list[str]:
        """Values that no scheduler can have."""
        return [*finite_from_zero(self, "initial_lr"), *_at_most_one(self)]

    def lr_at(self, step: int) -> float:
        """See `LrSchedulerConfig`."""
        return float(self.initial_lr * self.gamma**step)


@dataclass(frozen=True)
class StepLrSchedulerConfig(LrSchedulerConfig):
    """Multiplied by ``gamma`` after each ``step_size`` steps."""

    initial_lr: float
    step_size: int
    gamma: float = 0.1

    def problems(self) -> list[str]:
        """Values that no scheduler can have."""
        return [*finite_from_zero(self, "initial_lr"), *_counts(self, "step_size"), *_at_most_one(self)]

    def lr_at(self, step: int) -> float:
        """See `LrSchedulerConfig`."""
        return float(self.initial_lr * self.gamma ** (step // self.step_size))


def _at_most_one(config: Any) -> list[str]:
    is_fine = 0 < config.gamma <= 1
    return [] if is_fine else [f"gamma is {config.gamma}, and must be above 0 and at most 1"]


@dataclass(frozen=True)
class NoamLrSchedulerConfig(LrSchedulerConfig):
    """With t from 1 on: ``factor * model_size ** -0.5 * min(t ** -0.5, t * warmup_steps ** -1.5)``.

    In a straight line up for ``warmup_steps``, then down with the root. Vaswani et al. 2017, "Attention Is All You
    Need", section 5.3.
    """

    factor: float
    warmup_steps: int = 4000
    model_size: int = 512

    def problems(self) -> list[str]:
        """Values that no scheduler can have."""
        return [*finite_from_zero(self, "factor"), *_counts(self, "warmup_steps", "model_size")]

    def lr_at(self, step: int) -> float:
        """See `LrSchedulerConfig`."""
        t = step + 1
        return float(self.factor * self.model_size**-0.5 * min(t**-0.5, t * self.warmup_steps**-1.5))


@dataclass(frozen=True)
class ComposedLrSchedulerConfig(LrSchedulerConfig):
    """Several schedulers at once: the product of their learning rates, or the ``"sum"`` or ``"avg"``.

    So a warm-up multiplies any other: ``Composed…((Linear…(0.01, 1.0, 100), Exponential…(0.1, 0.999)))``.
    """

    schedulers: tuple[LrSchedulerConfig, ...]
    reduction: str = "prod"

    REDUCTIONS: ClassVar[tuple[str, ...]] = ("avg", "sum", "prod")

    def problems(self) -> list[str]:
        """Values that no scheduler can have."""
        wrong = [f"{part!r} is no config of a scheduler" for part in self.schedulers if not _is_scheduler(part)]
        if not self.schedulers:
            wrong.append("there are no schedulers to compose")
        if self.reduction not in self.REDUCTIONS:
            wrong.append(f"the reduction {self.reduction!r} is not one of {', '.join(self.REDUCTIONS)}")
        return wrong

    def lr_at(self, step: int) -> float:
        """See `LrSchedulerConfig`."""
        rates = [part.lr_at(step) for part in self.schedulers]
        if self.reduction == "prod":
            return math.prod(rates)
        return sum(rates) / (len(rates) if self.reduction == "avg" else 1)


def _is_scheduler(value: Any) -> bool:
    return isinstance(value, LrSchedulerConfig)
