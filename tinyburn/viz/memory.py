"""Picture 4, the memory strip: bytes alive by category, operation by operation, with the peak marked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tinyburn.backend import Category
from tinyburn.base.text import amount, table
from tinyburn.memory.measure import MemoryReport

from .columns import Column, columns_of, peak_of, present_in
from .palette import MARKS
from .picture import Picture
from .strip import draw_strip

MAX_ROWS = 60
"""Of the table of operations; a longer one is folded."""


def memory(report: MemoryReport, plan: MemoryReport | None = None) -> Picture:
    """The strip of a measured job; ``plan`` is a prediction, drawn as a line over it.

    A pure function of the event logs: it takes time in proportion to their length.
    """
    columns = columns_of(report.events)
    planned = columns_of(plan.events) if plan else []
    title = title_of(columns, planned)
    return Picture(title, text_of(columns, planned), draw_strip(columns, planned, title))


def title_of(columns: Sequence[Column], planned: Sequence[Column]) -> str:
    """The finding: how much, where, and what the gradients have to do with it."""
    if not any(column.total for column in columns):
        return "Peak 0 B: no tensor had any bytes"
    peak = peak_of(columns)
    finding = f"Peak {amount(peak.total)} at {peak.step}; {_gradients_at(peak, columns)}"
    if not planned:
        return finding
    foreseen = peak_of(planned).total
    return f"{finding}; planned: {'the same' if foreseen == peak.total else amount(foreseen)}"


def _gradients_at(peak: Column, columns: Sequence[Column]) -> str:
    if peak.totals[Category.GRADIENT]:
        return f"{amount(peak.totals[Category.GRADIENT])} of it are gradients"
    alive = [column.first for column in columns if column.has_gradient]
    if not alive:
        return "no gradient is ever alive"
    return "no gradient is alive yet" if alive[0] >= peak.first else "no gradient is alive then"


def text_of(columns: list[Column], planned: list[Column]) -> str:
    """The same content as tables: operation by operation, then the peak."""
    if not columns:
        return "The log is empty: no operation ran and no tensor was made."
    kept = kept_rows(columns)
    lines = ["Bytes alive in each operation, at its largest moment:", _operations(columns, kept)]
    if len(kept) < len(columns):
        lines.append(f"{_digits(len(columns))} rows, of which {len(kept)} are shown: the ends, the peak, the phases.")
    lines += ["", *_at_peak(columns)]
    if planned:
        peak = peak_of(planned)
        lines += ["", f"The plan has its peak, {amount(peak.total)}, at {peak.step}."]
    return "\n".join(lines)


def kept_rows(columns: Sequence[Column]) -> list[int]:
    """Which rows the table has room for: around the peak, at both ends, and on both sides of a phase's border."""
    count = len(columns)
    if count <= MAX_ROWS:
        return list(range(count))
    peak = columns.index(peak_of(columns))
    borders = [place for place in range(1, count) if columns[place].step.phase != columns[place - 1].step.phase]
    sides = [place - offset for place in borders for offset in (1, 0)]
    wanted = dict.fromkeys([*range(peak - 6, peak + 7), *range(3), *range(count - 3, count), *sides])
    return sorted([place for place in wanted if 0 <= place < count][:MAX_ROWS])


def _operations(columns: Sequence[Column], kept: list[int]) -> str:
    present = present_in(columns)
    rows: list[list[str]] = []
    for before, place in pairwise([-1, *kept]):
        if place > before + 1:
            left_out = columns[before + 1 : place]
            most = _digits(peak_of(left_out).total)
            rows.append(["", "", f"… {_digits(len(left_out))} more, at most", *[""] * len(present), most])
        column = columns[place]
        sizes = [_digits(column.totals[category]) for category in present]
        rows.append([str(column.first), column.step.phase, str(column.step), *sizes, _digits(column.total)])
    return table(("", "phase", "operation", *(MARKS[category].name for category in present), "total"), rows)


def _at_peak(columns: Sequence[Column]) -> list[str]:
    peak = peak_of(columns)
    rows = [
        (MARKS[category].letter, MARKS[category].name, amount(peak.totals[category])) for category in present_in([peak])
    ]
    rows.append(("", "total", amount(peak.total)))
    return [f"At the peak, {peak.step}:", table(("", "category", "bytes"), rows)]


def _digits(count: int) -> str:
    return amount(count).removesuffix(" B")
