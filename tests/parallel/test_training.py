"""Several ranks train what one process trains, under real ``mpiexec``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.parallel import training
from tests.parallel.ranks import answers, needs_mpi
from tests.parallel.training import EVERY_OPTIMIZER, MORE_OPTIMIZERS, OPTIMIZERS, WAYS
from tinyburn import parallel

PROGRAM = Path(training.__file__)
KINDS = ("batches", "loader")
TOLERANCE = {"rmsprop": 1e-8}
"""It divides by the root of a mean of squares, which is near 0 for some numbers: there a rounding error grows."""
pytestmark = needs_mpi


@pytest.fixture(scope="module", params=[2, 3])
def few(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return answers(PROGRAM, request.param, tmp_path_factory.mktemp("few"))


@pytest.fixture(scope="module", params=[1, 2, 3, 4, 7])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return answers(PROGRAM, request.param, tmp_path_factory.mktemp("many"), "all", seconds=600)


@cache
def alone(kind: str, optimizer: str) -> dict[str, Any]:
    """One process, and no communicator that does anything."""
    train = training.trained if kind == "batches" else training.loaded
    return train(parallel.Alone(), "one each", EVERY_OPTIMIZER[optimizer])


def check(ranks: list[Any], kind: str, optimizer: str, way: str) -> None:
    found = [rank[f"{kind}, {optimizer}, {way}"] for rank in ranks]
    expected = alone(kind, optimizer)
    assert len({rank["bits"] for rank in found}) == 1, "all ranks have the same bits"
    for name, values in expected["values"].items():
        near = TOLERANCE.get(optimizer, 1e-12)
        np.testing.assert_allclose(found[0]["values"][name], values, rtol=near, atol=near, err_msg=name)
    for rank in found:
        np.testing.assert_allclose(rank["losses"], expected["losses"], rtol=TOLERANCE.get(optimizer, 1e-12))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("kind", KINDS)
def test_several_ranks_train_what_one_trains(few: list[Any], kind: str, optimizer: str, way: str) -> None:
    check(few, kind, optimizer, way)


@pytest.mark.variants
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("optimizer", [*OPTIMIZERS, *MORE_OPTIMIZERS])
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_ranks_trains_with_any_optimizer(many: list[Any], kind: str, optimizer: str, way: str) -> None:
    check(many, kind, optimizer, way)


def test_the_batches_have_shares_that_differ_and_shares_without_samples() -> None:
    """What the trainings above are about."""
    sizes = [[part.stop - part.start for part in shares] for shares in _shares(3)]
    assert [4, 4, 4] in sizes
    assert [3, 2, 2] in sizes
    assert [1, 0, 0] in sizes


def _shares(size: int) -> list[list[slice]]:
    ranks = [parallel.Pretend(rank, size) for rank in range(size)]
    return [[parallel.shard(batch, rank) for rank in ranks] for batch in training.BATCHES]


def test_training_has_moved_every_parameter_that_a_loss_reaches() -> None:
    """Else the comparisons above would compare nothing."""
    for kind in KINDS:
        trained = alone(kind, "sgd")["values"]
        device = training.Autodiff[training.NdArray].device(float_dtype="float64")
        start = training.described(training.fresh_model(device, parallel.Alone(), 3 if kind == "batches" else 4))
        moved = {name for name, values in trained.items() if values != start["values"][name]}
        assert moved == {name for name in trained if not name.startswith(("unused", "fixed"))}
