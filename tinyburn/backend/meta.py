"""Meta: shapes without data. It runs any program at any size, and allocates nothing.

Under `Traced` it tells what memory a program would use. For that it follows strides as NdArray does, since they
decide whether a reshape is a view or a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyburn.tensor.distribution import AnyDistribution
from tinyburn.tensor.dtype import DType, to_dtype
from tinyburn.tensor.shape import Shape, broadcast_shape, is_contiguous, permuted, reduced_shape, row_major_strides

from .defaults import Backend
from .device import Device, check_only_device
from .interface import Dims, Number, Operand, Parts

_BOOL = np.dtype("bool")


class MetaArray:
    """What is left of an array without its values. ``storage`` stands for the buffer: views share it."""

    __slots__ = ("dtype", "shape", "storage", "strides")

    def __init__(
        self, shape: Shape, dtype: np.dtype[Any], strides: tuple[int, ...] | None = None, storage: object = None
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.strides = row_major_strides(shape) if strides is None else strides
        self.storage = object() if storage is None else storage

    def view(self, shape: Shape, strides: tuple[int, ...]) -> MetaArray:
        return MetaArray(shape, self.dtype, strides, self.storage)


class MetaDevice(Device["Meta"]):
    """No place at all. Random numbers need no seed where there are none."""

    def seed(self, seed: int) -> None:
        pass


def _broadcast(*operands: Operand) -> MetaArray:
    """The result of an elementwise op: the broadcast shape, in the dtype of the operands."""
    arrays = [operand for operand in operands if isinstance(operand, MetaArray)]
    shape = arrays[0].shape
    for array in arrays[1:]:
        shape = broadcast_shape(shape, array.shape)
    return MetaArray(shape, arrays[0].dtype)


def _compare(a: Operand, b: Operand = 0) -> MetaArray:
    return MetaArray(_broadcast(a, b).shape, _BOOL)


def _reduce(a: MetaArray, dims: Dims) -> MetaArray:
    return MetaArray(reduced_shape(a.shape, dims), a.dtype)


def _place(a: MetaArray, dim: int, dtype: DType) -> MetaArray:
    return MetaArray(reduced_shape(a.shape, (dim,)), np.dtype(dtype))


def _copy(a: MetaArray, *_: Any) -> MetaArray:
    return MetaArray(a.shape, a.dtype)


class Meta(Backend):
    """A primitive is a `MetaArray`. Values cannot be read; everything else answers as NdArray would."""

    has_values = False
    on_host = False

    @classmethod
    def device(
        cls, which: str | int | None = None, *, float_dtype: str = "float32", int_dtype: str = "int64"
    ) -> Device[Meta]:
        check_only_device("Meta", "meta", which)
        return MetaDevice(Meta, "meta", to_dtype(float_dtype), to_dtype(int_dtype))

    @classmethod
    def devices(cls) -> list[str]:
        return ["meta"]

    @staticmethod
    def from_numpy(values: np.ndarray[Any, Any], device: Device[Any]) -> MetaArray:
        return MetaArray(values.shape, values.dtype)

    @staticmethod
    def full(shape: Shape, value: Number, dtype: DType, device: Device[Any]) -> MetaArray:
        return MetaArray(shape, np.dtype(dtype))

    @staticmethod
    def random(shape: Shape, distribution: AnyDistribution, dtype: DType, device: Device[Any]) -> MetaArray:
        return MetaArray(shape, np.dtype(dtype))

    # One row for each way in which a shape comes about. "Any": one function stands for many signatures.
    _elementwise: Any = staticmethod(_broadcast)
    _comparison: Any = staticmethod(_compare)
    _same: Any = staticmethod(_copy)
    _reduction: Any = staticmethod(_reduce)
    _position: Any = staticmethod(_place)

    add = sub = mul = multiply_no_nan = relu_backward = div = remainder = powf = maximum = minimum = mask_where = (
        _elementwise
    )
    equal = not_equal = greater = greater_equal = lower = lower_equal = is_nan = is_inf = bool_not = _comparison
    neg = abs = sign = exp = log = log1p = sqrt = sin = cos = tanh = erf = floor = ceil = round = powf_scalar = _same
    slice_assign = scatter = select_assign = _same
    sum_dims = mean_dims = max_dims = min_dims = _reduction
    argmax = argmin = _position

    @staticmethod
    def scaled_mul(a: MetaArray, b: MetaArray, scale: Number) -> MetaArray:
        return _broadcast(a, b)

    @staticmethod
    def matmul(a: MetaArray, b: MetaArray) -> MetaArray:
        batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
        return MetaArray((*batch, a.shape[-2], b.shape[-1]), a.dtype)

    @staticmethod
    def cast(a: MetaArray, dtype: DType) -> MetaArray:
        target = np.dtype(dtype)
        return a if a.dtype == target else MetaArray(a.shape, target)

    @staticmethod
    def reshape(a: MetaArray, shape: Shape) -> MetaArray:
        if is_contiguous(a.shape, a.strides):
            return a.view(shape, row_major_strides(shape))
        return MetaArray(shape, a.dtype)

    @staticmethod
    def permute(a: MetaArray, axes: Dims) -> MetaArray:
        return a.view(permuted(a.shape, axes), permuted(a.strides, axes))

    @staticmethod
    def expand(a: MetaArray, shape: Shape) -> MetaArray:
        strides = (0 if size != old else stride for size, old, stride in zip(shape, a.shape, a.strides, strict=True))
        return a.view(shape, tuple(strides))

    @staticmethod
    def slice(a: MetaArray, parts: Parts) -> MetaArray:
        shape = tuple(len(range(part.start, part.stop, part.step)) for part in parts)
        strides = tuple(stride * part.step for stride, part in zip(a.strides, parts, strict=True))
        return a.view(shape, strides)

    @staticmethod
    def gather(a: MetaArray, dim: int, indices: MetaArray) -> MetaArray:
        return MetaArray(indices.shape, a.dtype)

    @staticmethod
    def select(a: MetaArray, dim: int, indices: MetaArray) -> MetaArray:
        return MetaArray((*a.shape[:dim], *indices.shape, *a.shape[dim + 1 :]), a.dtype)

    @staticmethod
    def shares_buffer(a: MetaArray, b: MetaArray) -> bool:
        return a.storage is b.storage
