"""`memory.measure`: the document's training step to the byte, every backend, and a job that fails."""

from __future__ import annotations

from typing import Any

import pytest

from tests.memory.allocator import Counter, count
from tests.memory.jobs import JOBS, AnyTensor, dense_block, named_training_step, train_mlp, training_step
from tests.support import BASES, NDARRAY, UnderTest, params
from tinyburn import Autodiff, Device, Distribution, Meta, Module, NdArray, Param, Tensor, Traced
from tinyburn.backend import Category
from tinyburn.base.scope import current_path
from tinyburn.memory import MemoryReport, measure
from tinyburn.memory.measure import find_log, read_report, traced_device
from tinyburn.memory.timeline import walk

PYTORCH_PEAK = 2456
"""Exact peak of PyTorch eager on the same step, of its own allocator."""

WEIGHTS = (8 * 4 + 4) * 4
DATA = (16 * 8 + 16 * 4) * 4
RESULT = 16 * 4 * 4  # one (16, 4) tensor


def autodiff() -> Device[Any]:
    return Autodiff[NdArray].device()


def test_training_step_peak_by_hand() -> None:
    """At the peak: weights, data, the saved difference, and g times twice it; the loss and its gradient."""
    report = measure(training_step, autodiff(), 16)
    assert report.peak_bytes == WEIGHTS + DATA + 2 * RESULT + 2 * 4 == 1432 <= 1700 < PYTORCH_PEAK
    assert report.at_peak == {
        "parameter": WEIGHTS,
        "input": DATA,
        "activation": RESULT,
        "temporary": RESULT + 2 * 4,
    }
    assert report.peak_op == "mul, the backward of pow"
    assert report.padding_bytes == 0


def test_a_named_prediction_adds_its_own_bytes() -> None:
    """A Python name keeps the prediction through the backward pass: (16, 4) float32 values, 256 bytes."""
    plain, named = (measure(job, autodiff(), 16) for job in (training_step, named_training_step))
    assert named.peak_bytes - plain.peak_bytes == RESULT == 256


def test_no_gradient_is_alive_at_the_peak() -> None:
    report = measure(training_step, autodiff(), 16)
    assert "gradient" not in report.at_peak
    assert max(totals[Category.GRADIENT] for _, _, totals in walk(report.events)) == WEIGHTS


@pytest.mark.parametrize("name", JOBS)
def test_categories_at_the_peak_add_up(name: str) -> None:
    job, batch = JOBS[name]
    report = measure(job, autodiff(), batch)
    assert sum(report.at_peak.values()) == report.peak_bytes
    assert report.peak_bytes == max(sum(totals) for _, _, totals in walk(report.events))
    assert all(report.at_peak.values())
    assert "unknown" not in report.at_peak


def test_the_large_step_of_the_design() -> None:
    """4096 by 512 to 256: the same sum as for the small step, and little more than half of PyTorch's 38 274 056."""
    report = measure(JOBS["training step, 26 MB"][0], autodiff(), 4096)
    weights, data, result = (512 * 256 + 256) * 4, 4096 * (512 + 256) * 4, 4096 * 256 * 4
    assert report.peak_bytes == weights + data + 2 * result + 2 * 4 == 21_496_840


def test_a_report_is_a_table() -> None:
    report = measure(training_step, autodiff(), 16)
    lines = str(report).splitlines()
    assert lines[0] == "Peak 1 432 B at mul, the backward of pow"
    assert [line.split(maxsplit=1) for line in lines[2:]] == [
        ["parameter", "144 B"],
        ["input", "768 B"],
        ["activation", "256 B"],
        ["temporary", "264 B"],
        ["peak", "1 432 B"],
        ["padding", "0 B"],
    ]


def test_reading_a_log_twice_gives_the_same_report() -> None:
    report = measure(training_step, autodiff(), 16)
    assert read_report(report.events, report.padding_bytes) == report


def test_what_was_not_measured_says_so() -> None:
    """Meta has no allocator, so nothing is known of its padding; None is not 0."""
    report = measure(training_step, Autodiff[Meta].device(), 16)
    assert report.padding_bytes is None
    assert "not measured" in str(report)
    assert report.peak_bytes == 1432


# On every kind of device


AROUND_EACH = [
    made
    for base in BASES
    for made in (base.inside(Autodiff), base.inside(Traced).inside(Autodiff), base.inside(Autodiff).inside(Autodiff))
]


@pytest.mark.parametrize("under_test", params([*AROUND_EACH, UnderTest(Autodiff[Meta])]))
def test_the_backend_does_not_change_the_ledger(under_test: UnderTest) -> None:
    expected = measure(training_step, autodiff(), 16)
    report = measure(training_step, under_test.backend.device(), 16)
    assert report.events.events == expected.events.events
    assert report.events.names == expected.events.names


