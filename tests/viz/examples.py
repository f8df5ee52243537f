"""The programs whose pictures are tested: each returns a tensor, and the names for its leaves."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

from tests.support import AnyTensor
from tinyburn import Autodiff, Device, Distribution, Module, NdArray, Param, Tensor, activation, nn
from tinyburn.viz import Picture

Example = tuple[AnyTensor, dict[str, Any]]
SVG = "{http://www.w3.org/2000/svg}"


def new_device() -> Device[Any]:
    device = Autodiff[NdArray].device(float_dtype="float64")
    device.seed(3)
    return device


def training_step(device: Device[Any] | None = None) -> Example:
    """A dense block and its mean squared error: input and target are constants."""
    device = device or new_device()
    x, target = Tensor.ones((16, 8), device), Tensor.zeros((16, 4), device)
    w = Tensor.full((8, 4), 0.5, device).require_grad()
    b = Tensor.zeros((4,), device).require_grad()
    loss = ((x @ w + b.unsqueeze(2) - target) ** 2).mean()
    return loss, {"x": x, "W": w, "b": b, "target": target}


def normalize_batch(device: Device[Any] | None = None) -> Example:
    """x reaches the result by several ways."""
    device = device or new_device()
    x = Tensor.random((16, 8), Distribution.Normal(0, 1), device).require_grad()
    centred = x - x.mean_dim(0)
    return centred / ((centred * centred).mean_dim(0) + 1e-6).sqrt(), {"x": x}


class Mlp(Module):
    def __init__(self, sizes: list[int], device: Device[Any]) -> None:
        self.layers = [nn.LinearConfig(start, end).init(device) for start, end in pairwise(sizes)]

    def forward(self, x: AnyTensor) -> AnyTensor:
        for layer in self.layers[:-1]:
            x = activation.relu(layer(x))
        return self.layers[-1](x)


def mlp(layers: int = 3, device: Device[Any] | None = None) -> Example:
    device = device or new_device()
    model = Mlp([4, *[8] * (layers - 1), 2], device)
    x, target = Tensor.ones((16, 4), device), Tensor.zeros((16, 2), device)
    return nn.MseLoss()(model(x), target), {"model": model, "x": x, "target": target}


class Block(Module):
    """A layer that is written out in operations."""

    def __init__(self, size: int, device: Device[Any]) -> None:
        self.weight = Param.from_tensor(Tensor.ones((size, size), device))
        self.bias = Param.from_tensor(Tensor.zeros((1, size), device))

    def forward(self, x: AnyTensor) -> AnyTensor:
        return x @ self.weight.val() + self.bias.val()


class Tower(Module):
    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks

    def forward(self, x: AnyTensor) -> AnyTensor:
        for block in self.blocks:
            x = activation.relu(block(x))
        return x


def tower(blocks: int) -> Example:
    """Modules of several operations each, one above the other."""
    device = new_device()
    model = Tower([Block(4, device) for _ in range(blocks)])
    x, target = Tensor.ones((16, 4), device), Tensor.zeros((16, 4), device)
    return nn.MseLoss()(model(x), target), {"model": model, "x": x, "target": target}


def chain(length: int) -> Example:
    x = Tensor.ones((1,), new_device()).require_grad()
    y = x
    for _ in range(length):
        y = y + 1.0
    return y, {"x": x}


def tangle(operations: int, seed: int = 0, device: Device[Any] | None = None) -> Example:
    """Operations whose operands are chosen at random, so that nothing repeats."""
    import random

    chance = random.Random(seed)
    device = device or new_device()
    pool = [Tensor.full((2, 3), 0.1 * (index + 1), device).require_grad() for index in range(operations // 5)]
    for _ in range(operations):
        a, b = chance.choice(pool[-30:]), chance.choice(pool)
        pool.append(chance.choice([lambda a, b: a + b, lambda a, b: a * b * 0.1, lambda a, b: a.tanh() - b])(a, b))
    return sum(pool[1:], pool[0]).sum(), {}


def texts(picture: Picture) -> list[str]:
    """Every line of text of the drawing, which must be well-formed XML."""
    return [element.text or "" for element in ElementTree.fromstring(picture.svg).iter(f"{SVG}text")]


def columns(picture: Picture, *headings: str) -> list[tuple[str, ...]]:
    """Some columns of the text form. They stand where every line of the table has two blanks between them."""
    lines = picture.text.split("\n\n")[0].splitlines()
    width = max(map(len, lines)) + 2
    padded = [line.ljust(width) for line in lines]
    blank = [all(line[at] == " " for line in padded) for at in range(width)]
    starts = [0, *[at for at in range(2, width) if blank[at - 1] and blank[at - 2] and not blank[at]]]
    rows = [[line[start:end].strip() for start, end in pairwise([*starts, width])] for line in padded]
    wanted = [rows[0].index(heading) for heading in headings]
    return [tuple(row[column] for column in wanted) for row in rows[1:]]
