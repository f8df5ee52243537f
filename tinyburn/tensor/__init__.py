"""The tensor layer: values with a backend, a rank and a kind, and the checks that keep them apart."""

from .data import TensorData
from .distribution import Distribution
from .dtype import Bool, DType, Float, Int
from .errors import (
    BackendMismatch,
    BackendUnavailable,
    ConfigError,
    DeviceMismatch,
    DTypeMismatch,
    GraphError,
    OutOfMemory,
    ShapeError,
    TinyburnError,
)
from .shape import D1, D2, D3, D4, D5, D6, Shape
from .tensor import Tensor

__all__ = [
    "D1",
    "D2",
    "D3",
    "D4",
    "D5",
    "D6",
    "BackendMismatch",
    "BackendUnavailable",
    "Bool",
    "ConfigError",
    "DType",
    "DTypeMismatch",
    "DeviceMismatch",
    "Distribution",
    "Float",
    "GraphError",
    "Int",
    "OutOfMemory",
    "Shape",
    "ShapeError",
    "Tensor",
    "TensorData",
    "TinyburnError",
]
