"""Layers and losses. Every layer with parameters is made by its config: ``LinearConfig(4, 2).init(device)``."""

from .activation import Gelu, Relu, Sigmoid, Tanh
from .linear import Linear, LinearConfig
from .loss import MseLoss

__all__ = ["Gelu", "Linear", "LinearConfig", "MseLoss", "Relu", "Sigmoid", "Tanh"]
