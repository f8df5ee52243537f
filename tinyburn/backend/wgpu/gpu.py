"""One GPU, opened: its commands, its memory, its limits, and the wrong indices that it has met."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tinyburn.base.dtype import DTYPES, DType
from tinyburn.base.errors import BackendUnavailable, DTypeMismatch, OutOfMemory, ShapeError
from tinyburn.base.scope import current_path
from tinyburn.base.shape import Shape, num_elements
from tinyburn.base.text import amount

from ..gpus import WGPU_ROUNDING
from ..strided import StridedArray
from .adapter import OPENING, adapters
from .commands import Binding, Commands
from .pool import Pool

SCALAR = 4
"""Bytes of every scalar that a shader stores. WGSL has no smaller type, so a bool takes four, and three are padding."""

WGSL = {np.dtype("float32"): "f32", np.dtype("int32"): "i32", np.dtype("bool"): "u32"}
"""How a shader stores our dtypes. A bool is 0 or 1."""

_FAULT_WORDS = 64


class Gpu:
    """One adapter, opened once for the whole process.

    Attributes:
        device: the device of the ``wgpu`` package.
        commands: what was asked of it and is not handed over yet; it has the lock for all of this.
        pool: its memory.
        faults: the wrong indices that it has met.
        description: what the driver calls it.
        is_software: whether it is no GPU but a driver on the CPU: few threads at once, and no fast memory to share.
        max_binding_bytes: the most bytes of one buffer that a kernel can see.
    """

    def __init__(self, adapter: Any) -> None:
        import wgpu

        self.device = adapter.request_device_sync(label="tinyburn")
        self.description = f"{adapter.info['device']} ({adapter.info['backend_type']})"
        self.is_software = adapter.info["adapter_type"] == "CPU"
        self.max_binding_bytes: int = self.device.limits["max-storage-buffer-binding-size"]
        self.commands = Commands(self.device)
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        create_buffer = partial(self.device.create_buffer, usage=usage)
        self.pool = Pool(self, self.commands, create_buffer, self.device.limits["max-buffer-size"])
        self.faults = Faults(self.commands, create_buffer(size=SCALAR * _FAULT_WORDS))  # WebGPU fills it with zeros
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._leave_to_the_parent)

    def __repr__(self) -> str:
        return f"Gpu({self.description})"

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
    """The first byte that an array touches and the one after its last, both moved out to where a binding may begin."""
    reaches = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    first = array.offset + sum(reach for reach in reaches if reach < 0)
    after = 1 + array.offset + sum(reach for reach in reaches if reach > 0)
    first_byte, end = first * SCALAR, after * SCALAR
    return first_byte // WGPU_ROUNDING * WGPU_ROUNDING, -(-end // WGPU_ROUNDING) * WGPU_ROUNDING


class Faults:
    """The wrong indices of one GPU, found by the GPU itself and reported later.

    The host cannot look at indices without waiting for the device, and to wait at each lookup would cost more than the
    lookup. So a kernel that meets an index outside its dim writes it down, and goes on. The buffer for that has one
    word for each call that waits to be checked. When values are read for the next time, these words are read too, and
    a wrong index becomes an error that names the operation.

    Attributes:
        binding: the buffer, for a kernel to write to.
    """

    def __init__(self, commands: Commands, buffer: Any) -> None:
        self._commands = commands
        self._buffer = buffer
        self.binding: Binding = (buffer, 0, SCALAR * _FAULT_WORDS)
        self._forget()

    def __repr__(self) -> str:
        return "Faults()"

    def expect(self, operation: str, dim: int, shape: Sequence[int]) -> int:
        """The word for one more call, which the caller starts before it lets go of the lock of the commands.

        If there are too many before the next check, the last ones share a word.
        """
        path = current_path()
        module = f" (in {path})" if path else ""
        word = min(self._count, _FAULT_WORDS - 1)
        self._count += 1
        call = f"{operation}{module} of a tensor of shape {tuple(shape)}, whose dim {dim} has size {shape[dim]}"
        self._calls[word][call] = None
        return word

    def check(self) -> None:
        """Raises ShapeError if a call since the last check met a wrong index. Waits only if there was any call."""
        with self._commands.lock:
            if not self._count:
                return
            words = np.frombuffer(self._commands.read(*self.binding), "int32")
            reasons = [_reason(int(word), list(calls)) for word, calls in zip(words, self._calls, strict=True) if word]
            if reasons:
                self._commands.write(self._buffer, bytes(SCALAR * _FAULT_WORDS))
            self._forget()
        if reasons:
            hint = "check them before, for example with indices.max() and indices.min()"
            raise ShapeError("an earlier operation, on the GPU", reasons, hint=hint)

    def _forget(self) -> None:
        self._count = 0
        self._calls: list[dict[str, None]] = [{} for _ in range(_FAULT_WORDS)]  # different ones, in their order


def _reason(index: int, calls: list[str]) -> str:
    given_to = calls[0] if len(calls) == 1 else f"one of these: {'; '.join(calls)}"
    return f"index {index} was given to {given_to}"


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


def part_of(array: StridedArray, dim: int, start: int, stop: int) -> StridedArray:
    """The entries of one dim from ``start`` to before ``stop``."""
    shape = (*array.shape[:dim], stop - start, *array.shape[dim + 1 :])
    return array.view(shape, array.strides, array.offset + start * array.strides[dim])


def halves(array: StridedArray, dim: int) -> tuple[StridedArray, StridedArray]:
    """The first and the second half along one dim: what a kernel does not see at once, two calls do."""
    middle = array.shape[dim] // 2
    return part_of(array, dim, 0, middle), part_of(array, dim, middle, array.shape[dim])


def gpu_of(array: StridedArray) -> Gpu:
    """The one that holds an array."""
    gpu: Gpu = array.storage.pool.owner
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
