"""`memory.max_batch_size`: exact, by a real run's independent measure, and clear where there is no answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.allocator import count
from tests.memory.jobs import AnyTensor, sized, train_mlp, training_step
from tinyburn import Autodiff, BackendMismatch, ConfigError, Device, NdArray, Tensor, TinyburnError
from tinyburn.base.text import amount
from tinyburn.memory import JobError, max_batch_size, measure, plan

MIB = 2**20
dense_step = sized(training_step, d_in=512, d_out=256)


def true_peak(job: Any, batch: int) -> int:
    """Of a real run, by NumPy's own allocation handler; nothing of the ledger is in it."""
    device = Autodiff[NdArray].device()
    device.seed(0)

    def work(counter: Any) -> int:
        job(device, batch)
        peak: int = counter.peak
        return peak

    return count(work)


# The document's dense layer from 512 to 256, with 64 MiB


def test_the_answer_fits_and_one_more_does_not_for_real() -> None:
    found = max_batch_size(dense_step, 64 * MIB)
    assert found.batch_size == 13_004
    assert true_peak(dense_step, found.batch_size) <= 64 * MIB < true_peak(dense_step, found.batch_size + 1)
    assert true_peak(dense_step, found.batch_size) == pytest.approx(found.peak_bytes, abs=64, rel=0)
    assert true_peak(dense_step, found.batch_size + 1) == pytest.approx(found.next_peak_bytes, abs=64, rel=0)


def test_the_answer_by_hand() -> None:
    """Weights, then x, y and two results for each sample, and the loss with its gradient."""
    fixed, per_sample = (512 * 256 + 256) * 4 + 2 * 4, (512 + 256 + 2 * 256) * 4
    found = max_batch_size(dense_step, 64 * MIB)
    assert found.batch_size == (64 * MIB - fixed) // per_sample == 13_004
    assert (found.peak_bytes, found.next_peak_bytes) == tuple(fixed + per_sample * b for b in (13_004, 13_005))


def test_the_formula_and_what_it_would_really_take() -> None:
    """Fitted below the kink, it follows the line of another operation: its answer needs 83.1 MB.

    That line has the weights twice, for their gradients, with the loss, and x, y and g for each sample. What its
    answer needs is on the line of `test_the_answer_by_hand`.
    """
    assert (64 * MIB - 2 * (512 * 256 + 256) * 4 - 4) // ((512 + 256 + 256) * 4) == 16_127
    assert 525_320 + 5120 * 16_127 == 83_095_560
    found = max_batch_size(dense_step, 64 * MIB, formula_at=(100, 200))
    assert (found.formula_batch_size, found.formula_peak_bytes) == (16_127, 83_095_560)
    assert true_peak(dense_step, 16_127) == pytest.approx(83_095_560, abs=64, rel=0)
    assert max_batch_size(dense_step, 64 * MIB, formula_at=(600, 700)).formula_batch_size == found.batch_size


def test_the_kink_and_the_operations_on_both_sides() -> None:
    """1 050 628 B + 4096 B a sample and 525 320 B + 5120 B a sample meet at 525 308 / 1024 = 512.996 samples."""
    below, above = max_batch_size(dense_step, 64 * MIB).candidates[-2:]
    assert (below.last_batch, above.first_batch) == (512, 513)
    assert str(below.step) == "the backward of matmul"
    assert str(above.step) == "mul, the backward of pow"
    assert (below.per_sample, above.per_sample) == ((512 + 256 + 256) * 4, (512 + 256 + 2 * 256) * 4)
    assert plan(dense_step, 512).peak_bytes == below.bytes_at(512) > above.bytes_at(512)
    assert plan(dense_step, 513).peak_bytes == above.bytes_at(513) > below.bytes_at(513)
    assert [plan(dense_step, batch).peak_op for batch in (512, 513)] == [str(below.step), str(above.step)]


