"""The steps of a computation, read from an event log and the graph: what `stepper` shows, as plain data.

The log says what happened, buffer by buffer and in order; the graph says what it was for. Marks in the log lead from
one to the other. So nothing here is run again, and nothing is guessed: a step is a stretch of the log that belongs to
one box of the graph. What lies between (operations on constants, frees) is a step of its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, TypeAlias

from tinyburn.autodiff import Node
from tinyburn.autodiff.checkpointing import CHECKPOINT
from tinyburn.backend import Kind
from tinyburn.backend.log import EventLog, Mark

from .model import Graph
from .slopes import has_loop

StepKind: TypeAlias = Literal["start", "forward", "beside", "inside", "seed", "rule", "sum", "free"]
"""- ``start``: what was there before the first operation
- ``forward``: an operation of the graph
- ``beside``: operations that no gradient goes through, so that the graph does not have them
- ``inside``: an operation of a segment, in its first run or in its second
- ``seed``: the gradient of the result with respect to itself
- ``rule``: an operation gives one of its operands its part of the gradient
- ``sum``: a part is added to those that came before
- ``free``: buffers go
"""


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        item: the number of the item whose box is active; -1 for none.
        target: the item that gets a gradient, in a ``rule`` or a ``sum``; -1 for none.
        operand: the position of ``target`` among the operation's arguments.
        first, end: its events are ``first``, …, ``end - 1``.
        marks: how many of the log's marks had been set at its end.
        ops: those of them that are operations.
        frees: those that free a buffer.
    """

    kind: StepKind
    first: int
    end: int
    marks: int
    item: int = -1
    target: int = -1
    operand: int = 0
    ops: tuple[int, ...] = ()
    frees: tuple[int, ...] = ()


