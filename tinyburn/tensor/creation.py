"""How tensors are made: from data, filled, counted, or drawn at random. Each takes the device it is made on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Never, TypeAlias, cast, overload

import numpy as np

from tinyburn.backend.device import Device
from tinyburn.backend.room import NO_ROOM, explain
from tinyburn.base.distribution import AnyDistribution
from tinyburn.base.dtype import Bool, BoolFormat, DType, Float, FloatFormat, Format, Int, IntFormat, to_dtype
from tinyburn.base.errors import ConfigError, DTypeMismatch, ShapeError
from tinyburn.base.shape import D1, D2, D3, D4, MAX_RANK, Shape, Size

from .base import DB, B, D, K, Scalar, TensorBase
from .checks import check_device, check_float, check_range, check_untracked
from .data import float_array, has_dtype, host_array

if TYPE_CHECKING:
    from .tensor import Tensor

Numbers: TypeAlias = Sequence[float]
Truths: TypeAlias = Sequence[bool]


class Creation(TensorBase[B, D, K]):
    """``dtype`` is the device's ``float_dtype`` unless given; shapes have from 1 to 6 dims, each 0 or more."""

    __slots__ = ()

    # An empty list fits every row, so a checker warns that the first two overlap the others.
    @overload
    @staticmethod
    def from_data(  # type: ignore[overload-overlap]
        data: Sequence[Never], device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, D1]: ...
    @overload
    @staticmethod
    def from_data(  # type: ignore[overload-overlap]
        data: Sequence[Sequence[Never]], device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, D2]: ...
    @overload
    @staticmethod
    def from_data(data: Truths, device: Device[DB], dtype: BoolFormat | None = None) -> Tensor[DB, D1, Bool]: ...
    @overload
    @staticmethod
    def from_data(
        data: Sequence[Truths], device: Device[DB], dtype: BoolFormat | None = None
    ) -> Tensor[DB, D2, Bool]: ...
    @overload
    @staticmethod
    def from_data(
        data: Sequence[Sequence[Truths]], device: Device[DB], dtype: BoolFormat | None = None
    ) -> Tensor[DB, D3, Bool]: ...
    @overload
    @staticmethod
    def from_data(data: Numbers, device: Device[DB], dtype: FloatFormat | None = None) -> Tensor[DB, D1]: ...
    @overload
    @staticmethod
    def from_data(data: Sequence[Numbers], device: Device[DB], dtype: FloatFormat | None = None) -> Tensor[DB, D2]: ...
    @overload
    @staticmethod
    def from_data(
        data: Sequence[Sequence[Numbers]], device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, D3]: ...
    @overload
    @staticmethod
    def from_data(data: Numbers, device: Device[DB], dtype: IntFormat) -> Tensor[DB, D1, Int]: ...
    @overload
    @staticmethod
    def from_data(data: Sequence[Numbers], device: Device[DB], dtype: IntFormat) -> Tensor[DB, D2, Int]: ...
    @overload
    @staticmethod
    def from_data(data: Sequence[Sequence[Numbers]], device: Device[DB], dtype: IntFormat) -> Tensor[DB, D3, Int]: ...
    @overload
    @staticmethod
    def from_data(data: Any, device: Device[DB], dtype: Format | None = None) -> Tensor[DB, Any, Any]: ...
    @staticmethod
    def from_data(data: Any, device: Device[DB], dtype: Format | None = None) -> Tensor[DB, Any, Any]:
        """A copy of nested lists, of an array of any library, or of `TensorData`.

        Lists of numbers become Float, in the device's ``float_dtype``, and lists of truth values Bool: Python
        numbers have no format of their own. Whatever has one keeps it, unless ``dtype`` is given: arrays and scalars
        of NumPy, TensorData, a pandas Series, a PyTorch tensor, a buffer. docs/kinks.md has the table. A format that no
        tensor has, such as uint32 or bfloat16, comes in where ``dtype`` names another. docs/neighbours.md says more.

        Raises GraphError for a tracked tensor, also inside a list: its gradient would be lost.
        """
        check_device("from_data", device)
        check_untracked("from_data", data)
        if isinstance(data, TensorBase):
            data = cast("Tensor[Any, Any, Any]", data).into_data()
        values = host_array(data, dtype)
        if dtype is None and not has_dtype(data) and (values.dtype.kind != "b" or not values.size):
            values = float_array(values, device.float_dtype)
        return _tensor(device.backend.from_numpy(values, device), device)

    @overload
    @staticmethod
    def zeros(shape: tuple[Size], device: Device[DB], dtype: FloatFormat | None = None) -> Tensor[DB, D1]: ...
    @overload
    @staticmethod
    def zeros(shape: tuple[Size, Size], device: Device[DB], dtype: FloatFormat | None = None) -> Tensor[DB, D2]: ...
    @overload
    @staticmethod
    def zeros(
        shape: tuple[Size, Size, Size], device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, D3]: ...
    @overload
    @staticmethod
    def zeros(
        shape: tuple[Size, Size, Size, Size], device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, D4]: ...
    @overload
    @staticmethod
    def zeros(shape: Sequence[Size], device: Device[DB], dtype: FloatFormat | None = None) -> Tensor[DB, Any]: ...
    @overload
    @staticmethod
    def zeros(shape: Sequence[Size], device: Device[DB], dtype: IntFormat) -> Tensor[DB, Any, Int]: ...
    @overload
    @staticmethod
    def zeros(shape: Sequence[Size], device: Device[DB], dtype: BoolFormat) -> Tensor[DB, Any, Bool]: ...
    @overload
    @staticmethod
    def zeros(shape: Sequence[Size], device: Device[DB], dtype: Format | None) -> Tensor[DB, Any, Any]: ...
    @staticmethod
    def zeros(shape: Sequence[Size], device: Device[Any], dtype: Format | None = None) -> Tensor[Any, Any, Any]:
        """Every element 0. The length of the shape tuple is the rank of the result."""
        return _full("zeros", shape, 0.0, device, dtype)

    @overload
    @staticmethod
    def ones(shape: tuple[Size], device: Device[DB], dtype: FloatFormat | None = None) -> Tensor[DB, D1]: ...
    @overload
    @staticmethod
    def ones(shape: tuple[Size, Size], device: Device[DB], dtype: FloatFormat | None = None) -> Tensor[DB, D2]: ...
    @overload
    @staticmethod
    def ones(
        shape: tuple[Size, Size, Size], device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, D3]: ...
    @overload
    @staticmethod
    def ones(
        shape: tuple[Size, Size, Size, Size], device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, D4]: ...
    @overload
    @staticmethod
    def ones(shape: Sequence[Size], device: Device[DB], dtype: FloatFormat | None = None) -> Tensor[DB, Any]: ...
    @overload
    @staticmethod
    def ones(shape: Sequence[Size], device: Device[DB], dtype: IntFormat) -> Tensor[DB, Any, Int]: ...
    @overload
    @staticmethod
    def ones(shape: Sequence[Size], device: Device[DB], dtype: BoolFormat) -> Tensor[DB, Any, Bool]: ...
    @overload
    @staticmethod
    def ones(shape: Sequence[Size], device: Device[DB], dtype: Format | None) -> Tensor[DB, Any, Any]: ...
    @staticmethod
    def ones(shape: Sequence[Size], device: Device[Any], dtype: Format | None = None) -> Tensor[Any, Any, Any]:
        """Every element 1."""
        return _full("ones", shape, 1.0, device, dtype)

    @overload
    @staticmethod
    def empty(shape: tuple[Size], device: Device[DB], dtype: FloatFormat | None = None) -> Tensor[DB, D1]: ...
    @overload
    @staticmethod
    def empty(shape: tuple[Size, Size], device: Device[DB], dtype: FloatFormat | None = None) -> Tensor[DB, D2]: ...
    @overload
    @staticmethod
    def empty(
        shape: tuple[Size, Size, Size], device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, D3]: ...
    @overload
    @staticmethod
    def empty(
        shape: tuple[Size, Size, Size, Size], device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, D4]: ...
    @overload
    @staticmethod
    def empty(shape: Sequence[Size], device: Device[DB], dtype: FloatFormat | None = None) -> Tensor[DB, Any]: ...
    @overload
    @staticmethod
    def empty(shape: Sequence[Size], device: Device[DB], dtype: IntFormat) -> Tensor[DB, Any, Int]: ...
    @overload
    @staticmethod
    def empty(shape: Sequence[Size], device: Device[DB], dtype: BoolFormat) -> Tensor[DB, Any, Bool]: ...
    @overload
    @staticmethod
    def empty(shape: Sequence[Size], device: Device[DB], dtype: Format | None) -> Tensor[DB, Any, Any]: ...
    @staticmethod
    def empty(shape: Sequence[Size], device: Device[Any], dtype: Format | None = None) -> Tensor[Any, Any, Any]:
        """Every element 0 too: nobody may read these values, and zeros are the same bytes each run."""
        return _full("empty", shape, 0.0, device, dtype)

    @overload
    @staticmethod
    def full(
        shape: tuple[Size], value: Scalar, device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, D1]: ...
    @overload
    @staticmethod
    def full(
        shape: tuple[Size, Size], value: Scalar, device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, D2]: ...
    @overload
    @staticmethod
    def full(
        shape: tuple[Size, Size, Size], value: Scalar, device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, D3]: ...
    @overload
    @staticmethod
    def full(
        shape: tuple[Size, Size, Size, Size], value: Scalar, device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, D4]: ...
    @overload
    @staticmethod
    def full(
        shape: Sequence[Size], value: Scalar, device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, Any]: ...
    @overload
    @staticmethod
    def full(shape: Sequence[Size], value: Scalar, device: Device[DB], dtype: IntFormat) -> Tensor[DB, Any, Int]: ...
    @overload
    @staticmethod
    def full(shape: Sequence[Size], value: Scalar, device: Device[DB], dtype: BoolFormat) -> Tensor[DB, Any, Bool]: ...
    @overload
    @staticmethod
    def full(
        shape: Sequence[Size], value: Scalar, device: Device[DB], dtype: Format | None
    ) -> Tensor[DB, Any, Any]: ...
    @staticmethod
    def full(
        shape: Sequence[Size], value: Scalar, device: Device[Any], dtype: Format | None = None
    ) -> Tensor[Any, Any, Any]:
        """Every element ``value``."""
        return _full("full", shape, value, device, dtype)

    @overload
    @staticmethod
    def random(
        shape: tuple[Size], distribution: AnyDistribution, device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, D1]: ...
    @overload
    @staticmethod
    def random(
        shape: tuple[Size, Size], distribution: AnyDistribution, device: Device[DB], dtype: FloatFormat | None = None
    ) -> Tensor[DB, D2]: ...
    @overload
    @staticmethod
    def random(
        shape: tuple[Size, Size, Size],
        distribution: AnyDistribution,
        device: Device[DB],
        dtype: FloatFormat | None = None,
    ) -> Tensor[DB, D3]: ...
    @overload
    @staticmethod
    def random(
        shape: tuple[Size, Size, Size, Size],
        distribution: AnyDistribution,
        device: Device[DB],
        dtype: FloatFormat | None = None,
    ) -> Tensor[DB, D4]: ...
    @overload
    @staticmethod
    def random(
        shape: Sequence[Size],
        distribution: AnyDistribution,
        device: Device[DB],
        dtype: FloatFormat | DType | None = None,
    ) -> Tensor[DB, Any]: ...
    @staticmethod
    def random(
        shape: Sequence[Size], distribution: AnyDistribution, device: Device[Any], dtype: str | None = None
    ) -> Tensor[Any, Any]:
        """Independent draws from a distribution, by the device's own generator; see ``device.seed``."""
        check_device("random", device)
        if not isinstance(distribution, AnyDistribution):
            reason = f"{distribution!r} is not a distribution"
            raise ConfigError("random", reason, hint="make one, as in Distribution.Normal(0.0, 1.0)")
        target = device.float_dtype if dtype is None else to_dtype(dtype)
        if target.kind is not Float:
            raise DTypeMismatch("random", f"{target} is not a float", hint="draw floats, then .int() or .bool()")
        array = device.backend.random(_checked_shape("random", shape), distribution, target, device)
        return _tensor(array, device)

    @staticmethod
    def arange(start: int, stop: int, device: Device[DB], step: int = 1) -> Tensor[DB, D1, Int]:
        """The whole numbers from ``start`` to before ``stop``."""
        check_device("arange", device)
        if step == 0:
            raise ShapeError("arange", "the step is 0")
        try:
            numbers = range(start, stop, step)
        except (TypeError, ValueError) as error:
            asked = f"arange({start!r}, {stop!r}, step={step!r})"
            raise DTypeMismatch(asked, f"it counts in whole numbers, by a step other than 0 ({error})") from None
        for number in (*numbers[:1], *numbers[-1:]):
            check_range("arange", number, np.dtype(device.int_dtype))
        try:
            values = np.arange(start, stop, step, dtype=device.int_dtype)
        except NO_ROOM as error:
            explain(error, "arange", ((len(numbers),),))
            raise
        return _tensor(device.backend.from_numpy(values, device), device)

    @staticmethod
    def eye(size: int, device: Device[DB], dtype: FloatFormat | None = None) -> Tensor[DB, D2]:
        """Ones on the diagonal of a square of zeros."""
        check_device("eye", device)
        (size,) = _checked_shape("eye", (size,))
        try:
            values = np.eye(size, dtype=device.float_dtype if dtype is None else to_dtype(dtype))
        except NO_ROOM as error:
            explain(error, "eye", ((size, size),))
            raise
        return _tensor(device.backend.from_numpy(values, device), device)

    def zeros_like(self) -> Tensor[B, D, K]:
        """Zeros of this shape, dtype and device."""
        return self.full_like(0)

    def ones_like(self) -> Tensor[B, D, K]:
        """Ones of this shape, dtype and device."""
        return self.full_like(1)

    def full_like(self, value: Scalar) -> Tensor[B, D, K]:
        """One value, in this shape, dtype and device."""
        return _full("full_like", self.shape, value, self.device, self.dtype)

    def random_like(self: Creation[B, D, Float], distribution: AnyDistribution) -> Tensor[B, D, Float]:
        """Draws from a distribution, in this shape, dtype and device."""
        return Creation.random(self.shape, distribution, self.device, self.dtype)


