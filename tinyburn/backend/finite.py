"""Finite[B]: backend B, stopped by the first operation that makes inf or NaN out of ordinary numbers.

A NaN spreads: whatever is computed with it is NaN too, so at the end of a step the loss, every gradient and every
parameter are NaN, and nothing tells where it began. Here it begins with an error that names the operation and the
module. What the caller brought in is no fault: -inf in a mask is a number like any other, and NaN in the data makes
NaN. Each result is read back to the host, so this is for finding a fault, and not for training. And it is strict: it
stops at an infinite slope too that a gradient of 0 would have hidden in the next operation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

import numpy as np

from tinyburn.base.errors import NonFinite
from tinyburn.base.shape import Shape

from .decorator import Decorator
from .device import DecoratedDevice, Device
from .interface import Array, Backend, Swap
from .operations import NUMBERS, Operation

IB = TypeVar("IB", bound=Backend)

FINITE, HAS_INF, HAS_NAN = range(3)
"""The worst among the elements of a tensor. A result may be as bad as its operands, and no worse."""


class Watch:
    """What all tensors of a device share: the name of what runs now, such as ``backward exp``."""

    def __init__(self) -> None:
        self.phase = "forward"

    def __repr__(self) -> str:
        return f"Watch({self.phase})"


class FiniteArray:
    """An inner primitive, and the worst of its elements."""

    __slots__ = ("dtype", "primitive", "shape", "watch", "worst")

    def __init__(self, primitive: Array, worst: int, watch: Watch) -> None:
        self.primitive = primitive
        self.worst = worst
        self.watch = watch
        self.shape = primitive.shape
        self.dtype = primitive.dtype

    def __repr__(self) -> str:
        return f"FiniteArray({self.shape}, {self.dtype.name})"


class FiniteDevice(DecoratedDevice[Any]):
    """The inner device, and what runs on it."""

    def __init__(self, backend: type[Any], inner: Device[Any]) -> None:
        super().__init__(backend, inner)
        self.watch = Watch()


class Finite(Decorator, Generic[IB]):
    """Computes as B does. Raises NonFinite where a result has inf or NaN, and no operand has anything so bad."""

    observed = True  # so that the backward pass says whose rules run

    @classmethod
    def _wrap_operation(cls, operation: Operation) -> Any:
        return None if cls.inner.composes(operation.name) else _checked(operation, cls.inner)

    @classmethod
    def _wrap_made(cls, maker: str, primitive: Array, device: Any) -> FiniteArray:
        return FiniteArray(primitive, _worst_in(cls.inner, primitive), device.watch)

    @classmethod
    def wrap_device(cls, inner: Device[Any]) -> Device[Any]:
        return FiniteDevice(cls, inner)

    @classmethod
    def exchange(cls, name: str, a: Any, shape: Shape, swap: Swap, is_spare: bool) -> FiniteArray:
        """What comes from other processes is no fault of this one, as little as what the caller brings in."""
        result = cls.inner.exchange(name, a.primitive, shape, swap, is_spare)
        return FiniteArray(result, _worst_in(cls.inner, result), a.watch)

    @classmethod
    def note(cls, a: Any, event: str, detail: Any = "") -> None:
        if event == "phase":
            a.watch.phase = detail
        super().note(a, event, detail)


def _checked(operation: Operation, inner: type[Backend]) -> Any:
    """One operation of ``inner``, and a look at its result."""
    name, compute = operation.name, getattr(inner, operation.name)

    def checked(*arguments: Any) -> FiniteArray:
        result = compute(*[x.primitive if type(x) is FiniteArray else x for x in arguments])
        watch = next(x.watch for x in arguments if type(x) is FiniteArray)
        worst, allowed = _worst_in(inner, result), _worst_of(arguments)
        if worst > allowed:
            raise _error(name, inner, result, arguments, watch)
        return FiniteArray(result, worst, watch)

    return checked


def _worst_of(arguments: Iterable[Any]) -> int:
    """The worst that is handed in, as a tensor or as a number."""
    found = [x.worst if type(x) is FiniteArray else _worst_number(x) for x in arguments]
    return max(found, default=FINITE)


def _worst_number(x: Any) -> int:
    if type(x) not in NUMBERS or math.isfinite(x):
        return FINITE
    return HAS_NAN if math.isnan(x) else HAS_INF


def _worst_in(backend: type[Backend], a: Array) -> int:
    if a.dtype.kind != "f" or not backend.has_values:
        return FINITE
    values = backend.to_numpy(a)
    if np.isfinite(values).all():
        return FINITE
    return HAS_NAN if np.isnan(values).any() else HAS_INF


def _error(name: str, inner: type[Backend], result: Array, arguments: Iterable[Any], watch: Watch) -> NonFinite:
    values = inner.to_numpy(result)
    counts = {"NaN": int(np.isnan(values).sum()), "inf": int(np.isinf(values).sum())}
    found = " and ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    tensors = [x for x in arguments if type(x) is FiniteArray and x.dtype.kind == "f"]
    given = {f"operand {at}": _described(inner, x.primitive) for at, x in enumerate(tensors, start=1)}
    reason = f"the result {result.shape} has {found}, and no operand has any"
    asked = name if watch.phase == "forward" else f"{name}, in the {watch.phase}"
    hint = "start with a lower learning rate, clip the gradients, or keep its operands away from what it cannot do"
    return NonFinite(asked, reason, given=given, hint=hint)


def _described(backend: type[Backend], a: Array) -> str:
    values = backend.to_numpy(a).astype(np.float64)
    if not values.size:
        return f"{a.shape} {a.dtype.name}, empty"
    return f"{a.shape} {a.dtype.name}, from {values.min():.3g} to {values.max():.3g}"
