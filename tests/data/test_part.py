"""A loader that reads its part of every batch: the parts of all ranks are the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tinyburn import ConfigError, DataError, NdArray, data

ITEMS, BATCH = 11, 4


def loader(part: tuple[int, int] = (0, 1), **options: Any) -> data.DataLoader[Any]:
    x = np.arange(ITEMS * 2.0).reshape(ITEMS, 2)
    items = data.InMemory([{"x": row, "y": at} for at, row in enumerate(x)])
    return data.DataLoader(items, BATCH, NdArray.device(), shuffle=True, seed=3, part=part, **options)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_the_parts_of_a_batch_are_the_batch(ranks: int, workers: int) -> None:
    whole = [batch["y"].to_numpy().tolist() for batch in loader()]
    found: list[list[int]] = [[] for _ in whole]
    for rank in range(ranks):
        with loader((rank, ranks), workers=workers) as parts:
            batches = list(parts)
        assert len(batches) == len(parts) == len(whole)
        for place, batch in zip(found, batches, strict=True):
            place += batch["y"].to_numpy().tolist()
            assert batch["x"].shape == (batch["y"].shape[0], 2)
    assert found == whole


def test_a_rank_without_items_has_tensors_without_samples() -> None:
    """Of the last batch of 3 items the fourth of four ranks has none; a batcher of the user's own is asked as usual."""
    *_, last = loader((3, 4))
    assert last["x"].shape == (0, 2)
    assert last["y"].shape == (0,)

    def batcher(items: list[Any], device: Any) -> Any:
        assert items, "it is never asked to make a batch of nothing"
        return data.DataLoader, [item["y"] for item in items]

    *_, (kind, numbers) = loader((3, 4), batcher=batcher)
    assert kind is data.DataLoader
    assert numbers == []


@pytest.mark.parametrize("transposed", [False, True])
def test_what_no_sample_can_be_taken_out_of_is_an_error_and_counts_nowhere_twice(transposed: bool) -> None:
    class Own:
        """A batch of a class that nobody knows."""

    def batcher(items: list[Any], device: Any) -> Any:
        return np.zeros((2, len(items))) if transposed else Own()

    reason = "a ndarray has 2 rows for one sample" if transposed else "a Own is none of these"
    with pytest.raises(DataError, match=f"this process has no item of a batch, and {reason}"):
        list(loader((3, 4), batcher=batcher))


def test_a_state_of_one_part_is_that_of_every_other() -> None:
    """So a training that n processes have left is gone on with by m."""
    left = loader((1, 2))
    next(iter(left))
    here, there = loader((0, 3)), loader()
    here.load_state(left.state())
    there.load_state(left.state())
    rest = [batch["y"].to_numpy().tolist() for batch in there]
    assert len(rest) == 2
    assert [batch["y"].to_numpy().tolist() for batch in here] == [numbers[: -(-len(numbers) // 3)] for numbers in rest]


@pytest.mark.parametrize("part", [(1, 1), (0, 0), (-1, 2), [0, 1], (0,), (0.0, 1)])
def test_a_part_is_one_of_a_number(part: Any) -> None:
    with pytest.raises(ConfigError, match="part"):
        loader(part)
