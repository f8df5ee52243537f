"""Processes that read batches ahead.

Batch number k of an epoch is read by worker k modulo the number of workers, and each worker answers in order through
a pipe of its own. So the order of the batches is known without a queue, a lock or a thread. A worker that reads ahead
has its answer waiting in the pipe.

Nothing is left behind: a worker holds one end of its pipe alone, so it ends when the other end is closed, in whatever
way the loop's process ends. It ignores Ctrl-C, which a terminal sends to every process: the loop answers it.

Why not `grain` (0.2.18, measured on two cores): its workers give the same order, but it writes to the terminal when
nothing is wrong (50 leaked pieces of shared memory at the end, a warning about JAX in each process) and prints two
tracebacks of its own after Ctrl-C; an error does not say its item; it has no wheel for Macs with Intel; and it takes
three times as long to import in every process as tinyburn.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import weakref
from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from time import perf_counter
from traceback import format_exc
from typing import Any

import numpy as np

from tinyburn.base.errors import ConfigError, DataError

from .dataset import Dataset
from .plan import Plan, Reader

AHEAD = 2
"""How many batches each worker is asked for before the loop needs them."""

PATIENCE = 2.0
"""Seconds that a worker has to end by itself; it is ended after that."""

APART = 1 << 14
"""Bytes from which an array is sent by itself, and not within the pickle."""


def work(pipe: Connection) -> None:
    """The whole life of a worker: takes the data set and the plan, then answers requests until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        reader = Reader(*pickle.loads(pipe.recv_bytes()))
        while True:
            run, epoch, number = pipe.recv()
            _send(pipe, run, number, *_answer(reader, epoch, number))
    except (EOFError, OSError):
        return
    except Exception as error:
        _send(pipe, -1, -1, "failed", f"{type(error).__name__}: {error}", 0.0)


def _answer(reader: Reader, epoch: int, number: int) -> tuple[str, Any, float]:
    """What became of a batch: ``"batch"`` or ``"error"``, the batch or the error, and the seconds it took."""
    start = perf_counter()
    try:
        return "batch", reader.read(epoch, number), perf_counter() - start
    except Exception as error:
        shown = error if isinstance(error, DataError) else DataError(f"batch {number}: {type(error).__name__}: {error}")
        shown.add_note(f"In a worker:\n{format_exc()}")
        return "error", shown, perf_counter() - start


def _send(pipe: Connection, *answer: Any) -> None:
    """A pickle in which large arrays are only named, and after it the bytes of each: they are copied once less."""
    buffers: list[pickle.PickleBuffer] = []

    def is_small(buffer: pickle.PickleBuffer) -> bool:
        small = buffer.raw().nbytes < APART
        if not small:
            buffers.append(buffer)
        return small

    head = pickle.dumps(answer, 5, buffer_callback=is_small)
    views = [buffer.raw() for buffer in buffers]
    pipe.send_bytes(pickle.dumps((head, [view.nbytes for view in views])))
    for view in views:
        pipe.send_bytes(view)


def _receive(pipe: Connection) -> Any:
    head, sizes = pickle.loads(pipe.recv_bytes())
    buffers = [np.empty(size, np.uint8) for size in sizes]
    for buffer in buffers:
        pipe.recv_bytes_into(buffer)
    return pickle.loads(head, buffers=buffers)


class Workers:
    """A fixed number of processes, which live until `close`, or until this object is gone.

    Raises:
        ConfigError: the data set cannot be sent to another process.
    """

    def __init__(self, dataset: Dataset[Any], plan: Plan, count: int) -> None:
        content = _pickled(dataset, plan)
        context = multiprocessing.get_context("spawn")
        self._runs = 0
        self.pipes: list[Connection] = []
        self.processes: list[BaseProcess] = []
        self.close = weakref.finalize(self, _end, self.pipes, self.processes)
        try:
            for number in range(count):
                mine, its = context.Pipe()
                process = context.Process(target=work, args=(its,), name=f"tinyburn-data-{number}", daemon=True)
                self.pipes.append(mine)
                process.start()
                self.processes.append(process)
                its.close()
            for number, pipe in enumerate(self.pipes):
                self._tell(number, lambda pipe=pipe: pipe.send_bytes(content))
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"Workers({len(self.processes)} processes)"

    def batches(self, epoch: int, first: int, count: int) -> Iterator[tuple[Any, float]]:
        """The batches of an epoch from one number to before another, in order, and the seconds that each took.

        Raises:
            DataError: an item could not be read: the first in the order of the batches. Or a worker has ended.
        """
        self._runs += 1
        run, last, workers = self._runs, first - 1, len(self.pipes)
        for number in range(first, count):
            while last < min(number + AHEAD * workers, count) - 1:
                last += 1
                pipe, request = self.pipes[last % workers], (run, epoch, last)
                self._tell(last % workers, lambda pipe=pipe, request=request: pipe.send(request))
            kind, value, seconds = self._answer_of(number % workers, run)
            if kind == "error":
                raise value
            yield value, seconds

    def _answer_of(self, worker: int, run: int) -> tuple[str, Any, float]:
        """The next answer of a worker; those to a pass that was broken off are passed over."""
        while True:
            run_of, _, kind, value, seconds = self._tell(worker, lambda: _receive(self.pipes[worker]))
            if kind == "failed":
                hint = "define what the data set uses in a module that a new process can import, or write workers=0"
                raise DataError("DataLoader", f"worker {worker} could not take the data set: {value}", hint=hint)
            if run_of == run:
                return kind, value, seconds

    def _tell(self, worker: int, act: Any) -> Any:
        """Something with a worker's pipe. Raises DataError if the worker has ended."""
        try:
            return act()
        except (EOFError, OSError):
            self.processes[worker].join(PATIENCE)
            code = self.processes[worker].exitcode
            reason = f"worker {worker} has ended, with exit code {code}"
            killed = f"a worker that ends with {code} was killed, maybe for want of memory"
            guard = 'a script with workers needs `if __name__ == "__main__":` around what it runs'
            raise DataError("DataLoader", reason, hint=killed if code and code < 0 else guard) from None


def _pickled(dataset: Dataset[Any], plan: Plan) -> bytes:
    try:
        return pickle.dumps((dataset, plan), 5)
    except Exception as error:
        reason = f"the data set cannot be sent to a worker: {type(error).__name__}: {error}"
        hint = "a worker needs functions that a module has under their names, no lambda; or write workers=0"
        raise ConfigError("DataLoader", reason, hint=hint) from None


def _end(pipes: list[Connection], processes: list[BaseProcess]) -> None:
    """Closes the pipes, so that every worker ends, and waits for that; it runs at most once."""
    for pipe in pipes:
        pipe.close()
    for process in processes:
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
