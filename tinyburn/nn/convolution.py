"""Convolution layers: a small weight slides over an input, and is multiplied with each window of it.

The layers differ in the number of their spatial dims alone, so one class is the text of all three.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.base.shape import D1, D3, D4, D5, Shape
from tinyburn.module import Config, Module, Param
from tinyburn.module.initializer import AnyInitializer, KaimingUniform
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_operands

from .geometry import Geometry, PerDim, check_made, geometry_problems, number_problems
from .padding import Padding, PaddingConfig1d, PaddingConfig2d

B = TypeVar("B", bound=Backend, covariant=True)
D = TypeVar("D", bound=Literal[3, 4, 5])
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)

Parameters: TypeAlias = tuple[Param[DB, Any], Param[DB, D1] | None]
"""A weight, and a bias if the layer has one."""


class Convolution(Module, Generic[B, D]):
    """From ``(n, channels_in, *lengths)`` to ``(n, channels_out, *counts)``, with a count for each window that fits:

    ``out[n, o, *i] = bias[o] + Σ weight[o, c, *j] * x[n, c, *(i * stride + j * dilation - padding)]``

    summed over the channels ``c`` of o's group and the places ``j`` of a window. The output has in each dim the length
    ``(length + padding - (kernel_size - 1) * dilation - 1) // stride + 1``.
    """

    needs_room: ClassVar[bool] = True
    """Whether the input has to have room for a window."""

    def __init__(self, weight: Param[B, D], bias: Param[B, D1] | None, geometry: Geometry, groups: int = 1) -> None:
        check_made(self, geometry, "device")
        self.geometry = geometry
        self.windows = str(geometry)
        self.groups = groups
        self.weight = weight
        self.bias = bias

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> Convolution[DB, D]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> Convolution[DB, D]:
            """See `Module.fork`."""
            ...

        def valid(self: Convolution[Differentiable[IB], D]) -> Convolution[IB, D]:
            """See `Module.valid`."""
            ...

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """A batch of samples of channels.

        Raises ShapeError for another rank, other channels, or lengths without room for a window, and DeviceMismatch or
        DTypeMismatch for another device or dtype.
        """
        weight, name = self.weight.val(), type(self).__name__
        self.geometry.check(name, x, self._channels_in(), self.needs_room, weight=weight.shape)
        x._of_kind(name, "float")
        check_operands(name, x, weight, shapes=False)
        result: Tensor[B, Any] = self._compute(x, weight)
        if self.bias is None:
            return result
        return result + self.bias.val().reshape((1, -1, *[1] * self.geometry.dims))

    def _channels_in(self) -> int:
        return self.weight.val().shape[1] * self.groups

    def _compute(self, x: Tensor[B, D], weight: Tensor[B, D]) -> Tensor[B, D]:
        options = self.geometry.options(x.shape[2:], self.groups)
        return x._new(x.device.backend.conv(x.primitive, weight.primitive, options))


class Conv1d(Convolution[B, D3]):
    """`Convolution` along one dim: from ``(n, channels_in, length)`` to ``(n, channels_out, count)``."""


class Conv2d(Convolution[B, D4]):
    """`Convolution` over images: from ``(n, channels_in, height, width)`` to ``(n, channels_out, rows, columns)``."""


class Conv3d(Convolution[B, D5]):
    """`Convolution` over volumes: from ``(n, channels_in, depth, height, width)`` to the same with other sizes."""


@dataclass(frozen=True)
class Conv1dConfig(Config):
    """A `Conv1d`. The weight, (channels_out, channels_in / groups, kernel_size), starts by ``initializer``; the bias,
    (channels_out,), starts in the same range."""

    channels_in: int
    channels_out: int
    kernel_size: int
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    padding: Padding = PaddingConfig1d.Valid
    bias: bool = True
    initializer: AnyInitializer = field(default_factory=KaimingUniform)

    def problems(self) -> list[str]:
        """Numbers that no layer can have."""
        channels = {"channels_in": self.channels_in, "channels_out": self.channels_out}
        windows = geometry_problems(1, self.kernel_size, self.stride, self.dilation, self.padding)
        return [*channel_problems(channels, self.groups), *windows]

    def init(self, device: Device[DB]) -> Conv1d[DB]:
        """The layer, with its parameters on the device."""
        geometry = Geometry.of(1, self.kernel_size, self.stride, self.dilation, self.padding)
        channels = (self.channels_in, self.channels_out)
        return Conv1d(*_parameters(self, channels, geometry, device), geometry, self.groups)


@dataclass(frozen=True)
class _ConvConfig(Config):
    """The fields of a convolution over several dims, from ``channels`` (in, out). A number stands for all dims.

    The weight, ``(channels_out, channels_in / groups, *kernel_size)``, starts by ``initializer``; the bias,
    (channels_out,), starts in the same range.
    """

    channels: tuple[int, int]
    kernel_size: PerDim
    stride: PerDim = 1
    dilation: PerDim = 1
    groups: int = 1
    padding: Padding = PaddingConfig2d.Valid
    bias: bool = True
    initializer: AnyInitializer = field(default_factory=KaimingUniform)

    def _problems(self, dims: int) -> list[str]:
        windows = geometry_problems(dims, self.kernel_size, self.stride, self.dilation, self.padding)
        return [*pair_problems(self.channels, self.groups), *windows]

    def _geometry(self, dims: int) -> Geometry:
        return Geometry.of(dims, self.kernel_size, self.stride, self.dilation, self.padding)


@dataclass(frozen=True)
class Conv2dConfig(_ConvConfig):
    """A `Conv2d`, from ``channels`` (in, out). A number stands for both dims.

    The weight, ``(channels_out, channels_in / groups, *kernel_size)``, starts by ``initializer``; the bias,
    (channels_out,), starts in the same range.
    """

    def problems(self) -> list[str]:
        """Numbers that no layer can have."""
        return self._problems(2)

    def init(self, device: Device[DB]) -> Conv2d[DB]:
        """The layer, with its parameters on the device."""
        geometry = self._geometry(2)
        return Conv2d(*_parameters(self, self.channels, geometry, device), geometry, self.groups)


@dataclass(frozen=True)
class Conv3dConfig(_ConvConfig):
    """A `Conv3d`, from ``channels`` (in, out). A number stands for all three dims; else as `Conv2dConfig`."""

    def problems(self) -> list[str]:
        """Numbers that no layer can have."""
        return self._problems(3)

    def init(self, device: Device[DB]) -> Conv3d[DB]:
        """The layer, with its parameters on the device."""
        geometry = self._geometry(3)
        return Conv3d(*_parameters(self, self.channels, geometry, device), geometry, self.groups)


def _parameters(
    config: Conv1dConfig | _ConvConfig, channels: tuple[int, int], geometry: Geometry, device: Device[DB]
) -> Parameters[DB]:
    channels_in, channels_out = channels
    shape = (channels_out, channels_in // config.groups, *geometry.sizes)
    return initial_parameters(config.initializer, shape, channels_out if config.bias else 0, device)


# What the configs of convolutions have in common, transposed ones too


def channel_problems(channels: dict[str, int], groups: int) -> list[str]:
    """Channels below 1, or that the groups do not share evenly."""
    problems = number_problems({**channels, "groups": groups}, 1)
    if problems:
        return problems
    uneven = {name: number for name, number in channels.items() if number % groups}
    return [f"{name} is {number}, and {groups} groups do not share it evenly" for name, number in uneven.items()]


def pair_problems(channels: tuple[int, ...], groups: int) -> list[str]:
    """The same for channels (in, out)."""
    if len(channels) != 2:
        return [f"channels is {channels!r}, and must be a pair: (in, out)"]
    return channel_problems({"channels in": channels[0], "channels out": channels[1]}, groups)


def initial_parameters(
    initializer: AnyInitializer, shape: Shape, channels_out: int, device: Device[DB]
) -> Parameters[DB]:
    """A weight of a shape, and a bias for so many channels; none for 0. Both are drawn for as many inputs as the weight
    has places in a row."""
    fan_in = prod(shape[1:])
    weight = initializer.init(shape, device, fan_in=fan_in)
    return weight, initializer.init((channels_out,), device, fan_in=fan_in) if channels_out else None
