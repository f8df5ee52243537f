"""Values outside any backend: TensorData, and how the values of a tensor leave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support import BASES, EVERY_DTYPE, NDARRAY, VALUE_BACKENDS, UnderTest, params, params_with_dtype, plain
from tinyburn import (
    BackendMismatch,
    Device,
    DTypeMismatch,
    Meta,
    NdArray,
    ShapeError,
    Tensor,
    TensorData,
    Traced,
)

# TensorData


def test_tensor_data_owns_its_values() -> None:
    mine = np.array([[1.0, 2.0], [3.0, 4.0]])
    data = TensorData.from_values(mine.T)
    mine[:] = 9
    assert data.to_list() == [[1.0, 3.0], [2.0, 4.0]]
    assert data.values.flags.c_contiguous
    assert not data.values.flags.writeable
    assert not np.shares_memory(TensorData.from_values(data).values, data.values)
    with pytest.raises(ValueError, match="read-only"):
        data.values[0, 0] = 1


def test_tensor_data_equality() -> None:
    base = TensorData.from_values([1.0, np.nan])
    assert base == TensorData.from_values([1.0, np.nan])
    assert base != TensorData.from_values([1.0, 2.0])
    assert base != TensorData.from_values([1.0, np.nan], "float32")
    assert TensorData.from_values([1.0]) != TensorData.from_values([[1.0]])
    assert TensorData.from_values(np.array([True])) != TensorData.from_values(np.array([1]))
    assert base != [1.0, np.nan]
    with pytest.raises(TypeError):
        hash(base)


def test_tensor_data_prints_and_converts() -> None:
    data = TensorData.from_values([[1, 2]], "int32")
    assert repr(data) == "TensorData([[1, 2]], shape=(1, 2), dtype=int32)"
    assert list(data) == [[1, 2]]
    assert np.asarray(data).dtype == np.int32
    assert (data.shape, data.dtype) == ((1, 2), "int32")


@pytest.mark.parametrize(("under_test", "dtype"), params_with_dtype(*EVERY_DTYPE))
def test_a_round_trip_is_equal(under_test: UnderTest, dtype: str) -> None:
    values = [[1.0, np.inf, np.nan, -0.0]] if dtype.startswith("float") else [[1, 0, 1, 1]]
    data = TensorData.from_values(values, dtype)
    again = Tensor.from_data(data, under_test.device()).into_data()
    assert again == data
    assert again.values.tobytes() == data.values.tobytes()


# Out of the framework


def test_values_leave_as_numpy(device: Device[Any]) -> None:
    x = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]], device)
    taken = x.to_numpy()
    assert (taken.dtype.name, taken.tolist()) == (device.float_dtype, [[1, 2], [3, 4]])
    assert x.transpose().to_numpy().tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize("under_test", params([one for one in VALUE_BACKENDS if one.backend.on_host]))
def test_numpy_reads_a_tensor_in_host_memory(under_test: UnderTest) -> None:
    device = under_test.device()
    x = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]], device)
    for taken in (np.asarray(x), np.array(x), np.from_dlpack(x)):
        assert (taken.dtype.name, taken.tolist()) == (device.float_dtype, [[1, 2], [3, 4]])
    assert np.asarray(x, dtype="float32").dtype == np.float32
    assert np.asarray(x.transpose()).tolist() == [[1, 3], [2, 4]]
    assert x.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("under_test", params([one for one in VALUE_BACKENDS if not one.backend.on_host]))
def test_numpy_is_refused_elsewhere(under_test: UnderTest) -> None:
    """It would be a copy from the GPU that nobody wrote."""
    x = Tensor.from_data([[1.0, 2.0]], under_test.device())
    for convert in (np.asarray, np.array, np.from_dlpack):
        with pytest.raises(BackendMismatch, match=r"to_numpy\(\)"):
            convert(x)


def test_a_conversion_that_may_not_copy_is_refused() -> None:
    """NumPy's protocol: ``copy=False`` means never; a tensor's own memory is never handed out."""
    with pytest.raises(ValueError, match="copy"):
        np.asarray(Tensor.ones((2,), plain()), copy=False)


def test_shapes_alone_have_no_values_to_read() -> None:
    x = Tensor.ones((2,), Meta.device())
    for call in (x.to_numpy, x.into_data, x.sum().into_scalar, lambda: np.asarray(x), lambda: bool(x.sum())):
        with pytest.raises(BackendMismatch):
            call()


def test_into_scalar_wants_one_element(device: Device[Any]) -> None:
    assert Tensor.full((1, 1), 2.5, device).into_scalar() == 2.5
    assert isinstance(Tensor.full((1,), 3, device, device.int_dtype).into_scalar(), int)
    assert bool(Tensor.ones((1,), device) > 0) is True
    for wrong in ((2,), (0,), (1, 2)):
        with pytest.raises(ShapeError, match="one element"):
            Tensor.ones(wrong, device).into_scalar()
        with pytest.raises(ShapeError):
            bool(Tensor.ones(wrong, device))


def test_iteration_is_refused_and_length_is_not() -> None:
    x = Tensor.ones((3, 2), plain())
    assert len(x) == 3
    for call in (lambda: list(x), lambda: [*x], lambda: sum(x)):
        with pytest.raises(DTypeMismatch, match=r"x\.to_numpy"):
            call()
    with pytest.raises(TypeError, match="iter"):
        assert 1.0 in x


@pytest.mark.parametrize("start", params([*BASES, NDARRAY.inside(Traced)]))
@pytest.mark.parametrize("end", params([*BASES, NDARRAY.inside(Traced)]))
def test_a_tensor_moves_from_any_backend_to_any(start: UnderTest, end: UnderTest) -> None:
    """The values, the dtype and the layout's meaning come along; where it came from is left as it was."""
    values = np.array([[1.0, np.nan, -0.0], [np.inf, 1e-3, 5.0]], dtype="float32")
    x = Tensor.from_data(values, start.device("float32"))
    moved = x.transpose().to_device(end.device("float32"))
    assert (moved.backend, moved.dtype) == (end.backend, "float32")
    assert moved.to_numpy().tobytes() == values.T.tobytes()
    assert x.to_numpy().tobytes() == values.tobytes()


def test_to_device_moves_between_backends() -> None:
    x = Tensor.from_data([1.0, 2.0], plain("float32"))
    moved: Any = x.to_device(Traced[NdArray].device())
    assert (moved.backend, moved.to_numpy().tolist(), moved.dtype) == (Traced[NdArray], [1.0, 2.0], "float32")
    assert x.to_device(plain()) is x
    assert x.to_device(Meta.device()).shape == (2,)
    with pytest.raises(BackendMismatch):
        Tensor.ones((1,), Meta.device()).to_device(plain())
