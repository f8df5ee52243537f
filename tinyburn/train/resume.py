"""The state of a learner as nested dicts, and back: what a file of a training holds.

The class Learner stands above this file, so a learner is Any here.
"""

from __future__ import annotations

import copy
from typing import Any

from tinyburn.base.errors import ConfigError
from tinyburn.base.shape import is_count
from tinyburn.optim import LrScheduler
from tinyburn.parallel.start import spread_random
from tinyburn.record import ModelRecord

from .history import History

FORMAT = 1
"""The version of the form below."""

_ASKED = "Learner.load_state"
_NAMES = [
    "format",
    "model",
    "best_model",
    "optimizer",
    "scheduler",
    "random",
    "epoch",
    "position",
    "loader",
    "metrics",
    "history",
]


def written_state(learner: Any, loader: Any) -> dict[str, Any]:
    """All that the next step depends on. Every rank has the same, so that any number of ranks can go on from it."""
    comm = learner.comm
    said = (learner.device.random_state(), {metric.name: metric.state() for metric in learner.metrics})
    told = comm.gather("the state of a learner", said)
    random = told[0][0]
    metrics = {metric.name: metric.merged([sums[metric.name] for _, sums in told]) for metric in learner.metrics}
    best = learner.best_model
    return {
        "format": FORMAT,
        "model": learner.model.into_record(),
        "best_model": None if best is None else best.into_record(),
        "optimizer": learner.optimizer.state(learner.model),
        "scheduler": learner.scheduler.state(),
        "random": None if random is None else {"seed": random[0], "draws": random[1]},
        "epoch": learner.epoch,
        "position": learner.position,
        "loader": loader,
        "metrics": metrics if comm.size > 1 else said[1],
        "history": learner.history.state(),
    }


def read_state(learner: Any, state: Any) -> Any:
    """Puts a state into a learner, and returns that of its loader.

    Raises ConfigError, and RecordError for another model; then nothing has changed.
    """
    _check(learner, state)
    model, best = learner.model.load_record(state["model"]), state["best_model"]
    best = None if best is None else learner.model.load_record(best)
    LrScheduler(learner.scheduler.config).load_state(state["scheduler"])  # so that the error comes before a change
    history = History()
    history.load_state(state["history"])
    learner.optimizer.load_state(state["optimizer"], model)
    learner.scheduler.load_state(state["scheduler"])
    if state["random"] is not None:
        learner.device.set_random_state((state["random"]["seed"], state["random"]["draws"]))
        spread_random(learner.device, learner.comm)
    for metric in learner.metrics:  # they are sums over all ranks, so one goes on from them, and the others from 0
        metric.load_state(state["metrics"][metric.name] if learner.comm.rank == 0 else {})
    learner.model, learner.best_model, learner.history = model, best, history
    learner.epoch = state["epoch"]
    return copy.deepcopy(state["loader"])


def _check(learner: Any, state: Any) -> None:
    hint = "hand it what learner.state() returns, in a learner that was made with the same arguments"
    if not isinstance(state, dict):
        raise ConfigError(_ASKED, f"{type(state).__name__} is no state of a learner", hint=hint)
    reasons = [f"{name} is missing" for name in _NAMES if name not in state]
    reasons += [f"the name {name!r} is unknown" for name in state if name not in _NAMES]
    if reasons:
        raise ConfigError(_ASKED, reasons, hint=hint)
    if state["format"] != FORMAT:
        reasons.append(f"its format is {state['format']!r}, and this version of tinyburn reads {FORMAT}")
    for name in ("epoch", "position"):
        if not is_count(state[name]):
            reasons.append(f"{name} is {state[name]!r}, and must be a whole number of 0 or more")
    models = ["model"] if state["best_model"] is None else ["model", "best_model"]
    for name in models:
        if not isinstance(state[name], ModelRecord):
            reasons.append(f"{name} is {type(state[name]).__name__}, and should be a ModelRecord")
    for name, kinds in (("optimizer", "a state"), ("metrics", "sums"), ("history", "numbers")):
        if not isinstance(state[name], dict):
            reasons.append(f"{name} is {type(state[name]).__name__}, and should be a dict of {kinds}")
    reasons += _metric_reasons(learner, state["metrics"]) if isinstance(state["metrics"], dict) else []
    if reasons:
        raise ConfigError(_ASKED, reasons, hint=hint)


def _metric_reasons(learner: Any, saved: dict[str, Any]) -> list[str]:
    names = [metric.name for metric in learner.metrics]
    missing = [f"it has no sums of the metric {name!r}" for name in names if name not in saved]
    return missing + [
        f"it has sums of {name!r}, which this learner does not count" for name in saved if name not in names
    ]
