"""A `Learner` on several ranks: the numbers of one process, one voice, and files for any number of ranks."""

from __future__ import annotations

import json
import signal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.parallel import learners
from tests.parallel.ranks import answers, ended, needs_mpi, started
from tests.parallel.test_faults import RANKS, check_gone, wait_until
from tinyburn import Autodiff, ConfigError, NdArray, Tensor, memory, nn, optim, parallel, record, train

PROGRAM = Path(learners.__file__)
SAME = ("plain", "accumulate", "clip", "sharded", "sharded clip", "early")
"""The cases that draw no random numbers, and so are those of one process."""


@pytest.fixture(scope="module", params=[3, *[pytest.param(n, marks=pytest.mark.variants) for n in (2, 4, 7)]])
def ranks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return answers(PROGRAM, request.param, tmp_path_factory.mktemp("learners"), "cases")


@cache
def alone() -> Any:
    return json.loads(json.dumps(learners.every_case(parallel.Alone())))


def check(found: list[Any], expected: Any) -> None:
    assert len({rank["bits"] for rank in found}) == 1, "all ranks have the same bits"
    for rank in found:
        np.testing.assert_allclose(rank["losses"], expected["losses"], rtol=1e-10)
        assert len(rank["rows"]) == len(expected["rows"])
        for row, wanted in zip(rank["rows"], expected["rows"], strict=True):
            assert row.keys() == wanted.keys()
            for name in wanted.keys() - {"peak bytes"}:
                np.testing.assert_allclose(row[name], wanted[name], rtol=1e-10, err_msg=name)
    for name, values in expected["values"].items():
        np.testing.assert_allclose(found[0]["values"][name], values, rtol=1e-10, atol=1e-10, err_msg=name)


@needs_mpi
@pytest.mark.parametrize("case", SAME)
def test_several_ranks_have_the_history_of_one(ranks: list[Any], case: str) -> None:
    check([rank[case] for rank in ranks], alone()[case])


@needs_mpi
def test_random_numbers_differ_and_models_do_not(ranks: list[Any]) -> None:
    found = [rank["noise"] for rank in ranks]
    assert len({rank["bits"] for rank in found}) == 1, "also what a batch norm has averaged"
    assert len({tuple(rank["random"]) for rank in found}) == len(ranks)
    assert all(rank["losses"] == found[0]["losses"] for rank in found)


@needs_mpi
def test_no_rank_needs_more_than_was_planned_for_one_process(ranks: list[Any]) -> None:
    (peak,) = {row["peak bytes"] for rank in ranks for row in rank["clip"]["rows"]}
    assert 0 < peak <= alone()["clip"]["rows"][-1]["peak bytes"]


@needs_mpi
@pytest.mark.parametrize(("written_by", "read_by"), [(3, 2), pytest.param(2, 4, marks=pytest.mark.variants)])
def test_a_state_of_n_ranks_is_gone_on_with_by_m(tmp_path: Path, written_by: int, read_by: int) -> None:
    file = tmp_path / "state.safetensors"
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    whole = answers(PROGRAM, written_by, tmp_path / "before", "save", file)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["after", "before", file.name], "one rank has written"
    check(answers(PROGRAM, read_by, tmp_path / "after", "resume", file), whole[0])
    check([json.loads(json.dumps(learners.resume(parallel.Alone(), str(file))))], whole[0])
    state = record.load(file)
    weight = state["optimizer"]["params"]["first.weight"]
    assert state["optimizer"]["optimizer"] == "Adam", "an optimizer that is not sharded can go on from it too"
    assert weight["steps"] == learners.SAVED_AT
    assert weight["first_moment"].values.shape == (4, 6)


@needs_mpi
def test_as_many_ranks_go_on_with_a_state_to_the_last_bit(tmp_path: Path) -> None:
    """Also where some rank has been without samples, and so has drawn fewer random numbers than the others."""
    file = tmp_path / "state.safetensors"
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    whole = answers(PROGRAM, 3, tmp_path / "before", "save", file, "noise")
    again = answers(PROGRAM, 3, tmp_path / "after", "resume", file, "noise")
    assert [rank["bits"] for rank in again] == [rank["bits"] for rank in whole]
    assert [rank["random"] for rank in again] == [rank["random"] for rank in whole]
    assert again[0]["losses"] == whole[0]["losses"]


