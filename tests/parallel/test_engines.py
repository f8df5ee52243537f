"""Ranks for a notebook: what a cell with ``%%px`` finds, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.parallel.ranks import MPIEXEC, ROOT, SECONDS, needs_mpi
from tests.parallel.test_faults import wait_until
from tinyburn import BackendUnavailable, ConfigError, parallel

SIZE = 2


@pytest.fixture(scope="module")
def engines() -> Iterator[parallel.Engines]:
    pytest.importorskip("ipyparallel")
    if MPIEXEC is None:
        pytest.skip("there is no mpiexec: pip install mpi4py mpich")
    with parallel.Engines(SIZE) as ranks:
        ranks._view.execute("from tinyburn import parallel; comm = parallel.Mpi()")  # as a cell with %%px does
        yield ranks


def test_results_come_by_rank(engines: parallel.Engines) -> None:
    assert repr(engines) == "Engines(2)"
    assert sorted(engines.run(lambda text: (text, len(text)), "abc")) == [("abc", 3)] * 2
    assert engines["comm.rank"] == [0, 1]


def test_variables_are_fetched_from_all_ranks(engines: parallel.Engines) -> None:
    engines._view.execute("mine = [comm.rank]")
    assert engines["mine"] == [[0], [1]]
    engines["given"] = {"a": 1}
    assert engines["given"] == [{"a": 1}] * 2


def test_each_rank_has_one_thread_for_its_arithmetic(engines: parallel.Engines) -> None:
    def threads() -> str | None:
        import os

        return os.environ.get("MKL_NUM_THREADS")

    assert engines.run(threads) == ["1", "1"]
    assert "MKL_NUM_THREADS" not in os.environ, "what was set for them is not set here"


def fail_on_rank_1() -> None:
    from tinyburn.parallel.ending import _communicators

    comm = _communicators[0]
    if comm.rank == 1:
        raise ZeroDivisionError("division by zero")
    comm.meet("without rank 1")


def go_on(anew: bool) -> list[str]:
    """It is no cell: right after one that has failed, a kernel may pass over the next."""
    from tinyburn.parallel.ending import _communicators

    comm = _communicators[0]
    if anew:
        comm.renew()
    found: list[str] = comm.gather("after", "here")
    return found


@pytest.mark.parametrize("way", ["cell", "function"])
def test_what_fails_on_one_rank_ends_on_the_others(engines: parallel.Engines, way: str) -> None:
    """And after that all of them go on."""
    cell = "if comm.rank == 1: 1 / 0\ncomm.meet('without rank 1')"
    with pytest.raises(Exception, match="exceptions raised") as caught:
        engines._view.execute(cell, silent=False) if way == "cell" else engines.run(fail_on_rank_1)
    text = "\n".join(caught.value.render_traceback())
    assert "ZeroDivisionError" in text
    assert "rank 1 has failed: ZeroDivisionError: division by zero" in text
    assert engines.run(go_on, True) == [["here", "here"]] * 2


def test_a_mistake_in_a_cell_of_all_ranks_costs_nothing(engines: parallel.Engines) -> None:
    with pytest.raises(Exception, match="exceptions raised"):
        engines._view.execute("cmom.gather('after', 'here')", silent=False)
    assert engines.run(go_on, False) == [["here", "here"]] * 2


def test_what_has_been_stopped_says_so() -> None:
    ranks = parallel.Engines.__new__(parallel.Engines)
    ranks.size, ranks._end = 2, SimpleNamespace(alive=False)
    for ask in (lambda: ranks.run(len, "abc"), lambda: ranks["x"]):
        with pytest.raises(ConfigError, match=r"have been stopped[\s\S]*parallel\.Engines\(2\)"):
            ask()


# How they end


def processes_in(folder: Path) -> list[str]:
    """The command lines of processes that have to do with a folder, by their environment or their arguments."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:  # it has ended
            continue
        if str(folder).encode() in words and int(process.name) != os.getpid():
            found.append(words[:200].decode(errors="replace"))
    return found


@needs_mpi
@pytest.mark.variants
@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("ranks.stop(); ranks.stop(); raise SystemExit(3)", 3),
        ("del ranks", 0),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ],
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
        env={**os.environ, "IN": str(tmp_path)},  # which the ranks have from it too
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    printed, _ = process.communicate(timeout=2 * SECONDS)
    assert process.returncode == code, printed
    wait_until(lambda: processes_in(tmp_path) == [] and list(tmp_path.iterdir()) == [])
    assert processes_in(tmp_path) == []
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
