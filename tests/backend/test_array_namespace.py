"""The file that NdArray and Cuda share, run on other modules of the standard: a habit of NumPy's alone fails here.

These stand-ins are tools of the tests. That they pass says nothing of Cuda's own code, nor of a GPU.
"""

from __future__ import annotations

import types
from typing import Any

import array_api_strict
import numpy as np
import pytest

from tests.backend.layouts import LAYOUTS, arguments, expected
from tests.backend.table import ROWS, Row
from tests.support import assert_close
from tinyburn import Device, DType, NdArray, Tensor, Traced
from tinyburn.backend import Backend
from tinyburn.backend.array_namespace import COMPOSED_BUT_STANDARD, STANDARD, ArrayNamespace
from tinyburn.backend.operations import OPERATIONS

ELEMENTWISE = {
    name: STANDARD.get(name, name)
    for name, operation in OPERATIONS.items()
    if (operation.elementwise and not operation.is_default and hasattr(array_api_strict, STANDARD.get(name, name)))
    or name in COMPOSED_BUT_STANDARD
}
"""The operations that the shared file takes from the standard, each with the standard's name."""

SHARED = [name for name in OPERATIONS if name in ELEMENTWISE or name in vars(ArrayNamespace)]
"""What the shared file has: its methods, and what it takes from the standard."""

OTHER_LAYOUTS = (
    "flip",
    "permute",
    "expand",
    "slice",
    "select",
    "argmax",
    "argmin",
    "sum_dims",
    "mean_dims",
    "max_dims",
    "min_dims",
)
"""Views, and what takes the layout of its operand in NumPy: NdArray's and Cuda's own versions see to that."""


class Strict(ArrayNamespace):
    """On ``array_api_strict``, which has nothing but the standard: no methods of NumPy's, no layouts, no float16."""

    xp = array_api_strict
    formats = {member: getattr(array_api_strict, member) for member in DType if member != "float16"}  # noqa: RUF012

    @classmethod
    def device(cls, which: Any = None, *, float_dtype: str = "float64", int_dtype: Any = "int64") -> Device[Strict]:
        return Device(cls, "strict", DType(float_dtype), DType(int_dtype))

    @staticmethod
    def from_numpy(values: Any, device: Any) -> Any:
        return array_api_strict.asarray(values)

    @staticmethod
    def to_numpy(a: Any) -> Any:
        return np.asarray(a)

    @staticmethod
    def _is_row_major(a: Any) -> bool:
        return bool(np.asarray(a).flags.c_contiguous)

    @staticmethod
    def _copy(a: Any) -> Any:
        return array_api_strict.asarray(np.array(np.asarray(a), order="C"))

    @staticmethod
    def _convert(a: Any, dtype: Any) -> Any:
        return Strict._copy(array_api_strict.astype(a, dtype))


def _standard_numpy() -> types.ModuleType:
    """NumPy with just those names that the shared file may use, and only the standard's arguments."""
    module = types.ModuleType("standard_numpy")
    for name in (*ELEMENTWISE.values(), "reshape", "permute_dims", "broadcast_to", "empty", "take", "argmax", "argmin"):
        setattr(module, name, getattr(np, name))
    module.argsort = lambda a, *, axis: np.argsort(a, axis=axis, stable=True)  # type: ignore[attr-defined]
    module.sum = lambda a, *, axis, dtype, keepdims: np.sum(a, axis=axis, dtype=dtype, keepdims=keepdims)  # type: ignore[attr-defined]
    module.max = lambda a, *, axis, keepdims: np.max(a, axis=axis, keepdims=keepdims)  # type: ignore[attr-defined]
    module.min = lambda a, *, axis, keepdims: np.min(a, axis=axis, keepdims=keepdims)  # type: ignore[attr-defined]
    return module


