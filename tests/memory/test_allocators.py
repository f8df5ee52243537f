"""Simulated allocators: none at all for NumPy, Wgpu's against the real pool to the byte, and what a report says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.jobs import JOBS, AnyTensor, sized, train_mlp, training_step
from tests.memory.pools import SMALL, Program, bytes_of, free, programs, reserved_after
from tinyburn import Autodiff, ConfigError, Device, Meta, NdArray, Tensor, Wgpu, activation
from tinyburn.memory import MemoryReport, measure, plan, simulate
from tinyburn.memory.allocators import ALLOCATORS, Chunk, ShelfPool

WHY_NO_WGPU = Wgpu.why_unavailable()

needs_wgpu = pytest.mark.skipif(WHY_NO_WGPU is not None, reason=str(WHY_NO_WGPU))

WITH_MASKS = ["mlp with sigmoid", "cnn"]
"""Jobs that have tensors of bools, which Wgpu stores in four bytes each."""

WITHOUT_MASKS: dict[str, Any] = {"relu": activation.relu, "tanh": activation.tanh, "gelu": activation.gelu}


# No pool at all


@pytest.mark.parametrize("name", SMALL)
def test_numpy_keeps_nothing_and_rounds_nothing(name: str) -> None:
    job, batch = JOBS[name]
    report = plan(job, batch)
    peak = report.peak_bytes
    assert bytes_of(simulate(report, "ndarray")) == {"payload": peak, "padding": 0, "cached": 0, "reserved": peak}


def test_what_numpy_told_is_what_is_simulated() -> None:
    measured = measure(training_step, Autodiff[NdArray].device(), 16)
    assert simulate(measured, "ndarray").padding_bytes == measured.padding_bytes == 0


# Wgpu: by hand, and against the real pool


def test_each_size_has_its_own_shelf() -> None:
    """256 serves 200, for both round to 256; it does not serve 300, and 512 does not serve 256."""
    program: Program = [256, free(0), 200, 300, free(2), 100, free(3), 0, 512]
    assert reserved_after(ShelfPool(), program) == [256, 256, 256, 768, 768, 1024, 1024, 1024, 1024]


def test_the_training_step_on_shelves_by_hand() -> None:
    """At the peak: x has 512 B, y, the difference and g 256 each; W 128, b 16 and two scalars of 4 take 256 each.

    That is 512 + 3 * 256 of payload without padding, and four buffers of 256 for 128 + 16 + 4 + 4.
    """
    found = bytes_of(simulate(plan(training_step, 16), "wgpu"))
    assert found["payload"] == 512 + 3 * 256 + 128 + 16 + 4 + 4 == 1432
    assert found["padding"] == 4 * 256 - (128 + 16 + 4 + 4) == 872


def on_wgpu() -> Device[Any]:
    made: Any = Autodiff[Wgpu]
    device: Device[Any] = made.device()
    return device


@needs_wgpu
@pytest.mark.parametrize("name", [name for name in SMALL if name not in WITH_MASKS])
def test_the_real_pool_to_the_byte(name: str) -> None:
    """A run on the GPU, and a plan without one: the same padding, the same cache."""
    job, batch = JOBS[name]
    measured = measure(job, on_wgpu(), batch)
    assert bytes_of(simulate(measured, "wgpu")) == bytes_of(simulate(plan(job, batch), "wgpu")) == bytes_of(measured)


@needs_wgpu
@given(
    widths=st.lists(st.integers(1, 90), min_size=2, max_size=5),
    between=st.sampled_from(sorted(WITHOUT_MASKS)),
    batch=st.integers(1, 40),
    momentum=st.sampled_from([0.0, 0.9]),
)
def test_the_real_pool_for_any_mlp(widths: list[int], between: str, batch: int, momentum: float) -> None:
    job = sized(train_mlp, widths=tuple(widths), between=WITHOUT_MASKS[between], steps=2, momentum=momentum)
    measured = measure(job, on_wgpu(), batch)
    assert bytes_of(simulate(measured, "wgpu")) == bytes_of(measured)


@needs_wgpu
@given(programs())
def test_the_real_pool_after_each_step(program: Program) -> None:
    """Tensors made and dropped; the pool's own counters after each, from an empty pool."""
    device = Wgpu.device()
    device.memory_cleanup()
    start = _held(device)
    model = ShelfPool()
    tensors: list[Any] = []
    chunks: list[Chunk] = []
    for step in program:
        if isinstance(step, int):
            tensors.append(Tensor.zeros((step,), device))
            chunks.append(model.take(4 * step))
        else:
            tensors[int(step.split()[1])] = None
            model.give_back(chunks[int(step.split()[1])])
        in_use, reserved = (now - then for now, then in zip(_held(device), start, strict=True))
        assert (in_use, reserved) == (model.in_use, model.reserved)


