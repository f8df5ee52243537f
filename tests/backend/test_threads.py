"""Operations in several threads at once, on numbers that NumPy would warn about."""

from __future__ import annotations

import contextvars
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.support import AnyTensor, UnderTest, needs_threads
from tinyburn import Autodiff, Device, NdArray, Tensor, activation

HARD = [0.0, -1.0, np.inf, -np.inf, np.nan, 1e38]


def hard_step(device: Device[Any]) -> list[float]:
    """Overflow, division by zero, logarithms of negatives: values here, not accidents."""
    x: AnyTensor = Tensor.from_data(HARD, device).require_grad()
    y = (x * x / (x - x)).log() + x.exp().sqrt() + activation.softmax(x, 0) + x.sum().cast("float32")
    grads = (y + x.maximum(1e30) * 1e30).sum().backward()
    found: AnyTensor | None = x.grad(grads)
    assert found is not None
    values: list[float] = np.nan_to_num(found.to_numpy(), nan=7.0).tolist()
    return values


@needs_threads
def test_threads_do_not_disturb_each_other(base: UnderTest) -> None:
    device = base.inside(Autodiff).device("float32")
    expected = hard_step(device)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda _: [hard_step(device) for _ in range(20)], range(8)))
    assert all(result == expected for thread in results for result in thread)


def test_the_callers_own_error_state_is_left_alone() -> None:
    with np.errstate(all="raise"):
        before = np.geterr()
        hard_step(Autodiff[NdArray].device())
        assert np.geterr() == before
        with pytest.raises(FloatingPointError):
            np.divide(1.0, 0.0)


def test_operations_run_inside_another_context() -> None:
    """asyncio and executors run code in copied contexts; an operation must work in each."""
    device = Autodiff[NdArray].device()
    assert contextvars.copy_context().run(hard_step, device) == hard_step(device)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e300])
def test_no_operation_warns_about_a_number(value: float) -> None:
    """A number beyond the dtype becomes inf, as arithmetic in that dtype would make it."""
    device = NdArray.device()
    where = Tensor.from_data([True, False], device)
    index = Tensor.from_data(np.array([0, 0]), device)
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        x = Tensor.full((2,), value, device)
        opposite = Tensor.from_data([-value, value], device)
        x.mask_fill(where.bool(), value)
        x.scatter(0, index, opposite)
        x.select_assign(0, index, opposite)
        x.slice_assign(slice(0, 2), opposite)
        for dtype in ("float16", "float64", "int64", "bool"):
            x.cast(dtype)
    assert x.dtype == "float32"
