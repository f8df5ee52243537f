"""Operators that take and put elements by indices: repeats, indices from the end, old versions, and gradients.

Expected values are NumPy's, by plain indexing or a plain loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import assert_close, const, grads_of, tracked
from tinyburn import Meta, Tensor
from tinyburn.base.errors import OnnxError
from tinyburn.onnx import Operators

from .support import NUMBERS, check_gradient, computed

RNG = np.random.default_rng(2)
ANYWHERE = RNG.integers(-3, 3, (2, 3, 4))
UPDATES = RNG.standard_normal((2, 3, 4))
REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "none": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "max": max,
    "min": min,
}


def test_gather_puts_the_dims_of_indices_where_the_axis_was() -> None:
    for indices in (-1, [0], [[0, -1], [1, 2]], np.zeros((2, 0), np.int64)):
        whole: Any = np.asarray(indices, np.int64)
        assert np.array_equal(computed(13, "Gather", NUMBERS, whole, axis=1), np.take(NUMBERS, whole, 1))


def test_gather_elements_counts_from_the_end() -> None:
    found = computed(13, "GatherElements", NUMBERS, ANYWHERE[:, :2], axis=1)
    assert np.array_equal(found, np.take_along_axis(NUMBERS, ANYWHERE[:, :2] % 3, 1))


def test_gather_nd_in_a_batch() -> None:
    indices = np.array([[[0, -1], [1, 1]], [[2, 0], [-1, 3]]])
    expected = [[NUMBERS[0, 0, -1], NUMBERS[0, 1, 1]], [NUMBERS[1, 2, 0], NUMBERS[1, -1, 3]]]
    assert np.array_equal(computed(13, "GatherND", NUMBERS, indices, batch_dims=1), expected)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_updates_of_one_place_follow_each_other(reduction: str) -> None:
    expected = NUMBERS.copy()
    for i, j, k in np.ndindex(2, 3, 4):
        at = (i, ANYWHERE[i, j, k], k)
        expected[at] = REDUCTIONS[reduction](expected[at], UPDATES[i, j, k])
    found = computed(18, "ScatterElements", NUMBERS, ANYWHERE, UPDATES, axis=1, reduction=reduction)
    assert_close(found, expected)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_updates_of_one_row_follow_each_other(reduction: str) -> None:
    places, updates = [(0, 1), (1, -1), (0, 1)], UPDATES[0]
    expected = NUMBERS.copy()
    for at, row in zip(places, updates, strict=True):
        expected[at] = [REDUCTIONS[reduction](old, new) for old, new in zip(expected[at], row, strict=True)]
    assert_close(computed(18, "ScatterND", NUMBERS, places, updates, reduction=reduction), expected)


def test_nan_and_truth_values_are_replaced() -> None:
    assert computed(18, "ScatterND", [np.nan, 2.0], [[0]], [1.0]).tolist() == [1.0, 2.0]
    assert computed(18, "ScatterND", [True, True, False], [[0], [2]], [False, True]).tolist() == [False, True, True]


def test_a_cache_goes_around() -> None:
    found = computed(
        24, "TensorScatter", np.zeros((2, 3, 1)), [[[1.0], [2.0]], [[3.0], [4.0]]], [2, 0], mode="circular"
    )
    assert found[..., 0].tolist() == [[2.0, 0.0, 1.0], [3.0, 4.0, 0.0]]


def test_top_k_of_equals_takes_the_first() -> None:
    assert computed(9, "TopK", [[1, 3, 3, 2]], k=2, count=2)[1].tolist() == [[1, 2]]
    values, places = computed(11, "TopK", [[2, 1, 1, 3]], [3], largest=0, count=2)
    assert (values.tolist(), places.tolist()) == ([[1, 1, 2]], [[1, 2, 0]])


def test_arg_max_takes_the_first_or_the_last() -> None:
    x = [[3.0, 1.0, 3.0]]
    assert computed(13, "ArgMax", x, axis=1).tolist() == [[0]]
    assert computed(13, "ArgMax", x, axis=-1, keepdims=0, select_last_index=1).tolist() == [2]
    assert computed(13, "ArgMin", [1.0, 1.0], keepdims=0, select_last_index=1).shape == ()


def test_one_hot_of_what_is_no_class() -> None:
    found = computed(11, "OneHot", [1, -1, 3], 3, [0.5, 2.0], axis=0)
    assert found.T.tolist() == [[0.5, 2.0, 0.5], [0.5, 0.5, 2.0], [0.5, 0.5, 0.5]]


def test_unique_in_the_order_of_the_first() -> None:
    found, firsts, names, counts = computed(11, "Unique", [3, 1, 3, 2, 1], sorted=0, count=4)
    assert (found.tolist(), firsts.tolist()) == ([3, 1, 2], [0, 1, 3])
    assert (names.tolist(), counts.tolist()) == ([0, 1, 0, 2, 1], [2, 2, 1])


@pytest.mark.parametrize(
    ("name", "others", "attributes"),
    [
        ("Gather", [[[0, -1], [0, 2]]], {"axis": 1}),
        ("GatherElements", [ANYWHERE], {"axis": 1}),
        ("GatherND", [[[[0], [-1]], [[2], [0]]]], {"batch_dims": 1}),
        ("Compress", [[True, False, True]], {"axis": 1}),
        *[("ScatterElements", [ANYWHERE, UPDATES], {"axis": 1, "reduction": each}) for each in REDUCTIONS],
    ],
)
def test_gradients(name: str, others: list[Any], attributes: dict[str, Any]) -> None:
    check_gradient(18, name, NUMBERS, *others, **attributes)


def test_the_last_update_of_a_place_gets_the_gradient() -> None:
    op, x = Operators(18), const(NUMBERS[0], tracked())
    (found,) = grads_of(
        lambda new: op.ScatterND(x, op.constant([[0], [2], [0]], "int64"), new).tensor.sum(), UPDATES[0]
    )
    assert found.tolist() == [[0.0] * 4, [1.0] * 4, [1.0] * 4]


def test_indices_without_values_give_a_shape() -> None:
    device = Meta.device()
    x, updates = Tensor.zeros((2, 3, 4), device), Tensor.zeros((5, 4), device)
    indices = Tensor.zeros((5, 2), device, "int64")
    assert Operators(18).ScatterND(x, indices, updates, reduction="max").shape == (2, 3, 4)


def test_what_does_not_fit_is_told() -> None:
    with pytest.raises(OnnxError, match="the reduction is 'mean'"):
        computed(18, "ScatterND", NUMBERS, [[0]], UPDATES[:1], reduction="mean")
    with pytest.raises(OnnxError, match="has shapes alone"):
        Operators(18).NonZero(Tensor.zeros((2,), Meta.device()))
