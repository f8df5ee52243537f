"""Optimizers: ``model = optimizer.step(lr, model, grads)`` returns the trained model and changes nothing else."""

from typing import TYPE_CHECKING, Any

from tinyburn.base import foreign
from tinyburn.module.constructors import explain_constructors

from .adagrad import AdaGrad, AdaGradConfig
from .adam import Adam, AdamConfig, AdamW, AdamWConfig
from .clipping import GradientClippingConfig, clip_by_global_norm, clip_gradients
from .groups import Group, Groups
from .lion import Lion, LionConfig
from .optimizer import Optimizer
from .rmsprop import RmsProp, RmsPropConfig
from .scheduler import (
    ComposedLrSchedulerConfig,
    ConstantLrSchedulerConfig,
    CosineAnnealingLrSchedulerConfig,
    ExponentialLrSchedulerConfig,
    LinearLrSchedulerConfig,
    LrScheduler,
    LrSchedulerConfig,
    NoamLrSchedulerConfig,
    StepLrSchedulerConfig,
)
from .sgd import MomentumConfig, Sgd, SgdConfig

__all__ = [
    "AdaGrad",
    "AdaGradConfig",
    "Adam",
    "AdamConfig",
    "AdamW",
    "AdamWConfig",
    "ComposedLrSchedulerConfig",
    "ConstantLrSchedulerConfig",
    "CosineAnnealingLrSchedulerConfig",
    "ExponentialLrSchedulerConfig",
    "GradientClippingConfig",
    "Group",
    "Groups",
    "LinearLrSchedulerConfig",
    "Lion",
    "LionConfig",
    "LrScheduler",
    "LrSchedulerConfig",
    "MomentumConfig",
    "NoamLrSchedulerConfig",
    "Optimizer",
    "RmsProp",
    "RmsPropConfig",
    "Sgd",
    "SgdConfig",
    "StepLrSchedulerConfig",
    "clip_by_global_norm",
    "clip_gradients",
]

explain_constructors("optim", globals())

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Only for a name that is not there: PyTorch's are in a table, with ours."""
        raise foreign.missing("optim", "tinyburn.optim", name)
