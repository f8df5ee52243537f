"""Exercises of lesson 01: payload."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tinyburn import RunConfig, Tensor, memory
from tinyburn.base.shape import Shape

from .exercises import exercise


@exercise(
    "1.1",
    hints=("count the elements first", "each of the 3 · 224 · 224 elements takes 32 bits"),
    solution="answer = 3 * 224 * 224 * 4",
    wrong=("answer = 3 * 224 * 224", "answer = 224 * 224 * 4", "answer = 3 * 224 * 224 * 32"),
)
def photo(answer: int) -> bool:
    """The payload of a photo."""
    return answer == memory.tensor_payload_bytes((3, 224, 224), 4)


@exercise(
    "1.2",
    hints=("how many elements are there, for any number of dims?", "math.prod multiplies all numbers of a tuple"),
    solution="import math\n\nanswer = lambda shape, bytes_each: bytes_each * math.prod(shape)",
    wrong=(
        "answer = lambda shape, bytes_each: bytes_each * sum(shape)",
        "answer = lambda shape, bytes_each: bytes_each * shape[0] * shape[-1]",
        "import math\nanswer = lambda shape, bytes_each: math.prod(shape)",
        "answer = 512",
    ),
)
def payload(answer: Callable[[Shape, int], int]) -> bool:
    """The formula, for ranks 1 to 4 and for no rows."""
    shapes: list[Shape] = [(16, 8), (5,), (2, 3, 4), (2, 3, 4, 5), (0, 8)]
    return all(answer(shape, size) == size * prod(shape) for shape in shapes for size in (1, 4, 8))


@exercise(
    "1.3",
    hints=(
        "which tensors exist while the last operation runs?",
        "when - 3 begins, the result of x * 2 is already gone",
    ),
    solution="answer = 3 * 512",
    wrong=("answer = 4 * 512", "answer = 512", "answer = 2 * 512"),
)
def fullest_moment(answer: int) -> bool:
    """One operation more, and no byte more."""

    def job(device: Any, rows: int) -> Any:
        x = Tensor.ones((rows, 8), device)
        return x * 2 + 1 - 3

    return answer == memory.measure(job, RunConfig().init(), 16).peak_bytes


@exercise(
    "1.4",
    hints=(
        "a slice alone is a view, and keeps all rows",
        "an operation such as * writes its result into a new buffer",
    ),
    solution="answer = lambda x: x[0:1] * 1",
    wrong=(
        "answer = lambda x: x[0:1]",
        "answer = lambda x: (x * 1)[0:1]",
        "answer = lambda x: x[0:1] * 0 + 1",
        "answer = lambda x: x * 1",
    ),
)
def first_row(answer: Callable[[Any], Any]) -> bool:
    """The first row, in a buffer of its own."""
    return all(_keeps_only_the_first_of(rows, answer) for rows in (16, 3))


def _keeps_only_the_first_of(rows: int, answer: Callable[[Any], Any]) -> bool:
    device = RunConfig(trace=True).init()
    values = np.arange(rows * 8, dtype=np.float32).reshape(rows, 8) + 5
    x = Tensor.from_data(values, device)
    row = answer(x)
    del x
    found = row.to_numpy()
    return np.array_equal(found, values[:1]) and device.memory_usage().bytes_in_use == values[:1].nbytes
