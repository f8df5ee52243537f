"""How numbers are spread: bars that NumPy counts again, zero at an edge, and what is in no bar."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.viz.examples import columns, texts
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import BackendMismatch, ConfigError, Meta, NdArray, Tensor
from tinyburn.viz import histogram
from tinyburn.viz.histogram import MOST_BARS

DEVICE = NdArray.device(float_dtype="float64")


def tensor(values: Any) -> Tensor[NdArray, Any, Any]:
    return Tensor.from_data(np.asarray(values), DEVICE)


def whole(words: str) -> int:
    return int(words.replace(" ", ""))


def test_each_number_is_in_the_range_that_its_row_names() -> None:
    """By hand, with steps of 0.2: a lower edge belongs to its bar, an upper one to the next."""
    picture = histogram(tensor([-0.5, -0.4, 0.0, 0.1, 0.2, 0.2, 0.6]))
    assert columns(picture, "from", "to below", "count") == [
        ("-0.6", "-0.4", "1"),
        ("-0.4", "-0.2", "1"),
        ("-0.2", "0.0", "0"),
        ("0.0", "0.2", "2"),
        ("0.2", "0.4", "2"),
        ("0.4", "0.6", "0"),
        ("0.6", "0.8", "1"),
    ]
    assert picture.title == "(7,) float64: mean 0.0286, standard deviation 0.349; 14.3 % are exactly 0"
    assert {"mean 0.0286", "below 0", "0 and above"} <= set(texts(picture))
    assert_readable(picture)


floats = st.floats(-1e6, 1e6, width=32)


@given(hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=30), elements=floats))
def test_the_bars_count_all_numbers_and_no_bar_is_on_both_sides_of_zero(values: Any) -> None:
    picture = histogram(tensor(values))
    counts = [whole(count) for (count,) in columns(picture, "count")]
    assert sum(counts) == values.size
    assert len(counts) <= MOST_BARS
    below = [whole(count) for start, count in columns(picture, "from", "count") if start.startswith("-")]
    assert sum(below) == (values < 0).sum()
    assert_readable(picture)


def test_long_numbers_below_the_bars_do_not_meet() -> None:
    assert_readable(histogram(tensor([1_000_000.0, 300_000.0])))


def test_few_whole_numbers_and_truth_values_have_a_bar_each() -> None:
    labels = histogram(tensor([3, 1, 3, 3, 5]))
    assert columns(labels, "value", "count") == [("1", "1"), ("2", "0"), ("3", "3"), ("4", "0"), ("5", "1")]
    assert labels.title == "(5,) int64: most often 3, 3 of 5"
    truth = histogram(tensor([True, False, True, True]))
    assert columns(truth, "value", "count", "share") == [("false", "1", "25.0 %"), ("true", "3", "75.0 %")]
    assert truth.title == "(4,) bool: 3 of 4 are true"
    many = histogram(tensor(list(range(0, 1000, 7))))
    assert columns(many, "from", "to below")[0] == ("0", "100")
    for picture in (labels, truth, many):
        assert_readable(picture)


def test_what_is_lost_is_in_no_bar_and_said() -> None:
    picture = histogram(tensor([1.0, math.nan, -math.inf, 2.0]))
    assert sum(whole(count) for (count,) in columns(picture, "count")) == 2
    assert "2 of 4 are inf or NaN" in picture.title
    assert "2 inf or NaN are in no bar." in texts(picture)
    assert "2 inf or NaN" in picture.text
    assert histogram(tensor([math.nan])).title == "(1,) float64: all of 1 are inf or NaN"
    assert histogram(tensor(np.zeros((0, 3)))).title == "(0, 3) float64: no elements"


@pytest.mark.parametrize("value", [0.0, 3.0, -1e-12, 7e8])
def test_equal_numbers_are_one_bar(value: float) -> None:
    picture = histogram(tensor([value] * 3))
    assert columns(picture, "count") == [("3",)]
    assert_readable(picture)


def test_the_height_of_a_bar_is_its_count() -> None:
    """20 and 10 of 30: the second bar has half the height of the first."""
    picture = histogram(tensor([0.5] * 20 + [1.5] * 10 + [7.5]))
    heights = [float(found) for found in re.findall(r'height="([\d.]+)" class="line plus"', picture.svg)]
    assert heights[:3] == pytest.approx([220 * 20 / 20, 220 * 10 / 20, 220 * 1 / 20], abs=0.1)


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(ConfigError, match="list is no tensor"):
        histogram([1.0])  # type: ignore[arg-type]
    with pytest.raises(BackendMismatch, match="keeps shapes only"):
        histogram(Tensor.ones((2,), Meta.device()))


_SCRIPT = """
from tests.viz.test_histogram import tensor
from tinyburn import viz
picture = viz.histogram(tensor([0.1 * at for at in range(-20, 90)]))
"""


def test_same_bytes_in_two_processes() -> None:
    first, second = outputs_of_two_processes(_SCRIPT)
    assert first == second
