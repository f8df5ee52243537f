"""Lesson 13: a transformer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyburn import Meta, NdArray, Tensor, memory, nn

from .exercises import exercise


@exercise(
    "13.1",
    hints=("The table has a row for each token.", "There are 51 rows of 64 numbers, and no bias."),
    solution="answer = 51 * 64",
    wrong=("answer = 51 * 64 + 64", "answer = 51 + 64", "answer = 51 * 64 * 4"),
)
def parameters_of_an_embedding(answer: int) -> bool:
    """A row for each token."""
    return bool(answer == nn.EmbeddingConfig(51, 64).init(Meta.device()).num_params())


@exercise(
    "13.2",
    hints=(
        "The first token may look at 1 token, the second at 2.",
        "Add up 1 + 2 + 3 and so on, up to 32.",
    ),
    solution="answer = sum(range(1, 33))",
    wrong=("answer = 32 * 32 // 2", "answer = sum(range(32))", "answer = 32 * 32"),
)
def pairs_with_a_mask(answer: int) -> bool:
    """The diagonal and what is below it."""
    hidden = nn.generate_autoregressive_mask(1, 32, NdArray.device()).to_numpy()
    return bool(answer == (~hidden).sum())


@exercise(
    "13.3",
    hints=(
        "Divide the tensor by the number first: scores / temperature.",
        "Then use tb.activation.softmax with dim 1: each row gets the sum 1.",
    ),
    solution="""
def answer(scores, temperature):
    return tb.activation.softmax(scores / temperature, 1)
""",
    wrong=(
        "answer = lambda scores, temperature: tb.activation.softmax(scores * temperature, 1)",
        "answer = lambda scores, temperature: tb.activation.softmax(scores / temperature, 0)",
        "answer = lambda scores, temperature: tb.activation.softmax(scores, 1) / temperature",
    ),
)
def shares_at_a_temperature(answer: Callable[[Any, float], Any]) -> bool:
    """By the formula, for some temperatures."""
    scores = np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0]])
    tensor = Tensor.from_data(scores, NdArray.device(float_dtype="float64"))
    for temperature in (0.5, 1.0, 2.0):
        powers = np.exp(scores / temperature)
        if not np.allclose(answer(tensor, temperature).to_numpy(), powers / powers.sum(axis=1, keepdims=True)):
            return False
    return True


@exercise(
    "13.4",
    hints=(
        "One head of one layer has 256 times 256 shares for each piece.",
        "Multiply by 8 pieces, 8 heads, 4 layers, and by the 4 bytes of a number.",
    ),
    solution="answer = 8 * 8 * 256 * 256 * 4 * 4",
    wrong=("answer = 8 * 8 * 256 * 256 * 4", "answer = 8 * 256 * 256 * 4 * 4", "answer = 8 * 8 * 256 * 4 * 4"),
)
def bytes_of_all_shares(answer: int) -> bool:
    """Batch, heads, queries and keys, for each of four layers."""
    return bool(answer == 4 * memory.tensor_payload_bytes((8, 8, 256, 256), "float32"))
