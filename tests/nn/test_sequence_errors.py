"""What recurrent layers, attention and transformers say to bad input, and what they do with no samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import const, mask, plain, tracked
from tinyburn import (
    BackendMismatch,
    Config,
    ConfigError,
    DTypeMismatch,
    ForeignCall,
    ShapeError,
    Tensor,
    TinyburnError,
    nn,
)

CONFIGS: dict[str, Callable[[], Config]] = {
    "d_hidden is 0": lambda: nn.LstmConfig(3, 0),
    "num_layers is 0": lambda: nn.GruConfig(3, 2, num_layers=0),
    "dropout is 1.5": lambda: nn.RnnConfig(3, 2, dropout=1.5),
    "d_model = 6 features cannot be shared evenly by n_heads = 4": lambda: nn.MultiHeadAttentionConfig(6, 4),
    "n_heads is 0": lambda: nn.MultiHeadAttentionConfig(6, 0),
    "n_layers is 0": lambda: nn.TransformerEncoderConfig(4, 8, 2, 0),
    "features cannot be shared evenly by n_heads = 3": lambda: nn.TransformerDecoderConfig(4, 8, 3, 1),
    "activation is 'tanh', and is one of gelu, relu": lambda: nn.PositionWiseFeedForwardConfig(4, 8, activation="tanh"),
    "d_model is 5, and must be even": lambda: nn.PositionalEncodingConfig(5),
    "theta is -1.0": lambda: nn.RotaryEncodingConfig(4, 4, -1.0),
}


@pytest.mark.parametrize("reason", CONFIGS)
def test_a_config_that_cannot_be(reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        CONFIGS[reason]()


def ones(*shape: int, backend: Any = plain) -> Any:
    return const(np.ones(shape), backend())


def attend(*args: Any, **options: Any) -> Any:
    return nn.MultiHeadAttentionConfig(4, 2).init(plain())(*args, **options)


def masked(name: str, *shape: int) -> Any:
    x = ones(2, 3, 4)
    return attend(x, x, x, **{name: mask(np.zeros(shape, dtype=bool), plain())})


X, CACHED = ones(2, 3, 4), nn.MhaCache(ones(2, 1, 3, 4), ones(2, 1, 3, 4))

INPUTS: dict[str, tuple[Callable[[], Any], type[TinyburnError]]] = {
    "the last dim is 4, and the layer fixes it at d_input = 3": (
        lambda: nn.LstmConfig(3, 2).init(plain())(X),
        ShapeError,
    ),
    "the input has rank 2, and must have rank 3": (lambda: nn.RnnConfig(3, 2).init(plain())(ones(2, 3)), ShapeError),
    "the sequence has no steps": (lambda: nn.GruConfig(3, 2).init(plain())(ones(2, 0, 3)), ShapeError),
    r"the state has shape \(1, 2, 2\), and must have \(2, 2, 2\)": (
        lambda: nn.GruConfig(4, 2, num_layers=2).init(plain())(X, ones(1, 2, 2)),
        ShapeError,
    ),
    "an Lstm has two states": (lambda: nn.LstmConfig(4, 2).init(plain())(X, ones(1, 2, 2)), DTypeMismatch),
    "the backends differ": (lambda: nn.RnnConfig(4, 2).init(tracked())(X), BackendMismatch),
    "the last dim is 5, and the layer fixes it at d_model = 4": (lambda: attend(X, X, ones(2, 3, 5)), ShapeError),
    "the batches differ": (lambda: attend(X, ones(1, 3, 4), ones(1, 3, 4)), ShapeError),
    "each key has a value": (lambda: attend(X, X, ones(2, 2, 4)), ShapeError),
    "key and value come together": (lambda: attend(X, None, None), ShapeError),
    "the cache is of another batch": (lambda: attend(X, X, X, cache=CACHED), ShapeError),
    r"the mask has shape \(2, 4\), and must have \(2, 3\)": (lambda: masked("mask_pad", 2, 4), ShapeError),
    r"the mask has shape \(3, 3\), and must have \(2, 3, 3\)": (lambda: masked("mask_attn", 3, 3), ShapeError),
    r"mask_pad=...\) takes a bool tensor": (lambda: attend(X, X, X, ones(2, 3)), DTypeMismatch),
    "no TransformerEncoderCache of 1 layers": (
        lambda: nn.TransformerEncoderConfig(4, 8, 2, 1).init(plain()).forward_autoregressive_inference(X, None),  # type: ignore[arg-type]
        ShapeError,
    ),
    "positions 2 to 5 are asked for, and the table ends at 4": (
        lambda: nn.PositionalEncodingConfig(4, 4).init(plain())(X, 2),
        ShapeError,
    ),
    "there is no list of tokens": (lambda: nn.generate_padding_mask(0, [], None, plain()), ShapeError),
    "not a list of whole numbers": (lambda: nn.generate_padding_mask(0, [[0.5]], None, plain()), DTypeMismatch),  # type: ignore[list-item]
    "seq_length is -1": (lambda: nn.generate_autoregressive_mask(1, -1, plain()), ShapeError),
}


@pytest.mark.parametrize("reason", INPUTS)
def test_an_input_that_does_not_fit(reason: str) -> None:
    call, error = INPUTS[reason]
    with pytest.raises(error, match=reason):
        call()


@pytest.mark.parametrize(
    ("layer", "args"),
    [
        (nn.Lstm, (4, 0.0)),
        (nn.MultiHeadAttention, (4, 4, 4, 4, 2, 0.0)),
        (nn.PositionWiseFeedForward, (4, 8, 0.0)),
        (nn.TransformerEncoder, (4,)),
        (nn.TransformerDecoder, (4,)),
        (nn.TransformerEncoderLayer, (4, 4, 4, 0.0, False)),
    ],
)
def test_a_layer_made_without_its_config(layer: Any, args: Any) -> None:
    with pytest.raises(ForeignCall, match="made by its config"):
        layer(*args)


def test_an_empty_batch() -> None:
    device = tracked()
    x = Tensor.zeros((0, 3, 4), device)
    outputs, state = nn.LstmConfig(4, 2).init(device)(x)
    assert (outputs.shape, state.cell.shape) == ((0, 3, 2), (1, 0, 2))
    assert nn.TransformerEncoderConfig(4, 8, 2, 1).init(device)(x).shape == (0, 3, 4)


def test_configs_can_be_saved(tmp_path: Any) -> None:
    for config in (nn.LstmConfig(3, 2, bidirectional=True), nn.TransformerDecoderConfig(4, 8, 2, 1, activation="relu")):
        config.save(tmp_path / "config.json")
        assert type(config).load(tmp_path / "config.json") == config
