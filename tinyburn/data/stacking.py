"""From items to tensors: many items become one with arrays in it, and those become tensors on a device."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyburn.backend import Device
from tinyburn.base.errors import DataError
from tinyburn.tensor import Tensor

Array = NDArray[Any]


@dataclass(frozen=True)
class Numbers:
    """Numbers of Python, which have no format: a device gives them its own.

    Attributes:
        values: bool, int64 or float64; of rank 1, or more where the items were lists.
    """

    values: Array

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        """One number of Python for a number, and `Numbers` for several."""
        return self.values[index].item() if isinstance(index, int) else Numbers(self.values[index])


def stack(items: Sequence[Any], indices: Array | None = None) -> Any:
    """Many items of one kind as one: what was a number becomes an array, what was an array gets a dim in front.

    Tuples, dicts and dataclasses stay what they are. Arrays and scalars of NumPy keep their dtype; numbers of Python
    become `Numbers`; text and everything else becomes a list.

    Args:
        items: at least one.
        indices: their numbers in the data set, for the messages; 0, 1, 2 unless given.

    Raises:
        DataError: the items differ in type, names, length, shape or dtype. It names the first that differs.
    """
    numbers = range(len(items)) if indices is None else indices.tolist()
    return _stack([*items], [*numbers], "")


def _stack(values: list[Any], numbers: list[int], path: str) -> Any:
    first = values[0]
    if isinstance(first, np.ndarray | np.generic):
        return _stack_arrays(values, numbers, path)
    if isinstance(first, bool | int | float):
        return _stack_numbers(values, numbers, path)
    _same(values, numbers, path, "type", lambda value: type(value).__name__)
    if isinstance(first, Mapping):
        _same(values, numbers, path, "names", lambda value: sorted(map(str, value)))
        return {name: _stack([value[name] for value in values], numbers, f"{path}[{name!r}]") for name in first}
    if isinstance(first, tuple):
        _same(values, numbers, path, "length", len)
        parts = [
            _stack([*column], numbers, f"{path}[{place}]") for place, column in enumerate(zip(*values, strict=True))
        ]
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    if dataclasses.is_dataclass(first):
        names = [field.name for field in dataclasses.fields(first)]
        columns = {name: [getattr(value, name) for value in values] for name in names}
        return _filled(first, {name: _stack(column, numbers, f"{path}.{name}") for name, column in columns.items()})
    if isinstance(first, list):
        arrays = [_array_of(value, number, path) for value, number in zip(values, numbers, strict=True)]
        if {array.dtype.kind for array in arrays} == {"i", "f"}:
            arrays = [array.astype(float) for array in arrays]
        return Numbers(_stack_arrays(arrays, numbers, path))
    return values


def _stack_arrays(values: list[Any], numbers: list[int], path: str) -> Array:
    first = values[0]
    for value in values:
        if type(value) is not type(first) or value.shape != first.shape or value.dtype != first.dtype:
            _same(values, numbers, path, "type", lambda value: type(value).__name__)
            _same(values, numbers, path, "shape", np.shape)
            _same(values, numbers, path, "dtype", lambda value: value.dtype)
    return np.stack(values) if first.ndim else np.array(values, first.dtype)


def _stack_numbers(values: list[Any], numbers: list[int], path: str) -> Numbers:
    kinds = {*map(type, values)}
    if not kinds <= {int, float} and kinds != {bool}:
        _same(values, numbers, path, "type", lambda value: type(value).__name__)
    try:
        return Numbers(np.array(values, bool if bool in kinds else float if float in kinds else np.int64))
    except OverflowError:
        (place, *_) = [place for place, value in enumerate(values) if not -(2**63) <= value < 2**63]
        raise DataError("stack", f"item {numbers[place]} has {values[place]}{_at(path)}, too large for int64") from None


def _array_of(value: list[Any], number: int, path: str) -> Any:
    """A list inside an item: one array of numbers, if it is one."""
    try:
        array = np.array(value)
    except ValueError:
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        hint = "make arrays of one shape in .map(...), or give the loader a batcher that knows what to do"
        raise DataError("stack", f"item {number} has a list{_at(path)} that is no array of numbers", hint=hint)
    return array


def _same(values: list[Any], numbers: list[int], path: str, what: str, of: Callable[[Any], Any]) -> None:
    """Raises DataError with the first value that differs from the first in one respect."""
    wanted = of(values[0])
    for value, number in zip(values, numbers, strict=True):
        if of(value) != wanted:
            reason = f"item {numbers[0]} and item {number} differ in {what}{_at(path)}: {wanted} and {of(value)}"
            hint = "make them alike in .map(...), or give the loader a batcher that knows what to do"
            raise DataError("stack", reason, hint=hint)


def _at(path: str) -> str:
    return f" at item{path}" if path else ""


def _filled(like: Any, values: dict[str, Any]) -> Any:
    """A dataclass with other values, which its own __init__ is not asked about: it may check those of one item."""
    made = object.__new__(type(like))
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def to_tensors(stacked: Any, device: Device[Any]) -> Any:
    """What `stack` returns, with a tensor in place of each array: the default batcher of a loader.

    Arrays keep their dtype; `Numbers` get the ``float_dtype`` or ``int_dtype`` of the device, or bool. Lists, and
    arrays of text or of objects, stay as they are.

    Raises:
        DTypeMismatch: the device has no such dtype.
    """
    if isinstance(stacked, np.ndarray):
        return Tensor.from_data(stacked, device) if stacked.dtype.kind in "biufc" else stacked
    if isinstance(stacked, Numbers):
        formats = {"f": device.float_dtype, "i": device.int_dtype}
        return Tensor.from_data(stacked.values, device, dtype=formats.get(stacked.values.dtype.kind))
    if isinstance(stacked, Mapping):
        return {name: to_tensors(value, device) for name, value in stacked.items()}
    if isinstance(stacked, tuple):
        parts = [to_tensors(value, device) for value in stacked]
        return type(stacked)(*parts) if hasattr(stacked, "_fields") else tuple(parts)
    if dataclasses.is_dataclass(stacked):
        names = [field.name for field in dataclasses.fields(stacked)]
        return _filled(stacked, {name: to_tensors(getattr(stacked, name), device) for name in names})
    return stacked


def without_samples(batch: Any) -> Any:
    """A batch of one sample with 0 samples: each tensor, array and list in it has none along its first dim.

    Raises DataError for what a sample cannot be taken out of: of several processes it would count in two.
    """
    if isinstance(batch, Tensor | np.ndarray | list):
        if len(batch) != 1:
            raise _not_shared(f"a {type(batch).__name__} has {len(batch)} rows for one sample")
        return batch[:0]
    if isinstance(batch, Mapping):
        return {name: without_samples(value) for name, value in batch.items()}
    if isinstance(batch, tuple):
        parts = [without_samples(value) for value in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)
    if dataclasses.is_dataclass(batch) and not isinstance(batch, type):
        names = [field.name for field in dataclasses.fields(batch)]
        return _filled(batch, {name: without_samples(getattr(batch, name)) for name in names})
    if batch is None or isinstance(batch, str | bytes | int | float | complex | np.generic | type):
        return batch
    raise _not_shared(f"a {type(batch).__name__} is none of these")


def _not_shared(reason: str) -> DataError:
    wanted = (
        "a batch is shared by its rows, in tensors, arrays and lists, and in tuples, dicts and dataclasses of these"
    )
    hint = "let the batcher return one of them, or take batches with an item for each rank"
    return DataError("DataLoader", [f"this process has no item of a batch, and {reason}", wanted], hint=hint)
