"""Peak(B) as the highest of several straight lines: one for each moment of a job that can be its peak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from typing import Any, TypeAlias

from tinyburn.backend import Kind
from tinyburn.backend.log import EventLog
from tinyburn.base.text import amount

from .timeline import SETUP, Step, steps_of

Bytes: TypeAlias = int | Fraction

_WITH_SIZES = frozenset({Kind.ALLOC, Kind.TRANSFER})
"""The kinds of event that say a number of bytes, each at the same place."""


@dataclass(frozen=True)
class Candidate:
    """One moment of the job, and the range of batch sizes in which it is the peak.

    The bytes alive then are ``fixed + per_sample * batch``, exactly.

    Attributes:
        step: the operation that runs.
        per_sample: bytes that each sample adds.
        fixed: bytes that do not depend on the batch.
        first_batch, last_batch: where this line is the highest, both included.
    """

    step: Step
    per_sample: Bytes
    fixed: Bytes
    first_batch: int
    last_batch: int

    def bytes_at(self, batch: int) -> Bytes:
        """Where the line stands at a batch size."""
        return self.fixed + self.per_sample * batch

    def __str__(self) -> str:
        batches = f"{self.first_batch} to {self.last_batch}"
        return f"{batches}: {_digits(self.fixed)} B + {_digits(self.per_sample)} B a sample, at {self.step}"


@dataclass(frozen=True)
class Run:
    """One planned run.

    Attributes:
        batch: its batch size.
        totals: the bytes alive after each event.
        steps: the operation that each event belongs to.
        outline: the log without its sizes; two runs with one outline differ in nothing else.
        largest: the bytes of the largest buffer.
    """

    batch: int
    totals: tuple[int, ...]
    steps: tuple[Step, ...]
    outline: Any
    largest: int

    @property
    def peak(self) -> int:
        """The most bytes that were alive at once."""
        return max(self.totals, default=0)

    @property
    def peak_step(self) -> Step:
        """The operation that reached the peak first."""
        return self.steps[self.totals.index(self.peak)] if self.peak else SETUP


def read_run(batch: int, log: EventLog) -> Run:
    """What the lines are made of, from the log of a run.

    Several runs are kept while others are planned, and Python's garbage collector looks at each object of theirs again
    and again. So the outline is one long list, in which each event's length comes before it, and equal steps are one.
    """
    total = largest = 0
    sizes: dict[int, int] = {}
    totals: list[int] = []
    outline: list[int] = []
    known: dict[Step, Step] = {}
    for event in log.events:
        kind = event[0]
        if kind == Kind.ALLOC:
            size = sizes[event[1]] = event[2]
            total, largest = total + size, max(largest, size)
        elif kind == Kind.FREE:
            total -= sizes.pop(event[1])
        totals.append(total)
        outline.append(len(event))
        outline += event[:2] + event[3:] if kind in _WITH_SIZES else event
    steps = tuple([known.setdefault(step, step) for _, step in steps_of(log)])
    return Run(batch, tuple(totals), steps, (tuple(log.names), outline), largest)


def largest_by_lines(one: Run, other: Run, budget: int, at_most: int) -> int:
    """The largest batch at which no event has more bytes than the budget, by straight lines through two runs.

    They have one outline. If no line rises, no batch is too large: ``at_most``.
    """
    low, high = sorted((one, other), key=lambda run: run.batch)
    span = high.batch - low.batch
    pairs = set(zip(low.totals, high.totals, strict=True))
    rising = (low.batch + (budget - start) * span // (end - start) for start, end in pairs if end > start)
    return min(rising, default=at_most)


def candidates_of(runs: Sequence[Run]) -> tuple[Candidate, ...]:
    """The upper envelope of Peak(B), from the smallest planned batch to the largest.

    The same program at two batch sizes mostly writes the same log but for the sizes; then the bytes at each event lie
    on a straight line, and two runs give all lines. Batch sizes at which the program takes another way (a batch of
    one needs no broadcasting) have lines of their own. Empty if the bytes are no straight lines, because the job
    multiplies its batch by itself or divides it.
    """
    ordered = sorted(runs, key=lambda run: run.batch)
    found: list[Candidate] = []
    for _, group in groupby(ordered, key=lambda run: run.outline):
        lines = _envelope(list(group))
        if not lines:
            return ()
        found = _joined(found, lines)
    return tuple(found)


def _joined(found: list[Candidate], lines: list[Candidate]) -> list[Candidate]:
    """Both, in order; a single batch size that happens to lie on its neighbour's line needs no line of its own."""
    if found and _is_point(found[-1]) and lines[0].bytes_at(found[-1].first_batch) == found[-1].fixed:
        point = found.pop()
        lines[0] = replace(lines[0], first_batch=point.first_batch)
    elif found and _is_point(lines[0]) and found[-1].bytes_at(lines[0].first_batch) == lines[0].fixed:
        point = lines.pop(0)
        found[-1] = replace(found[-1], last_batch=point.last_batch)
    return [*found, *lines]


def _is_point(line: Candidate) -> bool:
    return line.first_batch == line.last_batch and line.per_sample == 0


def _envelope(runs: Sequence[Run]) -> list[Candidate]:
    """The highest of the lines of some runs with one outline; a point if there is one run; none if they bend."""
    first, last = runs[0], runs[-1]
    if first is last:
        return [Candidate(first.peak_step, 0, first.peak, first.batch, first.batch)]
    span = last.batch - first.batch
    bytes_of: dict[tuple[int, ...], int] = {}  # the bytes in each run: the first event that has them
    for event, totals in enumerate(zip(*[run.totals for run in runs], strict=True)):
        bytes_of.setdefault(totals, event)
    lines: dict[tuple[Bytes, Bytes], int] = {}  # (per sample, fixed): the first event that lies on it
    for totals, event in bytes_of.items():
        low, high = totals[0], totals[-1]
        steps = zip(totals, runs, strict=True)
        if any((total - low) * span != (high - low) * (run.batch - first.batch) for total, run in steps):
            return []
        slope = _whole(Fraction(high - low, span))
        lines[slope, _whole(low - slope * first.batch)] = event
    return [
        Candidate(first.steps[lines[line]], *line, start, end)
        for line, start, end in _highest(list(lines), first.batch, last.batch)
    ]


def _highest(lines: list[tuple[Bytes, Bytes]], start: int, end: int) -> Iterator[tuple[tuple[Bytes, Bytes], int, int]]:
    """Walks from ``start`` to ``end`` and changes the line where another one first stands above it."""
    while start <= end:
        slope, fixed = line = max(lines, key=lambda line: (line[1] + line[0] * start, line[0]))
        steeper = [other for other in lines if other[0] > slope]
        overtaken = [(fixed - other[1]) // (other[0] - slope) + 1 for other in steeper]
        until = min([int(batch) - 1 for batch in overtaken] + [end])
        yield line, start, until
        start = until + 1


def _digits(value: Bytes) -> str:
    """With a space at every third digit; a fraction as it is."""
    return amount(value).removesuffix(" B") if isinstance(value, int) else str(value)


def _whole(value: Bytes) -> Bytes:
    """An int where the value is one."""
    return int(value) if value == int(value) else value
