"""Reading the event log: how many bytes of each category are alive after each event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tinyburn.backend import Category, Kind
from tinyburn.backend.log import OP_OPERANDS, Event, EventLog
from tinyburn.backend.operations import label_of

Totals = tuple[int, ...]
"""Bytes by category, in the order of `Category`."""


class Step(NamedTuple):
    """The operation that an event belongs to. Two calls of one operation are equal, and are not the same object.

    Attributes:
        op: the operation, as a reader calls it; empty before the first one. Of a part it is the one that was asked for.
        path: the module that it ran in; empty outside any.
        phase: ``setup``, ``forward``, ``backward``, ``communication`` or ``update``.
        rule_of: in the backward phase, the forward operation whose derivative it is part of.
    """

    op: str
    path: str
    phase: str
    rule_of: str

    def __str__(self) -> str:
        where = f" in {self.path}" if self.path else ""
        if self.rule_of and self.op == self.rule_of:
            return f"the backward of {self.rule_of}{where}"
        return f"{self.op or 'setup'}{where}" + (f", the backward of {self.rule_of}" if self.rule_of else "")


_MOVING = frozenset({Kind.ALLOC, Kind.FREE, Kind.RECATEGORISE})
"""The kinds of event after which other bytes are alive than before."""

SETUP = Step("", "", "setup", "")


def read_step(event: Event, names: list[str], *, started: bool) -> Step:
    """The operation that an OP event records. Making tensors is setup until the first operation on them."""
    phase, _, rule_of = names[event[3]].partition(" ")
    op = label_of(names[event[4]]).removesuffix("_backward")
    return Step(op, names[event[2]], phase if started else "setup", label_of(rule_of))


def steps_of(log: EventLog) -> Iterator[tuple[Event, Step]]:
    """Each event with the operation that it belongs to."""
    step, started = SETUP, False
    for event in log.events:
        if event[0] == Kind.OP:
            started = started or len(event) > OP_OPERANDS
            step = read_step(event, log.names, started=started)
        yield event, step


def walk(log: EventLog) -> Iterator[tuple[Event, Step, Totals]]:
    """Each event with the operation that it belongs to and the bytes alive after it."""
    now = [0] * len(Category)
    totals = tuple(now)
    alive: dict[int, tuple[int, int]] = {}  # buffer: (bytes, category)
    for event, step in steps_of(log):
        kind, subject = event[0], event[1]
        if kind == Kind.ALLOC:
            alive[subject] = event[2], event[3]
            now[event[3]] += event[2]
        elif kind == Kind.FREE:
            size, category = alive.pop(subject)
            now[category] -= size
        elif kind == Kind.RECATEGORISE:
            size, category = alive[subject]
            alive[subject] = size, event[2]
            now[category] -= size
            now[event[2]] += size
        if kind in _MOVING:
            totals = tuple(now)
        yield event, step, totals


def moments(log: EventLog) -> Iterator[tuple[Step, Totals, bool]]:
    """For each event its operation, the bytes alive after it, and whether these are what the operation needs.

    They are not from the first release in an operation on: the rule has run, and what it had kept is going.
    """
    finished: Step | None = None
    for event, step, totals in walk(log):
        if event[0] == Kind.RELEASE:
            finished = step
        yield step, totals, step is not finished
