"""An ONNX model as a Module: it can be read, drawn, counted, trained further, and run on any backend."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from tinyburn.backend import Device
from tinyburn.base.errors import OnnxError
from tinyburn.module import Module, Param
from tinyburn.tensor import Tensor

from .graph import Graph, Limits, Run
from .protos import dtype_of
from .reading import Reader, check_dtypes, opsets_of, read_model
from .source import is_large, written
from .table import OLDEST
from .values import HOST, AnyTensor, Flow, Value, dtype_on, moved

Result: TypeAlias = AnyTensor | list[Any] | None
Source: TypeAlias = str | os.PathLike[str] | bytes


def load(source: Source, device: Device[Any], *, limits: Limits | None = None) -> OnnxModule:
    """Reads a model, for inference or to train it further.

    Args:
        source: the path of a file, or its bytes.
        device: where its parameters will be, and where it computes.
        limits: what it may use; see `Limits`.

    Returns:
        A module that takes a tensor for each input of the graph, and gives a tensor for its output, or a tuple if there
        are several. Float initializers are its parameters, under their names; what an operator only reads, such as the
        statistics of a BatchNormalization, is not trained.

    Raises:
        OnnxError: the file is damaged, or has what tinyburn has not; all of it is named at once.
        BackendUnavailable: the package onnx is not installed.
    """
    found = parsed(source)
    if found.problems:
        hint = "simplify the model at export, run it in ONNX Runtime, or write a row for an operator (docs/onnx.md)"
        raise OnnxError("the model cannot run", found.problems, hint=hint)
    return OnnxModule(found.graph, found.ports, device, found.opsets.get("", OLDEST), limits)


class Parsed(NamedTuple):
    """What is in a file.

    Attributes:
        proto: its message, with the numbers of all tensors.
        opsets: the version of each domain.
        ports: the inputs whose dtypes tinyburn has.
        problems: all reasons why it cannot run.
    """

    proto: Any
    opsets: dict[str, int]
    graph: Graph
    ports: list[Port]
    problems: list[str]


def parsed(source: Source) -> Parsed:
    """Reads a file, and finds out whether it can run. Raises OnnxError if it is no model, or damaged."""
    proto = read_model(source)
    opsets = opsets_of(proto)
    reader = Reader(proto)
    graph = reader.graph(proto.graph, opsets)
    inputs = [one for one in proto.graph.input if one.name in graph.inputs]
    problems = [*reader.problems, *check_dtypes([*inputs, *proto.graph.output])]
    ports = [Port(one) for one in inputs if not check_dtypes([one])]
    return Parsed(proto, opsets, graph, ports, problems)


class Port:
    """An input of a model, as it is declared.

    Attributes:
        shape: a length for each dim, or the name of a free one; None if it is not declared.
        dtype: its name; empty for a sequence or an optional.
    """

    def __init__(self, proto: Any) -> None:
        self.name: str = proto.name
        tensor = proto.type.tensor_type if proto.type.HasField("tensor_type") else None
        self.dtype = dtype_of(tensor.elem_type) if tensor is not None else ""
        self.shape: tuple[int | str, ...] | None = None
        if tensor is not None and tensor.HasField("shape"):
            dims = tensor.shape.dim
            self.shape = tuple(one.dim_value if one.HasField("dim_value") else one.dim_param or "?" for one in dims)

    def __repr__(self) -> str:
        shape = "any shape" if self.shape is None else f"({', '.join(map(str, self.shape))})"
        return f"{self.name} {shape} {self.dtype or 'sequence or optional'}"

    def value(self, given: Any, lengths: dict[str, int]) -> Flow:
        """What the graph gets for a tensor. ``lengths`` are those of the free dims so far.

        Raises OnnxError for something else than what is declared.
        """
        if not self.dtype:
            return _flow(given)
        if not isinstance(given, Tensor):
            raise OnnxError(f"input {self}", f"it is of type {type(given).__name__}, and no tensor")
        is_same = given.dtype in (self.dtype, dtype_on(self.dtype, given.device))
        problems = [] if is_same else [f"its dtype is {given.dtype}"]
        is_scalar = self.shape == ()
        declared = (1,) if is_scalar else self.shape
        if declared is not None:
            problems += self._misfits(declared, tuple(given.shape), lengths)
        if problems:
            raise OnnxError(f"input {self}", problems, given={"tensor": f"{tuple(given.shape)} {given.dtype}"})
        return Value(given, is_scalar)

    def _misfits(self, declared: Sequence[int | str], shape: tuple[int, ...], lengths: dict[str, int]) -> list[str]:
        if len(declared) != len(shape):
            return [f"its rank is {len(shape)}, and {len(declared)} is declared"]
        found = []
        for dim, (wanted, length) in enumerate(zip(declared, shape, strict=True)):
            if wanted == "?":
                continue
            needed = lengths.setdefault(wanted, length) if isinstance(wanted, str) else wanted
            if needed != length:
                why = f"{needed} is declared" if needed == wanted else f"{wanted} is {needed} in an input before it"
                found.append(f"dim {dim} is {length}, and {why}")
        return found


class OnnxModule(Module):
    """What `load` gives: a graph of nodes, and the parameters that they use. A node's name is its module path."""

    def __init__(
        self, graph: Graph, ports: Sequence[Port], device: Device[Any], opset: int, limits: Limits | None = None
    ) -> None:
        self.opset = opset
        self._graph = graph
        self._ports = list(ports)
        self._device = device
        self._limits = limits or Limits()
        for name, value in _moved_to(graph, device).items():
            if hasattr(OnnxModule, name) or name in vars(self):
                raise OnnxError(
                    f"initializer {name}", "a module has another use of this name", hint="give it another one"
                )
            setattr(self, name, value)

    def __repr__(self) -> str:
        inputs = ", ".join(map(repr, self._ports))
        return f"OnnxModule({len(self._graph.steps)} nodes, from {inputs} to {', '.join(self._graph.outputs)})"

    def forward(self, *inputs: Any) -> Result | tuple[Result, ...]:
        """The graph's output, or a tuple of its outputs.

        Args:
            inputs: a tensor for each of the graph's inputs, in their order. One of rank 0 has the shape (1,).

        Raises OnnxError for inputs that are not those that the graph declares, and for what its nodes cannot do.
        """
        return self.watched(inputs, None)

    def watched(self, inputs: Sequence[Any], watch: Any) -> Result | tuple[Result, ...]:
        """`forward`, with somebody who is told each step, the name of a value that it gave, and the value."""
        if len(inputs) != len(self._ports):
            wanted = ", ".join(map(repr, self._ports)) or "none"
            raise OnnxError("the model", f"it got {len(inputs)} inputs, and takes {len(self._ports)}: {wanted}")
        lengths: dict[str, int] = {}
        values = {port.name: port.value(one, lengths) for port, one in zip(self._ports, inputs, strict=True)}
        device = self._computes_on(inputs)
        run = Run(device, self._limits, watch)
        found = [result(moved(flow, device)) for flow in self._graph.run({**self._own_values(), **values}, run)]
        return found[0] if len(found) == 1 else tuple(found)

    @property
    def inputs(self) -> tuple[Port, ...]:
        """What it takes, in order: each has a name, a shape and a dtype."""
        return tuple(self._ports)

    @property
    def parts(self) -> dict[str, Param[Any, Any] | AnyTensor]:
        """Its parameters and tensors, by their names in the file, and its large constants."""
        large = {
            name: value.on(self._device).tensor for name, value in self._graph.constants.items() if is_large(value)
        }
        return {**{name: vars(self)[name] for name in self._graph.parts}, **large}

    def source(self) -> str:
        """The model as a program in Python, which defines ``class Model(Module)``; ``Model(module.parts)`` is this one.

        Raises OnnxError if it calls functions of its file.
        """
        return written(self._graph, [port.name for port in self._ports if port.shape == ()], self.opset)

    def _own_values(self) -> dict[str, Value]:
        """Its parameters and tensors, by the names that the nodes have for them."""
        scalars = self._graph.scalars
        parts = vars(self)
        found = {}
        for name in self._graph.parts:
            part = parts[name]
            found[name] = Value(part.val() if type(part) is Param else part, name in scalars)
        return found

    def _computes_on(self, inputs: Sequence[Any]) -> Device[Any]:
        """Where its tensors are: those that it gets, else its own."""
        for one in inputs:
            if isinstance(one, Tensor):
                return one.device
        for name in self._graph.parts:
            part = vars(self)[name]
            device: Device[Any] = (part.val() if isinstance(part, Param) else part).device
            return device
        return self._device