@dataclass
class _Reader:
    """Goes through events and marks, and closes a step whenever it knows what the last events were for.

    Attributes:
        pending: operations and frees that belong to no step yet.
        seen: how many marks have been read, before the one that closes a step.
        visit: the item whose rules run; -1 for none.
        seeded: whether the gradient of the result has come.
    """

    graph: Graph
    log: EventLog
    marks: Sequence[Mark]
    steps: list[Step] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)
    seen: int = 0
    visit: int = -1
    seeded: bool = False
    computed: set[int] = field(default_factory=set)
    rules: Iterator[tuple[int, int]] = field(default_factory=lambda: iter(()))

    def phase(self, op: int) -> str:
        """That of an OP event."""
        return self.log.names[self.log.events[op][3]]

    def asked(self, op: int) -> str:
        """The operation that the program asked for: one that a backend composes is several events."""
        return self.log.names[self.log.events[op][4]]

    def is_op(self, index: int) -> bool:
        return self.log.events[index][0] == Kind.OP

    def read(self, begin: int, items: dict[int, int]) -> list[Step]:
        """The steps from an event on. ``seen`` marks come before it; ``items`` are those of the nodes."""
        marks, events = self.marks, self.log.events
        for index in range(begin, len(events) + 1):
            while self.seen < len(marks) and marks[self.seen].at == index:
                mark = marks[self.seen]
                if self.is_over(mark, items):
                    return self.finish(index)
                self.obey(mark, items.get(mark.node, -1))
                self.seen += 1
            if index == len(events):
                break
            kind = events[index][0]
            if kind == Kind.OP and self.seeded and self.begins_anew(index):
                return self.finish(index)
            if kind in (Kind.OP, Kind.FREE):
                self.pending.append(index)
        return self.finish(len(events))

    def begins_anew(self, op: int) -> bool:
        """Whether an operation belongs to what the program does after the backward pass."""
        phase = self.phase(op)
        return not phase.startswith("backward") or phase == "backward"

    def is_over(self, mark: Mark, items: dict[int, int]) -> bool:
        """Whether another backward pass comes to the result."""
        is_root = items.get(mark.node) == len(self.graph.items) - 1
        return is_root and mark.role == "gradient" and any(step.kind == "rule" for step in self.steps)

    def finish(self, end: int) -> list[Step]:
        """What is freed right after the last step belongs to it; what comes then does not."""
        later = next((at for at, index in enumerate(self.pending) if self.is_op(index)), len(self.pending))
        self.leave(self.pending[:later] if self.seeded else [], end)
        return self.steps

    def obey(self, mark: Mark, item: int) -> None:
        """Closes the step that a mark ends, and begins another visit where it says so."""
        is_operation = item >= 0 and self.graph.items[item].is_operation
        if mark.role == "value":
            if is_operation and item not in self.computed and not self.seeded:
                self.computed.add(item)
                self.close_forward(item, mark.at)
        elif mark.role == "gradient":
            if item == len(self.graph.items) - 1 and not self.seeded:
                self.close_seed(item, mark.at)
            if self.seeded and (is_operation or item < 0):
                self.begin_visit(item)
        elif self.visit >= 0 and item >= 0:
            self.close_backward(mark, item)

    def close_forward(self, item: int, end: int) -> None:
        node = self.graph.items[item].node
        if is_one_box(node):
            first = next((at for at, index in enumerate(self.pending) if self.is_op(index)), len(self.pending))
        else:
            first = self.start_of_last_group()
        before, own = self.pending[:first], self.pending[first:]
        if node.op == CHECKPOINT:
            self.leave(before, end)
            self.leave(own, end, item)
            own = []
        self.close("forward", [*before, *own] if own else [], len(before) if own else 0, end, item)

    def start_of_last_group(self) -> int:
        """Where the last operation of those pending begins, which may have been composed of several."""
        start = len(self.pending)
        for at in range(len(self.pending) - 1, -1, -1):
            index = self.pending[at]
            if self.is_op(index):
                if start < len(self.pending) and not self.is_one_group(index, self.pending[start]):
                    break
                start = at
        return start

    def is_one_group(self, one: int, other: int) -> bool:
        asked = self.asked(one)
        return asked == self.asked(other) and asked != self.log.names[self.log.events[one][1]]

    def close_seed(self, item: int, end: int) -> None:
        """A one that was made for it, unless the program brought a gradient of its own."""
        self.seeded = True
        made = [at for at, index in enumerate(self.pending) if self.is_op(index) and self.phase(index) == "backward"]
        self.close("seed", self.pending, made[0] if made else len(self.pending), end, item)

    def begin_visit(self, item: int) -> None:
        self.visit = item
        if item >= 0:
            node = self.graph.items[item].node
            self.rules = iter([(at, self.graph.numbers[node.argument(at)]) for at, _, _, _ in node.rules])

    def close_backward(self, mark: Mark, target: int) -> None:
        """A rule has run, or its part was added to what had come before."""
        is_rule = mark.role == "part"
        operand = next(self.rules)[0] if is_rule else 0
        ops = [at for at, index in enumerate(self.pending) if self.is_op(index)]
        if is_rule and self.graph.items[self.visit].node.op == CHECKPOINT:
            self.leave(self.pending, mark.at, self.visit)
            self.pending, ops = [], []
        first = ops[0] if ops else len(self.pending)
        active = self.visit if is_rule else target
        self.close("rule" if is_rule else "sum", self.pending, first, mark.at, active, target, operand)

    def close(
        self, kind: StepKind, pending: list[int], first: int, end: int, item: int, target: int = -1, operand: int = 0
    ) -> None:
        """A step of the events from the position ``first`` on; those before belong to no box."""
        before, own = pending[:first], pending[first:]
        start = own[0] if own else end
        self.leave(before, start)
        ops = tuple([index for index in own if self.is_op(index)])
        frees = tuple([index for index in own if not self.is_op(index)])
        self.steps.append(Step(kind, start, end, self.seen + 1, item, target, operand, ops, frees))
        self.pending = []

    def leave(self, events: list[int], end: int, item: int = -1) -> None:
        """Steps for events that belong to no box, or to the inside of a segment: operations, and runs of frees."""
        runs = [list(run) for _, run in groupby(events, self.is_op)]
        if item >= 0:
            runs = [part for run in runs for part in (self.groups(run) if self.is_op(run[0]) else [run])]
        for run, following in zip(runs, [*runs[1:], [end]], strict=False):
            stop = following[0]
            if self.is_op(run[0]):
                kind: StepKind = "inside" if item >= 0 else "beside"
                self.steps.append(Step(kind, run[0], stop, self.seen, item, ops=tuple(run)))
            else:
                self.steps.append(Step("free", run[0], stop, self.seen, frees=tuple(run)))

    def groups(self, ops: list[int]) -> list[list[int]]:
        """Operations one by one; the parts of one that is composed stay together."""
        found: list[list[int]] = []
        for op in ops:
            if found and self.is_one_group(found[-1][-1], op) and self.phase(found[-1][-1]) == self.phase(op):
                found[-1].append(op)
            else:
                found.append([op])
        return found


def read_steps(graph: Graph, log: EventLog) -> list[Step]:
    """The steps from the first operation of a graph to the end of its first backward pass, after a ``start``.

    Empty if the log does not have the whole forward pass.
    """
    marks, operations = log.marks, set(graph.operations)
    items = {item.node.number: at for at, item in enumerate(graph.items)}
    is_result = [mark.at >= 0 and mark.role == "value" and items.get(mark.node) in operations for mark in marks]
    if not any(is_result):
        return []
    seen = is_result.index(True)
    # The marks of an operation's constants come after its own events, so they are no border between operations.
    begin = max((mark.at for mark in marks[:seen] if mark.node not in items), default=0)
    reader = _Reader(graph, log, marks, seen=seen)
    steps = reader.read(max(begin, 0), items)
    if reader.computed != operations:
        return []
    at = next(at for at, step in enumerate(steps) if step.kind in ("forward", "inside"))
    first = steps[at].first
    return [Step("start", first, first, seen), *steps[at:]]


def is_one_box(node: Node) -> bool:
    """Whether a node stands for operations that the graph does not have: a segment, or a loop."""
    return node.op == CHECKPOINT or has_loop(node)


def step_of(steps: Sequence[Step], event: int) -> int:
    """The number of the step that an event belongs to, counted from 1; 0 if it was before all of them."""
    return bisect_right(steps, event, key=lambda step: step.first)
