"""The numbers in a graph: what each item is, and what its gradient is, in as many words as a box has room for.

A graph keeps no values but those that a rule needs. So the picture takes the values that the caller names, and computes
the others from them again, with NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tinyburn.autodiff import Gradients, Node
from tinyburn.autodiff.observer import GradientSize
from tinyburn.backend import NdArray
from tinyburn.backend.operations import OPERATIONS
from tinyburn.base.errors import BackendMismatch

from .formula import count, digits
from .model import Graph, Item, Name, Results, check_gradients, named_tensors, several

Values = np.ndarray[Any, Any]

FEW = 4
"""So many numbers are shown as they are. Of more, it is their root mean square."""


class Numbers(NamedTuple):
    """The value of an item and its gradient, in words; empty for a value that is not known."""

    value: str
    gradient: str


def read_numbers(
    picture: str, graph: Graph, results: Results, grads: Gradients[Any], names: Mapping[str, Name]
) -> list[Numbers]:
    """The numbers of each item.

    Raises:
        BackendMismatch: the backend keeps shapes only.
        ConfigError, GraphError: ``grads`` are no gradients, or those of another tensor.
    """
    check_gradients(picture, graph, grads)
    if not all(tensor.backend.has_values for tensor in several(results)):
        reason = "the backend keeps shapes only, so there are no numbers to show"
        raise BackendMismatch(f"viz.{picture}", reason, hint="run the same program on NdArray, or leave grads out")
    known = known_values(graph, results, names)
    return [
        Numbers(value_text(known[item.node]) if item.node in known else "", _gradient_text(item, grads))
        for item in graph.items
    ]


def known_values(graph: Graph, results: Results, names: Mapping[str, Name]) -> dict[Node, Values]:
    """The values of all nodes that have a name, or are computed from such alone; of a backend that has values."""
    tensors = [*several(results), *(tensor for _, tensor, _ in named_tensors(names))]
    known = {tensor.primitive.node: tensor for tensor in tensors if tensor.primitive.node in graph.numbers}
    values: dict[Node, Values] = {node: tensor.to_numpy() for node, tensor in known.items()}
    for item in graph.items:
        if item.node not in values:
            _compute_again(item.node, values)
    return values


def _compute_again(node: Node, known: dict[Node, Values]) -> None:
    """The value of a node, if it is an operation whose operands are known."""
    if node.op in OPERATIONS and all(parent in known for parent in node.parents):
        arguments = [known[x] if isinstance(x, Node) else x for x in node.arguments]
        known[node] = getattr(NdArray, node.op)(*arguments)


def _gradient_text(item: Item, grads: Gradients[Any]) -> str:
    found = grads.of_node(item.node) if item.gets_gradient else None
    if found is not None:
        return value_text(found.to_numpy())
    size = grads.flow.nodes.get(item.node) if grads.flow is not None else None
    if size is not None:
        return _size_text(size, prod(item.shape))
    return "not kept" if item.is_operation and grads.flow is None else "none"


def value_text(values: Values) -> str:
    """Few numbers as they are, with at most 3 digits; of many their size."""
    if values.size <= FEW:
        return _listed(values.tolist()[0] if values.shape == (1,) else values.tolist())
    if values.dtype.kind == "b":
        return f"{int(values.sum())} of {values.size} true"
    if values.dtype.kind != "f":
        return f"from {values.min()} to {values.max()}"
    known = values[np.isfinite(values)].astype("float64")
    rms = float(np.sqrt(np.mean(np.square(known)))) if known.size else 0.0
    return _size_text(GradientSize(rms, 0.0, values.size - known.size), values.size)


def _size_text(size: GradientSize, elements: int) -> str:
    if size.nonfinite:
        return f"{size.nonfinite} of {count(elements, 'element')} inf or NaN"
    return f"RMS {digits(size.rms)}"


def _listed(values: Any) -> str:
    if isinstance(values, list):
        return f"[{', '.join(map(_listed, values))}]"
    return f"{values:z.3g}" if isinstance(values, float) else str(values)
