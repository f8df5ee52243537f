"""The batch lines with controls: each state is a plan of its own, counted by hand for a step of two matrices."""

from __future__ import annotations

from typing import Any

import pytest

from tests.widgets.controls import control, frame_of, names_of, title_of
from tinyburn import ConfigError, Device, Tensor, memory, viz, widgets
from tinyburn.memory import JobError


def job(device: Device[Any], batch: int) -> Any:
    """Ten numbers a sample, and as many again while they are doubled: 80 bytes a sample in float32."""
    return Tensor.ones((batch, 10), device) * 2.0


def shown() -> widgets.Live:
    return widgets.batch(job, 1000, batch_size=3)


def test_it_starts_with_the_arguments() -> None:
    """12 samples have 960 bytes, and 13 have 1 040."""
    assert shown().still.title == (
        "A batch of 3 needs 240 B and fits; 12 samples fit in 1 000 B; the formula says the same"
    )
    assert frame_of(shown()) == shown().still.html
    assert names_of(shown()) == ["Batch size", "Dtype", "Budget in bytes"]


@pytest.mark.parametrize(
    ("name", "value", "title"),
    [
        ("Budget in bytes", 239, "A batch of 3 needs 240 B and does not fit; 2 samples fit in 239 B"),
        ("Batch size", 13, "A batch of 13 needs 1 040 B and does not fit; 12 samples fit in 1 000 B"),
        ("Dtype", "float16", "A batch of 3 needs 120 B and fits; 25 samples fit in 1 000 B"),
        ("Dtype", "float64", "A batch of 3 needs 480 B and fits; 6 samples fit in 1 000 B"),
    ],
)
def test_each_control_is_in_the_plan(name: str, value: object, title: str) -> None:
    """Half as many bytes in float16, twice as many in float64."""
    found = shown()
    control(found, name).value = value
    assert title_of(found) == f"{title}; the formula says the same"


def test_a_budget_in_which_nothing_fits_says_so_and_the_next_one_works() -> None:
    found = shown()
    control(found, "Budget in bytes").value = 79
    assert "a batch of 1 needs 80 B at mul, and 79 B are there" in title_of(found)
    assert frame_of(found) == ""
    control(found, "Budget in bytes").value = 80
    assert "1 sample fits in 80 B" in title_of(found)


def test_the_picture_is_that_of_viz() -> None:
    plan = memory.max_batch_size(job, 1000, formula_at=(2, 4))
    found = widgets.batch(job, 1000, batch_size=3, formula_at=(2, 4))
    assert found.still == viz.batch(plan, (3, memory.plan(job, 3).peak_bytes))


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: widgets.batch(3, 1000), "int is no job"),  # type: ignore[arg-type]
        (lambda: widgets.batch(job, 0), "available_bytes is 0"),
        (lambda: widgets.batch(job, 1000, batch_size=0), "batch_size is 0, and must be a whole number from 1"),
        (
            lambda: widgets.batch(job, 1000, dtype="int8"),
            "dtype is 'int8', and must be one of float16, float32, float64",
        ),
    ],
)
def test_errors_say_what_is_wrong(call: Any, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        call()


def test_a_budget_for_nothing_is_an_error_at_once() -> None:
    with pytest.raises(JobError, match="1 needs 80 B"):
        widgets.batch(job, 10)
