"""Layers and losses. Every layer with parameters is made by its config: ``LinearConfig(4, 2).init(device)``."""

from typing import TYPE_CHECKING, Any

from tinyburn.base import foreign

from .activation import Gelu, Relu, Sigmoid, Tanh
from .dropout import Dropout, DropoutConfig
from .embedding import Embedding, EmbeddingConfig
from .layer_norm import LayerNorm, LayerNormConfig
from .linear import Linear, LinearConfig
from .loss import MseLoss

__all__ = [
    "Dropout",
    "DropoutConfig",
    "Embedding",
    "EmbeddingConfig",
    "Gelu",
    "LayerNorm",
    "LayerNormConfig",
    "Linear",
    "LinearConfig",
    "MseLoss",
    "Relu",
    "Sigmoid",
    "Tanh",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Only for a name that is not there: PyTorch's are in a table, with ours."""
        raise foreign.missing("nn", "tinyburn.nn", name)
