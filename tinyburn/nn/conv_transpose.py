"""Transposed convolution layers, which turn the shapes of a convolution round: they make an input larger."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.backend.convolution import ConvOptions
from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import D1, D3, D4, D5
from tinyburn.module import Config, Param
from tinyburn.module.initializer import AnyInitializer, KaimingUniform
from tinyburn.tensor import Tensor

from .convolution import B, Convolution, D, initial_parameters, pair_problems
from .geometry import Geometry, Numbers, PerDim, number_problems, per_dim
from .padding import Explicit

DB = TypeVar("DB", bound=Backend)


class TransposedConvolution(Convolution[B, D]):
    """From ``(n, channels_in, *lengths)`` to ``(n, channels_out, *counts)``: each element of the input is multiplied
    with the weight and added to a window of the output. It computes what the backward pass of a `Convolution` does.

    The output has in each dim the length
    ``(length - 1) * stride - 2 * padding + (kernel_size - 1) * dilation + padding_out + 1``.
    """

    needs_room: ClassVar[bool] = False

    def __init__(
        self,
        weight: Param[B, D],
        bias: Param[B, D1] | None,
        geometry: Geometry,
        groups: int = 1,
        padding_out: Numbers = (),
    ) -> None:
        super().__init__(weight, bias, geometry, groups)
        self.padding_out = padding_out

    def _channels_in(self) -> int:
        return self.weight.val().shape[0]

    def _compute(self, x: Tensor[B, D], weight: Tensor[B, D]) -> Tensor[B, D]:
        options = self.geometry.options(x.shape[2:], self.groups)
        lengths = self._lengths(x, options)
        return x._new(x.device.backend.conv_transpose(x.primitive, weight.primitive, lengths, options))

    def _lengths(self, x: Tensor[B, D], options: ConvOptions) -> Numbers:
        """Those of the output. Raises ShapeError if the padding leaves nothing of it."""
        sizes, more = self.geometry.sizes, self.padding_out
        dims = zip(x.shape[2:], sizes, options.stride, options.dilation, options.padding, more, strict=True)
        lengths = tuple(
            [(n - 1) * step - sum(pad) + (size - 1) * apart + end + 1 for n, size, step, apart, pad, end in dims]
        )
        if min(lengths) < 1:
            formula = "(length - 1) * stride - 2 * padding + (kernel_size - 1) * dilation + padding_out + 1"
            given = {"input": x.shape, "output": f"(…, {', '.join(map(str, lengths))})"}
            hint = f"an output has the length {formula}"
            raise ShapeError(type(self).__name__, "the padding leaves nothing of the output", given=given, hint=hint)
        return lengths


class ConvTranspose1d(TransposedConvolution[B, D3]):
    """`TransposedConvolution` along one dim."""


class ConvTranspose2d(TransposedConvolution[B, D4]):
    """`TransposedConvolution` over images."""


class ConvTranspose3d(TransposedConvolution[B, D5]):
    """`TransposedConvolution` over volumes."""


@dataclass(frozen=True)
class _TransposeConfig(Config):
    """The fields of all three. The weight, ``(channels_in, channels_out / groups, *kernel_size)``, starts by
    ``initializer``; the bias, (channels_out,), starts in the same range. A number stands for all dims.

    ``padding`` is what is cut off the output at both ends, and ``padding_out`` is added at its end: below the stride,
    it says which of the lengths is meant that a convolution would bring to the input's.
    """

    channels: tuple[int, int]
    kernel_size: PerDim
    stride: PerDim = 1
    dilation: PerDim = 1
    groups: int = 1
    padding: PerDim = 0
    padding_out: PerDim = 0
    bias: bool = True
    initializer: AnyInitializer = field(default_factory=KaimingUniform)

    def _problems(self, dims: int) -> list[str]:
        numbers = {"kernel_size": self.kernel_size, "stride": self.stride, "dilation": self.dilation}
        problems = [*pair_problems(self.channels, self.groups), *number_problems(numbers, dims)]
        problems += number_problems({"padding": self.padding, "padding_out": self.padding_out}, dims, least=0)
        if problems:
            return problems
        pairs = zip(per_dim(self.padding_out, dims), per_dim(self.stride, dims), strict=True)
        reason = "padding_out is {}, and must be below the stride, which is {}"
        return [reason.format(more, stride) for more, stride in pairs if more >= stride]

    def _parts(
        self, dims: int, device: Device[DB]
    ) -> tuple[Param[DB, Any], Param[DB, D1] | None, Geometry, int, Numbers]:
        channels_in, channels_out = self.channels
        geometry = Geometry.of(
            dims, self.kernel_size, self.stride, self.dilation, Explicit(per_dim(self.padding, dims))
        )
        shape = (channels_in, channels_out // self.groups, *geometry.sizes)
        parameters = initial_parameters(self.initializer, shape, channels_out if self.bias else 0, device)
        return *parameters, geometry, self.groups, per_dim(self.padding_out, dims)


@dataclass(frozen=True)
class ConvTranspose1dConfig(_TransposeConfig):
    """A `ConvTranspose1d`, from ``channels`` (in, out)."""

    def problems(self) -> list[str]:
        """Numbers that no layer can have."""
        return self._problems(1)

    def init(self, device: Device[DB]) -> ConvTranspose1d[DB]:
        """The layer, with its parameters on the device."""
        return ConvTranspose1d(*self._parts(1, device))


@dataclass(frozen=True)
class ConvTranspose2dConfig(_TransposeConfig):
    """A `ConvTranspose2d`, from ``channels`` (in, out)."""

    def problems(self) -> list[str]:
        """Numbers that no layer can have."""
        return self._problems(2)

    def init(self, device: Device[DB]) -> ConvTranspose2d[DB]:
        """The layer, with its parameters on the device."""
        return ConvTranspose2d(*self._parts(2, device))


@dataclass(frozen=True)
class ConvTranspose3dConfig(_TransposeConfig):
    """A `ConvTranspose3d`, from ``channels`` (in, out)."""

    def problems(self) -> list[str]:
        """Numbers that no layer can have."""
        return self._problems(3)

    def init(self, device: Device[DB]) -> ConvTranspose3d[DB]:
        """The layer, with its parameters on the device."""
        return ConvTranspose3d(*self._parts(3, device))
