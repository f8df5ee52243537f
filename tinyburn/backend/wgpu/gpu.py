"""One GPU, opened: its commands, its memory and its limits."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from tinyburn.base.dtype import DTYPES, DType
from tinyburn.base.errors import BackendUnavailable, DTypeMismatch, OutOfMemory
from tinyburn.base.shape import Shape, num_elements
from tinyburn.base.text import amount

from ..strided import StridedArray
from .adapter import OPENING, adapters
from .commands import Binding, Commands
from .faults import Faults
from .pool import ROUNDING, Pool

SCALAR = 4
"""Bytes of every scalar that a shader stores. WGSL has no smaller type, so a bool takes four, and three are padding."""

WGSL = {np.dtype("float32"): "f32", np.dtype("int32"): "i32", np.dtype("bool"): "u32"}
"""How a shader stores our dtypes. A bool is 0 or 1."""


class Gpu:
    """One adapter, opened once for the whole process.

    Attributes:
        device: the device of the ``wgpu`` package.
        lock: for its commands and its memory together, since each can need the other.
        description: what the driver calls it.
        is_software: whether it is no GPU but a driver on the CPU: few threads at once, and no fast memory to share.
        max_binding_bytes: the most bytes of one buffer that a kernel can see.
    """

    def __init__(self, adapter: Any) -> None:
        import wgpu

        self.lock = threading.RLock()
        self.device = adapter.request_device_sync(label="tinyburn")
        self.description = f"{adapter.info['device']} ({adapter.info['backend_type']})"
        self.is_software = adapter.info["adapter_type"] == "CPU"
        self.max_binding_bytes: int = self.device.limits["max-storage-buffer-binding-size"]
        self.commands = Commands(self.device, self.lock)
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        self.pool = Pool(self, self.device.limits["max-buffer-size"], usage)
        self.faults = Faults(self, usage)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._leave_to_the_parent)

    def _leave_to_the_parent(self) -> None:
        """In a forked process the driver's threads are missing, and whoever waits for them waits for ever."""
        self.commands.give_up("this process was forked from one that had opened the GPU, and cannot use it")

    def new(self, shape: Shape, dtype: np.dtype[Any]) -> StridedArray:
        """A row-major array with nothing in it yet."""
        self.commands.check_usable()
        size = num_elements(shape)
        return StridedArray(shape, dtype, self.pool.take(size * dtype.itemsize, size * SCALAR))

    def bind(self, array: StridedArray) -> tuple[Binding, int]:
        """What to bind so that a kernel sees an array, and where in that the array begins, in elements.

        The whole buffer if the device can bind so much, else the part that the array touches.
        """
        block = array.storage
        if block.size <= self.max_binding_bytes:
            return (block.buffer, 0, block.size), array.offset
        start, end = _window(array)
        if end - start > self.max_binding_bytes:
            raise too_large_to_see("a kernel", self, array)
        return (block.buffer, start, end - start), array.offset - start // SCALAR

    def can_bind(self, array: StridedArray) -> bool:
        """Whether a kernel can see all of an array at once."""
        if array.storage.size <= self.max_binding_bytes:
            return True
        start, end = _window(array)
        return end - start <= self.max_binding_bytes


def _window(array: StridedArray) -> tuple[int, int]:
    """The bytes that an array touches, from the first to before the last, widened to where a binding may begin."""
    after = 1 + array.offset + sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))
    return array.offset * SCALAR // ROUNDING * ROUNDING, -(-after * SCALAR // ROUNDING) * ROUNDING


def _open(name: str) -> Gpu:
    try:
        return Gpu(adapters()[name])
    except RuntimeError as error:
        reason = f"the driver of {name} does not open: {str(error).strip().splitlines()[0]}"
        raise BackendUnavailable("Wgpu.device", reason, hint="update the driver, or use ndarray") from error


_opened: dict[str, Gpu] = {}


def open_gpu(name: str) -> Gpu:
    """The GPU of an adapter. Tensors on it can meet, whoever opened it."""
    with OPENING:
        if name not in _opened:
            _opened[name] = _open(name)
        return _opened[name]


def gpu_of(array: StridedArray) -> Gpu:
    """Where an array lives."""
    gpu: Gpu = array.storage.pool.gpu
    return gpu


def too_large_to_see(asked: str, gpu: Gpu, array: StridedArray) -> OutOfMemory:
    """The error for an operand of which a kernel has to see everything, and cannot."""
    reason = f"a shader of this device sees at most {amount(gpu.max_binding_bytes)} of one tensor"
    hint = "split the tensor, or compute this on NdArray or Cuda"
    return OutOfMemory(asked, reason, given={"shape": array.shape}, hint=hint)


def check_dtype(asked: str, dtype: DType | np.dtype[Any]) -> np.dtype[Any]:
    """A dtype that WGSL has. Raises DTypeMismatch for any other."""
    found = np.dtype(dtype)
    if found in WGSL:
        return found
    reason = f"Wgpu has {', '.join(DTYPES[known] for known in WGSL)}, and no {found.name}: WGSL counts in 32 bits"
    near = "float32" if found.kind == "f" else "int32"
    convert = f'write Tensor.from_data(values, device, "{near}"), or .cast("{near}") before .to_device(...)'
    here = f'leave the format at "{near}"' if asked == "Wgpu.device" else convert
    hint = f"{here}\nNdArray and Cuda have every dtype"
    raise DTypeMismatch(asked, reason, hint=hint)
