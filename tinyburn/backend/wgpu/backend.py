"""Wgpu: compute shaders in WGSL on any GPU, through WebGPU."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from tinyburn.base.distribution import AnyDistribution
from tinyburn.base.dtype import DType, to_dtype
from tinyburn.base.errors import BackendMismatch
from tinyburn.base.shape import Shape

from ..device import Device, MemoryUsage, check_limit, check_seed
from ..interface import Dims, Number, Operand, Parts
from ..operations import OPERATIONS
from ..strided import Strided, StridedArray, common_shape
from . import indexing, matrices
from .adapter import adapters, find_adapter, missing
from .catalogue import kernel_text
from .elementwise import ELEMENTWISE, TRUTHS, copied, elementwise
from .gpu import SCALAR, WGSL, Gpu, check_dtype, gpu_of, open_gpu
from .pool import PICKLE_HINT
from .random import draw_into
from .reductions import BETTER, FOLDS, arg_dim, reduce_dims

_BOOL = np.dtype("bool")


class WgpuDevice(Device["Wgpu"]):
    """One GPU. What is asked of it is done later; only reading values waits.

    Attributes:
        gpu: its commands and its memory, which every device object of this place shares.
        seed_and_draws: where the random numbers stand.
    """

    def __init__(self, name: str, float_dtype: DType, int_dtype: DType) -> None:
        super().__init__(Wgpu, name, float_dtype, int_dtype)
        check_dtype("Wgpu.device", float_dtype)
        check_dtype("Wgpu.device", int_dtype)
        self.gpu: Gpu = open_gpu(name)
        self.seed_and_draws = (secrets.randbits(64), 0)

    @property
    def description(self) -> str:
        """What the driver calls it."""
        return self.gpu.description

    def seed(self, seed: int) -> None:
        self.seed_and_draws = (check_seed(seed), 0)

    def random_state(self) -> Any:
        return self.seed_and_draws

    def set_random_state(self, state: Any) -> None:
        self.seed_and_draws = state

    def __reduce__(self) -> Any:
        raise BackendMismatch("pickle", "a GPU cannot be put into a file", hint=PICKLE_HINT)

    def sync(self) -> None:
        self.gpu.commands.wait()
        self.gpu.faults.check()

    def memory_usage(self) -> MemoryUsage:
        return self.gpu.pool.usage()

    def memory_cleanup(self) -> None:
        self.gpu.pool.clear()

    def limit_memory(self, limit: int | None) -> None:
        self.gpu.pool.set_limit(check_limit(limit))


class Wgpu(Strided):
    """A primitive is a `StridedArray` into a buffer of the GPU. Numbers are float32, int32 and bool."""

    on_host = False

    @classmethod
    def device(
        cls, which: str | int | None = None, *, float_dtype: str = "float32", int_dtype: str | None = None
    ) -> Device[Wgpu]:
        return WgpuDevice(find_adapter(which), to_dtype(float_dtype), to_dtype(int_dtype or "int32"))

    @classmethod
    def devices(cls) -> list[str]:
        return [] if missing() else list(adapters())

    @classmethod
    def why_unavailable(cls) -> str | None:
        found = missing()
        return str(found) if found else None

    @staticmethod
    def wgsl(operation: str) -> str:
        """The kernel of an operation, for reading; see `catalogue.kernel_text`. It needs no GPU."""
        return kernel_text(operation)

    # In and out

    @staticmethod
    def from_numpy(values: np.ndarray[Any, Any], device: Any) -> StridedArray:
        array: StridedArray = device.gpu.new(values.shape, check_dtype("from_data", values.dtype))
        if values.size:
            scalars = np.ascontiguousarray(values, dtype="uint32" if values.dtype == _BOOL else values.dtype)
            device.gpu.commands.write(array.storage.buffer, scalars)
        return array

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
        seed, draws = device.seed_and_draws
        device.seed_and_draws = seed, draws + 1
        return draw_into(device.gpu.new(shape, check_dtype("random", dtype)), distribution, seed, draws)

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

    @staticmethod
    def matmul(a: StridedArray, b: StridedArray) -> StridedArray:
        return matrices.matmul(a, b)

    @staticmethod
    def slice_assign(a: StridedArray, parts: Parts, b: StridedArray) -> StridedArray:
        result = copied(a)
        elementwise("copy", Strided.slice(result, parts), [b])
        return result

    @staticmethod
    def gather(a: StridedArray, dim: int, indices: StridedArray) -> StridedArray:
        return indexing.gather(a, dim, indices)

    @staticmethod
    def scatter(a: StridedArray, dim: int, indices: StridedArray, b: StridedArray) -> StridedArray:
        return indexing.scatter(a, dim, indices, b)

    @staticmethod
    def select(a: StridedArray, dim: int, indices: StridedArray) -> StridedArray:
        return indexing.gather(a, dim, indexing.along(indices, dim, a), "select")

    @staticmethod
    def select_assign(a: StridedArray, dim: int, indices: StridedArray, b: StridedArray) -> StridedArray:
        return indexing.scatter(a, dim, indexing.along(indices, dim, a), b, "select_assign")


def _elementwise(name: str) -> Any:
    def apply(*operands: Operand) -> StridedArray:
        first = next(x for x in operands if isinstance(x, StridedArray))
        result = gpu_of(first).new(common_shape(operands), _BOOL if name in TRUTHS else first.dtype)
        return elementwise(name, result, operands)

    apply.__name__ = name
    return staticmethod(apply)


def _reduction(name: str) -> Any:
    def apply(a: StridedArray, dims: Dims) -> StridedArray:
        return reduce_dims(name, a, dims)

    apply.__name__ = name
    return staticmethod(apply)


def _place(name: str) -> Any:
    def apply(a: StridedArray, dim: int, dtype: DType) -> StridedArray:
        return arg_dim(name, a, dim, dtype)

    apply.__name__ = name
    return staticmethod(apply)


for table, method in ((ELEMENTWISE, _elementwise), (FOLDS, _reduction), (BETTER, _place)):
    for operation in table:
        if operation in OPERATIONS and operation not in vars(Wgpu):
            setattr(Wgpu, operation, method(operation))
