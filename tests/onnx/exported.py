"""A module that asks the backend for one operation, and how a written file is run by ONNX Runtime and read again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.support import AnyTensor, Values
from tinyburn import Module, NdArray, Tensor
from tinyburn.backend.conformance_cases import Case
from tinyburn.onnx.writing.ports import tensors_in

DEVICE = NdArray.device()

TOLERANCE = 1e-5
"""Of ONNX Runtime, absolute and relative: float32 in another order."""


class Asks(Module):
    """A module that asks for one operation. Its inputs are the tensors among the arguments."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def forward(self, *tensors: Any) -> Any:
        waiting = [tensor.primitive for tensor in tensors]
        arguments = [waiting.pop(0) if isinstance(x, np.ndarray) else x for x in self.case.arguments]
        return tensors[0]._new(getattr(tensors[0].backend, self.case.operation)(*arguments))


def inputs_of(case: Case) -> tuple[AnyTensor, ...]:
    """The tensors among the arguments, in the dtypes of the device."""
    arrays = [x for x in case.arguments if isinstance(x, np.ndarray)]
    return tuple(Tensor.from_data(x.astype("float32") if x.dtype.kind == "f" else x, DEVICE) for x in arrays)


def outputs_of(module: Module, inputs: Sequence[Any]) -> list[Values]:
    """What a module gives, as arrays."""
    return [tensor.to_numpy() for tensor in tensors_in(module(*inputs)).values()]


def run_by_runtime(path: Path, inputs: Any) -> list[Values]:
    """What ONNX Runtime makes of a file, with as few of its own changes to the graph as it can be told."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    values = [tensor.to_numpy() for tensor in tensors_in(inputs).values()]
    names = [one.name for one in session.get_inputs()]
    found: list[Values] = session.run(None, dict(zip(names, values, strict=True)))
    return found


def assert_near(found: Sequence[Values], expected: Sequence[Values]) -> None:
    """Equal up to float32's rounding, with the same shapes and dtypes; NaN equals NaN."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
