"""A report is a text in words: printed, at the end of a notebook's cell, and in a terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from IPython.lib.pretty import pretty

from tests.support import tracked
from tests.train.models import batches, learner
from tinyburn import NdArray, data, memory, nn, record
from tinyburn.backend import check_backend


def job(device: Any, size: int) -> Any:
    return nn.LinearConfig(4, 2).init(device).weight.val().sum().backward()


def inspection(folder: Path) -> Any:
    nn.LinearConfig(4, 2).init(tracked()).save(folder / "model")
    return record.inspect(folder / "model")


def fit_plan(_: Path) -> Any:
    device = tracked()
    return learner(device).plan(batches(device, 8, 1)[0], 10**6)


REPORTS: dict[str, Callable[[Path], Any]] = {
    "Inspection": inspection,
    "FitPlan": fit_plan,
    "BatchPlan": lambda folder: fit_plan(folder).largest,
    "MemoryReport": lambda _: memory.measure(job, tracked(), 1),
    "Conformance": lambda _: check_backend(NdArray.device()),
    "LoaderReport": lambda _: data.DataLoader(data.InMemory([1, 2]), 2, NdArray.device()).report(),
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_cell_that_ends_with_a_report_shows_it(name: str, tmp_path: Path) -> None:
    report = REPORTS[name](tmp_path)
    assert type(report).__name__ == name
    assert pretty(report) == str(report)
    assert "=" not in str(report)
