"""The ratio clock with controls: a model of two numbers, whose every step is known by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.viz.examples import columns
from tests.widgets.controls import control, frame_of, names_of
from tinyburn import Autodiff, ConfigError, Device, Module, NdArray, Param, Tensor, viz, widgets


class Bowl(Module):
    """Its loss is 3 a² + 4 b², from a = b = 1 on: the gradients are 6 a and 8 b, and their norm 10 at first."""

    def __init__(self, device: Device[Any]) -> None:
        self.a = Param.from_tensor(Tensor.ones((1,), device))
        self.b = Param.from_tensor(Tensor.ones((1,), device))

    def forward(self) -> Tensor[Any, Any]:
        a, b = self.a.val(), self.b.val()
        return a * a * 3.0 + b * b * 4.0


def bowl() -> Bowl:
    return Bowl(Autodiff[NdArray].device(float_dtype="float64"))


def shown(**given: Any) -> widgets.Live:
    return widgets.update_ratios(bowl(), Bowl.forward, **{"steps": 2, "learning_rate": 0.01, **given})


def ratios(found: widgets.Live) -> list[tuple[str, ...]]:
    return columns(found.picture, "parameter", "first step")


def test_each_learning_rate_is_a_training_from_the_start() -> None:
    """A step moves a by 6 r of itself, and b by 8 r."""
    found = shown()
    assert names_of(found) == ["Learning rate", "Clipping", "Threshold"]
    assert ratios(found) == [("a", "6.0e-2"), ("b", "8.0e-2")]
    control(found, "Learning rate").value = 0.001
    assert ratios(found) == [("a", "6.0e-3"), ("b", "8.0e-3")]
    control(found, "Learning rate").value = 0.01
    assert ratios(found) == [("a", "6.0e-2"), ("b", "8.0e-2")]


@pytest.mark.parametrize(
    ("way", "threshold", "expected"),
    [
        ("by value", 1.0, ("1.0e-2", "1.0e-2")),
        ("by norm", 1.0, ("1.0e-2", "1.0e-2")),
        ("by global norm", 1.0, ("6.0e-3", "8.0e-3")),
        ("by global norm", 0.1, ("6.0e-4", "8.0e-4")),
    ],
)
def test_each_clipping_makes_the_step_shorter(way: str, threshold: float, expected: tuple[str, str]) -> None:
    """By value and by norm both gradients become the threshold; by global norm (6, 8) becomes (0.6, 0.8) of it."""
    found = shown()
    control(found, "Threshold").value = threshold
    assert ratios(found) == [("a", "6.0e-2"), ("b", "8.0e-2")]
    control(found, "Clipping").value = way
    assert [ratio for _, ratio in ratios(found)] == list(expected)


@pytest.mark.parametrize(
    ("way", "threshold", "count"),
    [
        ("by value", 7.5, 1),
        ("by norm", 7.5, 1),
        ("by global norm", 9.5, 1),
        ("by global norm", 8.9, 2),
        ("by value", 9.0, 0),
    ],
)
def test_it_counts_the_steps_that_are_clipped(way: str, threshold: float, count: int) -> None:
    """With a rate of 0.01, unclipped, b is 0.92 after a step: its gradient is 8, then 7.36 and 6.77. The norm is 10,
    then about 9.26. A clipped first step is a little shorter, and the second norm about 9.3 or 9.4."""
    text = shown(clipping=way, threshold=threshold, steps=3).still.text
    if count:
        assert f"Step {count - 1}: the last of {count} steps that are clipped." in text.replace("the loss is 7; ", "")
    else:
        assert "clipped" not in text


def test_the_loss_stands_at_both_ends_and_where_it_is_lost() -> None:
    """3 + 4 at first. With a rate of 10, b is multiplied by -79: 4 * 79 ** (2 * 81) is 1.0e308, the last that fits."""
    assert 4 * 79.0 ** (2 * 81) < 1.1e308
    assert "Step 0: the loss is 7.\nStep 1: the loss is 6." in shown().still.text
    lost = shown(learning_rate=10.0, steps=100).still
    assert "Step 82: the loss is not finite." in lost.text


def test_the_picture_is_that_of_viz() -> None:
    found = shown(steps=1)
    assert found.still == viz.update_ratios([{"a": 0.06, "b": 0.08}], {0: "the loss is 7"})
    assert frame_of(found) == found.still.html


def test_its_own_model_learns_and_makes_the_same_bytes() -> None:
    """By the rule of thumb 0.1 is as usual, and 10 loses the model."""
    found = widgets.update_ratios()
    assert found.still.title == "Updates over parameters in 60 steps: 4 as usual"
    assert found.still.svg == widgets.update_ratios().still.svg
    control(found, "Learning rate").value = 10.0
    assert found.picture.title == "Updates over parameters in 60 steps: 4 lost: inf or NaN"


def test_errors_say_what_is_wrong() -> None:
    with pytest.raises(ConfigError) as error:
        widgets.update_ratios(3, 4, learning_rate=0, threshold=-1, clipping="hard", steps=0)  # type: ignore[arg-type]
    for reason in (
        "int is no module",
        "int is no function",
        "learning_rate is 0",
        "threshold is -1",
        "clipping is 'hard'",
    ):
        assert reason in str(error.value)
    with pytest.raises(ConfigError, match="there is a model and no loss"):
        widgets.update_ratios(bowl())
