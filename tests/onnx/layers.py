"""A layer of each kind, small, with an example of any batch: what the tests of writing and of the way back share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.support import AnyTensor
from tinyburn import Autodiff, Device, Module, NdArray, Tensor, activation, nn

Make = Callable[[Device[Any]], Module]
Inputs = Callable[[int, Device[Any]], tuple[Any, ...]]


@dataclass(frozen=True)
class Example:
    """A module, and its inputs for a batch on a device."""

    name: str
    make: Make
    inputs: Inputs
    dims: dict[str, int] | None = None


def device() -> Device[Any]:
    """Where modules train. The seed makes a file the same each time."""
    made = Autodiff[NdArray].device()
    made.seed(3)
    return made


def floats(*shape: int) -> Callable[[int, Device[Any]], AnyTensor]:
    """Numbers between -2 and 2, of which no two of a batch are in a line."""

    def make(batch: int, device: Device[Any]) -> AnyTensor:
        draws = np.random.default_rng(batch).uniform(-2, 2, (batch, *shape))
        return Tensor.from_data(draws.astype("float32"), device)

    return make


def indices(count: int, *shape: int) -> Callable[[int, Device[Any]], AnyTensor]:
    """Whole numbers below a count."""
    return lambda batch, device: Tensor.from_data(
        np.random.default_rng(batch).integers(0, count, (batch, *shape)), device
    )


def truths(*shape: int) -> Callable[[int, Device[Any]], AnyTensor]:
    """About a third of them True, and all of the first sample's: a row in which a mask leaves nothing."""

    def make(batch: int, device: Device[Any]) -> AnyTensor:
        values = np.random.default_rng(batch).uniform(size=(batch, *shape)) < 0.3
        values[0] = True
        return Tensor.from_data(values, device)

    return make


def several(*makers: Callable[[int, Device[Any]], Any]) -> Inputs:
    """An input from each."""
    return lambda batch, device: tuple(make(batch, device) for make in makers)


def _made(config: Any) -> Make:
    return lambda device: config.init(device)


def _plain(config: Any) -> Make:
    return lambda device: config.init()


class SelfAttention(Module):
    """One input for query, key and value, a mask for the padding, and one that looks at no later position."""

    def __init__(self, device: Device[Any]) -> None:
        self.attention = nn.MultiHeadAttentionConfig(8, 2).init(device)

    def forward(self, x: Any, mask_pad: Any) -> Any:
        batch, length, _ = x.shape
        later = nn.generate_autoregressive_mask(batch, length, x.device)
        return self.attention(x, x, x, mask_pad, later).context


class Cnn(Module):
    """What a first lesson trains on images."""

    def __init__(self, device: Device[Any]) -> None:
        self.first = nn.Conv2dConfig((1, 4), (3, 3), padding=nn.PaddingConfig2d.Same).init(device)
        self.norm = nn.BatchNormConfig(4).init(device)
        self.pool = nn.MaxPool2dConfig((2, 2), stride=(2, 2)).init()
        self.second = nn.Conv2dConfig((4, 6), (3, 3), stride=(2, 2)).init(device)
        self.average = nn.AdaptiveAvgPool2dConfig((1, 1)).init()
        self.dropout = nn.DropoutConfig(0.5).init()
        self.output = nn.LinearConfig(6, 3).init(device)

    def forward(self, image: Any) -> Any:
        x = self.pool(activation.relu(self.norm(self.first(image))))
        x = self.average(activation.gelu(self.second(x))).flatten(1)
        return self.output(self.dropout(x))


class Transformer(Module):
    """A small language model: tokens, positions, causal layers, and a score for each next token."""

    def __init__(self, device: Device[Any]) -> None:
        self.tokens = nn.EmbeddingConfig(11, 8).init(device)
        self.positions = nn.PositionalEncodingConfig(8, 16).init(device)
        self.layers = nn.TransformerEncoderConfig(8, 16, 2, 2, norm_first=True).init(device)
        self.output = nn.LinearConfig(8, 11).init(device)

    def forward(self, tokens: Any) -> Any:
        batch, length = tokens.shape
        mask = nn.generate_autoregressive_mask(batch, length, tokens.device)
        return self.output(self.layers(self.positions(self.tokens(tokens)), None, mask))


