"""Exercises of lesson 04: normalising a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tinyburn as tb

from .exercises import exercise

EPSILON = 1e-6
Tensor = tb.Tensor[Any, Any, Any]
Array = np.ndarray[Any, Any]


def _normalize(x: Tensor, dim: int = 0) -> Tensor:
    centred = x - x.mean_dim(dim)
    return centred / ((centred * centred).mean_dim(dim) + EPSILON).sqrt()


def _batch(shape: tuple[int, int], seed: int) -> Array:
    return np.random.default_rng(seed).normal(3.0, 2.0, shape)


def _tracked(values: Array | list[list[float]]) -> Tensor:
    return tb.Tensor.from_data(values, tb.RunConfig(precision="float64").init()).require_grad()


@exercise(
    "4.1",
    hints=(
        "The root is 0.001, because the variance is 0. All numbers in `centred` are 0 too: which path adds nothing?",
        "The direct path has the slope 1 / 0.001. The path through the mean takes 1/4 of that away.",
    ),
    solution="answer = 1000 - 1000 / 4",
    wrong=("answer = 1000", "answer = 0", "answer = -250", "answer = 1000 - 1000 / 5"),
)
def slope_of_a_constant_column(answer: float) -> bool:
    """The direct path and the path through the mean, at a root of 0.001."""
    x = _tracked([[5.0]] * 4)
    gradient = x.grad(_normalize(x)[0:1].backward())
    return gradient is not None and abs(float(answer) - gradient.to_numpy()[0, 0]) < 0.5


@exercise(
    "4.2",
    hints=(
        "Which of these sums is the same for every x?",
        "The mean of a normalised column never changes, and neither does its variance. What are they means of?",
    ),
    solution="answer = [1, 2]",
    wrong=("answer = [1]", "answer = [1, 3]", "answer = [2, 4]", "answer = [1, 2, 3]"),
)
def powers_with_gradient_zero(answer: list[int]) -> bool:
    """Those whose sum does not depend on x."""
    x = _tracked(_batch((16, 8), 0))
    largest = {}
    for power in (1, 2, 3, 4):
        gradient = x.grad((_normalize(x) ** power).sum().backward())
        largest[power] = np.inf if gradient is None else float(np.abs(gradient.to_numpy()).max())
    return sorted(answer) == [power for power, size in largest.items() if size < 1e-3]


@exercise(
    "4.3",
    hints=(
        "The five steps are the same. Over which dim is the mean taken now?",
        "Both means are taken over dim 1, and each has shape (n, 1).",
    ),
    solution="""
def answer(x):
    centred = x - x.mean_dim(1)
    variance = (centred * centred).mean_dim(1)
    return centred / (variance + 1e-6).sqrt()
""",
    wrong=(
        """
def answer(x):
    centred = x - x.mean_dim(0)
    return centred / ((centred * centred).mean_dim(0) + 1e-6).sqrt()
""",
        """
def answer(x):
    centred = x - x.mean_dim(1)
    return centred / ((centred * centred).mean_dim(0) + 1e-6).sqrt()
""",
        """
def answer(x):
    centred = x - x.sum_dim(1) / 8
    return centred / ((centred * centred).sum_dim(1) / 8 + 1e-6).sqrt()
""",
        """
def answer(x):
    centred = x - x.mean_dim(1)
    return centred / (centred * centred).mean_dim(1)
""",
    ),
)
def rows_normalised(answer: Callable[[Tensor], Tensor]) -> bool:
    """Like NumPy, for two shapes."""
    for seed, shape in enumerate([(16, 8), (3, 5)]):
        values = _batch(shape, seed)
        expected = (values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, keepdims=True)
        if not np.allclose(answer(_tracked(values)).to_numpy(), expected, atol=1e-4):
            return False
    return True