def _checked_shape(op: str, shape: Sequence[Size]) -> Shape:
    sizes: Any = tuple(shape) if isinstance(shape, (tuple, list)) else ()
    if not 1 <= len(sizes) <= MAX_RANK or any(not isinstance(size, (int, np.integer)) or size < 0 for size in sizes):
        reason = f"a shape is a tuple of 1 to {MAX_RANK} whole numbers, each 0 or more"
        raise ShapeError(op, reason, given={"shape": shape}, hint="write (3,) for one dim of size 3")
    return tuple(int(size) for size in sizes)


def _full(
    op: str, shape: Sequence[Size], value: Scalar, device: Device[Any], dtype: Format | None
) -> Tensor[Any, Any, Any]:
    check_device(op, device)
    target = device.float_dtype if dtype is None else to_dtype(dtype)
    number = _as_number(op, value, target)
    return _tensor(device.backend.full(_checked_shape(op, shape), number, target, device), device)


def _as_number(op: str, value: Scalar, dtype: DType) -> float | int:
    """A Python number as one of a dtype; raises DTypeMismatch where it would change."""
    if not isinstance(value, Real | np.bool_):
        hint = "take the number out of a tensor of one element with .into_scalar()" if hasattr(value, "shape") else None
        raise DTypeMismatch(op, f"{type(value).__name__} is not a number", hint=hint)
    if dtype.kind is Float:
        return check_float(op, value, np.dtype(dtype))
    if not math.isfinite(value) or value != int(value) or (dtype.kind is Bool and value not in (0, 1)):
        raise DTypeMismatch(op, f"{value!r} is not a value of {dtype}")
    return bool(value) if dtype.kind is Bool else check_range(op, int(value), np.dtype(dtype))


def _tensor(primitive: Any, device: Device[Any]) -> Tensor[Any, Any, Any]:
    from .tensor import Tensor

    return Tensor._around(primitive, device)
