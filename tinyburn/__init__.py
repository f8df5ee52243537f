"""tinyburn: a deep-learning framework small enough to read, with every tensor, gradient and byte on show."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from . import activation, autodiff, course, memory, nn, optim
from .autodiff import Autodiff, BalancedCheckpointing, Gradients, NoCheckpointing
from .backend import Backend, Cuda, Device, Meta, NdArray, Traced, Wgpu
from .base import foreign
from .base.distribution import Distribution
from .base.dtype import Bool, DType, Float, Int
from .base.errors import (
    BackendMismatch,
    BackendUnavailable,
    ConfigError,
    DeviceMismatch,
    DTypeMismatch,
    ForeignCall,
    ForeignName,
    GraphError,
    OutOfMemory,
    ShapeError,
    TinyburnError,
)
from .base.shape import D1, D2, D3, D4, D5, D6, Shape
from .module import Config, Initializer, Module, Param, RunConfig
from .tensor import Tensor, TensorData

if TYPE_CHECKING:
    from . import viz

__version__ = "0.1.0"


def __getattr__(name: str) -> ModuleType:
    """Loads the pictures when they are first asked for: they take as long as all the rest."""
    if name == "viz":
        return import_module("tinyburn.viz")
    raise foreign.missing("tinyburn", "module 'tinyburn'", name)


__all__ = [
    "D1",
    "D2",
    "D3",
    "D4",
    "D5",
    "D6",
    "Autodiff",
    "Backend",
    "BackendMismatch",
    "BackendUnavailable",
    "BalancedCheckpointing",
    "Bool",
    "Config",
    "ConfigError",
    "Cuda",
    "DType",
    "DTypeMismatch",
    "Device",
    "DeviceMismatch",
    "Distribution",
    "Float",
    "ForeignCall",
    "ForeignName",
    "Gradients",
    "GraphError",
    "Initializer",
    "Int",
    "Meta",
    "Module",
    "NdArray",
    "NoCheckpointing",
    "OutOfMemory",
    "Param",
    "RunConfig",
    "Shape",
    "ShapeError",
    "Tensor",
    "TensorData",
    "TinyburnError",
    "Traced",
    "Wgpu",
    "activation",
    "autodiff",
    "course",
    "memory",
    "nn",
    "optim",
    "viz",
]
