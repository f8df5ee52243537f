"""The life of every buffer, read from an event log: who made it, who read it, who kept it, and until when."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from tinyburn.backend import Category, EventLog, Kind
from tinyburn.backend.log import OP_OPERANDS, Event
from tinyburn.memory.timeline import Step, walk

Moment = tuple[int, int]
"""The place of an event in the log, and a count of what a replay puts in after it; 0 is the event itself."""


@dataclass(frozen=True)
class Life:
    """Bytes that are alive from ``start`` on, and no more at ``end``."""

    start: Moment
    end: Moment
    size: int


@dataclass
class Record:
    """One buffer.

    Attributes:
        size: its bytes.
        made: the place of the operation that made it; -1 for none.
        start, end: the places of its ALLOC and its FREE; a buffer that is never freed ends after the log.
        reads: the places of the operations that read it, and of its transfers.
        saves, releases: where a graph node began to keep it, and where one let it go.
        categories: all that it ever was.
    """

    size: int
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
        return self.releases[-1] if len(self.releases) == len(self.saves) and self.saves else self._unreleased

    @property
    def _unreleased(self) -> int:
        return self.end if self.saves else -1


class History:
    """The records of a log by buffer, and the operation that each event belongs to."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.records: dict[int, Record] = {}
        self.steps: list[Step] = []
        self.ops: list[int] = []
        for place, (event, step, _) in enumerate(walk(log)):
            self.steps.append(step)
            self._read(place, event)
        self.returned = self._alive_at_the_end()
        self._roles = self._find_roles()

    def _read(self, place: int, event: Event) -> None:
        kind, subject = event[0], event[1]
        if kind == Kind.OP:
            self.ops.append(place)
            for buffer in dict.fromkeys(event[OP_OPERANDS:]):
                self.records[buffer].reads.append(place)
        elif kind == Kind.ALLOC:
            made = self.ops[-1] if self.ops else -1
            self.records[subject] = Record(event[2], made, place, len(self.log.events), {Category(event[3])})
        elif kind == Kind.SAVE:
            self.records[subject].saves.append(place)
        elif kind == Kind.RELEASE:
            self.records[subject].releases.append(place)
        elif kind == Kind.RECATEGORISE:
            self.records[subject].categories.add(Category(event[2]))
        elif kind == Kind.TRANSFER:
            self.records[subject].reads.append(place)
        elif kind == Kind.FREE:
            self.records[subject].end = place

    def _alive_at_the_end(self) -> set[int]:
        """The buffers that outlive the last operation: what the job returns."""
        last = self.ops[-1] if self.ops else 0
        return {buffer for buffer, record in self.records.items() if record.end > last}

    def _find_roles(self) -> dict[int, tuple[Step, int, int]]:
        """The place of each buffer in its forward pass: its operation, its bytes, and which of several such it is."""
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

    def ends_in(self, place: int | None) -> str:
        """The operation in which something ends, in words."""
        if place is None or place >= len(self.log.events):
            return "after the end"
        return f"{self.number(place)} {self.steps[place]}"

    def is_backward(self, place: int) -> bool:
        """Whether an event is part of a backward pass."""
        return self.steps[place].phase == "backward"

    def next_op(self, place: int) -> int:
        """Where the operation that an event belongs to is over."""
        following = bisect_right(self.ops, place)
        return self.ops[following] if following < len(self.ops) else len(self.log.events)

    def op_name(self, place: int) -> str:
        """Of an OP event; empty for -1."""
        return self.log.names[self.log.events[place][1]] if place >= 0 else ""

    def operands(self, place: int) -> tuple[int, ...]:
        """The buffers that an OP event reads."""
        return self.log.events[place][OP_OPERANDS:] if place >= 0 else ()

    def number(self, place: int) -> int:
        """Which operation an event belongs to, counted from 1 as in the memory strip; 0 is before the first."""
        return bisect_right(self.ops, place)


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
