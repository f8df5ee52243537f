"""Mpi: the processes that ``mpiexec`` has started, through mpi4py."""

from __future__ import annotations

import os
import time
from functools import lru_cache, partial
from hashlib import blake2b
from importlib import import_module
from typing import Any

import numpy as np

from tinyburn.backend import Device
from tinyburn.base.errors import BackendUnavailable, ConfigError, RanksDiffer
from tinyburn.base.machine import how_to_install
from tinyburn.base.shares import share_counts

from .communicator import MOST_NUMBERS, Communicator, Primitive, Values, differing, on_host
from .ending import end_together

_DIGEST = 16
_MESSAGE = _DIGEST + 8 * MOST_NUMBERS
"""The bytes of a meeting, from each rank to all: a digest of the place, and the numbers as float64."""

_EAGER_SECONDS, _PAUSE_SECONDS = 2e-3, 2e-4
"""How long a rank that waits asks without a pause, and how long a pause is: others may need its core."""


class Mpi(Communicator):
    """The ranks of MPI's world, or of a communicator of mpi4py's own.

    Start the program by ``mpiexec -n 4 python train.py``. Under plain ``python`` it is a world of one.

    From the first `Mpi` on, a rank that ends by an exception prints it and ends the others with it, where MPI would
    leave them waiting; and at the end of the program all ranks meet, so one that ends early is told of and not waited
    for.

    Args:
        comm: as ``MPI.COMM_WORLD.Split(color)``; None for the world. All of its ranks have to make an `Mpi` of it.

    Raises BackendUnavailable, with the way to get it, where mpi4py or a library of MPI is missing.
    """

    def __init__(self, comm: Any = None) -> None:
        self._mpi: Any = _library()
        given = self._mpi.COMM_WORLD if comm is None else comm
        if not isinstance(given, self._mpi.Comm):
            hint = "leave it out, or write Mpi(MPI.COMM_WORLD) with from mpi4py import MPI"
            raise ConfigError("Mpi", f"{type(given).__name__} is no communicator of mpi4py", hint=hint)
        self._comm: Any = given.Dup()  # what the program itself sends through ``comm`` cannot meet what goes on here
        self.rank, self.size = self._comm.rank, self._comm.size
        self._heard = np.empty((self.size, _MESSAGE), np.uint8)
        self._is_interrupted = False
        if self.size > 1:
            end_together(self._mpi, self)

    def __reduce__(self) -> Any:
        reason = "a communicator is of its process"
        raise ConfigError("pickle", reason, hint="make an Mpi() in each process")

    def meet(self, place: str, *numbers: float) -> list[tuple[float, ...]]:
        """See `Communicator`."""
        if self.size == 1:
            return [numbers]
        if self._is_interrupted:
            reason = "a meeting of these ranks was interrupted, so they may be at different places since then"
            raise RanksDiffer(
                place.partition("\n")[0], reason, hint="make a new Mpi() on all ranks, and go on with that"
            )
        brought = np.zeros(MOST_NUMBERS)
        brought[: len(numbers)] = numbers
        said = np.frombuffer(_digest(place) + brought.tobytes(), np.uint8)
        self._wait(self._comm.Iallgather(said, self._heard))
        if (self._heard[:, :_DIGEST] != said[:_DIGEST]).any():
            differing(self._comm.allgather(place))
        rows = self._heard[:, _DIGEST:].copy().view(np.float64)
        return [tuple(row[: len(numbers)]) for row in rows.tolist()]

    def gather(self, place: str, value: Any) -> list[Any]:
        """See `Communicator`."""
        if self.size == 1:
            return [value]
        self.meet(place)
        brought: list[Any] = self._comm.allgather(value)
        return brought

    def _wait(self, request: Any) -> None:
        """Asks again and again, so that Ctrl-C reaches a rank that waits for the others."""
        began = time.perf_counter()
        try:
            while not request.Test():
                if time.perf_counter() - began < _EAGER_SECONDS:
                    os.sched_yield() if hasattr(os, "sched_yield") else time.sleep(0)
                else:
                    time.sleep(_PAUSE_SECONDS)
        except BaseException:
            self._is_interrupted = True
            raise

    def _send(self, root: int, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        def swap(values: Values, _: bool) -> Values:
            received = values if self.rank == root else np.empty_like(values)
            self._comm.Bcast(_bytes_of(received), root)
            return received

        if self.rank == root and not device.backend.on_host:
            swap(device.backend.to_numpy(a), True)
            return a
        return on_host(swap, device, a, False)

    def _sum(self, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        def swap(values: Values, may_overwrite: bool) -> Values:
            total = values if may_overwrite else np.empty_like(values)
            self._comm.Allreduce(self._mpi.IN_PLACE if may_overwrite else values, total)
            return total

        return on_host(swap, device, a, may_overwrite)

    def _sum_part(self, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        def swap(values: Values, _: bool) -> Values:
            counts = share_counts(len(values), self.size)
            part = np.empty(counts[self.rank], values.dtype)
            self._comm.Reduce_scatter(values, part, counts)
            return part

        return on_host(swap, device, a, may_overwrite)

    def _join(self, count: int, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        return on_host(partial(self._joined, count), device, a, may_overwrite)

    def _joined(self, count: int, values: Values, _: bool) -> Values:
        whole = np.empty(count, values.dtype)
        counts = [part * values.itemsize for part in share_counts(count, self.size)]
        self._comm.Allgatherv(_bytes_of(values), [_bytes_of(whole), counts])
        return whole


def _bytes_of(values: Values) -> Values:
    """The same memory as bytes: a format that MPI does not know can be sent so too."""
    return values.view(np.uint8)


@lru_cache(maxsize=256)
def _digest(place: str) -> bytes:
    return blake2b(place.encode(), digest_size=_DIGEST).digest()


def _library() -> Any:
    """The module ``mpi4py.MPI``. To import it is to start MPI."""
    try:
        return import_module("mpi4py.MPI")
    except ImportError as error:
        reason = f"it needs the package mpi4py with a library of MPI: {error}"
    except RuntimeError as error:  # mpi4py is there, and finds no library
        reason = f"mpi4py finds no library of MPI: {error}"
    hint = f"{how_to_install('mpi4py mpich', 'mpi')} brings both, with mpiexec; Alone() needs neither"
    raise BackendUnavailable("parallel.Mpi", reason, hint=hint)
