"""From numbers to pixels: equal steps, powers of ten, and the round numbers at an axis."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyburn.viz.scale import (
    Linear,
    Powers,
    numbers_around,
    power_text,
    powers_around,
    round_numbers,
    round_step,
    rounded_texts,
    sizes_text,
    three_digits,
)

sizes = st.floats(-1e9, 1e9).filter(lambda size: not size or abs(size) > 1e-9)


def test_powers_have_equal_steps_for_equal_factors() -> None:
    powers = Powers(-3, 1, 4, 0, 0, 100, 400)
    assert [powers.y(10.0**power) for power in (-3, -2, 0, 1)] == [400, 300, 100, 0]
    assert (powers.y(0.0), powers.y(1e-9), powers.y(math.inf)) == (400, 400, 0)
    assert powers.x(2) == 50


def test_powers_around_sizes() -> None:
    assert powers_around([0.002, 30.0, 0.0, math.nan]) == (-3, 2)
    assert powers_around([]) == (-1, 1)
    assert powers_around([1e-300, 1.0])[0] == -39


def test_an_axis_of_powers_is_written_in_one_way() -> None:
    near, far = Powers(-3, 1, 1, 0, 0, 100, 400), Powers(-22, 2, 1, 0, 0, 100, 400)
    assert [words for _, words in near.marks()] == ["0.001", "0.01", "0.1", "1", "10"]
    assert [words for _, words in far.marks()][:2] == ["1e-22", "1e-19"]
    assert power_text(0, False) == "1e0"
    assert sizes_text([0.00013, 4.5e-5]) == ["1.3e-4", "4.5e-5"]
    assert sizes_text([0.0013, 12.0, math.inf, math.nan, 0.0]) == ["0.0013", "12", "inf", "nan", "0"]


def test_a_linear_axis_is_a_straight_line_and_ends_at_its_edges() -> None:
    scale = Linear(0.0, 2.0, 10, 50, 20, 100, 200)
    assert [scale.y(size) for size in (0.0, 1.0, 2.0, 3.0, -1.0, math.inf)] == [220, 120, 20, 20, 220, 20]
    assert scale.marks() == [(220, "0.0"), (170, "0.5"), (120, "1.0"), (70, "1.5"), (20, "2.0")]


@pytest.mark.parametrize(("span", "step"), [(5.0, "1"), (5.1, "2"), (0.3, "0.1"), (1e-6, "2e-7"), (74.0, "20")])
def test_the_smallest_round_step_that_is_large_enough(span: float, step: str) -> None:
    """By hand: of 1, 2, 5, 10, ... the first that fits at most five times."""
    assert round_step(span) == Decimal(step)


@given(st.floats(1e-9, 1e12), st.integers(2, 50))
def test_a_round_step_fits_and_the_next_smaller_one_would_not(span: float, most: int) -> None:
    step = float(round_step(span, most))
    smaller = step / (2.5 if f"{step:e}".startswith("5") else 2)
    assert step * most >= span
    assert smaller * most < span * (1 + 1e-9)


@given(st.lists(sizes, min_size=1, max_size=5))
def test_all_numbers_are_between_the_edges_of_their_axis(given: list[float]) -> None:
    low, high = numbers_around([*given, math.nan, math.inf])
    assert low <= min(given) <= max(given) <= high
    assert low < high
    marks = round_numbers(low, high)
    assert 2 <= len(marks) <= 6
    assert [float(marks[0]), float(marks[-1])] == pytest.approx([low, high], abs=1e-9 * (high - low))


def test_zero_is_on_the_axis_unless_all_numbers_are_far_from_it() -> None:
    assert numbers_around([0.2, 2.3]) == (0.0, 2.5)
    assert numbers_around([2.2, 2.3]) == (2.2, 2.3)
    assert numbers_around([-3.0, -1.0]) == (-3.0, 0.0)
    assert numbers_around([]) == (0.0, 1.0)
    assert numbers_around([4.0, 4.0]) == (2.0, 6.0)


def test_numbers_of_one_axis_are_written_in_one_way() -> None:
    assert rounded_texts(round_numbers(0, 0.2)) == ["0.00", "0.05", "0.10", "0.15", "0.20"]
    assert rounded_texts(round_numbers(0, 20_000)) == ["0", "5 000", "10 000", "15 000", "20 000"]
    assert rounded_texts(round_numbers(0, 2e-4)) == ["0", "5e-5", "1e-4", "1.5e-4", "2e-4"]
    assert rounded_texts(round_numbers(-1, 1, 2)) == ["-1", "0", "1"]
    assert [three_digits(size) for size in (0.12345, 520.0, 1.2e-6, math.nan)] == ["0.123", "520", "1.2e-6", "nan"]
