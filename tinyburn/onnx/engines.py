"""Whoever can run an ONNX model: tinyburn on a device, ONNX Runtime, and the reference evaluator of the package onnx.

Each gives all values that its nodes have computed, by their names, so that two of them can be compared node by node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, TypeAlias

import numpy as np

from tinyburn.backend import Device
from tinyburn.base.errors import BackendUnavailable, OnnxError
from tinyburn.tensor import Tensor

from .module import load
from .protos import onnx
from .values import Flow, Value, dtype_on

Numbers: TypeAlias = np.ndarray[Any, Any]


class Engine(Protocol):
    """Runs a model, and shows what its nodes give."""

    name: str

    def run(self, proto: Any, inputs: Sequence[Numbers]) -> dict[str, Numbers]:
        """The tensors that nodes of the main graph give, by name; a sequence is left out."""
        ...


class OnTinyburn:
    """tinyburn on a device."""

    def __init__(self, device: Device[Any]) -> None:
        self.device = device
        self.name = f"tinyburn on {device.backend.__name__}"

    def __repr__(self) -> str:
        return self.name

    def run(self, proto: Any, inputs: Sequence[Numbers]) -> dict[str, Numbers]:
        """See `Engine.run`."""
        module = load(proto.SerializeToString(), self.device)
        found: dict[str, Numbers] = {}

        def watch(step: object, name: str, flow: Flow) -> None:
            if isinstance(flow, Value):
                found[name] = flow.numbers(name)

        module.watched([tensor_of(each, self.device) for each in inputs], watch)
        return found


class OnRuntime:
    """ONNX Runtime on the CPU. Raises BackendUnavailable where it is not installed."""

    name = "ONNX Runtime"

    def __repr__(self) -> str:
        return self.name

    def run(self, proto: Any, inputs: Sequence[Numbers]) -> dict[str, Numbers]:
        """See `Engine.run`. It fuses nodes; here each one is an output, so none is."""
        if not find_spec("onnxruntime"):
            hint = 'pip install "tinyburn[onnx]"'
            raise BackendUnavailable("ONNX Runtime", "the package onnxruntime is not installed", hint=hint)
        runtime = import_module("onnxruntime")
        names = [name for node in proto.graph.node for name in node.output if name]
        wider = onnx().ModelProto()
        wider.CopyFrom(proto)
        there = {one.name for one in proto.graph.output}
        wider.graph.output.extend(onnx().ValueInfoProto(name=name) for name in names if name not in there)
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        try:
            session = runtime.InferenceSession(wider.SerializeToString(), options, providers=["CPUExecutionProvider"])
            results = session.run(names, dict(zip(_inputs(proto), inputs, strict=True)))
        except Exception as error:  # its own, of many classes
            raise OnnxError("ONNX Runtime", " ".join(str(error).split())[:300]) from error
        return _tensors(dict(zip(names, results, strict=True)))


class OnReference:
    """The reference evaluator of the package onnx, which is NumPy, and slow."""

    name = "the reference evaluator"

    def __repr__(self) -> str:
        return self.name

    def run(self, proto: Any, inputs: Sequence[Numbers]) -> dict[str, Numbers]:
        """See `Engine.run`."""
        evaluator = import_module("onnx.reference").ReferenceEvaluator(proto)
        try:
            found = evaluator.run(None, dict(zip(_inputs(proto), inputs, strict=True)), intermediate=True)
        except Exception as error:  # whatever NumPy raises
            raise OnnxError(self.name, " ".join(str(error).split())[:300]) from error
        given = {name for node in proto.graph.node for name in node.output}
        return _tensors({name: value for name, value in found.items() if name in given})


def _inputs(proto: Any) -> list[str]:
    initial = {one.name for one in proto.graph.initializer}
    return [one.name for one in proto.graph.input if one.name not in initial]


def _tensors(found: Mapping[str, Any]) -> dict[str, Numbers]:
    return {name: np.asarray(value) for name, value in found.items() if isinstance(value, (np.ndarray, np.generic))}


def tensor_of(numbers: Numbers, device: Device[Any]) -> Tensor[Any, Any, Any]:
    """The tensor for a NumPy array, of shape (1,) for one of rank 0."""
    dtype: Any = dtype_on(str(numbers.dtype), device)
    return Tensor.from_data(numbers.reshape(numbers.shape or (1,)), device, dtype)
