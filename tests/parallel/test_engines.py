"""Ranks for a notebook: what a cell with ``%%px`` finds, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parallel.ranks import MPIEXEC, ROOT, SECONDS, needs_mpi
from tinyburn import BackendUnavailable, ConfigError, parallel

SIZE = 2


@pytest.fixture(scope="module")
def engines() -> Iterator[parallel.Engines]:
    pytest.importorskip("ipyparallel")
    if MPIEXEC is None:
        pytest.skip("there is no mpiexec: pip install mpi4py mpich")
    with parallel.Engines(SIZE) as ranks:
        ranks.run(_world)
        yield ranks


def _world() -> None:
    """Names for the functions below, which run in the engines and not here."""
    from tinyburn import parallel

    globals().update(parallel=parallel, comm=parallel.Mpi())


def test_results_come_by_rank(engines: parallel.Engines) -> None:
    assert repr(engines) == "Engines(2)"
    assert engines.run(lambda add: (comm.rank + add, comm.size), 10) == [(10, 2), (11, 2)]  # type: ignore[name-defined]  # noqa: F821


def test_variables_are_fetched_from_all_ranks(engines: parallel.Engines) -> None:
    engines._view.execute("from tinyburn import parallel; mine = [parallel.Mpi().rank]")  # as a cell with %%px does
    assert engines["mine"] == [[0], [1]]


def test_each_rank_has_one_thread_for_its_arithmetic(engines: parallel.Engines) -> None:
    def threads() -> str | None:
        import os

        return os.environ.get("MKL_NUM_THREADS")

    assert engines.run(threads) == ["1", "1"]
    assert "MKL_NUM_THREADS" not in os.environ, "what was set for them is not set here"


def test_after_an_interrupted_meeting_a_new_communicator_goes_on(engines: parallel.Engines) -> None:
    """Rank 1 does not come, as one whose cell has failed. Rank 0 waits for it, until somebody interrupts."""

    def interrupted() -> str:
        import signal as signals
        from contextlib import suppress

        if comm.rank == 1:  # type: ignore[name-defined]  # noqa: F821
            return "away"
        signals.signal(signals.SIGALRM, signals.default_int_handler)
        signals.setitimer(signals.ITIMER_REAL, 0.2)
        with suppress(KeyboardInterrupt):
            comm.meet("alone")  # type: ignore[name-defined]  # noqa: F821
        try:
            comm.meet("again")  # type: ignore[name-defined]  # noqa: F821
        except Exception as error:
            return str(error)
        return "no error"

    said, away = engines.run(interrupted)
    assert away == "away"
    assert "again" in said
    assert "a meeting of these ranks was interrupted" in said
    assert "make a new Mpi() on all ranks" in said
    assert engines.run(lambda: parallel.Mpi().gather("after", "here")) == [["here", "here"]] * 2


# How they end


def processes_of(group: int) -> list[str]:
    """The command lines of a process group that are still running."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [row[2] for row in rows if int(row[0]) == group and not row[1].startswith("Z")]


@needs_mpi
def test_they_end_with_a_program_that_fails(tmp_path: Path) -> None:
    check_end(tmp_path, "1 / 0", 1)


@needs_mpi
@pytest.mark.variants
@pytest.mark.parametrize(
    ("end", "code"),
    [("ranks.stop(); ranks.stop()", 0), ("del ranks", 0), ("raise SystemExit(3)", 3), ("", 0)],
)
def test_they_end_with_the_program_however_it_ends(tmp_path: Path, end: str, code: int) -> None:
    check_end(tmp_path, end, code)


def check_end(tmp_path: Path, end: str, code: int) -> None:
    pytest.importorskip("ipyparallel")
    program = textwrap.dedent(f"""
        import tempfile
        from pathlib import Path

        from tinyburn import parallel

        tempfile.tempdir = {str(tmp_path)!r}
        ranks = parallel.Engines(1)
        assert len(list(Path({str(tmp_path)!r}).glob("tinyburn-ranks-*"))) == 1
        {end}
    """)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=2 * SECONDS)
    finally:
        left = processes_of(process.pid)
        for line in left:
            print("left:", line)
        if left:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == code, printed
    assert left == []
    assert list(tmp_path.iterdir()) == [], "nothing is left in the folder for temporary files"


# What cannot be


@pytest.mark.parametrize("size", [0, -1, 1.5, "4", None])
def test_a_size_is_a_number_of_ranks(size: Any) -> None:
    with pytest.raises(ConfigError, match="whole number above 0"):
        parallel.Engines(size)


def test_everything_that_is_missing_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from tinyburn.parallel import engines

    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    monkeypatch.setattr(engines.shutil, "which", lambda *_, **__: None)
    with pytest.raises(BackendUnavailable) as caught:
        parallel.Engines(2)
    message = str(caught.value)
    for part in ("ipyparallel", "mpi4py", "there is no mpiexec", 'pip install "tinyburn[lab]"'):
        assert part in message
