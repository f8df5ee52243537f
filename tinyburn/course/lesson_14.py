"""Exercises of lesson 14: the choices of a run, moving to a device, the order of a sum, a missing backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tinyburn import Autodiff, Initializer, NdArray, RunConfig, Tensor, Traced, nn

from .exercises import exercise


@exercise(
    "14.1",
    hints=(
        "tb.RunConfig has a field for each choice. print(tb.RunConfig()) shows them all.",
        "Set precision, batch_size and gradients. The backend is NumPy if you say nothing.",
    ),
    solution='answer = tb.RunConfig(precision="float64", batch_size=32, gradients=False)',
    wrong=(
        'answer = tb.RunConfig(precision="float64", batch_size=32)',
        'answer = tb.RunConfig(backend="meta", precision="float64", batch_size=32, gradients=False)',
        'answer = tb.RunConfig(precision="float64", batch_size=32, gradients=False, trace=True)',
    ),
)
def careful(run: RunConfig) -> bool:
    """NumPy itself, in float64, with batches of 32."""
    device = run.init()
    return device.backend is NdArray and str(device.float_dtype) == "float64" and run.batch_size == 32


@exercise(
    "14.2",
    hints=(
        "A model has the same method as a tensor to get to another device.",
        "Move the model and x with to_device, call the model, and end with to_numpy().",
    ),
    solution="""
def answer(model, x, device):
    return model.to_device(device)(x.to_device(device)).to_numpy()
""",
    wrong=(
        "answer = lambda model, x, device: model(x).to_numpy()",
        "answer = lambda model, x, device: model(x.to_device(device)).to_numpy()",
        "answer = lambda model, x, device: model.to_device(device)(x.to_device(device))",
    ),
)
def computes_anywhere(function: Callable[..., Any]) -> bool:
    """The model, its input and the device are on three backends that compute with NumPy."""
    plain, tracked, logged = NdArray.device(), Autodiff[NdArray].device(), Traced[NdArray].device()
    model = nn.LinearConfig(3, 2, initializer=Initializer.Constant(0.5)).init(tracked)
    x = Tensor.ones((4, 3), plain)
    results = [function(model, x, device) for device in (plain, tracked, logged)]
    return all(isinstance(y, np.ndarray) and y.shape == (4, 2) and bool((y == 2).all()) for y in results)


@exercise(
    "14.3",
    hints=(
        "In one order the smallest number must be lost, in the other one it must not.",
        "Two numbers that cancel, such as 8 and -8, and one that is too small to change 8.",
    ),
    solution="answer = (8.0, -8.0, 1e-8)",
    wrong=("answer = (0.1, 0.2, 0.3)", "answer = (1, 2, 3)", "answer = (1e8, -1e8, 1.0)"),
)
def order_matters(three: tuple[float, float, float]) -> bool:
    """In float32, and between -10 and 10."""
    a, b, c = (np.float32(number) for number in three)
    return all(-10 <= number <= 10 for number in (a, b, c)) and bool((a + b) + c != a + (b + c))


@exercise(
    "14.4",
    hints=(
        "config.init() raises tb.BackendUnavailable if the device is not there.",
        "Then take dataclasses.replace(config, ...): another backend, and also no device of the old one.",
    ),
    solution="""
import dataclasses

def answer(config):
    try:
        return config.init()
    except tb.BackendUnavailable:
        return dataclasses.replace(config, backend="ndarray", device=None).init()
""",
    wrong=(
        "answer = lambda config: config.init()",
        "answer = lambda config: tb.RunConfig().init()",
        "answer = lambda config: tb.RunConfig(precision=config.precision).init()",
    ),
)
def always_a_device(function: Callable[[RunConfig], Any]) -> bool:
    """What is there is taken as it is. Of what is nowhere, gradient mode and trace stay."""
    there = [RunConfig(precision=name, gradients=mode) for name in ("float32", "float64") for mode in (True, False)]
    wanted = [(run, run) for run in there]
    for mode in (True, False):
        instead = RunConfig(gradients=mode, trace=mode)
        wanted.append((replace(instead, backend="wgpu", device="nowhere:9"), instead))
    pairs = [(function(run), meant.init()) for run, meant in wanted]
    return all(got.backend is right.backend and got.float_dtype == right.float_dtype for got, right in pairs)
