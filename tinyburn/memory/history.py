"""The life of every buffer, read from an event log: who made it, who read it, who kept it, and until when."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from tinyburn.backend import Category, Kind
from tinyburn.backend.log import FORMATS, OP_OPERANDS, Event, EventLog
from tinyburn.base.dtype import DType

from .timeline import Step, walk

Moment: TypeAlias = tuple[int, int]
"""The index of an event in the log, and a count of what a replay puts in after it; 0 is the event itself."""


@dataclass(frozen=True)
class Life:
    """Bytes that are alive from ``start`` on, and no more at ``end``."""

    start: Moment
    end: Moment
    size: int


@dataclass
class Record:
    """One buffer. Events are given by their indices in the log.

    Attributes:
        size: its bytes.
        dtype: what the bytes are.
        made: the operation that made it; -1 for none.
        start, end: its ALLOC and its FREE; a buffer that is never freed ends after the log.
        reads: the operations that read it, and its transfers.
        saves, releases: where a graph node began to keep it, and where one let it go.
        categories: all that it ever was.
    """

    size: int
    dtype: DType
    made: int
    start: int
    end: int
    categories: set[Category]
    reads: list[int] = field(default_factory=list)
    saves: list[int] = field(default_factory=list)
    releases: list[int] = field(default_factory=list)

    @property
    def life(self) -> Life:
        """As it was."""
        return Life((self.start, 0), (self.end, 0), self.size)

    @property
    def last_release(self) -> int:
        """Where the last node let it go: the end of the log if one never did, -1 if none ever kept it."""
        if not self.saves:
            return -1
        return self.releases[-1] if len(self.releases) == len(self.saves) else self.end


class History:
    """The records of a log by buffer, and the operation that each event belongs to.

    Attributes:
        steps: for each event its operation.
        ops: the OP events.
        returned: the buffers that outlive the last operation: what the job returns.
    """

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.records: dict[int, Record] = {}
        self.steps: list[Step] = []
        self.ops: list[int] = []
        for index, (event, step, _) in enumerate(walk(log)):
            self.steps.append(step)
            self._read(index, event)
        last = self.ops[-1] if self.ops else 0
        self.returned = {buffer for buffer, record in self.records.items() if record.end > last}
        self._roles = self._find_roles()

    def __repr__(self) -> str:
        return f"History({len(self.records)} buffers)"

    def _read(self, index: int, event: Event) -> None:
        kind, subject = event[0], event[1]
        if kind == Kind.OP:
            self.ops.append(index)
            for buffer in dict.fromkeys(event[OP_OPERANDS:]):
                self.records[buffer].reads.append(index)
        elif kind == Kind.ALLOC:
            made, categories = self.ops[-1] if self.ops else -1, {Category(event[3])}
            self.records[subject] = Record(event[2], FORMATS[event[4]], made, index, len(self.log.events), categories)
        elif kind == Kind.SAVE:
            self.records[subject].saves.append(index)
        elif kind == Kind.RELEASE:
            self.records[subject].releases.append(index)
        elif kind == Kind.RECATEGORISE:
            self.records[subject].categories.add(Category(event[2]))
        elif kind == Kind.TRANSFER:
            self.records[subject].reads.append(index)
        elif kind == Kind.FREE:
            self.records[subject].end = index

    def _find_roles(self) -> dict[int, tuple[Step, int, int]]:
        """What each buffer is in its forward pass: its operation, its bytes, and which of several such it is."""
        roles: dict[int, tuple[Step, int, int]] = {}
        seen: dict[tuple[Step, int], int] = {}
        was_backward = False
        for buffer, record in self.records.items():
            if was_backward and not self.is_backward(record.start):
                seen = {}
            was_backward = self.is_backward(record.start)
            kind = self.steps[record.start], record.size
            seen[kind] = seen.get(kind, -1) + 1
            roles[buffer] = (*kind, seen[kind])
        return roles

    def role(self, buffer: int) -> tuple[Step, int, int]:
        """The same for the buffers that do the same in different training steps."""
        return self._roles[buffer]

    def ends_in(self, index: int | None) -> str:
        """The operation in which something ends, in words."""
        if index is None or index >= len(self.log.events):
            return "after the end"
        return f"{self.number(index)} {self.steps[index]}"

    def is_backward(self, index: int) -> bool:
        """Whether an event is part of a backward pass."""
        return self.steps[index].phase == "backward"

    def next_op(self, index: int) -> int:
        """Where the operation that an event belongs to is over."""
        following = bisect_right(self.ops, index)
        return self.ops[following] if following < len(self.ops) else len(self.log.events)

    def op_name(self, index: int) -> str:
        """Of an OP event; empty for -1."""
        return self.log.names[self.log.events[index][1]] if index >= 0 else ""

    def operands(self, index: int) -> tuple[int, ...]:
        """The buffers that an OP event reads."""
        return self.log.events[index][OP_OPERANDS:] if index >= 0 else ()

    def number(self, index: int) -> int:
        """Which operation an event belongs to, counted from 1 as in the memory strip; 0 is before the first."""
        return bisect_right(self.ops, index)


def highest(lives: Iterable[Life]) -> tuple[int, Moment]:
    """The most bytes that are alive at once, and the first moment at which they are."""
    changes: dict[Moment, int] = {}
    for life in lives:
        if life.end > life.start:
            changes[life.start] = changes.get(life.start, 0) + life.size
            changes[life.end] = changes.get(life.end, 0) - life.size
    alive, peak, at = 0, 0, (0, 0)
    for moment in sorted(changes):
        alive += changes[moment]
        if alive > peak:
            peak, at = alive, moment
    return peak, at
