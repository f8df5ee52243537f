"""Timed: where the time of a rank goes. It computes, it waits for the others, and it sends."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from tinyburn.backend import Device
from tinyburn.base.shape import num_elements
from tinyburn.tensor.checks import check_device

from .communicator import Communicator, E, Primitive, check_comm

T = TypeVar("T")
Doing: TypeAlias = Literal["compute", "wait", "send"]


class Span(NamedTuple):
    """A time in which a rank does one thing.

    Attributes:
        doing: ``compute`` is whatever the program does between two calls of the communicator; ``wait`` is for the last
            rank to come to a meeting; ``send`` is the exchange of a tensor's values.
        name: of the meeting or the exchange; empty for ``compute``.
        start, stop: seconds since the lap began.
        bytes: of the tensor that is exchanged, else 0. What goes over the network for it is another number: see
            docs/parallel.md.
    """

    doing: Doing
    name: str
    start: float
    stop: float
    bytes: int

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.stop - self.start


Lap: TypeAlias = tuple[Span, ...]
"""What one rank did from one `Timed.lap` to the next."""


class Timed(Communicator):
    """``Timed(Mpi())`` does what `Mpi` does, and takes the times.

    Put it in the place of the communicator, and call `lap` after each step; `tinyburn.viz.rank_timeline` draws the
    laps of all ranks. A rank for which the others wait has a longer part of the batch, or a slower machine.

    Args:
        comm: the communicator that does the work.
        device: the one that is computed on. A GPU computes while the program goes on, so each time is taken after a
            ``device.sync()``; that makes a step a little slower.
        clock: the time in seconds.

    Raises ConfigError for what is no communicator, and BackendMismatch for what is no device.
    """

    def __init__(
        self, comm: Communicator, device: Device[Any] | None = None, clock: Callable[[], float] = perf_counter
    ) -> None:
        check_comm("Timed", comm)
        if device is not None:
            check_device("parallel.Timed", device)
        self.rank, self.size, self.sums_half = comm.rank, comm.size, comm.sums_half
        self.comm = comm
        self._device, self._clock = device, clock
        self._spans: list[Span] = []
        self._began = self._last = self._now()

    def __repr__(self) -> str:
        return f"Timed({self.comm!r})"

    def lap(self) -> Lap:
        """What this rank has done since the lap before, or since this was made. A new lap begins."""
        self._end("compute")
        spans = tuple(self._spans)
        self._spans = []
        self._began = self._last
        return spans

    def _meet(self, place: str, numbers: tuple[float, ...]) -> list[tuple[float, ...]]:
        return self._timed("wait", place.partition("\n")[0], 0, partial(self.comm.meet, place, *numbers))

    def tell(self, words: str) -> None:
        """See `Communicator`."""
        self.comm.tell(words)

    def on_every_rank(self, error: E) -> E:
        """See `Communicator`."""
        return self.comm.on_every_rank(error)

    def renew(self) -> None:
        """See `Communicator`."""
        self.comm.renew()

    def gather(self, place: str, value: Any) -> list[Any]:
        """See `Communicator`."""
        return self._timed("wait", place, 0, partial(self.comm.gather, place, value))

    def _timed(self, doing: Doing, name: str, size: int, work: Callable[[], T]) -> T:
        """Its result. What came before it was computing."""
        self._end("compute")
        try:
            return work()
        finally:
            self._end(doing, name, size)

    def _end(self, doing: Doing, name: str = "", size: int = 0) -> None:
        now = self._now()
        self._spans.append(Span(doing, name, self._last - self._began, now - self._began, size))
        self._last = now

    def _now(self) -> float:
        if self._device is not None:
            self._device.sync()
        return self._clock()

    def _exchange(self, name: str, a: Primitive, work: Callable[[], Primitive]) -> Primitive:
        return self._timed("send", name, num_elements(a.shape) * a.dtype.itemsize, work)

    def _send(self, root: int, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        return self._exchange("broadcast", a, partial(self.comm._send, root, device, a, may_overwrite))

    def _sum(self, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        return self._exchange("all_reduce", a, partial(self.comm._sum, device, a, may_overwrite))

    def _sum_part(self, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        return self._exchange("reduce_scatter", a, partial(self.comm._sum_part, device, a, may_overwrite))

    def _join(self, count: int, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        return self._exchange("all_gather", a, partial(self.comm._join, count, device, a, may_overwrite))
