"""Lesson 09: modules, configs, and what makes two layers more than one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyburn.autodiff import Autodiff
from tinyburn.backend import NdArray
from tinyburn.base.distribution import Distribution
from tinyburn.module import Module
from tinyburn.nn import LinearConfig
from tinyburn.tensor import Tensor

from .exercises import exercise


@exercise(
    "9.1",
    hints=(
        "count each layer by itself, and then add",
        "a layer from n to m has n * m numbers in its weight and m in its bias",
    ),
    solution="answer = (784 * 128 + 128) + (128 * 10 + 10)",
    wrong=("answer = 784 * 128 + 128 * 10", "answer = 784 * 10 + 10", "answer = 784 + 128 + 10"),
)
def counts_both_layers(answer: int) -> bool:
    """The numbers of 784 to 128 and of 128 to 10; relu has none."""
    device = NdArray.device()
    return answer == sum(LinearConfig(*sizes).init(device).num_params() for sizes in ((784, 128), (128, 10)))


@exercise(
    "9.2",
    hints=(
        "assign one block in __init__, and call it two times in forward",
        "forward is: block, then tb.activation.relu, then the same block; nothing comes after it",
    ),
    solution="""
class Twice(tb.Module):
    def __init__(self, device):
        self.block = tb.nn.LinearConfig(4, 4).init(device)

    def forward(self, x):
        return self.block(tb.activation.relu(self.block(x)))


answer = Twice
""",
    wrong=(
        """
class Twice(tb.Module):
    def __init__(self, device):
        self.first = tb.nn.LinearConfig(4, 4).init(device)
        self.second = tb.nn.LinearConfig(4, 4).init(device)

    def forward(self, x):
        return self.second(tb.activation.relu(self.first(x)))


answer = Twice
""",
        """
class Twice(tb.Module):
    def __init__(self, device):
        self.block = tb.nn.LinearConfig(4, 4).init(device)

    def forward(self, x):
        return self.block(self.block(x))


answer = Twice
""",
    ),
)
def uses_one_block_twice(answer: Callable[[Any], Module]) -> bool:
    """The model has a single block, and computes what that gives by hand."""
    device = Autodiff[NdArray].device()
    model: Any = answer(device)
    by_shape = {param.val().shape: param.val().to_numpy() for _, param in model.named_params()}
    weight, bias = by_shape[4, 4], by_shape[4,]
    for rows in (1, 3):
        x = Tensor.random((rows, 4), Distribution.Normal(0, 2), device)
        hidden = np.maximum(x.to_numpy() @ weight + bias, 0)
        if not np.allclose(model(x).to_numpy(), hidden @ weight + bias, atol=1e-5):
            return False
    return bool(model.num_params() == 20)


@exercise(
    "9.3",
    hints=(
        "make a batch of one sample first, and take its only row at the end",
        "unsqueeze() puts a dim of size 1 in front, and squeeze(0) takes the first dim away",
    ),
    solution="answer = lambda model, sample: model(sample.unsqueeze()).squeeze(0)",
    wrong=(
        "answer = lambda model, sample: model(sample.unsqueeze())",
        "answer = lambda model, sample: model(sample.unsqueeze()).reshape((2,))",
    ),
)
def answers_for_a_single_sample(answer: Callable[[Any, Any], Tensor[Any, Any]]) -> bool:
    """Rank 1 in, rank 1 out, for several sizes."""
    device = NdArray.device()
    for d_input, d_output in ((4, 2), (3, 5), (2, 1)):
        layer = LinearConfig(d_input, d_output).init(device)
        sample = Tensor.random((d_input,), Distribution.Normal(0, 1), device)
        given = answer(layer, sample)
        if given.shape != (d_output,) or not np.allclose(given.to_numpy(), layer(sample.unsqueeze()).to_numpy()[0]):
            return False
    return True


@exercise(
    "9.4",
    hints=(
        "one hidden number works for x above 0, and the other one for x below 0",
        "relu(x) is x for positive numbers; which hidden number is positive for negative x?",
    ),
    solution="answer = ([[1, -1]], [[1], [1]])",
    wrong=("answer = ([[1, -1]], [[1], [-1]])", "answer = ([[1, 1]], [[1], [1]])", "answer = ([[2, -2]], [[1], [1]])"),
)
def gives_the_absolute_value(answer: tuple[list[list[float]], list[list[float]]]) -> bool:
    """relu(x @ first) @ second is |x|."""
    first, second = (np.asarray(weight, dtype=np.float64) for weight in answer)
    x = np.linspace(-3, 3, 13).reshape(13, 1)
    fits = first.shape == (1, 2) and second.shape == (2, 1)
    return fits and bool(np.allclose(np.maximum(x @ first, 0) @ second, np.abs(x)))
