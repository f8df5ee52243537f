"""Every operation of the interface, written as a file: ONNX Runtime computes what tinyburn computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.onnx.exported import DEVICE, Asks, assert_near, inputs_of, outputs_of, run_by_runtime
from tinyburn import onnx
from tinyburn.backend.conformance_cases import Case, cases
from tinyburn.backend.operations import OPERATIONS
from tinyburn.onnx.writing.rows.table import EXPORTS

pytest.importorskip("onnxruntime")

CASES = list(cases(DEVICE))
CASES += [
    Case("slice_assign", (np.zeros((2, 5)), (slice(0, 2, 1), slice(1, 4, 1)), np.ones((2, 3)))),
    Case("log1p", (np.array([1e-6, -1e-6, 0.25, 1e30]),)),
    Case("remainder", (np.array([5.0, -5.0, 6.0, -6.0]), np.array([3.0, 3.0, -3.0, -3.0]))),
    Case("argsort", (np.array([[2.0, 1.0, 2.0, 1.0]]), 1, True, DEVICE.int_dtype)),
]

LAST_BITS = {"gelu_backward", "log2", "log10", "hypot", "logcumsumexp", "atan2", "log1p"}
"""ONNX has no operator for these. The file has several in a row, which round more often than the one loop that NdArray
has for them."""


def test_each_operation_has_a_case() -> None:
    assert {case.operation for case in CASES} == set(OPERATIONS)


def test_what_only_a_backend_can_compute_has_a_row() -> None:
    assert {name for name, one in OPERATIONS.items() if not one.is_default} <= set(EXPORTS)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_runtime_computes_what_tinyburn_computes(case: Case, tmp_path: Path) -> None:
    module, inputs, path = Asks(case), inputs_of(case), tmp_path / "model.onnx"
    onnx.save(module, inputs, path, batch=None)
    assert_near(run_by_runtime(path, inputs), outputs_of(module, inputs))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_there_and_back_is_the_same(case: Case, tmp_path: Path) -> None:
    """Bit for bit, but for what ONNX has no operator for."""
    module, inputs, path = Asks(case), inputs_of(case), tmp_path / "model.onnx"
    onnx.save(module, inputs, path, batch=None)
    found, expected = outputs_of(onnx.load(path, DEVICE), inputs), outputs_of(module, inputs)
    if case.operation in LAST_BITS:
        assert_near(found, expected)
    else:
        np.testing.assert_array_equal(found, expected)
