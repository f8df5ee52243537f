"""Other people's code in processes of its own: each ends in time, and all of them end with whoever has started them.

Where the system can, they are forked from a server that has imported what they need. It is a process apart, so it has
none of our threads, and who kills it disturbs nobody: the next one gets a new one.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from threading import Lock, Timer
from time import monotonic
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

Report = Callable[..., None]
"""How a process tells its parent something: ``report(cell=3)``."""

Work = Callable[[Any, Report], None]
"""What a process does with its task."""

_PATIENCE = 2.0
"""In seconds: how long after its end we wait for what a process has told."""

_LONGEST = 100_000
"""In bytes: the longest thing that a process may tell."""

_DONE = b""
"""What a process tells at the end of its task."""

_SURROUNDINGS = {"MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""No window, and one thread, since several processes run side by side. NumPy reads it when it is imported."""


@dataclass(frozen=True)
class Ended:
    """What a process has told, and how it ended.

    Attributes:
        told: all of it, also of a process that was stopped. It should be JSON, but it can be anything.
        is_done: whether it has come to the end of its task.
        exit_code: negative for a signal; None if it took too long.
    """

    told: list[str]
    is_done: bool = False
    exit_code: int | None = None


class Processes:
    """Runs processes, some at a time. It is a context: nothing of them is alive after it, however it is left.

    Args:
        at_once: how many.
        imports: names of modules that all of them need.
    """

    def __init__(self, at_once: int, imports: Sequence[str] = ()) -> None:
        self._threads = ThreadPoolExecutor(at_once)
        has_server = "forkserver" in multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("forkserver" if has_server else "spawn")
        self._context.set_forkserver_preload(list(imports))
        self._running: set[Any] = set()
        self._lock = Lock()
        self._is_over = False
        self._before: dict[str, str | None] = {}

    def __repr__(self) -> str:
        return f"Processes({len(self._running)} running)"

    def __enter__(self) -> Processes:
        self._before = {name: os.environ.get(name) for name in _SURROUNDINGS}
        os.environ.update(_SURROUNDINGS)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self._is_over = True
            for process in self._running:
                _kill(process)
        self._threads.shutdown(cancel_futures=True)
        for name, value in self._before.items():
            os.environ.pop(name)
            os.environ.update({name: value} if value is not None else {})

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """A function of each item, which may call `run`, side by side; the results in the order of the items."""
        return self._threads.map(function, items)

    def run(self, work: Work, task: Any, seconds: float) -> Ended:
        """Does a task in a process, and waits for its end. All that the process has started ends with it."""
        receiving, sending = self._context.Pipe(duplex=False)
        with receiving:
            process = self._started(work, task, sending)
            sending.close()
            if process is None:
                return Ended([])
            try:
                return _heard(process, receiving, seconds)
            finally:
                with self._lock:
                    self._running.discard(process)

    def _started(self, work: Work, task: Any, sending: Connection) -> Any:
        """A new process; none if everything is over."""
        with self._lock:
            if self._is_over:
                return None
            process = self._context.Process(target=_inside, args=(work, task, sending))
            process.start()
            self._running.add(process)
            return process


def _heard(process: Any, receiving: Connection, seconds: float) -> Ended:
    """Listens until the task is done, the process has ended, or its time is over."""
    told: list[str] = []
    is_done, end = False, monotonic() + seconds
    alarm = Timer(seconds, _kill, [process])
    alarm.start()
    with suppress(EOFError, OSError):  # it has ended; or it tells nonsense
        while not is_done and receiving.poll(max(end - monotonic(), 0) + _PATIENCE):
            words = receiving.recv_bytes(_LONGEST)
            is_done = words == _DONE
            told += [] if is_done else [words.decode(errors="replace")]
    alarm.cancel()
    is_late = not is_done and monotonic() >= end
    if not is_late:
        process.join(_PATIENCE)
    _kill(process)
    process.join(_PATIENCE)
    return Ended(told, is_done, None if is_late else process.exitcode)


def _kill(process: Any) -> None:
    """Ends a process and its group, which can outlive it."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _inside(work: Work, task: Any, way: Connection) -> None:
    """What the process runs. Nothing that the task prints or reads leads anywhere."""
    if sys.platform != "win32":
        os.setsid()  # Ctrl-C is for the parent alone, and a whole group can be ended
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    work(task, lambda **what: way.send_bytes(json.dumps(what).encode()))
    way.send_bytes(_DONE)
    os._exit(0)  # not through what the task may have registered
