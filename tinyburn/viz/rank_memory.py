"""What one rank of several holds at its peak, by category, against how many ranks there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tinyburn.backend import Category
from tinyburn.base.errors import ForeignCall
from tinyburn.base.shape import is_count
from tinyburn.base.text import amount, table, thousands
from tinyburn.memory.measure import MemoryReport

from .axes import Axes
from .cards import Key, category_keys, sheet
from .memory_strip import ORDER
from .picture import Picture
from .svg import LINE, MARKS, Tip, block, number, path, rect, text, text_width, tip_texts, xy

_LEFT, _TOP, _COLUMN, _HEIGHT, _BAR = 76.0, 18.0, 72.0, 240.0, 44.0
_BASE = _TOP + _HEIGHT
_MEASURED = 'stroke-width="1.4" fill="none"'
_PLANNED = f'stroke-dasharray="4 3" {_MEASURED}'
_LEAST = 2.0
"""Pixels of the smallest part that is drawn."""


class Bar(NamedTuple):
    """One number of ranks.

    Attributes:
        at_peak: bytes by category, of those that have any, from the bottom of the bar to its top.
        measured, planned: bytes at the peak; None where that has not been done.
    """

    ranks: int
    at_peak: dict[Category, int]
    measured: int | None
    planned: int | None

    @property
    def peak(self) -> int:
        """Its height: as measured, if it was."""
        return sum(self.at_peak.values())

    @property
    def source(self) -> str:
        """Where the number comes from."""
        if self.measured is None:
            return "planned"
        if self.planned is None:
            return "measured"
        return "measured, as planned" if self.measured == self.planned else f"measured; plan {amount(self.planned)}"


def rank_memory(measured: Mapping[int, MemoryReport], planned: Mapping[int, MemoryReport] | None = None) -> Picture:
    """The peak of one rank, as a bar for each number of ranks.

    Args:
        measured: reports of `memory.measure`, by how many ranks there were.
        planned: reports of `memory.plan` with ``parallel.Pretend(rank, size)``, by ``size``. A number of ranks that is
            in both is drawn as it was measured.

    Raises ForeignCall for what are no reports by numbers of ranks, and without any.
    """
    planned = {} if planned is None else planned
    _check(measured, planned)
    bars = [_bar_of(ranks, measured.get(ranks), planned.get(ranks)) for ranks in sorted({*measured, *planned})]
    title = _title(bars)
    return Picture(title, _text(bars), _svg(title, bars))


def _check(*given: Mapping[int, MemoryReport]) -> None:
    reasons = [reason for reports in given for reason in _reasons(reports)]
    if not reasons and not any(given):
        reasons = ["there is not a single report"]
    if reasons:
        raise ForeignCall("viz.rank_memory", reasons, hint="write viz.rank_memory({1: report, 2: report}, {64: plan})")


def _reasons(reports: object) -> list[str]:
    if not isinstance(reports, Mapping):
        return [f"{type(reports).__name__} is no dict of reports by numbers of ranks"]
    reasons = [f"{ranks!r} is no number of ranks" for ranks in reports if not (is_count(ranks) and ranks > 0)]
    return reasons + [
        f"for {ranks!r} there is a {type(report).__name__}, and no MemoryReport"
        for ranks, report in reports.items()
        if not isinstance(report, MemoryReport)
    ]


def _bar_of(ranks: int, measured: MemoryReport | None, planned: MemoryReport | None) -> Bar:
    """At least one of the two is there."""
    report = measured if measured is not None else planned
    assert report is not None
    sizes = {category: report.at_peak.get(category.name.lower(), 0) for category in ORDER}
    peaks = [None if each is None else each.peak_bytes for each in (measured, planned)]
    return Bar(ranks, {category: size for category, size in sizes.items() if size}, *peaks)


# The words


def _title(bars: Sequence[Bar]) -> str:
    """The finding: how the peak falls, and what of it stays."""
    first, last = bars[0], bars[-1]
    if first is last:
        who = "A rank by itself" if first.ranks == 1 else f"Each of {_ranks(first.ranks)}"
        return f"{who} holds {amount(first.peak)} at its peak"
    finding = f"From {_ranks(first.ranks)} to {_ranks(last.ranks)} the peak goes from {amount(first.peak)} to "
    finding += amount(last.peak)
    same = [MARKS[each].name for each in first.at_peak if len({bar.at_peak.get(each) for bar in bars}) == 1]
    return finding + (f"; the same everywhere: {', '.join(same)}" if same else "")


def _ranks(count: int) -> str:
    return f"{thousands(count)} rank" + "s" * (count > 1)


def _categories(bars: Sequence[Bar]) -> list[Category]:
    return [category for category in ORDER if any(category in bar.at_peak for bar in bars)]


def _rows(bars: Sequence[Bar]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    found = _categories(bars)
    header = ("ranks", *(MARKS[category].name for category in found), "peak in bytes", "")
    rows = [
        (
            thousands(bar.ranks),
            *(thousands(bar.at_peak.get(category, 0)) for category in found),
            thousands(bar.peak),
            bar.source,
        )
        for bar in bars
    ]
    return header, rows


def _text(bars: Sequence[Bar]) -> str:
    return table(*_rows(bars))


# The drawing


def _svg(title: str, bars: Sequence[Bar]) -> str:
    axes = _axes(bars)
    column = axes.width / len(bars)
    drawing = _axis(axes)
    for at, bar in enumerate(bars):
        drawing += _drawn(bar, axes, axes.x(at + 0.5) - _BAR / 2)
    drawing.append(path(f"M{xy(axes.left, _TOP)}V{number(_BASE)}h{number(axes.width)}", "rule", 'fill="none"'))
    drawing.append(text(axes.x(len(bars) / 2), _BASE + 38, "ranks", "soft", "middle"))
    tips = [Tip(axes.x(at), _TOP, column, _HEIGHT, words) for at, words in enumerate(tip_texts(*_rows(bars)))]
    return sheet(title, (axes.right + 16, _BASE + 44), drawing, _keys(bars), tips=tips)


def _axes(bars: Sequence[Bar]) -> Axes:
    """As wide as the words at their edges need."""
    column = max(_COLUMN, *(text_width(thousands(bar.ranks)) + 14 for bar in bars))
    axes = Axes(len(bars), 1.05 * max(1, *(bar.peak for bar in bars)), _LEFT, _BASE, column * len(bars), _HEIGHT)
    return replace(axes, left=max(_LEFT, *(text_width(label) + 12 for _, label in axes.marks())))


def _keys(bars: Sequence[Bar]) -> list[Key]:
    keys = category_keys({MARKS[category].letter for category in _categories(bars)})
    frames = {False: ("measured", _MEASURED), True: ("planned", _PLANNED)}
    kinds = {bar.measured is None for bar in bars}
    return keys + [Key(rect(0, 0, 26, 14, "rule", 0, frames[kind][1]), frames[kind][0]) for kind in sorted(kinds)]


def _axis(axes: Axes) -> list[str]:
    drawn = [text(0, 8, "bytes of one rank at its peak", "soft")]
    for y, label in axes.marks():
        drawn.append(path(f"M{xy(axes.left, y)}h{number(axes.width)}", "line", 'stroke-width=".4"'))
        drawn.append(text(axes.left - 8, y + 4, label, "soft", "end"))
    return drawn


def _drawn(bar: Bar, axes: Axes, x: float) -> list[str]:
    """The parts from the bottom up, the frame that says whether it was measured, and the number of ranks."""
    drawn, below = [], 0
    for category, size in bar.at_peak.items():
        low, high = axes.y(below), axes.y(below + size)
        below += size
        if low - high >= _LEAST:
            drawn.append(block(x, high, _BAR, low - high, MARKS[category].letter))
        if low - high >= LINE:
            drawn.append(text(x + _BAR + 7, (low + high) / 2 + 4, MARKS[category].letter, "soft"))
    top = axes.y(bar.peak)
    frame = _PLANNED if bar.measured is None else _MEASURED
    drawn.append(rect(x - 3, top - 3, _BAR + 6, _BASE - top + 3, "rule", 0, frame))
    return [*drawn, text(x + _BAR / 2, _BASE + 18, thousands(bar.ranks), "ink", "middle")]
