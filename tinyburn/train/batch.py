"""What a batch is: tensors in tuples, lists and dicts, of which each has its samples along its first dim."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from tinyburn.backend import Device
from tinyburn.base.errors import ConfigError
from tinyburn.tensor import Tensor

AnyTensor: TypeAlias = Tensor[Any, Any, Any]
T = TypeVar("T")


def map_batch(batch: Any, change: Callable[[AnyTensor], AnyTensor]) -> Any:
    """A batch like this one, with ``change(tensor)`` in place of each tensor. What is no tensor stays."""
    if isinstance(batch, Tensor):
        return change(batch)
    if isinstance(batch, dict):
        return {name: map_batch(part, change) for name, part in batch.items()}
    if isinstance(batch, tuple | list):
        parts = [map_batch(part, change) for part in batch]
        kind: Any = type(batch)
        return kind(*parts) if hasattr(batch, "_fields") else kind(parts)
    return batch


def tensors_of(batch: Any) -> list[AnyTensor]:
    """Each tensor of a batch, in order."""
    found: list[AnyTensor] = []

    def note(tensor: AnyTensor) -> AnyTensor:
        found.append(tensor)
        return tensor

    map_batch(batch, note)
    return found


def samples_of(batch: Any) -> int:
    """How many samples a batch has: the first dim of its first tensor. Raises ConfigError if it has no tensor."""
    first = batch[0] if isinstance(batch, tuple | list) and batch else batch
    if not isinstance(first, Tensor):  # the long way, for what is no plain tuple of tensors
        tensors = tensors_of(batch)
        if not tensors:
            reason = f"there is no tensor in this batch, which is a {type(batch).__name__}"
            raise ConfigError("Learner", reason, hint="a batch is (x, target), two tensors on the model's device")
        first = tensors[0]
    size: int = first.primitive.shape[0]
    return size


def is_empty(batch: Any) -> bool:
    """Whether a batch has tensors, and no samples in them: a rank has such a part of a small batch."""
    tensors = tensors_of(batch)
    return bool(tensors) and tensors[0].primitive.shape[0] == 0


def without_autodiff(batch: Any) -> Any:
    """The batch on the backend inside autodiff, where a model is evaluated. What is there already stays."""
    return map_batch(batch, lambda tensor: tensor.inner() if tensor.backend.is_autodiff else tensor)


def on_device(batch: Any, device: Device[Any]) -> Any:
    """The same values on another device, perhaps of another backend."""
    return map_batch(batch, lambda tensor: tensor.detach().to_device(device))


def of_size(batch: Any, size: int, device: Device[Any]) -> Any:
    """Zeros in the shapes of a batch, but for ``size`` samples."""
    samples = samples_of(batch)

    def resized(tensor: AnyTensor) -> AnyTensor:
        shape = tuple(tensor.shape)
        shape = (size, *shape[1:]) if shape[0] == samples else shape
        zeros: AnyTensor = Tensor.zeros(shape, device, dtype=tensor.dtype)
        return zeros

    return map_batch(batch, resized)


def grouped(items: Iterator[T], size: int) -> Iterator[Iterator[T]]:
    """The items in groups of some, the last perhaps smaller. Each group is read to its end before the next begins.

    Nothing is held here once it has been used: what is held is memory.
    """
    for first in items:
        group = _group([first], items, size)
        del first
        yield group


def _group(first: list[T], items: Iterator[T], size: int) -> Iterator[T]:
    yield first.pop()
    yield from islice(items, size - 1)
