"""The backends: one interface, and everything that computes, counts or records is one of its implementations."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .device import Device, MemoryUsage
from .finite import Finite
from .interface import Backend
from .log import Category, Kind
from .meta import Meta
from .ndarray import NdArray
from .traced import Traced

if TYPE_CHECKING:
    from .cuda import Cuda
    from .wgpu import Wgpu

__all__ = [
    "Backend",
    "Category",
    "Cuda",
    "Device",
    "Finite",
    "Kind",
    "MemoryUsage",
    "Meta",
    "NdArray",
    "Traced",
    "Wgpu",
]

if not TYPE_CHECKING:  # a checker would let every name pass

    def __getattr__(name: str) -> Any:
        """Loads the backends of GPUs when they are first asked for: they take longer than all the others."""
        if name in ("Cuda", "Wgpu"):
            return getattr(import_module(f"{__name__}.{name.lower()}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
