"""Every operation, on every backend and decorator, against NumPy: values, dtype, shape and layout."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from tests.backend.layouts import LAYOUTS, arguments, dtype_on, expected
from tests.backend.table import FLOAT_ROWS, ROWS, Row
from tests.support import BASES, TOLERANCE, VALUE_BACKENDS, UnderTest, assert_close, params
from tinyburn import Autodiff, Device, Traced
from tinyburn.backend import Backend
from tinyburn.backend.operations import OPERATIONS

VIEWS = [name for name, operation in OPERATIONS.items() if operation.view == "always"]

FIRST = {row.name: row.id for row in reversed(ROWS)}
"""The first row of each operation."""


def every_row(backends: list[UnderTest], rows: list[Row] = ROWS) -> pytest.MarkDecorator:
    """Each row on each backend that has the dtypes which the row names."""
    return pytest.mark.parametrize(
        ("under_test", "row"),
        [
            pytest.param(*on.values, row, id=f"{on.id}-{row.id}", marks=on.marks)
            for on in params(backends)
            for row in rows
            if on.values[0].has(*row.dtypes)
        ],
    )


def every_row_and_layout(backends: list[UnderTest], rows: list[Row] = ROWS) -> pytest.MarkDecorator:
    """`every_row` in each layout. In another than the common one only the first row of each operation is tried at once;
    the others have the mark `variants`."""
    return pytest.mark.parametrize(
        ("under_test", "row", "layout"),
        [
            pytest.param(
                *on.values, row, layout, id=f"{on.id}-{row.id}-{layout}", marks=[*on.marks, *_late(row, layout)]
            )
            for layout in LAYOUTS
            for on in params(backends)
            for row in rows
            if on.values[0].has(*row.dtypes)
        ],
    )


def _late(row: Row, layout: str) -> list[pytest.MarkDecorator]:
    return [] if layout == "contiguous" or row.id == FIRST[row.name] else [pytest.mark.variants]


def dtype_of_result(row: Row, device: Device[Any]) -> str:
    """What the declaration says: like the first tensor, truth values, or the dtype that is asked for."""
    operation = OPERATIONS[row.name]
    if operation.result == "bool":
        return "bool"
    if operation.result in ("index", "dtype"):
        return str(row.args[operation.parameters.index("dtype")])
    first = next(argument for argument in row.args if isinstance(argument, np.ndarray))
    return dtype_on(device, first)


def run(row: Row, device: Device[Any], layout: str = "contiguous") -> Any:
    return getattr(device.backend, row.name)(*arguments(row.args, device, layout))


def assert_right(row: Row, device: Device[Any], values: Any) -> None:
    """Within some rounding steps of the reference, in the dtype of the device or of the result, whichever is coarser.

    Integers and truth values, and what the result's own dtype cannot tell apart, are equal.
    """
    wanted = expected(row, str(device.float_dtype))
    tolerance = TOLERANCE[str(device.float_dtype)]
    if values.dtype.kind == "f":
        with np.errstate(all="ignore"):
            wanted = wanted.astype(values.dtype)
        tolerance = max(tolerance, TOLERANCE[values.dtype.name])
    assert_close(values, wanted, tolerance=tolerance)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_a_row(name: str) -> None:
    assert any(row.name == name for row in ROWS)


def test_a_backend_has_few_operations_to_write() -> None:
    assert sum(not operation.is_default for operation in OPERATIONS.values()) <= 65


def test_every_row_names_an_operation() -> None:
    assert {row.name for row in ROWS} <= set(OPERATIONS)


@every_row(VALUE_BACKENDS)
def test_equals_numpy(under_test: UnderTest, row: Row) -> None:
    device = under_test.device()
    result = run(row, device)
    values = device.backend.to_numpy(result)
    assert values.dtype.name == dtype_of_result(row, device)
    assert result.shape == values.shape
    assert result.dtype == values.dtype
    assert_right(row, device, values)


@pytest.mark.parametrize("float_dtype", ["float16", "float32"])
@every_row([base for base in BASES if base.has("float16", "float32", "float64")], FLOAT_ROWS)
def test_keeps_a_narrower_dtype(under_test: UnderTest, row: Row, float_dtype: str) -> None:
    device = under_test.device(float_dtype)
    values = device.backend.to_numpy(run(row, device))
    assert values.dtype.name == dtype_of_result(row, device)
    assert_right(row, device, values)


@every_row_and_layout(BASES)
def test_any_layout_gives_the_same_values(under_test: UnderTest, row: Row, layout: str) -> None:
    device = under_test.device()
    assert_right(row, device, device.backend.to_numpy(run(row, device, layout)))


@every_row_and_layout(BASES, [row for row in ROWS if row.name not in VIEWS])
def test_results_are_row_major(under_test: UnderTest, row: Row, layout: str) -> None:
    """What is no view is a new contiguous buffer; `cast` to the same dtype and `prod_dim` of one return the operand.

    Whether a primitive is contiguous shows on every backend by its reshape, which is a view only then.
    """
    device = under_test.device()
    primitives = arguments(row.args, device, layout)
    result = getattr(device.backend, row.name)(*primitives)
    if result is not primitives[0]:
        flat = device.backend.reshape(result, (prod(result.shape),))
        assert device.backend.shares_buffer(flat, result)


@every_row_and_layout([*BASES, *(base.inside(around) for base in BASES for around in (Traced, Autodiff))],
           [row for row in ROWS if row.name in VIEWS])  # fmt: skip
def test_views_share_their_buffer(under_test: UnderTest, row: Row, layout: str) -> None:
    device = under_test.device()
    primitives = arguments(row.args, device, layout)
    assert device.backend.shares_buffer(getattr(device.backend, row.name)(*primitives), primitives[0])


@pytest.mark.parametrize("around", [None, Traced], ids=["bare", "traced"])
@pytest.mark.parametrize("shapes_alone", [False, True], ids=["values", "shapes"])
@pytest.mark.parametrize(("layout", "shared"), [("contiguous", True), ("permuted", False), ("sliced", False)])
def test_reshape_is_a_view_exactly_if_contiguous(
    base: UnderTest, layout: str, shared: bool, shapes_alone: bool, around: Any
) -> None:
    under_test = base.shapes_alone() if shapes_alone else base
    device = (under_test.inside(around) if around else under_test).device()
    (source,) = arguments((np.zeros((3, 4)),), device, layout)
    assert device.backend.shares_buffer(device.backend.reshape(source, (2, 6)), source) is shared


@every_row_and_layout(BASES)
def test_meta_knows_shape_dtype_and_sharing(under_test: UnderTest, row: Row, layout: str) -> None:
    results = []
    for device in (under_test.device(), under_test.shapes_alone().device()):
        primitives = arguments(row.args, device, layout)
        result = getattr(device.backend, row.name)(*primitives)
        tensors = [x for x in primitives if hasattr(x, "shape")]
        shared = [device.backend.shares_buffer(result, x) for x in tensors]
        results.append((tuple(result.shape), result.dtype, shared))
    assert results[0] == results[1]


@every_row_and_layout(BASES)
def test_the_declaration_is_true(under_test: UnderTest, row: Row, layout: str) -> None:
    """The shape and the dtype of the result, and whether it is a view, are those that the operation's row names."""
    device = under_test.device()
    primitives = arguments(row.args, device, layout)
    operation, result = OPERATIONS[row.name], getattr(device.backend, row.name)(*primitives)
    assert operation.shape(*primitives) == tuple(result.shape)
    assert operation.dtype(primitives) == result.dtype
    if operation.view != "maybe" and not operation.is_default:  # a default may return its operand
        first = next(x for x in primitives if hasattr(x, "shape"))
        assert device.backend.shares_buffer(result, first) is (operation.view == "always")


