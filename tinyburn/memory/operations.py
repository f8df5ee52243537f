"""Bytes by operation and by category: what the pictures of memory draw, as numbers."""

from __future__ import annotations

from dataclasses import dataclass

from tinyburn.backend import Category, Kind
from tinyburn.backend.log import EventLog
from tinyburn.base.text import table, thousands

from .timeline import SETUP, Step, Totals, moments


@dataclass(frozen=True)
class OperationBytes:
    """One operation, at the moment when most bytes were alive in it.

    Attributes:
        number: counted from 1; 0 is what was made before the first one.
        step: the operation.
        totals: bytes by category, in the order of `Category`.
        has_gradient: whether a gradient was alive at any moment of it.
    """

    number: int
    step: Step
    totals: Totals
    has_gradient: bool

    @property
    def phase(self) -> str:
        """``setup``, ``forward``, ``backward``, ``communication`` or ``update``."""
        return self.step.phase

    @property
    def bytes(self) -> int:
        """Of all categories."""
        return sum(self.totals)

    def of(self, category: str) -> int:
        """The bytes of one category, such as ``"activation"``. Raises KeyError for another word."""
        return self.totals[Category[category.upper()]]

    def __repr__(self) -> str:
        return f"OperationBytes({self.number} {self.step}, {self.bytes} B)"


def bytes_by_operation(log: EventLog) -> list[OperationBytes]:
    """Each operation of a log in order, after one for what was made before the first.

    Several moments of an operation can be equally large. The last of them counts: by then the result has got its
    category, since a save or a gradient is noted after the allocation.
    """
    found: list[OperationBytes] = []
    for step, totals, counts in moments(log):
        has_gradient = totals[Category.GRADIENT] > 0
        if not found or step is not found[-1].step:
            number = found[-1].number + 1 if found else int(step is not SETUP)
            found.append(OperationBytes(number, step, totals, has_gradient))
            continue
        before = found[-1]
        is_larger = counts and sum(totals) >= before.bytes
        if is_larger or has_gradient > before.has_gradient:
            larger = totals if is_larger else before.totals
            found[-1] = OperationBytes(before.number, step, larger, has_gradient or before.has_gradient)
    return found


@dataclass(frozen=True)
class CategoryBytes:
    """One category of a job's memory.

    Attributes:
        at_peak: its bytes at the peak.
        at_largest: at the moment when it had most.
        in_run: of all its buffers that were ever made.
    """

    name: str
    at_peak: int
    at_largest: int
    in_run: int


@dataclass(frozen=True, repr=False)
class CategoryTable:
    """The categories that a job had. It prints as a table, with the sums."""

    rows: tuple[CategoryBytes, ...]

    def __repr__(self) -> str:
        numbers = [(row.at_peak, row.at_largest, row.in_run) for row in self.rows]
        cells = [(row.name, *map(thousands, each)) for row, each in zip(self.rows, numbers, strict=True)]
        sums = [thousands(sum(column)) for column in zip(*numbers, strict=True)] if numbers else ["0"] * 3
        return table(("category", "at the peak", "at its largest", "in the run"), [*cells, ("sum", *sums)])


def largest_by_category(log: EventLog) -> list[int]:
    """The most bytes of each category that an operation needed.

    A result gets its category by a save, or as a gradient, right after it is allocated. What it is in between is not
    counted, or it would be counted twice; nor is what a rule had kept, once it has run.
    """
    most = [0] * len(Category)
    following = [event[0] for event in log.events[1:]] + [Kind.OP]
    for (_, totals, counts), next_kind in zip(moments(log), following, strict=True):
        if counts and next_kind not in (Kind.SAVE, Kind.RECATEGORISE):
            most = list(map(max, most, totals))
    return most


def bytes_by_category(log: EventLog, at_peak: dict[str, int]) -> CategoryTable:
    """The categories of a log that had any bytes."""
    largest = largest_by_category(log)
    in_run = _in_run(log)
    rows = [
        CategoryBytes(category.name.lower(), at_peak.get(category.name.lower(), 0), largest[category], in_run[category])
        for category in Category
        if in_run[category]
    ]
    return CategoryTable(tuple(rows))


def _in_run(log: EventLog) -> list[int]:
    """The bytes of all buffers, each in the category that it had last; what it kept for a while counts more than that
    it is a temporary afterwards."""
    made: dict[int, tuple[int, int]] = {}
    for kind, buffer, *rest in log.events:
        if kind == Kind.ALLOC:
            made[buffer] = rest[0], rest[1]
        elif kind == Kind.RECATEGORISE and rest[0] != Category.TEMPORARY:
            made[buffer] = made[buffer][0], rest[0]
    totals = [0] * len(Category)
    for size, category in made.values():
        totals[category] += size
    return totals