def test_the_text() -> None:
    lines = str(max_batch_size(dense_step, 64 * MIB, formula_at=(100, 200))).splitlines()
    assert lines[0] == "67 108 864 B available, 0 B of it in reserve"
    assert [line.split() for line in lines[2:5]] == [
        ["largest", "that", "fits", "13", "004", "67", "105", "800", "B"],
        ["one", "more", "13", "005", "67", "110", "920", "B"],
        ["by", "the", "formula", "16", "127", "83", "095", "560", "B"],
    ]
    assert "513 to 16127: 525 320 B + 5 120 B a sample, at mul, the backward of pow" in lines


# Any job


@given(
    widths=st.lists(st.integers(1, 30), min_size=2, max_size=4),
    momentum=st.sampled_from([0.0, 0.9]),
    room=st.integers(0, 30_000),
    reserve=st.integers(0, 500),
)
def test_any_mlp(widths: list[int], momentum: float, room: int, reserve: int) -> None:
    """By real runs at one batch size after the other; and the lines are the peak wherever it was planned."""
    job: Any = sized(train_mlp, widths=tuple(widths), momentum=momentum, steps=2)
    budget = real_peak(job, 1) + room
    found = max_batch_size(job, budget + reserve, reserve_bytes=reserve)
    best = 1
    while real_peak(job, best + 1) <= budget and best < 20:
        best += 1
    assert found.batch_size == best or (best == 20 and found.batch_size > 20)
    assert found.peak_bytes + reserve <= budget + reserve < found.next_peak_bytes + reserve
    for batch, peak in found.samples:
        (line,) = [line for line in found.candidates if line.first_batch <= batch <= line.last_batch]
        assert line.bytes_at(batch) == peak
        assert batch > 50 or peak == real_peak(job, batch)


def real_peak(job: Any, batch: int) -> int:
    """The ledger of a run with data."""
    return measure(job, Autodiff[NdArray].device(), batch).peak_bytes


def test_the_plan_is_the_measure() -> None:
    found = max_batch_size(train_mlp, 100_000)
    measured = [measure(train_mlp, Autodiff[NdArray].device(), found.batch_size + more).peak_bytes for more in (0, 1)]
    assert measured == [found.peak_bytes, found.next_peak_bytes]


def test_each_batch_size_is_planned_once() -> None:
    planned: list[int] = []

    def job(device: Device[Any], batch: int) -> Any:
        planned.append(batch)
        return training_step(device, batch)

    found = max_batch_size(job, 1_000_000, formula_at=(4, 8))
    assert len(planned) == len(set(planned))
    assert found.samples == tuple((batch, plan(training_step, batch).peak_bytes) for batch in sorted(planned))


def test_lines_tell_the_answer_and_two_plans_prove_it() -> None:
    """Planned are the formula's two batch sizes and its answer, the largest that fits, and one more."""
    for job in (training_step, train_mlp, dense_step):
        found = max_batch_size(job, 10 * MIB)
        wanted = {1, 2, found.formula_batch_size, found.batch_size, found.batch_size + 1}
        assert {batch for batch, _ in found.samples} == wanted


def with_bytes(sizes: list[int]) -> Any:
    """A job with so many kB for a batch of 1, of 2 and so on; larger batches have a MB a sample."""

    def job(device: Device[Any], batch: int) -> AnyTensor:
        rows = sizes[batch - 1] if batch <= len(sizes) else 1000 * batch
        return Tensor.ones((rows, 250), device)

    return job


@given(st.lists(st.integers(0, 300), min_size=1, max_size=40), st.integers(0, 300), st.integers(1, 60))
def test_lines_that_mislead(sizes: list[int], budget: int, at_most: int) -> None:
    """The bytes of a job that grows as it likes, and of one that even shrinks."""
    for kilobytes in (sorted(sizes), sizes):
        job, need = with_bytes(kilobytes), [size for size in kilobytes if size > budget]
        if kilobytes[0] > budget or (not need and len(kilobytes) >= at_most):
            continue
        found = max_batch_size(job, 1000 * budget, at_most=at_most)
        assert found.peak_bytes == plan(job, found.batch_size).peak_bytes <= 1000 * budget
        assert found.batch_size == at_most or found.next_peak_bytes > 1000 * budget
        if kilobytes == sorted(kilobytes):
            assert found.batch_size == min(at_most, len(kilobytes) - len(need))


