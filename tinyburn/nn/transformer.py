"""What the encoder and the decoder of a transformer share: their configuration and the way of a residual branch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.base.errors import ForeignCall
from tinyburn.base.shape import D3
from tinyburn.module import Config, Module
from tinyburn.module.initializer import AnyInitializer, KaimingUniform
from tinyburn.tensor import Tensor

from .attention import MultiHeadAttention, MultiHeadAttentionConfig, uneven_heads
from .checks import check_features, not_a_share, not_positive, too_small
from .dropout import Dropout
from .feed_forward import PositionWiseFeedForward, PositionWiseFeedForwardConfig, unknown_activation
from .layer_norm import LayerNorm, LayerNormConfig

DB = TypeVar("DB", bound=Backend)

NAMES_IN_TORCH = {
    "pwff.linear_inner": "linear1",
    "pwff.linear_outer": "linear2",
    "norm_1": "norm1",
    "norm_2": "norm2",
}
"""PyTorch's names in a layer of either side."""


@dataclass(frozen=True)
class TransformerConfig(Config):
    """``n_layers`` layers, each of attention with ``n_heads`` heads and a feed-forward part of ``d_ff`` features.

    Attributes:
        dropout: the share that is dropped, of attention weights, in the feed-forward part, and at the end of each
            branch.
        norm_first: whether a branch starts with its normalisation (Xiong et al. 2020, "On Layer Normalization in the
            Transformer Architecture"); else the sum of a branch and its input is normalised, as in the paper.
        activation: of the feed-forward part: "gelu" or "relu".
    """

    d_model: int
    d_ff: int
    n_heads: int
    n_layers: int
    dropout: float = 0.1
    norm_first: bool = False
    initializer: AnyInitializer = field(default_factory=KaimingUniform)
    activation: str = "gelu"
    layer_norm_eps: float = 1e-5

    def problems(self) -> list[str]:
        """Sizes that no layer can have, heads that cannot share the features, and what is no share."""
        sizes = {"d_model": self.d_model, "d_ff": self.d_ff, "n_heads": self.n_heads, "n_layers": self.n_layers}
        return [
            *(too_small(**sizes) or uneven_heads(self.d_model, self.n_heads)),
            *not_a_share(dropout=self.dropout),
            *unknown_activation(self.activation),
            *not_positive(layer_norm_eps=self.layer_norm_eps),
        ]

    def _attention(self, device: Device[DB]) -> MultiHeadAttention[DB]:
        return MultiHeadAttentionConfig(self.d_model, self.n_heads, self.dropout, self.initializer).init(device)

    def _feed_forward(self, device: Device[DB]) -> PositionWiseFeedForward[DB]:
        config = PositionWiseFeedForwardConfig(self.d_model, self.d_ff, self.dropout, self.initializer, self.activation)
        return config.init(device)

    def _norm(self, device: Device[DB]) -> LayerNorm[DB]:
        return LayerNormConfig(self.d_model, self.layer_norm_eps).init(device)


def around(
    branch: Callable[[Tensor[Any, D3]], Tensor[Any, D3]],
    x: Tensor[Any, D3],
    norm: LayerNorm[Any],
    dropout: Dropout,
    norm_first: bool,
) -> Tensor[Any, D3]:
    """``x`` and what a branch makes of it, added up, with the normalisation before or after."""
    if norm_first:
        return x + dropout(branch(norm(x)))
    return norm(x + dropout(branch(x)))


def check_made(module: Module, parts: object, wanted: type[Any]) -> None:
    """Raises ForeignCall for a transformer, or a layer of one, that was not made by its config."""
    if not (isinstance(parts, list) and all(isinstance(part, wanted) for part in parts)):
        name = type(module).__name__
        reason = "it is made by its config, which makes the parameters on a device"
        config = f"{name.removesuffix('Layer')}Config(d_model, d_ff, n_heads, n_layers)"
        hint = f"write nn.{config}.{'init_layer' if name.endswith('Layer') else 'init'}(device)"
        raise ForeignCall(f"nn.{name}", reason, hint=hint)


def check_input(name: str, x: object, d_model: int) -> None:
    """Raises ShapeError unless an input is ``(batch, length, d_model)``."""
    check_features(name, x, -1, d_model, "d_model", ranks=(3,))
