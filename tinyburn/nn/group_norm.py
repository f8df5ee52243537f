"""Normalisation of each sample by itself, over groups of its channels: GroupNorm and InstanceNorm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.base.shape import D1
from tinyburn.module import Config, Initializer, Module, Param
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import reject_dtype

from .checks import check_features, check_meets, not_positive, too_small
from .normalize import NAMES_IN_TORCH, by_channel, standardized

B = TypeVar("B", bound=Backend, covariant=True)
D = TypeVar("D")
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)


@dataclass(frozen=True)
class GroupNormConfig(Config):
    """``num_channels`` channels in ``num_groups`` groups of equal size. ``affine=False`` leaves gamma and beta out."""

    num_groups: int
    num_channels: int
    epsilon: float = 1e-5
    affine: bool = True

    def problems(self) -> list[str]:
        """Values that no layer can have."""
        reasons = too_small(num_groups=self.num_groups, num_channels=self.num_channels)
        if not reasons and self.num_channels % self.num_groups:
            reasons.append(f"{self.num_channels} channels do not make {self.num_groups} groups of equal size")
        return reasons + not_positive(epsilon=self.epsilon)

    def init(self, device: Device[DB]) -> GroupNorm[DB]:
        """The layer, with gamma at 1 and beta at 0."""
        gamma, beta = _affine(self.num_channels, device) if self.affine else (None, None)
        return GroupNorm(self.num_groups, self.num_channels, gamma, beta, self.epsilon)


class GroupNorm(Module, Generic[B]):
    """Y = (X - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance of each group of each sample.

    Wu and He 2018, "Group Normalization". Gamma and beta have a number for each channel. PyTorch calls them weight and
    bias.
    """

    torch_names = NAMES_IN_TORCH

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        gamma: Param[B, D1] | None,
        beta: Param[B, D1] | None,
        epsilon: float = 1e-5,
    ) -> None:
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.epsilon = epsilon
        self.gamma = gamma
        self.beta = beta

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> GroupNorm[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> GroupNorm[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: GroupNorm[Differentiable[IB]]) -> GroupNorm[IB]:
            """See `Module.valid`."""
            ...

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """``(batch, num_channels, …)``, kept; rank 2 or more.

        Raises ShapeError for another number of channels, and DeviceMismatch or DTypeMismatch for another device or
        dtype.
        """
        return _by_groups("GroupNorm", x, self.num_groups, self.num_channels, self.gamma, self.beta, self.epsilon)


@dataclass(frozen=True)
class InstanceNormConfig(Config):
    """``num_channels`` channels, each by itself. ``affine=False`` leaves gamma and beta out."""

    num_channels: int
    epsilon: float = 1e-5
    affine: bool = True

    def problems(self) -> list[str]:
        """Values that no layer can have."""
        return too_small(num_channels=self.num_channels) + not_positive(epsilon=self.epsilon)

    def init(self, device: Device[DB]) -> InstanceNorm[DB]:
        """The layer, with gamma at 1 and beta at 0."""
        gamma, beta = _affine(self.num_channels, device) if self.affine else (None, None)
        return InstanceNorm(self.num_channels, gamma, beta, self.epsilon)


class InstanceNorm(Module, Generic[B]):
    """Y = (X - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance of each channel of each sample.

    Ulyanov, Vedaldi and Lempitsky 2016, "Instance Normalization". It is a `GroupNorm` with a group for each channel.
    PyTorch's has no gamma and beta unless it is asked for them, and calls them weight and bias.
    """

    torch_names = NAMES_IN_TORCH

    def __init__(
        self, num_channels: int, gamma: Param[B, D1] | None, beta: Param[B, D1] | None, epsilon: float = 1e-5
    ) -> None:
        self.num_channels = num_channels
        self.epsilon = epsilon
        self.gamma = gamma
        self.beta = beta

    if TYPE_CHECKING:  # as of `GroupNorm`

        def to_device(self, device: Device[DB]) -> InstanceNorm[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> InstanceNorm[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: InstanceNorm[Differentiable[IB]]) -> InstanceNorm[IB]:
            """See `Module.valid`."""
            ...

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """``(batch, num_channels, …)``, kept; rank 2 or more.

        Raises ShapeError for another number of channels, and DeviceMismatch or DTypeMismatch for another device or
        dtype.
        """
        return _by_groups("InstanceNorm", x, self.num_channels, self.num_channels, self.gamma, self.beta, self.epsilon)


def _affine(num_channels: int, device: Device[DB]) -> tuple[Param[DB, D1], Param[DB, D1]]:
    """Gamma at 1 and beta at 0."""
    return Initializer.Ones.init((num_channels,), device), Initializer.Zeros.init((num_channels,), device)


def _by_groups(
    name: str,
    x: Tensor[DB, D],
    num_groups: int,
    num_channels: int,
    gamma: Param[DB, D1] | None,
    beta: Param[DB, D1] | None,
    epsilon: float,
) -> Tensor[DB, D]:
    """Each sample cut into groups of channels, each group standardised, then scaled and moved by channel."""
    check_features(name, x, 1, num_channels, "num_channels", range(2, 7))
    affine: list[Tensor[Any, Any]] = [param.val() for param in (gamma, beta) if param is not None]
    check_meets(name, x, *affine)
    if x.primitive.dtype.kind != "f":
        raise reject_dtype(name, x, "float")
    members = math.prod(x.shape[1:]) // num_groups
    result: Tensor[DB, Any] = standardized(x.reshape((x.shape[0], num_groups, members)), (2,), epsilon).reshape(x.shape)
    if affine:
        scale, offset = (by_channel(values, x.rank) for values in affine)
        result = result * scale + offset
    return result
