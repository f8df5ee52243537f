"""Writing a module as an ONNX file: its forward pass, node by node, with the names of its parts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tinyburn import record
from tinyburn.base.errors import OnnxError
from tinyburn.module import Module, Param
from tinyburn.onnx.protos import onnx
from tinyburn.record.places import write

from . import rows as rows
from .file import File
from .merging import Merger
from .passes import Passes, several_batches
from .ports import Example, tensors_in

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


def _model(module: Module, example: Example, symbol: str) -> Message:
    passes = Passes(module, example)
    batches, results = several_batches(passes)
    if len({len(result) for result in results}) > 1:
        raise OnnxError("onnx.save", "forward returns another number of tensors for another batch")
    merger = Merger(batches)
    outputs = [merger.merged(calls) for calls in zip(*results, strict=True)]
    return File(module, example, symbol).model(outputs)
