"""Meta: shapes without data. It runs any program at any size, and allocates nothing.

Under `Traced` it tells what memory a program would use. For that it follows strides as NdArray does, since they
decide whether a reshape is a view or a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyburn.base.distribution import AnyDistribution
from tinyburn.base.dtype import DType, to_dtype
from tinyburn.base.shape import Shape, broadcast_shape, reduced_shape

from .device import Device, check_only_device
from .interface import Dims, Number, Operand
from .strided import Strided, StridedArray, common_shape

_BOOL = np.dtype("bool")


class MetaArray(StridedArray):
    """What is left of an array without its values. Its storage is a mere object."""

    __slots__ = ()

    def __init__(self, shape: Shape, dtype: np.dtype[Any]) -> None:
        super().__init__(shape, dtype, object())


class MetaDevice(Device["Meta"]):
    """No place at all. Random numbers need no seed where there are none."""

    @property
    def description(self) -> str:
        return "shapes without values"

    def seed(self, seed: int) -> None:
        pass


def _broadcast(*operands: Operand) -> StridedArray:
    """The result of an elementwise op: the broadcast shape, in the dtype of the operands."""
    first = next(operand for operand in operands if isinstance(operand, StridedArray))
    return MetaArray(common_shape(operands), first.dtype)


def _compare(a: Operand, b: Operand = 0) -> StridedArray:
    return MetaArray(_broadcast(a, b).shape, _BOOL)


def _reduce(a: StridedArray, dims: Dims) -> StridedArray:
    return MetaArray(reduced_shape(a.shape, dims), a.dtype)


def _place(a: StridedArray, dim: int, dtype: DType) -> StridedArray:
    return MetaArray(reduced_shape(a.shape, (dim,)), np.dtype(dtype))


def _copy(a: StridedArray, *_: Any) -> StridedArray:
    return MetaArray(a.shape, a.dtype)


class Meta(Strided):
    """A primitive is a `MetaArray`. Values cannot be read; everything else answers as NdArray would."""

    has_values = False
    on_host = False

    @classmethod
    def device(
        cls, which: str | int | None = None, *, float_dtype: str = "float32", int_dtype: str | None = None
    ) -> Device[Meta]:
        check_only_device("Meta", "meta", which)
        return MetaDevice(Meta, "meta", to_dtype(float_dtype), to_dtype(int_dtype or "int64"))

    @classmethod
    def devices(cls) -> list[str]:
        return ["meta"]

    @staticmethod
    def from_numpy(values: np.ndarray[Any, Any], device: Device[Any]) -> StridedArray:
        return MetaArray(values.shape, values.dtype)

    @staticmethod
    def full(shape: Shape, value: Number, dtype: DType, device: Device[Any]) -> StridedArray:
        return MetaArray(shape, np.dtype(dtype))

    @staticmethod
    def random(shape: Shape, distribution: AnyDistribution, dtype: DType, device: Device[Any]) -> StridedArray:
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
    def scaled_mul(a: StridedArray, b: StridedArray, scale: Number) -> StridedArray:
        return _broadcast(a, b)

    @staticmethod
    def matmul(a: StridedArray, b: StridedArray) -> StridedArray:
        batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
        return MetaArray((*batch, a.shape[-2], b.shape[-1]), a.dtype)

    @staticmethod
    def cast(a: StridedArray, dtype: DType) -> StridedArray:
        target = np.dtype(dtype)
        return a if a.dtype == target else MetaArray(a.shape, target)

    @classmethod
    def contiguous(cls, a: StridedArray) -> StridedArray:
        return MetaArray(a.shape, a.dtype)

    @staticmethod
    def gather(a: StridedArray, dim: int, indices: StridedArray) -> StridedArray:
        return MetaArray(indices.shape, a.dtype)

    @staticmethod
    def select(a: StridedArray, dim: int, indices: StridedArray) -> StridedArray:
        return MetaArray((*a.shape[:dim], *indices.shape, *a.shape[dim + 1 :]), a.dtype)
