"""The exercises of lesson 08, the largest batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tinyburn import Device, Tensor, memory, nn
from tinyburn.module import RunConfig

from .exercises import exercise

Job: TypeAlias = Callable[[Device[Any], int], Any]

_BUDGET = 64 * 2**20


def _dense_step(device: Device[Any], batch: int) -> Any:
    layer = nn.LinearConfig(512, 256).init(device)
    x = Tensor.ones((batch, 512), device)
    target = Tensor.zeros((batch, 256), device)
    return _mean_squared_error(layer(x), target).backward()


def _mean_squared_error(output: Any, target: Any) -> Any:
    return ((output - target) ** 2).mean()


def _gradients(job: Job) -> list[Any]:
    device = RunConfig().init()
    device.seed(1)
    return [gradient.to_numpy() for gradient in job(device, 16).tensors()]


@exercise(
    "8.1",
    hints=(
        "is 1 000 above or below the batch at which the peak moves?",
        "with 1 000 samples the peak is at the end of the forward pass: 525 316 bytes are fixed",
    ),
    solution="answer = 525_316 + 6_144 * 1000",
    wrong=("answer = 1_050_628 + 4_096 * 1000", "answer = 6_144 * 1000", "answer = 1_050_628 + 6_144 * 1000"),
)
def is_smallest(answer: int) -> bool:
    """Whether 1 000 samples need just so many bytes."""
    return answer == memory.plan(_dense_step, 1000).peak_bytes


@exercise(
    "8.2",
    hints=(
        "a batch must be within the budget on every line",
        "compute the formula for each line, rounded down with `//`, and take the smallest result",
    ),
    solution="""
def answer(budget, lines):
    return min((budget - fixed) // per_sample for fixed, per_sample in lines)
""",
    wrong=(
        """
def answer(budget, lines):
    return max((budget - fixed) // per_sample for fixed, per_sample in lines)
""",
        """
def answer(budget, lines):
    fixed, per_sample = lines[0]
    return (budget - fixed) // per_sample
""",
        """
def answer(budget, lines):
    return min((budget - fixed) / per_sample for fixed, per_sample in lines)
""",
        """
def answer(budget, lines):
    fixed, per_sample = max(lines, key=lambda line: line[1])
    return (budget - fixed) // per_sample
""",
    ),
)
def is_largest(answer: Callable[[int, list[tuple[int, int]]], int]) -> bool:
    """Whether the function finds the largest batch, by trying all of them."""
    lines = [(1000, 10), (500, 30), (2000, 2)]
    cases = [(budget, lines[:count]) for budget in (2010, 2345, 9999) for count in (1, 2, 3)]
    return all(answer(budget, list(given)) == _by_trying(budget, given) for budget, given in cases)


def _by_trying(budget: int, lines: list[tuple[int, int]]) -> int:
    fits = [max(fixed + each * batch for fixed, each in lines) <= budget for batch in range(1000)]
    return fits.index(False) - 1


@exercise(
    "8.3",
    hints=(
        "the backward pass needs x and the difference; who still holds the output?",
        "a function has names for its arguments; write the loss as one expression: then no result has a name",
    ),
    solution="""
def answer(device, batch):
    layer = tb.nn.LinearConfig(512, 256).init(device)
    x = tb.Tensor.ones((batch, 512), device)
    target = tb.Tensor.zeros((batch, 256), device)
    return ((layer(x) - target) ** 2).mean().backward()
""",
    wrong=(
        """
def answer(device, batch):
    layer = tb.nn.LinearConfig(512, 256).init(device)
    x = tb.Tensor.ones((batch, 512), device)
    target = tb.Tensor.zeros((batch, 256), device)
    output = layer(x)
    return ((output - target) ** 2).mean().backward()
""",
        """
def answer(device, batch):
    layer = tb.nn.LinearConfig(512, 256).init(device)
    x = tb.Tensor.ones((batch, 512), device)
    target = tb.Tensor.zeros((batch, 256), device)
    return ((layer(x) - target) ** 2).sum().backward()
""",
        """
def answer(device, batch):
    layer = tb.nn.LinearConfig(512, 256).init(device)
    x = tb.Tensor.ones((16, 512), device)
    target = tb.Tensor.zeros((16, 256), device)
    return ((layer(x) - target) ** 2).mean().backward()
""",
    ),
)
def is_leaner(answer: Job) -> bool:
    """Whether the job has the same gradients, and 13 000 samples fit."""
    expected, found = _gradients(_dense_step), _gradients(answer)
    same = len(found) == len(expected) and all(map(np.allclose, found, expected))
    one, many = [memory.plan(answer, batch).peak_bytes for batch in (1, 13_000)]
    return same and one < many <= _BUDGET
