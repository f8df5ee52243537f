"""The backends: one interface, and everything that computes, counts or records is one of its implementations."""

from .cuda import Cuda
from .defaults import Backend
from .device import Device, MemoryUsage
from .log import Category, EventLog, Kind
from .meta import Meta
from .ndarray import NdArray
from .traced import Traced
from .wgpu import Wgpu

__all__ = [
    "Backend",
    "Category",
    "Cuda",
    "Device",
    "EventLog",
    "Kind",
    "MemoryUsage",
    "Meta",
    "NdArray",
    "Traced",
    "Wgpu",
]
