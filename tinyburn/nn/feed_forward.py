"""The part of a transformer that works on each position by itself: two linear layers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.base.errors import ForeignCall
from tinyburn.module import Config, Module
from tinyburn.module.initializer import AnyInitializer, KaimingUniform
from tinyburn.tensor import Tensor

from .activation import Gelu, Relu
from .checks import not_a_share, too_small
from .dropout import Dropout
from .linear import Linear, LinearConfig

B = TypeVar("B", bound=Backend, covariant=True)
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)
M = TypeVar("M", bound=Literal[2, 3, 4, 5, 6])

ACTIVATIONS = {"gelu": Gelu, "relu": Relu}


def unknown_activation(name: str) -> list[str]:
    """A reason if there is no such activation, for `Config.problems`."""
    return [] if name in ACTIVATIONS else [f"activation is {name!r}, and is one of {', '.join(ACTIVATIONS)}"]


@dataclass(frozen=True)
class PositionWiseFeedForwardConfig(Config):
    """From ``d_model`` features to ``d_ff`` and back; ``activation`` is "gelu" or "relu"."""

    d_model: int
    d_ff: int
    dropout: float = 0.1
    initializer: AnyInitializer = field(default_factory=KaimingUniform)
    activation: str = "gelu"

    def problems(self) -> list[str]:
        """Sizes that no layer can have, what is no share, and what is no activation."""
        reasons = too_small(d_model=self.d_model, d_ff=self.d_ff) + not_a_share(dropout=self.dropout)
        return reasons + unknown_activation(self.activation)

    def init(self, device: Device[DB]) -> PositionWiseFeedForward[DB]:
        """The layer, with its parameters on the device."""
        inner = LinearConfig(self.d_model, self.d_ff, initializer=self.initializer).init(device)
        outer = LinearConfig(self.d_ff, self.d_model, initializer=self.initializer).init(device)
        return PositionWiseFeedForward(inner, outer, self.dropout, self.activation)


class PositionWiseFeedForward(Module, Generic[B]):
    """A linear layer, the activation, dropout, and a linear layer back."""

    def __init__(self, inner: Linear[B], outer: Linear[B], dropout: float, activation: str = "gelu") -> None:
        if not isinstance(inner, Linear):
            reason = "a layer is made by its config, which makes the parameters on a device"
            hint = "write nn.PositionWiseFeedForwardConfig(d_model, d_ff).init(device)"
            raise ForeignCall("nn.PositionWiseFeedForward", reason, hint=hint)
        self.linear_inner, self.linear_outer = inner, outer
        self.activation: Any = ACTIVATIONS[activation]()
        self.dropout = Dropout(dropout)

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> PositionWiseFeedForward[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> PositionWiseFeedForward[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: PositionWiseFeedForward[Differentiable[IB]]) -> PositionWiseFeedForward[IB]:
            """See `Module.valid`."""
            ...

    def forward(self, x: Tensor[B, M]) -> Tensor[B, M]:
        """``(…, d_model)``, kept, of rank 2 or more. Its errors are those of `Linear`."""
        return self.linear_outer(self.dropout(self.activation(self.linear_inner(x))))
