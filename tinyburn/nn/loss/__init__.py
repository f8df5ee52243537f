"""Losses: how far predictions are from targets. Called, a loss is one number of shape (1,); ``forward_no_reduction`` is
the same before it is averaged or added up."""

from .binary_cross_entropy import BinaryCrossEntropyLoss, BinaryCrossEntropyLossConfig
from .cosine_embedding import CosineEmbeddingLoss, CosineEmbeddingLossConfig
from .cross_entropy import CrossEntropyLoss, CrossEntropyLossConfig
from .distances import HuberLoss, HuberLossConfig, L1Loss, MseLoss, SmoothL1Loss, SmoothL1LossConfig
from .likelihoods import KLDivLoss, KLDivLossConfig, PoissonNllLoss, PoissonNllLossConfig

__all__ = [
    "BinaryCrossEntropyLoss",
    "BinaryCrossEntropyLossConfig",
    "CosineEmbeddingLoss",
    "CosineEmbeddingLossConfig",
    "CrossEntropyLoss",
    "CrossEntropyLossConfig",
    "HuberLoss",
    "HuberLossConfig",
    "KLDivLoss",
    "KLDivLossConfig",
    "L1Loss",
    "MseLoss",
    "PoissonNllLoss",
    "PoissonNllLossConfig",
    "SmoothL1Loss",
    "SmoothL1LossConfig",
]
