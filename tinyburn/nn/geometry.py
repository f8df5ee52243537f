"""How windows slide over an input, for the layers that convolve and that pool, in any number of spatial dims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from tinyburn.backend.convolution import ConvOptions
from tinyburn.base.errors import ForeignCall, ShapeError
from tinyburn.base.shape import Shape, is_count
from tinyburn.tensor.checks import check_tensor

from .padding import Explicit, Padding, Same, padding_problems, pairs_of

Numbers: TypeAlias = tuple[int, ...]
PerDim: TypeAlias = int | tuple[int, ...]
"""What a config takes for the spatial dims: a number for each, or one for all."""

FORMULA = "(length + padding - (kernel_size - 1) * dilation - 1) // stride + 1"
"""The length of an output: how many windows lie in the input with its padding."""


def per_dim(numbers: PerDim, dims: int) -> Numbers:
    """A number for each of some dims."""
    return numbers if isinstance(numbers, tuple) else (numbers,) * dims


def number_problems(numbers: dict[str, PerDim], dims: int, least: int = 1) -> list[str]:
    """What is wrong with some fields of a config, each of which has a number for each dim."""
    problems = []
    for name, given in numbers.items():
        each = per_dim(given, dims)
        if len(each) != dims:
            problems.append(f"{name} has {len(each)} numbers, and there are {dims} spatial dims")
        for number in each:
            if not (is_count(number) and number >= least):
                problems.append(f"{name} is {number!r}, and must be a whole number of {least} or more")
    return problems


@dataclass(frozen=True)
class Geometry:
    """Windows of some sizes, how far apart they start and how far apart their places lie, and what is around the input.

    Attributes:
        sizes: of a window, one for each spatial dim.
        stride: how far a window starts from the one before.
        dilation: how far the places of a window lie apart.
        padding: what stands around the input.
    """

    sizes: Numbers
    stride: Numbers
    dilation: Numbers
    padding: Padding

    @staticmethod
    def of(dims: int, kernel_size: PerDim, stride: PerDim, dilation: PerDim, padding: Padding) -> Geometry:
        """From the fields of a config."""
        return Geometry(per_dim(kernel_size, dims), per_dim(stride, dims), per_dim(dilation, dims), padding)

    def __str__(self) -> str:
        """As in ``3x3, stride 2x2, padding Same``, for the display of a layer."""
        by = "x".join
        said = [by(map(str, self.sizes))]
        for name, numbers in (("stride", self.stride), ("dilation", self.dilation)):
            said += [f"{name} {by(map(str, numbers))}"] if set(numbers) != {1} else []
        if isinstance(self.padding, Explicit):
            said += [f"padding {by(map(str, self.padding.sizes))}"] if any(self.padding.sizes) else []
        elif isinstance(self.padding, Same):
            said.append("padding Same")
        return ", ".join(said)

    @property
    def dims(self) -> int:
        """The number of spatial dims."""
        return len(self.sizes)

    def covers(self, lengths: Numbers) -> bool:
        """Whether the windows lie side by side in these lengths, and leave nothing out."""
        lie_so = self.stride == self.sizes and set(self.dilation) == {1}
        return lie_so and not any(length % size for length, size in zip(lengths, self.sizes, strict=True))

    def options(self, lengths: Numbers, groups: int = 1) -> ConvOptions:
        """The same for the backend, with the padding for an input of these lengths."""
        pairs = pairs_of(self.padding, lengths, self.sizes, self.stride, self.dilation)
        return ConvOptions(self.stride, pairs, self.dilation, groups)

    def check(self, layer: str, x: Any, channels: int | None, needs_room: bool = True, **given: object) -> None:
        """Raises ShapeError, with every reason, unless an input has the rank, the channels and room for a window."""
        check_tensor(layer, x)
        reasons, hint = self._misfits(x.shape, channels, needs_room)
        if not reasons:
            return
        wanted = ", ".join(["any", "any" if channels is None else str(channels), *["any"] * self.dims])
        named = {"input": x.shape, "expected": f"({wanted})", **given}
        raise ShapeError(layer, reasons, given=named, hint=hint)

    def _misfits(self, shape: Shape, channels: int | None, needs_room: bool) -> tuple[list[str], str]:
        """Why an input does not fit, if it does not, and what to do."""
        dims = self.dims
        if len(shape) != dims + 2:
            reason = (
                f"the input has rank {len(shape)}; with samples, channels and {dims} spatial dims it has {dims + 2}"
            )
            return [reason], "a sample becomes a batch of one with unsqueeze(), a channel is added by unsqueeze_dim(1)"
        reasons = []
        if channels not in (None, shape[1]):
            reasons.append(f"the input has {shape[1]} channels in dim 1, and the layer reads {channels}")
        if needs_room:
            reasons += self._without_room(shape[2:])
        return reasons, f"an output has the length {FORMULA}" if needs_room else "the spatial dims are free"

    def _without_room(self, lengths: Numbers) -> list[str]:
        """The dims into which no window fits."""
        padding = pairs_of(self.padding, lengths, self.sizes, self.stride, self.dilation)
        reasons = []
        for dim, (length, (before, after)) in enumerate(zip(lengths, padding, strict=True)):
            size, dilation = self.sizes[dim], self.dilation[dim]
            span = (size - 1) * dilation + 1
            if before + length + after < span:
                apart = f" with its places {dilation} apart" if dilation > 1 else ""
                window = f"a window of {size}{apart} spans {span}"
                reasons.append(f"dim {dim + 2} has length {length} and padding {before} + {after}, and {window}")
        return reasons


def check_made(layer: object, geometry: object, arguments: str) -> None:
    """Raises ForeignCall for a layer that is made as PyTorch's are, and not by its config."""
    if not isinstance(geometry, Geometry):
        name = type(layer).__name__
        made = f"nn.{name}Config(…).init({arguments})"
        raise ForeignCall(f"nn.{name}", "a layer is made by its config", hint=f"write {made}")


def geometry_problems(dims: int, kernel_size: PerDim, stride: PerDim, dilation: PerDim, padding: Padding) -> list[str]:
    """What is wrong with the fields of a config."""
    numbers = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation}
    return [*number_problems(numbers, dims), *padding_problems(padding, dims)]
