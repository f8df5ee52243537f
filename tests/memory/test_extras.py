"""The rows beside the categories: each says how it is known, or that it is not."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from tests.memory.jobs import JOBS, AnyTensor, train_mlp, training_step
from tinyburn import Autodiff, Device, Meta, NdArray, Tensor
from tinyburn.backend import MemoryUsage
from tinyburn.memory import MemoryReport, Row, measure, plan
from tinyburn.memory.extras import cached_bytes, padding_bytes

NAMES = ["padding", "cached", "metadata", "gradient storage", "staging"]
SMALL = [name for name in JOBS if "MB" not in name]


def rows_of(report: MemoryReport) -> dict[str, Row]:
    return {row.name: row for row in report.rows}


def autodiff() -> Device[Any]:
    return Autodiff[NdArray].device()


@pytest.mark.parametrize("name", SMALL)
def test_what_was_not_measured_has_no_number(name: str) -> None:
    job, batch = JOBS[name]
    for report in (measure(job, autodiff(), batch), plan(job, batch)):
        assert [row.name for row in report.rows] == NAMES
        assert all((row.bytes is None) == (row.how == "not measured") for row in report.rows)


def test_how_each_is_known() -> None:
    """NumPy pads nothing, and its device says so; whether it caches, nobody has counted."""
    measured = rows_of(measure(training_step, autodiff(), 16))
    planned = rows_of(plan(training_step, 16, count_nodes=True))
    counted = rows_of(measure(training_step, autodiff(), 16, count_nodes=True))
    assert [measured[name].how for name in NAMES] == [
        "measured",
        "not measured",
        "not measured",
        "measured",
        "measured",
    ]
    assert [planned[name].how for name in NAMES] == ["not measured", "not measured", *["simulated"] * 3]
    assert counted["metadata"].how == "measured"
    assert measured["padding"] == Row("padding", 0, "measured")


def test_measuring_on_shapes_is_simulating() -> None:
    rows = rows_of(measure(training_step, Autodiff[Meta].device(), 16, count_nodes=True))
    assert {row.how for row in rows.values()} == {"simulated", "not measured"}


# Metadata


def test_metadata_by_hand() -> None:
    """At the peak exp has its result, and x and its double are alive: the nodes are the leaf, mul and exp."""

    def job(device: Device[Any], batch: int) -> AnyTensor:
        x = Tensor.ones((batch,), device).require_grad()
        return (x * 2.0).exp()

    # Two words of header and ten fields; a 64-bit Python itself says the same, give or take its collector's words.
    size = 8 * (2 + 10)
    assert abs(sys.getsizeof((Tensor.ones((1,), autodiff()).require_grad() * 2.0).primitive.node) - size) <= 32
    assert rows_of(plan(job, 4, count_nodes=True))["metadata"] == Row("metadata", 3 * size, "simulated")
    assert rows_of(measure(job, autodiff(), 4, count_nodes=True))["metadata"] == Row("metadata", 3 * size, "measured")


@pytest.mark.parametrize("name", SMALL)
def test_metadata_is_simulated_as_it_is_measured(name: str) -> None:
    job, batch = JOBS[name]
    measured = rows_of(measure(job, autodiff(), batch, count_nodes=True))["metadata"]
    assert rows_of(plan(job, batch, count_nodes=True))["metadata"].bytes == measured.bytes


def test_another_graph_is_not_counted() -> None:
    before = rows_of(plan(training_step, 16, count_nodes=True))["metadata"]
    kept = Tensor.ones((3,), autodiff()).require_grad().exp()
    assert rows_of(plan(training_step, 16, count_nodes=True))["metadata"] == before
    assert kept.shape == (3,)


def test_without_a_graph_there_is_no_metadata() -> None:
    rows = rows_of(plan(lambda device, batch: Tensor.ones((batch,), device) * 2.0, 4, count_nodes=True))
    assert rows["metadata"] == Row("metadata", 0, "simulated")
    rows = rows_of(plan(lambda device, batch: None, 4, count_nodes=True))
    assert rows["metadata"] == Row("metadata", 0, "simulated")


def test_a_job_that_differs_from_run_to_run_has_no_metadata() -> None:
    """Nodes are counted in a second run, which here does something else before the peak."""
    sizes = iter([4, 7])

    def job(device: Device[Any], batch: int) -> AnyTensor:
        return Tensor.ones((next(sizes),), device).require_grad().exp()

    assert rows_of(plan(job, 1, count_nodes=True))["metadata"] == Row("metadata", None, "not measured")


def test_a_plan_that_counts_no_nodes_runs_the_job_once() -> None:
    runs: list[int] = []

    def job(device: Device[Any], batch: int) -> AnyTensor:
        runs.append(batch)
        return Tensor.ones((batch,), device).require_grad().exp()

    assert rows_of(plan(job, 1))["metadata"] == Row("metadata", None, "not measured")
    assert runs == [1]


# Gradient storage, staging, cached


def test_gradient_storage_is_that_of_the_leaves() -> None:
    """W and b of the step from 8 to 4, and every parameter of the MLP: though none is alive at the step's peak."""
    assert rows_of(measure(training_step, autodiff(), 16))["gradient storage"].bytes == (8 * 4 + 4) * 4
    model = train_mlp(autodiff(), 1, steps=1)
    report = measure(lambda device, batch: train_mlp(device, batch, steps=1, momentum=0.0), autodiff(), 4)
    assert rows_of(report)["gradient storage"].bytes == 4 * model.num_params()


def test_staging_is_what_was_copied_in_and_out() -> None:
    def job(device: Device[Any], batch: int) -> None:
        x = Tensor.from_data(np.ones((batch, 8), dtype="float32"), device)
        (x * 2.0).sum().to_numpy()

    assert rows_of(measure(job, NdArray.device(), 16))["staging"] == Row("staging", 16 * 8 * 4 + 4, "measured")


def test_padding_is_that_of_the_job_alone() -> None:
    before, at_peak = MemoryUsage(bytes_padding=10), MemoryUsage(bytes_padding=38)
    assert padding_bytes(before, at_peak) == 28
    assert padding_bytes(MemoryUsage(), at_peak) is padding_bytes(before, MemoryUsage()) is None


def test_cached_is_what_a_pool_does_not_use_even_at_the_peak() -> None:
    at_peak = MemoryUsage(number_allocs=1, bytes_in_use=100, bytes_padding=28, bytes_reserved=512)
    assert cached_bytes(at_peak, MemoryUsage(bytes_reserved=768)) == 768 - 100 - 28, "it grew after the peak"
    assert cached_bytes(at_peak, MemoryUsage(bytes_reserved=256)) == 512 - 100 - 28, "it was cleared after the peak"
    assert cached_bytes(MemoryUsage(bytes_in_use=100), MemoryUsage(bytes_in_use=100)) is None
    assert cached_bytes(MemoryUsage(bytes_reserved=512), MemoryUsage(bytes_reserved=512)) is None
