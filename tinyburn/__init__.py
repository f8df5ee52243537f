"""tinyburn: a deep-learning framework small enough to read, with every tensor, gradient and byte on show."""

from . import activation, memory, nn, optim
from .autodiff import Autodiff, Gradients, NoCheckpointing
from .backend import Backend, Device, Meta, NdArray, Traced
from .module import Config, Initializer, Module, Param, RunConfig
from .tensor import (
    D1,
    D2,
    D3,
    D4,
    D5,
    D6,
    BackendMismatch,
    BackendUnavailable,
    Bool,
    ConfigError,
    DeviceMismatch,
    Distribution,
    DType,
    DTypeMismatch,
    Float,
    GraphError,
    Int,
    Shape,
    ShapeError,
    Tensor,
    TensorData,
    TinyburnError,
)

__version__ = "0.1.0"
