"""From the nodes of a file to a `Graph`: each node gets its row of the table, and every reason why one cannot is told.

Nothing is computed here but the constants. What a model asks for and does not get is collected, so that one error names
all of it: each operator with its node and version, each dtype that tinyburn has not, each name that nobody gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from tinyburn.base.errors import OnnxError

from .graph import Graph, Run, Step
from .older import converted
from .protos import TensorProto, attribute_value, dtype_of, numbers_of, onnx, read_external, read_proto
from .table import ALL, Row, check_opset, domain_of, row_of
from .values import Value, host

Proto: TypeAlias = Any
Refs: TypeAlias = Mapping[str, Any]

DEEPEST = 32
"""Graphs and functions in each other."""


def read_model(source: Any) -> Any:
    """The message of a model, with the numbers of all its tensors. Raises OnnxError if it cannot be read."""
    proto, folder = read_proto(source)
    read_external(proto, folder)
    return converted(proto)


class Reader:
    """Reads the graphs of one model.

    Attributes:
        problems: all reasons why the model cannot run, with their places.
    """

    def __init__(self, model: Proto) -> None:
        self.problems: list[str] = []
        self._functions = {(one.domain, one.name): one for one in model.functions}
        self._depth = 0

    def __repr__(self) -> str:
        return f"Reader({len(self.problems)} problems)"

    def graph(
        self, proto: Proto, opsets: Mapping[str, int], known: Iterable[str] = (), refs: Refs | None = None
    ) -> Graph:
        """A graph of the file, or one inside an attribute.

        Args:
            opsets: the version of each domain.
            known: names of the graphs around it, and of initializers that the caller has.
            refs: inside a function the attributes that its call gives.
        """
        outer = set(known)
        constants = {one.name: self._constant(one) for one in proto.initializer if one.name not in outer}
        inputs = [one.name for one in proto.input if one.name not in constants and one.name not in outer]
        outputs = [one.name for one in proto.output]
        return self._built(proto.node, opsets, inputs, outputs, constants, outer, refs or {})

    def _built(
        self,
        nodes: Any,
        opsets: Mapping[str, int],
        inputs: list[str],
        outputs: list[str],
        constants: dict[str, Value],
        outer: set[str],
        refs: Refs,
    ) -> Graph:
        self._depth += 1
        if self._depth > DEEPEST:
            raise OnnxError("the model", f"graphs and functions stand in each other more than {DEEPEST} deep")
        known = {*outer, *inputs, *constants}
        initial = frozenset(constants)
        steps = []
        for number, node in enumerate(nodes):
            path = path_of(node, number)
            self._check_names(node, path, known)
            step = self._step(node, path, opsets, known, refs)
            if step is not None and not self._is_constant(step, constants):
                steps.append(step)
            known.update(name for name in node.output if name)
        for name in outputs:
            if name not in known:
                self.problems.append(f"the graph's output {name} is given by no node")
        self._depth -= 1
        return Graph(steps, inputs, outputs, constants, initial)

    def _check_names(self, node: Proto, path: str, known: set[str]) -> None:
        for name in node.input:
            if name and name not in known:
                self.problems.append(f"{path}: it reads {name!r}, which no node before it gives: a cycle, or a gap")
        for name in node.output:
            if name in known:
                self.problems.append(f"{path}: it gives {name!r}, which is there already")

    def _step(self, node: Proto, path: str, opsets: Mapping[str, int], known: set[str], refs: Refs) -> Step | None:
        row = self._row(node, path, opsets, refs)
        if row is None:
            return None
        before = len(self.problems)
        attributes = {} if row.is_call else self._attributes(node, path, opsets, known, refs)
        inputs = list(node.input)
        while inputs and not inputs[-1]:
            inputs.pop()
        if not row.is_call:
            self.problems += [f"{path}: {problem}" for problem in row.problems(len(inputs), attributes)]
        return Step(path, row, inputs, node.output, attributes) if len(self.problems) == before else None

    def _row(self, node: Proto, path: str, opsets: Mapping[str, int], refs: Refs) -> Row | None:
        domain = domain_of(node.domain)
        function = self._functions.get((node.domain, node.op_type))
        if function is not None:
            return self._call(function, node, path, refs)
        if domain not in opsets:
            self.problems.append(f"{path}: the model names no operator set of the domain {domain or 'ai.onnx'}")
            return None
        row = row_of(domain, node.op_type, opsets[domain])
        if row is None:
            name = f"{domain}.{node.op_type}" if domain else node.op_type
            self.problems.append(f"{path}: there is no row for {name} of operator set {opsets[domain]}")
        return row

    # Functions of the file

    def _call(self, function: Proto, node: Proto, path: str, refs: Refs) -> Row:
        """A function of the file as a row, for one call: its attributes are put into its nodes."""
        opsets = opsets_of(function)
        given = {one.name: one for one in function.attribute_proto}
        given.update({one.name: refs[one.ref_attr_name] if one.ref_attr_name else one for one in node.attribute})
        outer: set[str] = set()
        graph = self._built(function.node, opsets, list(function.input), list(function.output), {}, outer, given)

        def call(*values: Any, run: Run) -> tuple[Any, ...]:
            padded = [*values, *[None] * (len(graph.inputs) - len(values))]
            return tuple(graph.run(dict(zip(graph.inputs, padded, strict=False)), run, {}))

        row = Row(function.name, 1, call, ALL, ())
        row.is_call = True
        return row

    # Attributes and constants

    def _attributes(
        self, node: Proto, path: str, opsets: Mapping[str, int], known: set[str], refs: Refs
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for given in node.attribute:
            one = refs.get(given.ref_attr_name) if given.ref_attr_name else given
            if one is None:
                continue  # a function's call leaves it out, so the operator's default holds
            try:
                value = attribute_value(one)
                if given.name in ("to", "dtype"):
                    dtype_of(value)
            except OnnxError as error:
                self.problems.append(f"{path}: attribute {given.name}: {error}")
                continue
            if isinstance(value, onnx().GraphProto):
                value = self.graph(value, opsets, known, refs)
            elif isinstance(value, np.ndarray):
                value = host(value)
            found[given.name] = value
        return found

    def _constant(self, tensor: TensorProto) -> Value:
        try:
            return host(numbers_of(tensor))
        except OnnxError as error:
            self.problems.append(f"initializer {tensor.name}: {error}")
            return host(np.zeros(0, np.float32))

    def _is_constant(self, step: Step, constants: dict[str, Value]) -> bool:
        """Whether a node is a constant, which is there from the start."""
        if step.row.name != "Constant":
            return False
        result = step.row.function(**step.attributes)
        constants[step.outputs[0]] = result
        return True


def opsets_of(proto: Proto) -> dict[str, int]:
    """The version of each domain that a model or a function names. Raises OnnxError for one that cannot be read."""
    opsets = {domain_of(one.domain): one.version for one in proto.opset_import}
    for domain, version in opsets.items():
        check_opset(domain, version)
    return opsets


def path_of(node: Proto, number: int) -> str:
    """A node's name, as modules have it: ``/conv1/Conv`` is ``conv1.Conv``. One without a name gets its number."""
    return node.name.strip("/").replace("/", ".") or f"{node.op_type}_{number}"


def check_dtypes(values: Iterable[Proto]) -> list[str]:
    """A problem for each input or output whose dtype tinyburn has not."""
    found = []
    for value in values:
        if value.type.HasField("tensor_type"):
            try:
                dtype_of(value.type.tensor_type.elem_type)
            except OnnxError as error:
                found.append(f"{value.name}: {error}")
    return found
