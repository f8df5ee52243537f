"""Every operation, on every backend and decorator, against NumPy: values, dtype, shape and layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.backend.layouts import LAYOUTS, arguments, expected
from tests.backend.table import FLOAT_ROWS, ROWS, Row
from tests.support import SHAPE_BACKENDS, VALUE_BACKENDS, assert_close
from tinyburn import Device, Meta, NdArray, Traced
from tinyburn.backend.operations import OPERATIONS, composed_by

BOOL_RESULTS = {
    *("equal", "not_equal", "greater", "greater_equal", "lower", "lower_equal"),
    *("is_nan", "is_inf", "bool_not", "any", "all"),
}
DTYPE_ARGUMENT = {"cast": 1, "argmax": 2, "argmin": 2}


def dtype_of_result(row: Row, dtype: str) -> str:
    """No operation changes the dtype but comparisons, and those that are told to."""
    if row.name in BOOL_RESULTS:
        return "bool"
    if row.name in DTYPE_ARGUMENT:
        return str(row.args[DTYPE_ARGUMENT[row.name]])
    first = next(argument for argument in row.args if isinstance(argument, np.ndarray))
    return dtype if first.dtype.kind == "f" else first.dtype.name


def run(row: Row, device: Device[Any], layout: str = "contiguous", dtype: str = "float64") -> Any:
    primitives = arguments(row.args, device, layout, dtype)
    return getattr(device.backend, row.name)(*primitives)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_a_row(name: str) -> None:
    assert any(row.name == name for row in ROWS)


def test_every_row_names_an_operation() -> None:
    assert {row.name for row in ROWS} <= set(OPERATIONS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
@pytest.mark.parametrize("name", VALUE_BACKENDS)
def test_equals_numpy(name: str, row: Row) -> None:
    device = VALUE_BACKENDS[name].device()
    result = run(row, device)
    values = device.backend.to_numpy(result)
    wanted = expected(row, "float64")
    assert values.dtype.name == dtype_of_result(row, "float64")
    assert result.shape == wanted.shape
    assert result.dtype == values.dtype
    assert_close(values, wanted, values.dtype.name if values.dtype.kind == "f" else None)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("row", FLOAT_ROWS, ids=lambda row: row.id)
def test_keeps_a_narrower_dtype(row: Row, dtype: str) -> None:
    device = NdArray.device()
    values = device.backend.to_numpy(run(row, device, dtype=dtype))
    assert values.dtype.name == dtype_of_result(row, dtype)
    wanted = expected(row, dtype)
    if values.dtype.kind == "f":
        wanted = wanted.astype(values.dtype)
        assert_close(values, wanted, min(dtype, values.dtype.name, key=lambda name: int(name[5:])))
    else:
        assert_close(values, wanted)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_any_layout_gives_the_same_values(row: Row, layout: str) -> None:
    device = NdArray.device()
    assert_close(device.backend.to_numpy(run(row, device, layout)), expected(row, "float64"))


VIEWS = ("permute", "expand", "slice")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", [row for row in ROWS if row.name not in VIEWS], ids=lambda row: row.id)
def test_results_are_row_major(row: Row, layout: str) -> None:
    """What is no view is a new contiguous buffer; `cast` to the same dtype and `prod_dim` of one return the operand."""
    device = NdArray.device()
    primitives = arguments(row.args, device, layout)
    result = getattr(NdArray, row.name)(*primitives)
    if result is not primitives[0]:
        assert result.flags.c_contiguous


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", [row for row in ROWS if row.name in VIEWS], ids=lambda row: row.id)
def test_views_share_their_buffer(row: Row, layout: str) -> None:
    for name in ("NdArray", "Traced[NdArray]", "Autodiff[NdArray]"):
        device = VALUE_BACKENDS[name].device()
        primitives = arguments(row.args, device, layout)
        assert device.backend.shares_buffer(getattr(device.backend, row.name)(*primitives), primitives[0])


@pytest.mark.parametrize("name", ["NdArray", "Meta", "Traced[NdArray]", "Traced[Meta]"])
@pytest.mark.parametrize(("layout", "shared"), [("contiguous", True), ("permuted", False), ("sliced", False)])
def test_reshape_is_a_view_exactly_if_contiguous(name: str, layout: str, shared: bool) -> None:
    device = {**VALUE_BACKENDS, **SHAPE_BACKENDS}[name].device()
    (source,) = arguments((np.zeros((3, 4)),), device, layout)
    assert device.backend.shares_buffer(device.backend.reshape(source, (2, 6)), source) is shared


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_meta_knows_shape_dtype_and_sharing(row: Row, layout: str) -> None:
    results = []
    for device in (NdArray.device(), Meta.device()):
        primitives = arguments(row.args, device, layout)
        result = getattr(device.backend, row.name)(*primitives)
        tensors = [x for x in primitives if hasattr(x, "shape")]
        shared = [device.backend.shares_buffer(result, x) for x in tensors]
        results.append((tuple(result.shape), result.dtype, shared))
    assert results[0] == results[1]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_shapes_alone_write_the_same_log(row: Row, layout: str) -> None:
    """A prediction and a measurement are one program: the logs are equal event for event, frees included."""
    logs = []
    for backend in (Traced[NdArray], Traced[Meta]):
        device: Any = backend.device()
        run(row, device, layout)
        logs.append((device.log.events, device.log.names))
    assert logs[0] == logs[1]
    assert logs[0][0]


def test_meta_has_its_own_form_of_just_what_ndarray_has() -> None:
    assert [name for name in OPERATIONS if composed_by(Meta, name)] == [
        name for name in OPERATIONS if composed_by(NdArray, name)
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_operands_are_never_changed(row: Row) -> None:
    device = NdArray.device()
    primitives = arguments(row.args, device)
    before = [x.tobytes() if isinstance(x, np.ndarray) else x for x in primitives]
    getattr(NdArray, row.name)(*primitives)
    assert [x.tobytes() if isinstance(x, np.ndarray) else x for x in primitives] == before
