"""Picture 12, the receipt: what a formula, a plan, the ledger and a witness say, with each gap explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap

from tinyburn.backend import Category
from tinyburn.base.text import amount, table, thousands
from tinyburn.memory.measure import MemoryReport, check_report
from tinyburn.memory.operations import largest_by_category

from .cards import card_key, category_keys, sheet
from .picture import Picture
from .svg import CHARACTER, LINE, MARKS, block, path, rect, text

TERMS = (Category.PARAMETER, Category.ACTIVATION, Category.GRADIENT, Category.TEMPORARY)
"""The four of the usual formula: parameters + activations + gradients + temporaries."""
_LEFT, _BAR, _WORDS = 170.0, 300.0, 110


@dataclass(frozen=True)
class Line:
    """One number of the receipt.

    Attributes:
        name: where it comes from.
        bytes: None if nobody measured it.
        gap: how it differs from the line before it, in a sentence.
    """

    name: str
    bytes: int | None
    gap: str


def receipt(
    report: MemoryReport, plan: MemoryReport, *, truth: int | None = None, witness: str = "witness", because: str = ""
) -> Picture:
    """Four answers to one question: how many bytes does the job need at once?

    Args:
        report: measured, on a real backend.
        plan: the same job and batch on shapes.
        truth: the peak by a count that is not tinyburn's, such as tracemalloc's; None if there is none.
        witness: the name of that count.
        because: why it differs from the ledger; without it, the sign of the gap is explained.
    """
    check_report("viz.receipt", report)
    largest = largest_of(plan)
    lines = [
        Line("formula", sum(largest[term] for term in TERMS), "The sum of four terms, each at its own largest moment."),
        Line("plan", plan.peak_bytes, formula_gap(largest, plan)),
        Line("ledger", report.peak_bytes, plan_gap(plan, report)),
        Line(witness, truth, truth_gap(report.peak_bytes, truth, because)),
    ]
    title = _title(lines)
    return Picture(title, _text(lines, largest, plan), _drawing(title, lines, largest, (plan, report)))


def largest_of(report: MemoryReport) -> dict[Category, int]:
    """The most bytes of each category that were alive at any moment."""
    return dict(zip(Category, largest_by_category(report.events), strict=True))


def at_peak(report: MemoryReport, category: Category) -> int:
    """Bytes of one category at the peak."""
    return report.at_peak.get(category.name.lower(), 0)


def formula_gap(largest: dict[Category, int], plan: MemoryReport) -> str:
    """What the formula adds that is never there together, and what it leaves out. The two explain all of the gap."""
    extra = {term: largest[term] - at_peak(plan, term) for term in TERMS}
    left_out = {category: at_peak(plan, category) for category in Category if category not in TERMS}
    parts = []
    if any(extra.values()):
        parts.append(f"It adds what is not there at the peak: {_listed(extra)}.")
    if any(left_out.values()):
        parts.append(f"It leaves out {_listed(left_out)}.")
    gap = sum(largest[term] for term in TERMS) - plan.peak_bytes
    if not parts:
        return "The formula is right here: its four terms are all there is, and they are largest together."
    whole = f"{amount(abs(gap))} too {'high' if gap > 0 else 'low'}" if gap else "right only because two errors cancel"
    return f"The formula is {whole}. {' '.join(parts)}"


def _listed(sizes: dict[Category, int]) -> str:
    return ", ".join(f"{amount(size)} of {MARKS[category].name}" for category, size in sizes.items() if size)


def plan_gap(plan: MemoryReport, report: MemoryReport) -> str:
    """Whether both wrote the same log, or where they part."""
    planned, measured = plan.events, report.events
    if (planned.names, planned.events) == (measured.names, measured.events):
        return f"No gap: all {len(measured.events)} events of the two logs are the same."
    pairs = enumerate(zip_longest(planned.events, measured.events))
    event = next((event for event, (one, other) in pairs if one != other), 0)
    gap = report.peak_bytes - plan.peak_bytes
    change = _change(gap) if gap else "The same peak, by chance"
    return f"{change}: the two logs part at event {event}, so this is not the run that was planned."


def truth_gap(ledger: int, truth: int | None, because: str) -> str:
    """What an independent count says of the ledger."""
    if truth is None:
        return "Not measured: nobody else counted this run."
    if because:
        return because
    gap = truth - ledger
    if not gap:
        return "No gap: it counts the same to the byte."
    reason = "it also counts what is no tensor data, such as Python's own objects"
    if abs(gap) <= 64:
        reason = "NumPy asks for some bytes for a number, or where an array is empty"
    elif gap < 0:
        reason = "it did not see every buffer, or it did not look at the moment of the peak"
    return f"{_change(gap)}: {reason}."


def _change(gap: int) -> str:
    return f"{amount(abs(gap))} {'more' if gap > 0 else 'less'}"


def _title(lines: Sequence[Line]) -> str:
    formula, plan, ledger, truth = [line.bytes for line in lines]
    same = [name for name, size in (("the ledger", ledger), (lines[3].name, truth)) if size == plan]
    finding = f"Plan {amount(plan or 0)}, and the ledger says otherwise"
    if ledger == plan:
        finding = f"Plan {amount(plan or 0)}, and {' and '.join(same)} say{'s' if len(same) == 1 else ''} the same"
    return f"{finding}; the formula says {amount(formula or 0)}"


def _text(lines: Sequence[Line], largest: dict[Category, int], plan: MemoryReport) -> str:
    numbers = [(line.name, "" if line.bytes is None else thousands(line.bytes), line.gap) for line in lines]
    rows: list[tuple[str, ...]] = []
    for category, size in largest.items():
        if size:
            sizes = (thousands(size), thousands(at_peak(plan, category)))
            is_term = "yes" if category in TERMS else "no"
            rows.append((MARKS[category].letter, MARKS[category].name, *sizes, is_term))
    categories = table(("", "category", "at its largest", "at the peak", "in the formula"), rows)
    return f"{table(('', 'bytes', 'the gap to the line before'), numbers)}\n\n{categories}"


def _drawing(
    title: str, lines: Sequence[Line], largest: dict[Category, int], reports: tuple[MemoryReport, MemoryReport]
) -> str:
    scale = _BAR / max([line.bytes or 0 for line in lines] + [1])
    parts = [{term: largest[term] for term in TERMS}]
    parts += [{category: at_peak(report, category) for category in Category} for report in reports]
    drawn: list[str] = []
    y = 0.0
    for line, known in zip(lines, [*parts, {}], strict=True):
        drawn += [text(0, y + 15, line.name, "ink bold"), *_bar(line, known, y, scale)]
        words = wrap(line.gap, _WORDS)
        drawn += [text(14, y + 38 + LINE * row, content, "soft") for row, content in enumerate(words)]
        y += 42 + LINE * len(words)
    keys = category_keys({MARKS[category].letter for category, size in largest.items() if size})
    keys += [card_key("not measured", "ghost")] if lines[3].bytes is None else []
    return sheet(title, (14 + _WORDS * CHARACTER, y), drawn, keys)


def _bar(line: Line, parts: dict[Category, int], y: float, scale: float) -> list[str]:
    """The number as a bar, in parts where its parts are known."""
    if line.bytes is None:
        return [rect(_LEFT, y + 2, 120, 18, "ghost", 2), text(_LEFT + 132, y + 15, "not measured", "soft")]
    drawn, x = [], _LEFT
    pieces = parts if sum(parts.values()) == line.bytes else {}
    if not pieces:
        drawn.append(rect(_LEFT, y + 2, max(line.bytes * scale, 1), 18, "box"))
    for category, size in pieces.items():
        if size:
            drawn.append(block(x, y + 2, size * scale, 18, MARKS[category].letter))
            x += size * scale
    end = _LEFT + line.bytes * scale
    return [*drawn, path(f"M{_LEFT} {y:g}v22", "rule"), text(end + 12, y + 15, amount(line.bytes), "ink bold")]
