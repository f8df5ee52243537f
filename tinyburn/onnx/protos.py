"""What is read from the package onnx: messages of protobuf, their tensors and attributes, with our words for faults.

A number in a file is believed only after it has been held against the size of what is there.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tinyburn.base.errors import BackendUnavailable, OnnxError

TensorProto: TypeAlias = Any
Numbers: TypeAlias = np.ndarray[Any, Any]

LARGEST = 2**31 - 1
"""Bytes of a file, by protobuf; larger models keep their tensors in files beside it."""
FIELDS = {"FLOAT": "float_data", "DOUBLE": "double_data", "INT64": "int64_data"}
"""Where a tensor's numbers are, if they are not raw bytes; others are in ``int32_data``."""


def onnx() -> Any:
    """The package. Raises BackendUnavailable where it is not installed."""
    if not find_spec("onnx"):
        raise BackendUnavailable(
            "tinyburn.onnx", "the package onnx is not installed", hint='pip install "tinyburn[onnx]"'
        )
    return import_module("onnx")


DTYPES = {
    **{"FLOAT16": "float16", "FLOAT": "float32", "DOUBLE": "float64", "INT8": "int8", "INT16": "int16"},
    **{"INT32": "int32", "INT64": "int64", "UINT8": "uint8", "BOOL": "bool"},
}
"""The standard's words for dtypes that tinyburn has, and ours."""


def dtype_of(number: int) -> str:
    """Our name of a dtype, by the standard's number. Raises OnnxError for one that tinyburn has not."""
    kinds = onnx().TensorProto.DataType
    name = kinds.Name(number) if number in kinds.values() else f"number {number}"
    if name not in DTYPES:
        raise OnnxError(f"the dtype is {name}, and tinyburn has {', '.join(DTYPES)}")
    return DTYPES[name]


def number_of(dtype: str) -> int:
    """The standard's number of one of our dtypes."""
    word = next(word for word, ours in DTYPES.items() if ours == dtype)
    number: int = onnx().TensorProto.DataType.Value(word)
    return number


def read_proto(source: Any) -> tuple[Any, Path | None]:
    """The message of a file, and the folder of its other files; of bytes there are none.

    Raises OnnxError if it cannot be read, or is no model.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _parsed(bytes(source), "the bytes"), None
    path = Path(source)
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise OnnxError(f"{path}", f"it has {size} bytes, and a file of this kind has at most {LARGEST}")
        data = path.read_bytes()
    except OSError as error:
        raise OnnxError(f"{path}", error.strerror or str(error)) from error
    return _parsed(data, str(path)), path.parent


def _parsed(data: bytes, asked: str) -> Any:
    package = onnx()
    model = package.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:  # protobuf's own, of several classes
        raise OnnxError(asked, "it is no ONNX model, or damaged") from error
    if not model.graph.node and not model.graph.output:
        raise OnnxError(asked, "it is no ONNX model, or damaged: there is no graph in it")
    return model


# Tensors


def numbers_of(tensor: TensorProto) -> Numbers:
    """The numbers of a tensor. Raises OnnxError for a dtype that tinyburn has not, and for a size that is not so."""
    dtype = np.dtype(dtype_of(tensor.data_type))
    shape = tuple(tensor.dims)
    if any(length < 0 for length in shape):
        raise OnnxError(f"its shape is {shape}")
    if tensor.data_location == tensor.EXTERNAL:
        raise OnnxError("its numbers are in another file, and the model was given as bytes; give the path of the model")
    if tensor.HasField("raw_data"):
        needed, there = prod(shape) * dtype.itemsize, len(tensor.raw_data)
        if needed != there:
            raise OnnxError(f"its shape is {shape}, so it has {needed} bytes, and {there} are there")
        return np.frombuffer(tensor.raw_data, dtype.newbyteorder("<")).astype(dtype).reshape(shape)
    word = next(word for word, ours in DTYPES.items() if ours == dtype.name)
    given = getattr(tensor, FIELDS.get(word, "int32_data"))
    if len(given) != prod(shape):
        raise OnnxError(f"its shape is {shape}, so it has {prod(shape)} elements, and {len(given)} are there")
    if dtype == np.float16:
        return np.asarray(given, np.uint16).view(np.float16).reshape(shape)
    return np.asarray(given).astype(dtype).reshape(shape)


def read_external(model: Any, folder: Path | None) -> None:
    """Puts the numbers of other files into the model. Raises OnnxError for a file outside the model's folder."""
    for tensor in tensors_in(model.graph):
        if tensor.data_location != tensor.EXTERNAL:
            continue
        if folder is None:
            reason = "its numbers are in another file, and the model was given as bytes"
            raise OnnxError(f"initializer {tensor.name}", reason, hint="give the path of the model")
        tensor.raw_data = _external_bytes(tensor, folder)
        tensor.data_location = tensor.DEFAULT
        del tensor.external_data[:]


def _external_bytes(tensor: TensorProto, folder: Path) -> bytes:
    asked = f"initializer {tensor.name}"
    places = {entry.key: entry.value for entry in tensor.external_data}
    root = folder.resolve()
    path = (root / places.get("location", "")).resolve()
    if root not in path.parents:
        reason = f"its numbers would be in {places.get('location')!r}, which is not in the folder of the model"
        raise OnnxError(asked, reason, hint="put all files of the model into one folder")
    try:
        size = path.stat().st_size
        start = int(places.get("offset", 0))
        length = int(places["length"]) if "length" in places else size - start
        if min(start, length) < 0 or start + length > size:
            reason = f"{path.name} has {size} bytes, and its numbers would be at {start} to {start + length}"
            raise OnnxError(asked, reason)
        with path.open("rb") as file:
            file.seek(start)
            found: bytes = file.read(length)
            return found
    except (OSError, ValueError) as error:
        if isinstance(error, OnnxError):
            raise
        raise OnnxError(asked, f"{places}: {error}") from error


def tensors_in(graph: Any) -> list[TensorProto]:
    """All tensors of a graph, also those in attributes and in graphs inside it."""
    found = list(graph.initializer)
    waiting = [graph]
    while waiting:
        for node in waiting.pop().node:
            for attribute in node.attribute:
                found += [attribute.t] if attribute.HasField("t") else []
                found += attribute.tensors
                inner = [attribute.g] if attribute.HasField("g") else []
                for each in [*inner, *attribute.graphs]:
                    found += each.initializer
                    waiting.append(each)
    return found


def attribute_value(attribute: Any) -> Any:
    """What an attribute holds, in Python: numbers, a text, tuples of such, a NumPy array, or a graph's message."""
    package = onnx()
    kinds = package.AttributeProto
    if attribute.type == kinds.FLOAT:
        return float(attribute.f)
    if attribute.type == kinds.INT:
        return int(attribute.i)
    if attribute.type == kinds.STRING:
        return attribute.s.decode("utf-8", "replace")
    if attribute.type == kinds.TENSOR:
        return numbers_of(attribute.t)
    if attribute.type == kinds.GRAPH:
        return attribute.g
    if attribute.type == kinds.FLOATS:
        return tuple(map(float, attribute.floats))
    if attribute.type == kinds.INTS:
        return tuple(map(int, attribute.ints))
    if attribute.type == kinds.STRINGS:
        return tuple(one.decode("utf-8", "replace") for one in attribute.strings)
    if attribute.type == kinds.TYPE_PROTO:
        return " ".join(str(attribute.tp).split())
    name = (
        kinds.AttributeType.Name(attribute.type) if attribute.type in kinds.AttributeType.values() else attribute.type
    )
    raise OnnxError(f"it is of type {name}, which cannot be read")
