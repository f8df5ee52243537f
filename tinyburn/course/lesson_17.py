"""Lesson 17: models that come from other programs, and go to them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tinyburn import Autodiff, Module, NdArray, Tensor, nn, onnx
from tinyburn.backend import Device
from tinyburn.onnx.values import Value

from .exercises import exercise


@exercise(
    "17.1",
    hints=(
        "A filter has 5 times 5 weights for each channel, and a bias.",
        "BatchNormalization reads four numbers for each of its 16 channels, and training changes two of them.",
    ),
    solution="answer = 16 * (3 * 5 * 5 + 1) + 2 * 16",
    wrong=(
        "answer = 16 * (3 * 5 * 5 + 1)",
        "answer = 16 * (3 * 5 * 5 + 1) + 4 * 16",
        "answer = 16 * 3 * 5 * 5 + 2 * 16",
        "answer = 16 * (5 * 5 + 1) + 2 * 16",
    ),
)
def counts_what_is_trained(answer: int) -> bool:
    """Weights and biases of the filters, and scale and offset for each channel, but no mean and no variance."""
    device = NdArray.device()
    parts = nn.Conv2dConfig((3, 16), 5).init(device), nn.BatchNormConfig(16).init(device)
    return answer == sum(part.num_params() for part in parts)


@exercise(
    "17.2",
    hints=(
        "np.abs(scores - golden).max() is the largest difference. Compare the shapes first.",
        "A comparison with NaN is False. So ask whether the difference is small, and not whether it is large.",
    ),
    solution="""
def answer(scores, golden):
    if scores.shape != golden.shape:
        return False
    return bool(np.abs(scores - golden).max() <= 1e-4 * np.abs(golden).max())
""",
    wrong=(
        """
def answer(scores, golden):
    return bool(np.abs(scores - golden).max() <= 1e-4 * np.abs(golden).max())
""",
        """
def answer(scores, golden):
    return scores.shape == golden.shape and not np.abs(scores - golden).max() > 1e-4 * np.abs(golden).max()
""",
        """
def answer(scores, golden):
    return scores.shape == golden.shape and bool(np.abs(scores - golden).max() <= 1e-4)
""",
        """
def answer(scores, golden):
    return scores.shape == golden.shape and (scores.argmax(1) == golden.argmax(1)).all()
""",
        """
def answer(scores, golden):
    return scores.shape == golden.shape and bool((scores - golden).max() <= 1e-4 * golden.max())
""",
    ),
)
def agrees_with_golden(answer: Callable[[Any, Any], bool]) -> bool:
    """Rounding agrees. A mistake, another shape and a NaN do not, however large the numbers are."""
    for size in (0.01, 1.0, 1000.0):
        golden = size * np.array([[-3.0, 1.0], [2.0, 0.5]], np.float32)
        spoiled = golden.copy()
        spoiled[0, 1] = np.nan
        wrong = (golden * 1.01, golden - size * np.float32(0.01), golden[:1], golden + 0 * golden[None], spoiled)
        if not answer(golden * np.float32(1.00001), golden) or any(answer(each, golden) for each in wrong):
            return False
    return not answer(golden[:1], np.repeat(golden[:1], 2, axis=0))  # NumPy would broadcast it


@exercise(
    "17.3",
    hints=(
        "It looks like quick_gelu: x, then a star, then the attribute with its default.",
        "each.clamp(0.0, top) is the function of each number.",
    ),
    solution="""
from tinyburn.onnx.values import lifted


def answer(x, *, top=6.0):
    return lifted(lambda each: each.clamp(0.0, top), x)
""",
    wrong=(
        """
from tinyburn.onnx.values import lifted


def answer(x):
    return lifted(lambda each: each.clamp(0.0, 6.0), x)
""",
        """
from tinyburn.onnx.values import lifted


def answer(x, *, top=6.0):
    return lifted(lambda each: each.clamp(0.0, 6.0), x)
""",
        """
def answer(x, *, top=6.0):
    return x.clamp(0.0, top)
""",
        """
from tinyburn.onnx.values import lifted


def answer(x, *, top=6.0):
    return lifted(lambda each: each.clamp_max(top), x)
""",
    ),
)
def writes_an_operator(answer: Callable[..., Value]) -> bool:
    """With the attribute and without it."""
    given = np.array([-1.0, 0.0, 2.5, 6.0, 7.0], np.float32)
    x = Value(Tensor.from_data(given, NdArray.device()))
    found = [answer(x), answer(x, top=2.0)]
    wanted = [np.clip(given, 0, 6), np.clip(given, 0, 2)]
    return all(np.array_equal(one.tensor.to_numpy(), other) for one, other in zip(found, wanted, strict=True))


@exercise(
    "17.4",
    hints=(
        "tb.onnx.save(model, example, path) makes the batch free by itself. The example may be zeros of shape (1, 4).",
        'The names of the inputs are in names=["features"].',
    ),
    solution="""
def answer(model, device, path):
    example = tb.Tensor.zeros((1, 4), device)
    tb.onnx.save(model, example, path, names=["features"])
""",
    wrong=(
        """
def answer(model, device, path):
    tb.onnx.save(model, tb.Tensor.zeros((1, 4), device), path)
""",
        """
def answer(model, device, path):
    tb.onnx.save(model, tb.Tensor.zeros((1, 4), device), path, names=["features"], batch=None)
""",
        """
def answer(model, device, path):
    model.save(path)
""",
    ),
)
def exports_a_model(answer: Callable[[Module, Device[Any], str], object]) -> bool:
    """The file is read again, and called with two batches."""
    device = Autodiff[NdArray].device()
    model = nn.LinearConfig(4, 3).init(device)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.onnx")
        answer(model, device, path)
        read = onnx.load(path, device)
    for batch in (1, 7):
        x = Tensor.ones((batch, 4), device)
        found: Any = read(x)
        if not np.allclose(found.to_numpy(), model(x).to_numpy(), atol=1e-6):
            return False
    return [port.name for port in read.inputs] == ["features"]
