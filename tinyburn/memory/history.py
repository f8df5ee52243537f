"""The life of every value, read from an event log: who wrote it, who read it, who kept it, and until when.

A buffer mostly has one value, from its ALLOC to its FREE. If nobody can see that value any more, an operation may write
its result into the buffer (DONATE). Then another value begins there, with a maker and a life of its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

from tinyburn.backend import Category, Kind
from tinyburn.backend.log import FORMATS, OP_OPERANDS, Event, EventLog
from tinyburn.base.dtype import DType

from .timeline import Step, steps_of

Moment: TypeAlias = tuple[int, int]
"""The index of an event in the log, and a count of what a replay puts in after it; 0 is the event itself."""

Role: TypeAlias = tuple[Step, int, int]
"""What a value is in its forward pass: its operation, its bytes, and which of several such it is."""


class Life(NamedTuple):
    """Bytes that are alive from ``start`` on, and no more at ``end``."""

    start: Moment
    end: Moment
    size: int


_CATEGORIES = tuple(Category)
"""By their numbers: quicker than to make each of the number again, for every buffer of a long log."""


@dataclass(slots=True)
class Record:
    """One value. Events are given by their indices in the log.

    Attributes:
        buffer: where it is.
        size: its bytes.
        dtype: what the bytes are.
        made: the operation that wrote it; -1 for none.
        start: its ALLOC, or the DONATE of a buffer that was there before.
        end: the FREE of its buffer, or the next DONATE; a buffer that is never freed ends after the log.
        reads: the operations that read it, and its transfers.
        saves, releases: where a graph node began to keep it, and where one let it go.
        categories: all that it ever was.
    """

    buffer: int
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
    """The records of a log, and the operation that each event belongs to.

    Attributes:
        records: by the number of the value: values are counted as they begin. Where no buffer is written again, in a
            log from its first event on, that is the number of the buffer.
        steps: for each event its operation.
        ops: the OP events.
        returned: the values that outlive the last operation: what the job returns.
    """

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.records: dict[int, Record] = {}
        self.steps: list[Step] = []
        self.ops: list[int] = []
        self._values: dict[int, list[int]] = {}  # of each buffer, one after the other
        self._operands: dict[int, tuple[int, ...]] = {}  # the values that each operation reads
        for index, (event, step) in enumerate(steps_of(log)):
            self.steps.append(step)
            self._read(index, event)
        last = self.ops[-1] if self.ops else 0
        self.returned = {value for value, record in self.records.items() if record.end > last}

    def __repr__(self) -> str:
        return f"History({len(self.records)} values)"

    def _read(self, index: int, event: Event) -> None:
        kind, subject = event[0], event[1]
        if kind == Kind.OP:
            self.ops.append(index)
            values = self._operands[index] = tuple([self._values[buffer][-1] for buffer in event[OP_OPERANDS:]])
            for value in dict.fromkeys(values):
                self.records[value].reads.append(index)
        elif kind == Kind.ALLOC:
            self._begin(subject, index, event[2], FORMATS[event[4]], _CATEGORIES[event[3]])
        elif kind == Kind.DONATE:
            before = self._now_in(subject)
            before.end = index
            self._begin(subject, index, before.size, before.dtype, Category.TEMPORARY)
        elif kind == Kind.SAVE:
            self._now_in(subject).saves.append(index)
        elif kind == Kind.RELEASE:
            self._now_in(subject).releases.append(index)
        elif kind == Kind.RECATEGORISE:
            self._now_in(subject).categories.add(_CATEGORIES[event[2]])
        elif kind == Kind.TRANSFER:
            self._now_in(subject).reads.append(index)
        elif kind == Kind.FREE:
            self._now_in(subject).end = index

    def _begin(self, buffer: int, index: int, size: int, dtype: DType, category: Category) -> None:
        """The operation that runs writes a value."""
        value, made = len(self.records), self.ops[-1] if self.ops else -1
        self.records[value] = Record(buffer, size, dtype, made, index, len(self.log.events), {category})
        self._values.setdefault(buffer, []).append(value)

    def _now_in(self, buffer: int) -> Record:
        return self.records[self._values[buffer][-1]]

    def value_in(self, buffer: int, index: int) -> int:
        """The value that a buffer has right after an event."""
        values = self._values[buffer]
        return values[bisect_right(values, index, key=lambda value: self.records[value].start) - 1]

    @cached_property
    def _roles(self) -> dict[int, Role]:
        """The role of each value; counting begins anew after each backward pass."""
        roles: dict[int, Role] = {}
        seen: dict[tuple[Step, int], int] = {}
        was_backward = False
        for value, record in self.records.items():
            if was_backward and not self.is_backward(record.start):
                seen = {}
            was_backward = self.is_backward(record.start)
            kind = self.steps[record.start], record.size
            seen[kind] = seen.get(kind, -1) + 1
            roles[value] = (*kind, seen[kind])
        return roles

    @cached_property
    def _by_role(self) -> dict[Role, list[int]]:
        alike: dict[Role, list[int]] = {}
        for value, role in self._roles.items():
            alike.setdefault(role, []).append(value)
        return alike

    def alike(self, value: int) -> list[int]:
        """The values that do the same in different training steps, this one among them."""
        return self._by_role[self._roles[value]]

    @cached_property
    def _changes(self) -> dict[Moment, int]:
        """How the bytes change at each moment, in order."""
        return dict(sorted(_changes_of(record.life for record in self.records.values()).items()))

    @cached_property
    def peak(self) -> tuple[int, Moment]:
        """The most bytes that were alive at once, and the first moment at which they were."""
        return _highest_of(self._changes)

    def peak_if(self, lives: Mapping[int, Sequence[Life]]) -> tuple[int, Moment]:
        """The peak, had some values had other lives. What is not named stays as it was."""
        changes = self._changes.copy()
        for value, others in lives.items():
            _add(changes, self.records[value].life, -1)
            for life in others:
                _add(changes, life, 1)
        return _highest_of(changes)

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
        """The values that an OP event reads."""
        return self._operands[index] if index >= 0 else ()

    def number(self, index: int) -> int:
        """Which operation an event belongs to, counted from 1 as in the memory strip; 0 is before the first."""
        return bisect_right(self.ops, index)


def highest(lives: Iterable[Life]) -> tuple[int, Moment]:
    """The most bytes that are alive at once, and the first moment at which they are."""
    return _highest_of(_changes_of(lives))


def _changes_of(lives: Iterable[Life]) -> dict[Moment, int]:
    changes: dict[Moment, int] = {}
    for life in lives:
        _add(changes, life, 1)
    return changes


def _add(changes: dict[Moment, int], life: Life, times: int) -> None:
    """Puts a life in, or with -1 takes it out again."""
    start, end, size = life
    if end > start:
        changes[start] = changes.get(start, 0) + times * size
        changes[end] = changes.get(end, 0) - times * size


def _highest_of(changes: dict[Moment, int]) -> tuple[int, Moment]:
    alive, peak, at = 0, 0, (0, 0)
    for moment in sorted(changes):  # quick where most of them are in order already
        alive += changes[moment]
        if alive > peak:
            peak, at = alive, moment
    return peak, at
