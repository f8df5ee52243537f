"""Heat maps: the numbers of a tensor as colours, with zero in the middle, and in words."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from tests.support import BASES, UnderTest, params
from tests.viz.examples import columns, texts
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import Meta, NdArray, Tensor
from tinyburn.base.errors import BackendMismatch, ConfigError
from tinyburn.viz import heatmap
from tinyburn.viz.heatmap import MOST_PICTURES

DEVICE = NdArray.device()


def of(values: Any) -> Tensor[NdArray, Any]:
    return Tensor.from_data(np.asarray(values, "float32"), DEVICE)


def cells(svg: str) -> list[tuple[str, float]]:
    """The sign and the strength of each coloured cell, without those of the legend."""
    drawing = svg.split('<g transform="translate')[1]
    found = re.findall(r'class="(plus|minus)" fill-opacity="([\d.]+)"', drawing)
    return [(sign, float(strength)) for sign, strength in found]


@pytest.mark.parametrize("backend", params(BASES))
def test_a_matrix_has_its_numbers(backend: UnderTest) -> None:
    tensor = Tensor.from_data([[1.0, -2.0], [0.0, 0.5]], backend.device("float32"))
    picture = heatmap(tensor)
    assert columns(picture, "0", "1") == [("1", "-2"), ("0", "0.500")]
    assert {"1", "-2", "0", "0.500"} <= set(texts(picture))
    assert picture.title == "(2, 2) float32: from -2 to 1"
    assert_readable(picture)


def test_the_largest_distance_from_zero_is_the_strongest_colour_and_zero_has_none() -> None:
    small = cells(heatmap(of([[[1.0, -2.0, 0.0]], [[0.5, 2.0, 0.0]]])).svg)
    assert small == [("plus", 0.45), ("minus", 0.9), ("plus", 0.23), ("plus", 0.9)]


def test_inf_and_nan_are_marked_and_counted() -> None:
    picture = heatmap(of([[[1.0, math.nan], [math.inf, -1.0]], [[0.0] * 2] * 2]))
    assert picture.title.endswith("from -1 to 1, 2 inf or NaN")
    assert columns(picture, "picture", "inf or NaN") == [("0", "2"), ("1", "0")]
    assert picture.svg.split('<g transform="translate')[1].count('class="ghost"') == 2


@pytest.mark.parametrize(
    "shape", [(3,), (1, 1), (8, 8), (9, 9), (16, 3, 3), (2, 3, 8, 8), (40, 5, 5), (0, 3), (0, 2, 2)], ids=str
)
def test_every_shape_is_readable(shape: tuple[int, ...]) -> None:
    picture = heatmap(of(np.linspace(-1, 1, math.prod(shape)).reshape(shape)))
    assert_readable(picture)
    assert len(picture.html) < 200_000
    hidden = math.prod(shape[:-2]) - MOST_PICTURES
    assert (f"{hidden} more pictures are not shown." in picture.text) == (hidden > 0)


def test_labels_name_the_pictures() -> None:
    picture = heatmap(of(np.ones((3, 9, 9))), np.array(["one", "two", "three"]))
    assert columns(picture, "picture", "mean") == [("one", "1"), ("two", "1"), ("three", "1")]
    assert {"one", "two", "three"} <= set(texts(picture))


def test_truth_values_and_whole_numbers_have_colours_too() -> None:
    assert heatmap(Tensor.from_data([[True, False]], DEVICE)).title == "(1, 2) bool: from 0 to 1"
    assert "from -3 to 2" in heatmap(Tensor.from_data([[2, -3]], DEVICE, dtype="int64")).title


@pytest.mark.parametrize(
    ("tensor", "labels", "error", "word"),
    [
        ([[1.0]], (), ConfigError, "list is no tensor"),
        (Tensor.ones((2, 2), Meta.device()), (), BackendMismatch, "shapes only"),
        (of(np.ones((65, 64))), (), ConfigError, "more than 4096 cells"),
        (of(np.ones((3, 2, 2))), ["a"], ConfigError, "3 pictures and 1 labels"),
    ],
    ids=["no-tensor", "no-values", "too-large", "labels"],
)
def test_what_cannot_be_drawn(tensor: Any, labels: Any, error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        heatmap(tensor, labels)


_SCRIPT = """
from tinyburn import NdArray, Tensor, viz
picture = viz.heatmap(Tensor.from_data([[[0.5, -1.0, 3.0]] * 3] * 2, NdArray.device()))
"""


def test_same_bytes_in_two_processes() -> None:
    first, second = outputs_of_two_processes(_SCRIPT)
    assert first == second


def test_a_single_small_matrix_has_the_numbers_of_its_rows_and_columns() -> None:
    """As a confusion matrix needs them; and the legend has only what is there."""
    counts = heatmap(of(np.arange(100).reshape(10, 10)))
    drawn = texts(counts)
    assert [word for word in drawn if word in ("-99", "99")] == ["99", "99"]  # the last cell, and the legend
    assert drawn.count("9") == 3  # a row, a column, and a cell
    assert "-3" in texts(heatmap(of(np.array([[3.0, -1.0]]))))
