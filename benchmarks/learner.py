"""What the Learner adds to the loop that it stands for: an epoch of each, in turn, with the same losses bit for bit.

The batches are in memory and the metric is the loss, so all of the difference is the Learner's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mlp import Mlp
from race import RACES, race, repeated_row, timer
from result import Row, Target

from tinyburn import Autodiff, NdArray, Tensor, nn, optim, train

WIDTHS = (784, 256, 10)
BATCH, STEPS = 128, 20
LOOP = "the loop written out"

Batches = list[tuple[Any, Any]]


def make_batches(device: Any) -> Batches:
    random = np.random.default_rng(0)
    pairs = [(random.random((BATCH, WIDTHS[0]), np.float32), random.integers(0, 10, BATCH)) for _ in range(STEPS)]
    return [(Tensor.from_data(x, device), Tensor.from_data(labels, device)) for x, labels in pairs]


def written_out(batches: Batches, device: Any) -> Callable[[], list[float]]:
    """An epoch of the loop in the Learner's docstring, with the model kept for the next one."""
    device.seed(1)
    model = [Mlp(WIDTHS, device)]
    optimizer, loss_of = optim.AdamConfig().init(), nn.CrossEntropyLossConfig().init(device)
    scheduler = optim.ConstantLrSchedulerConfig(1e-3).init()

    def epoch() -> list[float]:
        losses, trained = [], model.pop()
        for x, target in batches:
            loss = loss_of(trained(x), target)
            losses.append(loss.into_scalar())
            grads = loss.backward()
            trained = optimizer.step(scheduler.step(), trained, grads)
        model.append(trained)
        return losses

    return epoch


def by_learner(batches: Batches, device: Any, metrics: Any = ()) -> Callable[[], list[float]]:
    device.seed(1)
    loss_of = nn.CrossEntropyLossConfig().init(device)
    learner = train.Learner(Mlp(WIDTHS, device), optim.AdamConfig().init(), loss_of, lr=1e-3, metrics=metrics)

    def epoch() -> list[float]:
        return learner.fit(batches).losses[-STEPS:]

    return epoch


def run() -> list[Row]:
    device = Autodiff[NdArray].device()
    batches = make_batches(device)
    rows = []
    cases: list[tuple[str, Any, list[Target]]] = [
        ("loss alone", (), [Target("ratio", 1.03)]),
        ("with accuracy", (train.Accuracy(),), []),
    ]
    for case, metrics, targets in cases:
        races = []
        for _ in range(RACES):
            epochs = {"tinyburn": by_learner(batches, device, metrics), LOOP: written_out(batches, device)}
            first, second = (epoch() for epoch in epochs.values())
            assert first == second, "the losses differ"
            races.append(race({name: timer(epoch) for name, epoch in epochs.items()}, 25))
        title = f"{'-'.join(map(str, WIDTHS))} at {BATCH}, {STEPS} steps, {case}"
        rows.append(repeated_row("learner", title, races, "tinyburn", LOOP, "ms", *targets))
    return rows
