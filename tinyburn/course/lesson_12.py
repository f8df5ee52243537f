"""Lesson 12: convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyburn import Autodiff, Meta, Module, Tensor, memory, nn
from tinyburn.backend import Device

from .exercises import exercise

PEAK = 700_000
"""That a step with 64 images may not reach; the model of the lesson has 941 400 bytes."""


@exercise(
    "12.1",
    hints=(
        "Write down the rows where a window begins: 0, 3, 6 and so on.",
        "The last window begins at row 23 or before. Count the multiples of 3 from 0 up to there.",
    ),
    solution="answer = (28 - 5) // 3 + 1",
    wrong=("answer = 9", "answer = 24", "answer = 7", "answer = (28 - 5) / 3 + 1"),
)
def rows_with_a_stride(answer: int) -> bool:
    """Every third of the places where 5 fits into 28."""
    layer = nn.Conv2dConfig((1, 1), 5, stride=3).init(Meta.device())
    return bool(answer == layer(Tensor.zeros((1, 1, 28, 28), Meta.device())).shape[2])


@exercise(
    "12.2",
    hints=(
        "Each of the 32 filters has 3 times 3 weights for each channel that comes in.",
        "A filter has 16 times 9 weights and one bias.",
    ),
    solution="answer = 32 * (16 * 9 + 1)",
    wrong=("answer = 32 * 16 * 9", "answer = 32 * (9 + 1)", "answer = 32 * 16 * (9 + 1)"),
)
def parameters_of_a_layer(answer: int) -> bool:
    """Weights for each pair of channels, and a bias for each filter."""
    return bool(answer == nn.Conv2dConfig((16, 32), 3).init(Meta.device()).num_params())


@exercise(
    "12.3",
    hints=(
        "Turn the filter of the lesson, which finds vertical edges, by a quarter.",
        "The weights of the upper row are positive, those of the lower row negative, and all nine add up to 0.",
    ),
    solution="answer = [[1, 1, 1], [0, 0, 0], [-1, -1, -1]]",
    wrong=(
        "answer = [[-1, -1, -1], [0, 0, 0], [1, 1, 1]]",
        "answer = [[-1, 0, 1]] * 3",
        "answer = [[1, 1, 1], [0, 0, 0], [0, 0, 0]]",
        "answer = [[1, 1, 0], [0, 0, 0], [0, -1, -1]]",
    ),
)
def horizontal_edges(answer: Any) -> bool:
    """Positive on an edge from bright to dark, downwards; 0 on a vertical edge and without one."""
    weights = np.asarray(answer.to_numpy() if isinstance(answer, Tensor) else answer, float)
    upper = np.array([[1.0], [1.0], [0.0]]) * np.ones((1, 3))
    edges, others = (upper, 1 - upper[::-1]), (upper.T, 1 - upper.T[:, ::-1], np.ones((3, 3)))
    found = all((weights * window).sum() > 0 for window in edges)
    silent = all(abs((weights * window).sum()) < 1e-6 for window in others)
    return weights.shape == (3, 3) and found and silent


@exercise(
    "12.4",
    hints=(
        "Write the second layer as Conv2dConfig((8, 24), 3, stride=2), and leave the pooling out.",
        "6 rows with a stride of 2 give 2 rows, as many as after the pooling. So the linear layer stays as it is.",
    ),
    solution="""
class Strided(tb.Module):
    def __init__(self, device):
        self.first = tb.nn.Conv2dConfig((1, 8), 3).init(device)
        self.second = tb.nn.Conv2dConfig((8, 24), 3, stride=2).init(device)
        self.output = tb.nn.LinearConfig(24 * 2 * 2, 10).init(device)

    def forward(self, x):
        x = tb.activation.relu(self.first(x))
        x = tb.activation.relu(self.second(x))
        return self.output(x.flatten(1))


answer = Strided
""",
    wrong=(
        """
class Pooled(tb.Module):
    def __init__(self, device):
        self.first = tb.nn.Conv2dConfig((1, 8), 3).init(device)
        self.second = tb.nn.Conv2dConfig((8, 24), 3).init(device)
        self.output = tb.nn.LinearConfig(24 * 2 * 2, 10).init(device)

    def forward(self, x):
        x = tb.activation.relu(self.first(x))
        x = tb.activation.relu(self.second(x))
        return self.output(tb.nn.MaxPool2dConfig(2).init()(x).flatten(1))


answer = Pooled
""",
        """
class Forgets(tb.Module):
    def __init__(self, device):
        self.first = tb.nn.Conv2dConfig((1, 8), 3).init(device)
        self.second = tb.nn.Conv2dConfig((8, 24), 3, stride=2).init(device)
        self.output = tb.nn.LinearConfig(24 * 4 * 4, 10).init(device)

    def forward(self, x):
        x = tb.activation.relu(self.first(x))
        x = tb.activation.relu(self.second(x))
        return self.output(x.flatten(1))


answer = Forgets
""",
    ),
)
def a_stride_for_pooling(answer: type[Module]) -> bool:
    """As many parameters, ten scores, and a lower peak."""
    shapes = answer(Meta.device())  # type: ignore[call-arg]  # a model takes a device
    scores = shapes(Tensor.zeros((3, 1, 8, 8), Meta.device()))
    if shapes.num_params() != 2802 or scores.shape != (3, 10):
        return False

    def job(device: Device[Any], batch_size: int) -> Any:
        model: Any = answer(device)  # type: ignore[call-arg]
        images, labels = Tensor.zeros((batch_size, 1, 8, 8), device), Tensor.zeros((batch_size,), device).int()
        return nn.CrossEntropyLossConfig().init(device)(model(images), labels).backward()

    planned = memory.plan(job, 64, device=Autodiff[Meta].device())
    return planned.peak_bytes < PEAK