class Plain(ArrayNamespace):
    """On NumPy, by nothing but the shared file: what NdArray overrides for speed is not overridden here."""

    xp = _standard_numpy()
    device = Strict.device

    @classmethod
    def _elementwise(cls, standard: str) -> Any:
        function = super()._elementwise(standard)
        return lambda *operands: np.ascontiguousarray(function(*operands))

    @staticmethod
    def from_numpy(values: Any, device: Any) -> Any:
        return np.array(values, order="C")

    @staticmethod
    def to_numpy(a: Any) -> Any:
        return np.array(a, order="C")

    @staticmethod
    def full(shape: Any, value: Any, dtype: Any, device: Any) -> Any:
        return np.full(shape, value, dtype)

    @staticmethod
    def shares_buffer(a: Any, b: Any) -> bool:
        return NdArray.shares_buffer(a, b)


STAND_INS = {"strict": Strict, "plain": Plain}


def device_of(stand_in: type[Backend], float_dtype: str = "float64") -> Device[Any]:
    return Device(stand_in, "host", DType(float_dtype), DType.INT64)


def rows(*names: str) -> list[Row]:
    """The rows of some operations that name no dtype which the strict module lacks."""
    return [row for row in ROWS if row.name in names and "float16" not in row.dtypes]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", rows(*SHARED), ids=lambda row: row.id)
@pytest.mark.parametrize("name", STAND_INS)
def test_the_shared_file_is_right_on_any_module_of_the_standard(name: str, row: Row, layout: str) -> None:
    device = device_of(STAND_INS[name])
    with np.errstate(all="ignore"):
        result = getattr(device.backend, row.name)(*arguments(row.args, device, layout))
    assert_close(np.asarray(result), expected(row, "float64"), tolerance=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", rows(*(name for name in SHARED if name not in OTHER_LAYOUTS)), ids=lambda row: row.id)
def test_what_is_no_view_is_row_major(row: Row, layout: str) -> None:
    device = device_of(Plain)
    primitives = arguments(row.args, device, layout)
    with np.errstate(all="ignore"):
        result = getattr(Plain, row.name)(*primitives)
    assert result is primitives[0] or result.flags.c_contiguous


def test_reshape_copies_only_what_is_not_contiguous() -> None:
    device = device_of(Plain)
    for layout, shared in (("contiguous", True), ("permuted", False), ("sliced", False)):
        (source,) = arguments((np.zeros((3, 4)),), device, layout)
        assert Plain.shares_buffer(Plain.reshape(source, (2, 6)), source) is shared


def test_operands_are_never_changed() -> None:
    device = device_of(Plain)
    for row in rows(*SHARED):
        primitives = arguments(row.args, device)
        before = [x.tobytes() if isinstance(x, np.ndarray) else x for x in primitives]
        with np.errstate(all="ignore"):
            getattr(Plain, row.name)(*primitives)
        assert [x.tobytes() if isinstance(x, np.ndarray) else x for x in primitives] == before, row.id


def test_the_mean_of_float16_is_added_in_float32() -> None:
    """Ones and halves, whose sum is 6 144: a float16 that counts by halves stops at 1 024, and by ones at 2 048."""
    values = np.concatenate([np.ones(4096), np.full(4096, 0.5)]).astype("float16").reshape(1, 8192)
    mean = Plain.mean_dims(values, (1,))
    assert mean.dtype == "float16"
    assert mean.tolist() == [[0.75]]


def test_every_name_of_the_table_is_an_operation_and_in_the_standard() -> None:
    assert set(STANDARD) <= set(ELEMENTWISE)
    for name, standard in STANDARD.items():
        assert hasattr(array_api_strict, standard)
        assert standard != name


def test_a_subclass_keeps_what_it_defines() -> None:
    class Mine(NdArray):
        @staticmethod
        def add(a: Any, b: Any) -> Any:
            return "mine"

    assert Mine.add(1, 2) == "mine"
    assert Mine.sub is NdArray.sub
    assert Mine.round is NdArray.round


def test_a_default_is_composed_of_shared_operations() -> None:
    """The variance is a default, made of slice, sub, mean_dims and mul; each is an operation in a traced log."""
    device: Any = Traced[Plain].wrap_device(device_of(Plain))
    values = np.array([[1.0, 2.0], [4.0, 9.0], [0.5, -3.0]])
    x: Any = Tensor._around(device.backend.from_numpy(values, device), device)
    assert_close(x.var(0).to_numpy(), values.var(0, ddof=1, keepdims=True), tolerance=1e-12)
    assert {"slice", "sub", "mean_dims", "mul"} <= set(device.log.names)
