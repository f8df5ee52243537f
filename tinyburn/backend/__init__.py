"""The backends: one interface, and everything that computes, counts or records is one of its implementations."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .decorator import Decorator
from .device import Device, MemoryUsage
from .finite import Finite
from .interface import Backend
from .log import Category, Kind
from .meta import Meta
from .ndarray import NdArray
from .operations import OPERATIONS
from .traced import Traced

if TYPE_CHECKING:
    from .conformance import Conformance, check_backend
    from .cuda import Cuda
    from .wgpu import Wgpu

__all__ = [
    "OPERATIONS",
    "Backend",
    "Category",
    "Conformance",
    "Cuda",
    "Decorator",
    "Device",
    "Finite",
    "Kind",
    "MemoryUsage",
    "Meta",
    "NdArray",
    "Traced",
    "Wgpu",
    "check_backend",
]

_LATER = {"Cuda": "cuda", "Wgpu": "wgpu", "Conformance": "conformance", "check_backend": "conformance"}
"""What is loaded when it is first asked for, and its file: the backends of GPUs take longer than all the others."""

if not TYPE_CHECKING:  # a checker would let every name pass

    def __getattr__(name: str) -> Any:
        if name in _LATER:
            return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
