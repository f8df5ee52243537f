"""The training step that several benchmarks time: its numbers, and tinyburn's way to write it, on any backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyburn import Device, Tensor

Arrays = tuple[Any, Any, Any, Any]
Size = tuple[int, int, int]
Step = Callable[[], Any]

SMALL: Size = (16, 8, 4)


def make_arrays(size: Size) -> Arrays:
    """Input, target, weight and bias as float32, the same numbers for every library."""
    batch, d_input, d_output = size
    draw = np.random.default_rng(0).standard_normal
    shapes = ((batch, d_input), (batch, d_output), (d_input, d_output), (1, d_output))
    x, y, weight, bias = (draw(shape, "float32") for shape in shapes)
    return x, y, weight, bias


def tinyburn_step(arrays: Arrays, device: Device[Any]) -> Step:
    """Forward, mean squared error and backward, on a device under Autodiff."""
    x, y, weight, bias = (Tensor.from_data(array, device) for array in arrays)
    weight, bias = weight.require_grad(), bias.require_grad()

    def step() -> Any:
        grads = ((x @ weight + bias - y) ** 2).mean().backward()
        return weight.grad(grads), bias.grad(grads)

    return step
