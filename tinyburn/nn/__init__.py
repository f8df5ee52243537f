"""Layers and losses. Every layer with parameters is made by its config: ``LinearConfig(4, 2).init(device)``."""

from typing import TYPE_CHECKING, Any

from tinyburn.base import foreign

from .activation import Gelu, Relu, Sigmoid, Tanh
from .conv_transpose import (
    ConvTranspose1d,
    ConvTranspose1dConfig,
    ConvTranspose2d,
    ConvTranspose2dConfig,
    ConvTranspose3d,
    ConvTranspose3dConfig,
)
from .convolution import Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, Conv3d, Conv3dConfig
from .linear import Linear, LinearConfig
from .loss import MseLoss
from .padding import PaddingConfig1d, PaddingConfig2d, PaddingConfig3d
from .pool import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool1dConfig,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool2dConfig,
    AvgPool1d,
    AvgPool1dConfig,
    AvgPool2d,
    AvgPool2dConfig,
    MaxPool1d,
    MaxPool1dConfig,
    MaxPool2d,
    MaxPool2dConfig,
)

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool1dConfig",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool2dConfig",
    "AvgPool1d",
    "AvgPool1dConfig",
    "AvgPool2d",
    "AvgPool2dConfig",
    "Conv1d",
    "Conv1dConfig",
    "Conv2d",
    "Conv2dConfig",
    "Conv3d",
    "Conv3dConfig",
    "ConvTranspose1d",
    "ConvTranspose1dConfig",
    "ConvTranspose2d",
    "ConvTranspose2dConfig",
    "ConvTranspose3d",
    "ConvTranspose3dConfig",
    "Gelu",
    "Linear",
    "LinearConfig",
    "MaxPool1d",
    "MaxPool1dConfig",
    "MaxPool2d",
    "MaxPool2dConfig",
    "MseLoss",
    "PaddingConfig1d",
    "PaddingConfig2d",
    "PaddingConfig3d",
    "Relu",
    "Sigmoid",
    "Tanh",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Only for a name that is not there: PyTorch's are in a table, with ours."""
        raise foreign.missing("nn", "tinyburn.nn", name)