class Step(Module):
    """A step of an Lstm from a state that comes in."""

    def __init__(self, device: Device[Any]) -> None:
        self.cell = nn.LstmConfig(3, 4).init(device)

    def forward(self, x: Any, cell: Any, hidden: Any) -> Any:
        outputs, state = self.cell(x, nn.LstmState(cell, hidden))
        return outputs, state.cell, state.hidden


def _signs(batch: int, device: Device[Any]) -> AnyTensor:
    return Tensor.from_data(np.where(np.arange(batch) % 2, -1, 1), device)


def _state(batch: int, device: Device[Any]) -> AnyTensor:
    return floats(4)(batch, device).unsqueeze_dim(0)


IMAGE, SEQUENCE, VOLUME, ROWS = floats(2, 7, 8), floats(4, 9), floats(2, 4, 5, 6), floats(6)
POSITIONS = floats(5, 8)
PAIR2 = nn.PaddingConfig2d.Explicit(1, 1)

_ACTIVATIONS = [
    "Gelu",
    "HardSwish",
    "LogSigmoid",
    "Mish",
    "Relu",
    "Selu",
    "Sigmoid",
    "Silu",
    "Softsign",
    "Tanh",
    "Tanhshrink",
]
_WITH_SETTINGS = [
    "Celu",
    "Elu",
    "HardShrink",
    "HardSigmoid",
    "LeakyRelu",
    "Shrink",
    "Softplus",
    "SoftShrink",
    "ThresholdedRelu",
]


def _activations() -> list[Example]:
    one = several(ROWS)
    found = [Example(name, lambda device, name=name: getattr(nn, name)(), one) for name in _ACTIVATIONS]
    found += [Example(name, _plain(getattr(nn, f"{name}Config")()), one) for name in _WITH_SETTINGS]
    return [
        *found,
        Example("Softmax", lambda device: nn.Softmax(1), one),
        Example("LogSoftmax", lambda device: nn.LogSoftmax(1), one),
        Example("Glu", lambda device: nn.Glu(1), one),
        Example("PRelu", _made(nn.PReluConfig(6)), one),
        Example("SwiGlu", _made(nn.SwiGluConfig(6, 4)), one),
    ]


def _windows() -> list[Example]:
    return [
        Example("Conv1d", _made(nn.Conv1dConfig(4, 6, 3, groups=2, dilation=2)), several(SEQUENCE)),
        Example("Conv2d", _made(nn.Conv2dConfig((2, 3), (3, 2), stride=(2, 1), padding=PAIR2)), several(IMAGE)),
        Example("Conv2d-no-bias", _made(nn.Conv2dConfig((2, 3), (3, 3), bias=False)), several(IMAGE)),
        Example("Conv3d", _made(nn.Conv3dConfig((2, 3), (2, 3, 2))), several(VOLUME)),
        Example(
            "ConvTranspose1d", _made(nn.ConvTranspose1dConfig((4, 6), 3, stride=2, padding_out=1)), several(SEQUENCE)
        ),
        Example(
            "ConvTranspose2d",
            _made(nn.ConvTranspose2dConfig((2, 4), (3, 2), stride=(2, 3), padding=(1, 0), groups=2)),
            several(IMAGE),
        ),
        Example("ConvTranspose2d-mirrored", _made(nn.ConvTranspose2dConfig((2, 4), (3, 3), padding=1)), several(IMAGE)),
        Example("ConvTranspose3d", _made(nn.ConvTranspose3dConfig((2, 3), (2, 2, 2), dilation=2)), several(VOLUME)),
        Example("MaxPool1d", _plain(nn.MaxPool1dConfig(3, stride=2)), several(SEQUENCE)),
        Example("MaxPool2d", _plain(nn.MaxPool2dConfig((2, 3), stride=(2, 2), padding=PAIR2)), several(IMAGE)),
        Example("MaxPool2d-side-by-side", _plain(nn.MaxPool2dConfig((7, 2), stride=(7, 2))), several(IMAGE)),
        Example("AvgPool1d", _plain(nn.AvgPool1dConfig(3, stride=3)), several(SEQUENCE)),
        Example("AvgPool2d", _plain(nn.AvgPool2dConfig((2, 2), stride=(1, 2), padding=PAIR2)), several(IMAGE)),
        Example(
            "AvgPool2d-inside",
            _plain(nn.AvgPool2dConfig((3, 3), stride=(2, 2), padding=PAIR2, count_include_pad=False)),
            several(IMAGE),
        ),
        Example("AdaptiveAvgPool1d", _plain(nn.AdaptiveAvgPool1dConfig(4)), several(SEQUENCE)),
        Example("AdaptiveAvgPool2d", _plain(nn.AdaptiveAvgPool2dConfig((3, 2))), several(IMAGE)),
    ]


