"""Products: matrices, convolutions, and the pools that are written as one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyburn.base.errors import OnnxError
from tinyburn.onnx.writing.writer import Edge, Writer, check_whole

from .table import export


@export("matmul")
def matmul(g: Writer, a: Edge, b: Edge) -> Edge:
    """The product over the last two dims."""
    return g.node("MatMul", a, b)


@export("linear")
def linear(g: Writer, a: Edge, weight: Edge, bias: Edge) -> Edge:
    """Of matrices it is one node."""
    return g.node("Gemm", a, weight, bias) if a.rank == 2 else g.node("Add", g.node("MatMul", a, weight), bias)


@export("conv")
def conv(g: Writer, a: Edge, weight: Edge, options: Any, bias: Edge | None = None) -> Edge:
    """A weight that slides over the input."""
    return g.node("Conv", a, weight, bias, **_geometry(weight, options, _pads(options.padding)))


@export("conv_transpose")
def conv_transpose(
    g: Writer, a: Edge, weight: Edge, lengths: tuple[int, ...], options: Any, bias: Edge | None = None
) -> Edge:
    """The lengths say what is added at the ends; what would be too much there is padding that is left out."""
    check_whole((*a.shape[2:], *lengths))
    dims = zip(a.shape[2:], weight.shape[2:], options.stride, options.dilation, strict=True)
    whole = [(length - 1) * stride + (size - 1) * dilation + 1 for length, size, stride, dilation in dims]
    padding, more = [], []
    for natural, wanted, (before, after) in zip(whole, lengths, options.padding, strict=True):
        extra = wanted - (natural - before - after)
        padding.append((before, after - min(extra, 0)))
        more.append(max(extra, 0))
    check_added(more, options)
    return g.node("ConvTranspose", a, weight, bias, **_geometry(weight, options, _pads(padding)), output_padding=more)


def check_added(more: Sequence[int], options: Any) -> None:
    """Raises OnnxError for an output that is longer than any that a convolution would bring to the input's length."""
    for added, stride, dilation in zip(more, options.stride, options.dilation, strict=True):
        if added >= max(stride, dilation):
            reason = f"{added} places are added behind the last window, and ONNX adds fewer than the stride, {stride}"
            raise OnnxError("onnx.save: conv_transpose", reason)


def _geometry(weight: Edge, options: Any, pads: list[int]) -> dict[str, Any]:
    return {
        "kernel_shape": list(weight.shape[2:]),
        "strides": list(options.stride),
        "pads": pads,
        "dilations": list(options.dilation),
        "group": options.groups,
    }


def _pads(padding: Sequence[tuple[int, int]]) -> list[int]:
    return [before for before, _ in padding] + [after for _, after in padding]


@export("max_pool")
def max_pool(g: Writer, a: Edge, windows: Any, padding: Sequence[tuple[int, int]]) -> Edge:
    """The largest of each window."""
    return g.node("MaxPool", a, pads=_pads(padding), **windows.attributes)


@export("avg_pool")
def avg_pool(g: Writer, a: Edge, windows: Any, padding: Sequence[tuple[int, int]]) -> Edge:
    """The mean of each window, in which a padding counts."""
    return g.node("AveragePool", a, pads=_pads(padding), count_include_pad=1, **windows.attributes)
