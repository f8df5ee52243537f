"""What it costs to write every operation and buffer to the event log."""

from __future__ import annotations

from typing import Any

from race import race, timed_row, timer
from result import Row
from small_ops import make_arrays, make_tensors

from tinyburn import Autodiff, Backend, NdArray, Tensor, Traced

ROUNDS = 60


def make_step(backend: type[Backend]) -> Any:
    """The small training step, on any backend under Autodiff."""
    device = backend.device()
    arrays = make_arrays()
    x, y = (Tensor.from_data(arrays[name], device) for name in ("x", "a"))
    weight = Tensor.from_data(arrays["w"], device).require_grad()
    bias = Tensor.zeros((1, 4), device).require_grad()
    return lambda: ((x @ weight + bias - y) ** 2).mean().backward()


def run() -> list[Row]:
    traced: Any = Traced[NdArray]
    # The log only grows, so each round starts with a fresh device.
    fresh = {"make": lambda: make_tensors(traced.device())}
    ops = {
        "Traced": timer("a + b", fresh, setup="tensors = make(); a, b = tensors['a'], tensors['b']"),
        "NdArray": timer("a + b", make_tensors(NdArray.device())),
    }
    fresh_step = {"make": lambda: make_step(Autodiff[traced])}
    steps = {
        "Traced": timer("step()", fresh_step, setup="step = make()"),
        "NdArray": timer(make_step(Autodiff[NdArray])),
    }
    return [
        timed_row("tracing", "add (16, 4)", race(ops, ROUNDS), "Traced", "NdArray", "us"),
        timed_row("tracing", "training step 16x8 to 4", race(steps, ROUNDS), "Traced", "NdArray", "us"),
    ]
