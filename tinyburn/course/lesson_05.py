"""Exercises of lesson 05: a training step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tinyburn as tb

from .exercises import exercise

Tensor = tb.Tensor[Any, Any, Any]
Model = tb.nn.Linear[Any]
Train = Callable[[Model, Tensor, Tensor, float, int], Model]


def _device() -> Any:
    return tb.RunConfig(precision="float64").init()


def _loss(model: Model, x: Tensor, target: Tensor) -> Tensor:
    return ((model(x) - target) ** 2).mean()


def _train(model: Model, x: Tensor, target: Tensor, learning_rate: float, steps: int) -> Model:
    for _ in range(steps):
        model = tb.optim.SgdConfig().init().step(learning_rate, model, _loss(model, x, target).backward())
    return model


def _ratio(learning_rate: float) -> float:
    """The loss after one step of the lesson's example, divided by the loss before it."""
    device = _device()
    model = tb.nn.LinearConfig(8, 4).init(device)
    x, target = tb.Tensor.ones((16, 8), device), tb.Tensor.zeros((16, 4), device)
    trained = _train(model, x, target, learning_rate, 1)
    return float(_loss(trained, x, target).into_scalar() / _loss(model, x, target).into_scalar())


@exercise(
    "5.1",
    hints=(
        "A step multiplies y by 1 - 4.5 times the learning rate.",
        "The loss is 0 when y is 0. When is 1 - 4.5 times the learning rate equal to 0?",
    ),
    solution="answer = 1 / 4.5",
    wrong=("answer = 0.1", "answer = 4.5", "answer = 2 / 4.5", "answer = 1 / 9"),
)
def rate_to_the_bottom(answer: float) -> bool:
    """The loss after one step is a millionth of what it was, or less; three digits are enough for that."""
    return _ratio(float(answer)) < 1e-5


@exercise(
    "5.2",
    hints=(
        "The new y may have the other sign, but it must not be farther from 0.",
        "At the limit, y becomes -y: 1 - 4.5 times the learning rate is -1.",
    ),
    solution="answer = 0.444",
    wrong=("answer = 0.222", "answer = 0.5", "answer = 0.4", "answer = 1.0"),
)
def rate_of_the_limit(answer: float) -> bool:
    """A step of 1 % less makes the loss smaller, and one of 1 % more makes it larger."""
    return _ratio(0.99 * float(answer)) < 1 < _ratio(1.01 * float(answer))


@exercise(
    "5.3",
    hints=(
        "Each gradient has the shape and the dtype of its tensor. Which of the three grows with the batch?",
        "A number in float64 takes 8 bytes. W has 8 * 4 numbers, b has 4, and X has 32 * 8.",
    ),
    solution="answer = 8 * (8 * 4 + 4 + 32 * 8)",
    wrong=("answer = 656", "answer = 4 * (8 * 4 + 4 + 32 * 8)", "answer = 2 * 656", "answer = 8 * (8 * 4 + 4)"),
)
def bytes_of_three_gradients(answer: int) -> bool:
    """As many as backward() returns."""
    device = _device()
    x = tb.Tensor.ones((32, 8), device).require_grad()
    target = tb.Tensor.zeros((32, 4), device)
    grads = _loss(tb.nn.LinearConfig(8, 4).init(device), x, target).backward()
    return bool(answer == sum(gradient.payload_bytes for gradient in grads.tensors()))


@exercise(
    "5.4",
    hints=(
        "Write a loop: the loss of the model as it is now, its gradients, and a step. The step gives the next model.",
        "Inside the loop: model = optimizer.step(learning_rate, model, loss.backward()), with a new loss each time.",
    ),
    solution="""
def answer(model, x, target, learning_rate, steps):
    optimizer = tb.optim.SgdConfig().init()
    for _ in range(steps):
        loss = ((model(x) - target) ** 2).mean()
        model = optimizer.step(learning_rate, model, loss.backward())
    return model
""",
    wrong=(
        """
def answer(model, x, target, learning_rate, steps):
    loss = ((model(x) - target) ** 2).mean()
    return tb.optim.SgdConfig().init().step(learning_rate, model, loss.backward())
""",
        """
def answer(model, x, target, learning_rate, steps):
    for _ in range(steps):
        loss = ((model(x) - target) ** 2).mean()
        trained = tb.optim.SgdConfig().init().step(learning_rate, model, loss.backward())
    return trained
""",
        """
def answer(model, x, target, learning_rate, steps):
    loss = ((model(x) - target) ** 2).mean()
    return tb.optim.SgdConfig().init().step(steps * learning_rate, model, loss.backward())
""",
        """
def answer(model, x, target, learning_rate, steps):
    for _ in range(steps):
        loss = ((model(x) - target) ** 2).sum()
        model = tb.optim.SgdConfig().init().step(learning_rate, model, loss.backward())
    return model
""",
    ),
)
def training_loop(answer: Train) -> bool:
    """The same parameters as after as many steps of ours, on two batches."""
    device = _device()
    device.seed(0)
    for batch, steps in ((16, 3), (5, 7)):
        model = tb.nn.LinearConfig(3, 2).init(device)
        x = tb.Tensor.random((batch, 3), tb.Distribution.Normal(0.0, 1.0), device)
        target = tb.Tensor.random((batch, 2), tb.Distribution.Normal(0.0, 1.0), device)
        ours, theirs = _train(model, x, target, 0.1, steps), answer(model, x, target, 0.1, steps)
        if not np.allclose(theirs(x).to_numpy(), ours(x).to_numpy(), atol=1e-6):
            return False
    return True
