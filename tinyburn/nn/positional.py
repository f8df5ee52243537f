"""Positions for attention, which by itself does not know the order of what it sees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from tinyburn.backend import Backend, Device
from tinyburn.base.errors import ForeignCall, ShapeError
from tinyburn.base.shape import D2, D3
from tinyburn.module import Config, Module
from tinyburn.tensor import Tensor

from .checks import check_features, check_meets, not_positive, too_small

B = TypeVar("B", bound=Backend, covariant=True)
D = TypeVar("D")
DB = TypeVar("DB", bound=Backend)
Values = np.ndarray[Any, Any]


def angles(length: int, d_model: int, base: float) -> Values:
    """``position / base ** (2 i / d_model)`` for each position and each pair i of features, in float64."""
    speeds = np.exp(np.arange(0, d_model, 2) * (-math.log(base) / d_model))
    return np.outer(np.arange(length), speeds)


def _pairs(first: Values, second: Values) -> Values:
    """Two tables side by side, one feature of each in turn."""
    return np.stack([first, second], 2).reshape(len(first), -1)


def _constant(values: Values, device: Device[DB]) -> Tensor[DB, D2]:
    return Tensor.from_data(values.astype(str(device.float_dtype)), device)


def _odd(d_model: int) -> list[str]:
    return [f"d_model is {d_model}, and must be even: its features come in pairs"] if d_model % 2 else []


def _rows(name: str, table: Tensor[Any, D2], x: Tensor[Any, Any], start: int) -> Tensor[Any, Any]:
    """The part of a table for the positions of an input, which begins at ``start``, at the input's rank."""
    length = x.shape[-2]
    if not 0 <= start <= start + length <= table.shape[0]:
        reason = f"positions {start} to {start + length} are asked for, and the table ends at {table.shape[0]}"
        hint = "make the layer for longer sequences"
        raise ShapeError(name, reason, given={"input": x.shape, "start": start}, hint=hint)
    return table[start : start + length].unsqueeze(x.rank)


def _check(name: str, x: Tensor[Any, Any], table: Any, ranks: range, call: str) -> None:
    if not isinstance(table, Tensor):
        reason = "a layer is made by its config, which makes its table on a device"
        raise ForeignCall(f"nn.{name}", reason, hint=f"write nn.{name}Config({call}).init(device)")
    check_features(name, x, -1, table.shape[1], "d_model", ranks=ranks)
    check_meets(name, x, table)


@dataclass(frozen=True)
class PositionalEncodingConfig(Config):
    """For inputs of ``d_model`` features at up to ``max_sequence_size`` positions."""

    d_model: int
    max_sequence_size: int = 5000
    max_timescale: int = 10000

    def problems(self) -> list[str]:
        """Sizes that no layer can have."""
        sizes = too_small(
            d_model=self.d_model, max_sequence_size=self.max_sequence_size, max_timescale=self.max_timescale
        )
        return sizes + _odd(self.d_model)

    def init(self, device: Device[DB]) -> PositionalEncoding[DB]:
        """The layer, with its table on the device."""
        turns = angles(self.max_sequence_size, self.d_model, self.max_timescale)
        return PositionalEncoding(_constant(_pairs(np.sin(turns), np.cos(turns)), device))


class PositionalEncoding(Module, Generic[B]):
    """Adds to features 2i and 2i + 1 the sine and the cosine of ``position / max_timescale ** (2i / d_model)``.

    Vaswani et al. 2017, "Attention Is All You Need". It has no parameters; the table is a constant, and follows every
    move of the model.
    """

    def __init__(self, sinusoids: Tensor[B, D2]) -> None:
        self.sinusoids = sinusoids

    def forward(self, x: Tensor[B, D3], start: int = 0) -> Tensor[B, D3]:
        """``(batch, length, d_model)``, kept; its first position is ``start``.

        Raises ShapeError for another d_model or rank, or for positions after the last one of the table.
        """
        _check("PositionalEncoding", x, self.sinusoids, range(3, 4), "d_model")
        return x + _rows("PositionalEncoding", self.sinusoids, x, start)


@dataclass(frozen=True)
class RotaryEncodingConfig(Config):
    """For inputs of ``d_model`` features, of one head mostly, at up to ``max_sequence_length`` positions."""

    max_sequence_length: int
    d_model: int
    theta: float = 10000.0

    def problems(self) -> list[str]:
        """Sizes that no layer can have."""
        sizes = too_small(max_sequence_length=self.max_sequence_length, d_model=self.d_model)
        return sizes + _odd(self.d_model) + not_positive(theta=self.theta)

    def init(self, device: Device[DB]) -> RotaryEncoding[DB]:
        """The layer, with its tables on the device."""
        turns = angles(self.max_sequence_length, self.d_model, self.theta)
        sines = np.sin(turns)
        cosines = np.cos(turns)
        return RotaryEncoding(_constant(_pairs(cosines, cosines), device), _constant(_pairs(-sines, sines), device))


class RotaryEncoding(Module, Generic[B]):
    """Turns features 2i and 2i + 1, as a point of the plane, by ``position / theta ** (2i / d_model)``.

    Then the product of a query and a key depends on the distance of their positions. Su et al. 2021, "RoFormer:
    Enhanced Transformer with Rotary Position Embedding". It has no parameters; the tables are constants.
    """

    def __init__(self, cosines: Tensor[B, D2], sines: Tensor[B, D2]) -> None:
        self.cosines, self.sines = cosines, sines

    def forward(self, x: Tensor[B, D], start: int = 0) -> Tensor[B, D]:
        """``(…, length, d_model)``, kept, of rank 2 to 5; its first position is ``start``. See `PositionalEncoding`."""
        name = "RotaryEncoding"
        _check(name, x, self.cosines, range(2, 6), "max_sequence_length, d_model")
        pairs = x.reshape((*x.shape[:-1], x.shape[-1] // 2, 2))
        exchanged: Tensor[B, D] = pairs.flip((-1,)).reshape(x.shape)
        return x * _rows(name, self.cosines, x, start) + exchanged * _rows(name, self.sines, x, start)
