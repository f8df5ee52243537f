"""How long a reader waits for the next step of the stepper: one redraw, up to the HTML that the widget shows.

What is the same in all frames is drawn before the first one, so a longer computation may cost little more a step.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from race import race, timed_row, timer
from result import Row, Target

from tinyburn import Autodiff, NdArray, Tensor, Traced, viz

LONG, SHORT = 200, 20
ROUNDS = 30

WAIT = Target("value", 100.0)
GROWTH = Target("ratio", 3.0)


def computed(operations: int) -> viz.Stepper:
    """Matrices of 16 x 16, whose gradients are added where a result is used twice."""
    device: Any = Autodiff[Traced[NdArray]].device()
    w = Tensor.full((16, 16), 0.1, device).require_grad()
    h = w
    for _ in range(operations // 4):
        h = (h @ w).tanh() * 0.5 + h
    loss = h.sum()
    loss.backward()
    return viz.stepper(loss, w=w)


def redraw(picture: viz.Stepper) -> Callable[[], str]:
    """Draws one step after another."""
    number = count()
    frames = picture.frames
    return lambda: frames[next(number) % len(frames)].html


def run() -> list[Row]:
    long, short = (redraw(computed(operations)) for operations in (LONG, SHORT))
    times = race({"long": timer(long), "short": timer(short)}, ROUNDS)
    case = f"redraw of a step, {LONG} operations / {SHORT}"
    return [timed_row("stepper", case, times, "long", "short", "ms", WAIT, GROWTH)]
