"""Wgpu: compute shaders in WGSL on any GPU, through WebGPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tinyburn.base.distribution import AnyDistribution
from tinyburn.base.dtype import DType
from tinyburn.base.errors import BackendMismatch
from tinyburn.base.shape import Shape

from ..device import MemoryUsage, SeededDevice, check_count
from ..interface import Number, Parts, joined
from ..operations import called
from ..strided import Strided, StridedArray
from . import indexing
from .adapter import adapters, find_adapter, missing
from .commands import Kernel
from .elementwise import COMPUTED, can_take, compute, copied, elementwise, plain_kernel
from .gpu import SCALAR, WGSL, Gpu, check_dtype, gpu_of, open_gpu
from .matmul import choose_tiling, linear, matmul, matmul_kernel
from .random import draw_on_gpu, random_kernel
from .reductions import BETTER, FOLDS, arg_dim, reduce_dims, reduction_kernel
from .scans import SCANS, scan, scan_kernel
from .sorting import argsort, merge_kernel
from .windows import add_windows, add_windows_kernel

_BOOL = np.dtype("bool")

_KERNELS: dict[str, Callable[[], Kernel]] = {
    **{name: partial(plain_kernel, name) for name in COMPUTED},
    **{name: partial(reduction_kernel, name, "f32", "f32", 1, 1, False) for name in FOLDS},
    **{name: partial(reduction_kernel, name, "f32", "i32", 1, 1, False) for name in BETTER},
    **{name: partial(scan_kernel, name, "chunks", "f32", 1) for name in SCANS},
    "argsort": partial(merge_kernel, "f32", False, 1, 0),
    "matmul": partial(matmul_kernel, choose_tiling(1024, 1024), "f32"),
    "gather": partial(indexing.gather_kernel, "f32", 2, 0),
    "scatter": partial(indexing.scatter_kernel, "f32", 2, 0),
    "add_windows": partial(add_windows_kernel, "f32", 2, 0),
    "random": partial(random_kernel, "Normal"),
}
"""A kernel of each operation that has one, in its plainest form, for reading."""


def _write(a: StridedArray, values: np.ndarray[Any, Any]) -> None:
    """Into the buffer of an array that begins with it."""
    if values.size:
        scalars = np.ascontiguousarray(values, dtype="uint32" if values.dtype == _BOOL else values.dtype)
        gpu_of(a).commands.write(a.storage.buffer, scalars)


class WgpuDevice(SeededDevice["Wgpu"]):
    """One GPU. What is asked of it is done later; only reading values waits.

    Attributes:
        gpu: its commands and its memory, which every device object of one adapter shares.
    """

    def __init__(self, name: str, float_dtype: DType, int_dtype: DType) -> None:
        super().__init__(Wgpu, name, float_dtype, int_dtype)
        check_dtype("Wgpu.device", float_dtype)
        check_dtype("Wgpu.device", int_dtype)
        self.gpu: Gpu = open_gpu(name)

    @property
    def description(self) -> str:
        """What the driver calls it."""
        return self.gpu.description

    def sync(self) -> None:
        self.gpu.commands.wait()
        self.gpu.faults.check()

    def memory_usage(self) -> MemoryUsage:
        return self.gpu.pool.usage()

    def memory_cleanup(self) -> None:
        self.gpu.pool.clean_up()

    def limit_memory(self, limit: int | None) -> None:
        self.gpu.pool.set_limit(limit if limit is None else check_count("limit_memory", limit))


class Wgpu(Strided):
    """A primitive is a `StridedArray` into a buffer of the GPU. Numbers are float32, int32 and bool."""

    on_host = False
    widest_int = "int32"
    widest_float = "float32"

    @classmethod
    def _open(cls, which: str | int | None, float_dtype: DType, int_dtype: DType) -> Any:
        return WgpuDevice(find_adapter(which), float_dtype, int_dtype)

    @classmethod
    def devices(cls) -> list[str]:
        return [] if missing() else list(adapters())

    @classmethod
    def why_unavailable(cls) -> str | None:
        found = missing()
        return str(found) if found else None

    @staticmethod
    def wgsl(operation: str) -> str:
        """The text of the kernel that runs for an operation on float32 arrays, for reading. It needs no GPU.

        Elementwise operations are shown for arrays that lie in memory alike, reductions for one dim, matmul for large
        matrices, indexing for rank 2 and dim 0, random for a normal distribution.

        Raises BackendMismatch for an operation that has no kernel of its own.
        """
        if operation in _KERNELS:
            return _KERNELS[operation]().source
        reason = f"{operation!r} has no kernel of its own: it is composed of others, or moves no data"
        raise BackendMismatch("Wgpu.wgsl", reason, hint=f"choose one of {', '.join(_KERNELS)}")

    # In and out

    @staticmethod
    def from_numpy(values: np.ndarray[Any, Any], device: Any) -> StridedArray:
        array: StridedArray = device.gpu.new(values.shape, check_dtype("from_data", values.dtype))
        _write(array, values)
        return array

    @classmethod
    def overwrite(cls, a: StridedArray, values: np.ndarray[Any, Any], device: Any) -> StridedArray:
        if a.offset or not a.is_contiguous:
            return cls.from_numpy(values, device)
        _write(a, values)
        return a

    @classmethod
    def to_numpy(cls, a: StridedArray) -> np.ndarray[Any, Any]:
        if not a.size:
            return np.empty(a.shape, a.dtype)
        whole = a if a.is_contiguous else cls.contiguous(a)
        data = gpu_of(a).commands.read(whole.storage.buffer, whole.offset * SCALAR, a.size * SCALAR)
        gpu_of(a).faults.check()
        scalars = np.frombuffer(data, "uint32" if a.dtype == _BOOL else a.dtype)
        return scalars.reshape(a.shape).astype(a.dtype)

    @staticmethod
    def full(shape: Shape, value: Number, dtype: DType, device: Any) -> StridedArray:
        return elementwise("copy", device.gpu.new(shape, check_dtype("full", dtype)), [value])

    @staticmethod
    def random(shape: Shape, distribution: AnyDistribution, dtype: DType, device: Any) -> StridedArray:
        result = device.gpu.new(shape, check_dtype("random", dtype))
        return draw_on_gpu(result, distribution, device.next_draw())

    @classmethod
    def into(cls, target: StridedArray, name: str, *arguments: Any) -> StridedArray:
        if can_take(target, name, arguments):
            if name == "slice_assign":
                a, parts, b = arguments
                return assign(a, parts, b, target)
            return elementwise(name, target, arguments)
        result: StridedArray = super().into(target, name, *arguments)
        return result

    # Operations: those of one table each come from there, below

    @classmethod
    def contiguous(cls, a: StridedArray) -> StridedArray:
        return copied(a)

    @staticmethod
    def cast(a: StridedArray, dtype: DType) -> StridedArray:
        target = check_dtype("cast", dtype)
        return a if a.dtype == target else elementwise(f"to_{WGSL[target]}", gpu_of(a).new(a.shape, target), [a])

    @staticmethod
    def powf_scalar(a: StridedArray, exponent: Number) -> StridedArray:
        result = gpu_of(a).new(a.shape, a.dtype)
        if exponent == 2:
            return elementwise("mul", result, [a, a])  # several times faster than the general power
        return elementwise("powf_scalar", result, [a, exponent])

    matmul = staticmethod(matmul)
    gather = staticmethod(indexing.gather)
    scatter = staticmethod(indexing.scatter)
    argsort = staticmethod(argsort)

    @staticmethod
    def add_windows(a: StridedArray, dim: int, length: int, step: int, dilation: int) -> StridedArray:
        return add_windows(a, dim, length, step, dilation)

    @staticmethod
    def linear(a: StridedArray, weight: StridedArray, bias: StridedArray) -> StridedArray:
        return linear(a, weight, bias)

    @staticmethod
    def slice_assign(a: StridedArray, parts: Parts, b: StridedArray) -> StridedArray:
        return assign(a, parts, b, gpu_of(a).new(a.shape, a.dtype))

    @staticmethod
    def cat(places: tuple[Parts, ...], *parts: StridedArray) -> StridedArray:
        result = gpu_of(parts[0]).new(joined(places), parts[0].dtype)
        for place, part in zip(places, parts, strict=True):
            elementwise("copy", Strided.slice(result, place), [part])
        return result

    @staticmethod
    def select(a: StridedArray, dim: int, indices: StridedArray) -> StridedArray:
        return indexing.gather(a, dim, indexing.along(indices, dim, a), "select")

    @staticmethod
    def select_assign(a: StridedArray, dim: int, indices: StridedArray, b: StridedArray) -> StridedArray:
        return indexing.scatter(a, dim, indexing.along(indices, dim, a), b, "select_assign")


def assign(a: StridedArray, parts: Parts, b: StridedArray, result: StridedArray) -> StridedArray:
    """``a`` with one part replaced, written to ``result``. What lies there already is not written again; if that is
    ``b``, there is no other part."""
    if b.storage is result.storage:
        return result
    if a.storage is not result.storage:
        elementwise("copy", result, [a])
    elementwise("copy", Strided.slice(result, parts), [b])
    return result


def _method(name: str, function: Callable[..., StridedArray]) -> Any:
    """An operation of the interface, by the function for all operations of its table."""

    def method(*operands: Any) -> StridedArray:
        return function(name, *operands)

    return staticmethod(called(f"Wgpu.{name}", method))


for _names, _function in ((COMPUTED, compute), (FOLDS, reduce_dims), (BETTER, arg_dim), (SCANS, scan)):
    for _name in _names:
        if _name not in vars(Wgpu):
            setattr(Wgpu, _name, _method(_name, _function))
