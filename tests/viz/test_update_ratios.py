"""The ratio clock: the size of each update over that of its parameter."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.viz.examples import columns, texts
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import Autodiff, Module, NdArray, Param, Tensor
from tinyburn.base.errors import ConfigError
from tinyburn.viz import update_ratio, update_ratios


class Pair(Module):
    def __init__(self, first: list[float], second: list[float]) -> None:
        device = Autodiff[NdArray].device()
        self.first, self.second = (Param.from_tensor(Tensor.from_data(x, device)) for x in (first, second))


def test_a_ratio_by_hand() -> None:
    """|(0.3, 0.4) - (0, 0)| is 0.5, over |(3, 4)| = 5; one that was 0 has no share; one that stands still has 0."""
    ratios = update_ratio(Pair([3.0, 4.0], [0.0]), Pair([3.3, 4.4], [0.1]))
    assert ratios["first"] == pytest.approx(0.1, rel=1e-6)
    assert ratios["second"] == math.inf
    assert update_ratio(Pair([1.0], [0.0]), Pair([1.0], [0.0])) == {"first": 0.0, "second": 0.0}
    assert math.isnan(update_ratio(Pair([1.0], [1.0]), Pair([math.nan], [1.0]))["first"])


def test_only_the_same_model_can_be_compared() -> None:
    with pytest.raises(ConfigError, match="other parameters, or other shapes"):
        update_ratio(Pair([1.0], [1.0]), Pair([1.0, 2.0], [1.0]))


STEPS = [
    {"slow": 1e-6, "usual": 1e-3, "fast": 0.5, "still": 0.0, "lost": 1e-3},
    {"slow": 2e-6, "usual": 2e-3, "fast": 0.6, "still": 0.0, "lost": math.inf},
    {"slow": 3e-6, "usual": 3e-3, "fast": 0.7, "still": 0.0, "lost": math.nan},
]


def test_each_parameter_gets_its_verdict() -> None:
    picture = update_ratios(STEPS, {1: "rate doubled"})
    assert columns(picture, "parameter", "middle", "by the rule of thumb") == [
        ("slow", "2.0e-6", "slow"),
        ("usual", "2.0e-3", "as usual"),
        ("fast", "6.0e-1", "fast"),
        ("still", "0", "stands still"),
        ("lost", "inf", "lost: inf or NaN"),
    ]
    assert picture.title == (
        "Updates over parameters in 3 steps: 1 lost: inf or NaN, 1 fast, 1 as usual, 1 slow, 1 stands still"
    )
    assert "Step 1: rate doubled." in picture.text
    assert "step 1: rate doubled" in texts(picture)
    assert_readable(picture)


def test_more_parameters_than_lines_are_counted() -> None:
    picture = update_ratios([{f"layers.{at}.weight": 1e-3 for at in range(20)}])
    assert "12 more parameters are in the text alone." in texts(picture)
    assert_readable(picture)


@pytest.mark.parametrize(
    ("steps", "events", "word"),
    [
        ([], None, "no step with a parameter"),
        ([{}], None, "no step with a parameter"),
        ([{"a": 1.0}], {1: "x"}, "an event at step 1"),
    ],
)
def test_what_cannot_be_drawn(steps: Any, events: Any, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        update_ratios(steps, events)


_SCRIPT = """
from tests.viz.test_update_ratios import STEPS
from tinyburn import viz
picture = viz.update_ratios(STEPS, {2: "NaN"})
"""


def test_same_bytes_in_two_processes() -> None:
    first, second = outputs_of_two_processes(_SCRIPT)
    assert first == second