def test_a_way_that_changes_in_the_middle() -> None:
    """From 50 samples on the job keeps one result more: the lines of the small batches foretell too much."""

    def job(device: Device[Any], batch: int) -> AnyTensor:
        x = Tensor.ones((batch, 250), device)
        return x if batch < 50 else x.exp() + x

    for budget, answer in ((40_000, 40), (60_000, 49), (300_000, 100)):
        found = max_batch_size(job, budget)
        assert (found.batch_size, found.peak_bytes) == (answer, plan(job, answer).peak_bytes)
        assert len(found.samples) < 16


def test_a_reserve_is_a_smaller_budget() -> None:
    kept, less = max_batch_size(dense_step, 64 * MIB, reserve_bytes=14 * MIB), max_batch_size(dense_step, 50 * MIB)
    assert (kept.batch_size, kept.peak_bytes) == (less.batch_size, less.peak_bytes)
    assert (kept.available_bytes, kept.reserve_bytes) == (64 * MIB, 14 * MIB)
    assert kept.formula_batch_size == less.formula_batch_size


def test_a_budget_of_exactly_the_peak_fits() -> None:
    peak = plan(dense_step, 100).peak_bytes
    assert max_batch_size(dense_step, peak).batch_size == 100
    assert max_batch_size(dense_step, peak - 1).batch_size == 99


def test_the_device_says_the_precision_and_the_decorators() -> None:
    double = Autodiff[NdArray].device(float_dtype="float64")
    found = max_batch_size(dense_step, 64 * MIB, device=double)
    assert plan(dense_step, found.batch_size, precision="float64").peak_bytes == found.peak_bytes
    assert found.batch_size == (64 * MIB - 2 * 525_320) // (2 * 5120) < 13_004 / 2


def test_a_job_whose_bytes_bend() -> None:
    """A batch times itself: (B, 8) @ (8, B). Exact all the same, but no straight line tells it."""

    def job(device: Device[Any], batch: int) -> AnyTensor:
        x = Tensor.ones((batch, 8), device)
        return x @ x.transpose()

    found = max_batch_size(job, 1_000_000)
    fitting = [batch for batch in range(1, 1000) if 4 * (8 * batch + batch * batch) <= 1_000_000]
    assert found.batch_size == fitting[-1]
    assert found.candidates == ()


# No answer


def failure_of(job: Any, budget: int, **options: Any) -> str:
    with pytest.raises(JobError) as caught:
        max_batch_size(job, budget, **options)
    assert isinstance(caught.value, TinyburnError)
    return str(caught.value)


def test_no_sample_fits() -> None:
    need = plan(dense_step, 1).peak_bytes
    text = failure_of(dense_step, need + 9, reserve_bytes=10)
    assert "batch of 1 needs 1 053 700 B at the backward of matmul" in text
    assert "1 B more" in text


def test_a_job_that_does_not_grow() -> None:
    text = failure_of(lambda device, batch: Tensor.ones((3, 3), device) * 2.0, MIB)
    assert "does not grow with its batch" in text
    assert "72 B" in text
    assert "does not grow" in failure_of(lambda device, batch: None, MIB)


def test_a_job_that_grows_slowly_is_not_one_that_does_not_grow() -> None:
    """A large constant hides a batch that would need far more samples to show: the search stops, and says so."""

    def job(device: Device[Any], batch: int) -> Any:
        table = Tensor.ones((1000, 1000), device) * 2.0
        del table
        return Tensor.ones((batch,), device)

    found = max_batch_size(job, 10 * MIB, at_most=1000)
    assert (found.batch_size, found.peak_bytes, found.formula_batch_size) == (1000, 8_000_000, None)
    assert "at_most = 1000" in found.limits[0]


def test_a_job_that_always_fails() -> None:
    def job(device: Device[Any], batch: int) -> Any:
        raise LookupError("no data")

    text = failure_of(job, MIB)
    assert "fails with a batch of 1: LookupError: no data" in text


