"""The ranks of a training step side by side: when each computes, waits for the others, and sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, get_args

from tinyburn.backend import Category
from tinyburn.base.errors import ForeignCall
from tinyburn.base.shape import is_count
from tinyburn.base.text import amount, table
from tinyburn.parallel.timed import Doing, Lap, Span

from .cards import Key, sheet
from .picture import Picture
from .scale import round_numbers
from .svg import MARKS, Tip, fill_of, number, path, text, tip_texts, xy

MOST_ROWS = 64
"""Ranks that are drawn; the text has all."""
MOST_SPANS, MOST_PIECES = 150, 2000
"""Spans that are drawn of a rank, so that they can be told apart, and of all, so that the picture stays small."""
_LEFT, _TOP, _WIDTH, _ROW, _BAR = 72.0, 8.0, 600.0, 36.0, 24.0
_NARROWEST, _CLOSE = 0.6, 6.0
"""Pixels that the shortest span is drawn with, and of the shortest time in which spans are sorted."""
_LATEST = 1e12
"""Seconds, of which no lap has so many; so no sum of them is infinite."""
_ORDER: tuple[Doing, ...] = get_args(Doing)
_LETTER = MARKS[Category.COMMUNICATION].letter
_STYLES = {
    "compute": ("box", 'stroke-width=".7"'),
    "wait": ("rule", 'stroke-dasharray="3 3" stroke-width="1" fill="none"'),
    "send": ("rule", f'stroke-width=".7" fill="{fill_of(_LETTER)}"'),
}


def rank_timeline(laps: Sequence[Lap]) -> Picture:
    """The laps of all ranks, one row each, over one axis of time.

    Clocks of different machines do not agree, so the rows are aligned at the end of the first meeting: that is the one
    moment that all ranks have in common.

    Args:
        laps: of each rank, in order: what `Timed.lap` has returned there, after one and the same step.

    Raises ForeignCall for what are no laps, and for laps that do not come from the same step.
    """
    _check(laps)
    rows = _aligned(laps)
    totals = [_totals(lap) for lap in rows]
    unit = _unit_for(max(each.seconds for each in totals))
    title = _title(totals, unit)
    return Picture(title, table(*_table(totals, unit)), _svg(title, rows, totals, unit))


class Unit(NamedTuple):
    """Of time: its name, and how many of it are a second."""

    name: str
    factor: float

    def said(self, seconds: float) -> str:
        """A time in this unit."""
        return f"{self.factor * seconds:,.1f}".replace(",", " ")


def _unit_for(seconds: float) -> Unit:
    """The largest of which these are ten or more."""
    units = [Unit("s", 1.0), Unit("ms", 1e3), Unit("µs", 1e6)]
    return next((unit for unit in units if unit.factor * seconds >= 10), units[-1])


class Totals(NamedTuple):
    """What one rank did in all: seconds, and the bytes of the tensors that it has exchanged."""

    compute: float
    wait: float
    send: float
    bytes: int

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.compute + self.wait + self.send


def _totals(lap: Lap) -> Totals:
    compute, wait, send = (sum(span.seconds for span in lap if span.doing == doing) for doing in _ORDER)
    return Totals(compute, wait, send, sum(span.bytes for span in lap))


def _aligned(laps: Sequence[Lap]) -> list[Lap]:
    """The same laps on one clock, which begins with the first of all spans."""
    moments = [next((span.stop for span in lap if span.doing == "wait"), 0.0) for lap in laps]
    late = [max(moments) - moment for moment in moments]
    return [
        tuple(span._replace(start=span.start + by, stop=span.stop + by) for span in lap)
        for lap, by in zip(laps, late, strict=True)
    ]


def _check(laps: Sequence[Lap]) -> None:
    reasons = ["these are no laps, one for each rank"] if not _are_laps(laps) else _reasons(laps)
    if reasons:
        hint = "write viz.rank_timeline(comm.gather('laps', comm.lap())), with comm = parallel.Timed(parallel.Mpi())"
        raise ForeignCall("viz.rank_timeline", reasons, hint=hint)


def _are_laps(laps: object) -> bool:
    """By their types alone."""
    if not isinstance(laps, list | tuple) or not laps or not all(isinstance(lap, list | tuple) and lap for lap in laps):
        return False
    spans = [span for lap in laps for span in lap]
    return all(isinstance(span, Span) and span.doing in _ORDER and is_count(span.bytes) for span in spans)


def _reasons(laps: Sequence[Lap]) -> list[str]:
    reasons = []
    called = [[(span.doing, span.name) for span in lap if span.doing != "compute"] for lap in laps]
    for rank, lap in enumerate(laps):
        wrong = next((span for span in lap if not _has_times(span)), None)
        if wrong is not None:
            reasons.append(f"rank {rank} has a span from {wrong.start!r} to {wrong.stop!r}, and these are no seconds")
        if called[rank] != called[0]:
            reasons.append(f"rank {rank} has done something else than rank 0, so these laps are not of the same step")
    return reasons


def _has_times(span: Span) -> bool:
    are_numbers = all(isinstance(time, int | float) for time in (span.start, span.stop))
    return are_numbers and 0 <= span.start <= span.stop <= _LATEST


# The words


def _title(totals: Sequence[Totals], unit: Unit) -> str:
    """The finding: what the ranks do with their time, and for whom the others wait."""
    whole = sum(each.seconds for each in totals) or 1.0
    parts = list(zip(*totals, strict=True))
    compute, wait, send = (f"{100 * sum(part) / whole:.0f} %" for part in parts[:3])
    if len(totals) == 1:
        return f"A rank by itself computes {compute} of its time, waits {wait} and sends {send}"
    slowest = _slowest(totals)[0]
    longest = f"rank {slowest} computes longest, {unit.said(totals[slowest].compute)} {unit.name}"
    return f"{len(totals)} ranks compute {compute} of their time, wait {wait} and send {send}; {longest}"


def _slowest(totals: Sequence[Totals]) -> list[int]:
    """The ranks by how long they compute, the longest first."""
    return sorted(range(len(totals)), key=lambda rank: (-totals[rank].compute, rank))


def _table(totals: Sequence[Totals], unit: Unit) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    header = ("rank", *(f"{doing} {unit.name}" for doing in _ORDER), "sent tensors")
    rows = [(str(rank), *map(unit.said, each[:3]), amount(each.bytes)) for rank, each in enumerate(totals)]
    return header, rows


# The drawing


def _svg(title: str, rows: Sequence[Lap], totals: Sequence[Totals], unit: Unit) -> str:
    shown = sorted(_slowest(totals)[:MOST_ROWS])
    end = max(span.stop for lap in rows for span in lap) or 1 / unit.factor
    drawn, order_within = _short_enough([rows[rank] for rank in shown], end)
    base = _TOP + _ROW * len(shown)
    drawing, tips = _axis(end, unit, base), []
    words = tip_texts(*_table(totals, unit))
    for row, (rank, lap) in enumerate(zip(shown, drawn, strict=True)):
        y = _TOP + _ROW * row
        drawing.append(text(_LEFT - 8, y + _BAR / 2 + 4, f"rank {rank}", "ink", "end"))
        drawing += _bars(lap, y, end)
        tips.append(Tip(_LEFT, y, _WIDTH, _BAR, words[rank]))
    notes = [f"Within {unit.said(order_within)} {unit.name}, the order is that of the legend."] if order_within else []
    notes += [f"These {MOST_ROWS} ranks compute longest; the text has all."] if len(shown) < len(rows) else []
    return sheet(title, (_LEFT + _WIDTH + 16, base + 40), drawing, _keys(), notes, tips=tips)


def _axis(end: float, unit: Unit, base: float) -> list[str]:
    """Round numbers of the unit, and a thin line upwards from each."""
    drawn, last = [], unit.factor * end
    for value in map(float, round_numbers(0, last, 6)):
        x = _LEFT + _WIDTH * value / last
        drawn.append(path(f"M{xy(x, _TOP - 4)}V{number(base)}", "line", 'stroke-width=".4"'))
        drawn.append(text(x, base + 16, f"{value:g}", "soft", "middle"))
    return [*drawn, text(_LEFT + _WIDTH / 2, base + 34, unit.name, "soft", "middle")]


def _short_enough(rows: Sequence[Lap], end: float) -> tuple[list[Lap], float]:
    """The rows with as few spans as can be drawn, and within how many seconds these are sorted; 0 if they are not.

    Where there are too many, neighbours are put together: first what was computed of them, then the waiting, then the
    sending. So what a rank does keeps its length.
    """
    drawn, within = [tuple(span for span in lap if span.seconds) for lap in rows], 0.0
    plain, most = drawn, min(MOST_SPANS, MOST_PIECES // len(rows))
    while any(len(lap) > most for lap in drawn):
        within = 2 * within or end * _CLOSE / _WIDTH
        drawn = [_sorted_within(lap, within) for lap in plain]
    return drawn, within


def _sorted_within(lap: Lap, seconds: float) -> Lap:
    """Runs of spans that take no longer than that together, each sorted."""
    runs: list[list[Span]] = []
    for span in lap:
        if runs and span.stop - runs[-1][0].start <= seconds:
            runs[-1].append(span)
        else:
            runs.append([span])
    return tuple(span for run in runs for span in _sorted(run))


def _sorted(run: list[Span]) -> list[Span]:
    """One span of each kind, in the time that all of them take."""
    made, start = [], run[0].start
    for doing in _ORDER:
        seconds = sum(span.seconds for span in run if span.doing == doing)
        if seconds:
            made.append(Span(doing, "", start, start + seconds, 0))
        start += seconds
    return made


def _bars(lap: Lap, y: float, end: float) -> list[str]:
    """One path for all that a rank has done of a kind: so it takes few bytes."""
    commands = {doing: "".join(_bar(span, y, end) for span in lap if span.doing == doing) for doing in _ORDER}
    return [path(made, *_STYLES[doing]) for doing, made in commands.items() if made]


def _bar(span: Span, y: float, end: float) -> str:
    wide = max(_NARROWEST, _WIDTH * span.seconds / end)
    return _outline(span.doing, _LEFT + _WIDTH * span.start / end, y, wide, _BAR)


def _outline(doing: str, x: float, y: float, wide: float, high: float) -> str:
    """A line for who waits, and a box for who does something."""
    if doing == "wait":
        return f"M{xy(x, y + high / 2)}h{number(wide)}"
    return f"M{xy(x, y)}h{number(wide)}v{number(high)}h-{number(wide)}z"


def _keys() -> list[Key]:
    meanings = {"compute": "compute", "wait": "wait for the last rank", "send": "send and receive"}
    return [Key(path(_outline(doing, 0, 1, 26, 12), *_STYLES[doing]), said) for doing, said in meanings.items()]
