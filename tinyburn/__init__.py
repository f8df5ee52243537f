"""tinyburn: a deep-learning framework small enough to read, with every tensor, gradient and byte on show."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import activation, autodiff, backend, course
from .autodiff import Autodiff, BalancedCheckpointing, Gradients, NoCheckpointing
from .backend import Backend, Device, Finite, Meta, NdArray, Traced
from .base import foreign
from .base.distribution import Distribution
from .base.dtype import Bool, DType, Float, Int
from .base.errors import (
    BackendMismatch,
    BackendUnavailable,
    ConfigError,
    DataError,
    DeviceMismatch,
    DTypeMismatch,
    ForeignCall,
    ForeignName,
    GraphError,
    NonFinite,
    NoSuchItem,
    OnnxError,
    OutOfMemory,
    RanksDiffer,
    RecordError,
    ShapeError,
    TinyburnError,
)
from .base.shape import D1, D2, D3, D4, D5, D6, Shape
from .module import Config, Initializer, Module, Param, RunConfig
from .tensor import Tensor, TensorData

if TYPE_CHECKING:
    from . import data, grid, linalg, memory, nn, onnx, optim, parallel, record, train, viz, widgets
    from .backend import Cuda, Wgpu

__version__ = "0.1.0"

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
    "DataError",
    "Device",
    "DeviceMismatch",
    "Distribution",
    "Finite",
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
    "NoSuchItem",
    "NonFinite",
    "OnnxError",
    "OutOfMemory",
    "Param",
    "RanksDiffer",
    "RecordError",
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
    "data",
    "grid",
    "linalg",
    "memory",
    "nn",
    "onnx",
    "optim",
    "parallel",
    "record",
    "train",
    "viz",
    "widgets",
]

_LATER = ("data", "grid", "linalg", "memory", "nn", "onnx", "optim", "parallel", "record", "train", "viz", "widgets")


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext tinyburn`` in a notebook: the cell magics ``%%graph`` and ``%%memory``."""
    import_module("tinyburn.magics").load(shell)


if not TYPE_CHECKING:  # a checker would let every name pass

    def __getattr__(name: str) -> Any:
        """Loads what only some programs use when it is first asked for: together it takes longer than all the rest."""
        if name in _LATER:
            return import_module(f"tinyburn.{name}")
        if name in ("Cuda", "Wgpu"):
            return getattr(backend, name)
        raise foreign.missing("tinyburn", "module 'tinyburn'", name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
