"""Inference of a model that was read from ONNX, beside the same model written in tinyburn, and beside ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime
from race import race, timed_row, timer
from result import Row, Target

from tinyburn import NdArray, Tensor, activation, nn, onnx
from tinyburn.module import Module

ROUNDS = 30
OWN = Target("ratio", 1.3)


class Mlp(Module):
    def __init__(self, device: Any) -> None:
        self.layers = [nn.LinearConfig(*sizes).init(device) for sizes in ((64, 64), (64, 64), (64, 10))]

    def forward(self, x: Any) -> Any:
        for layer in self.layers[:-1]:
            x = activation.relu(layer(x))
        return self.layers[-1](x)


class Cnn(Module):
    def __init__(self, device: Any) -> None:
        self.convs = [nn.Conv2dConfig(channels, 3).init(device) for channels in ((1, 8), (8, 16))]
        self.pool = nn.MaxPool2dConfig(2).init()
        self.output = nn.LinearConfig(16 * 5 * 5, 10).init(device)

    def forward(self, x: Any) -> Any:
        for conv in self.convs:
            x = self.pool(activation.relu(conv(x)))
        return self.output(x.flatten(1))


MODELS: dict[str, tuple[type[Any], tuple[int, ...]]] = {
    "MLP 64-64-64-10, batch 16": (Mlp, (16, 64)),
    "CNN of 28 x 28, batch 16": (Cnn, (16, 1, 28, 28)),
}


def run() -> list[Row]:
    return [row for name in MODELS for row in _rows(name)]


def _rows(name: str) -> list[Row]:
    device = NdArray.device()
    device.seed(0)
    made, shape = MODELS[name]
    model = made(device)
    x: Any = Tensor.from_data(np.random.default_rng(0).normal(size=shape), device, "float32")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(model, x, path)
        read = onnx.load(path, device)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    numbers, (port,) = x.to_numpy(), session.get_inputs()
    np.testing.assert_array_equal(read(x).to_numpy(), model(x).to_numpy())
    times = race({"read": timer(lambda: read(x)), "written": timer(lambda: model(x))}, ROUNDS)
    rows = [timed_row("onnx", f"{name}: read / written", times, "read", "written", "us", OWN)]
    asked = {port.name: numbers}
    times = race({"tinyburn": timer(lambda: read(x)), "runtime": timer(lambda: session.run(None, asked))}, ROUNDS)
    return [*rows, timed_row("onnx", f"{name}: tinyburn / ONNX Runtime", times, "tinyburn", "runtime", "us")]
