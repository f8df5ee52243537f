"""One training step: forward, mean squared error, backward. The same mathematics in three libraries.

The small size is where the cost of a framework shows: 2 kB of data, so nearly all of the time is Python. The large
one is where it must not show: three matrix products of 4096 x 512 x 256 are all that matters.
"""

from __future__ import annotations

from typing import Any

import autograd
import autograd.numpy as anp
import numpy as np
import torch
from race import race, timed_row, timer
from result import Row, Target
from step import SMALL, Arrays, Size, Step, make_arrays, tinyburn_step

from tinyburn import Autodiff, NdArray

LARGE: Size = (4096, 512, 256)
EAGER, EAGER_MSE, HIPS = "PyTorch eager", "PyTorch mse_loss", "HIPS autograd"


def torch_step(arrays: Arrays, fused_loss: bool) -> Step:
    """``fused_loss`` is mse_loss, which computes difference, square and mean in one kernel."""
    x, y, weight, bias = (torch.from_numpy(array.copy()) for array in arrays)
    weight.requires_grad_()
    bias.requires_grad_()

    def spelled_out() -> Any:
        weight.grad = bias.grad = None
        ((x @ weight + bias - y) ** 2).mean().backward()
        return weight.grad, bias.grad

    def fused() -> Any:
        weight.grad = bias.grad = None
        torch.nn.functional.mse_loss(x @ weight + bias, y).backward()
        return weight.grad, bias.grad

    return fused if fused_loss else spelled_out


def hips_step(arrays: Arrays) -> Step:
    x, y, weight, bias = arrays
    gradient = autograd.grad(lambda weight, bias: anp.mean((x @ weight + bias - y) ** 2), (0, 1))
    return lambda: gradient(weight, bias)


def check_equal_gradients(steps: dict[str, Step]) -> None:
    """A race between steps that compute different things would say nothing."""
    expected = [np.asarray(gradient) for gradient in steps[HIPS]()]
    for name, step in steps.items():
        for found, wanted in zip(step(), expected, strict=True):
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-3, atol=1e-5, err_msg=name)


def run() -> list[Row]:
    rows = []
    for size, rounds, unit, targets in ((SMALL, 200, "us", [Target("ratio", 1.0)]), (LARGE, 15, "ms", [])):
        arrays = make_arrays(size)
        steps = {
            "tinyburn": tinyburn_step(arrays, Autodiff[NdArray].device()),
            EAGER: torch_step(arrays, fused_loss=False),
            EAGER_MSE: torch_step(arrays, fused_loss=True),
            HIPS: hips_step(arrays),
        }
        check_equal_gradients(steps)
        times = race({name: timer(step) for name, step in steps.items()}, rounds)
        case = "{}x{} to {}".format(*size)
        for other in (EAGER, EAGER_MSE, HIPS):
            limits = [] if other == HIPS else targets
            rows.append(timed_row("training_step", case, times, "tinyburn", other, unit, *limits))
    return rows
