"""PyTorch's own account of its memory: the events of its profiler."""

from __future__ import annotations

import gc
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch


def profiled_peak(job: Callable[[], None]) -> int:
    """The highest running sum of what PyTorch's CPU allocator gave out and took back during a job.

    The job makes all its tensors and lets them go. Raises RuntimeError if the events do not end with nothing alive.
    """
    job()  # the first call sets up what stays alive for the whole process
    gc.collect()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        job()
        gc.collect()  # an optimizer and its hooks refer to each other, and hold the parameters
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    changes = sorted((event for event in events if event["name"] == "[memory]"), key=lambda event: float(event["ts"]))
    alive = peak = 0
    for event in changes:
        alive += event["args"]["Bytes"]
        peak = max(peak, alive)
    if alive or not peak:
        raise RuntimeError(f"the profiler saw {len(changes)} events that leave {alive} bytes; it should be none")
    return peak
