"""The exercises of lesson 07, recompute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tinyburn import Device, Distribution, Tensor, activation, memory, nn
from tinyburn.autodiff import checkpoint
from tinyburn.backend import Kind
from tinyburn.module import RunConfig

from .exercises import exercise

AnyTensor: TypeAlias = Tensor[Any, Any, Any]
Way: TypeAlias = Callable[[AnyTensor, list[Any]], AnyTensor]
"""How to run some blocks on a tensor."""

_BATCH = 64


def _keep_all(h: AnyTensor, blocks: list[Any]) -> AnyTensor:
    for block in blocks:
        h = activation.silu(block(h))
    return h


def _in_segments(count: int) -> Way:
    def way(h: AnyTensor, blocks: list[Any]) -> AnyTensor:
        size = len(blocks) // count
        for start in range(0, len(blocks), size):
            part = blocks[start : start + size]
            h = checkpoint(lambda value, part=part: _keep_all(value, part), h)
        return h

    return way


def _job_of(way: Way, count: int = 12) -> Callable[[Device[Any], int], Any]:
    def job(device: Device[Any], batch: int) -> Any:
        device.seed(0)
        blocks = [nn.LinearConfig(32, 32).init(device) for _ in range(count)]
        x: AnyTensor = Tensor.random((batch, 32), Distribution.Normal(), device)
        return (way(x, blocks) ** 2).mean().backward()

    return job


def _operations(way: Way, count: int = 12) -> int:
    report = memory.plan(_job_of(way, count), _BATCH)
    return sum(event[0] == Kind.OP for event in report.events.events)


def _peak(way: Way) -> int:
    return memory.plan(_job_of(way), _BATCH).peak_bytes


@exercise(
    "7.1",
    hints=(
        "on the way back each segment runs again, so each block does: what does one block run?",
        "each block is one `linear` and one `silu`; the number of segments does not matter",
    ),
    solution="answer = 24 * 2",
    wrong=("answer = 24", "answer = 6", "answer = 6 * 4 * 2 + 6"),
)
def is_price(answer: int) -> bool:
    """Whether it is the number of operations that 6 segments add to 24 blocks."""
    return answer == _operations(_in_segments(6), 24) - _operations(_keep_all, 24)


@exercise(
    "7.2",
    hints=(
        "with few segments much is alive while one of them runs again; with many, much is kept for all of them",
        "try each of them with `tb.memory.measure(job_of(in_segments(12 // count)), device, 64)`",
    ),
    solution="answer = 6",
    wrong=("answer = 12", "answer = 4", "answer = 2"),
)
def is_lowest(answer: int) -> bool:
    """Whether no other number of segments has a lower peak."""
    peaks = {count: _peak(_in_segments(count)) for count in (1, 2, 3, 4, 6, 12)}
    return peaks[answer] == min(peaks.values())


@exercise(
    "7.3",
    hints=(
        "12 operations are six blocks that run again; the other six keep everything",
        "the first blocks wait longest, so put them into a segment, or into two",
    ),
    solution="""
def plainly(h, blocks):
    for block in blocks:
        h = tb.activation.silu(block(h))
    return h


def answer(h, blocks):
    h = tb.autodiff.checkpoint(lambda value: plainly(value, blocks[:6]), h)
    return plainly(h, blocks[6:])
""",
    wrong=(
        """
def answer(h, blocks):
    for block in blocks:
        h = tb.activation.silu(block(h))
    return h
""",
        """
def plainly(h, blocks):
    for block in blocks:
        h = tb.activation.silu(block(h))
    return h


def answer(h, blocks):
    h = plainly(h, blocks[:6])
    return tb.autodiff.checkpoint(lambda value: plainly(value, blocks[6:]), h)
""",
        """
def answer(h, blocks):
    for block in blocks:
        h = tb.autodiff.checkpoint(lambda value, block=block: tb.activation.silu(block(value)), h)
    return h
""",
        """
def answer(h, blocks):
    for block in blocks[:6]:
        h = tb.activation.silu(block(h))
    return h
""",
    ),
)
def is_cheap_and_low(answer: Way) -> bool:
    """Whether the way has the same gradients, at most 12 operations more, and a peak below 200 000 bytes."""
    device = RunConfig().init()
    jobs = [_job_of(way)(device, _BATCH).tensors() for way in (_keep_all, answer)]
    expected, found = [[gradient.to_numpy() for gradient in gradients] for gradients in jobs]
    same = len(found) == len(expected) and all(map(np.array_equal, found, expected))
    return same and _operations(answer) <= _operations(_keep_all) + 12 and _peak(answer) < 200_000
