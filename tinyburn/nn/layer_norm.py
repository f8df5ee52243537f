"""Normalisation of each row of features by itself: LayerNorm and RmsNorm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.base.errors import ForeignCall
from tinyburn.base.shape import D1
from tinyburn.module import Config, Initializer, Module, Param
from tinyburn.tensor import Tensor

from .checks import check_features, check_meets, not_positive, too_small
from .normalize import NAMES_IN_TORCH, narrowed, standardized, widened

B = TypeVar("B", bound=Backend, covariant=True)
D = TypeVar("D")
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)


@dataclass(frozen=True)
class LayerNormConfig(Config):
    """Over the last dim, of ``d_model`` features. ``bias=False`` leaves beta out."""

    d_model: int
    epsilon: float = 1e-5
    bias: bool = True

    def problems(self) -> list[str]:
        """Values that no layer can have."""
        return too_small(d_model=self.d_model) + not_positive(epsilon=self.epsilon)

    def init(self, device: Device[DB]) -> LayerNorm[DB]:
        """The layer, with gamma at 1 and beta at 0."""
        gamma = Initializer.Ones.init((self.d_model,), device)
        beta = Initializer.Zeros.init((self.d_model,), device) if self.bias else None
        return LayerNorm(gamma, beta, self.epsilon)


class LayerNorm(Module, Generic[B]):
    """Y = (X - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance of each row of features.

    Ba, Kiros and Hinton 2016, "Layer Normalization". The variance is the biased one, over ``d_model``.

    As in Burn, only the last dim is normalised; PyTorch's can take several, and calls gamma weight and beta bias.
    """

    torch_names = NAMES_IN_TORCH

    def __init__(self, gamma: Param[B, D1], beta: Param[B, D1] | None = None, epsilon: float = 1e-5) -> None:
        if not isinstance(gamma, Param):
            reason = "a layer is made by its config, which makes the parameters on a device"
            raise ForeignCall("nn.LayerNorm", reason, hint="write nn.LayerNormConfig(d_model).init(device)")
        (self.d_model,) = gamma.val().shape
        self.epsilon = epsilon
        self.gamma = gamma
        self.beta = beta

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> LayerNorm[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> LayerNorm[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: LayerNorm[Differentiable[IB]]) -> LayerNorm[IB]:
            """See `Module.valid`."""
            ...

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """``(…, d_model)``, kept.

        Raises ShapeError for another d_model, and DeviceMismatch or DTypeMismatch for another device or dtype.
        """
        gamma: Tensor[Any, Any] = self.gamma.val()
        check_features("LayerNorm", x, -1, self.d_model, "d_model")
        check_meets("LayerNorm", x, gamma)
        result = standardized(x, (x.rank - 1,), self.epsilon) * gamma.unsqueeze(x.rank)
        return result if self.beta is None else result + self.beta.val().unsqueeze(x.rank)


@dataclass(frozen=True)
class RmsNormConfig(Config):
    """Over the last dim, of ``d_model`` features."""

    d_model: int
    epsilon: float = 1e-5

    def problems(self) -> list[str]:
        """Values that no layer can have."""
        return too_small(d_model=self.d_model) + not_positive(epsilon=self.epsilon)

    def init(self, device: Device[DB]) -> RmsNorm[DB]:
        """The layer, with gamma at 1."""
        return RmsNorm(Initializer.Ones.init((self.d_model,), device), self.epsilon)


class RmsNorm(Module, Generic[B]):
    """Y = X / sqrt(mean(X * X) + epsilon) * gamma, with the mean of each row: `LayerNorm` without mean and beta.

    Zhang and Sennrich 2019, "Root Mean Square Layer Normalization". PyTorch's epsilon is by default the smallest step
    of the dtype at 1, and not 1e-5.
    """

    torch_names = NAMES_IN_TORCH

    def __init__(self, gamma: Param[B, D1], epsilon: float = 1e-5) -> None:
        if not isinstance(gamma, Param):
            reason = "a layer is made by its config, which makes the parameters on a device"
            raise ForeignCall("nn.RmsNorm", reason, hint="write nn.RmsNormConfig(d_model).init(device)")
        (self.d_model,) = gamma.val().shape
        self.epsilon = epsilon
        self.gamma = gamma

    if TYPE_CHECKING:  # as of `LayerNorm`

        def to_device(self, device: Device[DB]) -> RmsNorm[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> RmsNorm[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: RmsNorm[Differentiable[IB]]) -> RmsNorm[IB]:
            """See `Module.valid`."""
            ...

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """``(…, d_model)``, kept.

        Raises ShapeError for another d_model, and DeviceMismatch or DTypeMismatch for another device or dtype.
        """
        gamma: Tensor[Any, Any] = self.gamma.val()
        check_features("RmsNorm", x, -1, self.d_model, "d_model")
        check_meets("RmsNorm", x, gamma)
        wide = widened(x)
        size = ((wide**2).mean_dim(-1) + self.epsilon).sqrt()
        return narrowed(wide * size.recip(), x.dtype) * gamma.unsqueeze(x.rank)
