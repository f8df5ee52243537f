"""Mpi: the processes that ``mpiexec`` has started, through mpi4py."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from hashlib import blake2b
from importlib import import_module
from typing import Any

import numpy as np

from tinyburn.backend import Device
from tinyburn.base.errors import BackendUnavailable, ConfigError, RanksDiffer
from tinyburn.base.machine import how_to_install
from tinyburn.base.shares import share_counts

from .communicator import MOST_NUMBERS, Communicator, E, Primitive, Values, differing, on_host, ranks_named, spoken_by
from .ending import end_together

_DIGEST = 16
_MESSAGE = _DIGEST + 8 * MOST_NUMBERS
"""The bytes of a meeting, from each rank to all: a digest of the place, and the numbers as float64."""

_MEETING_SECONDS, _EXCHANGE_SECONDS, _PAUSE_SECONDS = 2e-3, 0.1, 2e-4
"""How long a rank that waits asks without a pause, and how long a pause is: others may need its core. In an exchange
all ranks are there, and MPI moves on only when it is asked."""

_MOMENT_SECONDS = 1.0
"""How long a rank that has failed waits for the others to say that they have, too."""

_FAILURE = 7
"""The tag of what a rank tells that has failed."""


class Mpi(Communicator):
    """The ranks of MPI's world, or of a communicator of mpi4py's own.

    Start the program by ``mpiexec -n 4 python train.py``. Under plain ``python`` it is a world of one.

    From the first `Mpi` on, a rank that ends by an exception prints it and ends the others with it, where MPI would
    leave them waiting; in a notebook, where a failed cell ends nobody, the others that wait for it raise RanksDiffer.
    And at the end of the program all ranks meet, so one that ends early is told of and not waited for.

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
        self._given = given
        try:
            self._open(given.Dup())  # what the program itself sends through ``comm`` cannot meet what goes on here
        except self._mpi.Exception as error:
            hint = "make one Mpi() and keep it; after a failure, comm.renew() goes on with it"
            raise BackendUnavailable("parallel.Mpi", f"MPI has no further communicator: {error}", hint=hint) from error
        self.rank, self.size = self._comm.rank, self._comm.size
        self._kept: list[Any] = []
        if self.size > 1:
            end_together(self._mpi, self)

    def __reduce__(self) -> Any:
        reason = "a communicator is of its process"
        raise ConfigError("pickle", reason, hint="make an Mpi() in each process")

    def _open(self, comm: Any) -> None:
        self._comm: Any = comm
        self._heard = np.empty((comm.size, _MESSAGE), np.uint8)  # an earlier one may still be written to
        self._done = 0  # how many meetings and exchanges this rank has finished
        self._failed: dict[int, tuple[int, str]] = {}  # rank: what it had finished then, and its words
        self._has_told = self._is_interrupted = False

    def _meet(self, place: str, numbers: tuple[float, ...]) -> list[tuple[float, ...]]:
        if self.size == 1:
            return [numbers]
        brought = np.zeros(MOST_NUMBERS)
        brought[: len(numbers)] = numbers
        said = np.frombuffer(_digest(place) + brought.tobytes(), np.uint8)
        self._finish(place, lambda: self._comm.Iallgather(said, self._heard), _MEETING_SECONDS)
        if (self._heard[:, :_DIGEST] != said[:_DIGEST]).any():
            raise self.on_every_rank(differing(self._gathered(place)))
        rows = self._heard[:, _DIGEST:].copy().view(np.float64)
        return [tuple(row[: len(numbers)]) for row in rows.tolist()]

    def gather(self, place: str, value: Any) -> list[Any]:
        """See `Communicator`."""
        if self.size == 1:
            return [value]
        content = pickle.dumps(value)  # what cannot be sent fails here, before the others come
        self.meet(place)
        return [pickle.loads(each) for each in self._gathered_bytes(content)]

    def _gathered(self, words: str) -> list[str]:
        return [each.decode() for each in self._gathered_bytes(words.encode())]

    def _gathered_bytes(self, content: bytes) -> list[bytes]:
        sizes = np.empty(self.size, np.int64)
        own = np.array([len(content)], np.int64)
        self._finish("gather", lambda: self._comm.Iallgather(own, sizes))
        whole = np.empty(int(sizes.sum()), np.uint8)
        self._finish(
            "gather", lambda: self._comm.Iallgatherv(np.frombuffer(content, np.uint8), [whole, sizes.tolist()])
        )
        parts = np.split(whole, np.cumsum(sizes)[:-1])
        return [part.tobytes() for part in parts]

    # Failures

    def tell(self, words: str) -> None:
        """See `Communicator`."""
        if self.size > 1 and not self._has_told:
            self._has_told = True
            others = (rank for rank in range(self.size) if rank != self.rank)
            self._kept += [self._comm.isend((self._done, words), rank, _FAILURE) for rank in others]

    @property
    def has_failed(self) -> bool:
        """Whether this rank has told of a failure, or has left a meeting or an exchange before its end."""
        return self._has_told or self._is_interrupted

    def is_usable(self) -> bool:
        """False after a failure, until `renew`. If all ranks fail at one place, as by a mistake in a notebook's cell,
        they are still together, and nothing is lost."""
        if self._has_told and not self._is_interrupted and self._have_all_failed_here():
            self._failed, self._has_told = {}, False
        return not self.has_failed

    def _have_all_failed_here(self) -> bool:
        """Whether each of the others has told of a failure at the same place, or does within a moment."""
        until = time.perf_counter() + _MOMENT_SECONDS
        while len(self._failed) < self.size - 1 and time.perf_counter() < until:
            self._receive()
            time.sleep(_PAUSE_SECONDS)
        done = {done for done, _ in self._failed.values()}
        return len(self._failed) == self.size - 1 and done == {self._done}

    def renew(self) -> None:
        """See `Communicator`."""
        if self.has_failed:
            fresh, request = self._given.Idup()
            self._poll(request, _MEETING_SECONDS, lambda: None)
            self._open(fresh)

    def _receive(self) -> None:
        """Takes in what other ranks have told."""
        status = self._mpi.Status()
        while self._comm.iprobe(self._mpi.ANY_SOURCE, _FAILURE, status):
            self._failed[status.source] = self._comm.recv(source=status.source, tag=_FAILURE)

    def _listen(self) -> None:
        """Raises RanksDiffer if a rank will not come to what this one waits for: when it failed, it had not finished
        more than this rank has now."""
        self._receive()
        for rank, (done, words) in self._failed.items():
            if done <= self._done:
                reason = f"rank {rank} has failed: {words}"
                hint = "after that, all ranks call comm.renew(), or make a new Mpi()"
                error = RanksDiffer("the ranks are at different places", reason, hint=hint)
                raise spoken_by(error, self._world_ranks([rank])[0], f"the others of rank {rank} have")

    def _finish(self, place: str, start: Callable[[], Any], seconds: float = _EXCHANGE_SECONDS) -> None:
        """Starts something that all ranks do together, and waits for its end."""
        if not self.is_usable():
            reason = "these ranks are at different places since one of them failed, or was interrupted"
            raise RanksDiffer(
                place.partition("\n")[0], reason, hint="call comm.renew(), or make a new Mpi(), on all ranks"
            )
        request = start()
        try:
            self._poll(request, seconds, self._listen)
        except BaseException:
            self._is_interrupted = True
            self._kept.append(request)  # MPI may still write into its memory
            raise
        self._done += 1

    def _poll(self, request: Any, seconds: float, listen: Callable[[], None]) -> None:
        """Asks again and again, so that Ctrl-C and failures of others reach a rank that waits for them. For so many
        seconds it asks without a pause."""
        began = time.perf_counter()
        while not request.Test():
            listen()
            if time.perf_counter() - began < seconds:
                os.sched_yield() if hasattr(os, "sched_yield") else time.sleep(0)
            else:
                time.sleep(_PAUSE_SECONDS)

    def on_every_rank(self, error: E) -> E:
        """See `Communicator`."""
        ranks = self._world_ranks(range(self.size))
        is_world = len(ranks) == self._mpi.COMM_WORLD.size
        return spoken_by(error, ranks[0], "all ranks have" if is_world else f"{ranks_named(ranks)} have")

    def _world_ranks(self, ranks: Sequence[int]) -> list[int]:
        found: list[int] = self._comm.group.Translate_ranks(list(ranks), self._mpi.COMM_WORLD.group)
        return list(found)

    # On arrays

    def _send(self, root: int, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        def swap(values: Values, _: bool) -> Values:
            received = values if self.rank == root else np.empty_like(values)
            self._finish("broadcast", lambda: self._comm.Ibcast(_bytes_of(received), root))
            return received

        if self.rank == root and not device.backend.on_host:
            swap(device.backend.to_numpy(a), True)
            return a
        return on_host(swap, device, a, False)

    def _sum(self, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        def swap(values: Values, may_overwrite: bool) -> Values:
            total = values if may_overwrite else np.empty_like(values)
            given = self._mpi.IN_PLACE if may_overwrite else values
            self._finish("all_reduce", lambda: self._comm.Iallreduce(given, total))
            return total

        return on_host(swap, device, a, may_overwrite)

    def _sum_part(self, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        def swap(values: Values, _: bool) -> Values:
            counts = share_counts(len(values), self.size)
            part = np.empty(counts[self.rank], values.dtype)
            self._finish("reduce_scatter", lambda: self._comm.Ireduce_scatter(values, part, counts))
            return part

        return on_host(swap, device, a, may_overwrite)

    def _join(self, count: int, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        return on_host(partial(self._joined, count), device, a, may_overwrite)

    def _joined(self, count: int, values: Values, _: bool) -> Values:
        whole = np.empty(count, values.dtype)
        counts = [part * values.itemsize for part in share_counts(count, self.size)]
        self._finish("all_gather", lambda: self._comm.Iallgatherv(_bytes_of(values), [_bytes_of(whole), counts]))
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
