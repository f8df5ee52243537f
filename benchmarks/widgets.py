"""How long a reader waits when a control of a widget moves: a state that was never drawn, up to its HTML.

Every widget is as large as it is in its lesson.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import cycle
from statistics import median
from typing import Any

from race import SCALE, race, timer
from result import Row, Target

from tinyburn import Distribution, NdArray, Tensor, activation, nn, widgets
from tinyburn.autodiff import checkpoint

ROUNDS = 20
WAIT = Target("value", 100.0)

AnyTensor = Tensor[Any, Any]


def dense_step(device: Any, batch: int) -> Any:
    """Lesson 08."""
    output = nn.LinearConfig(512, 256).init(device)(Tensor.ones((batch, 512), device))
    return ((output - Tensor.zeros((batch, 256), device)) ** 2).mean().backward()


def blocks_in(segments: int) -> Any:
    """Lesson 07: twelve blocks in so many segments, or with everything kept."""

    def run(h: AnyTensor, part: list[Any]) -> AnyTensor:
        for block in part:
            h = activation.silu(block(h))
        return h

    def job(device: Any, batch: int) -> Any:
        blocks = [nn.LinearConfig(32, 32).init(device) for _ in range(12)]
        h: AnyTensor = Tensor.ones((batch, 32), device)
        size = 12 // max(segments, 1)
        for start in range(0, 12, size):
            part = blocks[start : start + size]
            h = checkpoint(lambda value, part=part: run(value, part), h) if segments else run(h, part)
        return (h**2).mean().backward()

    return job


def shares() -> AnyTensor:
    """Lesson 13: two heads, 24 tokens."""
    device = NdArray.device()
    device.seed(0)
    scores: AnyTensor = Tensor.random((2, 24, 24), Distribution.Normal(0.0, 2.0), device)
    return activation.softmax(scores, 2)


def moved(shown: widgets.Live, moving: str, values: Iterable[Any], **others: Any) -> Callable[[], str]:
    """Moves one control through its values. Each state is drawn anew: what a widget remembers is left out."""
    turns = cycle(values)
    return lambda: shown.draw(**others, **{moving: next(turns)}).html


def cases() -> dict[str, Callable[[], str]]:
    """For each widget the control that costs most, by the name of what it moves."""
    batch = widgets.batch(dense_step, 5 * 2**20, formula_at=(100, 200))
    strip = widgets.memory(blocks_in(0), 64, segments={"4 segments": blocks_in(4)})
    fan, clock, lying = widgets.depth_fan(gain=1.4), widgets.update_ratios(), widgets.windows()
    looking = widgets.attention(shares(), "a" * 24)
    budgets, rates = range(5 * 2**20, 2**24, 2**14), [0.001, 0.01, 0.1, 1.0]
    return {
        "batch lines, another budget": moved(batch, "budget", budgets, samples=500, dtype="float32"),
        "memory strip, another batch": moved(strip, "samples", range(1, 1024), way="4 segments"),
        "depth fan, another depth": moved(fan, "layers", range(10, 31), name="relu", gain=1.4),
        "ratio clock, another rate": moved(clock, "rate", rates, way="by global norm", threshold=1.0),
        "windows, another one": moved(lying, "window", range(1, 37), kernel_size=3, stride=1, padding=0),
        "attention, another position": moved(looking, "position", range(24), head=1),
    }


def run() -> list[Row]:
    rows = []
    for case, redraw in cases().items():
        times = race({"redraw": timer(redraw)}, ROUNDS)["redraw"]
        rows.append(Row("widgets", f"redraw of {case}", "", "ms", median(times) * SCALE["ms"], targets=(WAIT,)))
    return rows
