"""Optimizers: ``model = optimizer.step(lr, model, grads)`` returns the trained model and changes nothing else."""

from typing import TYPE_CHECKING, Any

from tinyburn.base import foreign

from .sgd import Sgd, SgdConfig

__all__ = ["Sgd", "SgdConfig"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Only for a name that is not there: PyTorch's are in a table, with ours."""
        raise foreign.missing("optim", "tinyburn.optim", name)