@every_row_and_layout(BASES)
def test_shapes_alone_write_the_same_log(under_test: UnderTest, row: Row, layout: str) -> None:
    """A prediction and a measurement are one program: the logs are equal event for event, frees included."""
    logs = []
    for one in (under_test, under_test.shapes_alone()):
        device: Any = one.inside(Traced).device()
        run(row, device, layout)
        logs.append((device.log.events, device.log.names))
    assert logs[0] == logs[1]
    assert logs[0][0]


@pytest.mark.parametrize("name", OPERATIONS)
def test_backends_compose_what_the_interface_composes(base: UnderTest, name: str) -> None:
    """So a gradient that is right on one is right on all, and shapes alone write the log of every backend."""
    for backend in (base.backend, base.shapes_alone().backend):
        assert backend.composes(name) is (Backend.composes(name) and not OPERATIONS[name].fused)


@pytest.mark.parametrize("float_dtype", ["float16", "float32", "float64"])
@every_row([base for base in BASES if base.has("float16", "float32", "float64")])
def test_special_numbers_warn_nobody(under_test: UnderTest, row: Row, float_dtype: str) -> None:
    """Infinities, NaN, zeros and what is too large are values and no accidents. A warning is an error in our tests."""
    device = under_test.device(float_dtype)
    largest = float(np.finfo(float_dtype).max)
    special = np.array([np.inf, 0.0, -np.inf, np.nan, largest, -largest, -0.0])
    args = [np.resize(special, x.shape) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x for x in row.args]
    device.backend.to_numpy(getattr(device.backend, row.name)(*arguments(tuple(args), device)))


@every_row(BASES)
def test_operands_are_never_changed(under_test: UnderTest, row: Row) -> None:
    """Not even to another NaN: the bytes are compared."""
    device = under_test.device()
    primitives = arguments(row.args, device)
    tensors = [x for x in primitives if hasattr(x, "shape")]
    before = [device.backend.to_numpy(x).tobytes() for x in tensors]
    getattr(device.backend, row.name)(*primitives)
    assert [device.backend.to_numpy(x).tobytes() for x in tensors] == before
