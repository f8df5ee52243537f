"""Predicting what a job does with memory: the same program, run on shapes."""

from __future__ import annotations

from typing import Any

from tinyburn.autodiff import Autodiff
from tinyburn.backend import Device, Meta
from tinyburn.backend.log import EventLog

from .extras import NodeCounter
from .measure import Job, MemoryReport, find_log, finish, read_report, traced_device


def plan(
    job: Job,
    batch_size: int,
    *,
    device: Device[Any] | None = None,
    precision: str = "float32",
    count_nodes: bool = False,
) -> MemoryReport:
    """What `measure` would report, without allocating any tensor's data.

    The events are those of the real run, one for one, because it is the same program.

    Args:
        job: as for `measure`. It cannot read values, which do not exist here.
        batch_size: the samples of one batch.
        device: whose decorators, options and dtypes to plan for; None for ``Autodiff`` on any backend.
        precision: the dtype of new Float tensors, if there is no device to tell it.
        count_nodes: also count the graph's nodes at the peak, for the ``metadata`` row. Which moment is the peak is
            known only at the end, so the job then runs a second time.
    """
    log = run_on_shapes(job, batch_size, shapes_device(device, precision))
    report = read_report(log, None, how="simulated")
    if not count_nodes:
        return report
    nodes = _nodes_at(report, job, batch_size, shapes_device(device, precision))
    return read_report(log, None, nodes=nodes, how="simulated")


def shapes_device(device: Device[Any] | None, precision: str = "float32") -> Device[Any]:
    """A device like the given one, with `Traced[Meta]` in place of its innermost backend, and a fresh log."""
    if device is None:
        made: Any = Autodiff[Meta]
        device = made.device(float_dtype=precision)
    return traced_device(_on_meta(device))


def _on_meta(device: Any) -> Device[Any]:
    inner = getattr(device, "inner", None)
    if inner is None:
        return Meta.device(float_dtype=device.float_dtype, int_dtype=device.int_dtype)
    within = _on_meta(inner)
    made: Device[Any] = device.backend.over(within)
    return made


def run_on_shapes(job: Job, batch_size: int, device: Device[Any]) -> EventLog:
    """Runs the job on a device of `shapes_device`; its log ends with what is returned."""
    log = find_log(device)
    finish(log, job(device, batch_size))
    return log


def _nodes_at(report: MemoryReport, job: Job, batch_size: int, device: Device[Any]) -> int | None:
    """The graph's nodes at the peak, counted in a second run; None if that run did something else."""
    counts: list[int] = []
    counter = NodeCounter()
    log = find_log(device)

    def watch(index: int) -> None:
        if index == report.peak_event:
            counts.append(counter.count())

    log.watcher = watch
    run_on_shapes(job, batch_size, device)
    log.watcher = None
    upto = report.peak_event + 1
    same = log.events[:upto] == report.events.events[:upto]
    return counts[0] if counts and same else None if upto else 0