def _moved_to(graph: Graph, device: Device[Any]) -> dict[str, Param[Any, Any] | AnyTensor]:
    """Takes the floats of a graph out of its constants: parameters, and tensors that are not trained."""
    trained, fixed = floats_of(graph)
    parts: dict[str, Param[Any, Any] | AnyTensor] = {}
    scalars = set()
    for name in [name for name in graph.constants if name in trained or name in fixed]:
        value = graph.constants.pop(name)
        tensor = value.on(device).tensor if device is not HOST else value.tensor
        parts[name] = Param.from_tensor(tensor) if name in trained else tensor
        scalars |= {name} if value.is_scalar else set()
    graph.parts, graph.scalars = tuple(parts), frozenset(scalars)
    return parts


def floats_of(graph: Graph) -> tuple[set[str], set[str]]:
    """The names of float initializers that training changes, and of those that operators only read.

    What is read as numbers stays with the constants.
    """
    trained: set[str] = set()
    fixed: set[str] = set()
    for step in graph.steps:
        for at, name in enumerate(step.inputs):
            if name in graph.initial and graph.constants[name].is_float and at not in step.row.numbers:
                (fixed if at in step.row.fixed else trained).add(name)
    return trained - fixed, fixed


def _flow(given: Any) -> Flow:
    if isinstance(given, Tensor):
        return Value(given)
    return [_flow(each) for each in given] if isinstance(given, (list, tuple)) else None


def result(flow: Flow) -> Result:
    """What a program gets of a value: a tensor, a list of tensors, or None."""
    if isinstance(flow, Value):
        return flow.tensor
    return [result(each) for each in flow] if isinstance(flow, list) else None
