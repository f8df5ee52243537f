"""Small models that the module tests share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.support import AnyTensor
from tinyburn import Config, Device, Module, Param, Tensor, activation, nn


@dataclass(frozen=True)
class MlpConfig(Config):
    """Two linear layers with a relu between."""

    d_input: int
    d_hidden: int = 3
    d_output: int = 2

    def init(self, device: Device[Any]) -> Mlp:
        first = nn.LinearConfig(self.d_input, self.d_hidden).init(device)
        second = nn.LinearConfig(self.d_hidden, self.d_output, bias=False).init(device)
        return Mlp([first, second])


class Mlp(Module):
    def __init__(self, layers: list[nn.Linear]) -> None:
        self.layers = layers
        self.activation = nn.Relu()

    def forward(self, x: AnyTensor) -> AnyTensor:
        h: AnyTensor = self.activation(self.layers[0](x))
        out: AnyTensor = self.layers[1](h)
        return out


class Tied(Module):
    """One matrix as the embedding and, transposed, as the output layer."""

    def __init__(self, device: Device[Any]) -> None:
        self.embedding = Param.from_tensor(Tensor.eye(3, device) + 1.0)
        self.output = self.embedding
        self.scale = Param.from_tensor(Tensor.full((1, 1), 2.0, device))

    def forward(self, x: AnyTensor) -> AnyTensor:
        hidden = activation.tanh(x @ self.embedding.val())
        return (hidden @ self.output.val().transpose()) * self.scale.val()


class Nested(Module):
    """Parameters and modules in lists, tuples and dicts, and in containers inside containers."""

    def __init__(self, device: Device[Any]) -> None:
        self.name = "nested"
        self.size = 2
        self.nothing = None
        self.heads = {
            "left": nn.LinearConfig(2, 1).init(device),
            "right": [Param.from_tensor(Tensor.ones((1,), device))],
        }
        self.pair = (Param.from_tensor(Tensor.zeros((2,), device)), nn.Tanh())

    def forward(self, x: AnyTensor) -> AnyTensor:
        out: AnyTensor = self.heads["left"](x)  # type: ignore[operator]
        return out
