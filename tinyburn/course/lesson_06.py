"""The exercises of lesson 06, peak memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tinyburn import Device, Tensor, memory, nn
from tinyburn.module import RunConfig

from .exercises import exercise

Job: TypeAlias = Callable[[Device[Any], int], Any]

_LOW = 1424
"""The peak of a step that drops the output and the target after their last use."""


def _training_step(device: Device[Any], batch: int) -> Any:
    """The step of the lesson, with no name for any result."""
    layer = nn.LinearConfig(8, 4).init(device)
    x = Tensor.ones((batch, 8), device)
    target = Tensor.zeros((batch, 4), device)
    return ((layer(x) - target) ** 2).mean().backward()


def _gradients(job: Job, batch: int) -> list[Any]:
    device = RunConfig().init()
    device.seed(0)
    return [gradient.to_numpy() for gradient in job(device, batch).tensors()]


@exercise(
    "6.1",
    hints=(
        "144 bytes of parameters do not grow with the batch, and neither do two single numbers",
        "at the peak four tensors have a row for each sample: x, target, the difference, and its gradient",
    ),
    solution="answer = 144 + 2 * 4 + 1000 * (8 + 3 * 4) * 4",
    wrong=(
        "answer = 1432 * 1000 // 16",
        "answer = 144 + 1000 * (8 + 3 * 4) * 4",
        "answer = 144 + 2 * 4 + 1000 * (8 + 4 * 4) * 4",
    ),
)
def is_peak(answer: int) -> bool:
    """Whether it is the peak with 1 000 samples."""
    return answer == memory.plan(_training_step, 1000).peak_bytes


@exercise(
    "6.2",
    hints=(
        "which two tensors does nobody need after the subtraction?",
        "give the difference a name; then `del` can drop output and target",
    ),
    solution="""
def answer(device, batch):
    layer = tb.nn.LinearConfig(8, 4).init(device)
    x = tb.Tensor.ones((batch, 8), device)
    target = tb.Tensor.zeros((batch, 4), device)
    output = layer(x)
    difference = output - target
    del output, target
    return (difference**2).mean().backward()
""",
    wrong=(
        """
def answer(device, batch):
    layer = tb.nn.LinearConfig(8, 4).init(device)
    x = tb.Tensor.ones((batch, 8), device)
    target = tb.Tensor.zeros((batch, 4), device)
    output = layer(x)
    difference = output - target
    del output
    return (difference**2).mean().backward()
""",
        """
def answer(device, batch):
    layer = tb.nn.LinearConfig(8, 4).init(device)
    x = tb.Tensor.ones((batch, 8), device)
    return (layer(x) ** 2).sum().backward()
""",
        """
def answer(device, batch):
    layer = tb.nn.LinearConfig(8, 4).init(device)
    x = tb.Tensor.ones((8, 8), device)
    target = tb.Tensor.zeros((8, 4), device)
    return ((layer(x) - target) ** 2).mean().backward()
""",
    ),
)
def is_lower(answer: Job) -> bool:
    """Whether the job has the same gradients from fewer bytes."""
    peaks = [memory.plan(answer, batch).peak_bytes for batch in (16, 32)]
    expected, found = _gradients(_training_step, 16), _gradients(answer, 16)
    same = len(found) == len(expected) and all(map(np.allclose, found, expected))
    return same and peaks[0] <= _LOW and peaks[0] < peaks[1]


@exercise(
    "6.3",
    hints=(
        "let a loop measure the step with 1, 2, 3, … samples, and print `at_peak` of each report",
        'ask each report for `at_peak.get("gradient", 0)`: which is the last batch that has some?',
    ),
    solution="""
def step(device, batch):
    layer = tb.nn.LinearConfig(8, 4).init(device)
    x = tb.Tensor.ones((batch, 8), device)
    target = tb.Tensor.zeros((batch, 4), device)
    return ((layer(x) - target) ** 2).mean().backward()


answer = max(batch for batch in range(1, 17) if "gradient" in tb.memory.plan(step, batch).at_peak)
""",
    wrong=("answer = 9", "answer = 16", "answer = 1"),
)
def is_largest_with_gradients(answer: int) -> bool:
    """Whether gradients are alive at the peak with this batch, and not with one sample more."""
    alive = [memory.plan(_training_step, batch).at_peak.get("gradient", 0) > 0 for batch in (answer, answer + 1)]
    return alive == [True, False]
