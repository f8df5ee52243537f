"""The exact peak of one training step: the most bytes of tensor data alive at once, data and parameters included.

tinyburn's number is its own ledger's. PyTorch's comes from its profiler, which reports every allocation and every
release of the CPU allocator, in requested bytes. All tensors are made while it listens, so nothing is left out.
Python's own objects count for neither.

How a step is written decides what stays alive, so each library's step is compared with the other's written alike: here
spelled out, and with a name for the prediction; in `peak_cases` with modules, and more. One more row for each job
compares what is not alike, and says so. It has no target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import torch
from peak_cases import peak_rows
from result import Row, Target, exact_row
from torch_memory import profiled_peak
from training_step import EAGER
from xla_memory import XLA, compiled_bytes

from tinyburn import Autodiff, NdArray, Tensor, activation, memory

Layers: TypeAlias = list[tuple[Any, Any]]
"""The weight and the bias of each layer."""

Forward: TypeAlias = Callable[[Any, Layers], Any]
Step: TypeAlias = Callable[[Forward, Any, Any, Layers], Any]
"""From the forward pass, input, target and layers to what backward() returns."""


@dataclass(frozen=True)
class Job:
    """A model of linear layers, with relu between them. One layer is the training step of `training_step`.

    Attributes:
        batch: the samples.
        widths: features that go in, between the layers, and out.
        most_of_torch: the target for tinyburn's peak over PyTorch's.
        most_bytes: the target for tinyburn's peak without a name for the prediction; None for no such target.
    """

    batch: int
    widths: tuple[int, ...]
    most_of_torch: float
    most_bytes: int | None = None

    @property
    def title(self) -> str:
        """As in ``16x8 to 4``."""
        return f"{self.batch}x" + " to ".join(str(width) for width in self.widths)


JOBS = (
    Job(16, (8, 4), 0.70, most_bytes=1700),
    Job(4096, (512, 256), 0.70),
    Job(512, (256, 512, 512, 10), 0.90),
    Job(512, (64, 64, 64, 64), 0.90),
)


def tinyburn_forward(x: Any, layers: Layers) -> Any:
    for weight, bias in layers[:-1]:
        x = activation.relu(x @ weight + bias)
    weight, bias = layers[-1]
    return x @ weight + bias


def torch_forward(x: Any, layers: Layers) -> Any:
    for weight, bias in layers[:-1]:
        x = torch.relu(x @ weight + bias)
    weight, bias = layers[-1]
    return x @ weight + bias


def spelled_out(forward: Forward, x: Any, y: Any, layers: Layers) -> Any:
    return ((forward(x, layers) - y) ** 2).mean().backward()


def named(forward: Forward, x: Any, y: Any, layers: Layers) -> Any:
    """The name keeps the prediction alive through the backward pass, which has no use for it."""
    prediction = forward(x, layers)
    return ((prediction - y) ** 2).mean().backward()


def tinyburn_peak(job: Job, step: Step) -> int:
    def run(device: Any, batch: int) -> Any:
        x = Tensor.ones((batch, job.widths[0]), device)
        y = Tensor.zeros((batch, job.widths[-1]), device)
        layers = [
            (Tensor.ones((d_in, d_out), device).require_grad(), Tensor.zeros((1, d_out), device).require_grad())
            for d_in, d_out in pairwise(job.widths)
        ]
        return step(tinyburn_forward, x, y, layers)

    return memory.measure(run, Autodiff[NdArray].device(), job.batch).peak_bytes


def torch_peak(job: Job, step: Step) -> int:
    def run() -> None:
        x = torch.ones(job.batch, job.widths[0])
        y = torch.zeros(job.batch, job.widths[-1])
        layers = [
            (torch.ones(d_in, d_out, requires_grad=True), torch.zeros(1, d_out, requires_grad=True))
            for d_in, d_out in pairwise(job.widths)
        ]
        step(torch_forward, x, y, layers)

    return profiled_peak(run)


WAYS: dict[str, Step] = {"spelled out": spelled_out, "prediction named": named}
"""Each way to write the step by hand. With modules it is in `peak_cases`."""


def run() -> list[Row]:
    rows = []
    for job in JOBS:
        ours = {way: tinyburn_peak(job, step) for way, step in WAYS.items()}
        theirs = {way: torch_peak(job, step) for way, step in WAYS.items()}
        xla = compiled_bytes(job.batch, job.widths)
        for way in WAYS:
            targets = [Target("ratio", job.most_of_torch), *_byte_targets(job, way)]
            rows.append(exact_row("peak_bytes", f"{job.title}, {way}", ours[way], EAGER, theirs[way], *targets))
        unlike = f"{job.title}, not alike: no name / PyTorch named"
        rows.append(exact_row("peak_bytes", unlike, ours["spelled out"], EAGER, theirs["prediction named"]))
        if xla is not None:
            rows.append(exact_row("peak_bytes", f"{job.title}, spelled out", ours["spelled out"], XLA, xla))
    return [*rows, *peak_rows()]


def _byte_targets(job: Job, way: str) -> list[Target]:
    """A name may cost the bytes of the prediction, and no more."""
    if job.most_bytes is None:
        return []
    prediction = 4 * job.batch * job.widths[-1]
    return [Target("value", job.most_bytes + (prediction if way == "prediction named" else 0))]
