"""Layers and losses. Every layer with parameters is made by its config: ``LinearConfig(4, 2).init(device)``."""

from typing import TYPE_CHECKING, Any

from tinyburn.base import foreign

from .activation import Gelu, Relu, Sigmoid, Tanh
from .attention import MhaCache, MhaOutput, MultiHeadAttention, MultiHeadAttentionConfig
from .decoder import TransformerDecoder, TransformerDecoderCache, TransformerDecoderConfig, TransformerDecoderLayer
from .dropout import Dropout, DropoutConfig
from .embedding import Embedding, EmbeddingConfig
from .encoder import TransformerEncoder, TransformerEncoderCache, TransformerEncoderConfig, TransformerEncoderLayer
from .feed_forward import PositionWiseFeedForward, PositionWiseFeedForwardConfig
from .gru import Gru, GruConfig
from .layer_norm import LayerNorm, LayerNormConfig
from .linear import Linear, LinearConfig
from .loss import MseLoss
from .lstm import Lstm, LstmConfig, LstmState
from .masks import generate_autoregressive_mask, generate_padding_mask
from .positional import PositionalEncoding, PositionalEncodingConfig, RotaryEncoding, RotaryEncodingConfig
from .rnn import Rnn, RnnConfig

__all__ = [
    "Dropout",
    "DropoutConfig",
    "Embedding",
    "EmbeddingConfig",
    "Gelu",
    "Gru",
    "GruConfig",
    "LayerNorm",
    "LayerNormConfig",
    "Linear",
    "LinearConfig",
    "Lstm",
    "LstmConfig",
    "LstmState",
    "MhaCache",
    "MhaOutput",
    "MseLoss",
    "MultiHeadAttention",
    "MultiHeadAttentionConfig",
    "PositionWiseFeedForward",
    "PositionWiseFeedForwardConfig",
    "PositionalEncoding",
    "PositionalEncodingConfig",
    "Relu",
    "Rnn",
    "RnnConfig",
    "RotaryEncoding",
    "RotaryEncodingConfig",
    "Sigmoid",
    "Tanh",
    "TransformerDecoder",
    "TransformerDecoderCache",
    "TransformerDecoderConfig",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderCache",
    "TransformerEncoderConfig",
    "TransformerEncoderLayer",
    "generate_autoregressive_mask",
    "generate_padding_mask",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Only for a name that is not there: PyTorch's are in a table, with ours."""
        raise foreign.missing("nn", "tinyburn.nn", name)
