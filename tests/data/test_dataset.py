"""Data sets made from others: orders, splits and samples, by properties that hold for every size and seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyburn import ConfigError, DataError, data
from tinyburn.data.order import shuffled

SIZES = st.integers(0, 60)
SEEDS = st.integers(0, 2**70)


def numbers(count: int) -> data.Dataset[int]:
    return data.InMemory([*range(count)])


@given(SIZES, SEEDS)
def test_a_shuffle_has_every_item_once_and_the_same_order_for_the_same_seed(count: int, seed: int) -> None:
    order = [*numbers(count).shuffle(seed)]
    assert sorted(order) == [*range(count)]
    assert order == [*numbers(count).shuffle(seed)]


def test_orders_of_other_seeds_are_others_and_stay_what_they_were() -> None:
    orders = {tuple(numbers(20).shuffle(seed)) for seed in range(50)}
    assert len(orders) == 50
    assert [*numbers(8).shuffle(0)] == [*np.argsort(np.random.PCG64([0]).random_raw(8))]


def test_every_place_is_as_likely_for_every_item() -> None:
    """The mean of each place over many orders is that of the numbers, within five of its standard errors."""
    orders = np.array([numbers(10).order([seed]) for seed in range(2000)])
    assert np.abs(orders.mean(0) - 4.5).max() < 5 * np.sqrt((100 - 1) / 12 / 2000)


@given(st.lists(st.integers(0, 9), max_size=50).map(sorted), SEEDS, st.integers(1, 4))
def test_an_order_by_blocks_reads_each_window_of_blocks_once(blocks: list[int], seed: int, window: int) -> None:
    array = np.array(blocks, np.int64)
    order = shuffled(array, [seed], window)
    assert sorted(order.tolist()) == [*range(len(blocks))]
    spans = {block: np.flatnonzero(array[order] == block) for block in {*blocks}}
    for place in range(len(blocks)):
        assert sum(span[0] <= place <= span[-1] for span in spans.values()) <= window


@settings(max_examples=60)
@given(SIZES, st.lists(st.integers(1, 9), min_size=1, max_size=5), st.none() | SEEDS)
def test_the_parts_of_a_split_share_nothing_and_miss_nothing(count: int, parts: list[int], seed: int | None) -> None:
    shares = [part / sum(parts) for part in parts]
    cut = numbers(count).split(*shares, seed=seed)
    assert sorted(item for part in cut for item in part) == [*range(count)]
    for part, share in zip(cut, shares, strict=True):
        assert abs(len(part) - share * count) <= 1
    assert [[*part] for part in cut] == [[*part] for part in numbers(count).split(*shares, seed=seed)]


def test_a_split_by_numbers_of_items() -> None:
    first, second = numbers(5).split(3, 2)
    assert [*first] == [0, 1, 2]
    assert [*second] == [3, 4]
    assert [len(part) for part in numbers(1).split(1.0)] == [1]


@pytest.mark.parametrize("parts", [(), (0.5, 0.4), (3, 3), (-0.5, 1.5), (float("nan"), 1.0), (True,)])
def test_a_split_that_does_not_sum_up_is_refused(parts: Any) -> None:
    with pytest.raises(ConfigError, match="split"):
        numbers(5).split(*parts)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20).filter(any), SEEDS)
def test_a_sample_has_only_items_of_some_weight(weights: list[int], seed: int) -> None:
    drawn = [*numbers(len(weights)).sample(weights, seed, 40)]
    assert len(drawn) == 40
    assert all(weights[item] for item in drawn)


def test_a_sample_draws_by_weight() -> None:
    drawn = np.bincount([*numbers(3).sample([1, 2, 5], 0, 20_000)]) / 20_000
    np.testing.assert_allclose(drawn, [1 / 8, 2 / 8, 5 / 8], atol=0.02)


@pytest.mark.parametrize("weights", [[1.0], [0, 0, 0], [1, -1, 1], [1, float("inf"), 1], [[1, 1, 1]]])
def test_weights_that_no_draw_can_follow_are_refused(weights: Any) -> None:
    with pytest.raises(ConfigError, match="sample"):
        numbers(3).sample(weights, 0)


def test_map_filter_subset_and_concat() -> None:
    squares = numbers(5).map(lambda item: item * item)
    assert [*squares] == [0, 1, 4, 9, 16]
    assert [*squares.filter(lambda item: item % 2 == 0)] == [0, 4, 16]
    assert [*squares.subset([3, 0, 3, -1])] == [9, 0, 9, 16]
    both = squares.concat(numbers(2), numbers(0), numbers(1))
    assert [*both] == [0, 1, 4, 9, 16, 0, 1, 0]
    assert both[-1] == 0
    assert both.block_of(np.arange(8)).tolist() == [0, 0, 0, 0, 0, 1, 1, 3]


@pytest.mark.parametrize("index", [3, -4, 100])
def test_an_item_that_is_not_there_is_named(index: int) -> None:
    for dataset in (
        numbers(3),
        numbers(3).shuffle(0),
        numbers(1).concat(numbers(2)),
        data.InMemory.from_arrays(np.ones(3)),
    ):
        with pytest.raises(IndexError, match="there are 3 items") as caught:
            dataset[index]
        assert isinstance(caught.value, data.NoSuchItem)
    with pytest.raises(data.NoSuchItem, match=str(index)):
        numbers(3).subset([0, index])


def test_what_an_item_raises_names_the_item() -> None:
    ratios = data.InMemory([4, 2, 0]).map(lambda item: 1 / item)
    with pytest.raises(DataError, match="item 2 raised ZeroDivisionError") as caught:
        ratios.shuffle(0).filter(bool)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_the_data_sets_of_scikit_learn() -> None:
    picture, digit = data.digits()[0]
    assert (picture.shape, picture.dtype, digit) == ((8, 8), "float32", 0)
    assert {len(data.shipped(name)) for name in ("iris", "wine", "diabetes")} == {150, 178, 442}
    assert data.shipped("linnerud")[0][1].shape == (3,)
    with pytest.raises(ConfigError, match="digits"):
        data.shipped("mnist")


def test_a_package_that_is_missing_is_named_with_the_way_to_install_it() -> None:
    from tinyburn.data.shipped import optional

    with pytest.raises(ImportError, match="pip install some-package"):
        optional("some_package_that_is_not_there", "some-package", "data.something()")
