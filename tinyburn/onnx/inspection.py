"""What is in an ONNX file, and what of it would not run, as a table: before anything does.

Shapes are found by running the model on `Meta`, which computes with shapes alone. A dim that is free gets a length
first, by default 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from tinyburn.backend import Meta
from tinyburn.base.errors import TinyburnError
from tinyburn.base.text import amount, table, thousands
from tinyburn.tensor import Tensor

from .graph import Graph
from .module import OnnxModule, Port, Source, floats_of, parsed
from .reading import path_of
from .table import OLDEST
from .values import Flow, Value

_EMPTY: Mapping[str, int] = {}


def inspect(source: Source, dims: Mapping[str, int] = _EMPTY) -> tuple[str, bool]:
    """A table of a model's nodes with the shapes that they give, every reason why it cannot run, and whether it can.

    Args:
        source: as of `load`.
        dims: lengths of free dims, by their names; 1 for others.

    Raises OnnxError for a file that is no model, or damaged.
    """
    proto, opsets, graph, ports, problems = parsed(source)
    shapes: dict[str, str] = {}
    head = _head(proto, opsets, graph, ports)
    if not problems:
        problems = _shapes(graph, ports, dims, shapes)
    lines = [head, "", _nodes(proto, shapes)]
    lines += ["", "It cannot run:", *[f"  {problem}" for problem in problems]] if problems else []
    return "\n".join(lines), not problems


def _head(proto: Any, opsets: Mapping[str, int], graph: Graph, ports: list[Port]) -> str:
    trained, fixed = floats_of(graph)
    values = [graph.constants[name] for name in graph.constants if name in trained]
    count = sum(prod(value.shape) for value in values)
    size = sum(value.tensor.to_numpy().nbytes for value in values)
    sets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in sorted(opsets.items()))
    maker = f"{proto.producer_name} {proto.producer_version}".strip() or "unknown"
    rows = [
        ("made by", maker),
        ("operator sets", sets),
        *[("input", repr(port)) for port in ports],
        ("outputs", ", ".join(graph.outputs)),
        ("parameters", f"{thousands(count)} in {len(values)} tensors, {amount(size)}"),
        ("fixed tensors", str(len(fixed))),
    ]
    return table(("what", "is"), rows)


def _shapes(graph: Graph, ports: list[Port], dims: Mapping[str, int], shapes: dict[str, str]) -> list[str]:
    """Fills in what each node gives. Returns why it cannot go on, if it cannot."""
    device = Meta.device()
    module = OnnxModule(graph, ports, device, OLDEST)

    def watch(step: object, name: str, flow: Flow) -> None:
        if isinstance(flow, Value):
            shapes[name] = f"{flow.shape} {flow.dtype}"
        else:
            shapes[name] = "nothing" if flow is None else f"{len(flow)} tensors"

    try:
        inputs = [_example(port, dims, device) for port in ports]
        module.watched(inputs, watch)
    except TinyburnError as error:
        return [str(error).replace("\n", "\n  ")]
    return []


def _example(port: Port, dims: Mapping[str, int], device: Any) -> Any:
    if port.shape is None or not port.dtype:
        return [] if not port.dtype else Tensor.zeros((1,), device, _any(port.dtype))
    lengths = tuple(length if isinstance(length, int) else dims.get(length, 1) for length in port.shape)
    return Tensor.zeros(lengths or (1,), device, _any(port.dtype))


def _any(dtype: str) -> Any:
    return dtype


def _nodes(proto: Any, shapes: Mapping[str, str]) -> str:
    rows = []
    for number, node in enumerate(proto.graph.node):
        gives = [f"{name}: {shapes[name]}" if name in shapes else name for name in node.output if name]
        operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        rows.append((path_of(node, number), operator, ", ".join(gives), ", ".join(name for name in node.input if name)))
    return table(("node", "operator", "gives", "reads"), rows)
