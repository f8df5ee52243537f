"""The backends: one interface, and everything that computes, counts or records is one of its implementations."""

from .cuda import Cuda
from .device import Device, MemoryUsage
from .interface import Backend
from .log import Category, Kind
from .meta import Meta
from .ndarray import NdArray
from .traced import Traced
from .wgpu import Wgpu

__all__ = ["Backend", "Category", "Cuda", "Device", "Kind", "MemoryUsage", "Meta", "NdArray", "Traced", "Wgpu"]
