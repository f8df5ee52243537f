"""Who keeps each buffer alive at the peak, and why: the rules of graph nodes, and Python names."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeAlias

from tinyburn.autodiff import Gradients
from tinyburn.autodiff.recipes import sources_of
from tinyburn.backend import Category, Device, Kind
from tinyburn.backend.log import Event, EventLog
from tinyburn.backend.operations import label_of
from tinyburn.backend.traced import TracedArray
from tinyburn.base.errors import BackendMismatch
from tinyburn.module import Module, Param
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_device

from .measure import Job, JobError, find_log, read_report
from .plan import run_on_shapes, shapes_device
from .timeline import Step, steps_of

Names: TypeAlias = dict[int, tuple[str, ...]]
"""For each buffer the names that hold it, the innermost function's first, each as ``name in function``."""

_OPTIMIZERS = "tinyburn.optim."
_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


@dataclass(frozen=True)
class Saver:
    """A graph node that keeps a buffer for its derivative: "matmul keeps a in mlp.l1".

    Attributes:
        op: the operation whose rule will read the buffer.
        operand: the name by which it asks: an operand's, or ``out``.
        path: the module in which the operation ran.
        event: the index of the SAVE event.
    """

    op: str
    operand: str
    path: str
    event: int

    def __str__(self) -> str:
        return f"{self.op} keeps {self.operand}" + (f" in {self.path}" if self.path else "")


@dataclass(frozen=True)
class Holder:
    """One buffer that is alive at the peak.

    Attributes:
        buffer: its number in the log.
        bytes: its size.
        category: what it is at the peak.
        made_by: the operation that wrote what is in it now. Mostly that is the one that made it.
        written: the index of the event at which it did: its ALLOC, or the last DONATE until then.
        since: the index of its ALLOC event.
        until: the index of its FREE event; None if the log ends before.
        savers: the graph nodes that keep it. A buffer with neither savers nor names is held by the operation that runs.
        names: the Python names that keep it, innermost function first, each as ``name in function``.
    """

    buffer: int
    bytes: int
    category: Category
    made_by: Step
    written: int
    since: int
    until: int | None
    savers: tuple[Saver, ...]
    names: tuple[str, ...]


def holders_at_peak(job: Job, batch_size: int, *, device: Device[Any] | None = None) -> tuple[Holder, ...]:
    """Every buffer that is alive at the peak of a job, the largest first.

    The job runs twice on shapes, with the device as for `plan`: once to find the peak, and once more to look, at that
    moment, at the local names of every function between the job and the operation that runs.

    Raises JobError if the second run is not the same as the first.
    """
    log = run_on_shapes(job, batch_size, shapes_device(device))
    peak = read_report(log, None).peak_event
    names = _names_at(peak, log, job, batch_size, shapes_device(device))
    return read_holders(log, peak, names)


def holders_now(device: Device[Any]) -> tuple[Holder, ...]:
    """Every buffer of a traced device that is alive now, the largest first: what keeps my notebook's memory?

    Names are those of the caller's module, such as a notebook, and not of functions. Among them are ``_`` and ``Out``,
    with which IPython keeps each result that a cell has shown. A tensor also keeps what the graph behind it has saved:
    then the name is as in ``the graph of loss in <module>``.

    Raises BackendMismatch if the device keeps no log.
    """
    check_device("memory.holders_now", device)
    if not device.backend.observed:
        backend = device.backend.__name__
        hint = "compute on Traced[NdArray].device(), or on Autodiff[Traced[NdArray]].device()"
        raise BackendMismatch("memory.holders_now", f"{backend} keeps no log of its buffers", hint=hint)
    log = find_log(device)
    names = {name: value for name, value in sys._getframe(1).f_globals.items() if not name.startswith("__")}
    return read_holders(log, len(log.events) - 1, _names_of_module(names, log))


def _names_at(peak: int, log: EventLog, job: Job, batch_size: int, device: Device[Any]) -> Names:
    """The names at one event of a second run."""
    again = find_log(device)
    found: Names = {}

    def watch(index: int) -> None:
        if index == peak:
            found.update(names_now(again, stop=run_on_shapes.__code__))

    again.watcher = watch
    run_on_shapes(job, batch_size, device)
    again.watcher = None
    if again.events[: peak + 1] != log.events[: peak + 1]:
        hint = "make it depend on the device and the batch size alone, not on what an earlier run has left"
        raise JobError("holders_at_peak", "the job's second run did something else than its first", hint=hint)
    return found


