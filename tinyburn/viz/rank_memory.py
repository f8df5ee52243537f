"""What one rank of several holds at its peak, by category, against how many ranks there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from .svg import MARKS, Tip, block, number, path, rect, text, tip_texts, xy

_LEFT, _TOP, _COLUMN, _HEIGHT, _BAR = 76.0, 18.0, 72.0, 240.0, 44.0
_BASE = _TOP + _HEIGHT
_PLANNED = 'stroke-dasharray="4 3" stroke-width="1.4" fill="none"'
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


def _check(*reports: Mapping[int, MemoryReport]) -> None:
    hint = "write viz.rank_memory({1: report, 2: report}, {64: plan})"
    for each in reports:
        is_mapping = isinstance(each, Mapping)
        if not is_mapping or not all(is_count(ranks) and ranks > 0 for ranks in each):
            raise ForeignCall("viz.rank_memory", "these are no reports by numbers of ranks", hint=hint)
        for ranks, report in each.items():
            if not isinstance(report, MemoryReport):
                reason = f"for {ranks} ranks there is a {type(report).__name__}, and no MemoryReport"
                raise ForeignCall("viz.rank_memory", reason, hint=hint)
    if not any(reports):
        raise ForeignCall("viz.rank_memory", "there is not a single report", hint=hint)


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
        return f"Each of {_ranks(first.ranks)} holds {amount(first.peak)} at its peak"
    finding = f"From {_ranks(first.ranks)} to {_ranks(last.ranks)} the peak goes from {amount(first.peak)} to "
    finding += amount(last.peak)
    same = [MARKS[each].name for each, size in first.at_peak.items() if last.at_peak.get(each) == size]
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
    width = _COLUMN * len(bars)
    axes = Axes(len(bars), 1.05 * max(1, *(bar.peak for bar in bars)), _LEFT, _BASE, width, _HEIGHT)
    drawing = _axis(axes, width)
    for at, bar in enumerate(bars):
        drawing += _drawn(bar, axes, _LEFT + _COLUMN * at + (_COLUMN - _BAR) / 2)
    drawing.append(path(f"M{xy(_LEFT, _TOP)}V{number(_BASE)}h{number(width)}", "rule", 'fill="none"'))
    drawing.append(text(_LEFT + width / 2, _BASE + 38, "ranks", "soft", "middle"))
    tips = [
        Tip(_LEFT + _COLUMN * at, _TOP, _COLUMN, _HEIGHT, words) for at, words in enumerate(tip_texts(*_rows(bars)))
    ]
    keys = category_keys({MARKS[category].letter for category in _categories(bars)})
    kinds = {bar.measured is None for bar in bars}
    keys += [Key(rect(0, 0, 26, 14, "rule", 0, 'fill="none" stroke-width="1.4"'), "measured")] if False in kinds else []
    keys += [Key(rect(0, 0, 26, 14, "rule", 0, _PLANNED), "planned")] if True in kinds else []
    return sheet(title, (_LEFT + width + 16, _BASE + 44), drawing, keys, tips=tips)


def _axis(axes: Axes, width: float) -> list[str]:
    drawn = [text(0, 8, "bytes of one rank at its peak", "soft")]
    for y, label in axes.marks():
        drawn.append(path(f"M{xy(_LEFT, y)}h{number(width)}", "line", 'stroke-width=".4"'))
        drawn.append(text(_LEFT - 8, y + 4, label, "soft", "end"))
    return drawn


def _drawn(bar: Bar, axes: Axes, x: float) -> list[str]:
    """The parts from the bottom up, the frame that says whether it was measured, and the number of ranks."""
    drawn, below = [], 0
    for category, size in bar.at_peak.items():
        low, high = axes.y(below), axes.y(below + size)
        below += size
        if low - high >= _LEAST:
            drawn.append(block(x, high, _BAR, low - high, MARKS[category].letter))
    top = axes.y(bar.peak)
    frame = _PLANNED if bar.measured is None else 'fill="none" stroke-width="1.4"'
    drawn.append(rect(x - 3, top - 3, _BAR + 6, _BASE - top + 3, "rule", 0, frame))
    return [*drawn, text(x + _BAR / 2, _BASE + 18, thousands(bar.ranks), "ink", "middle")]
