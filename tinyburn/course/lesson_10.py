"""Lesson 10: data, the learner, and over-fitting."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .exercises import exercise


@exercise(
    "10.1",
    hints=(
        "Each epoch begins with a full batch again.",
        "An epoch has three full batches, and one of the 100 samples that are left.",
    ),
    solution="answer = 10 * 4",
    wrong=("answer = 4", "answer = 33", "answer = 34", "answer = 30", "answer = 10 * 1000"),
)
def steps(answer: float) -> bool:
    """Batches of each epoch, times the epochs."""
    return answer == 10 * math.ceil(1000 / 300)


@exercise(
    "10.2",
    hints=(
        "The loss of a sample is minus the logarithm of its share. Undo both.",
        "exp undoes the natural logarithm, so write the share as exp of a number.",
    ),
    solution="import math\n\nanswer = round(math.exp(-0.693), 2)",
    wrong=("answer = 0.31", "answer = 2.0", "answer = -0.37", "answer = 0.2"),
)
def share(answer: float) -> bool:
    """exp of minus the loss."""
    return abs(answer - math.exp(-0.693)) < 0.006


@exercise(
    "10.3",
    hints=(
        "The right answers are on the diagonal. Divide them by something.",
        "Each sample is counted once in the matrix, so the sum of all its numbers is the number of samples.",
    ),
    solution="answer = lambda confusion: confusion.trace() / confusion.sum()",
    wrong=(
        "answer = lambda confusion: np.trace(confusion) / len(confusion)",
        "answer = lambda confusion: np.mean(np.diag(confusion) / confusion.sum(1))",
        "answer = lambda confusion: 1 - np.trace(confusion) / np.sum(confusion)",
        "answer = lambda confusion: np.trace(confusion) / 359",
    ),
)
def accuracy(answer: Callable[[Any], float]) -> bool:
    """The diagonal over everything, for matrices whose classes have different numbers of samples."""
    matrices = (np.array([[8, 2], [10, 80]]), np.array([[5, 0, 0], [1, 0, 3], [0, 0, 11]]), np.eye(4))
    return all(abs(answer(matrix) - np.diag(matrix).sum() / matrix.sum()) < 1e-6 for matrix in matrices)


@exercise(
    "10.4",
    hints=(
        "Go from epoch to epoch, and keep the lowest loss so far. How long ago was it?",
        "Epoch 4 is one that is no better, but epoch 5 is better again. Count anew from there.",
    ),
    solution="answer = (7, 5)",
    wrong=("answer = (8, 8)", "answer = (7, 7)", "answer = (6, 5)", "answer = (4, 3)", "answer = (7, 8)", "answer = 7"),
)
def stops(answer: tuple[int, int]) -> bool:
    """The epoch of the lowest loss, and the second one after it."""
    last, best = answer
    return (last, best) == (7, 5)
