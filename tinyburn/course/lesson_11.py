"""Lesson 11: where NaN comes from, clipping, and gradients that vanish or explode with depth."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyburn import Autodiff, Distribution, Finite, NdArray, NonFinite, Param, Tensor
from tinyburn.viz import depth_fan

from .exercises import exercise

Arrays = list[Any]


@exercise(
    "11.1",
    hints=(
        "What is the gradient of 5 w * w? By which factor does a step multiply w?",
        "The factor is 1 minus the learning rate times 10. It should be 0.",
    ),
    solution="answer = 1 / 10",
    wrong=("answer = 1 / 5", "answer = 1 / 6", "answer = 2 / 10", "answer = 0"),
)
def one_step(answer: float) -> bool:
    """1 - 10 times the rate is 0."""
    return abs(1 - 10 * answer) < 1e-6


@exercise(
    "11.2",
    hints=(
        "One norm for all arrays: add up the squares of all numbers of all arrays, and take the root.",
        "If the norm is above the threshold, multiply each array by threshold / norm. Else change nothing.",
    ),
    solution="""
import numpy as np


def answer(gradients, threshold):
    norm = np.sqrt(sum((gradient**2).sum() for gradient in gradients))
    return [gradient * min(1.0, threshold / norm) for gradient in gradients]
""",
    wrong=(
        """
def answer(gradients, threshold):
    return [gradient * min(1.0, threshold / np.linalg.norm(gradient)) for gradient in gradients]
""",
        """
def answer(gradients, threshold):
    norm = np.sqrt(sum((gradient**2).sum() for gradient in gradients))
    return [gradient * threshold / norm for gradient in gradients]
""",
        "answer = lambda gradients, threshold: [np.clip(each, -threshold, threshold) for each in gradients]",
    ),
)
def global_norm(answer: Callable[[Arrays, float], Arrays]) -> bool:
    """The same as the definition, above the threshold and below it."""
    for gradients in ([np.array([6.0]), np.array([[8.0]])], [np.ones((3, 2)), np.array([-5.0, 0.5]), np.ones(4)]):
        for threshold in (0.5, 5.0, 100.0):
            norm = math.sqrt(sum(float((gradient**2).sum()) for gradient in gradients))
            made = answer([gradient.copy() for gradient in gradients], threshold)
            pairs = zip(made, gradients, strict=True)
            if not all(np.allclose(one, other * min(1.0, threshold / norm), rtol=1e-4) for one, other in pairs):
                return False
    return True


@exercise(
    "11.3",
    hints=(
        "Relu loses half of the squares. How many does abs lose?",
        "A minus sign that is taken away changes no square. So nothing has to be brought back.",
    ),
    solution="answer = 1.0",
    wrong=("answer = 1.414", "answer = 2.0", "answer = 0.5", "answer = 0.707"),
)
def keeps(answer: float) -> bool:
    """It stays in 30 layers, for several draws of the weights."""
    return all(_fan(float(answer), seed).title.endswith("stays") for seed in range(3))


def _fan(gain: float, seed: int, layers: int = 30, width: int = 32) -> Any:
    device = Autodiff[NdArray].device()
    device.seed(seed)
    x: Any = Tensor.random((64, width), Distribution.Normal(0, 1), device)
    for _ in range(layers):
        weight = Tensor.random((width, width), Distribution.Normal(0, gain / math.sqrt(width)), device)
        x = (x @ Param.from_tensor(weight).val()).abs()
    return depth_fan({"it": (x * x).mean().backward(record_flow=True)})


@exercise(
    "11.4",
    hints=(
        "All rows are equal, so each of them is equal to their mean. What is centred then, and what is spread?",
        "Both are 0. Which operation has no answer for two zeros?",
    ),
    solution='answer = "div"',
    wrong=('answer = "exp"', 'answer = "mean"', 'answer = "sub"', 'answer = "sum"'),
)
def first_operation(answer: str) -> bool:
    """The one at which Finite stops."""
    x: Any = Tensor.ones((4, 2), Finite[NdArray].device())
    centred = x - x.mean_dim(0)
    spread = (centred * centred).mean_dim(0)
    try:
        (centred / spread).exp().sum()
    except NonFinite as error:
        return answer.strip().lower() == str(error).split()[0]
    return False
