"""Exercises of lesson 02: a dense block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyburn import Initializer, Module, RunConfig, ShapeError, Tensor, memory

from .exercises import exercise


class DenseBlock(Module):
    """The block of the lesson."""

    def __init__(self, d_in: int, d_out: int, device: Any) -> None:
        self.weight = Initializer.Normal(0.0, 0.02).init((d_in, d_out), device)
        self.bias = Initializer.Zeros.init((d_out,), device)

    def forward(self, x: Any) -> Any:
        """Y = XW + b."""
        return x @ self.weight.val() + self.bias.val().unsqueeze()


@exercise(
    "2.1",
    hints=(
        "which two tensors does training change?",
        "the weight is (512, 256), and the bias has one number for each of its columns",
    ),
    solution="answer = 512 * 256 + 256",
    wrong=("answer = 512 * 256", "answer = 512 * 256 + 512", "answer = 512 + 256"),
)
def parameters(answer: int) -> bool:
    """The numbers of a larger block."""
    return answer == DenseBlock(512, 256, RunConfig().init()).num_params()


@exercise(
    "2.2",
    hints=("three tensors have a row for this sample", "rows of 512, 256 and 256 numbers"),
    solution="answer = (512 + 256 + 256) * 4",
    wrong=("answer = 512 + 256 + 256", "answer = (512 + 256) * 4", "answer = (512 * 256 + 256) * 4"),
)
def one_more_sample(answer: int) -> bool:
    """What one more sample adds when the most bytes are in use."""

    def job(device: Any, batch: int) -> Any:
        x = Tensor.ones((batch, 512), device)
        return DenseBlock(512, 256, device)(x)

    few, more = (memory.measure(job, RunConfig().init(), batch).peak_bytes for batch in (16, 17))
    return answer == more - few


@exercise(
    "2.3",
    hints=("a matrix product, and a sum", "the fee has rank 1: which method puts a dim in front?"),
    solution="answer = lambda orders, menu, fee: orders @ menu + fee.unsqueeze()",
    wrong=(
        "answer = lambda orders, menu, fee: orders @ menu + fee",
        "answer = lambda orders, menu, fee: orders @ menu",
        "answer = lambda orders, menu, fee: orders @ (menu + fee.unsqueeze())",
        "answer = lambda orders, menu, fee: orders[0:1] @ menu + fee.unsqueeze()",
    ),
)
def totals(answer: Callable[[Any, Any, Any], Any]) -> bool:
    """A dense block in one line, for any number of orders."""
    device = RunConfig().init()
    values = np.arange(1.0, 13.0, dtype=np.float32).reshape(4, 3)
    menu = np.array([[3, 5], [2, 4], [4, 9]], dtype=np.float32)
    fee = np.array([0.5, 7], dtype=np.float32)
    on_device = [Tensor.from_data(part, device) for part in (menu, fee)]
    return all(
        np.allclose(_values(answer(Tensor.from_data(orders, device), *on_device), len(orders)), orders @ menu + fee)
        for orders in (values, values[:1], values[:0])
    )


def _values(totals: Any, orders: int) -> Any:
    """A result's numbers, if it has a row for each order."""
    found = totals.to_numpy()
    if found.shape != (orders, 2):
        raise ShapeError(f"the totals are {found.shape}, but must be {(orders, 2)}")
    return found


@exercise(
    "2.4",
    hints=("which of the two dims is free?", "the second size must be d_in, and the first may be anything"),
    solution="answer = [(8, 16), (16, 4)]",
    wrong=(
        "answer = [(8, 16)]",
        "answer = [(8, 16), (0, 8), (16, 4)]",
        "answer = [(1, 8), (0, 8), (8, 8)]",
        "answer = [(16, 4)]",
    ),
)
def errors(answer: Sequence[Sequence[int]]) -> bool:
    """The inputs that the block refuses."""
    return set(map(tuple, answer)) == {
        shape for shape in ((1, 8), (8, 16), (0, 8), (8, 8), (16, 4)) if _is_refused(shape)
    }


def _is_refused(shape: tuple[int, int]) -> bool:
    device = RunConfig().init()
    try:
        DenseBlock(8, 4, device)(Tensor.ones(shape, device))
    except ShapeError:
        return True
    return False
