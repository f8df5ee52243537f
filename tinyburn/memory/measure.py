"""Running a job for real and reading what it did with memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from tinyburn.autodiff import Gradients
from tinyburn.backend import Category, Device, Traced
from tinyburn.backend.log import EventLog
from tinyburn.base.errors import ForeignCall, TinyburnError
from tinyburn.base.text import amount, table
from tinyburn.module import Module
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_device

from .extras import How, NodeCounter, Row, cached_bytes, padding_bytes, read_extras
from .operations import CategoryTable, OperationBytes, bytes_by_category, bytes_by_operation
from .timeline import SETUP, moments


class JobError(TinyburnError, ValueError):
    """A job whose memory cannot be told: it fails, it does not fit, or it does not depend on its batch."""


Job: TypeAlias = Callable[[Device[Any], int], Any]
"""Builds its model and data on the device that it is handed, for a batch size, and runs the step."""


@dataclass(frozen=True, repr=False)
class MemoryReport:
    """What a job did with memory, to the byte.

    Attributes:
        peak_bytes: the most bytes of tensor data that were alive at once.
        at_peak: those bytes by category, without the categories that had none.
        peak_op: the operation that reached the peak first.
        padding_bytes: bytes that the allocator added, at the peak; None if that was not measured.
        events: the log that all of this is read from.
        peak_event: the index in the log of the last event at which `at_peak` is true; -1 if no byte was ever alive.
        rows: what comes beside the categories: padding, cached, metadata, gradient storage, staging.
    """

    peak_bytes: int
    at_peak: dict[str, int]
    peak_op: str
    padding_bytes: int | None
    events: EventLog
    peak_event: int
    rows: tuple[Row, ...]

    @property
    def operations(self) -> list[OperationBytes]:
        """Each operation with the bytes that were alive in it, by category."""
        return bytes_by_operation(self.events)

    @property
    def categories(self) -> CategoryTable:
        """Each category at the peak, where it was largest, and in the whole run. It prints as a table."""
        return bytes_by_category(self.events, self.at_peak)

    def __repr__(self) -> str:
        rows = [(name, amount(size)) for name, size in self.at_peak.items()]
        rows += [("peak", amount(self.peak_bytes)), ("padding", padding_text(self.padding_bytes))]
        return f"Peak {amount(self.peak_bytes)} at {self.peak_op}\n" + table(("category", "bytes"), rows)


def check_report(asked: str, report: object) -> None:
    """Raises ForeignCall for something that is not a report; a job is the usual slip."""
    if not isinstance(report, MemoryReport):
        reason = f"{type(report).__name__} is not a MemoryReport"
        call = "memory.measure(job, device, batch_size)"
        raise ForeignCall(asked, reason, hint=f"write {asked}({call}); memory.plan makes a report too")


def padding_text(padding: int | None) -> str:
    """Padding in words: what was not measured is not 0."""
    return "not measured" if padding is None else amount(padding)


def measure(job: Job, device: Device[Any], batch_size: int, *, count_nodes: bool = False) -> MemoryReport:
    """Runs the job once on the device, with every buffer counted.

    The job gets a traced device in place of ``device``: the same backend, place, dtypes and random numbers. What it
    returns (a tensor, gradients, a model, or a tuple, list or dict of them) counts as its output.

    What earlier jobs left in the device's pool goes back to the system first (``memory_cleanup``). So a job finds the
    same pool each time, and what is cached after it is its own.

    Args:
        job: what to run.
        device: where.
        batch_size: the samples of one batch, handed to the job.
        count_nodes: also count the graph's nodes at the peak, for the ``metadata`` row. Which moment is the peak is
            known only later, so they are counted at each new maximum: that makes the run many times slower.
    """
    check_device("memory.measure", device)
    traced = traced_device(device)
    log = find_log(traced)
    innermost = _innermost(device)
    innermost.memory_cleanup()
    before = innermost.memory_usage()
    at_peak = _AtPeak(log, innermost, count_nodes)
    finish(log, job(traced, batch_size))
    log.watcher = None
    padding = padding_bytes(before, at_peak.usage)
    cached = cached_bytes(at_peak.usage, innermost.memory_usage())
    how: How = "measured" if device.backend.has_values else "simulated"
    return read_report(log, padding, cached=cached, nodes=at_peak.nodes, how=how)


def _innermost(device: Any) -> Device[Any]:
    """The device under all decorators: its counters are those of the pool."""
    while getattr(device, "inner", None) is not None:
        device = device.inner
    found: Device[Any] = device
    return found


def finish(log: EventLog, result: Any) -> None:
    """The last moment of a job: what it returns becomes its output."""
    returned = tensors_in(result)
    if returned and not log.events:
        hint = "make the model and the data on the job's own argument, not on a device from outside"
        raise JobError("the job", "it made nothing on the device that it was handed", hint=hint)
    log.phase = "end"
    log.op("return", "", [])  # so that what is alive at the end is a moment of its own
    for tensor in returned:
        _mark_output(tensor)


class _AtPeak:
    """Looks around whenever more bytes are alive than ever before, as `read_report` finds the peak.

    Attributes:
        usage: what the device said then.
        nodes: how many nodes the graph had then; None if nobody asked.
    """

    def __init__(self, log: EventLog, device: Device[Any], count_nodes: bool) -> None:
        self.usage = device.memory_usage()
        self.nodes = 0 if count_nodes else None
        self._log, self._device, self._peak, self._op = log, device, 0, -1
        self._counter = NodeCounter() if count_nodes else None
        log.watcher = self._watch

    def _watch(self, _: int) -> None:
        live, op = self._log.live_bytes, self._log.last_op
        if live > self._peak or (live == self._peak and op == self._op):
            self._peak, self._op = live, op
            self.usage = self._device.memory_usage()
            if self._counter is not None:
                self.nodes = self._counter.count()


def read_report(
    log: EventLog,
    padding: int | None,
    *,
    cached: int | None = None,
    nodes: int | None = None,
    how: How = "measured",
) -> MemoryReport:
    """The report on a log: a pure function of it, and of what else was counted. None is for what was not."""
    peak, at, step, peak_event, gradients = 0, (0,) * len(Category), SETUP, -1, 0
    for number, (current, totals, counts) in enumerate(moments(log)):
        total, gradients = sum(totals), max(gradients, totals[Category.GRADIENT])
        if counts and (total > peak or (total == peak and current is step)):  # of one operation the last word counts
            peak, at, step, peak_event = total, totals, current, number
    by_name = {category.name.lower(): at[category] for category in Category if at[category]}
    rows = read_extras(log, gradients, padding, cached, nodes, how)
    return MemoryReport(peak, by_name, str(step), padding, log, peak_event, rows)


def traced_device(device: Device[Any]) -> Device[Any]:
    """The same device with `Traced` around its innermost backend, and a fresh log."""
    inner = getattr(device, "inner", None)
    backend: Any = device.backend
    if inner is None:
        return Traced.over(device)
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
