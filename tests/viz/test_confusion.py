"""The confusion matrix: the finding, counted by hand, and every count in its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.viz.examples import columns, texts
from tests.viz.geometry import assert_readable, words_of
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import BackendMismatch, ConfigError, Meta, NdArray, Tensor
from tinyburn.viz import confusion
from tinyburn.viz.confusion import MOST_CLASSES

MATRIX = [[8, 2, 0], [0, 5, 0], [1, 0, 9]]


def test_the_finding_by_hand() -> None:
    """8 + 5 + 9 of 25; two of class a were taken for b, and that is a fifth of it."""
    picture = confusion(MATRIX, ["a", "b", "c"])
    assert picture.title == "22 of 25 right; the most frequent mistake is b for a, twice"
    assert columns(picture, "right class", "a", "b", "c", "right") == [
        ("a", "8", "2", "0", "80 %"),
        ("b", "0", "5", "0", "100 %"),
        ("c", "1", "0", "9", "90 %"),
    ]
    assert "a            b              2  20 %" in picture.text
    assert_readable(picture)


def test_counts_stand_in_the_row_of_what_is_right_and_the_column_of_the_answer() -> None:
    words = {each.content: each for each in words_of(confusion(MATRIX, ["a", "b", "c"]))}
    middle = lambda name: (words[name].left + words[name].right) / 2  # noqa: E731
    rows = {each.content: each.base for each in words_of(confusion(MATRIX)) if each.content in ("0", "1", "2")}
    assert middle("2") == pytest.approx(middle("5")), "the answer b"
    assert words["8"].base == words["2"].base, "the right class a"
    assert words["8"].base < words["5"].base < words["9"].base
    assert rows


@pytest.mark.parametrize("matrix", [MATRIX, np.array(MATRIX), np.array(MATRIX, dtype="float32")], ids=str)
def test_lists_arrays_and_tensors(matrix: Any) -> None:
    made = Tensor.from_data(np.asarray(matrix), NdArray.device())
    assert confusion(made).svg == confusion(matrix).svg == confusion(MATRIX).svg


def test_no_mistakes_and_no_samples() -> None:
    assert confusion([[3, 0], [0, 4]]).title == "7 of 7 right: no mistakes"
    assert confusion([[0, 0], [0, 0]]).title == "2 classes, and no samples"
    assert confusion([[0, 1], [0, 0]]).title == "0 of 1 right; the most frequent mistake is 1 for 0, once"


def test_mistakes_that_all_differ() -> None:
    assert confusion([[3, 1], [1, 3]]).title == "6 of 8 right; no mistake was made twice"


def test_a_mistake_is_told_from_a_right_answer_without_colour() -> None:
    """A frame around each right answer, none around a mistake, which is bold."""
    picture = confusion(MATRIX)
    assert picture.svg.count('class="rule diagonal"') == 3 + 1  # and in the key
    assert picture.svg.count(">2</text>") == 2 + 1
    assert 'class="ink bold">2</text>' in picture.svg


def test_as_many_classes_as_there_is_room_for() -> None:
    matrix = np.full((MOST_CLASSES, MOST_CLASSES), 12_345)
    picture = confusion(matrix, [f"class number {at}" for at in range(MOST_CLASSES)])
    assert_readable(picture)
    assert len(confusion(matrix).html) < 100_000
    assert {"class number 19"} <= set(texts(picture))


@pytest.mark.parametrize(
    ("matrix", "labels", "word"),
    [
        ([[1, 2]], (), "as many rows as columns"),
        ([[1, 2], [3]], (), "rows of several lengths"),
        ([], (), "as many rows as columns"),
        ([[0.5]], (), "whole numbers from 0 on"),
        ([[-1]], (), "whole numbers from 0 on"),
        ([["one"]], (), "whole numbers from 0 on"),
        ([[float("nan")]], (), "whole numbers from 0 on"),
        (MATRIX, ["a"], "3 classes and 1 label"),
        (np.zeros((21, 21), int), (), "21 classes are more than the 20"),
    ],
)
def test_what_cannot_be_drawn(matrix: Any, labels: Any, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        confusion(matrix, labels)


def test_a_tensor_without_values() -> None:
    with pytest.raises(BackendMismatch, match="keeps shapes only"):
        confusion(Tensor.ones((2, 2), Meta.device()))


_SCRIPT = """
from tests.viz.test_confusion import MATRIX
from tinyburn import viz
picture = viz.confusion(MATRIX, ["a", "b", "c"])
"""


def test_same_bytes_in_two_processes() -> None:
    first, second = outputs_of_two_processes(_SCRIPT)
    assert first == second
