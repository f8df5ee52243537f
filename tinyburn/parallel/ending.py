"""How a program of several ranks ends: all of them together, whatever happens to one.

MPI by itself waits. A rank that has ended by an exception is waited for by the others until somebody kills them, and
so is one that has done its work and gone while they still call it. So from the first communicator on an exception that
nobody catches ends all ranks, after it is printed; and at the end of the program they meet once more.
"""

from __future__ import annotations

import atexit
import io
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, suppress
from types import TracebackType
from typing import Any

from tinyburn.base.errors import RanksDiffer

from .communicator import Communicator

END = "the end of the program"

_FAILED, _STOPPED = 1, 130
"""What mpiexec returns after an exception, and after Ctrl-C: as of a shell's command."""

_HEARD_SECONDS = 0.5
"""How long a rank waits after its last words: mpiexec, told to end all, drops what it has not read yet."""
_OTHERS_SECONDS = 5.0
"""How long a rank whose error all have waits for another one to print it, and to end all of them."""

_communicators: list[Communicator] = []


def end_together(mpi: Any, comm: Communicator) -> None:
    """Arranges both for one more communicator."""
    if not _communicators:
        atexit.register(_finish, mpi)
        sys.excepthook = _Hook(mpi, sys.excepthook)
    _communicators.append(comm)


def tell_of(error: Exception, comm: Communicator) -> None:
    """Tells the others of an error that only this rank has, where they wait for it to come to a meeting.

    They raise RanksDiffer with its first line; so all ranks leave their step by an error, also where the exception is
    caught in the end, as in a notebook.
    """
    if comm.size > 1 and not getattr(error, "is_on_every_rank", False):
        line = next(iter(str(error).splitlines()), "")
        with suppress(RanksDiffer):
            comm.meet(f"{type(error).__name__}: {line}")


class _Hook:
    """Prints an exception as before, with the rank it is of, and ends all ranks."""

    def __init__(self, mpi: Any, before: Any) -> None:
        self._mpi, self._before = mpi, before

    def __repr__(self) -> str:
        return "_Hook()"

    def __call__(self, kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        def describe() -> None:
            self._before(kind, error, traceback)

        code = _STOPPED if issubclass(kind, KeyboardInterrupt) else _FAILED
        _end_all(self._mpi, describe, code, getattr(error, "is_on_every_rank", False))


def _finish(mpi: Any) -> None:
    """The last meeting. Who comes to another one learns that this rank has ended, and so does this one."""
    try:
        for comm in _communicators:
            comm.meet(END)
    except KeyboardInterrupt:
        _end_all(mpi, lambda: print("KeyboardInterrupt", file=sys.stderr), _STOPPED, False)
    except RanksDiffer as error:
        words = f"RanksDiffer: {error}"
        _end_all(mpi, lambda: print(words, file=sys.stderr), _FAILED, True)


def _end_all(mpi: Any, describe: Callable[[], None], code: int, is_on_every_rank: bool) -> None:
    """Prints what ``describe`` prints, in one piece, and ends all ranks. Of an error that all have one rank speaks."""
    world = mpi.COMM_WORLD
    if is_on_every_rank and world.rank > 0:
        time.sleep(_OTHERS_SECONDS)
    words = io.StringIO()
    with redirect_stderr(words):
        describe()
    who = "all ranks have this error" if is_on_every_rank else f"rank {world.rank} of {world.size} has this error"
    sys.stdout.flush()
    sys.stderr.write(f"{who}, so all of them end:\n{words.getvalue()}")
    sys.stderr.flush()
    time.sleep(_HEARD_SECONDS)
    world.Abort(code)
