"""The plan before the run is the run: the same bytes, and the largest batch is exact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import tracked
from tests.train.models import Full, Plain, batches, learner
from tinyburn import memory, optim, train

OPTIONS: dict[str, Any] = {
    "plain": {},
    "clipped": {"clip": optim.GradientClippingConfig.GlobalNorm(0.1)},
    "accumulated": {"accumulate": 3},
    "watched": {"metrics": [train.GradientNorm(), train.Accuracy()]},
}


class Made:
    """Batches that are made when their turn comes, as a loader makes them."""

    def __init__(self, device: Any, size: int, count: int) -> None:
        self.device, self.size, self.count = device, size, count

    def __iter__(self) -> Iterator[Any]:
        for _ in range(self.count):
            yield batches(self.device, self.size, 1)[0]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("model", [Plain, Full])
def test_the_plan_is_what_a_run_measures(options: Any, model: Any) -> None:
    device = tracked("float32")

    def job(where: Any, size: int) -> Any:
        mine = learner(where, model, **options)
        mine.fit(Made(where, size, 2 * options.get("accumulate", 1)))
        return mine.model

    planned = learner(device, model, **options).plan(batches(device, 32, 1)[0])
    assert planned.peak_bytes == memory.measure(job, device, 32).peak_bytes


def test_the_largest_batch_fits_and_one_more_does_not() -> None:
    device = tracked("float32")
    mine = learner(device)
    (x, y), *_ = batches(device, 32, 1)
    plan = mine.plan((x, y), 200_000)
    assert plan.fits
    assert plan.largest is not None
    size = plan.largest.batch_size
    peaks = [
        mine.plan((x.repeat_dim(0, 30).narrow(0, 0, n), y.repeat_dim(0, 30).narrow(0, 0, n))) for n in (size, size + 1)
    ]
    assert peaks[0].peak_bytes <= 200_000 < peaks[1].peak_bytes
    assert f"the largest batch that fits is {size}" in str(plan)


def test_a_budget_that_not_even_one_sample_fits() -> None:
    device = tracked("float32")
    plan = learner(device).plan(batches(device, 32, 1)[0], 5_000)
    assert plan.fits is False
    assert plan.largest is None
    assert "does not fit into 5 000 B" in str(plan)
    assert "a batch of 1 needs" in str(plan)


def test_a_plan_changes_nothing() -> None:
    device = tracked("float32")
    data = batches(device, 32, 3)
    first, second = learner(device, Full), learner(device, Full)
    random = device.random_state()
    second.plan(data[0])
    assert device.random_state() == random
    second.plan(data[0], 100_000)
    first, second = learner(device, Full), learner(device, Full)
    losses = first.fit(data).losses
    device.seed(1)
    second = learner(device, Full)
    second.plan(data[0], 100_000)
    assert second.fit(data, after_step=lambda mine: mine.plan(data[0])).losses == losses
    assert second.plan(data[0]).fits is None


def test_groups_are_planned_too() -> None:
    device = tracked("float32")
    device.seed(1)
    groups = optim.Groups([optim.Group("*.bias", optim.SgdConfig()), optim.Group("*", optim.AdamConfig())])
    from tests.train.models import cross_entropy

    mine = train.Learner(Plain(device), groups, cross_entropy(device), lr=0.01)
    mine.fit(batches(device, 32, 2))
    assert mine.plan(batches(device, 32, 1)[0]).peak_bytes > 0
