"""Sorting along a dim, and what is found in a sorted one, against NumPy and by their definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support import NDARRAY, SHAPE_BACKENDS, AnyTensor, UnderTest, assert_close, const, ints, leaf, mask, params
from tinyburn import Autodiff, ConfigError, Device, DTypeMismatch, ShapeError, Tensor

X = np.random.default_rng(4).normal(size=(3, 5, 2)).round(1)
NAN, INF = math.nan, math.inf
SPECIAL = [1.0, NAN, -INF, 3.0, 0.0, -0.0, INF, 0.0, NAN]

METHODS: dict[str, Any] = {
    "argsort": lambda x, dim: x.argsort(dim),
    "argsort_descending": lambda x, dim: x.argsort_descending(dim),
    "sort": lambda x, dim: x.sort(dim),
    "sort_descending": lambda x, dim: x.sort_descending(dim),
    "sort_with_indices": lambda x, dim: x.sort_with_indices(dim)[0],
    "sort_descending_with_indices": lambda x, dim: x.sort_descending_with_indices(dim)[1],
    "topk": lambda x, dim: x.topk(0, dim),
    "topk_with_indices": lambda x, dim: x.topk_with_indices(1, dim)[1],
    "median": lambda x, dim: x.median(dim),
    "median_with_indices": lambda x, dim: x.median_with_indices(dim)[1],
}


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_sorts_along_any_dim(device: Device[Any], dim: int) -> None:
    x, wanted = const(X, device), X.astype(str(device.float_dtype))
    assert x.sort(dim).to_numpy().tolist() == np.sort(wanted, dim).tolist()
    assert x.sort_descending(dim).to_numpy().tolist() == np.flip(np.sort(wanted, dim), dim).tolist()
    for values, indices in (x.sort_with_indices(dim), x.sort_descending_with_indices(dim)):
        assert values.to_numpy().tolist() == x.gather(dim, indices).to_numpy().tolist()
        assert indices.dtype == device.int_dtype
    assert x.argsort(dim).to_numpy().tolist() == np.argsort(wanted, dim, kind="stable").tolist()


def test_equal_elements_keep_their_order_and_nan_is_the_largest(base_tracked: Device[Any]) -> None:
    """As PyTorch has it, if it is asked for a stable sort."""
    x = const(SPECIAL, base_tracked)
    assert x.argsort(0).to_numpy().tolist() == [2, 4, 5, 7, 0, 3, 6, 1, 8]
    assert x.argsort_descending(0).to_numpy().tolist() == [1, 8, 6, 3, 0, 4, 5, 7, 2]
    assert x.topk_with_indices(3, 0)[1].to_numpy().tolist() == [1, 8, 6]


def test_sorts_whole_numbers(device: Device[Any]) -> None:
    x = ints([[3, -2, 0, 3], [7, 5, -4, 7]], device)
    assert x.sort(1).to_numpy().tolist() == [[-2, 0, 3, 3], [-4, 5, 7, 7]]
    assert x.argsort_descending(1).to_numpy().tolist() == [[0, 3, 2, 1], [0, 3, 1, 2]]
    assert x.topk(2, -1).to_numpy().tolist() == [[3, 3], [7, 7]]
    assert x.median(1).to_numpy().tolist() == [[0], [5]]
    assert x.sort(0).dtype == device.int_dtype


@pytest.mark.parametrize("length", [1, 2, 3, 31, 32, 33, 1000, 65_537, 200_001])
def test_sorts_lines_of_any_length(base: UnderTest, length: int) -> None:
    """On a GPU a long line takes many calls; on lavapipe a loop that is too long would end early."""
    values = np.random.default_rng(length).integers(-99, 99, length)
    order = ints(values, base.device()).argsort(0).to_numpy()
    assert (order == np.argsort(values, kind="stable")).all()


def test_the_median_is_the_lower_of_two(device: Device[Any]) -> None:
    x = const([[1.0, 5.0, 3.0, 2.0], [8.0, 4.0, 6.0, 7.0]], device)
    values, indices = x.median_with_indices(1)
    assert (values.to_numpy().tolist(), indices.to_numpy().tolist()) == ([[2.0], [6.0]], [[3], [2]])
    assert x.median(0).to_numpy().tolist() == [[1.0, 4.0, 3.0, 2.0]]


def test_a_nan_is_the_median_and_every_quantile(base_tracked: Device[Any]) -> None:
    x = const([[2.0, NAN, 1.0, NAN], [3.0, 1.0, 2.0, 0.0]], base_tracked)
    values, indices = x.median_with_indices(1)
    assert_close(values.to_numpy(), [[NAN], [1.0]])
    assert indices.to_numpy().tolist() == [[1], [1]]
    assert_close(x.quantile(0.25, 1).to_numpy(), [[NAN], [0.75]])


@pytest.mark.parametrize("q", [0, 0.1, 0.25, 0.5, 0.99, 1])
def test_quantiles_equal_numpys(base: UnderTest, q: float) -> None:
    for dim in (0, 1, -1):
        found = const(X, base.device()).quantile(q, dim)
        assert_close(found.to_numpy(), np.quantile(X, q, axis=dim, keepdims=True), tolerance=base.tolerance)


def test_infinite_neighbours_of_a_quantile(base: UnderTest) -> None:
    x = const([INF, INF, -INF, 1.0], base.device())
    assert_close(np.array([x.quantile(q, 0).into_scalar() for q in (0.9, 0.5, 0.0)]), [INF, INF, -INF])


def test_a_gradient_goes_to_the_elements_that_were_taken(tracking: Device[Any]) -> None:
    def slope(function: Any) -> list[float]:
        x = leaf([3.0, 1.0, 2.0, 1.0], tracking)
        found = x.grad((function(x) * const([1.0, 10.0, 100.0, 1000.0], tracking)[: function(x).shape[0]]).backward())
        assert found is not None
        values: list[float] = found.to_numpy().tolist()
        return values

    assert slope(lambda x: x.sort(0)) == [1000, 1, 100, 10]
    assert slope(lambda x: x.sort_descending(0)) == [1, 100, 10, 1000]
    assert slope(lambda x: x.topk(2, 0)) == [1, 0, 10, 0]
    assert slope(lambda x: x.median(0)) == [0, 0, 0, 1]
    assert slope(lambda x: x.quantile(0.5, 0)) == [0, 0, 0.5, 0.5]


@pytest.mark.parametrize("under_test", params(SHAPE_BACKENDS))
@pytest.mark.parametrize("name", METHODS)
def test_shapes_alone_know_the_shape_and_the_dtype(under_test: UnderTest, name: str) -> None:
    results: list[AnyTensor] = [METHODS[name](Tensor.ones((3, 4), one.device()), -1) for one in (under_test, NDARRAY)]
    assert (results[0].shape, results[0].dtype) == (results[1].shape, results[1].dtype)
    assert Tensor.ones((3, 4), under_test.device()).quantile(0.3, 0).shape == (1, 4)


@pytest.mark.parametrize("name", METHODS)
def test_what_cannot_be_sorted(any_device: Device[Any], name: str) -> None:
    with pytest.raises(DTypeMismatch, match="tensor"):
        METHODS[name](mask([True, False], any_device), 0)
    with pytest.raises(ShapeError, match="dim"):
        METHODS[name](const([1.0, 2.0], any_device), 1)


def test_nothing_is_sorted_to_nothing_and_has_no_median(any_device: Device[Any]) -> None:
    empty = Tensor.zeros((0, 3), any_device)
    for dim in (0, 1):
        assert empty.sort(dim).shape == empty.argsort_descending(dim).shape == (0, 3)
    assert empty.median(1).shape == (0, 1)
    for wrong in (lambda: empty.median(0), lambda: empty.quantile(0.5, 0), lambda: empty.median_with_indices(0)):
        with pytest.raises(ShapeError, match="no elements"):
            wrong()


@pytest.mark.parametrize("k", [-1, 3, 1.0, True, None])
def test_a_wrong_number_of_the_largest(any_device: Device[Any], k: Any) -> None:
    with pytest.raises(ShapeError, match="whole number from 0 to 2"):
        const([1.0, 2.0], any_device).topk(k, 0)


@pytest.mark.parametrize("q", [-0.1, 1.5, NAN])
def test_a_share_that_is_none(any_device: Device[Any], q: float) -> None:
    with pytest.raises(ConfigError, match="from 0 to 1"):
        const([1.0, 2.0], any_device).quantile(q, 0)


def test_indices_have_no_gradient() -> None:
    x = leaf([1.0, 2.0], Autodiff.over(NDARRAY.device()))
    for indices in (x.argsort(0), x.topk_with_indices(1, 0)[1], x.median_with_indices(0)[1]):
        assert indices.primitive.node is None or indices.primitive.node.is_constant


# Extremes with places, and distances from 0


def test_extremes_along_several_dims(device: Device[Any]) -> None:
    x, wanted = const(X, device), X.astype(str(device.float_dtype))
    assert x.max_dims((0, -1)).to_numpy().tolist() == wanted.max((0, 2), keepdims=True).tolist()
    assert x.min_dims((1,)).to_numpy().tolist() == wanted.min(1, keepdims=True).tolist()
    assert x.max_abs_dims((0, 1)).to_numpy().tolist() == np.abs(wanted).max((0, 1), keepdims=True).tolist()
    assert x.max_abs_dim(-1).to_numpy().tolist() == np.abs(wanted).max(2, keepdims=True).tolist()
    assert x.max_abs().to_numpy().tolist() == [np.abs(wanted).max()]
    values, indices = x.min_dim_with_indices(1)
    assert values.to_numpy().tolist() == wanted.min(1, keepdims=True).tolist()
    assert indices.to_numpy().tolist() == wanted.argmin(1, keepdims=True).tolist()


def test_variance_and_mean_together(base: UnderTest) -> None:
    x = const(X, base.device())
    for found, correction in ((x.var_mean(1), 1), (x.var_mean_bias(1), 0)):
        wanted = X.var(1, ddof=correction, keepdims=True), X.mean(1, keepdims=True)
        for part, exact in zip(found, wanted, strict=True):
            assert_close(part.to_numpy(), exact, tolerance=base.tolerance)


def test_the_extremes_of_nothing(any_device: Device[Any]) -> None:
    empty = Tensor.zeros((0, 3), any_device)
    for wrong in (lambda: empty.max_abs(), lambda: empty.max_dims((0,)), lambda: empty.max_abs_dim(0)):
        with pytest.raises(ShapeError, match="no elements"):
            wrong()