# What goes wrong


@needs_mpi
@pytest.mark.variants
def test_another_number_of_batches_is_said_before_the_first_step(tmp_path: Path) -> None:
    end = ended(started(PROGRAM, RANKS, tmp_path, "fewer", by=()))
    check_gone(tmp_path)
    assert end.code == 1
    assert "rank 1     : epoch 1, of 4 batches, from batch 0 on" in end.errors
    assert "ranks 0, 2 : epoch 1, of 5 batches, from batch 0 on" in end.errors


@needs_mpi
@pytest.mark.variants
def test_a_loss_that_is_nan_on_one_rank_ends_all(tmp_path: Path) -> None:
    end = ended(started(PROGRAM, RANKS, tmp_path, "nan", by=()))
    check_gone(tmp_path)
    assert end.code == 1
    assert "NonFiniteLoss: Learner.fit" in end.errors


@needs_mpi
def test_ctrl_c_finishes_the_same_step_on_all_ranks(tmp_path: Path) -> None:
    process = started(PROGRAM, RANKS, tmp_path, "stop", by=())
    wait_until((tmp_path / "waits").exists)
    process.send_signal(signal.SIGINT)
    end = ended(process)
    check_gone(tmp_path)
    assert end.code == 0
    said = [json.loads((tmp_path / f"{rank}.json").read_text(encoding="utf-8")) for rank in range(RANKS)]
    assert said == [said[0]] * RANKS
    assert f"stopped by Ctrl-C after step {said[0][0]}" in said[0][1]
    assert end.output.count("stopped by Ctrl-C") == 1


# Arguments


def test_what_a_learner_takes_for_a_communicator() -> None:
    device = Autodiff[NdArray].device()
    model, loss = nn.LinearConfig(2, 2).init(device), nn.MseLoss()
    comm = parallel.Pretend(0, 2)
    sharded = parallel.Sharded(optim.AdamConfig().init(), comm)
    with pytest.raises(ConfigError, match=r"comm is 3, and should be a communicator"):
        train.Learner(model, optim.AdamConfig().init(), loss, lr=0.1, comm=3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"the optimizer shares by Pretend\(rank=0, size=2\)"):
        train.Learner(model, sharded, loss, lr=0.1)
    with pytest.raises(ConfigError, match="gradient norm looks at whole gradients"):
        train.Learner(model, sharded, loss, lr=0.1, comm=comm, metrics=[train.GradientNorm()])
    alone = parallel.Alone()
    sharded = parallel.Sharded(optim.AdamConfig().init(), alone)
    with pytest.raises(ConfigError, match="gradient norm looks at whole gradients"):  # as on several ranks
        train.Learner(model, sharded, loss, lr=0.1, comm=alone, metrics=[train.GradientNorm()])


def test_a_job_of_a_learner_is_planned_for_a_rank_of_many() -> None:
    """On shapes a whole training step of rank 3 of 64 runs on a laptop; its state is about a 64th."""

    def job(size: int) -> Any:
        def run(device: Any, batch_size: int) -> Any:
            comm = parallel.Alone() if size == 1 else parallel.Pretend(3, size)
            model = parallel.same_start(nn.LinearConfig(64, 64).init(device), comm)
            optimizer = parallel.Sharded(optim.AdamConfig().init(), comm)
            grads = model(Tensor.ones((batch_size, 64), device)).mean().backward()
            return optimizer.step(0.1, model, grads, batch_size), optimizer

        return run

    rows = [
        {row.name: row.at_largest for row in memory.plan(job(size), 8).categories.rows}["optimizer"] for size in (1, 64)
    ]
    assert rows == [2 * 4 * (64 * 64 + 64), 2 * 4 * 65]
