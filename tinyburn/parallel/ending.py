"""How a program of several ranks ends: all of them together, whatever happens to one.

MPI by itself waits. A rank that has ended by an exception is waited for by the others until somebody kills them, and
so is one that has done its work and gone while they still call it. So from the first communicator on an exception that
nobody catches ends all ranks, after it is printed; in a notebook, where the process goes on, the others are told of it;
and at the end of the program all of them meet once more.
"""

from __future__ import annotations

import atexit
import io
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from types import TracebackType
from typing import Any

from tinyburn.base.errors import RanksDiffer

from .communicator import Communicator, is_told, words_of

END = "the end of the program"

_FAILED, _STOPPED = 1, 130
"""What mpiexec returns after an exception, and after Ctrl-C: as of a shell's command."""

_HEARD_SECONDS = 0.5
"""How long a rank waits after its last words: mpiexec, told to end all, drops what it has not read yet."""
_OTHERS_SECONDS = 5.0
"""How long a rank whose error all have waits for another one to print it, and to end all of them."""

_communicators: list[Any] = []
"""Each `Mpi` of several ranks."""


def end_together(mpi: Any, comm: Any) -> None:
    """Arranges all of it for one more communicator."""
    if not _communicators:
        atexit.register(_finish, mpi)
        sys.excepthook = _Hook(mpi, sys.excepthook)
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        if shell is not None:
            shell.events.register("post_run_cell", _after_cell)
    _communicators.append(comm)


def tell_of(error: BaseException, comm: Communicator) -> None:
    """Tells the others of an error that they do not have. Those that wait for this rank, now or later, raise
    RanksDiffer with it; so all ranks leave their step by an error, also where the exception is caught in the end."""
    if not is_told(error):
        comm.tell(words_of(error))


def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns, on a rank whose process goes on if it fails."""
    try:
        return function(*arguments)
    except BaseException as error:
        _tell_all(error)
        raise


def _after_cell(result: Any) -> None:
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        _tell_all(error)


def _tell_all(error: BaseException) -> None:
    for comm in _communicators:
        tell_of(error, comm)


class _Hook:
    """Prints an exception as before, with the rank it is of, and ends all ranks."""

    def __init__(self, mpi: Any, before: Any) -> None:
        self._mpi, self._before = mpi, before

    def __repr__(self) -> str:
        return "_Hook()"

    def __call__(self, kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        _end_all(self._mpi, error, lambda: self._before(kind, error, traceback))


def _finish(mpi: Any) -> None:
    """The last meeting. Who comes to another one learns that this rank has ended, and so does this one."""
    try:
        for comm in _communicators:
            if comm.is_usable():
                comm.meet(END)
    except KeyboardInterrupt as error:
        _end_all(mpi, error, lambda: print("KeyboardInterrupt", file=sys.stderr))
    except RanksDiffer as error:
        words = f"RanksDiffer: {error}"
        _end_all(mpi, error, lambda: print(words, file=sys.stderr))


def _end_all(mpi: Any, error: BaseException, describe: Callable[[], None]) -> None:
    """Prints what ``describe`` prints, in one piece, and ends all ranks. Of an error that several have one speaks."""
    world = mpi.COMM_WORLD
    if getattr(error, "speaker", world.rank) != world.rank:
        time.sleep(_OTHERS_SECONDS)
    words = io.StringIO()
    with redirect_stderr(words):
        describe()
    who = getattr(error, "who", f"rank {world.rank} of {world.size} has")
    sys.stdout.flush()
    sys.stderr.write(f"{who} this error, so all of them end:\n{words.getvalue()}")
    sys.stderr.flush()
    time.sleep(_HEARD_SECONDS)
    world.Abort(_STOPPED if isinstance(error, KeyboardInterrupt) else _FAILED)
