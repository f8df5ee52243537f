"""Writing a module as an ONNX file: its forward pass, node by node, with the names of its parts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tinyburn import record
from tinyburn.backend import Device, NdArray
from tinyburn.base.errors import BackendMismatch, OnnxError, TinyburnError
from tinyburn.base.scope import Scope, leave, start
from tinyburn.module import Module, Param
from tinyburn.record.places import write
from tinyburn.tensor import Tensor

from . import exports as exports
from .exports.table import EXPORTS
from .lengths import Length
from .merging import Merger, Node
from .patterns import simplified
from .ports import AnyTensor, Example, tensors_in
from .protos import LARGEST, number_of, onnx
from .tracing import Call, Exported
from .writer import Edge, Writer

Place: TypeAlias = str | os.PathLike[str]
Message: TypeAlias = Any

OPSET, IR = 20, 9
"""The version of the operator set that is written, the first with Gelu, and of the file format that belongs to it."""

GIVEN = ("input", "parameter")
"""What no node makes."""


def save(
    module: Module,
    inputs: Any,
    path: Place,
    *,
    names: Sequence[str] | None = None,
    batch: str | None = "batch",
    batch_dims: Mapping[str, int] | None = None,
    golden: bool | Place = False,
) -> None:
    """Writes a module as an ONNX file, all at once or not at all. The same module is the same bytes.

    The forward pass is run without autodiff, as in ``module.valid()``: nothing is dropped, and statistics are the
    running ones. Parameters have their module paths as names, nodes the path of the module that asks for them. What
    depends on neither an input nor a parameter is computed now. tinyburn has no rank 0, so a loss has the shape (1,).

    Args:
        inputs: an example: a tensor, a tuple of what forward takes, or a dict by the names of its parameters. Tensors
            are found in tuples, lists, dicts and dataclasses; all else is fixed in the file.
        path: a file, or an address for fsspec, as in ``"s3://bucket/model.onnx"``.
        names: other names for the inputs than those of forward's parameters.
        batch: the name of the free batch dim; None for a file that takes the example's batch alone.
        batch_dims: the dim of the batch for each input that has it. By default it is dim 0 of the first input, and of
            each that is as long there.
        golden: also write the example's inputs and outputs, as a safetensors file: under another path, or with True
            beside the model, as ``model.golden.safetensors``.

    Raises:
        OnnxError: it cannot be written; all that is missing is named at once.
        BackendUnavailable: the package onnx is not installed.
    """
    onnx()  # before anything else: it may not be installed
    example = Example(module, inputs, names, batch_dims)
    if batch is None:
        example.fix()
    model = _model(module, example, batch or "batch")
    _check(model)
    data = model.SerializeToString(deterministic=True)
    expected = _golden(module, example, [one.name for one in model.graph.output]) if golden else None
    write(f"onnx.save({os.fspath(path)!r})", path, lambda draft: _put(draft, data), lambda: data)
    if expected is not None:
        beside = os.path.splitext(os.fspath(path))[0] + ".golden.safetensors"
        record.save(beside if golden is True else golden, expected)  # type: ignore[arg-type]  # it is not False


def _check(model: Message) -> None:
    """Raises OnnxError if the checker of the standard does not take the model."""
    checker = onnx().checker
    try:
        checker.check_model(model, full_check=True)
    except (checker.ValidationError, onnx().shape_inference.InferenceError) as error:
        words = " ".join(str(error).split())[:500]
        raise OnnxError("onnx.save", f"the model is not as the standard has it: {words}") from error


def _put(draft: str, data: bytes) -> None:
    Path(draft).write_bytes(data)


def _golden(module: Module, example: Example, names: Sequence[str]) -> dict[str, Any]:
    """The example's inputs and what the module makes of them, without autodiff."""
    found = example.call(_inside(module), lambda _, tensor: tensor.inner() if tensor.backend.is_autodiff else tensor)
    inputs = {port.name: port.tensor.to_numpy() for port in example.ports.values()}
    outputs = dict(zip(names, (tensor.to_numpy() for tensor in tensors_in(found).values()), strict=True))
    return {"inputs": inputs, "outputs": outputs}


def _inside(module: Module) -> Any:
    tensors = [value.val() if isinstance(value, Param) else value for _, value in module.named_values()]
    return module.valid() if any(tensor.backend.is_autodiff for tensor in tensors) else module


