"""The memory strip's columns: an event log, read operation by operation and made short enough to draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tinyburn.backend import Category, EventLog
from tinyburn.memory.timeline import SETUP, Step, Totals, moments, walk

MAX_COLUMNS = 240  # with more operations, runs of them share a column
MAX_PHASES = 60  # that are told apart

ORDER = (
    Category.PARAMETER,
    Category.OPTIMIZER,
    Category.INPUT,
    Category.ACTIVATION,
    Category.GRADIENT,
    Category.OUTPUT,
    Category.TEMPORARY,
    Category.UNKNOWN,
)
"""From the bottom of the stack to its top: what lives longest lies lowest, as a level floor for the rest."""


@dataclass(frozen=True)
class Column:
    """One operation, or a run of several, at the moment when most bytes were alive in it.

    Attributes:
        first, last: the numbers of its operations; 0 is what was made before the first one.
        step: the operation of that moment.
        totals: bytes by category at that moment.
        has_gradient: whether a gradient was alive at any moment of it.
    """

    first: int
    last: int
    step: Step
    totals: Totals
    has_gradient: bool

    @property
    def total(self) -> int:
        """Bytes of all categories."""
        return sum(self.totals)


def columns_of(log: EventLog) -> list[Column]:
    """One column for each operation, in order, after one for what was made before the first.

    Several moments of an operation can be equally large. The last of them counts: by then the result has got its
    category, since a save or a gradient is noted after the allocation.
    """
    columns: list[Column] = []
    counted = {number for number, _, _ in moments(log)}
    for number, (_, step, totals) in enumerate(walk(log)):
        has_gradient = totals[Category.GRADIENT] > 0
        if not columns or step is not columns[-1].step:
            place = columns[-1].last + 1 if columns else int(step is not SETUP)
            columns.append(Column(place, place, step, totals, has_gradient))
        elif number in counted and sum(totals) >= columns[-1].total:
            columns[-1] = replace(columns[-1], totals=totals, has_gradient=has_gradient or columns[-1].has_gradient)
        elif has_gradient and not columns[-1].has_gradient:
            columns[-1] = replace(columns[-1], has_gradient=True)
    return columns


def peak_of(columns: Sequence[Column]) -> Column:
    """The first of the largest columns."""
    return max(columns, key=lambda column: column.total)


def phases_of(columns: Sequence[Column]) -> list[list[Column]]:
    """The columns in runs of one phase."""
    return [list(run) for _, run in groupby(columns, key=lambda column: column.step.phase)]


def merged(columns: list[Column], length: int) -> list[Column]:
    """Each run of ``length`` columns as one, which keeps the largest moment.

    A run ends where a phase ends, unless there are so many phases that this would not make the strip shorter.
    """
    if length == 1:
        return columns
    phases = phases_of(columns)
    groups = phases if len(phases) <= MAX_PHASES else [columns]
    runs = [group[start : start + length] for group in groups for start in range(0, len(group), length)]
    return [_joined(run) for run in runs]


def _joined(run: Sequence[Column]) -> Column:
    has_gradient = any(column.has_gradient for column in run)
    return replace(peak_of(run), first=run[0].first, last=run[-1].last, has_gradient=has_gradient)


def run_length(columns: Sequence[Column]) -> int:
    """How many operations share a column, so that `MAX_COLUMNS` are enough for all."""
    return max(1, -(-len(columns) // MAX_COLUMNS))


def present_in(columns: Sequence[Column]) -> list[Category]:
    """The categories that have any bytes anywhere, in the order of the stack."""
    return [category for category in ORDER if any(column.totals[category] for column in columns)]
