"""Bytes by operation and by category, by hand and against the log."""

from __future__ import annotations

from typing import Any

import pytest

from tests.memory.jobs import JOBS, training_step
from tinyburn import Autodiff, Device, NdArray, Param, Tensor
from tinyburn.memory import MemoryReport, measure


def report_of(job: Any, batch: int = 16) -> MemoryReport:
    return measure(job, Autodiff[NdArray].device(), batch)


def test_each_operation_of_the_training_step() -> None:
    """W (8, 4) and b (4,), x (16, 8), target (16, 4), and results of (16, 4): 256 bytes each."""
    operations = report_of(training_step).operations
    assert [one.number for one in operations] == list(range(1, len(operations) + 1))
    forward = [(one.step.op, one.of("temporary"), one.bytes) for one in operations if one.phase == "forward"]
    assert forward[:4] == [("matmul", 256, 1168), ("reshape", 256, 1168), ("add", 512, 1424), ("sub", 512, 1424)]
    with pytest.raises(KeyError):
        operations[0].of("weights")


@pytest.mark.parametrize("name", JOBS)
def test_the_largest_operation_is_the_peak(name: str) -> None:
    job, batch = JOBS[name]
    report = report_of(job, batch)
    peak = max(report.operations, key=lambda one: one.bytes)
    assert peak.bytes == report.peak_bytes
    assert str(peak.step) == report.peak_op
    for row in report.categories.rows:
        assert row.at_peak == report.at_peak.get(row.name, 0) == peak.of(row.name)
        assert row.at_peak <= row.at_largest
    assert sum(row.in_run for row in report.categories.rows) >= report.peak_bytes


def test_the_sum_of_the_largest_is_more_than_the_peak() -> None:
    table = report_of(training_step).categories
    rows = {row.name: (row.at_peak, row.at_largest) for row in table.rows}
    assert rows == {
        **{"parameter": (144, 144), "input": (768, 768), "activation": (256, 256)},
        **{"gradient": (0, 144), "temporary": (264, 512)},
    }
    assert str(table).splitlines()[-1].split() == ["sum", "1", "432", "1", "824", *str(table).split()[-2:]]


def test_a_large_gradient_counts_once() -> None:
    """The moment between its allocation and its category is none."""

    def job(device: Device[Any], batch: int) -> Any:
        w = Param.from_tensor(Tensor.ones((64, 64), device)).val()
        return (Tensor.ones((batch, 64), device) @ w).sum().backward()

    rows = {row.name: row for row in report_of(job, 1).categories.rows}
    assert rows["gradient"].at_largest == 64 * 64 * 4
    assert rows["temporary"].at_largest < 64 * 64 * 4
