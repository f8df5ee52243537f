"""What the tests of training train: scikit-learn's digits, and a model with everything that keeps a state."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from tinyburn import Device, Module, Tensor, nn, optim, train

Batches = list[tuple[Any, Any]]


@cache
def digits() -> tuple[Any, Any]:
    images, labels = load_digits(return_X_y=True)
    return images / 16, labels


def batches(device: Device[Any], size: int = 32, count: int = 6, start: int = 0) -> Batches:
    """Some batches of digits, each ``(size, 64)`` with its labels; the last may be smaller."""
    images, labels = digits()
    made = []
    for at in range(start, min(start + size * count, len(labels)), size):
        x = images[at : at + size].astype(str(device.float_dtype))
        y = labels[at : at + size].astype(str(device.int_dtype))
        made.append((Tensor.from_data(x, device), Tensor.from_data(y, device)))
    return made


class Plain(Module):
    """Two layers."""

    def __init__(self, device: Device[Any], width: int = 16) -> None:
        self.first = nn.LinearConfig(64, width).init(device)
        self.second = nn.LinearConfig(width, 10).init(device)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x).tanh())


class Full(Module):
    """With a dropout, which draws, and a batch norm, which a forward pass changes."""

    def __init__(self, device: Device[Any]) -> None:
        self.first = nn.LinearConfig(64, 16).init(device)
        self.norm = nn.BatchNormConfig(16).init(device)
        self.dropout = nn.DropoutConfig(0.3).init()
        self.second = nn.LinearConfig(16, 10).init(device)

    def forward(self, x: Any) -> Any:
        return self.second(self.dropout(self.norm(self.first(x)).tanh()))


def cross_entropy(device: Device[Any]) -> Any:
    return nn.CrossEntropyLossConfig().init(device)


def learner(device: Device[Any], model: Any = Plain, seed: int = 1, **options: Any) -> train.Learner[Any]:
    device.seed(seed)
    rate = {} if "scheduler" in options else {"lr": 0.01}
    optimizer = options.pop("optimizer", None) or optim.AdamConfig().init()
    return train.Learner(model(device), optimizer, cross_entropy(device), **rate, **options)


def values(model: Module) -> dict[str, Any]:
    """Every number of a model, as nested lists."""
    params = {path: param.val().to_numpy().tolist() for path, param in model.named_params()}
    return params | {path: tensor.to_numpy().tolist() for path, tensor in model.named_tensors()}


def same_bits(a: Any, b: Any) -> bool:
    return np.array_equal(np.asarray(a), np.asarray(b))


class Loader:
    """In an order of its own each epoch, with a state: which epoch, and how many batches are handed out."""

    def __init__(self, data: list[Any]) -> None:
        self.data = data
        self.epoch = self.done = 0
        self.read = 0

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        order = np.random.default_rng(self.epoch).permutation(len(self.data))
        for at in order[self.done :]:
            self.read += 1
            self.done += 1
            yield self.data[at]
        self.epoch, self.done = self.epoch + 1, 0

    def state(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "done": self.done}

    def load_state(self, state: dict[str, Any]) -> None:
        self.epoch, self.done = state["epoch"], state["done"]


class Eager(Loader):
    """It begins the next epoch with the last batch of this one, and not after it."""

    def __iter__(self) -> Iterator[Any]:
        order = np.random.default_rng(self.epoch).permutation(len(self.data))[self.done :]
        for at in order:
            self.read += 1
            self.done += 1
            if self.done == len(self.data):
                self.epoch, self.done = self.epoch + 1, 0
            yield self.data[at]
