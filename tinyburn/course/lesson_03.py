"""The exercises of lesson 03, how gradients flow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyburn import NdArray, Tensor

from .exercises import exercise


@exercise(
    "3.1",
    hints=(
        "Try it by hand first: change a by 0.01, and then b.",
        "a / b is a times 1 / b. The slope of 1 / b is -1 / b².",
    ),
    solution="""
def answer(a, b):
    return 1 / b, -a / b**2
""",
    wrong=(
        "answer = lambda a, b: (1 / b, a / b**2)",
        "answer = lambda a, b: (1 / b, -1 / b**2)",
        "answer = lambda a, b: (b, a)",
    ),
)
def local_slopes_of_division(answer: Callable[[float, float], tuple[float, float]]) -> bool:
    """The two slopes at several places, compared with those by a small change."""
    d = 1e-5
    for a, b in ((1.0, 2.0), (-3.0, 0.5), (0.0, 4.0), (5.0, -2.0)):
        by_hand = ((a + d) / b - (a - d) / b) / (2 * d), (a / (b + d) - a / (b - d)) / (2 * d)
        if not np.allclose(answer(a, b), by_hand, atol=1e-6):
            return False
    return True


@exercise(
    "3.2",
    hints=(
        "Each number of the column is read once in each column of the result.",
        "Its slopes add along a row. So sum over the second dim, and count the dims from 0.",
    ),
    solution="answer = lambda g: g.sum_dim(1)",
    wrong=("answer = lambda g: g.sum_dim(0)", "answer = lambda g: g", "answer = lambda g: g.mean_dim(1)"),
)
def gradient_of_a_column(answer: Callable[[Any], Any]) -> bool:
    """The gradient for two sizes, in the column's own shape."""
    for shape in ((4, 3), (1, 5)):
        values = np.arange(1.0, 1.0 + math.prod(shape)).reshape(shape)
        g = Tensor.from_data(values, NdArray.device(float_dtype="float64"))
        found = answer(g).to_numpy()
        if found.shape != (shape[0], 1) or not np.allclose(found, values.sum(axis=1, keepdims=True)):
            return False
    return True


@exercise(
    "3.3",
    hints=(
        "Begin with a list of zeros, and put a 1.0 at its end. Then visit the nodes from the last to the first.",
        "At node i, add gradients[i] * slope to the gradient of each parent: `zip(parents[i], slopes[i])`.",
    ),
    solution="""
def answer(parents, slopes):
    gradients = [0.0] * len(parents)
    gradients[-1] = 1.0
    for i in reversed(range(len(parents))):
        for parent, slope in zip(parents[i], slopes[i]):
            gradients[parent] += gradients[i] * slope
    return gradients
""",
    wrong=(
        """
def answer(parents, slopes):
    gradients = [0.0] * len(parents)
    gradients[-1] = 1.0
    for i in range(len(parents)):
        for parent, slope in zip(parents[i], slopes[i]):
            gradients[parent] += gradients[i] * slope
    return gradients
""",
        """
def answer(parents, slopes):
    gradients = [0.0] * len(parents)
    gradients[-1] = 1.0
    for i in reversed(range(len(parents))):
        for parent, slope in zip(parents[i], slopes[i]):
            gradients[parent] = gradients[i] * slope
    return gradients
""",
    ),
)
def backward_on_lists(answer: Callable[[list[list[int]], list[list[float]]], list[float]]) -> bool:
    """The gradients of a chain, of a value used twice, and of a diamond in which the order matters."""
    graphs: list[tuple[list[list[int]], list[list[float]], list[float]]] = [
        ([[], [0, 0]], [[], [2.0, 3.0]], [5.0, 1.0]),
        ([[], [0], [1]], [[], [4.0], [-0.5]], [-2.0, -0.5, 1.0]),
        ([[], [0], [1], [1, 2]], [[], [2.0], [3.0], [1.0, 1.0]], [8.0, 4.0, 1.0, 1.0]),
        ([[], [], [0, 1], [0], [2, 3]], [[], [], [5.0, 2.0], [7.0], [1.0, -1.0]], [-2.0, 2.0, 1.0, -1.0, 1.0]),
    ]
    return all(np.allclose(answer(parents, slopes), wanted) for parents, slopes, wanted in graphs)
