"""The dtypes that a backend lacks: each is refused in one clear error, wherever it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import BASES, EVERY_DTYPE, UnderTest, params
from tinyburn import Autodiff, Distribution, DTypeMismatch, RunConfig, Tensor, TensorData, Traced
from tinyburn.base.dtype import Float, to_dtype
from tinyburn.module.run import BACKENDS, backend_called

AROUND = [None, Autodiff, Traced]


def lacking(backends: list[UnderTest]) -> list[Any]:
    """For parametrize: each backend with each dtype that it lacks."""
    return [
        pytest.param(*on.values, dtype, id=f"{on.id}-{dtype}", marks=on.marks)
        for on in params(backends)
        for dtype in EVERY_DTYPE
        if not on.values[0].has(dtype)
    ]


def refuses(call: Callable[[], Any], dtype: str) -> None:
    """The error names the dtype, and the way out."""
    with pytest.raises(DTypeMismatch, match=rf"(?s)no {dtype}\b.*\n  hint: .*NdArray"):
        call()


EVERY_LACK = lacking([base if around is None else base.inside(around) for base in BASES for around in AROUND])


@pytest.mark.parametrize(("under_test", "dtype"), EVERY_LACK)
def test_no_tensor_is_made_in_it(under_test: UnderTest, dtype: str) -> None:
    device = under_test.device()
    refuses(lambda: Tensor.from_data(np.array([1, 0], dtype=dtype), device), dtype)
    refuses(lambda: Tensor.from_data(TensorData.from_values([1, 0], dtype), device), dtype)
    refuses(lambda: Tensor.from_data([1, 0], device, dtype), dtype)
    refuses(lambda: Tensor.full((2,), 1, device, dtype), dtype)
    refuses(lambda: Tensor.ones((2,), device, dtype), dtype)
    refuses(lambda: Tensor.eye(2, device, dtype), dtype)
    if to_dtype(dtype).kind is Float:
        refuses(lambda: Tensor.random((2,), Distribution.Default, device, dtype), dtype)


@pytest.mark.parametrize(("under_test", "dtype"), EVERY_LACK)
def test_no_tensor_is_cast_to_it(under_test: UnderTest, dtype: str) -> None:
    x = Tensor.ones((2,), under_test.device())
    refuses(lambda: x.cast(dtype), dtype)
    assert x.to_numpy().tolist() == [1, 1]


@pytest.mark.parametrize(("under_test", "dtype"), EVERY_LACK)
def test_no_device_has_it_as_its_default(under_test: UnderTest, dtype: str) -> None:
    option = "float_dtype" if to_dtype(dtype).kind is Float else "int_dtype"
    refuses(lambda: under_test.backend.device(**{option: dtype}), dtype)


@pytest.mark.parametrize(("under_test", "dtype"), lacking(BASES))
def test_no_tensor_moves_in_with_it(under_test: UnderTest, dtype: str) -> None:
    x = Tensor.ones((2,), BASES[0].device(), dtype)
    refuses(lambda: x.to_device(under_test.device()), dtype)


@pytest.mark.parametrize(("under_test", "dtype"), lacking(BASES))
def test_no_run_is_configured_with_it(under_test: UnderTest, dtype: str) -> None:
    name = next(name for name in BACKENDS if backend_called(name) is under_test.backend)
    if to_dtype(dtype).kind is Float:
        refuses(lambda: RunConfig(backend=name, precision=dtype).init(), dtype)


@pytest.mark.parametrize("base", params(BASES))
def test_the_default_dtypes_are_float32_and_the_widest_integer(base: UnderTest) -> None:
    for backend in (base.backend, base.inside(Autodiff).backend):
        device = backend.device()
        assert (device.float_dtype, device.int_dtype) == ("float32", base.int_dtype)
