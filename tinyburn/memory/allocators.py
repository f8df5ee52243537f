"""Allocators, simulated: what the pool of another backend would do with the buffers of a log.

A log says when each buffer is made and freed, and how many bytes it has. That is all that an allocator ever hears. So
what it rounds up, and what it keeps, can be told without it: by replaying the log on a model of it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeGuard

from tinyburn.backend import Kind
from tinyburn.backend.gpus import WGPU_ROUNDING, WGPU_SHELF_BYTES
from tinyburn.backend.log import EventLog
from tinyburn.base.errors import ConfigError

from .extras import Row
from .measure import MemoryReport

CUDA_ROUNDING = 512
"""CuPy rounds sizes up to a multiple of this many bytes, as NVIDIA's driver aligns what it hands out."""


@dataclass(eq=False)
class Chunk:
    """Memory that is in use, or held for the next buffer. Two of the same size are not equal.

    Attributes:
        size: its bytes, rounded up.
        before: the chunk that ends where this one begins, if both were cut from one block; else None.
        after: the one that begins where this one ends.
    """

    size: int
    before: Chunk | None = None
    after: Chunk | None = None


class Allocator:
    """Takes each buffer from the system, with the bytes that are asked for, and gives it back at once.

    NumPy does that, in the backend ``ndarray``. What the system's own library does below is not in here.

    Attributes:
        in_use: the bytes of all chunks that are in use.
        reserved: the bytes that it holds of the system's, in use or not.
    """

    rounding = 1

    def __init__(self) -> None:
        self.in_use = 0
        self.reserved = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_use} B of {self.reserved} B in use)"

    def take(self, size: int) -> Chunk:
        """A chunk for a buffer of ``size`` bytes."""
        rounded = -(-size // self.rounding) * self.rounding
        chunk = self._find(rounded) if rounded else None  # nothing is asked of the system for an empty buffer
        if chunk is None:
            chunk = Chunk(rounded)
            self.reserved += rounded
        self.in_use += rounded
        return chunk

    def give_back(self, chunk: Chunk) -> None:
        """The buffer is freed."""
        self.in_use -= chunk.size
        if chunk.size:
            self._keep(chunk)

    def _find(self, size: int) -> Chunk | None:
        """A chunk of exactly this size out of those that are kept; None if there is none."""
        return None

    def _keep(self, chunk: Chunk) -> None:
        """What happens to a chunk that is not used any more."""
        self.reserved -= chunk.size


class ShelfPool(Allocator):
    """The pool of the backend ``wgpu``: each size has a shelf of its own, and nothing is given back by itself."""

    rounding = WGPU_ROUNDING

    def __init__(self) -> None:
        super().__init__()
        self._shelves: dict[int, list[Chunk]] = {}

    def _find(self, size: int) -> Chunk | None:
        shelf = self._shelves.get(size)
        if shelf:
            return shelf.pop()
        if self.reserved - self.in_use > WGPU_SHELF_BYTES:
            self._shelves.clear()
            self.reserved = self.in_use
        return None

    def _keep(self, chunk: Chunk) -> None:
        self._shelves.setdefault(chunk.size, []).append(chunk)


class SplittingPool(Allocator):
    """CuPy's pool, which the backend ``cuda`` uses: it cuts large chunks, joins free neighbours, gives nothing back.

    Of several free chunks of the same size CuPy takes any one: it keeps them in a set, which has no order. Here it is
    the one that was freed last. Which one it is decides later whether neighbours are free to be joined, so for some
    jobs CuPy itself takes more or less from the driver from run to run, and this is one of its answers.
    """

    rounding = CUDA_ROUNDING

    def __init__(self) -> None:
        super().__init__()
        self._free: dict[int, dict[Chunk, None]] = {}  # by size; of one size in the order in which they were freed
        self._sizes: list[int] = []  # those that are free, in order

    def _find(self, size: int) -> Chunk | None:
        """The smallest free chunk that is large enough. What it has too much stays free, as its neighbour."""
        place = bisect_left(self._sizes, size)
        if place == len(self._sizes):
            return None
        chunk = next(reversed(self._free[self._sizes[place]]))
        self._take_out(chunk)
        if chunk.size > size:
            self._put_in(_cut(chunk, size))
        return chunk

    def _keep(self, chunk: Chunk) -> None:
        """Joins it with the free chunks on both sides, so that a larger buffer fits again."""
        if self._is_free(chunk.after):
            chunk = self._join(chunk, chunk.after)
        if self._is_free(chunk.before):
            chunk = self._join(chunk.before, chunk)
        self._put_in(chunk)

    def _join(self, left: Chunk, right: Chunk) -> Chunk:
        """Two neighbours become one, which is free, and on no list until `_keep` puts it there."""
        for chunk in (left, right):
            if self._is_free(chunk):
                self._take_out(chunk)
        joined = Chunk(left.size + right.size, left.before, right.after)
        _link(joined.before, joined)
        _link(joined, joined.after)
        return joined

    def _is_free(self, chunk: Chunk | None) -> TypeGuard[Chunk]:
        return chunk is not None and chunk in self._free.get(chunk.size, {})

    def _put_in(self, chunk: Chunk) -> None:
        if chunk.size not in self._free:
            self._free[chunk.size] = {}
            insort(self._sizes, chunk.size)
        self._free[chunk.size][chunk] = None

    def _take_out(self, chunk: Chunk) -> None:
        del self._free[chunk.size][chunk]
        if not self._free[chunk.size]:
            del self._free[chunk.size]
            del self._sizes[bisect_left(self._sizes, chunk.size)]


def _cut(chunk: Chunk, size: int) -> Chunk:
    """Leaves the first ``size`` bytes in the chunk, and returns the rest as a new one."""
    rest = Chunk(chunk.size - size)
    chunk.size = size
    _link(rest, chunk.after)
    _link(chunk, rest)
    return rest


def _link(left: Chunk | None, right: Chunk | None) -> None:
    """Makes two chunks neighbours; None is the end of the block."""
    if left is not None:
        left.after = right
    if right is not None:
        right.before = left


ALLOCATORS: dict[str, type[Allocator]] = {"ndarray": Allocator, "wgpu": ShelfPool, "cuda": SplittingPool}
"""The model of each backend's allocator, by the backend's name."""


def simulate(report: MemoryReport, backend: str) -> MemoryReport:
    """The same job with the allocator of another backend, from an empty pool: a replay of the log on a model of it.

    Payload and categories stay as they are, since they depend on the program alone. ``padding`` and ``cached`` become
    the model's, and every row that is known is ``simulated``, since nothing ran on that backend.

    The model hears what the log says, the bytes of tensors as tinyburn counts them. So it leaves out what a
    backend does beyond that: Wgpu stores a bool in four bytes, and some operations use a buffer of their own while they
    run. Where a job has neither, the model of ``wgpu`` equals the real pool to the byte.

    Args:
        report: of `measure` or `plan`.
        backend: whose allocator: ``ndarray``, ``wgpu`` or ``cuda``.

    Raises:
        ConfigError: there is no model of that name.
    """
    if backend not in ALLOCATORS:
        reason = f"there is no model of an allocator for {backend!r}"
        raise ConfigError("memory.simulate", reason, hint=f"one of {', '.join(ALLOCATORS)}")
    padding, reserved = 0, 0
    for number, allocator in _replay(report.events, ALLOCATORS[backend]()):
        reserved = max(reserved, allocator.reserved)
        if number == report.peak_event:
            padding = allocator.in_use - report.peak_bytes
    known = {"padding": padding, "cached": reserved - padding - report.peak_bytes}
    rows = tuple(_simulated(row, known.get(row.name, row.bytes)) for row in report.rows)
    return replace(report, padding_bytes=padding, rows=rows)


def _simulated(row: Row, size: int | None) -> Row:
    return row if size is None else Row(row.name, size, "simulated")


def _replay(log: EventLog, allocator: Allocator) -> Iterator[tuple[int, Allocator]]:
    """The number of each event of the job, with the allocator as it is after it.

    A log goes on when the job's result is used or dropped. That is not the job any more.
    """
    chunks: dict[int, Chunk] = {}
    for number, event in enumerate(log.events):
        kind, subject = event[0], event[1]
        if kind == Kind.OP and log.names[event[3]] == "end":
            return
        if kind == Kind.ALLOC:
            chunks[subject] = allocator.take(event[2])
        elif kind == Kind.FREE:
            allocator.give_back(chunks.pop(subject))
        yield number, allocator