def read_holders(log: EventLog, event: int, names: Names) -> tuple[Holder, ...]:
    """What is alive right after one event: a pure function of the log, and of the names that were found there."""
    savers = open_savers(log, event)
    alive: dict[int, _Block] = {}
    for index, (current, step) in enumerate(steps_of(log)):
        kind, buffer = current[0], current[1]
        if index > event:
            break
        if kind == Kind.ALLOC:
            alive[buffer] = _Block(current[2], current[3], step, index, index)
        elif kind == Kind.DONATE:
            alive[buffer].made_by, alive[buffer].written = step, index
        elif kind == Kind.RECATEGORISE:
            alive[buffer].category = current[2]
        elif kind == Kind.FREE:
            del alive[buffer]
    ends = {later[1]: event + 1 + index for index, later in enumerate(log.events[event + 1 :]) if later[0] == Kind.FREE}
    holders = [
        Holder(
            buffer,
            block.bytes,
            Category(block.category),
            block.made_by,
            block.written,
            block.since,
            ends.get(buffer),
            savers.get(buffer, ()),
            names.get(buffer, ()),
        )
        for buffer, block in alive.items()
    ]
    return tuple(sorted(holders, key=lambda holder: (-holder.bytes, holder.buffer)))


@dataclass(slots=True)
class _Block:
    """What the log has said of a buffer so far; the names are those of `Holder`."""

    bytes: int
    category: int
    made_by: Step
    written: int
    since: int


def open_savers(log: EventLog, event: int) -> dict[int, tuple[Saver, ...]]:
    """The saves of each buffer that have not ended right after one event.

    A RELEASE says which operation, operand and module it was; if several such saves are open, it is the latest.
    """
    saves: dict[int, list[tuple[Event, int]]] = {}  # for each buffer: who keeps it, and the SAVE
    for index, current in enumerate(log.events[: event + 1]):
        if current[0] == Kind.SAVE:
            saves.setdefault(current[1], []).append((current[3:], index))
        elif current[0] == Kind.RELEASE:
            _end_latest(saves[current[1]], current[2:])
    return {buffer: tuple([_read_saver(log, *one) for one in still]) for buffer, still in saves.items() if still}


def _end_latest(saves: list[tuple[Event, int]], keeper: Event) -> None:
    """From behind: a parameter can have many saves, and a backward pass mostly ends the last one first."""
    latest = next(at for at in reversed(range(len(saves))) if saves[at][0] == keeper)
    del saves[latest]


def _read_saver(log: EventLog, keeper: Event, index: int) -> Saver:
    operand, op, path = keeper
    return Saver(label_of(log.names[op]), log.names[operand], log.names[path], index)


# Python names that hold tensors: a local variable keeps its tensor's buffer alive as long as its function runs


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


def _names_of_module(values: dict[str, Any], log: EventLog) -> Names:
    """The names of a module that hold buffers of a log, and those that hold a graph which does."""
    found: dict[int, dict[str, None]] = {}
    for name, value in values.items():
        for buffer in _buffers_in(value, log):
            found.setdefault(buffer, {})[f"{name} in <module>"] = None
        for tensor in _tensors_in(value, set()):
            for buffer in _buffers_of_graph(tensor, log):
                found.setdefault(buffer, {})[f"the graph of {name} in <module>"] = None
    return {buffer: tuple(names) for buffer, names in found.items()}


def _buffers_in(value: Any, log: EventLog) -> Iterator[int]:
    for tensor in _tensors_in(value, set()):
        yield from _buffer_of(tensor.primitive, log)


def _buffer_of(primitive: Any, log: EventLog) -> Iterator[int]:
    while primitive is not None and not isinstance(primitive, TracedArray):
        primitive = getattr(primitive, "primitive", None)
    if primitive is not None and primitive.buffer.log is log:
        yield primitive.buffer.id


def _buffers_of_graph(tensor: Tensor[Any, Any, Any], log: EventLog) -> Iterator[int]:
    """What the rules of all nodes behind a tensor have saved."""
    waiting = [node] if (node := getattr(tensor.primitive, "node", None)) is not None else []
    seen = set(waiting)
    while waiting:
        for parent, rule, saved in waiting.pop().edges or ():
            for _, value in rule.tensors(saved):
                for primitive in sources_of([value]):
                    yield from _buffer_of(primitive, log)
            if parent not in seen:
                seen.add(parent)
                waiting.append(parent)


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
