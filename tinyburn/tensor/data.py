"""TensorData: the values of a tensor outside any backend, and the way in and out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tinyburn.base.dtype import DTYPES, DType, to_dtype
from tinyburn.base.errors import DTypeMismatch, ShapeError
from tinyburn.base.shape import MAX_RANK, Shape


@dataclass(frozen=True, eq=False)
class TensorData:
    """Values on the host, row-major and read-only, with their shape and dtype.

    It owns its memory: neither the array that it was made from nor one that it hands out can change it.
    """

    values: np.ndarray[Any, Any]

    @classmethod
    def from_values(cls, values: ArrayLike | TensorData, dtype: str | None = None) -> TensorData:
        """Copies nested lists, a NumPy array or another TensorData.

        Args:
            values: numbers or truth values, of rank 1 to 6; a scalar gets shape (1,).
            dtype: the format to convert to; by default that of the values.

        Raises:
            ShapeError: the lists are ragged, or the rank is over 6.
            DTypeMismatch: the values are not numbers, or tinyburn has no such dtype.
        """
        return cls.owning(np.array(host_array(values, dtype), order="C"))

    @classmethod
    def owning(cls, values: np.ndarray[Any, Any]) -> TensorData:
        """Takes over an array that nobody else will change."""
        values.flags.writeable = False
        return cls(values)

    @property
    def shape(self) -> Shape:
        """The size of each dim."""
        shape: Shape = self.values.shape
        return shape

    @property
    def dtype(self) -> DType:
        """The format of one scalar."""
        return DTYPES[self.values.dtype]

    def to_list(self) -> list[Any]:
        """Nested lists of Python numbers."""
        result: list[Any] = self.values.tolist()
        return result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.tolist())

    def __eq__(self, other: object) -> bool:
        """Same dtype, shape and values; NaN equals NaN, so that a copy equals its original."""
        if not isinstance(other, TensorData):
            return NotImplemented
        if self.dtype != other.dtype or self.shape != other.shape:
            return False
        return bool(np.array_equal(self.values, other.values, equal_nan=self.values.dtype.kind == "f"))

    __hash__ = None  # type: ignore[assignment]  # equal values need not be equal objects

    def __repr__(self) -> str:
        return f"TensorData({self.to_list()}, shape={self.shape}, dtype={self.dtype})"


def host_array(values: Any, dtype: str | None = None) -> np.ndarray[Any, Any]:
    """Lists, an array or TensorData as a NumPy array of rank 1 to 6 in a tensor's dtype; copied only if it must be.

    Raises as `TensorData.from_values` does.
    """
    target = np.dtype(to_dtype(dtype)) if dtype else None
    array = np.atleast_1d(_plain_array(values.values if isinstance(values, TensorData) else values))
    if array.ndim > MAX_RANK:
        raise ShapeError("from_data", f"the rank {array.ndim} is over {MAX_RANK}")
    if target is not None and target.kind != "f":
        return _unchanged(array, target)
    with np.errstate(all="ignore"):  # a number too large for a float format is inf there
        return array.astype(target or array.dtype.newbyteorder("="), copy=False)


def _unchanged(array: np.ndarray[Any, Any], target: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Values in an Int or Bool dtype, which must hold each of them exactly."""
    with np.errstate(all="ignore"):
        converted = array.astype(target, copy=False)
    if not np.array_equal(converted, array):
        reason = f"{target.name} cannot hold every value: some would change"
        raise DTypeMismatch("from_data", reason, hint="use another dtype, or round a Float tensor")
    return converted


def _plain_array(values: Any) -> np.ndarray[Any, Any]:
    """Lists to an array, with the two ways in which that fails told apart."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        reason = "the nested lists are ragged: rows of different lengths make no tensor"
        raise ShapeError("from_data", reason) from error
    if array.dtype.name not in DType.__members__.values():
        reason = f"the values have dtype {array.dtype.name}, which is not a tensor's"
        hint = f"convert them to one of {', '.join(DType)}"
        raise DTypeMismatch("from_data", reason, hint=hint)
    return array
