"""Traced[B]: backend B, with every operation, buffer, save and free written to a log.

The log belongs to the device. ``Traced[Meta]`` writes the same log as ``Traced[NdArray]``, event for event: a
prediction is the program run on shapes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from tinyburn.base.scope import current_path
from tinyburn.base.shape import Shape

from .decorator import Decorator
from .device import DecoratedDevice, Device, MemoryUsage
from .interface import Array, Backend, Swap
from .log import Buffer, Category, EventLog
from .operations import Operation

IB = TypeVar("IB", bound=Backend)


class TracedArray:
    """An inner primitive and the buffer that it looks into. When the last one goes, the buffer is freed."""

    __slots__ = ("buffer", "dtype", "primitive", "shape")

    def __init__(self, primitive: Array, buffer: Buffer) -> None:
        self.primitive = primitive
        self.buffer = buffer
        self.shape = primitive.shape
        self.dtype = primitive.dtype

    def __repr__(self) -> str:
        return f"TracedArray({self.shape}, {self.dtype.name}, {self.buffer})"


class TracedDevice(DecoratedDevice[Any]):
    """The inner device with a log of its own, so two traced devices never mix their tensors."""

    def __init__(self, backend: type[Any], inner: Device[Any]) -> None:
        super().__init__(backend, inner)
        self.log = EventLog()

    @property
    def identity(self) -> Any:
        return (self.inner, self.log)

    def memory_usage(self) -> MemoryUsage:
        """The buffers that are alive now, counted; the rest is what the inner device knows."""
        known: MemoryUsage = self.inner.memory_usage()
        return replace(known, number_allocs=self.log.live_buffers, bytes_in_use=self.log.live_bytes)


class Traced(Decorator, Generic[IB]):
    """Values, dtypes and errors are those of B. What B composes of others is an event for each of them."""

    observed: ClassVar[bool] = True

    @classmethod
    def _wrap_operation(cls, operation: Operation) -> Any:
        if cls.inner.composes(operation.name):
            return _composed(operation.name, getattr(cls, operation.name))
        return _traced(operation, cls.inner)

    @classmethod
    def composes(cls, name: str) -> bool:
        return cls.inner.composes(name)

    @classmethod
    def _wrap_made(cls, maker: str, primitive: Array, device: Any) -> TracedArray:
        """Made by the user, and so an input, unless a derivative rule or an optimizer needed it."""
        log: EventLog = device.log
        log.op(maker, current_path(), [])
        category = Category.INPUT if log.phase == "forward" else Category.TEMPORARY
        return TracedArray(primitive, log.alloc(primitive, category))

    @classmethod
    def wrap_device(cls, inner: Device[Any]) -> Device[Any]:
        return TracedDevice(cls, inner)

    @classmethod
    def from_numpy(cls, values: np.ndarray[Any, Any], device: Any) -> TracedArray:
        array: TracedArray = super().from_numpy(values, device)
        array.buffer.transfer(to_host=False)
        return array

    @classmethod
    def to_numpy(cls, a: Any) -> np.ndarray[Any, Any]:
        a.buffer.transfer(to_host=True)
        return super().to_numpy(a)

    @classmethod
    def shares_buffer(cls, a: Any, b: Any) -> bool:
        return a.buffer is b.buffer

    @classmethod
    def into(cls, target: Any, name: str, *arguments: Any) -> TracedArray:
        if cls.inner.composes(name):
            composed: TracedArray = super().into(target, name, *arguments)
            return composed
        plain, buffers = _taken_apart(arguments)
        result = cls.inner.into(target.primitive, name, *plain)
        log: EventLog = target.buffer.log
        log.op(name, current_path(), [buffer.id for buffer in buffers])
        if not cls.inner.shares_buffer(result, target.primitive):
            return TracedArray(result, log.alloc(result, Category.TEMPORARY))
        target.buffer.donate()
        return TracedArray(result, target.buffer)

    @classmethod
    def exchange(cls, name: str, a: Any, shape: Shape, swap: Swap, is_spare: bool) -> TracedArray:
        """As of an operation; what comes from other processes is no input of the user's."""
        result = cls.inner.exchange(name, a.primitive, shape, swap, is_spare)
        log: EventLog = a.buffer.log
        log.op(name, current_path(), [a.buffer.id])
        if not cls.inner.shares_buffer(result, a.primitive):
            return TracedArray(result, log.alloc(result, Category.COMMUNICATION))
        a.buffer.donate()
        a.buffer.recategorise(Category.COMMUNICATION)
        return TracedArray(result, a.buffer)

    @classmethod
    def note(cls, a: Any, event: str, detail: Any = "") -> None:
        a.buffer.note(event, detail)


def _taken_apart(arguments: tuple[Any, ...]) -> tuple[list[Any], list[Buffer]]:
    """The arguments as the inner backend takes them, and the buffers that lie under its tensors."""
    plain = [x.primitive if type(x) is TracedArray else x for x in arguments]
    return plain, [x.buffer for x in arguments if type(x) is TracedArray]


def _traced(operation: Operation, inner: type[Backend]) -> Any:
    """One operation of ``inner``, with its events: the op, then its result's buffer if that is a new one."""
    name, at = operation.name, operation.tensors[0]
    compute, shares_buffer = getattr(inner, name), inner.shares_buffer

    def traced(*arguments: Any) -> TracedArray:
        plain, buffers = _taken_apart(arguments)
        result = compute(*plain)
        log = buffers[0].log
        log.op(name, current_path(), [buffer.id for buffer in buffers])
        first = arguments[at]
        if type(first) is TracedArray and shares_buffer(result, first.primitive):
            return TracedArray(result, first.buffer)
        return TracedArray(result, log.alloc(result, Category.TEMPORARY))

    return traced


def _composed(name: str, compose: Any) -> Any:
    """An operation that is made of others: while they run, the log knows what was asked for."""

    def traced(*arguments: Any) -> Any:
        log = next(argument.buffer.log for argument in arguments if type(argument) is TracedArray)
        if log.asked:
            return compose(*arguments)
        log.asked = name
        try:
            return compose(*arguments)
        finally:
            log.asked = ""

    return traced
