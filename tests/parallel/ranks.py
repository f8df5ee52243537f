"""Programs of several ranks, started as a user starts them: by ``mpiexec``."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
SECONDS = 20
"""The most that any end may take, of a fault too."""

needs_mpi = pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec: pip install mpi4py mpich")


@dataclass(frozen=True)
class Ended:
    """How a program ended: what mpiexec returned, and what stood on the terminal."""

    code: int
    output: str
    errors: str

    @property
    def terminal(self) -> str:
        return self.output + self.errors


def started(program: Path, ranks: int, *words: object, by: tuple[str, ...] = ("-m", "mpi4py")) -> subprocess.Popen[str]:
    """The program on so many ranks, in a session of its own. Each has one thread."""
    assert MPIEXEC is not None
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.Popen(
        [MPIEXEC, "-n", str(ranks), sys.executable, *by, str(program), *map(str, words)],
        env={**os.environ, **threads, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(process: subprocess.Popen[str], seconds: float = SECONDS) -> Ended:
    """Waits for it. One that hangs is killed, with all that it has started, and fails the test."""
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        pytest.fail(f"it did not end within {seconds} s:\n{output}{errors}")
    return Ended(process.returncode, output, errors)


def answers(program: Path, ranks: int, folder: Path, *words: object, seconds: float = 120) -> list[Any]:
    """What each rank of a program that goes well writes into ``folder`` as JSON."""
    end = ended(started(program, ranks, folder, *words), seconds)
    assert end.code == 0, end.terminal
    assert end.terminal == "", end.terminal
    return [json.loads((folder / f"{rank}.json").read_text(encoding="utf-8")) for rank in range(ranks)]


def answer(comm: Any, folder: str, value: Any) -> None:
    """The other side of it."""
    Path(folder, f"{comm.rank}.json").write_text(json.dumps(value), encoding="utf-8")
