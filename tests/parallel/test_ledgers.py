"""The ledger of each rank is the plan that was made for it, and a sharded state is an n-th of the whole."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import Any

import pytest

from tests.parallel import ledgers
from tests.parallel.ranks import answers, needs_mpi
from tests.parallel.training import WAYS, Net, one_step
from tinyburn import Autodiff, Meta, Tensor, Wgpu, memory, optim, parallel

PROGRAM = Path(ledgers.__file__)
MODEL_BYTES = 4 * (6 * 8 + 8 + 8 * 8 + 8 + 8 * 3 + 3)
"""Of the parameters that are trained, counted by hand: three layers in float32, one of them in two places."""
STATES = {"momentum": 1, "adam": 2, "clipped": 2}
PARAMS = 10
"""How many the model has, frozen ones too: each share of them may have one number more than an n-th."""


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return answers(PROGRAM, 3, tmp_path_factory.mktemp("few"), "adam")


@pytest.fixture(scope="module", params=[2, 3, 4, 7])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return answers(PROGRAM, request.param, tmp_path_factory.mktemp("many"), *STATES)


def check_plans(ranks: list[Any], optimizer: str, way: str) -> None:
    for rank, answer in enumerate(ranks):
        for batch in ledgers.BATCHES:
            found = answer[f"{optimizer}, {way}, {batch}"]
            measured, planned = found["peak"]
            assert found["same"], f"rank {rank}, batch {batch}: not the same events"
            assert measured == planned
            assert "communication" in found["phases"]
            assert found["communication"] > 0


def check_states(ranks: list[Any], optimizer: str) -> None:
    whole, size = STATES[optimizer] * MODEL_BYTES, len(ranks)
    for way in WAYS:
        found = [answer[f"{optimizer}, {way}, 8"]["state"] for answer in ranks]
        if way.startswith("sharded"):
            assert sum(found) == whole, "each number is kept by one rank"
            assert max(found) <= ceil(whole / size) + STATES[optimizer] * 4 * PARAMS
        else:
            assert found == [whole] * size


@needs_mpi
@pytest.mark.parametrize("way", WAYS)
def test_each_rank_does_what_was_planned_for_it(few: list[Any], way: str) -> None:
    check_plans(few, "adam", way)


@needs_mpi
@pytest.mark.variants
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("optimizer", STATES)
def test_each_of_any_number_of_ranks_does_what_was_planned(many: list[Any], optimizer: str, way: str) -> None:
    check_plans(many, optimizer, way)


@needs_mpi
@pytest.mark.variants
def test_so_does_a_gpu_whose_tensors_go_through_the_host(tmp_path: Path) -> None:
    if not Wgpu.devices():
        pytest.skip("there is no adapter for WebGPU")
    ranks = answers(PROGRAM, 2, tmp_path, "wgpu")
    for way in WAYS:
        check_plans(ranks, "wgpu", way)


@needs_mpi
def test_a_sharded_state_is_an_nth_of_the_whole(few: list[Any]) -> None:
    check_states(few, "adam")


@needs_mpi
@pytest.mark.variants
@pytest.mark.parametrize("optimizer", STATES)
def test_so_it_is_of_any_number_of_ranks(many: list[Any], optimizer: str) -> None:
    check_states(many, optimizer)


def test_a_plan_for_many_ranks_needs_none_of_them() -> None:
    """Of 1 024 ranks the first keeps one number of each moment of each parameter: none of them has more than 64."""
    config = optim.AdamConfig()

    def job(device: Any, batch_size: int) -> Any:
        comm = parallel.Pretend(0, 1024)
        model = parallel.same_start(Net(device), comm)
        optimizer = parallel.Sharded(config.init(), comm, bucket_bytes=0)
        x, y = Tensor.ones((batch_size, 6), device), Tensor.zeros((batch_size, 3), device)
        return one_step(comm, "sharded", optimizer, model, x, y)[0], optimizer

    report = memory.plan(job, 16, device=Autodiff[Meta].device())
    most = max(row.at_largest for row in report.categories.rows if row.name == "optimizer")
    assert most == 2 * 4 * 8, "two moments in float32, of the eight parameters that the loss reaches"
    largest = memory.max_batch_size(job, 64 * 1024, device=Autodiff[Meta].device())
    assert largest.peak_bytes <= 64 * 1024 < largest.next_peak_bytes
