"""Values outside any backend: TensorData, and how the values of a tensor leave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support import plain
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


def test_a_round_trip_is_equal(backend: Any) -> None:
    for data in (TensorData.from_values([[1.0, np.inf]]), TensorData.from_values(np.array([True, False]))):
        assert Tensor.from_data(data, backend.device()).into_data() == data


# Out of the framework


def test_values_leave_as_numpy(device: Device[Any]) -> None:
    x = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]], device)
    for taken in (np.asarray(x), np.array(x), x.to_numpy(), np.from_dlpack(x)):
        assert (taken.dtype, taken.tolist()) == (np.float64, [[1, 2], [3, 4]])
    assert np.asarray(x, dtype="float32").dtype == np.float32
    assert np.asarray(x.transpose()).tolist() == [[1, 3], [2, 4]]
    assert x.__dlpack_device__() == (1, 0)


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
    assert isinstance(Tensor.full((1,), 3, device, "int64").into_scalar(), int)
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


def test_to_device_moves_between_backends() -> None:
    x = Tensor.from_data([1.0, 2.0], plain("float32"))
    moved: Any = x.to_device(Traced[NdArray].device())
    assert (moved.backend, moved.to_numpy().tolist(), moved.dtype) == (Traced[NdArray], [1.0, 2.0], "float32")
    assert x.to_device(plain()) is x
    assert x.to_device(Meta.device()).shape == (2,)
    with pytest.raises(BackendMismatch):
        Tensor.ones((1,), Meta.device()).to_device(plain())
