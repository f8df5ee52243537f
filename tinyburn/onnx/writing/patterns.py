"""What several operations together are in ONNX: a pool, a padding, a convolution with its bias.

tinyburn has no operation for these, since each is a few others in a row. A file with one node for them is what readers
know and runtimes are quick at. Each pattern looks at the last node of its row, and rewrites that one; what nobody reads
any more is left out of the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .lengths import is_free
from .merging import Node, Numbers, in_order


def simplified(outputs: Sequence[Node]) -> list[Node]:
    """The nodes of a graph in order, with every pattern rewritten."""
    nodes = in_order(outputs)
    uses: dict[int, int] = {}
    for node in nodes:
        for operand in node.operands:
            uses[id(operand)] = uses.get(id(operand), 0) + 1
    for node in nodes:
        for pattern in PATTERNS:
            pattern(node, uses)
    return in_order(outputs)


class Windows(NamedTuple):
    """How a pool sees its input: a number for each spatial dim."""

    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    dilations: tuple[int, ...]

    @property
    def attributes(self) -> dict[str, list[int]]:
        """As ONNX has them."""
        return {"kernel_shape": list(self.sizes), "strides": list(self.steps), "dilations": list(self.dilations)}


def _padding(node: Node, uses: dict[int, int]) -> None:
    """A part of one number everywhere is replaced: that number stands around the part."""
    if node.operation != "slice_assign":
        return
    base, parts, inner = node.arguments
    if base.fill is None or any(one.step != 1 for one in parts) or node.value is not None:
        return
    pairs = tuple((one.start, length - one.stop) for one, length in zip(parts, base.shape, strict=True))
    node.operation, node.arguments = "pad", (inner, pairs, base.fill)


def _pool(node: Node, uses: dict[int, int]) -> None:
    """The largest, or the mean, over the dims of windows in front; see `nn.pool`."""
    if (
        node.operation != "reshape"
        or node.dtype.kind != "f"
        or node.arguments[0].operation not in ("max_dims", "mean_dims")
    ):
        return
    reduced, dims = node.arguments[0].arguments
    count = len(dims)
    if dims != tuple(range(count)) or reduced.shape[count:] != node.shape or len(node.shape) != count + 2:
        return
    found = _sliding(reduced, count) or _side_by_side(reduced, count)
    if found is None:
        return
    x, windows = found
    is_max = node.arguments[0].operation == "max_dims"
    x, padding = _without_padding(x, windows, -math.inf if is_max else 0.0)
    node.operation, node.arguments = "max_pool" if is_max else "avg_pool", (x, windows, padding)


def _sliding(node: Node, count: int) -> tuple[Node, Windows] | None:
    """The input of windows that may overlap. Each dim has been unfolded, and the new dim moved to the front."""
    found: list[tuple[int, int, int]] = []
    for dim in range(count + 1, 1, -1):
        rank = len(node.shape)
        if node.operation != "permute" or node.arguments[1] != (rank - 1, *range(rank - 1)):
            return None
        node = node.arguments[0]
        if node.operation != "unfold" or node.arguments[1] != 2 * dim - 2:
            return None
        found.append(node.arguments[2:])
        node = node.arguments[0]
    return node, Windows(*zip(*reversed(found), strict=True))


def _side_by_side(node: Node, count: int) -> tuple[Node, Windows] | None:
    """The input of windows that lie side by side: each dim has been cut into two."""
    rank = 2 * count + 2
    axes = (*range(3, rank, 2), 0, 1, *range(2, rank, 2))
    if node.operation != "permute" or node.arguments[1] != axes or node.arguments[0].operation != "reshape":
        return None
    cut = node.arguments[0]
    source, sizes = cut.arguments[0], cut.shape[3::2]
    whole = tuple(n * size for n, size in zip(cut.shape[2::2], sizes, strict=True) if not is_free(n))
    if len(source.shape) != count + 2 or source.shape[2:] != whole or source.shape[:2] != cut.shape[:2]:
        return None
    return source, Windows(tuple(sizes), tuple(sizes), (1,) * count)


def _without_padding(x: Node, windows: Windows, value: float) -> tuple[Node, tuple[tuple[int, int], ...]]:
    """A padding that the pool itself can do: of its own number, and narrower than a window."""
    nothing = ((0, 0),) * len(windows.sizes)
    if x.operation != "pad" or x.arguments[2] != value:
        return x, nothing
    pairs = x.arguments[1]
    is_narrow = all(max(pair) < size for pair, size in zip(pairs[2:], windows.sizes, strict=True))
    return (x.arguments[0], pairs[2:]) if is_narrow and pairs[:2] == ((0, 0), (0, 0)) else (x, nothing)


def _bias(node: Node, uses: dict[int, int]) -> None:
    """A number for each channel, added to a convolution that nobody else reads."""
    if node.operation != "add" or not all(isinstance(x, Node) for x in node.arguments):
        return
    product, bias = node.arguments
    if product.operation not in ("conv", "conv_transpose") or uses[id(product)] > 1 or bias.operation != "reshape":
        return
    is_bias = len(bias.arguments[0].shape) == 1 and bias.shape == (1, product.shape[1], *[1] * (len(product.shape) - 2))
    if is_bias and len(product.arguments) == (3 if product.operation == "conv" else 4):
        node.operation, node.arguments = product.operation, (*product.arguments, bias.arguments[0])


def _masked(node: Node, uses: dict[int, int]) -> None:
    """A softmax of numbers of which masks may have set a whole row to -inf."""
    if node.operation == "softmax" and _may_hide_a_row(*node.arguments):
        node.operation = "masked_softmax"


def _may_hide_a_row(node: Node, dim: int) -> bool:
    """Whether masks can leave nothing of a row. Of one mask that is known, as a causal one is, its rows tell it."""
    masks: list[Node] = []
    while node.operation == "mask_where" and _number(node.arguments[2]) == -math.inf:
        masks.append(node.arguments[1])
        node = node.arguments[0]
    rows = _rows_of(masks[0]) if len(masks) == 1 and dim == len(node.shape) - 1 else None
    return bool(masks) and (rows is None or bool(rows.all(axis=-1).any()))


def _number(x: Node | float) -> object:
    return x.fill if isinstance(x, Node) else x


def _rows_of(mask: Node) -> Numbers | None:
    """The rows of a mask that depends on no input, before they are repeated for each sample; None if it is another."""
    while mask.operation in ("expand", "reshape") and mask.arguments[0].shape[-1] == mask.shape[-1]:
        mask = mask.arguments[0]
    rows: Numbers | None = mask.arguments[0] if mask.operation == "spread" else mask.value
    return rows


PATTERNS: tuple[Callable[[Node, dict[int, int]], None], ...] = (_padding, _pool, _bias, _masked)
"""In the order in which a node is held against them. A node's operands have been rewritten before."""
