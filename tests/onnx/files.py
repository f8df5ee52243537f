"""Small models of ONNX, made node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="these tests need the extra onnx")
helper = onnx.helper
FLOAT, INT64, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL


def port(name: str, shape: Any = None, dtype: int = FLOAT) -> Any:
    """An input or an output; of one without a shape nothing is declared."""
    return helper.make_tensor_value_info(name, dtype, shape)


def node(operator: str, inputs: str = "x", outputs: str = "y", domain: str = "", **attributes: Any) -> Any:
    """Names are parted by spaces; - is an input that is left out."""
    names = ["" if name == "-" else name for name in inputs.split()]
    return helper.make_node(operator, names, outputs.split(), domain=domain, **attributes)


def constant(name: str, numbers: Any, dtype: Any = np.int64) -> Any:
    """An initializer."""
    return onnx.numpy_helper.from_array(np.asarray(numbers, dtype), name)


def graph(nodes: list[Any], inputs: list[Any], outputs: list[Any], tensors: Any = ()) -> Any:
    """A graph, of a model or in an attribute."""
    return helper.make_graph(nodes, "example", inputs, outputs, initializer=list(tensors))


def file_of(whole: Any, opset: int = 18, functions: Any = (), **domains: int) -> bytes:
    """The bytes of a model with this graph."""
    sets = [helper.make_opsetid("", opset), *[helper.make_opsetid(name, version) for name, version in domains.items()]]
    made = helper.make_model(whole, opset_imports=sets, functions=list(functions))
    return bytes(made.SerializeToString())


def dense(length: Any = "batch") -> bytes:
    """``softmax(relu(x @ w + b))`` of (length, 4), with names as PyTorch gives them."""
    random = np.random.default_rng(0)
    tensors = [constant("fc.weight", random.normal(size=(3, 4)), np.float32)]
    tensors.append(constant("fc.bias", random.normal(size=3), np.float32))
    nodes = [
        node("Gemm", "x fc.weight fc.bias", "h", name="/fc/Gemm", transB=1),
        node("Relu", "h", "r", name="/act/Relu"),
        node("Softmax", "r", "y", name="/out/Softmax", axis=1),
    ]
    return file_of(graph(nodes, [port("x", [length, 4])], [port("y", [length, 3])], tensors))
