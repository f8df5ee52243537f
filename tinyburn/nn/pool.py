"""Pooling layers: each window of an input becomes one number, its largest or its mean. They have no parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from tinyburn.backend import Backend
from tinyburn.base.errors import ForeignCall
from tinyburn.base.shape import D3, D4
from tinyburn.module import Config, Module
from tinyburn.tensor import Tensor

from .geometry import Geometry, Numbers, PerDim, check_made, geometry_problems, number_problems, per_dim
from .padding import Padding, PaddingConfig2d, Pairs, Valid

B = TypeVar("B", bound=Backend)

AnyTensor: TypeAlias = Tensor[Any, Any]


# For any number of spatial dims


def max_pool(layer: str, x: AnyTensor, geometry: Geometry) -> AnyTensor:
    """The largest of each window; NaN where there is one. What stands around the input is below every number."""
    geometry.check(layer, x, None)
    x._of_kind(layer, "float")
    pairs = geometry.options(x.shape[2:]).padding
    return _of_windows(padded(x, pairs, -float("inf")), geometry, "max_dims")


def avg_pool(layer: str, x: AnyTensor, geometry: Geometry, count_include_pad: bool) -> AnyTensor:
    """The mean of each window. Zeros stand around the input; they count as elements only if ``count_include_pad``."""
    geometry.check(layer, x, None)
    x._of_kind(layer, "float")
    lengths = x.shape[2:]
    pairs = geometry.options(lengths).padding
    means = _of_windows(padded(x, pairs, 0.0), geometry, "mean_dims")
    if count_include_pad or not any(map(sum, pairs)):
        return means
    shares = _shares_inside(geometry, lengths)
    return means / Tensor.from_data(shares[np.newaxis, np.newaxis], x.device, x.dtype)


def adaptive_avg_pool(layer: str, x: AnyTensor, counts: Numbers) -> AnyTensor:
    """The mean of each of some windows a dim, which cover it: window i goes from ``floor(i * length / count)`` to
    ``ceil((i + 1) * length / count)``. A mean over a box is that of means along its sides."""
    ones = (1,) * len(counts)
    Geometry(ones, ones, ones, Valid()).check(layer, x, None)
    x._of_kind(layer, "float")
    for dim, count in enumerate(counts, 2):
        length = x.shape[dim]
        bounds = [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]
        parts = [x.narrow(dim, start, stop - start).mean_dim(dim) for start, stop in bounds]
        x = Tensor.cat(parts, dim)
    return x


def padded(x: AnyTensor, pairs: Pairs, value: float) -> AnyTensor:
    """An input with one number all around its spatial dims."""
    if not any(map(sum, pairs)):
        return x
    lengths = x.shape[2:]
    ends = [before + length + after for length, (before, after) in zip(lengths, pairs, strict=True)]
    inside = [slice(before, before + length) for length, (before, _) in zip(lengths, pairs, strict=True)]
    around = Tensor.full((1,) * x.rank, value, x.device, x.dtype).expand((*x.shape[:2], *ends))
    return around.slice_assign((slice(None), slice(None), *inside), x)


def _of_windows(x: AnyTensor, geometry: Geometry, reduction: str) -> AnyTensor:
    """A reduction of each window. Its dims come first, so that what lies side by side in memory stays so."""
    dims = geometry.dims
    x = _cut_up(x, geometry) if geometry.covers(x.shape[2:]) else _seen_through(x, geometry)
    return x._ask(reduction, tuple(range(dims))).reshape(x.shape[dims:])


def _seen_through(x: AnyTensor, geometry: Geometry) -> AnyTensor:
    """Windows that may overlap, or leave something out."""
    for dim, window in enumerate(zip(geometry.sizes, geometry.stride, geometry.dilation, strict=True), 2):
        x = x.unfold(2 * dim - 2, *window)  # each dim before has brought one more in front
        x = x.permute(x.rank - 1, *range(x.rank - 1))
    return x


def _cut_up(x: AnyTensor, geometry: Geometry) -> AnyTensor:
    """Windows that lie side by side. Each element is in one of them, so the way back is a copy and adds up nothing."""
    pairs = [(length // size, size) for length, size in zip(x.shape[2:], geometry.sizes, strict=True)]
    x = x.reshape((*x.shape[:2], *[number for pair in pairs for number in pair]))
    return x.permute(*range(3, x.rank, 2), 0, 1, *range(2, x.rank, 2))


def _shares_inside(geometry: Geometry, lengths: Numbers) -> np.ndarray[Any, Any]:
    """How much of each window lies in the input: the product of its shares in each dim."""
    options = geometry.options(lengths)
    counts = options.counts(lengths, geometry.sizes)
    shares = []
    for dim, (count, length) in enumerate(zip(counts, lengths, strict=True)):
        starts = np.arange(count)[:, np.newaxis] * geometry.stride[dim] - options.padding[dim][0]
        places = starts + np.arange(geometry.sizes[dim]) * geometry.dilation[dim]
        shares.append(((places >= 0) & (places < length)).mean(1))
    result: np.ndarray[Any, Any] = shares[0]
    for share in shares[1:]:
        result = np.multiply.outer(result, share)
    return result


# The layers


class MaxPool1d(Module):
    """From ``(n, c, length)`` to ``(n, c, count)``: the largest of each window. Equal largest elements share the
    gradient evenly."""

    def __init__(self, geometry: Geometry) -> None:
        check_made(self, geometry, "")
        self.geometry = geometry
        self.windows = str(geometry)

    def forward(self, x: Tensor[B, D3]) -> Tensor[B, D3]:
        """A batch of samples of channels. Raises ShapeError for another rank, or a length without room for a window."""
        return max_pool("MaxPool1d", x, self.geometry)


class MaxPool2d(Module):
    """From ``(n, c, height, width)`` to ``(n, c, rows, columns)``: the largest of each window. Equal largest elements
    share the gradient evenly."""

    def __init__(self, geometry: Geometry) -> None:
        check_made(self, geometry, "")
        self.geometry = geometry
        self.windows = str(geometry)

    def forward(self, x: Tensor[B, D4]) -> Tensor[B, D4]:
        """A batch of samples of channels. Raises ShapeError for another rank, or lengths without room for a window."""
        return max_pool("MaxPool2d", x, self.geometry)


class AvgPool1d(Module):
    """From ``(n, c, length)`` to ``(n, c, count)``: the mean of each window."""

    def __init__(self, geometry: Geometry, count_include_pad: bool = True) -> None:
        check_made(self, geometry, "")
        self.geometry = geometry
        self.windows = str(geometry)
        self.count_include_pad = count_include_pad

    def forward(self, x: Tensor[B, D3]) -> Tensor[B, D3]:
        """A batch of samples of channels. Raises ShapeError for another rank, or a length without room for a window."""
        return avg_pool("AvgPool1d", x, self.geometry, self.count_include_pad)


class AvgPool2d(Module):
    """From ``(n, c, height, width)`` to ``(n, c, rows, columns)``: the mean of each window."""

    def __init__(self, geometry: Geometry, count_include_pad: bool = True) -> None:
        check_made(self, geometry, "")
        self.geometry = geometry
        self.windows = str(geometry)
        self.count_include_pad = count_include_pad

    def forward(self, x: Tensor[B, D4]) -> Tensor[B, D4]:
        """A batch of samples of channels. Raises ShapeError for another rank, or lengths without room for a window."""
        return avg_pool("AvgPool2d", x, self.geometry, self.count_include_pad)


class AdaptiveAvgPool1d(Module):
    """From ``(n, c, length)`` to ``(n, c, output_size)``, whatever the length: the mean of each of as many windows."""

    def __init__(self, counts: Numbers) -> None:
        if not isinstance(counts, tuple):
            raise ForeignCall(
                "nn.AdaptiveAvgPool1d",
                "a layer is made by its config",
                hint="write nn.AdaptiveAvgPool1dConfig(…).init()",
            )
        self.counts = counts

    def forward(self, x: Tensor[B, D3]) -> Tensor[B, D3]:
        """A batch of samples of channels. Raises ShapeError for another rank, or no length at all."""
        return adaptive_avg_pool("AdaptiveAvgPool1d", x, self.counts)


class AdaptiveAvgPool2d(Module):
    """From ``(n, c, height, width)`` to ``(n, c, *output_size)``, whatever the lengths: the mean of each window."""

    def __init__(self, counts: Numbers) -> None:
        if not isinstance(counts, tuple):
            raise ForeignCall(
                "nn.AdaptiveAvgPool2d",
                "a layer is made by its config",
                hint="write nn.AdaptiveAvgPool2dConfig(…).init()",
            )
        self.counts = counts

    def forward(self, x: Tensor[B, D4]) -> Tensor[B, D4]:
        """A batch of samples of channels. Raises ShapeError for another rank, or no length at all."""
        return adaptive_avg_pool("AdaptiveAvgPool2d", x, self.counts)


# Their configs


@dataclass(frozen=True)
class _PoolConfig(Config):
    """The fields of all pools whose windows have one size. A number stands for all dims; without a stride, windows lie
    side by side."""

    kernel_size: PerDim
    stride: PerDim | None = None
    padding: Padding = PaddingConfig2d.Valid

    def _geometry(self, dims: int, dilation: PerDim = 1) -> Geometry:
        return Geometry.of(dims, self.kernel_size, self._stride(), dilation, self.padding)

    def _problems(self, dims: int, dilation: PerDim = 1) -> list[str]:
        return geometry_problems(dims, self.kernel_size, self._stride(), dilation, self.padding)

    def _stride(self) -> PerDim:
        return self.kernel_size if self.stride is None else self.stride


@dataclass(frozen=True)
class MaxPool1dConfig(_PoolConfig):
    """A `MaxPool1d`; ``dilation`` is how far the places of a window lie apart."""

    dilation: PerDim = 1

    def problems(self) -> list[str]:
        """Numbers that no layer can have."""
        return self._problems(1, self.dilation)

    def init(self) -> MaxPool1d:
        """The layer."""
        return MaxPool1d(self._geometry(1, self.dilation))


@dataclass(frozen=True)
class MaxPool2dConfig(_PoolConfig):
    """A `MaxPool2d`; ``dilation`` is how far the places of a window lie apart."""

    dilation: PerDim = 1

    def problems(self) -> list[str]:
        """Numbers that no layer can have."""
        return self._problems(2, self.dilation)

    def init(self) -> MaxPool2d:
        """The layer."""
        return MaxPool2d(self._geometry(2, self.dilation))


@dataclass(frozen=True)
class AvgPool1dConfig(_PoolConfig):
    """An `AvgPool1d`; ``count_include_pad`` says whether the zeros around the input count as elements."""

    count_include_pad: bool = True

    def problems(self) -> list[str]:
        """Numbers that no layer can have."""
        return self._problems(1)

    def init(self) -> AvgPool1d:
        """The layer."""
        return AvgPool1d(self._geometry(1), self.count_include_pad)


@dataclass(frozen=True)
class AvgPool2dConfig(_PoolConfig):
    """An `AvgPool2d`; ``count_include_pad`` says whether the zeros around the input count as elements."""

    count_include_pad: bool = True

    def problems(self) -> list[str]:
        """Numbers that no layer can have."""
        return self._problems(2)

    def init(self) -> AvgPool2d:
        """The layer."""
        return AvgPool2d(self._geometry(2), self.count_include_pad)


@dataclass(frozen=True)
class AdaptiveAvgPool1dConfig(Config):
    """An `AdaptiveAvgPool1d`."""

    output_size: PerDim

    def problems(self) -> list[str]:
        """Numbers that no layer can have."""
        return number_problems({"output_size": self.output_size}, 1)

    def init(self) -> AdaptiveAvgPool1d:
        """The layer."""
        return AdaptiveAvgPool1d(per_dim(self.output_size, 1))


@dataclass(frozen=True)
class AdaptiveAvgPool2dConfig(Config):
    """An `AdaptiveAvgPool2d`. A number stands for both dims."""

    output_size: PerDim

    def problems(self) -> list[str]:
        """Numbers that no layer can have."""
        return number_problems({"output_size": self.output_size}, 2)

    def init(self) -> AdaptiveAvgPool2d:
        """The layer."""
        return AdaptiveAvgPool2d(per_dim(self.output_size, 2))
