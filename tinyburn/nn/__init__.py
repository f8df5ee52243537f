"""Layers and losses. Every layer with parameters is made by its config: ``LinearConfig(4, 2).init(device)``."""

from typing import TYPE_CHECKING, Any

from tinyburn.base import foreign
from tinyburn.module.constructors import explain_constructors

from .activation import Gelu, HardSwish, LogSigmoid, Mish, Relu, Selu, Sigmoid, Silu, Softsign, Tanh, Tanhshrink
from .activation_along_dim import Glu, LogSoftmax, Softmax
from .activation_with_parameters import PRelu, PReluConfig, SwiGlu, SwiGluConfig
from .activation_with_settings import (
    Celu,
    CeluConfig,
    Elu,
    EluConfig,
    HardShrink,
    HardShrinkConfig,
    HardSigmoid,
    HardSigmoidConfig,
    LeakyRelu,
    LeakyReluConfig,
    Shrink,
    ShrinkConfig,
    Softplus,
    SoftplusConfig,
    SoftShrink,
    SoftShrinkConfig,
    ThresholdedRelu,
    ThresholdedReluConfig,
)
from .attention import MhaCache, MhaOutput, MultiHeadAttention, MultiHeadAttentionConfig
from .batch_norm import BatchNorm, BatchNormConfig
from .conv_transpose import (
    ConvTranspose1d,
    ConvTranspose1dConfig,
    ConvTranspose2d,
    ConvTranspose2dConfig,
    ConvTranspose3d,
    ConvTranspose3dConfig,
)
from .convolution import Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, Conv3d, Conv3dConfig
from .decoder import TransformerDecoder, TransformerDecoderCache, TransformerDecoderConfig, TransformerDecoderLayer
from .dropout import Dropout, DropoutConfig
from .embedding import Embedding, EmbeddingConfig
from .encoder import TransformerEncoder, TransformerEncoderCache, TransformerEncoderConfig, TransformerEncoderLayer
from .feed_forward import PositionWiseFeedForward, PositionWiseFeedForwardConfig
from .group_norm import GroupNorm, GroupNormConfig, InstanceNorm, InstanceNormConfig
from .gru import Gru, GruConfig
from .layer_norm import LayerNorm, LayerNormConfig, RmsNorm, RmsNormConfig
from .linear import Linear, LinearConfig
from .loss import (
    BinaryCrossEntropyLoss,
    BinaryCrossEntropyLossConfig,
    CosineEmbeddingLoss,
    CosineEmbeddingLossConfig,
    CrossEntropyLoss,
    CrossEntropyLossConfig,
    HuberLoss,
    HuberLossConfig,
    KLDivLoss,
    KLDivLossConfig,
    L1Loss,
    MseLoss,
    PoissonNllLoss,
    PoissonNllLossConfig,
    SmoothL1Loss,
    SmoothL1LossConfig,
)
from .lstm import Lstm, LstmConfig, LstmState
from .masks import generate_autoregressive_mask, generate_padding_mask
from .padding import PaddingConfig1d, PaddingConfig2d, PaddingConfig3d
from .pool import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool1dConfig,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool2dConfig,
    AvgPool1d,
    AvgPool1dConfig,
    AvgPool2d,
    AvgPool2dConfig,
    MaxPool1d,
    MaxPool1dConfig,
    MaxPool2d,
    MaxPool2dConfig,
)
from .positional import PositionalEncoding, PositionalEncodingConfig, RotaryEncoding, RotaryEncodingConfig
from .rnn import Rnn, RnnConfig
from .sequential import Flatten, Sequential

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool1dConfig",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool2dConfig",
    "AvgPool1d",
    "AvgPool1dConfig",
    "AvgPool2d",
    "AvgPool2dConfig",
    "BatchNorm",
    "BatchNormConfig",
    "BinaryCrossEntropyLoss",
    "BinaryCrossEntropyLossConfig",
    "Celu",
    "CeluConfig",
    "Conv1d",
    "Conv1dConfig",
    "Conv2d",
    "Conv2dConfig",
    "Conv3d",
    "Conv3dConfig",
    "ConvTranspose1d",
    "ConvTranspose1dConfig",
    "ConvTranspose2d",
    "ConvTranspose2dConfig",
    "ConvTranspose3d",
    "ConvTranspose3dConfig",
    "CosineEmbeddingLoss",
    "CosineEmbeddingLossConfig",
    "CrossEntropyLoss",
    "CrossEntropyLossConfig",
    "Dropout",
    "DropoutConfig",
    "Elu",
    "EluConfig",
    "Embedding",
    "EmbeddingConfig",
    "Flatten",
    "Gelu",
    "Glu",
    "GroupNorm",
    "GroupNormConfig",
    "Gru",
    "GruConfig",
    "HardShrink",
    "HardShrinkConfig",
    "HardSigmoid",
    "HardSigmoidConfig",
    "HardSwish",
    "HuberLoss",
    "HuberLossConfig",
    "InstanceNorm",
    "InstanceNormConfig",
    "KLDivLoss",
    "KLDivLossConfig",
    "L1Loss",
    "LayerNorm",
    "LayerNormConfig",
    "LeakyRelu",
    "LeakyReluConfig",
    "Linear",
    "LinearConfig",
    "LogSigmoid",
    "LogSoftmax",
    "Lstm",
    "LstmConfig",
    "LstmState",
    "MaxPool1d",
    "MaxPool1dConfig",
    "MaxPool2d",
    "MaxPool2dConfig",
    "MhaCache",
    "MhaOutput",
    "Mish",
    "MseLoss",
    "MultiHeadAttention",
    "MultiHeadAttentionConfig",
    "PRelu",
    "PReluConfig",
    "PaddingConfig1d",
    "PaddingConfig2d",
    "PaddingConfig3d",
    "PoissonNllLoss",
    "PoissonNllLossConfig",
    "PositionWiseFeedForward",
    "PositionWiseFeedForwardConfig",
    "PositionalEncoding",
    "PositionalEncodingConfig",
    "Relu",
    "RmsNorm",
    "RmsNormConfig",
    "Rnn",
    "RnnConfig",
    "RotaryEncoding",
    "RotaryEncodingConfig",
    "Selu",
    "Sequential",
    "Shrink",
    "ShrinkConfig",
    "Sigmoid",
    "Silu",
    "SmoothL1Loss",
    "SmoothL1LossConfig",
    "SoftShrink",
    "SoftShrinkConfig",
    "Softmax",
    "Softplus",
    "SoftplusConfig",
    "Softsign",
    "SwiGlu",
    "SwiGluConfig",
    "Tanh",
    "Tanhshrink",
    "ThresholdedRelu",
    "ThresholdedReluConfig",
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

explain_constructors("nn", globals())

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Only for a name that is not there: PyTorch's are in a table, with ours."""
        raise foreign.missing("nn", "tinyburn.nn", name)
