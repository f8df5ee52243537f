"""Engines: ranks for a notebook. ``mpiexec`` starts them on this machine, and ``%%px`` runs a cell on each of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any
from weakref import finalize

from tinyburn.base.errors import BackendUnavailable, ConfigError
from tinyburn.base.machine import how_to_install
from tinyburn.base.shape import is_count

from .ending import called

_SECONDS = 60
"""The most that a start may take."""
_QUIET = 40  # errors alone are logged
_SETTINGS = "--block --no-stream --progress-after -1"
"""Of ``%%px``: it waits for all ranks, and then shows what they have printed, rank by rank. So a cell that runs twice
has the same output."""
_THREADS: dict[str, str] = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Engines:
    """``ranks = Engines(4)``: four processes of ipyparallel's, which MPI connects, until ``ranks.stop()``.

    In a notebook a cell that begins with ``%%px`` is run by each of them, with variables of its own; there
    ``parallel.Mpi()`` is the communicator. ``ranks["loss"]`` fetches a variable from all of them, ``ranks["x"] = 3``
    hands one to them, and ``ranks.run(function, ...)`` calls a function on each. As a context manager it stops them at
    the end. They end with the notebook's kernel in any case. Each has one thread for its arithmetic, as ranks share the
    machine's cores.

    If the cell of one rank fails, those that wait for it raise RanksDiffer. Then all call ``comm.renew()``, or make a
    new `Mpi`.

    Args:
        size: how many ranks.

    Raises BackendUnavailable, with the way to get it, where ipyparallel, mpi4py or ``mpiexec`` is missing, or where the
    ranks do not start; and ConfigError for what is asked of ranks that have been stopped.
    """

    def __init__(self, size: int) -> None:
        if not is_count(size) or size < 1:
            raise ConfigError("Engines", f"size is {size!r}, and must be a whole number above 0")
        self.size = size
        ipyparallel, ends = _library(), ExitStack()
        self._end = finalize(self, ends.close)  # by `stop`, or with this object, or with Python
        try:
            self._view: Any = self._started(ipyparallel, ends)
            self._activate()
        except BaseException as error:
            self.stop()
            if not isinstance(error, Exception):
                raise
            hint = "try mpiexec -n 2 python -c 'import mpi4py.MPI' in a terminal: it should say nothing"
            raise BackendUnavailable("parallel.Engines", f"{size} ranks do not start: {error}", hint=hint) from error

    def _started(self, ipyparallel: Any, ends: ExitStack) -> Any:
        """All ranks, as ipyparallel has them. What is to be done at the end is put into ``ends``, the last first."""
        folder = ends.enter_context(TemporaryDirectory(prefix="tinyburn-ranks-"))
        cluster = ipyparallel.Cluster(n=self.size, engines="mpi", profile_dir=folder, log_level=_QUIET)
        ends.callback(cluster.stop_cluster_sync)
        with _environment():
            cluster.start_cluster_sync()
        launchers = [cluster.controller, *cluster.engines.values()]
        ends.enter_context(_watched(folder, [launcher.pid for launcher in launchers]))
        client = cluster.connect_client_sync()
        ends.callback(client.close)
        client.wait_for_engines(self.size, timeout=_SECONDS, interactive=False)
        return client[:]

    def __repr__(self) -> str:
        return f"Engines({self.size})"

    def __enter__(self) -> Engines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def run(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What ``function(*arguments)`` returns on each rank, by rank. All of them are sent through `pickle`."""
        results: list[Any] = self._running().apply_sync(called, function, *arguments)
        return results

    def __getitem__(self, name: str) -> list[Any]:
        """The value of a variable on each rank, by rank."""
        values: list[Any] = self._running().pull(name, block=True)
        return values

    def __setitem__(self, name: str, value: Any) -> None:
        """Gives each rank a variable. It is sent through `pickle`."""
        self._running().push({name: value}, block=True)

    def stop(self) -> None:
        """Ends the ranks. To do it again does nothing."""
        self._end()

    def _running(self) -> Any:
        if not self._end.alive:
            hint = f"start others: ranks = parallel.Engines({self.size})"
            raise ConfigError("Engines", "these ranks have been stopped", hint=hint)
        return self._view

    def _activate(self) -> None:
        """``%%px``, where there is a notebook."""
        self._view.block = True
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        if shell is not None:
            self._view.activate()
            shell.run_line_magic("pxconfig", _SETTINGS)


_WATCH = """
import os, shutil, signal, sys
sys.stdin.read()  # until the other end of the pipe is closed, as it is with its process
folder, *pids = sys.argv[1:]
for pid in map(int, pids):
    try:
        os.kill(pid, signal.SIGTERM)
    except OSError:
        pass
shutil.rmtree(folder, ignore_errors=True)
"""


@contextmanager
def _watched(folder: str, pids: list[int]) -> Iterator[None]:
    """Another process ends what was started, and removes the folder, if this one is killed and cannot do it itself."""
    command = [sys.executable, "-c", _WATCH, folder, *map(str, pids)]
    watch = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield
    finally:
        watch.kill()
        watch.communicate()


@contextmanager
def _environment() -> Iterator[None]:
    """What is started inside finds this Python's programs, and has one thread for arithmetic."""
    before = dict(os.environ)
    os.environ.update(_THREADS, PATH=_path())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _path() -> str:
    return os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])


def _library() -> Any:
    """The module ipyparallel. Raises BackendUnavailable if anything is missing."""
    needed = ("ipyparallel", "mpi4py")
    missing = [f"it needs the package {name}, which is not installed" for name in needed if find_spec(name) is None]
    if shutil.which("mpiexec", path=_path()) is None:
        missing.append("there is no mpiexec, which starts the ranks")
    if missing:
        hint = f"{how_to_install('ipyparallel mpi4py mpich', 'lab')} brings all of them; mpich is not for Windows"
        raise BackendUnavailable("parallel.Engines", missing, hint=hint)
    return import_module("ipyparallel")
