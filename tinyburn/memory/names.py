"""Python names that hold tensors: a local variable keeps its tensor's buffer alive as long as its function runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeAlias

from tinyburn.autodiff import Gradients
from tinyburn.backend import EventLog
from tinyburn.backend.traced import TracedArray
from tinyburn.module import Module, Param
from tinyburn.tensor import Tensor

Names: TypeAlias = dict[int, tuple[str, ...]]
"""For each buffer the names that hold it, the innermost function's first, each as ``name in function``."""

_OPTIMIZERS = "tinyburn.optim."
_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


def names_now(log: EventLog, stop: CodeType) -> Names:
    """The names that hold buffers of a log, in every function that runs now, out to the one that runs ``stop``.

    Functions of tinyburn itself are left out: what they hold, the running operation needs.
    """
    found: dict[int, dict[str, None]] = {}  # the inner dict is an ordered set
    for frame in _frames(stop):
        where = frame.f_code.co_qualname.rpartition("<locals>.")[2]
        for name, value in frame.f_locals.items():
            for buffer in _buffers_in(value, log):
                found.setdefault(buffer, {})[f"{name} in {where}"] = None
    return {buffer: tuple(names) for buffer, names in found.items()}


def _frames(stop: CodeType) -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not stop:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            yield frame
        frame = frame.f_back


def _buffers_in(value: Any, log: EventLog) -> Iterator[int]:
    for tensor in _tensors_in(value, set()):
        primitive: Any = tensor.primitive
        while primitive is not None and not isinstance(primitive, TracedArray):
            primitive = getattr(primitive, "primitive", None)
        if primitive is not None and primitive.buffer.log is log:
            yield primitive.buffer.id


def _tensors_in(value: Any, seen: set[int]) -> Iterator[Tensor[Any, Any, Any]]:
    """Every tensor that a value holds: a tensor, a parameter, a model, gradients, an optimizer, or a container."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Param):
        yield value.val()
    else:
        for part in _parts_of(value):
            yield from _tensors_in(part, seen)


def _parts_of(value: Any) -> list[Any]:
    if isinstance(value, Gradients):
        return list(value.tensors())
    if isinstance(value, Module) or type(value).__module__.startswith(_OPTIMIZERS):
        return list(vars(value).values())
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []
