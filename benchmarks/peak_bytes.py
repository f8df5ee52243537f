"""The exact peak of one training step: the most bytes of tensor data alive at once, data and parameters included.

tinyburn's number is its own ledger's. PyTorch's comes from its profiler, which reports every allocation and every
release of the CPU allocator, in requested bytes. All tensors are made while it listens, so nothing is left out.
Python's own objects count for neither.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import torch
from result import Row, Target, exact_row
from training_step import EAGER, LARGE, SMALL, Size

from tinyburn import Autodiff, NdArray, Tensor, memory, nn

Step: TypeAlias = Callable[[Any, Any, Any, Any], Any]
"""From input, target, weight and bias to what backward() returns."""


def spelled_out(x: Any, y: Any, weight: Any, bias: Any) -> Any:
    return ((x @ weight + bias - y) ** 2).mean().backward()


def named(x: Any, y: Any, weight: Any, bias: Any) -> Any:
    """The name keeps the prediction alive through the backward pass, which has no use for it."""
    prediction = x @ weight + bias
    return ((prediction - y) ** 2).mean().backward()


def tinyburn_mse(x: Any, y: Any, weight: Any, bias: Any) -> Any:
    return nn.MseLoss()(x @ weight + bias, y).backward()


def torch_mse(x: Any, y: Any, weight: Any, bias: Any) -> Any:
    return torch.nn.functional.mse_loss(x @ weight + bias, y).backward()


def tinyburn_peak(size: Size, step: Step) -> int:
    def job(device: Any, batch_size: int) -> Any:
        _, d_input, d_output = size
        x = Tensor.ones((batch_size, d_input), device)
        y = Tensor.zeros((batch_size, d_output), device)
        weight = Tensor.ones((d_input, d_output), device).require_grad()
        bias = Tensor.zeros((1, d_output), device).require_grad()
        return step(x, y, weight, bias)

    return memory.measure(job, Autodiff[NdArray].device(), size[0]).peak_bytes


def torch_peak(size: Size, step: Step) -> int:
    def job() -> None:
        batch_size, d_input, d_output = size
        x = torch.ones(batch_size, d_input)
        y = torch.zeros(batch_size, d_output)
        weight = torch.ones(d_input, d_output, requires_grad=True)
        bias = torch.zeros(1, d_output, requires_grad=True)
        step(x, y, weight, bias)

    return profiled_peak(job)


def profiled_peak(job: Callable[[], None]) -> int:
    """The highest running sum of what PyTorch's allocator gave out and took back during a job."""
    job()  # the first call sets up what stays alive for the whole process
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        job()
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


# case: (tinyburn's step, PyTorch's, the most that tinyburn may need at the small size)
CASES: dict[str, tuple[Step, Step, Target | None]] = {
    "spelled out": (spelled_out, spelled_out, Target("value", 1700)),
    "prediction named": (named, named, Target("value", 1700 + 256)),
    "mse_loss": (tinyburn_mse, torch_mse, None),
}


def run() -> list[Row]:
    rows = []
    for size in (SMALL, LARGE):
        for name, (ours, theirs, target) in CASES.items():
            case = "{}x{} to {}, {}".format(*size, name)
            limit = target if size == SMALL else None
            rows.append(
                exact_row("peak_bytes", case, tinyburn_peak(size, ours), EAGER, torch_peak(size, theirs), limit)
            )
    return rows
