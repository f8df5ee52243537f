"""How large the gradients are on their way: recorded by ``backward(record_flow=True)`` for the pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyburn.tensor import Tensor

from .graph import Node


@dataclass(frozen=True)
class Size:
    """The size of one gradient.

    Attributes:
        rms: the root of the mean of the squares of its finite elements, in float64.
        zeros: the share of elements that are exactly 0.
        nonfinite: how many elements are inf or NaN.
    """

    rms: float
    zeros: float
    nonfinite: int


def measure_size(gradient: Tensor[Any, Any, Any]) -> Size:
    """The size of one gradient; reads its values, so it waits for the device."""
    values = gradient.to_numpy().astype(np.float64)
    finite = values[np.isfinite(values)]
    scale = np.abs(finite).max(initial=0.0) or 1.0  # squares of very small or large numbers would leave the range
    rms = float(scale * np.sqrt(np.mean((finite / scale) ** 2))) if finite.size else 0.0
    zeros = float(np.mean(values == 0)) if values.size else 0.0
    return Size(rms, zeros, values.size - finite.size)


class Flow:
    """Sizes by node (the whole gradient that arrived) and by edge (one part of it, child to parent)."""

    def __init__(self) -> None:
        self.nodes: dict[Node, Size] = {}
        self.edges: dict[tuple[Node, Node], list[Size]] = {}

    def add_node(self, node: Node, gradient: Tensor[Any, Any, Any]) -> None:
        """Notes the whole gradient that arrived at a node."""
        self.nodes[node] = measure_size(gradient)

    def add_edge(self, child: Node, parent: Node, part: Tensor[Any, Any, Any]) -> None:
        """Notes the part that one operation sends to one of its operands."""
        self.edges.setdefault((child, parent), []).append(measure_size(part))
