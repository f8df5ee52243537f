"""The memory strip as a widget: the same training step with more or less checkpointing, for other batches."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tinyburn.autodiff import Autodiff, BalancedCheckpointing
from tinyburn.backend import Device, Meta
from tinyburn.base.errors import ConfigError
from tinyburn.base.text import amount
from tinyburn.memory import MemoryReport, plan
from tinyburn.memory.measure import Job
from tinyburn.viz import Picture
from tinyburn.viz import memory as strip
from tinyburn.viz.stacked import stacked

from .checks import check_job, count_problems
from .controls import choice, number, with_slider
from .live import STATES, Controls, Live

MOST_SAMPLES = 1024
NONE, BALANCED = "none", "balanced"


def memory(job: Job, batch_size: int = 16, *, segments: Mapping[str, Job] | None = None) -> Live:
    """`viz.memory` of a training step, with a choice of its checkpointing, and a number for the batch.

    ``none`` keeps every result, and ``balanced`` is ``BalancedCheckpointing``. How a model is cut into segments only
    its owner knows, so each way to do that is a job of its own. All states of one batch have one scale. They are
    planned, so no number is computed.

    Args:
        job: as for `memory.plan`: ``job(device, batch_size)``.
        batch_size: the batch at the start.
        segments: the same step in segments, with ``autodiff.checkpoint``, by the words that the choice has for it.

    Raises ConfigError for an argument that makes no sense; and what a job raises.
    """
    ways = _ways(job, segments or {}, batch_size)

    @lru_cache(STATES)
    def report(way: str, samples: int) -> MemoryReport:
        step, device = ways[way]
        return plan(step, samples, device=device)

    def draw(way: str, samples: int) -> Picture:
        room = max(report(other, samples).peak_bytes for other in ways)
        return strip(report(way, samples), room=room)

    def controls(widgets: Any) -> Controls:
        way = choice(widgets, "Checkpointing", ways, NONE, 140)
        most = max(MOST_SAMPLES, 2 * batch_size)
        samples, slider = with_slider(widgets, number(widgets, "Batch size", batch_size, 1, most))
        return Controls([way, samples, slider], {"way": way, "samples": samples})

    peaks = ", ".join(f"{amount(report(way, batch_size).peak_bytes)} ({way})" for way in ways)
    title = f"Peak by checkpointing, for a batch of {batch_size}: {peaks}"
    return Live(stacked(title, {way: draw(way, batch_size) for way in ways}), draw, controls)


def _ways(job: Job, segments: Mapping[str, Job], batch_size: int) -> dict[str, tuple[Job, Device[Any]]]:
    """For each choice, the job and a device to plan it for. Raises ConfigError, with every reason."""
    check_job("memory", job, "batch_size=16")
    reasons = count_problems(1, 2**20, batch_size=batch_size)
    if not isinstance(segments, Mapping) or not all(map(callable, segments.values())):
        reasons.append("segments are no mapping from words to jobs")
    else:
        reasons += [f"segments have the name {name!r}, which is taken" for name in segments if name in (NONE, BALANCED)]
    if reasons:
        hint = "write widgets.memory(job, 16, segments={'4 segments': other_job})"
        raise ConfigError("widgets.memory", reasons, hint=hint)
    plain: Any = Autodiff[Meta]
    balanced: Any = Autodiff[Meta, BalancedCheckpointing]
    devices = plain.device(), balanced.device()
    ways = {NONE: (job, devices[0]), BALANCED: (job, devices[1])}
    return ways | {name: (step, devices[0]) for name, step in segments.items()}
