"""The decoder of a transformer: it writes one sequence while it looks at another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.base.dtype import Bool
from tinyburn.base.shape import D2, D3
from tinyburn.module import Module
from tinyburn.tensor import Tensor

from .attention import MhaCache, MultiHeadAttention
from .dropout import Dropout
from .encoder import check_cache
from .feed_forward import PositionWiseFeedForward
from .layer_norm import LayerNorm
from .transformer import NAMES_IN_TORCH, TransformerConfig, around, check_input, check_made

B = TypeVar("B", bound=Backend, covariant=True)
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)


@dataclass(frozen=True)
class TransformerDecoderConfig(TransformerConfig):
    """See `TransformerConfig` for the fields."""

    def init(self, device: Device[DB]) -> TransformerDecoder[DB]:
        """The decoder, with its parameters on the device."""
        return TransformerDecoder([self.init_layer(device) for _ in range(self.n_layers)])

    def init_layer(self, device: Device[DB]) -> TransformerDecoderLayer[DB]:
        """A layer by itself."""
        attentions = (self._attention(device), self._attention(device))
        norms = (self._norm(device), self._norm(device), self._norm(device))
        return TransformerDecoderLayer(attentions, self._feed_forward(device), norms, self.dropout, self.norm_first)


@dataclass(frozen=True)
class DecoderMasks(Generic[B]):
    """The masks of a decoder: of the keys in the target, of target by target, and the same two of the memory. See
    `MultiHeadAttention.forward`."""

    target_pad: Tensor[B, D2, Bool] | None = None
    target_attn: Tensor[B, D3, Bool] | None = None
    memory_pad: Tensor[B, D2, Bool] | None = None
    memory_attn: Tensor[B, D3, Bool] | None = None


@dataclass(frozen=True)
class DecoderLayerCache(Generic[B]):
    """What a layer has kept: keys and values of the target so far, and those of the memory, which stay."""

    self_attn: MhaCache[B]
    cross_attn: MhaCache[B]


class TransformerDecoderLayer(Module, Generic[B]):
    """Self-attention over the target, attention from there to the memory, then the feed-forward part, each as a branch.

    Vaswani et al. 2017, "Attention Is All You Need". ``norm_1``, ``norm_2`` and ``norm_3`` belong to the branches in
    this order, as in PyTorch; with ``norm_first`` Burn begins with ``norm_3``.
    """

    torch_names: ClassVar[Mapping[str, str]] = {"cross_attn": "multihead_attn", "norm_3": "norm3", **NAMES_IN_TORCH}

    def __init__(
        self,
        attentions: tuple[MultiHeadAttention[B], MultiHeadAttention[B]],
        pwff: PositionWiseFeedForward[B],
        norms: tuple[LayerNorm[B], LayerNorm[B], LayerNorm[B]],
        dropout: float,
        norm_first: bool,
    ) -> None:
        check_made(self, [pwff], PositionWiseFeedForward)
        self.self_attn, self.cross_attn = attentions
        self.pwff = pwff
        self.norm_1, self.norm_2, self.norm_3 = norms
        self.dropout = Dropout(dropout)
        self.norm_first = norm_first

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> TransformerDecoderLayer[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> TransformerDecoderLayer[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: TransformerDecoderLayer[Differentiable[IB]]) -> TransformerDecoderLayer[IB]:
            """See `Module.valid`."""
            ...

    def forward(
        self,
        target: Tensor[B, D3],
        memory: Tensor[B, D3],
        target_mask_pad: Tensor[B, D2, Bool] | None = None,
        target_mask_attn: Tensor[B, D3, Bool] | None = None,
        memory_mask_pad: Tensor[B, D2, Bool] | None = None,
        memory_mask_attn: Tensor[B, D3, Bool] | None = None,
    ) -> Tensor[B, D3]:
        """``(batch, length, d_model)`` as the target; the memory may have another length.

        For the masks and the errors see `MultiHeadAttention.forward`.
        """
        masks = DecoderMasks(target_mask_pad, target_mask_attn, memory_mask_pad, memory_mask_attn)
        return self.forward_autoregressive_inference(target, memory, None, masks)[0]

    def forward_autoregressive_inference(
        self, target: Tensor[B, D3], memory: Tensor[B, D3], cache: DecoderLayerCache[B] | None, masks: DecoderMasks[B]
    ) -> tuple[Tensor[B, D3], DecoderLayerCache[B]]:
        """The same for target positions after those of a cache, and the next cache."""
        check_input("TransformerDecoderLayer", target, self.self_attn.d_model)
        check_input("TransformerDecoderLayer", memory, self.self_attn.d_model)
        caches: list[MhaCache[B]] = []

        def attend(x: Tensor[Any, D3]) -> Tensor[Any, D3]:
            before = None if cache is None else cache.self_attn
            output = self.self_attn(x, x, x, masks.target_pad, masks.target_attn, before)
            caches.append(output.cache)
            return output.context

        def look(x: Tensor[Any, D3]) -> Tensor[Any, D3]:
            seen = memory if cache is None else None  # later its keys and values are in the cache
            before = None if cache is None else cache.cross_attn
            output = self.cross_attn(x, seen, seen, masks.memory_pad, masks.memory_attn, before)
            caches.append(output.cache)
            return output.context

        x = around(attend, target, self.norm_1, self.dropout, self.norm_first)
        x = around(look, x, self.norm_2, self.dropout, self.norm_first)
        x = around(self.pwff, x, self.norm_3, self.dropout, self.norm_first)
        return x, DecoderLayerCache(*caches)


@dataclass(frozen=True)
class TransformerDecoderCache(Generic[B]):
    """What each layer has kept of the positions so far; None before the first. It never changes."""

    layers: tuple[DecoderLayerCache[B] | None, ...]


class TransformerDecoder(Module, Generic[B]):
    """Layers one after another. A last normalisation, which some have with ``norm_first``, is left to the model."""

    def __init__(self, layers: list[TransformerDecoderLayer[B]]) -> None:
        check_made(self, layers, TransformerDecoderLayer)
        self.layers = layers

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> TransformerDecoder[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> TransformerDecoder[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: TransformerDecoder[Differentiable[IB]]) -> TransformerDecoder[IB]:
            """See `Module.valid`."""
            ...

    def forward(
        self,
        target: Tensor[B, D3],
        memory: Tensor[B, D3],
        target_mask_pad: Tensor[B, D2, Bool] | None = None,
        target_mask_attn: Tensor[B, D3, Bool] | None = None,
        memory_mask_pad: Tensor[B, D2, Bool] | None = None,
        memory_mask_attn: Tensor[B, D3, Bool] | None = None,
    ) -> Tensor[B, D3]:
        """See `TransformerDecoderLayer.forward`."""
        for layer in self.layers:
            target = layer(target, memory, target_mask_pad, target_mask_attn, memory_mask_pad, memory_mask_attn)
        return target

    def new_autoregressive_cache(self) -> TransformerDecoderCache[B]:
        """The cache before the first position."""
        return TransformerDecoderCache((None,) * len(self.layers))

    def forward_autoregressive_inference(
        self,
        target: Tensor[B, D3],
        memory: Tensor[B, D3],
        cache: TransformerDecoderCache[B],
        target_mask_pad: Tensor[B, D2, Bool] | None = None,
        target_mask_attn: Tensor[B, D3, Bool] | None = None,
        memory_mask_pad: Tensor[B, D2, Bool] | None = None,
        memory_mask_attn: Tensor[B, D3, Bool] | None = None,
    ) -> tuple[Tensor[B, D3], TransformerDecoderCache[B]]:
        """`forward` for new target positions alone, and the next cache.

        The target's masks are about all its positions: ``(batch, all)`` and ``(batch, new, all)``. A single new one
        needs no causal mask. The memory is read in the first call only. Burn is given all positions again, and changes
        the cache.
        """
        check_cache("TransformerDecoder", cache, TransformerDecoderCache, len(self.layers))
        masks = DecoderMasks(target_mask_pad, target_mask_attn, memory_mask_pad, memory_mask_attn)
        kept: list[DecoderLayerCache[B]] = []
        for layer, before in zip(self.layers, cache.layers, strict=True):
            target, after = layer.forward_autoregressive_inference(target, memory, before, masks)
            kept.append(after)
        return target, TransformerDecoderCache(tuple(kept))
