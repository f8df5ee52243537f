"""Cases from public bug reports of autograd libraries, section C; see test_cases.py for what the ids mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import (
    AnyTensor,
    UnderTest,
    assert_close,
    const,
    gradient_of,
    grads_of,
    ints,
    leaf,
    one,
)
from tinyburn import Device, DTypeMismatch

# C. Indexing, views, movement


def test_30_gather_with_repeated_indices(tracking: Device[Any]) -> None:
    x = leaf([0.0, 0.0, 0.0], tracking)
    picked = x.gather(0, ints([0, 2, 0, 0], tracking))
    assert gradient_of(x, (picked * const([1.0, 10.0, 2.0, 4.0], tracking)).backward()).tolist() == [7.0, 0.0, 10.0]


@pytest.mark.parametrize("dim", [pytest.param(0, id="30-dim0"), pytest.param(1, id="30-dim1")])
def test_repeated_indices_add_in_every_operation_that_takes_them(dim: int, base_tracked: Device[Any]) -> None:
    x = leaf(np.zeros((2, 2)), base_tracked)
    twice = ints([[1, 1], [1, 1]], x.device)
    weights = np.array([[1.0, 2.0], [4.0, 8.0]])
    seeds = const(weights, x.device)
    expected = np.zeros((2, 2))
    np.add.at(
        expected, ([[1, 1], [1, 1]], [[0, 1], [0, 1]]) if dim == 0 else ([[0, 0], [1, 1]], [[1, 1], [1, 1]]), weights
    )
    assert_close(gradient_of(x, (x.gather(dim, twice) * seeds).backward()), expected)
    assert_close(x.scatter(dim, twice, seeds).to_numpy(), expected)


@pytest.mark.parametrize(
    ("index", "weights", "expected"),
    [
        pytest.param(slice(1, 3), [5.0, 7.0], [0, 5, 7, 0], id="33"),
        pytest.param(slice(0, 4, 2), [5.0, 7.0], [5, 0, 7, 0], id="33-step"),
        pytest.param(slice(2, 2), [], [0, 0, 0, 0], id="33-nothing"),
        pytest.param(-1, [5.0], [0, 0, 0, 5], id="33-int"),
        pytest.param(slice(-2, None), [5.0, 7.0], [0, 0, 5, 7], id="33-negative"),
    ],
)
def test_the_gradient_of_a_slice_has_the_inputs_shape(
    index: Any, weights: list[float], expected: list[int], base_tracked: Device[Any]
) -> None:
    assert one(lambda x: x[index] * const(weights, x.device), np.zeros(4), base_tracked) == expected


@pytest.mark.parametrize(
    ("shape", "function"),
    [
        pytest.param((2, 3), lambda x: x.transpose().reshape((6,)), id="35"),
        pytest.param((2, 3, 2), lambda x: x.permute(2, 0, 1).reshape((3, 4)), id="35-permute"),
        pytest.param((4, 4), lambda x: x[::2, 1:3].reshape((4,)), id="35-slice"),
        pytest.param((2, 1), lambda x: x.expand((2, 3)).reshape((6,)), id="35-expand"),
        pytest.param((2, 3), lambda x: x.transpose().flatten(), id="35-flatten"),
    ],
)
def test_reshape_of_what_is_not_contiguous(
    shape: tuple[int, ...], function: Callable[[AnyTensor], AnyTensor], base_tracked: Device[Any], base: UnderTest
) -> None:
    """The reference: move the numbers 0, 1, 2 … along, and add each weight where its number came from."""
    places = function(const(np.arange(np.prod(shape)).reshape(shape), base.device())).to_numpy().astype(int)
    weights = np.arange(places.size, dtype=float).reshape(places.shape)
    expected = np.zeros(int(np.prod(shape)))
    np.add.at(expected, places.reshape(-1), weights.reshape(-1))
    (found,) = grads_of(lambda x: function(x) * const(weights, x.device), np.zeros(shape), device=base_tracked)
    assert_close(found, expected.reshape(shape))


def test_35_as_written(base_tracked: Device[Any]) -> None:
    weights = np.arange(6.0)
    found = one(lambda x: x.transpose().reshape((6,)) * const(weights, x.device), np.zeros((2, 3)), base_tracked)
    assert found == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize(
    "axes",
    [pytest.param((1, -1, 0), id="36"), pytest.param((-1, 0, 1), id="36-all"), pytest.param((2, 1, 0), id="36-p")],
)
def test_permute_with_negative_axes(axes: tuple[int, int, int], base_tracked: Device[Any]) -> None:
    seed = np.random.default_rng(0).normal(size=np.transpose(np.zeros((2, 3, 4)), axes).shape)
    expected = np.transpose(seed, np.argsort([axis % 3 for axis in axes]))
    (found,) = grads_of(lambda x: x.permute(*axes) * const(seed, x.device), np.zeros((2, 3, 4)), device=base_tracked)
    assert_close(found, expected)


@pytest.mark.parametrize("form", [pytest.param("select", id="38"), pytest.param("gather", id="38-gather")])
def test_embedding_rows(form: str, base_tracked: Device[Any]) -> None:
    table = leaf(np.zeros((3, 2)), base_tracked)
    ids = ints([1, 1, 0], table.device)
    rows = table.select(0, ids) if form == "select" else table.gather(0, ids.unsqueeze_dim(1).expand((3, 2)))
    grads = (rows * const([[1.0], [2.0], [5.0]], table.device)).backward()
    assert gradient_of(table, grads).tolist() == [[5, 5], [3, 3], [0, 0]]
    assert ids.grad(grads) is None
    with pytest.raises(DTypeMismatch):
        ids.require_grad()
