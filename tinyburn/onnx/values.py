"""What flows along the edges of an ONNX graph: tensors, with the rank 0 that tinyburn has not, and where they are.

Two things differ from tinyburn's own tensors. ONNX has tensors of rank 0; ours have the shape (1,), and a `Value` knows
that its rank is 0. And ONNX computes shapes with the same operators as data. What follows from shapes and constants
alone is computed on the *host*, which is NumPy, whatever device the model is on: so a shape is known as numbers on
every device, also on `Meta`, which has no others. A value of the host goes to the device when an operator brings it
together with one that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tinyburn.backend import Device, NdArray
from tinyburn.base.errors import OnnxError
from tinyburn.base.shape import MAX_RANK
from tinyburn.tensor import Tensor

AnyTensor: TypeAlias = Any
"""A tensor; its kind and rank are what a file says, and no checker can know them."""
Numbers: TypeAlias = np.ndarray[Any, Any]
Flow: TypeAlias = "Value | list[Any] | None"
"""A tensor; a sequence of such; or nothing, where an input is left out or an optional is empty."""

HOST: Device[Any] = NdArray.device()
"""Where shapes and constants are computed."""


class Value:
    """A tensor of any rank from 0 on.

    Attributes:
        tensor: its numbers; of rank 0 it has the shape (1,).
        is_scalar: whether the rank is 0.
    """

    __slots__ = ("_moved", "is_scalar", "tensor")

    def __init__(self, tensor: AnyTensor, is_scalar: bool = False) -> None:
        self.tensor = tensor
        self.is_scalar = is_scalar
        self._moved: Value | None = None

    def __repr__(self) -> str:
        return f"Value({self.shape}, {self.dtype}, on {'the host' if self.is_host else self.tensor.device})"

    @property
    def shape(self) -> tuple[int, ...]:
        """As ONNX has it: () for rank 0."""
        return () if self.is_scalar else tuple(self.tensor.shape)

    @property
    def rank(self) -> int:
        """The number of dims."""
        return 0 if self.is_scalar else self.tensor.rank

    @property
    def dtype(self) -> str:
        """Its name, as ``float32``."""
        return str(self.tensor.dtype)

    @property
    def is_float(self) -> bool:
        """Whether its kind is Float."""
        return bool(self.tensor.primitive.dtype.kind == "f")

    @property
    def is_host(self) -> bool:
        """Whether it is on the host, because it follows from shapes and constants alone."""
        return self.tensor.device is HOST

    def on(self, device: Device[Any]) -> Value:
        """Itself, or, if it is on the host, its copy on a device, which is made once."""
        if not self.is_host or device is HOST:
            return self
        if self._moved is None or self._moved.tensor.device != device:
            dtype: Any = dtype_on(self.dtype, device)
            self._moved = Value(Tensor.from_data(self.tensor.into_data(), device, dtype), self.is_scalar)
        return self._moved

    def numbers(self, what: str) -> Numbers:
        """The elements as a NumPy array of its shape, for what has to be known before anything can be computed.

        Raises OnnxError on `Meta`, if it does not follow from shapes and constants alone.
        """
        if not self.tensor.backend.has_values:
            reason = f"{what} depends on data, and {self.tensor.backend.__name__} has shapes alone"
            raise OnnxError(what, reason, hint="run the model on a device that has values, such as NdArray")
        found: Numbers = self.tensor.to_numpy().reshape(self.shape)
        return found

    def number(self, what: str) -> Any:
        """The first of its `numbers`, as a plain one: for an input that holds one, of rank 0 or 1."""
        return self.numbers(what).reshape(-1)[0].item()

    def ints(self, what: str) -> list[int]:
        """`numbers` in a list of plain ints."""
        return [int(number) for number in self.numbers(what).reshape(-1)]


def dtype_on(dtype: str, device: Device[Any]) -> str:
    """A dtype as a device has it: int64, which ONNX has for all indices, may be int32 there."""
    return device.backend.widest_int if dtype == "int64" else dtype


def host(numbers: Any) -> Value:
    """A value on the host, from a NumPy array or scalar of any rank."""
    array: Numbers = np.asarray(numbers)
    if array.ndim > MAX_RANK:
        raise OnnxError("a tensor", f"its rank is {array.ndim}, and {MAX_RANK} is the highest that tinyburn has")
    dtype: Any = str(array.dtype)
    return Value(Tensor.from_data(array.reshape(array.shape or (1,)), HOST, dtype), array.ndim == 0)


def reshaped(value: Value, shape: Sequence[int]) -> Value:
    """The same elements in another shape, which may be ()."""
    if len(shape) > MAX_RANK:
        raise OnnxError("a tensor", f"its rank is {len(shape)}, and {MAX_RANK} is the highest that tinyburn has")
    wanted = tuple(shape) or (1,)
    tensor = value.tensor if tuple(value.tensor.shape) == wanted else value.tensor.reshape(wanted)
    return Value(tensor, not shape)


def aligned(*values: Value) -> list[AnyTensor]:
    """The tensors with equal rank, for an operation that broadcasts: missing dims come first, and are 1."""
    rank = max([value.rank for value in values] + [1])
    return [
        value.tensor if value.tensor.rank == rank else value.tensor.reshape((1,) * (rank - value.rank) + value.shape)
        for value in values
    ]


def lifted(function: Callable[..., AnyTensor], *values: Value) -> Value:
    """A function that works element by element, on operands that broadcast."""
    if len(values) == 1:
        return Value(function(values[0].tensor), values[0].is_scalar)
    result = function(*aligned(*values))
    return Value(result, all(value.is_scalar for value in values))


def joined(flows: Sequence[Flow], device: Device[Any]) -> list[Flow]:
    """Inputs that an operator can compute with: all on the host, or all on the device."""
    if all(_is_host(value) for value in flows):
        return list(flows)
    return [moved(value, device) for value in flows]


def moved(value: Flow, device: Device[Any]) -> Flow:
    """A value, or all values of a sequence, on a device."""
    if isinstance(value, Value):
        return value.on(device)
    return [moved(each, device) for each in value] if isinstance(value, list) else value


def _is_host(value: Flow) -> bool:
    if isinstance(value, Value):
        return value.is_host
    return all(_is_host(each) for each in value) if isinstance(value, list) else True
