"""The ranks of a training step side by side: when each computes, waits for the others, and sends."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import NamedTuple

from tinyburn.backend import Category
from tinyburn.base.errors import ForeignCall
from tinyburn.base.text import amount, table
from tinyburn.parallel.timed import Lap, Span

from .cards import Key, sheet
from .picture import Picture
from .svg import MARKS, Tip, block, number, path, rect, text, xy

_LEFT, _TOP, _WIDTH, _ROW, _BAR = 64.0, 8.0, 600.0, 36.0, 24.0
_NARROWEST = 0.6
"""Pixels of the shortest span that is drawn; a shorter one is in the table all the same."""
_MILLI = 1000.0
_LETTER = MARKS[Category.COMMUNICATION].letter
_DASHED = 'stroke-dasharray="3 3" stroke-width="1" fill="none"'


def rank_timeline(laps: Sequence[Lap]) -> Picture:
    """The laps of all ranks, one row each, over one axis of milliseconds.

    Clocks of different machines do not agree, so the rows are aligned at the end of the first meeting: that is the one
    moment that all ranks have in common.

    Args:
        laps: of each rank, in order: what `Timed.lap` has returned there, after one and the same step.

    Raises ForeignCall for what are no laps, and for laps that do not come from the same step.
    """
    rows = _aligned(laps)
    totals = [_totals(lap) for lap in rows]
    title = _title(totals)
    return Picture(title, _text(totals), _svg(title, rows, totals))


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


def _aligned(laps: Sequence[Lap]) -> list[Lap]:
    """The same laps on one clock, which begins with the first of all spans."""
    _check(laps)
    moments = [next((span.stop for span in lap if span.doing == "wait"), 0.0) for lap in laps]
    late = [max(moments) - moment for moment in moments]
    return [
        tuple(span._replace(start=span.start + by, stop=span.stop + by) for span in lap)
        for lap, by in zip(laps, late, strict=True)
    ]


def _check(laps: Sequence[Lap]) -> None:
    hint = "write viz.rank_timeline(comm.gather('laps', comm.lap())), with comm = parallel.Timed(parallel.Mpi())"
    are_laps = isinstance(laps, Sequence) and all(isinstance(lap, Sequence) and len(lap) for lap in laps)
    if not (are_laps and laps and all(isinstance(span, Span) for lap in laps for span in lap)):
        raise ForeignCall("viz.rank_timeline", "these are no laps, one for each rank", hint=hint)
    called = [[(span.doing, span.name) for span in lap if span.doing != "compute"] for lap in laps]
    for rank, calls in enumerate(called):
        if calls != called[0]:
            reason = f"rank {rank} has done something else than rank 0, so these laps are not of the same step"
            raise ForeignCall("viz.rank_timeline", reason, hint=hint)


def _totals(lap: Lap) -> Totals:
    sums = {doing: sum(span.seconds for span in lap if span.doing == doing) for doing in ("compute", "wait", "send")}
    return Totals(**sums, bytes=sum(span.bytes for span in lap))


# The words


def _title(totals: Sequence[Totals]) -> str:
    """The finding: what the ranks do with their time, and for whom the others wait."""
    whole = sum(each.seconds for each in totals) or 1.0
    parts = list(zip(*totals, strict=True))
    compute, wait, send = (f"{100 * sum(part) / whole:.0f} %" for part in parts[:3])
    if len(totals) == 1:
        return f"A rank by itself computes {compute} of its time, waits {wait} and sends {send}"
    slowest = max(range(len(totals)), key=lambda rank: (totals[rank].compute, -rank))
    longest = f"rank {slowest} computes longest, {_ms(totals[slowest].compute)} ms"
    return f"{len(totals)} ranks compute {compute} of their time, wait {wait} and send {send}; {longest}"


def _ms(seconds: float) -> str:
    return f"{_MILLI * seconds:.1f}"


def _text(totals: Sequence[Totals]) -> str:
    header = ("rank", "compute ms", "wait ms", "send ms", "sent tensors")
    rows = [
        (str(rank), _ms(each.compute), _ms(each.wait), _ms(each.send), amount(each.bytes))
        for rank, each in enumerate(totals)
    ]
    return table(header, rows)


# The drawing


def _svg(title: str, rows: Sequence[Lap], totals: Sequence[Totals]) -> str:
    end = max(span.stop for lap in rows for span in lap) or 1.0
    base = _TOP + _ROW * len(rows)
    drawing = _axis(end, base)
    tips = []
    for rank, (lap, each) in enumerate(zip(rows, totals, strict=True)):
        y = _TOP + _ROW * rank
        drawing.append(text(_LEFT - 8, y + _BAR / 2 + 4, f"rank {rank}", "ink", "end"))
        drawing += [piece for span in lap for piece in _bar(span, y, end)]
        words = f"rank: {rank}\ncompute: {_ms(each.compute)} ms\nwait: {_ms(each.wait)} ms\nsend: {_ms(each.send)} ms"
        tips.append(Tip(_LEFT, y, _WIDTH, _BAR, words))
    keys = [
        Key(_computing(0, 1, 26, 12), "compute"),
        Key(_waiting(0, 7, 26), "wait for the last rank"),
        Key(block(0, 1, 26, 12, _LETTER, "rule"), "send and receive"),
    ]
    return sheet(title, (_LEFT + _WIDTH + 16, base + 40), drawing, keys, tips=tips)


def _axis(end: float, base: float) -> list[str]:
    """Round numbers of milliseconds, and a thin line upwards from each."""
    drawn = []
    step = _step(_MILLI * end)
    for at in range(int(_MILLI * end / step + 1e-9) + 1):
        x = _LEFT + _WIDTH * at * step / (_MILLI * end)
        drawn.append(path(f"M{xy(x, _TOP - 4)}V{number(base)}", "line", 'stroke-width=".4"'))
        drawn.append(text(x, base + 16, f"{at * step:g}", "soft", "middle"))
    return [*drawn, text(_LEFT + _WIDTH / 2, base + 34, "milliseconds", "soft", "middle")]


def _step(top: float) -> float:
    """1, 2 or 5 times a power of ten, of which at most six lie below ``top``."""
    power = 10.0 ** floor(log10(top / 6))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= top / 6)


def _bar(span: Span, y: float, end: float) -> list[str]:
    x, wide = _LEFT + _WIDTH * span.start / end, _WIDTH * span.seconds / end
    if wide < _NARROWEST:
        return []
    if span.doing == "wait":
        return [_waiting(x, y + _BAR / 2, wide)]
    if span.doing == "send":
        return [block(x, y, wide, _BAR, _LETTER, "rule")]
    return [_computing(x, y, wide, _BAR)]


def _computing(x: float, y: float, wide: float, high: float) -> str:
    return rect(x, y, wide, high, "box")


def _waiting(x: float, y: float, wide: float) -> str:
    return path(f"M{xy(x, y)}h{number(wide)}", "rule", _DASHED)
