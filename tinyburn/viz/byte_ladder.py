"""Picture 6, the byte ladder: the tensors' own bytes, and all that comes on top of them, for each backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log10

from tinyburn.base.text import amount, table, thousands
from tinyburn.memory.extras import How, Row
from tinyburn.memory.measure import MemoryReport, check_report

from .axes import short
from .cards import Key, card_key, sheet
from .picture import Picture
from .svg import Tip, number, path, rect, text, text_width, tip_texts, xy

RUNGS = ("payload", "padding", "cached", "metadata", "gradient storage", "staging", "reserved")
"""From the values themselves to what the allocator took from the system."""
_MEANINGS = {
    "payload": "values of tensors, at the peak",
    "padding": "added to round sizes up",
    "cached": "held, not in use at the peak",
    "metadata": "graph nodes at the peak",
    "gradient storage": "most gradients of leaves at once",
    "staging": "copied between host and device",
    "reserved": "payload, padding and cached",
}
_BAR = 170.0
_LEFT = 160 + text_width(max(_MEANINGS.values(), key=len))  # where the bars begin
_UNKNOWN = (
    '<pattern id="unknown" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path d="M0 0V7" class="line" stroke-width="1"/></pattern>'
)


def byte_ladder(reports: MemoryReport | Mapping[str, MemoryReport]) -> Picture:
    """How much of each kind there is, and how that is known.

    Args:
        reports: of one job, by the name of the backend that it ran on; a single report needs no name.
    """
    named = dict(reports) if isinstance(reports, Mapping) else {"the job": reports}
    for report in named.values():
        check_report("viz.byte_ladder", report)
    ladders = {name: rungs(report) for name, report in named.items()}
    title = _title(ladders)
    return Picture(title, _text(ladders), _drawing(title, ladders))


def rungs(report: MemoryReport) -> list[Row]:
    """One row for each rung. What the allocator reserved is the sum of three, if all three are known."""
    known = {name: Row(name, None, "not measured") for name in RUNGS} | {row.name: row for row in report.rows}
    is_simulated = any(row.how == "simulated" for row in report.rows)
    how: How = "simulated" if is_simulated else "measured"
    known["payload"] = Row("payload", report.peak_bytes, how)
    parts = [known[name].bytes for name in ("payload", "padding", "cached")]
    if known["reserved"].bytes is None and None not in parts:
        known["reserved"] = Row("reserved", sum(size or 0 for size in parts), how)
    return [known[name] for name in RUNGS]


def _title(ladders: Mapping[str, Sequence[Row]]) -> str:
    """The finding: the payload, what was taken for it where that is known, and how much nobody knows."""
    if not ladders:
        return "No backend to show"
    finding = f"Payload {_each(ladders, 'payload')}"
    reserved = _each(ladders, "reserved")
    if reserved:
        finding += f", reserved {reserved}"
    amounts = [row for ladder in ladders.values() for row in ladder]
    missing = sum(row.bytes is None for row in amounts)
    if not missing:
        return f"{finding}; all {len(amounts)} amounts are known"
    return f"{finding}; {missing} of {len(amounts)} amounts {'is' if missing == 1 else 'are'} not known"


def _each(ladders: Mapping[str, Sequence[Row]], rung: str) -> str:
    """One rung on every backend that knows it: once if they agree."""
    rows = {name: ladder[RUNGS.index(rung)] for name, ladder in ladders.items()}
    known = {name: amount(row.bytes) for name, row in rows.items() if row.bytes is not None}
    if len(ladders) == 1:
        return "".join(known.values())
    if len(known) == len(ladders) and len(set(known.values())) == 1:
        return f"{next(iter(known.values()))} on every backend"
    return ", ".join(f"{size} on {name}" for name, size in known.items())


def _size(row: Row) -> str:
    """What was not measured has no number at all."""
    return "" if row.bytes is None else thousands(row.bytes)


def _text(ladders: Mapping[str, Sequence[Row]]) -> str:
    if not ladders:
        return "No report was given."
    rows = [(name if row is ladder[0] else "", *_row(row)) for name, ladder in ladders.items() for row in ladder]
    if len(ladders) == 1:
        return table(_HEADER, [row[1:] for row in rows])
    return table(("backend", *_HEADER), rows)


_HEADER = ("kind", "bytes", "how", "what it is")


def _row(row: Row) -> tuple[str, ...]:
    return row.name, _size(row), row.how, _MEANINGS[row.name]


def _drawing(title: str, ladders: Mapping[str, Sequence[Row]]) -> str:
    largest = max([row.bytes or 0 for ladder in ladders.values() for row in ladder], default=0)
    drawn: list[str] = []
    tips: list[Tip] = []
    y = 0.0
    for name, ladder in ladders.items():
        drawn.append(text(0, y + 14, name, "ink bold"))
        y += 22
        for row, words in zip(ladder, tip_texts(_HEADER, map(_row, ladder)), strict=True):
            drawn += _rung(row, y, largest)
            tips.append(Tip(0, y, _LEFT + _BAR + 200, 22, words))
            y += 24
        y += 12
    drawn = [*_axis(largest, y), *drawn]
    y += 24
    keys = [card_key("measured", "box"), card_key("simulated, not run there", "ghost")]
    unknown = rect(0, 0, 26, 14, "line", 2, 'fill="url(#unknown)" style="fill:url(#unknown)"')
    keys.append(Key(unknown, "not measured, which is not 0"))
    notes = ["Each line to the right is ten times as much."]
    return sheet(title, (_LEFT + _BAR + 220, y), drawn, keys, notes, definitions=_UNKNOWN, tips=tips)


def _wide(size: int, largest: int) -> float:
    """The length of a bar, by the logarithm of its bytes."""
    return _BAR * log10(1 + size) / max(log10(1 + largest), 1)


def _axis(largest: int, base: float) -> list[str]:
    """A line for 1, 10, 100 bytes and so on, with the number below as far as there is room."""
    drawn: list[str] = []
    powers = [10**power for power in range(len(str(max(largest, 1))))]
    every = max(1, ceil(len(powers) * text_width("100 MB ") / _BAR))
    for at, size in enumerate(powers):
        x = _LEFT + _wide(size, largest)
        drawn.append(path(f"M{xy(x, 22)}V{number(base)}", "line", 'stroke-width=".4"'))
        if at % every == 0:
            drawn.append(text(x, base + 14, short(size, size), "soft", "middle"))
    return drawn


def _rung(row: Row, y: float, largest: int) -> list[str]:
    """A name, a bar, and how its length is known."""
    label = [text(14, y + 13, row.name), text(150, y + 13, _MEANINGS[row.name], "soft")]
    left = _LEFT
    if row.bytes is None:
        outline = rect(left, y + 1, _BAR, 16, "line", 2, 'style="fill:url(#unknown)"')
        return [*label, outline, text(left + _BAR + 12, y + 13, "not measured", "soft")]
    width = _wide(row.bytes, largest)
    bar = rect(left, y + 1, max(width, 1), 16, "ghost" if row.how == "simulated" else "box", 2)
    size = text(left + width + 12, y + 13, amount(row.bytes), "ink bold")
    return [*label, bar, size, text(left + width + 24 + text_width(amount(row.bytes)), y + 13, row.how, "soft")]