def _others() -> list[Example]:
    return [
        Example("Linear", _made(nn.LinearConfig(6, 4)), several(ROWS)),
        Example("Linear-rank3", _made(nn.LinearConfig(8, 4)), several(POSITIONS)),
        Example("Linear-no-bias", _made(nn.LinearConfig(6, 4, bias=False)), several(ROWS)),
        Example("Dropout", _plain(nn.DropoutConfig(0.5)), several(ROWS)),
        Example("Flatten", lambda device: nn.Flatten(), several(IMAGE)),
        Example("Embedding", _made(nn.EmbeddingConfig(7, 4)), several(indices(7, 5))),
        Example("BatchNorm", _made(nn.BatchNormConfig(2)), several(IMAGE)),
        Example("LayerNorm", _made(nn.LayerNormConfig(8)), several(POSITIONS)),
        Example("RmsNorm", _made(nn.RmsNormConfig(8)), several(POSITIONS)),
        Example("GroupNorm", _made(nn.GroupNormConfig(2, 4)), several(SEQUENCE)),
        Example("InstanceNorm", _made(nn.InstanceNormConfig(2)), several(IMAGE)),
        Example("PositionalEncoding", _made(nn.PositionalEncodingConfig(8, 16)), several(POSITIONS)),
        Example("RotaryEncoding", _made(nn.RotaryEncodingConfig(16, 8)), several(POSITIONS)),
        Example("PositionWiseFeedForward", _made(nn.PositionWiseFeedForwardConfig(8, 16)), several(POSITIONS)),
        Example("Rnn", _made(nn.RnnConfig(3, 4)), several(floats(3, 3))),
        Example("Gru", _made(nn.GruConfig(3, 4)), several(floats(3, 3))),
        Example("Lstm", _made(nn.LstmConfig(3, 4, num_layers=2, bidirectional=True)), several(floats(3, 3))),
        Example("Lstm-from-a-state", Step, several(floats(3, 3), _state, _state), {"x": 0, "cell": 1, "hidden": 1}),
        Example("MultiHeadAttention", _made(nn.MultiHeadAttentionConfig(8, 2)), several(*[POSITIONS] * 3)),
        Example("MultiHeadAttention-masked", SelfAttention, several(POSITIONS, truths(5))),
        Example("TransformerEncoder", _made(nn.TransformerEncoderConfig(8, 16, 2, 1)), several(POSITIONS, truths(5))),
        Example(
            "TransformerDecoder", _made(nn.TransformerDecoderConfig(8, 16, 2, 1)), several(floats(4, 8), POSITIONS)
        ),
    ]


def _losses() -> list[Example]:
    pair = several(ROWS, ROWS)
    return [
        Example("MseLoss", lambda device: nn.MseLoss(), pair),
        Example("L1Loss", lambda device: nn.L1Loss(), pair),
        Example("HuberLoss", _plain(nn.HuberLossConfig(0.5)), pair),
        Example("SmoothL1Loss", _plain(nn.SmoothL1LossConfig()), pair),
        Example("PoissonNllLoss", _plain(nn.PoissonNllLossConfig()), pair),
        Example("KLDivLoss", _plain(nn.KLDivLossConfig()), pair),
        Example("CrossEntropyLoss", _made(nn.CrossEntropyLossConfig()), several(ROWS, indices(6))),
        Example(
            "BinaryCrossEntropyLoss", _made(nn.BinaryCrossEntropyLossConfig(logits=True)), several(ROWS, indices(2, 6))
        ),
        Example("CosineEmbeddingLoss", _plain(nn.CosineEmbeddingLossConfig()), several(ROWS, ROWS, _signs)),
    ]


MODELS = [
    Example("Cnn", Cnn, several(floats(1, 8, 8))),
    Example("Transformer", Transformer, several(indices(11, 6))),
]
LAYERS = [*_activations(), *_windows(), *_others(), *_losses()]
EXAMPLES = [*LAYERS, *MODELS]