def _held(device: Device[Any]) -> tuple[int, int]:
    """What a real pool has in use, rounded up, and what it has reserved."""
    usage: Any = device.memory_usage()
    return usage.bytes_in_use + usage.bytes_padding, usage.bytes_reserved


@needs_wgpu
def test_measuring_finds_an_empty_pool_each_time() -> None:
    """What a large job left is not the small one's, and a tensor from outside is nobody's padding."""
    device = on_wgpu()
    alone = bytes_of(measure(training_step, device, 16))
    kept = Tensor.zeros((3,), device)
    Tensor.zeros((100_000,), device)
    assert bytes_of(measure(training_step, device, 16)) == alone
    assert kept.shape == (3,)


@needs_wgpu
def test_a_bool_takes_four_bytes_which_no_log_says() -> None:
    """600 bools: the log says 600 B, which is 768 rounded; Wgpu stores 2 400, which is 2 560. The x has 2 400 too."""

    def job(device: Device[Any], batch: int) -> AnyTensor:
        return Tensor.zeros((batch,), device) > 1.0

    measured = measure(job, Wgpu.device(), 600)
    assert measured.peak_bytes == 2400 + 600
    assert measured.padding_bytes == (2560 - 2400) + (2560 - 600)
    assert simulate(measured, "wgpu").padding_bytes == (2560 - 2400) + (768 - 600)


@needs_wgpu
def test_a_buffer_inside_one_operation_is_in_no_log() -> None:
    """A sum over a long line keeps the sums of its parts for a moment. Only the cache can tell, later."""

    def job(device: Device[Any], batch: int) -> AnyTensor:
        return Tensor.zeros((batch,), device).sum()

    measured, simulated = (bytes_of(report) for report in _both(job, Wgpu.device(), 100_000))
    assert measured["padding"] == simulated["padding"]
    assert simulated["cached"] == 0 < (measured["cached"] or 0) < 100_000


def _both(job: Any, device: Device[Any], batch: int) -> tuple[MemoryReport, MemoryReport]:
    measured = measure(job, device, batch)
    return measured, simulate(measured, "wgpu")


# The report


@pytest.mark.parametrize("backend", ALLOCATORS)
def test_what_is_replaced_and_what_is_not(backend: str) -> None:
    report = measure(training_step, Autodiff[NdArray].device(), 16, count_nodes=True)
    found = simulate(report, backend)
    assert (found.peak_bytes, found.at_peak, found.peak_op) == (report.peak_bytes, report.at_peak, report.peak_op)
    assert {row.how for row in found.rows} == {"simulated"}
    assert [(row.name, row.bytes) for row in found.rows[2:]] == [(row.name, row.bytes) for row in report.rows[2:]]
    assert found.padding_bytes == found.rows[0].bytes


def test_what_nobody_counted_stays_not_measured() -> None:
    rows = {row.name: row for row in simulate(measure(training_step, Autodiff[NdArray].device(), 16), "cuda").rows}
    assert (rows["metadata"].bytes, rows["metadata"].how) == (None, "not measured")


@pytest.mark.parametrize("backend", ALLOCATORS)
@pytest.mark.parametrize("name", SMALL)
def test_nothing_is_negative_and_a_plan_says_the_same(name: str, backend: str) -> None:
    job, batch = JOBS[name]
    planned = bytes_of(simulate(plan(job, batch), backend))
    assert all(size is not None and size >= 0 for size in planned.values())
    assert bytes_of(simulate(measure(job, Autodiff[NdArray].device(), batch), backend)) == planned


def test_a_job_without_tensors() -> None:
    report = simulate(plan(lambda device, batch: None, 1), "cuda")
    assert bytes_of(report) == {"payload": 0, "padding": 0, "cached": 0, "reserved": 0}


def test_what_happens_after_the_job_is_not_the_job() -> None:
    """The log of a result that lives on grows: it is used, and then dropped."""
    results: list[AnyTensor] = []

    def job(device: Device[Any], batch: int) -> AnyTensor:
        results.append(Tensor.ones((batch,), device) * 2.0)
        return results[0]

    report = measure(job, Meta.device(), 100)
    before, events = simulate(report, "cuda").rows, len(report.events.events)
    results.append(results[0] + 1.0)
    results.clear()
    assert len(report.events.events) > events
    assert simulate(report, "cuda").rows == before


def test_a_backend_without_a_model() -> None:
    with pytest.raises(ConfigError, match="'meta'") as error:
        simulate(plan(training_step, 16), "meta")
    assert "ndarray, wgpu, cuda" in str(error.value)