@pytest.mark.parametrize("under_test", params([*BASES, NDARRAY.inside(Traced), UnderTest(Meta)]))
def test_without_autodiff(under_test: UnderTest) -> None:
    """Nothing is saved: X, W, b, the product and the sum, which becomes the output when the job returns it."""
    report = measure(dense_block, under_test.backend.device(), 16)
    assert report.peak_bytes == WEIGHTS + 16 * 8 * 4 + 2 * RESULT
    assert report.at_peak == {"parameter": WEIGHTS, "input": 16 * 8 * 4, "temporary": 2 * RESULT}
    assert max(totals[Category.OUTPUT] for _, _, totals in walk(report.events)) == RESULT


def test_second_derivatives_are_counted_too() -> None:
    """Both backward passes, against NumPy's allocation handler. The third power has second derivative 6 x."""

    def job(device: Device[Any], batch: int) -> AnyTensor:
        x = Tensor.ones((batch, 8), device).inner().require_grad()
        outer = Tensor.from_inner(x, device).require_grad()
        slope = outer.grad((outer * outer * outer).sum().backward())
        assert slope is not None
        second = x.grad(slope.sum().backward())
        assert second is not None
        return second

    device = traced_device(Autodiff[Autodiff[NdArray]].device())

    def work(counter: Counter) -> tuple[MemoryReport, int, float]:
        value = job(device, 16).to_numpy()
        return read_report(find_log(device), None), counter.peak, float(value.mean())

    report, true_peak, mean = count(work)
    assert mean == 6.0
    assert report.peak_bytes == pytest.approx(true_peak, abs=64, rel=0)


def test_an_already_traced_device_keeps_its_own_log() -> None:
    device = Autodiff[Traced[NdArray]].device()
    held = Tensor.ones((3,), device)
    before = list(find_log(device).events)
    measure(training_step, device, 16)
    assert find_log(device).events == before
    assert device.memory_usage().bytes_in_use == held.payload_bytes == 12


def test_dtype_and_random_numbers_are_those_of_the_device() -> None:
    device = Autodiff[NdArray].device(float_dtype="float64")
    seen: list[Any] = []

    def job(given: Device[Any], batch: int) -> None:
        given.seed(5)
        seen.append(Tensor.random((batch,), Distribution.Normal(0, 1), given).to_numpy())

    measure(job, device, 6)
    device.seed(5)
    expected = Tensor.random((6,), Distribution.Normal(0, 1), device).to_numpy()
    assert seen[0].dtype == expected.dtype == "float64"
    assert (seen[0] == expected).all()


# Jobs that return nothing, and jobs that fail


def test_a_job_that_makes_nothing() -> None:
    """Its log has the moment of return, and nothing else."""
    report = measure(lambda device, batch: None, autodiff(), 1)
    assert (report.peak_bytes, report.at_peak, report.peak_event) == (0, {}, -1)
    assert [report.events.names[event[1]] for event in report.events.events] == ["return"]


class _Failing(Module):
    def __init__(self, device: Device[Any]) -> None:
        self.weight = Param.from_tensor(Tensor.ones((4, 4), device))

    def forward(self, x: AnyTensor) -> AnyTensor:
        product = x @ self.weight.val()
        raise LookupError(f"in {current_path()}, with {product.shape}")


def test_the_error_of_a_job_comes_through_and_nothing_is_left_patched() -> None:
    device = autodiff()
    backends: list[Any] = [NdArray, Autodiff[NdArray], Traced[NdArray], Autodiff[Traced[NdArray]]]
    before = [dict(vars(backend)) for backend in backends]

    def job(given: Device[Any], batch: int) -> Any:
        return _Failing(given)(Tensor.ones((batch, 4), given))

    with pytest.raises(LookupError, match=r"in _failing, with \(2, 4\)"):
        measure(job, device, 2)
    assert [dict(vars(backend)) for backend in backends] == before
    assert current_path() == ""
    assert type(Tensor.ones((2,), device).primitive.primitive).__name__ == "ndarray"
    assert measure(training_step, device, 16).peak_bytes == 1432


def test_an_error_inside_a_backward_pass_leaves_the_phase_as_it_was() -> None:
    """The start gradient has the wrong shape; the log goes on in the forward phase."""
    device = traced_device(autodiff())
    x = Tensor.ones((2, 2), device).require_grad()
    with pytest.raises(ValueError, match="gradient"):
        (x * x).backward(gradient=Tensor.ones((1, 2), device.inner))
    assert find_log(device).phase == "forward"
    assert (x * x).sum().backward()


def test_measuring_does_not_change_what_a_job_computes() -> None:
    results: list[Any] = []

    def job(device: Device[Any], batch: int) -> None:
        device.seed(11)
        model = train_mlp(device, batch)
        results.append([param.val().to_numpy() for _, param in model.named_params()])

    measure(job, autodiff(), 16)
    job(autodiff(), 16)
    for traced, plain in zip(*results, strict=True):
        assert (traced == plain).all()
