"""The message of a file: a graph's nodes and constants, its parameters, its inputs and its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tinyburn.base.errors import OnnxError
from tinyburn.base.scope import Scope, leave, start
from tinyburn.module import Module
from tinyburn.onnx.protos import LARGEST, number_of, onnx

from .lengths import Length
from .merging import Node
from .patterns import simplified
from .ports import AnyTensor, Example
from .rows.table import EXPORTS
from .writer import Edge, Writer

Message: TypeAlias = Any

OPSET, IR = 20, 9
"""The version of the operator set that is written, the first with Gelu, and of the file format that belongs to it."""
GIVEN = ("input", "parameter")
"""What no node makes."""


class File:
    """A model in the making."""

    def __init__(self, module: Module, example: Example, symbol: str) -> None:
        self.symbol, self.example = symbol, example
        self.values = {path: param.val() for path, param in module.named_params()}
        ports = example.ports.values()
        free = example.free
        self.writer = Writer([*self.values], None)
        self.inputs = {port.name: self.writer.new_name(port.name) for port in ports}
        self.writer.batch = None if free is None or free.dim is None else (self.inputs[free.name], free.dim)

    def __repr__(self) -> str:
        return f"File({self.writer})"

    def model(self, outputs: Sequence[Node]) -> Message:
        """The message of a file that computes some nodes."""
        nodes = simplified(outputs)
        _check_rows(nodes)
        names = [self.writer.new_name("output" if not at else f"output_{at}") for at in range(len(outputs))]
        edges = self._edges(nodes)
        self._name_outputs([edges[id(node)] for node in outputs], names)
        helper = onnx().helper
        used = {name for node in self.writer.nodes for name in node.input}
        graph = helper.make_graph(
            self.writer.nodes,
            "tinyburn",
            [self._input(port.name) for port in self.example.ports.values()],
            [self._info(name, node.dtype, node.shape) for name, node in zip(names, outputs, strict=True)],
            [_initializer(name, tensor) for name, tensor in self._read(used).items()],
        )
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR, producer_name="tinyburn")

    def _edges(self, nodes: Sequence[Node]) -> dict[int, Edge]:
        """Writes the nodes of the file, and returns the edge of each."""
        edges: dict[int, Edge] = {}
        for node in nodes:
            self.writer.path = node.path
            edges[id(node)] = self._edge(node, edges)
        return edges

    def _edge(self, node: Node, edges: dict[int, Edge]) -> Edge:
        if node.value is not None:
            return self.writer.constant(node.value, node.label)
        if node.operation in GIVEN:
            name = self.inputs[node.label] if node.operation == "input" else node.label
            return Edge(name, node.dtype, node.shape)
        arguments = [edges[id(x)] if isinstance(x, Node) else x for x in node.arguments]
        more = {"shape": node.shape, "dtype": node.dtype} if node.operation in ("spread", "counted") else {}
        token = start(Scope(node.path, None))  # an error names the module
        try:
            made = EXPORTS[node.operation](self.writer, *arguments, **more)
        except TypeError as error:  # a `Length` is no number
            raise OnnxError(f"onnx.save: {node.operation}", f"an argument follows the batch: {error}") from error
        finally:
            leave(token)
        return Edge(made.name, node.dtype, node.shape)

    def _name_outputs(self, edges: Sequence[Edge], names: Sequence[str]) -> None:
        """A node that gives an output has the output's name for it. What no node gives goes through one."""
        renamed: dict[str, str] = {}
        made = {name for node in self.writer.nodes for name in node.output}
        for edge, name in zip(edges, names, strict=True):
            if edge.name in made and edge.name not in renamed:
                renamed[edge.name] = name
        for node in self.writer.nodes:
            node.input[:] = [renamed.get(name, name) for name in node.input]
            node.output[:] = [renamed.get(name, name) for name in node.output]
        for edge, name in zip(edges, names, strict=True):
            if renamed.get(edge.name) != name:
                source = renamed.get(edge.name, edge.name)
                self.writer.nodes.append(onnx().helper.make_node("Identity", [source], [name], f"Identity_of_{name}"))

    def _input(self, name: str) -> Message:
        port = next(port for port in self.example.ports.values() if port.name == name)
        shape: list[Any] = list(port.tensor.shape)
        if port.dim is not None:
            shape[port.dim] = Length(1)
        return self._info(self.inputs[name], port.tensor.primitive.dtype, shape)

    def _info(self, name: str, dtype: np.dtype[Any], shape: Sequence[Any]) -> Message:
        dims = [self._dim(length) for length in shape]
        return onnx().helper.make_tensor_value_info(name, number_of(dtype.name), dims)

    def _dim(self, length: Any) -> int | str | None:
        if isinstance(length, int):
            return length
        return str(length).replace("batch", self.symbol) if isinstance(length, Length) else None

    def _read(self, used: set[str]) -> dict[str, AnyTensor]:
        """The parameters that a node reads. Raises OnnxError if they are too large for a file."""
        found = {name: tensor for name, tensor in self.values.items() if name in used}
        total = sum(tensor.payload_bytes for tensor in found.values()) + self.writer.constant_bytes
        if total > LARGEST:
            reason = f"the parameters and constants have {total} bytes, and a file of this kind has at most {LARGEST}"
            raise OnnxError("onnx.save", reason, hint="cast them to float16, or save the model as safetensors")
        return found


def _check_rows(nodes: Sequence[Node]) -> None:
    """Raises OnnxError, with all of it, for what has no row."""
    missing: dict[str, None] = {}
    for node in nodes:
        if node.value is None and node.operation not in (*GIVEN, *EXPORTS):
            missing[f"there is no row for {node.operation}, asked for in {node.path or 'the module itself'}"] = None
    if missing:
        hint = "a draw is another one each time: leave it out where autodiff is off, as Dropout does"
        raise OnnxError("onnx.save", missing, hint=hint if any("random" in one for one in missing) else None)


def _initializer(name: str, tensor: AnyTensor) -> Message:
    return onnx().numpy_helper.from_array(tensor.detach().to_numpy(), name)
