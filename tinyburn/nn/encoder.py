"""The encoder of a transformer; with a causal mask it is also the model that generates text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.base.dtype import Bool
from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import D2, D3
from tinyburn.module import Module
from tinyburn.tensor import Tensor

from .attention import MhaCache, MultiHeadAttention
from .dropout import Dropout
from .feed_forward import PositionWiseFeedForward
from .layer_norm import LayerNorm
from .transformer import NAMES_IN_TORCH, TransformerConfig, around, check_input, check_made

B = TypeVar("B", bound=Backend, covariant=True)
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)


@dataclass(frozen=True)
class TransformerEncoderConfig(TransformerConfig):
    """See `TransformerConfig` for the fields."""

    def init(self, device: Device[DB]) -> TransformerEncoder[DB]:
        """The encoder, with its parameters on the device."""
        return TransformerEncoder([self.init_layer(device) for _ in range(self.n_layers)])

    def init_layer(self, device: Device[DB]) -> TransformerEncoderLayer[DB]:
        """A layer by itself."""
        norms = (self._norm(device), self._norm(device))
        return TransformerEncoderLayer(
            self._attention(device), self._feed_forward(device), norms, self.dropout, self.norm_first
        )


class TransformerEncoderLayer(Module, Generic[B]):
    """Self-attention, then the feed-forward part, each as a branch around which its input goes on.

    Vaswani et al. 2017, "Attention Is All You Need". ``norm_1`` belongs to attention and ``norm_2`` to the other
    branch, as in PyTorch; with ``norm_first`` Burn has them the other way round.
    """

    torch_names: ClassVar[Mapping[str, str]] = {"mha": "self_attn", **NAMES_IN_TORCH}

    def __init__(
        self,
        mha: MultiHeadAttention[B],
        pwff: PositionWiseFeedForward[B],
        norms: tuple[LayerNorm[B], LayerNorm[B]],
        dropout: float,
        norm_first: bool,
    ) -> None:
        check_made(self, [mha], MultiHeadAttention)
        self.mha, self.pwff = mha, pwff
        self.norm_1, self.norm_2 = norms
        self.dropout = Dropout(dropout)
        self.norm_first = norm_first

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> TransformerEncoderLayer[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> TransformerEncoderLayer[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: TransformerEncoderLayer[Differentiable[IB]]) -> TransformerEncoderLayer[IB]:
            """See `Module.valid`."""
            ...

    def forward(
        self,
        x: Tensor[B, D3],
        mask_pad: Tensor[B, D2, Bool] | None = None,
        mask_attn: Tensor[B, D3, Bool] | None = None,
    ) -> Tensor[B, D3]:
        """``(batch, length, d_model)``, kept; for the masks and the errors see `MultiHeadAttention.forward`."""
        return self.forward_autoregressive_inference(x, None, mask_pad, mask_attn)[0]

    def forward_autoregressive_inference(
        self,
        x: Tensor[B, D3],
        cache: MhaCache[B] | None,
        mask_pad: Tensor[B, D2, Bool] | None = None,
        mask_attn: Tensor[B, D3, Bool] | None = None,
    ) -> tuple[Tensor[B, D3], MhaCache[B]]:
        """The same for positions after those of a cache, and the next cache."""
        check_input("TransformerEncoderLayer", x, self.mha.d_model)
        caches: list[MhaCache[B]] = []

        def attend(x: Tensor[Any, D3]) -> Tensor[Any, D3]:
            output = self.mha(x, x, x, mask_pad, mask_attn, cache)
            caches.append(output.cache)
            return output.context

        x = around(attend, x, self.norm_1, self.dropout, self.norm_first)
        return around(self.pwff, x, self.norm_2, self.dropout, self.norm_first), caches[0]


@dataclass(frozen=True)
class TransformerEncoderCache(Generic[B]):
    """What each layer has kept of the positions so far; None before the first. It never changes."""

    layers: tuple[MhaCache[B] | None, ...]


class TransformerEncoder(Module, Generic[B]):
    """Layers one after another. A last normalisation, which some have with ``norm_first``, is left to the model."""

    def __init__(self, layers: list[TransformerEncoderLayer[B]]) -> None:
        check_made(self, layers, TransformerEncoderLayer)
        self.layers = layers

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> TransformerEncoder[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> TransformerEncoder[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: TransformerEncoder[Differentiable[IB]]) -> TransformerEncoder[IB]:
            """See `Module.valid`."""
            ...

    def forward(
        self,
        x: Tensor[B, D3],
        mask_pad: Tensor[B, D2, Bool] | None = None,
        mask_attn: Tensor[B, D3, Bool] | None = None,
    ) -> Tensor[B, D3]:
        """``(batch, length, d_model)``, kept; for the masks and the errors see `MultiHeadAttention.forward`."""
        for layer in self.layers:
            x = layer(x, mask_pad, mask_attn)
        return x

    def new_autoregressive_cache(self) -> TransformerEncoderCache[B]:
        """The cache before the first position."""
        return TransformerEncoderCache((None,) * len(self.layers))

    def forward_autoregressive_inference(
        self,
        x: Tensor[B, D3],
        cache: TransformerEncoderCache[B],
        mask_pad: Tensor[B, D2, Bool] | None = None,
        mask_attn: Tensor[B, D3, Bool] | None = None,
    ) -> tuple[Tensor[B, D3], TransformerEncoderCache[B]]:
        """`forward` for new positions alone, and the next cache.

        The masks are about all keys: ``(batch, all)`` and ``(batch, new, all)``. A single new position needs no causal
        mask, since all others are before it. Burn is given all positions again, and changes the cache.
        """
        check_cache("TransformerEncoder", cache, TransformerEncoderCache, len(self.layers))
        kept: list[MhaCache[B]] = []
        for layer, before in zip(self.layers, cache.layers, strict=True):
            x, after = layer.forward_autoregressive_inference(x, before, mask_pad, mask_attn)
            kept.append(after)
        return x, TransformerEncoderCache(tuple(kept))


def check_cache(name: str, cache: Any, wanted: type[Any], layers: int) -> None:
    """Raises ShapeError for a cache that belongs to another model."""
    if not isinstance(cache, wanted) or len(cache.layers) != layers:
        reason = f"the cache is no {wanted.__name__} of {layers} layers"
        raise ShapeError(name, reason, hint="start with model.new_autoregressive_cache()")
