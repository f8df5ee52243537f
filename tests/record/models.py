"""A model of each family of layers, and what a model computes with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import AnyTensor
from tinyburn import Device, Module, Param, Tensor, nn

FIXTURES = Path(__file__).parent / "fixtures"
GOLDEN = Path(__file__).parents[1] / "golden"


class Block(Module):
    """A convolution with running statistics, and a part that is shared, frozen or a constant."""

    def __init__(self, device: Device[Any]) -> None:
        self.conv = nn.Conv2dConfig((1, 2), (3, 3)).init(device)
        self.norm = nn.BatchNormConfig(2).init(device)
        self.linear = nn.LinearConfig(8, 8).init(device)
        self.again = [self.linear, nn.Relu()]
        self.scale = Param.from_tensor(Tensor.full((1, 1), 2.0, device)).freeze()
        self.mask = Tensor.arange(0, 8, device) > 3

    def forward(self, x: AnyTensor) -> AnyTensor:
        hidden: AnyTensor = self.norm(self.conv(x)).reshape((x.shape[0], 8))
        return self.again[0](self.linear(hidden)).mask_fill(self.mask.unsqueeze(2).expand(hidden.shape), 0.0)


FAMILIES: dict[str, Callable[[Device[Any]], Module]] = {
    "linear": lambda device: nn.LinearConfig(3, 2).init(device),
    "without bias": lambda device: nn.LinearConfig(3, 2, bias=False).init(device),
    "conv2d": lambda device: nn.Conv2dConfig((2, 3), (3, 3)).init(device),
    "batch norm": lambda device: nn.BatchNormConfig(4).init(device),
    "group norm": lambda device: nn.GroupNormConfig(2, 4).init(device),
    "lstm": lambda device: nn.LstmConfig(3, 4, num_layers=2, bidirectional=True).init(device),
    "gru": lambda device: nn.GruConfig(3, 4).init(device),
    "embedding": lambda device: nn.EmbeddingConfig(5, 4).init(device),
    "transformer": lambda device: nn.TransformerEncoderConfig(4, 8, 2, 2).init(device),
    "nothing": lambda _: nn.Relu(),
    "block": Block,
}


def values(model: Module) -> dict[str, tuple[str, Any]]:
    """Each value of a model with its dtype."""
    tensors = ((path, part.val() if isinstance(part, Param) else part) for path, part in model.named_values())
    return {path: (str(tensor.dtype), tensor.to_numpy().tolist()) for path, tensor in tensors}


class Torchs(Module):
    """The model of tests/golden/records.py."""

    def __init__(self, device: Device[Any]) -> None:
        self.conv = nn.Conv2dConfig((1, 2), (3, 3)).init(device)
        self.norm = nn.BatchNormConfig(2).init(device)
        self.linear = nn.LinearConfig(8, 8).init(device)
        self.encoder = nn.TransformerEncoderConfig(4, 8, 2, 1, dropout=0.0).init_layer(device)
        self.decoder = nn.TransformerDecoderConfig(4, 8, 2, 1, dropout=0.0).init_layer(device)
        self.lstm = nn.LstmConfig(4, 3, num_layers=2, bidirectional=True).init(device)
        self.layer_norm = nn.LayerNormConfig(6).init(device)
        self.table = nn.EmbeddingConfig(5, 6).init(device)

    def forward(self, image: AnyTensor, tokens: AnyTensor) -> AnyTensor:
        hidden = self.linear(self.norm(self.conv(image)).reshape((2, 8))).reshape((2, 2, 4))
        outputs, _ = self.lstm(self.decoder(self.encoder(hidden), hidden))
        return self.layer_norm(outputs) + self.table(tokens)


class Candles(Module):
    """A layer of each kind that the crate candle-nn keeps in a file."""

    def __init__(self, device: Device[Any]) -> None:
        self.linear = nn.LinearConfig(2, 3, bias=False).init(device)
        self.lstm = nn.LstmConfig(3, 2).init(device)
        self.norm = nn.BatchNormConfig(2).init(device)
        self.table = nn.EmbeddingConfig(5, 3).init(device)
        self.conv = nn.Conv2dConfig((2, 4), (3, 3)).init(device)