def test_a_job_that_reads_values_says_why() -> None:
    with pytest.raises(JobError) as caught:
        max_batch_size(lambda device, batch: Tensor.ones((batch,), device).to_numpy(), MIB)
    assert isinstance(caught.value.__cause__, BackendMismatch)
    assert "reads values cannot be planned" in str(caught.value)


def with_rows(rows: int) -> Any:
    """A data set of so many rows: no batch can be larger."""

    def job(device: Device[Any], batch: int) -> AnyTensor:
        return Tensor.ones((rows, 8), device).narrow(0, 0, batch) * 2.0

    return job


@pytest.mark.parametrize("rows", [1, 2, 63, 64, 65, 100])
def test_the_smallest_batch_that_fails_is_named(rows: int) -> None:
    """Where memory would allow more: what limits the batch is not memory."""
    text = failure_of(with_rows(rows), MIB)
    assert f"fails with a batch of {rows + 1}: " in text
    assert "ShapeError" in text
    assert f"a batch of {rows} works and fits, with {amount(2 * rows * 8 * 4)}" in text


@pytest.mark.parametrize("fitting", [1, 30, 63, 64, 98])
def test_a_job_that_fails_only_where_it_would_not_fit_either(fitting: int) -> None:
    budget = plan(with_rows(100), fitting).peak_bytes
    found = max_batch_size(with_rows(100), budget, formula_at=(1000, 2000))
    assert found.batch_size == fitting
    assert found.formula_batch_size is None


def test_a_formula_that_answers_with_a_batch_that_fails() -> None:
    """Exactly 99 of 100 rows fit. The formula, right here, is asked at a kink-free line: it agrees."""
    found = max_batch_size(with_rows(100), plan(with_rows(100), 99).peak_bytes)
    assert (found.formula_batch_size, found.formula_peak_bytes) == (99, found.peak_bytes)


def test_a_formula_whose_line_does_not_reach_one_sample() -> None:
    """Two batch sizes far above the kink give a line that is too low for the small ones."""
    found = max_batch_size(dense_step, plan(dense_step, 1).peak_bytes, formula_at=(1000, 2000))
    assert found.batch_size == 1
    assert found.formula_batch_size == (plan(dense_step, 1).peak_bytes - 525_320) // 5120


# Limits that are not memory


def test_the_search_stops_where_it_is_told() -> None:
    found = max_batch_size(training_step, 64 * MIB, at_most=1000)
    assert (found.batch_size, len(found.limits)) == (1000, 1)
    assert "at_most = 1000" in found.limits[0]
    assert max_batch_size(training_step, 64 * MIB, at_most=1).batch_size == 1
    assert max_batch_size(dense_step, 64 * MIB).limits == ()


def test_an_answer_at_the_very_end_is_no_stop() -> None:
    assert max_batch_size(dense_step, 64 * MIB, at_most=13_004).limits == ()
    assert max_batch_size(dense_step, 64 * MIB, at_most=13_004).batch_size == 13_004


def test_a_buffer_too_large_for_a_webgpu_binding() -> None:
    """x of 512 floats a sample: 128 MiB are 65 536 samples."""
    assert max_batch_size(dense_step, plan(dense_step, 65_536).peak_bytes).limits == ()
    (limit,) = max_batch_size(dense_step, plan(dense_step, 65_537).peak_bytes).limits
    assert "134 219 776 B" in limit
    assert "WebGPU" in limit


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"available_bytes": -1}, ["available_bytes", "-1"]),
        ({"reserve_bytes": -2}, ["reserve_bytes", "-2"]),
        ({"formula_at": (3, 3)}, ["formula_at", "(3, 3)"]),
        ({"formula_at": (0, 3)}, ["formula_at", "(0, 3)"]),
        ({"at_most": 0}, ["at_most", "0"]),
        ({"at_most": 0, "available_bytes": -1}, ["at_most", "available_bytes"]),
    ],
)
def test_arguments_that_make_no_sense(options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        max_batch_size(training_step, **{"available_bytes": MIB, **options})
    assert all(word in str(caught.value) for word in words)
