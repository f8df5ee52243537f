"""Meta: shapes without data. It runs any program at any size, and allocates nothing.

Under `Traced` it tells what memory a program would use. For that it follows strides as NdArray does, since they
decide whether a reshape is a view or a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyburn.base.distribution import AnyDistribution
from tinyburn.base.dtype import DType
from tinyburn.base.shape import Shape

from .device import Device, check_only_device
from .interface import Number, Swap
from .operations import OPERATIONS, Operation, called
from .strided import Strided, StridedArray


class MetaDevice(Device["Meta"]):
    """Nowhere at all. Random numbers need no seed where there are none."""

    @property
    def description(self) -> str:
        return "shapes without values"

    def seed(self, seed: int) -> None:
        pass


class Meta(Strided):
    """A primitive is what is left of an array without its values. These cannot be read; all else is as on NdArray.

    The operations are made from their declarations, which say what shape and what dtype a result has.
    """

    has_values = False
    on_host = False

    @classmethod
    def _open(cls, which: str | int | None, float_dtype: DType, int_dtype: DType) -> Any:
        check_only_device("Meta", "meta", which)
        return MetaDevice(Meta, "meta", float_dtype, int_dtype)

    @classmethod
    def devices(cls) -> list[str]:
        return ["meta"]

    @staticmethod
    def from_numpy(values: np.ndarray[Any, Any], device: Device[Any]) -> StridedArray:
        return _new(values.shape, values.dtype)

    @staticmethod
    def full(shape: Shape, value: Number, dtype: DType, device: Device[Any]) -> StridedArray:
        return _new(shape, np.dtype(dtype))

    @staticmethod
    def random(shape: Shape, distribution: AnyDistribution, dtype: DType, device: Device[Any]) -> StridedArray:
        return _new(shape, np.dtype(dtype))

    @classmethod
    def into(cls, target: StridedArray, name: str, *arguments: Any) -> StridedArray:
        if target.is_contiguous and OPERATIONS[name].fits(target, arguments):
            return target
        result: StridedArray = super().into(target, name, *arguments)
        return result

    @classmethod
    def exchange(cls, name: str, a: StridedArray, shape: Shape, swap: Swap, is_spare: bool) -> StridedArray:
        """Nobody is asked: a result is its shape."""
        return a if is_spare and a.shape == shape else _new(shape, a.dtype)

    @classmethod
    def contiguous(cls, a: StridedArray) -> StridedArray:
        return _new(a.shape, a.dtype)

    @staticmethod
    def cast(a: StridedArray, dtype: DType) -> StridedArray:
        target = np.dtype(dtype)
        return a if a.dtype == target else _new(a.shape, target)


def _new(shape: Shape, dtype: np.dtype[Any]) -> StridedArray:
    """An array whose storage is a mere object: views of it share that."""
    return StridedArray(shape, dtype, object())


def _by_declaration(operation: Operation) -> Any:
    shape_of, dtype_of = operation.shape, operation.dtype
    return lambda *arguments: _new(shape_of(*arguments), dtype_of(arguments))


for _operation in OPERATIONS.values():
    if (_operation.fused or not _operation.is_default) and _operation.name not in {**vars(Strided), **vars(Meta)}:
        _shapes = called(f"Meta.{_operation.name}", _by_declaration(_operation))
        setattr(Meta, _operation.name, staticmethod(_shapes))