# The forward pass


class Passes:
    """Forward passes of one module on a device that keeps what is asked for.

    Attributes:
        parameters: the calls that stand for the parameters, by their names.
    """

    def __init__(self, module: Module, example: Example) -> None:
        self.device = _device_of(module, example)
        self.example = example
        self.parameters: dict[str, Call] = {}
        self._tensors = {path: self._constant(path, tensor) for path, tensor in module.named_tensors()}
        self.module = module.map(self._parameter).with_tensors(self._tensors)

    def __repr__(self) -> str:
        return f"Passes({type(self.module).__name__})"

    def _parameter(self, path: str, param: Param[Any, Any]) -> Param[Any, Any]:
        tensor = param.val()
        call = Call("parameter", (), tensor.shape, tensor.primitive.dtype, label=path)
        self.parameters[path] = call
        return Param(Tensor._around(call, self.device))

    def _constant(self, path: str, tensor: AnyTensor) -> AnyTensor:
        value = tensor.detach().to_numpy()
        return Tensor._around(Call("constant", (), value.shape, value.dtype, value, path), self.device)

    def run(self, batch: int | None) -> list[Call]:
        """The outputs for a batch; None for the example's."""
        ports = self.example.ports

        def given(inside: str, tensor: AnyTensor) -> AnyTensor:
            call = Call("input", (), ports[inside].shape(batch), tensor.primitive.dtype, label=ports[inside].name)
            return Tensor._around(call, self.device)

        token = start(Scope("", self.module))
        try:
            return self._calls(self.example.call(self.module.forward, given))
        except BackendMismatch as error:
            reason = (
                f"the forward pass reads the numbers of a tensor, and what it decides by them is in no file: {error}"
            )
            raise OnnxError("onnx.save", reason, hint="compute it with tensors, as in mask_where") from error
        finally:
            leave(token)

    def _calls(self, result: Any) -> list[Call]:
        tensors = tensors_in(result)
        if not tensors:
            raise OnnxError("onnx.save", f"forward returns {type(result).__name__}, in which there is no tensor")
        return [
            tensor.primitive if tensor.device == self.device else self._constant("", tensor).primitive
            for tensor in tensors.values()
        ]


def _device_of(module: Module, example: Example) -> Device[Any]:
    """A device that keeps calls, with the dtypes of the module's own."""
    tensors = [value.val() if isinstance(value, Param) else value for _, value in module.named_values()]
    tensors += [port.tensor for port in example.ports.values()]
    if not tensors:
        raise OnnxError("onnx.save", "the module has neither parameters nor inputs")
    home = tensors[0].device
    backend: Any = Exported[NdArray]
    device: Device[Any] = backend.device(float_dtype=str(home.float_dtype), int_dtype=str(home.int_dtype))
    return device


def _several_batches(passes: Passes) -> tuple[list[int], list[list[Call]]]:
    """The outputs for three batches: the example's and two others. A batch of 1 is none of them: it broadcasts."""
    port = passes.example.free
    if port is None or port.dim is None:
        return [0], [passes.run(None)]
    length = port.tensor.shape[port.dim]
    if not length:
        raise OnnxError("onnx.save", "the example's batch is empty", hint="give it one sample or more")
    first = passes.run(length)  # what it raises is not about the batch
    batches = [2, 3, 4] if length == 1 else [length, 2 * length, 3 * length]
    others = [_other_batch(passes, batch) for batch in batches if batch != length]
    return batches, others if length == 1 else [first, *others]


def _other_batch(passes: Passes, batch: int) -> list[Call]:
    try:
        return passes.run(batch)
    except TinyburnError as error:
        reason = f"with a batch of {batch} forward raises {type(error).__name__}: {error}"
        hint = "onnx.save(..., batch=None) keeps the example's batch; batch_dims= says which dims of which inputs it is"
        raise OnnxError("onnx.save: the batch is not free", reason, hint=hint) from error


# The file


def _model(module: Module, example: Example, symbol: str) -> Message:
    passes = Passes(module, example)
    batches, results = _several_batches(passes)
    if len({len(result) for result in results}) > 1:
        raise OnnxError("onnx.save", "forward returns another number of tensors for another batch")
    merger = Merger(batches)
    outputs = [merger.merged(calls) for calls in zip(*results, strict=True)]
    return File(module, example, symbol).model(outputs)


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
