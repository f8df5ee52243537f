"""What is drawn, in words: one row for each box. The text forms of the pictures are made of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .fold import Box, Drawn
from .formula import count, shape_text
from .model import Graph


@dataclass(frozen=True)
class Row:
    """One box, as a table says it.

    Attributes:
        what: the operation, or ``parameter``, ``leaf``, ``constant``, or how many operations.
        formula: what it computes; for a box of several, which operations and leaves it holds.
        shape, dtype, size: of the result; for a box of several, of the last one's.
    """

    label: str
    what: str
    formula: str
    shape: str
    dtype: str
    size: int
    gets_gradient: bool
    path: str


def rows_of(graph: Graph, drawn: Drawn) -> list[Row]:
    """A row for each box, operands first."""
    return [_row(graph, box) for box in drawn.boxes]


def _row(graph: Graph, box: Box) -> Row:
    last = graph.items[box.items[-1]]
    shape = shape_text(last.shape)
    if box.kind == "item":
        what = last.op if last.is_operation else last.kind
        return Row(last.label, what, last.formula, shape, last.dtype, last.size, last.gets_gradient, last.path)
    what = count(len(box.items), "operation")
    return Row(box_label(graph, box), what, _contents(graph, box), shape, last.dtype, last.size, True, last.path)


def box_label(graph: Graph, box: Box) -> str:
    """A module's path, ``998 more: add``, or from which result to which; for a single item its own label."""
    first, last = graph.items[box.items[0]], graph.items[box.items[-1]]
    if box.kind == "item":
        return first.label
    return box.label or f"{first.label} … {last.label}"


def _contents(graph: Graph, box: Box) -> str:
    """Which operations, the most frequent first, and how many leaves of which kind."""
    ops = Counter(graph.items[number].op for number in box.items).most_common(6)
    parts = [op if times == 1 else f"{times} {op}" for op, times in ops]
    kinds = Counter(graph.items[leaf].kind for leaf in box.leaves)
    parts += [count(times, kind) for kind, times in kinds.items()]
    return ", ".join(parts)


def with_notes(table: str, notes: Sequence[str]) -> str:
    """The text form: the table, and under it what else there is to say."""
    return "\n".join([table, "", *notes]) if notes else table
