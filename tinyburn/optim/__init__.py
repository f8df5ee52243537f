"""Optimizers: ``model = optimizer.step(lr, model, grads)`` returns the trained model and changes nothing else."""

from .sgd import Sgd, SgdConfig

__all__ = ["Sgd", "SgdConfig"]
