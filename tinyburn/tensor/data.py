"""TensorData: the values of a tensor outside any backend, and the way in and out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyburn.base.dtype import DTYPES, DType, to_dtype
from tinyburn.base.errors import DTypeMismatch, ShapeError, TinyburnError
from tinyburn.base.shape import MAX_RANK, Shape

from .checks import check_untracked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


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
            GraphError: a tracked tensor is among them: its gradient would be lost.
        """
        check_untracked("from_values", values)
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
    target = None if dtype is None else np.dtype(to_dtype(dtype))
    array = _plain_array(values.values if isinstance(values, TensorData) else values, target)
    if array.ndim > MAX_RANK:
        raise ShapeError("from_data", f"the rank {array.ndim} is over {MAX_RANK}")
    array = array if array.ndim else array.reshape(1)
    target = target or array.dtype.newbyteorder("=")
    if array.dtype == target:
        return array
    if target.kind != "f":
        return _unchanged(array, target)
    with np.errstate(all="ignore"):  # a number too large for a float format is inf there
        return array.astype(target)


def has_dtype(values: object) -> bool:
    """Whether values have a format of their own: they speak one of the protocols by which arrays are exchanged."""
    return isinstance(values, np.ndarray) or any(hasattr(values, name) for name in _PROTOCOLS) or _is_buffer(values)


def float_array(values: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """The numbers of a list in a device's Float dtype. Raises DTypeMismatch if a whole number would change."""
    found = host_array(values, dtype)
    if values.dtype.kind in "iu" and not _same_integers(values, found):
        reason = f"{dtype} cannot hold every whole number of the list: some would change"
        hint = f'name the dtype: "int64" keeps them, and "{dtype}" rounds them'
        raise DTypeMismatch("from_data", reason, hint=hint)
    return found


_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__", "__dlpack__")


def _is_buffer(values: Any) -> bool:
    """Whether values are in memory in a layout that Python itself can read: a memoryview, an `array.array`."""
    try:
        memoryview(values)
    except TypeError:
        return False
    return True


def _same_integers(whole: np.ndarray[Any, Any], floats: np.ndarray[Any, Any]) -> bool:
    """Whether floats are the whole numbers that they were made from. Back as integers they must be equal.

    The largest integers round up to a float that no integer of their dtype equals, so those are not taken back.
    """
    with np.errstate(over="ignore"):
        fits = floats < float(np.iinfo(whole.dtype).max)
    return bool(fits.all()) and np.array_equal(floats.astype(whole.dtype), whole)


def _unchanged(array: np.ndarray[Any, Any], target: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Values in an Int or Bool dtype, which must hold each of them exactly."""
    with np.errstate(all="ignore"):
        converted = array.astype(target, copy=False)
    if not np.array_equal(converted, array):
        reason = f"{target.name} cannot hold every value: some would change"
        raise DTypeMismatch("from_data", reason, hint="use another dtype, or round a Float tensor")
    return converted


def _plain_array(values: Any, target: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    """Lists, or whatever has a dtype, as an array; the ways in which that fails are told apart.

    A format that no tensor has, such as uint32 or bfloat16, comes in only where the caller has named another one.
    """
    try:
        array = np.from_dlpack(values) if _speaks_dlpack_alone(values) else np.asarray(values)
    except TinyburnError:  # of a tensor on a GPU, or of a parameter: it says what to write
        raise
    except (TypeError, ValueError, RuntimeError, OverflowError, BufferError) as error:
        raise _unreadable(values, error) from error
    if hasattr(values, "mask") and np.ma.is_masked(values):
        reason = "some values are masked, and a tensor has no mask of its own"
        raise DTypeMismatch("from_data", reason, hint="say what stands there, as in values.filled(0)")
    if array.dtype.newbyteorder("=") not in DTYPES and not (target and _converts(array.dtype, target)):
        reason = f"the values have dtype {array.dtype.name}, which is not a tensor's"
        raise DTypeMismatch("from_data", reason, hint=_way_in(array.dtype))
    return array


def _converts(dtype: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Whether numbers of another format are numbers in ``target`` too; dates, text and complex numbers are not.

    The narrow formats of the package `ml_dtypes`, which JAX has, are none of NumPy's kinds. It says what can hold them.
    """
    return dtype.kind in "iuf" or (dtype.kind == "V" and np.can_cast(dtype, target))


def _way_in(dtype: np.dtype[Any]) -> str:
    """The hint for values in a format that no tensor has."""
    candidates = {"u": ["int64"], "f": ["float64"]}.get(dtype.kind, ["int64", "float32"])
    for name in candidates:
        if _converts(dtype, np.dtype(name)):
            return f'name the dtype to convert to, as in dtype="{name}"'
    return f"convert them to one of {', '.join(DType)}"


def _speaks_dlpack_alone(values: object) -> bool:
    """NumPy's `asarray` knows every other protocol."""
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        return False
    return not any(hasattr(values, name) for name in _PROTOCOLS if name != "__dlpack__") and not _is_buffer(values)


def _unreadable(values: object, error: Exception) -> TinyburnError:
    """The error for values that NumPy cannot read."""
    if isinstance(error, ValueError) and not has_dtype(values):
        return ShapeError("from_data", "the nested lists are ragged: rows of different lengths make no tensor")
    reason = f"{type(values).__name__} does not give its values out: {error}"
    hint = "make it a NumPy array first, in its own library; in PyTorch by .detach(), .cpu(), and .float() for bfloat16"
    return DTypeMismatch("from_data", reason, hint=hint)
