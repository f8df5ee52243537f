"""Cuda: CuPy on NVIDIA's GPUs.

Every operation goes into the current CuPy stream and returns at once: the GPU is still at work while Python goes on.
Only `from_numpy` and `to_numpy` copy from the host and to it, and only `to_numpy` and `sync` wait.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tinyburn.backend.array_namespace import NUMPY_DTYPES, STANDARD, ArrayNamespace, float_bounds
from tinyburn.backend.device import MemoryUsage, SeededDevice, check_count
from tinyburn.backend.interface import Array, Dims, Number, windowed, without_windows
from tinyburn.backend.operations import OPERATIONS
from tinyburn.base.distribution import AnyDistribution
from tinyburn.base.dtype import DType
from tinyburn.base.shape import Shape

from . import find, pool
from .find import cp
from .kernels import KERNELS, kernel
from .random import draw
from .scans import SCANS, scan

ENOUGH_THREADS = 65_536
"""About as many threads as a large GPU keeps busy: more parts of a scatter would only read the indices again."""


class CudaDevice(SeededDevice["Cuda"]):
    """One NVIDIA GPU. The memory pool, and a limit on it, belong to the GPU; random numbers to this object."""

    def __init__(self, number: int, float_dtype: DType, int_dtype: DType) -> None:
        super().__init__(Cuda, f"cuda:{number}", float_dtype, int_dtype)
        self.number = number
        pool.watch()

    @property
    def description(self) -> str:
        """What NVIDIA calls the card."""
        name: bytes = cp.cuda.runtime.getDeviceProperties(self.number)["name"]
        return name.decode()

    def sync(self) -> None:
        """Waits for every stream of the GPU."""
        cp.cuda.Device(self.number).synchronize()

    def memory_usage(self) -> MemoryUsage:
        return pool.usage(self.number)

    def memory_cleanup(self) -> None:
        pool.cleanup(self.number)

    def limit_memory(self, limit: int | None) -> None:
        pool.limit(self.number, limit if limit is None else check_count("limit_memory", limit))


def _by_kernel(name: str) -> Callable[..., Array]:
    return lambda *arguments: kernel(name)(*arguments)


def _apart(argument: Any, target: Array) -> Any:
    """An operand that may be read while the target is written: a copy if its memory is the same in another order."""
    if not isinstance(argument, cp.ndarray) or argument.data.mem is not target.data.mem:
        return argument
    is_same = argument.data.ptr == target.data.ptr and argument.shape == target.shape and argument.flags.c_contiguous
    return argument if is_same else argument.copy()


class Cuda(ArrayNamespace):
    """A primitive is a CuPy array.

    An index that lies outside its dim is not an error but wraps around, as CuPy's do: to look at the indices, the CPU
    would have to wait for the GPU in each `gather`, `scatter`, `select` and `select_assign`.
    """

    xp: ClassVar[Any] = cp
    on_host = False

    # Devices

    @classmethod
    def _open(cls, which: str | int | None, float_dtype: DType, int_dtype: DType) -> Any:
        return CudaDevice(find.find_gpu(which), float_dtype, int_dtype)

    @classmethod
    def devices(cls) -> list[str]:
        return find.devices()

    @classmethod
    def why_unavailable(cls) -> str | None:
        missing = find.missing()
        return str(missing) if missing else None

    # In and out

    @staticmethod
    def from_numpy(values: np.ndarray[Any, Any], device: Any) -> Array:
        return pool.run_on(device.number, lambda: cp.array(values, order="C"))

    @classmethod
    def overwrite(cls, a: Array, values: np.ndarray[Any, Any], device: Any) -> Array:
        pool.run_on(device.number, a.set, np.ascontiguousarray(values))
        return a

    @staticmethod
    def to_numpy(a: Array) -> np.ndarray[Any, Any]:
        values: np.ndarray[Any, Any] = pool.run_on(a.data.device_id, cp.asnumpy, a)
        return values

    @staticmethod
    def full(shape: Shape, value: Number, dtype: DType, device: Any) -> Array:
        return pool.run_on(device.number, cp.full, shape, value, NUMPY_DTYPES[dtype])

    @staticmethod
    def random(shape: Shape, distribution: AnyDistribution, dtype: DType, device: Any) -> Array:
        return pool.run_on(device.number, draw, shape, distribution, NUMPY_DTYPES[dtype], device)

    # Elementwise

    @classmethod
    def _elementwise(cls, name: str) -> Callable[..., Array]:
        return _by_kernel(name) if name in KERNELS else super()._elementwise(name)

    @classmethod
    def _write(cls, target: Array, name: str, *arguments: Any) -> Array:
        def write() -> Array:
            safe = [_apart(argument, target) for argument in arguments]
            if name == "slice_assign":
                a, parts, b = safe
                return cls._assign(a, parts, b, target)
            if name in KERNELS:
                return kernel(name)(*safe, target)
            return getattr(cp, STANDARD.get(name, name))(*safe, out=target)

        return pool.run_on(target.data.device_id, write)

    @staticmethod
    def round(a: Array) -> Array:
        return cp.rint(a)  # `cp.round` has another way for each number of decimals

    @staticmethod
    def _convert(a: Array, dtype: Any) -> Array:
        if a.dtype.kind == "f" and dtype.kind in "iu":
            limits, out = np.iinfo(dtype), cp.empty(a.shape, dtype)
            return kernel("to_int")(a, *float_bounds(dtype), limits.min, limits.max, out)
        return a.astype(dtype, order="C")

    @staticmethod
    def unfold(a: Array, dim: int, size: int, step: int, dilation: int) -> Array:
        stride = a.strides[dim]
        strides = (*a.strides[:dim], stride * step, *a.strides[dim + 1 :], stride * dilation)
        return cp.lib.stride_tricks.as_strided(a, windowed(a, dim, size, step, dilation), strides)

    @staticmethod
    def matmul(a: Array, b: Array) -> Array:
        """By cuBLAS. Operands that it cannot read as they lie, such as every second row, are copied first."""
        return a @ b  # `cp.matmul` is the same, with more Python around it

    @staticmethod
    def linear(a: Array, weight: Array, bias: Array) -> Array:
        """One product over all rows, and the bias added to it where it lies."""
        if a.flags.c_contiguous:
            *rows, features = a.shape
            out = (a.reshape(math.prod(rows), features) @ weight).reshape(*rows, weight.shape[1])
        else:
            out = a @ weight
        out += bias
        return out

    # Reductions. CuPy keeps the layout of a column-major operand in some of them: such a result is small, and copied.

    @classmethod
    def sum_dims(cls, a: Array, dims: Dims) -> Array:
        return cp.ascontiguousarray(super().sum_dims(a, dims))

    @classmethod
    def mean_dims(cls, a: Array, dims: Dims) -> Array:
        return cp.ascontiguousarray(super().mean_dims(a, dims))

    @classmethod
    def max_dims(cls, a: Array, dims: Dims) -> Array:
        return cp.ascontiguousarray(super().max_dims(a, dims))

    @classmethod
    def min_dims(cls, a: Array, dims: Dims) -> Array:
        return cp.ascontiguousarray(super().min_dims(a, dims))

    # Order and indexing

    @classmethod
    def _order(cls, a: Array, dim: int) -> Array:
        return cp.ascontiguousarray(super()._order(a, dim))

    @staticmethod
    def gather(a: Array, dim: int, indices: Array) -> Array:
        out = cp.empty(indices.shape, a.dtype)
        kernel("gather")(a, indices, dim, out, size=out.size)
        return out

    @staticmethod
    def scatter(a: Array, dim: int, indices: Array, b: Array) -> Array:
        out = a.copy()
        if b.size:
            size, lines = a.shape[dim], b.size // b.shape[dim]
            part = -(-size // min(size, -(-ENOUGH_THREADS // lines)))  # rounded up, as the number of parts below is
            kernel("scatter")(b, indices, dim, lines, part, out, size=lines * -(-size // part))
        return out

    @classmethod
    def select_assign(cls, a: Array, dim: int, indices: Array, b: Array) -> Array:
        along = indices.reshape([-1 if axis == dim else 1 for axis in range(a.ndim)])
        return cls.scatter(a, dim, cp.broadcast_to(along, b.shape), b)

    @staticmethod
    def add_windows(a: Array, dim: int, length: int, step: int, dilation: int) -> Array:
        out = cp.empty(without_windows(a, dim, length), a.dtype)
        kernel("add_windows")(a, dim, step, dilation, out, size=out.size)
        return out

    # About primitives

    @staticmethod
    def shares_buffer(a: Array, b: Array) -> bool:
        return a.data.mem is b.data.mem

    @staticmethod
    def index_bounds(a: Array) -> tuple[int, int] | None:
        """Never known: to look at the indices, the CPU would have to wait for the GPU."""
        return None


for _name in KERNELS:
    if _name in OPERATIONS and OPERATIONS[_name].fused and _name not in vars(Cuda):
        setattr(Cuda, _name, staticmethod(_by_kernel(_name)))

for _name in SCANS:
    setattr(Cuda, _name, staticmethod(partial(scan, _name)))

# Every operation runs on the GPU where its operands lie. A default needs no such care: it is made of the others.
for _name in OPERATIONS:
    if not Cuda.composes(_name):
        setattr(Cuda, _name, staticmethod(pool.on_its_gpu(_name, getattr(Cuda, _name))))
