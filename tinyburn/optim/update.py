"""What the steps of all optimizers are made of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from tinyburn.tensor import Tensor

AnyTensor: TypeAlias = Tensor[Any, Any]


def add_scaled(a: AnyTensor, b: AnyTensor, scale: float, target: AnyTensor, is_spare: bool) -> AnyTensor:
    """``a + b * scale``; in the memory of ``target``, if that is spare: if nobody else can see it."""
    backend = a.device.backend
    if is_spare:
        return a._new(backend.into(target.primitive, "add_scaled", a.primitive, b.primitive, scale))
    return a._new(backend.add_scaled(a.primitive, b.primitive, scale))


@contextmanager
def phase(name: str, tensor: AnyTensor) -> Iterator[None]:
    """Names what runs meanwhile, for the event log of a tensor's device."""
    backend = tensor.backend
    backend.note(tensor.primitive, "phase", name)
    try:
        yield
    finally:
        backend.note(tensor.primitive, "phase", "forward")
