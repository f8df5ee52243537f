"""A rank that goes wrong ends all of them, within seconds, with a message that says what it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.parallel import faults
from tests.parallel.ranks import SECONDS, Ended, ended, needs_mpi, started

PROGRAM = Path(faults.__file__)
RANKS = 3
PLAIN, RUN = (), ("-m", "mpi4py")
"""As ``mpiexec -n 3 python train.py``, and by mpi4py's own way to start a program."""

pytestmark = needs_mpi
both_ways = pytest.mark.parametrize(
    "by", [PLAIN, pytest.param(RUN, marks=pytest.mark.variants)], ids=["python", "mpi4py"]
)


def variant(*values: object) -> Any:
    return pytest.param(*values, marks=pytest.mark.variants)


def end_of(fault: str, folder: Path, by: tuple[str, ...] = PLAIN) -> Ended:
    end = ended(started(PROGRAM, RANKS, folder, fault, by=by))
    check_gone(folder)
    return end


def check_gone(folder: Path) -> None:
    """Nothing is left behind. A process that has been killed may take a moment to be gone."""
    pids = [int(path.read_text(encoding="utf-8")) for path in folder.glob("*.pid")]
    assert len(pids) == RANKS
    wait_until(lambda: not any(map(is_alive, pids)))
    assert [pid for pid in pids if is_alive(pid)] == []


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not is_so() and time.monotonic() < deadline:
        os.sched_yield()


def is_alive(pid: int) -> bool:
    """One that has ended, and that nobody has asked how, is a zombie: it runs no more."""
    try:
        os.kill(pid, 0)
        state = Path("/proc", str(pid), "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return not sys.platform.startswith("linux") and _answers(pid)
    return state != "Z"


def _answers(pid: int) -> bool:
    return subprocess.run(["ps", "-p", str(pid)], capture_output=True).returncode == 0


def test_a_program_without_a_fault_ends_well(tmp_path: Path) -> None:
    """What the others are compared with: it is not the ending that fails."""
    end = end_of("none", tmp_path)
    assert end.code == 0
    assert sorted(end.output.splitlines()) == [f"rank {rank} is done" for rank in range(RANKS)]
    assert end.errors == ""


@both_ways
def test_a_rank_that_raises_is_the_first_to_speak(tmp_path: Path, by: tuple[str, ...]) -> None:
    end = end_of("raise", tmp_path, by)
    assert end.code == 1
    first = end.errors.splitlines()[0]
    assert first == "rank 1 of 3 has this error, so all of them end:"
    assert "ArithmeticError: the disk of rank 1 is full" in end.errors
    assert "Traceback" in end.errors
    assert "is done" not in end.output


@both_ways
def test_a_rank_that_ends_early_is_told_of(tmp_path: Path, by: tuple[str, ...]) -> None:
    end = end_of("early", tmp_path, by)
    assert end.code == 1
    assert "RanksDiffer: the ranks are at different places" in end.errors
    assert "rank 1     : the end of the program" in end.errors
    assert "ranks 0, 2 : all_reduce of these gradients" in end.errors


@pytest.mark.variants
def test_a_rank_that_exits_is_one_that_ends_early(tmp_path: Path) -> None:
    end = end_of("exit", tmp_path)
    assert end.code != 0
    assert "the end of the program" in end.errors


def test_a_call_that_the_others_do_not_make(tmp_path: Path) -> None:
    end = end_of("order", tmp_path)
    assert end.code == 1
    assert "rank 1     : broadcast from 0 of (2,) float32" in end.errors
    assert "ranks 0, 2 : all_reduce of these gradients" in end.errors


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        variant("model", ("at         : same_start of a model", "ranks 0, 2 : bias (2,) float32, parameter")),
        variant("shape", ("rank 1     : all_reduce of (5,) float32", "ranks 0, 2 : all_reduce of (4,) float32")),
        variant("dtype", ("rank 1     : all_reduce of (4,) float64", "ranks 0, 2 : all_reduce of (4,) float32")),
        variant("frozen", ("rank 1     : bias (2,) float32, frozen", "ranks 0, 2 : bias (2,) float32, parameter")),
    ],
)
def test_what_does_not_fit_together_is_no_wrong_sum(tmp_path: Path, fault: str, said: tuple[str, ...]) -> None:
    end = end_of(fault, tmp_path)
    assert end.code == 1
    for line in said:
        assert line in end.errors


@pytest.mark.variants
def test_weights_that_are_none(tmp_path: Path) -> None:
    end = end_of("negative", tmp_path)
    assert end.code == 1
    assert "ConfigError: all_reduce\n  because rank 1 has -1 samples" in end.errors


def test_a_rank_that_is_killed(tmp_path: Path) -> None:
    end = end_of("kill", tmp_path)
    assert end.code in (9, 137), "that of SIGKILL, as mpiexec or as a shell has it"
    assert "is done" not in end.output


@pytest.mark.variants
def test_an_interrupt_of_one_rank_has_the_status_of_an_interrupt(tmp_path: Path) -> None:
    end = end_of("interrupted", tmp_path)
    assert end.code == 130
    assert "KeyboardInterrupt" in end.errors


def test_ctrl_c_reaches_the_ranks_that_wait(tmp_path: Path) -> None:
    process = started(PROGRAM, RANKS, tmp_path, "wait")
    wait_until((tmp_path / "waits").exists)
    process.send_signal(signal.SIGINT)
    end = ended(process)
    check_gone(tmp_path)
    assert end.code == 130
    assert "KeyboardInterrupt" in end.errors
    assert "is done" not in end.output
