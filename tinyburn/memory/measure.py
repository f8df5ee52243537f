"""Running a job for real and reading what it did with memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tinyburn.autodiff import Gradients
from tinyburn.backend import Category, Device, EventLog, Traced
from tinyburn.module import Module
from tinyburn.tensor import Tensor
from tinyburn.text import amount, table

from .timeline import SETUP, Step, Totals, walk

Job: TypeAlias = Callable[[Device[Any], int], Any]
"""Builds its model and data on the device that it is handed, for a batch size, and runs the step."""


@dataclass(frozen=True)
class MemoryReport:
    """What a job did with memory, to the byte.

    Attributes:
        peak_bytes: the most bytes of tensor data that were alive at once.
        at_peak: those bytes by category, without the categories that had none.
        peak_op: the operation that reached the peak first.
        padding_bytes: bytes that the allocator added; None if that was not measured.
        events: the log that all of this is read from.
    """

    peak_bytes: int
    at_peak: dict[str, int]
    peak_op: str
    padding_bytes: int | None
    events: EventLog = field(repr=False)

    def __str__(self) -> str:
        rows = [(name, amount(size)) for name, size in self.at_peak.items()]
        rows += [("peak", amount(self.peak_bytes)), ("padding", padding_text(self.padding_bytes))]
        return f"Peak {amount(self.peak_bytes)} at {self.peak_op}\n" + table(("category", "bytes"), rows)


def padding_text(padding: int | None) -> str:
    """Padding in words: what was not measured is not 0."""
    return "not measured" if padding is None else amount(padding)


def measure(job: Job, device: Device[Any], batch_size: int) -> MemoryReport:
    """Runs the job once on the device, with every buffer counted.

    The job gets a traced device in place of ``device``: the same backend, place, dtypes and random numbers. What it
    returns (a tensor, gradients, a model, or a tuple, list or dict of them) counts as its output.
    """
    traced = traced_device(device)
    result = job(traced, batch_size)
    log = find_log(traced)
    log.phase = "end"
    log.op("return", "", [])  # so that what is alive at the end is a moment of its own
    for tensor in tensors_in(result):
        _mark_output(tensor)
    return read_report(log, device.memory_usage().bytes_padding)


def read_report(log: EventLog, padding: int | None) -> MemoryReport:
    """The report on a log: a pure function of it."""
    peak, at, step = 0, (0,) * len(Category), SETUP
    current: tuple[Step, Totals]
    for _, *current in walk(log):  # type: ignore[assignment]
        total = sum(current[1])
        if total > peak or (total == peak and current[0] is step):  # the same operation: its last word counts
            step, at = current
            peak = total
    by_name = {category.name.lower(): at[category] for category in Category if at[category]}
    return MemoryReport(peak, by_name, str(step), padding, log)


def traced_device(device: Device[Any]) -> Device[Any]:
    """The same device with `Traced` around its innermost backend, and a fresh log."""
    inner = getattr(device, "inner", None)
    backend: Any = device.backend
    if inner is None:
        made: Any = Traced[backend]
        fresh: Device[Any] = made.wrap_device(device)
        return fresh
    if issubclass(backend, Traced):
        return traced_device(inner)
    within = traced_device(inner)
    wrapped: Device[Any] = backend.around(within.backend).wrap_device(within)
    return wrapped


def find_log(device: Any) -> EventLog:
    """The log of the `Traced` backend somewhere inside a device."""
    while not isinstance(getattr(device, "log", None), EventLog):
        device = device.inner
    log: EventLog = device.log
    return log


def tensors_in(value: Any) -> list[Tensor[Any, Any, Any]]:
    """Every tensor in what a job returned."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Gradients):
        return value.tensors()
    if isinstance(value, Module):
        return [param.val() for _, param in value.named_params()]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in tensors_in(item)] if isinstance(value, list | tuple) else []


def _mark_output(tensor: Tensor[Any, Any, Any]) -> None:
    """A result that is returned and held by nothing else is an output; a gradient or a parameter stays what it is."""
    tensor.backend.note(tensor.primitive, "returned")
