"""`unfold`, and that adding its windows up is its adjoint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import BASES, UnderTest, assert_close, const, gradient_of, params, tracked
from tinyburn import Autodiff, Meta, NdArray, ShapeError, Tensor

sizes = st.integers(1, 4)


@given(
    shape=st.lists(st.integers(0, 6), min_size=1, max_size=3).map(tuple),
    at=st.integers(0, 2),
    size=sizes,
    step=sizes,
    dilation=sizes,
    seed=st.integers(0, 99),
)
def test_inner_products_agree(shape: tuple[int, ...], at: int, size: int, step: int, dilation: int, seed: int) -> None:
    """``<unfold(x), y> == <x, add_windows(y)>`` for every x and y; in whole numbers, so exactly."""
    draw, dim = np.random.default_rng(seed), at % len(shape)
    x = draw.integers(-9, 10, shape)
    windows = NdArray.unfold(x, dim, size, step, dilation)
    y = draw.integers(-9, 10, windows.shape)
    added = NdArray.add_windows(y, dim, shape[dim], step, dilation)
    assert added.shape == shape
    assert (windows * y).sum() == (x * added).sum()


@pytest.mark.parametrize("base", params(BASES))
def test_a_gradient_counts_how_often_each_element_is_seen(base: UnderTest) -> None:
    x = const(np.arange(6.0), base.inside(Autodiff).device()).require_grad()
    windows = x.unfold(0, 3, 1)
    assert windows.to_numpy().tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert gradient_of(x, windows.sum().backward()).tolist() == [1, 2, 3, 3, 2, 1]


@pytest.mark.parametrize("base", params(BASES))
def test_windows_are_views_and_stay_right_in_views_of_views(base: UnderTest) -> None:
    device = base.device()
    values = np.arange(24.0).reshape(4, 6)
    x = const(values, device)
    seen = x.transpose().flip((0,))[1:].unfold(0, 2, 2).unfold(1, 3, 1)
    assert device.backend.shares_buffer(seen.primitive, x.primitive)
    wanted = np.lib.stride_tricks.sliding_window_view(values.T[::-1][1:], (2, 3))[::2]
    assert_close(seen.to_numpy(), np.moveaxis(wanted, 2, 2))


@pytest.mark.parametrize("base", params(BASES))
def test_windows_of_many_places_are_added_up_in_several_calls(base: UnderTest) -> None:
    """More than a thread of a GPU may look through in one call."""
    device = base.inside(Autodiff).device("float32")
    x = const(np.ones(20_000), device).require_grad()
    found = gradient_of(x, x.unfold(0, 17_000, 1000).sum().backward())
    starts = np.arange(4) * 1000
    wanted = sum((np.arange(20_000) >= start) & (np.arange(20_000) < start + 17_000) for start in starts)
    assert_close(found, wanted, "float32")


def test_dims_count_from_the_end_and_no_window_may_fit() -> None:
    x = Tensor.ones((2, 5), Meta.device())
    assert x.unfold(-1, 2, 1, dilation=3).shape == (2, 2, 2)
    assert x.unfold(0, 3, 1).shape == (0, 5, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, 1, 1), "dim 2 does not exist"),
        ((0, 0, 1), "size is 0, and must be a whole number of 1 or more"),
        ((0, 1, -1), "step is -1"),
        ((0, 1, 1, 1.5), "dilation is 1.5"),
        ((0, True, 1), "size is True"),
    ],
)
def test_what_cannot_be_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        Tensor.ones((3, 2), tracked()).unfold(*arguments)


def test_a_seventh_dim_is_refused() -> None:
    with pytest.raises(ShapeError, match="6 is the highest rank"):
        Tensor.ones((1, 1, 1, 1, 1, 1), tracked()).unfold(0, 1, 1)
