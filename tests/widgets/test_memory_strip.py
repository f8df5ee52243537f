"""The strip with controls: each way to keep less is planned, on one scale, and counted by hand for a small chain."""

from __future__ import annotations

from typing import Any

import pytest

from tests.viz.examples import texts
from tests.widgets.controls import control, frame_of, names_of, title_of
from tinyburn import Autodiff, BalancedCheckpointing, ConfigError, Device, Meta, Tensor, memory, viz, widgets
from tinyburn.autodiff import checkpoint

LAYERS = 6


def chain(x: Tensor[Any, Any], count: int = LAYERS) -> Tensor[Any, Any]:
    """Each result is kept for the slope of the next one: a square asks for what went in."""
    for _ in range(count):
        x = x * x
    return x


def job(device: Device[Any], batch: int) -> Any:
    return chain(Tensor.ones((batch, 5), device).require_grad()).sum().backward()


def in_segments(device: Device[Any], batch: int) -> Any:
    x = Tensor.ones((batch, 5), device).require_grad()
    for _ in range(3):
        x = checkpoint(lambda value: chain(value, LAYERS // 3), x)
    return x.sum().backward()


def shown() -> widgets.Live:
    return widgets.memory(job, 10, segments={"3 segments": in_segments})


def peak(step: Any, batch: int, made: Any = Autodiff[Meta]) -> int:
    return memory.plan(step, batch, device=made.device()).peak_bytes


def test_each_way_and_each_batch_is_a_plan() -> None:
    found = shown()
    assert names_of(found) == ["Checkpointing", "Batch size", "or slide"]
    balanced: Any = Autodiff[Meta, BalancedCheckpointing]
    for way, step, made in (
        ("balanced", job, balanced),
        ("3 segments", in_segments, Autodiff[Meta]),
        ("none", job, Autodiff[Meta]),
    ):
        control(found, "Checkpointing").value = way
        for batch in (10, 20):
            control(found, "Batch size").value = batch
            assert title_of(found).startswith(f"Peak {peak(step, batch, made):,} B".replace(",", " "))


def test_the_still_picture_has_all_ways_and_their_peaks() -> None:
    """200 bytes a result: x and five squares are kept, and on the way back one gradient is made of another; then there
    are 4 bytes for the sum, and 4 for its gradient."""
    assert peak(job, 10) == 200 * LAYERS + 2 * 200 + 8 == 1608
    still = shown().still
    assert still.title.startswith("Peak by checkpointing, for a batch of 10: 1 608 B (none), ")
    assert {"none", "balanced", "3 segments"} <= {*texts(still)}


def test_all_states_of_a_batch_have_one_scale() -> None:
    """The strip of the way that needs least has the axis of the one that needs most."""
    found = shown()
    most, least = memory.plan(job, 10), memory.plan(in_segments, 10)
    assert least.peak_bytes < most.peak_bytes
    control(found, "Checkpointing").value = "3 segments"
    assert frame_of(found) == viz.memory(least, room=most.peak_bytes).html != viz.memory(least).html


def test_the_slider_and_the_number_are_one() -> None:
    found = shown()
    slider = found.controls.row[2]
    slider.value = 30
    assert control(found, "Batch size").value == 30


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: widgets.memory("job"), "str is no job"),  # type: ignore[arg-type]
        (lambda: widgets.memory(job, 0), "batch_size is 0"),
        (lambda: widgets.memory(job, segments=[job]), "segments are no mapping"),  # type: ignore[arg-type]
        (lambda: widgets.memory(job, segments={"none": job}), "the name 'none', which is taken"),
    ],
)
def test_errors_say_what_is_wrong(call: Any, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        call()
