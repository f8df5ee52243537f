"""What is alive in each step of a computation: whose value or gradient each buffer holds, and how many bytes there are.

Only the buffers of this computation count: those of its graph, and what was made while it ran. A notebook's device has
others, of earlier cells. They would hide the few that a reader looks for, so they are left out, and it is said how many
bytes they are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from tinyburn.backend import Category, Kind
from tinyburn.backend.log import EventLog, Mark, Role
from tinyburn.memory.history import History
from tinyburn.memory.timeline import Totals

from .model import Graph
from .steps import Step, read_steps, step_of

_CATEGORIES = tuple(Category)


class Alive(NamedTuple):
    """A buffer that is alive in a step."""

    value: int
    label: str
    category: Category
    size: int


class Film:
    """The steps of a graph, with the memory of each.

    Attributes:
        steps: in order; empty if the log does not have them.
        history: the lives of all values of the log.
        left_out: the bytes of this device that belong to other computations, before the first step.
    """

    def __init__(self, graph: Graph, log: EventLog) -> None:
        self.graph, self.log = graph, log
        self.steps = read_steps(graph, log)
        self.history = History(log)
        self._items = {item.node.number: at for at, item in enumerate(graph.items)}
        # Of a value: since which mark it is what, and of which item; its name inside a segment. Of a buffer: since
        # which event it has which category.
        self._holds: dict[int, list[tuple[int, Role, int]]] = {}
        self._inside: dict[int, str] = {}
        self._changes: dict[int, list[tuple[int, int]]] = {}
        self._marks = log.marks
        self._read_categories()
        self._read_marks()
        self._counted = self._find_counted()
        self.steps = [step for step in self.steps if step.kind != "free" or self.freed(step)]
        self.left_out = self._find_left_out()

    def __repr__(self) -> str:
        return f"Film({len(self.steps)} steps)"

    @property
    def begin(self) -> int:
        """The first event of the first operation."""
        return self.steps[0].first

    def _read_marks(self) -> None:
        """What each value is for. Gradients of earlier and later backward passes belong to other computations."""
        counts: Counter[int] = Counter()
        time = range(self.steps[0].marks, self.steps[-1].marks) if self.steps else range(0)
        for at, mark in enumerate(self._marks):
            if mark.role != "value" and at not in time:
                continue
            item = self._items.get(mark.node, -1)
            value = self.history.value_in(mark.buffer, max(mark.at - 1, self._changes[mark.buffer][0][0]))
            if item >= 0:
                self._holds.setdefault(value, []).append((at, mark.role, item))
            elif mark.role == "value" and (segment := self._segment_at(mark)) >= 0 and value not in self._inside:
                counts[segment] += 1
                self._inside[value] = f"{self.graph.items[segment].label}.{counts[segment]}"

    def _segment_at(self, mark: Mark) -> int:
        """The segment in which an event is; -1 for none."""
        at = step_of(self.steps, mark.at - 1) - 1
        return self.steps[at].item if at >= 0 and self.steps[at].kind == "inside" else -1

    def _read_categories(self) -> None:
        for at, event in enumerate(self.log.events):
            if event[0] == Kind.ALLOC:
                self._changes[event[1]] = [(at, event[3])]
            elif event[0] == Kind.RECATEGORISE:
                self._changes[event[1]].append((at, event[2]))

    def _find_counted(self) -> list[int]:
        """The values that belong to this computation, while it runs."""
        if not self.steps:
            return []
        begin, end = self.begin, self.steps[-1].end
        return [
            value
            for value, record in self.history.records.items()
            if record.start < end and record.end >= begin and (record.start >= begin or value in self._holds)
        ]

    def _find_left_out(self) -> int:
        records = self.history.records.items()
        begin = self.begin if self.steps else 0
        return sum(one.size for value, one in records if one.start < begin <= one.end and value not in self._members)

    # What is alive

    @cached_property
    def _bytes(self) -> list[int]:
        """The bytes alive after each event from the one before the first step on."""
        begin = self.begin - 1
        changes = [0] * (len(self.log.events) - begin + 1)
        for value in self._counted:
            record = self.history.records[value]
            changes[max(record.start - begin, 0)] += record.size
            changes[record.end - begin] -= record.size
        return list(accumulate(changes))

    @cached_property
    def moments(self) -> list[int]:
        """For each step the event at which it is shown: the last at which most bytes were alive in it, after a free
        what is left."""
        return [self._moment(step) for step in self.steps]

    def _moment(self, step: Step) -> int:
        if step.kind == "free":
            return step.frees[-1]
        begin = self.begin - 1
        inside = range(step.first, step.end) if step.ops else range(0)
        return max(inside, key=lambda at: (self._bytes[at - begin], at), default=step.end - 1)

    @cached_property
    def totals(self) -> list[Totals]:
        """For each step the bytes alive by category."""
        changes = sorted(change for value in self._counted for change in self._changes_of(value))
        now = [0] * len(Category)
        totals: list[Totals] = []
        done = 0
        for at in self.moments:
            while done < len(changes) and changes[done][0] <= at:
                _, category, size = changes[done]
                now[category] += size
                done += 1
            totals.append(tuple(now))
        return totals

    def _changes_of(self, value: int) -> list[tuple[int, int, int]]:
        """When a value adds how many bytes to a category, or takes them away."""
        record = self.history.records[value]
        before = self.category(value, record.start)
        changes = [(record.start, int(before), record.size)]
        for at, category in self._changes[record.buffer]:
            if record.start < at < record.end:
                changes += [(at, int(before), -record.size), (at, category, record.size)]
                before = _CATEGORIES[category]
        return [*changes, (record.end, int(before), -record.size)]

    def total(self, number: int) -> int:
        """The bytes alive in a step; steps are counted from 0 here."""
        return sum(self.totals[number])

    @cached_property
    def peak(self) -> int:
        """The number of the first step with the most bytes."""
        return max(range(len(self.steps)), key=self.total, default=0)

    def alive(self, number: int) -> list[Alive]:
        """The buffers that are alive in a step, in the order in which they were made."""
        at = self.moments[number]
        found = []
        for value in self._counted:
            record = self.history.records[value]
            if record.start <= at < record.end:
                label = self.label(value, self.steps[number])
                found.append(Alive(value, label, self.category(value, at), record.size))
        return found

    def category(self, value: int, at: int) -> Category:
        """What a value is after an event."""
        changes = self._changes[self.history.records[value].buffer]
        return _CATEGORIES[changes[bisect_right(changes, at, key=lambda change: change[0]) - 1][1]]

    # Whose it is

    def label(self, value: int, step: Step) -> str:
        """What a value is called in a step: the results that are in it, and those whose gradients are."""
        values: dict[str, None] = {}
        gradients: dict[str, None] = {}
        for since, role, item in self._holds.get(value, ()):
            if role == "value":
                values[self.graph.items[item].label] = None
            elif since < step.marks:
                gradients[self.graph.items[item].label] = None
        words = ["/".join(values)] if values else []
        words += [f"gradient of {'/'.join(gradients)}"] if gradients else []
        return ", ".join(words) or self._inside.get(value) or self._nameless(value)

    def _nameless(self, value: int) -> str:
        step = self.history.steps[self.history.records[value].start]
        return f"a result of the backward of {step.rule_of}" if step.rule_of else f"a result of {step.op}"

    def value_of(self, item: int, number: int) -> Alive | None:
        """The buffer with the value of an item, if it is alive in a step."""
        return self._holder((item, False), number)

    def gradient_of(self, item: int, number: int) -> Alive | None:
        """The buffer with what has come of an item's gradient, from its first part until its rules have run."""
        return self._holder((item, True), number) if number <= self._visited.get(item, number) else None

    @cached_property
    def _visited(self) -> dict[int, int]:
        """For each operation the step in which its last rule has run, and what that gave was added."""
        visited: dict[int, int] = {}
        item = -1
        for number, step in enumerate(self.steps):
            item = step.item if step.kind == "rule" else item
            if step.kind in ("rule", "sum"):
                visited[item] = number
        return visited

    def _holder(self, what: tuple[int, bool], number: int) -> Alive | None:
        at, step = self.moments[number], self.steps[number]
        for value, since in reversed(self._held_by.get(what, ())):
            record = self.history.records[value]
            if record.start <= at < record.end and (since < step.marks or not what[1]):
                return Alive(value, self.label(value, step), self.category(value, at), record.size)
        return None

    @cached_property
    def _held_by(self) -> dict[tuple[int, bool], list[tuple[int, int]]]:
        """For each item, and whether it is about its gradient, the values that hold it, and since which mark."""
        held: dict[tuple[int, bool], dict[int, int]] = {}
        for value in self._counted:
            for since, role, item in self._holds.get(value, ()):
                is_gradient = role != "value"
                held.setdefault((item, is_gradient), {}).setdefault(value, since if is_gradient else 0)
        return {what: list(values.items()) for what, values in held.items()}

    # When it was made and used

    def step_of(self, event: int) -> int:
        """The number of the step that an event belongs to, counted from 1; 0 for one before the computation."""
        return step_of(self.steps, event)

    def made_in(self, item: int) -> int:
        """The number of the step in which an item was computed or made; 0 if it was there before."""
        if item in self._computed:
            return self._computed[item]
        held = self._held_by.get((item, False))
        return self.step_of(self.history.records[held[0][0]].start) if held else 0

    @cached_property
    def _computed(self) -> dict[int, int]:
        return {step.item: number for number, step in enumerate(self.steps, 1) if step.kind == "forward"}

    def parts_of(self, item: int, number: int) -> list[int]:
        """The steps before one that gave an item a part of its gradient, counted from 1."""
        return [at for at in self._parts.get(item, ()) if at <= number]

    @cached_property
    def _parts(self) -> dict[int, list[int]]:
        parts: dict[int, list[int]] = {}
        for number, step in enumerate(self.steps, 1):
            if step.kind == "rule":
                parts.setdefault(step.target, []).append(number)
        return parts

    def made_by(self, step: Step) -> int | None:
        """The value that the last operation of a step wrote; None if it made a view, or nothing."""
        return self._made.get(step.ops[-1]) if step.ops else None

    @cached_property
    def _made(self) -> dict[int, int]:
        return {self.history.records[value].made: value for value in self._counted}

    def freed(self, step: Step) -> list[int]:
        """The values of this computation that a step frees."""
        values = [self.history.value_in(self.log.events[at][1], at) for at in step.frees]
        return [value for value in values if value in self._members]

    @cached_property
    def _members(self) -> set[int]:
        return set(self._counted)

    def last_use(self, value: int) -> int:
        """The number of the step that used a value last: it was read there, a rule let go of it there, or the rules
        that it came to as a gradient had all run."""
        record = self.history.records[value]
        events = [record.start, *record.reads, *record.releases]
        steps = [self.step_of(at) for at in events if at < record.end]
        for since, role, item in self._holds.get(value, ()):
            steps.append(self.step_of(self._marks[since].at - 1) if role == "part" else 0)
            steps.append(self._visited.get(item, -1) + 1 if role == "gradient" else 0)
        return max(steps)

    def is_kept_gradient(self, value: int) -> bool:
        """Whether it is the gradient of a leaf, which the program gets."""
        return any(
            role != "value" and not self.graph.items[item].is_operation for _, role, item in self._holds.get(value, ())
        )
