"""What a learner asks before anything happens."""

from __future__ import annotations

from typing import Any

from tinyburn.backend import Device
from tinyburn.base.errors import ConfigError
from tinyburn.base.shape import is_count
from tinyburn.module import Module
from tinyburn.optim import LrScheduler, LrSchedulerConfig, Optimizer
from tinyburn.optim.clipping import GlobalNorm, Norm, Value
from tinyburn.parallel import Communicator, Sharded

from .metrics import Metric
from .stopping import EarlyStoppingConfig


def check_learner(
    model: Any, optimizer: Any, given: dict[str, Any], accumulate: Any, early_stopping: Any
) -> Device[Any]:
    """The device of the model. Raises ConfigError, with every reason."""
    reasons = _model_reasons(model)
    if not isinstance(optimizer, Optimizer):
        reasons.append(f"{type(optimizer).__name__} is no optimizer; write optim.AdamConfig().init()")
    reasons += _step_reasons(given["loss"], given["step"])
    reasons += _rate_reasons(given["lr"], given["scheduler"])
    reasons += _metric_reasons(given["metrics"])
    if given["clip"] is not None and not isinstance(given["clip"], Value | Norm | GlobalNorm):
        reasons.append(f"clip is {given['clip']!r}; write optim.GradientClippingConfig.GlobalNorm(1.0)")
    if not is_count(accumulate) or accumulate < 1:
        reasons.append(f"accumulate is {accumulate!r}, and must be a whole number of 1 or more")
    reasons += _rank_reasons(given["comm"], optimizer, given["metrics"])
    if early_stopping is not None and not isinstance(early_stopping, EarlyStoppingConfig):
        reasons.append(f"early_stopping is {early_stopping!r}; write train.EarlyStoppingConfig(patience=3)")
    if reasons:
        hint = "train.Learner(model, optim.AdamConfig().init(), nn.MseLoss(), lr=1e-3)"
        raise ConfigError("Learner", reasons, hint=hint)
    device: Device[Any] = next(model.named_params())[1].val().device
    return device


def _model_reasons(model: Any) -> list[str]:
    if not isinstance(model, Module):
        return [f"{type(model).__name__} is no Module"]
    params = [param.val() for _, param in model.named_params()]
    if not params:
        return [f"{type(model).__name__} has no parameters, so there is nothing to train"]
    if not params[0].backend.is_autodiff:
        name = params[0].backend.__name__
        return [f"the model is on {name}, which has no gradients; make it on Autodiff[{name}].device()"]
    return []


def _step_reasons(loss: Any, step: Any) -> list[str]:
    if (loss is None) == (step is None):
        return [f"there is {'neither' if loss is None else 'both'} a loss {'nor' if loss is None else 'and'} a step"]
    function = step if loss is None else loss
    return [] if callable(function) else [f"{function!r} is no function of an output and a target"]


def _rate_reasons(lr: Any, scheduler: Any) -> list[str]:
    if (lr is None) == (scheduler is None):
        return [f"there is {'no learning rate: give lr or' if lr is None else 'an lr and also'} a scheduler"]
    if scheduler is not None and not isinstance(scheduler, LrScheduler | LrSchedulerConfig):
        return [f"{scheduler!r} is no scheduler; write optim.CosineAnnealingLrSchedulerConfig(0.1, 100)"]
    if lr is not None and (not isinstance(lr, int | float) or not 0 <= lr < float("inf")):
        return [f"lr is {lr!r}, and must be a finite number of 0 or more"]
    return []


def _metric_reasons(metrics: Any) -> list[str]:
    if not isinstance(metrics, list | tuple):
        return [f"metrics is {metrics!r}, and should be a list of metrics, as [train.Accuracy()]"]
    wrong = [one for one in metrics if not isinstance(one, Metric)]
    if wrong:
        return [f"{one!r} is no metric; write train.Accuracy()" for one in wrong]
    names = ["loss", *(metric.name for metric in metrics)]
    return [f"the name {name!r} stands for two metrics" for name in dict.fromkeys(names) if names.count(name) > 1]


def _rank_reasons(comm: Any, optimizer: Any, metrics: Any) -> list[str]:
    if not isinstance(comm, Communicator):
        return [f"comm is {comm!r}, and should be a communicator, as parallel.Mpi()"]
    if not isinstance(optimizer, Sharded):
        return []
    reasons = [] if optimizer.comm is comm else [f"comm is {comm!r}, and the optimizer shares by {optimizer.comm!r}"]
    if isinstance(metrics, list | tuple):
        asked = [metric for metric in metrics if getattr(metric, "needs_gradients", False)]
        reasons += [f"{metric.name} looks at whole gradients, and no rank of Sharded has them" for metric in asked]
    return reasons


def check_fit(train: Any, valid: Any, epochs: Any, position: int) -> None:
    """Raises ConfigError for what no fit can use."""
    reasons = [
        f"{name} is {type(batches).__name__}, and should be batches: a list of them, or a loader"
        for name, batches in (("train", train), ("valid", valid))
        if not (hasattr(batches, "__iter__") or (name == "valid" and batches is None))
    ]
    if not is_count(epochs) or epochs < 1:
        reasons.append(f"epochs is {epochs!r}, and must be a whole number of 1 or more")
    if hasattr(train, "__len__") and len(train) < position:
        reasons.append(f"{position} batches of this epoch are done, and train has only {len(train)}")
    if reasons:
        raise ConfigError("Learner.fit", reasons, hint="learner.fit(train, valid, epochs=3)")
