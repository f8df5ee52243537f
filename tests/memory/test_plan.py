"""`memory.plan`: what it takes, what it leaves alone, and that it allocates nothing."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.memory.allocator import count
from tests.memory.jobs import AnyTensor, Mlp, dense_block, train_mlp, training_step
from tinyburn import (
    Autodiff,
    BackendMismatch,
    BalancedCheckpointing,
    Device,
    Distribution,
    DTypeMismatch,
    Meta,
    NdArray,
    Tensor,
    Traced,
    nn,
)
from tinyburn.memory import MemoryReport, measure, plan

WIDTHS = [768, *[3072, 768] * 27]
PARAMETERS = sum(d_in * d_out + d_out for d_in, d_out in pairwise(WIDTHS))
"""27 pairs of layers as in a transformer: more than 124 million numbers."""


def large_step(device: Device[Any], batch: int) -> Any:
    model = Mlp(WIDTHS, lambda x: x, device)
    x, y = Tensor.zeros((batch, 768), device), Tensor.zeros((batch, 768), device)
    return nn.MseLoss()(model(x), y).backward()


def peak_of_python(work: Callable[[], Any]) -> int:
    """The most bytes that Python itself had more than before, by tracemalloc; NumPy's data is among them."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_a_model_of_124_million_parameters_is_planned_without_any_data() -> None:
    reports: list[MemoryReport] = []
    python_bytes = peak_of_python(lambda: reports.append(plan(large_step, 512)))
    assert PARAMETERS > 124_000_000
    assert reports[0].at_peak["parameter"] == 4 * PARAMETERS
    assert python_bytes < 9_437_184, "the log and the graph take less than the data of a single weight"


def test_no_numpy_buffer_is_made() -> None:
    """NumPy's own allocation handler sees nothing at all."""
    assert count(lambda counter: (plan(large_step, 64).peak_bytes > 0, counter.peak)) == (True, 0)


@pytest.mark.parametrize("precision", ["float16", "float32", "float64"])
def test_precision(precision: str) -> None:
    planned = plan(train_mlp, 8, precision=precision)
    measured = measure(train_mlp, Autodiff[NdArray].device(float_dtype=precision), 8)
    assert planned.events.events == measured.events.events


def test_a_precision_that_is_none() -> None:
    with pytest.raises(DTypeMismatch, match="int64"):
        plan(training_step, 8, precision="int64")
    with pytest.raises(DTypeMismatch, match="float31"):
        plan(training_step, 8, precision="float31")


@pytest.mark.parametrize(
    "backend",
    [
        NdArray,
        Meta,
        Traced[NdArray],
        Autodiff[NdArray],
        Autodiff[NdArray, BalancedCheckpointing],
        Autodiff[Traced[NdArray]],
        Autodiff[Autodiff[NdArray]],
    ],
    ids=lambda backend: backend.__name__,
)
def test_the_device_says_which_decorators_and_dtypes(backend: Any) -> None:
    device = backend.device(float_dtype="float64")
    job = training_step if backend.is_autodiff else dense_block
    assert plan(job, 16, device=device).events.events == measure(job, device, 16).events.events


def test_the_jobs_device_is_shapes_with_the_given_options() -> None:
    seen: list[Any] = []
    device = Autodiff[NdArray, BalancedCheckpointing].device(float_dtype="float16", int_dtype="int32")
    plan(lambda given, batch: seen.append(given), 1, device=device)
    assert seen[0].backend is Autodiff[Traced[Meta], BalancedCheckpointing]
    assert (seen[0].float_dtype, seen[0].int_dtype) == ("float16", "int32")


def test_the_given_device_is_left_alone() -> None:
    """Neither its log nor its random numbers move."""
    device: Any = Autodiff[Traced[NdArray]].device()
    device.seed(3)
    expected = Tensor.random((4,), Distribution.Default, device).to_numpy()
    device.seed(3)
    events = list(device.inner.log.events)
    plan(train_mlp, 4, device=device)
    assert device.inner.log.events == events
    assert (Tensor.random((4,), Distribution.Default, device).to_numpy() == expected).all()


def test_a_job_that_reads_values_cannot_be_planned() -> None:
    def job(device: Device[Any], batch: int) -> AnyTensor:
        x = Tensor.ones((batch,), device)
        return x if x.sum().into_scalar() > 0 else -x

    with pytest.raises(BackendMismatch, match="Meta"):
        plan(job, 4)


def test_the_job_may_return_anything() -> None:
    assert plan(lambda device, batch: [Tensor.ones((batch,), device), "text", None], 4).peak_bytes == 16
    assert plan(lambda device, batch: None, 4).peak_bytes == 0
