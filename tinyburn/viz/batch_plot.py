"""The drawing of the batch lines. In the plot stand only digits and single letters, so that no label meets another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tinyburn.base.text import amount, thousands
from tinyburn.memory.batch import BatchPlan
from tinyburn.memory.lines import Bytes, Candidate

from .draw import Key, sheet
from .svg import number, path, rect, text

_LEFT, _TOP, _WIDTH, _HEIGHT = 110.0, 26.0, 540.0, 270.0
_RIGHT = _LEFT + _WIDTH
_ZOOM = 700.0  # where the close view of B and B + 1 begins
_STYLE = (
    ".envelope{stroke-width:2.6;fill:none}.thin{stroke-width:.8}.thread{stroke-width:.5;stroke-dasharray:1 3}"
    ".budget{stroke-width:1.6}.ring{fill:none}"
)
_DASH = 'stroke-dasharray="6 3" fill="none"'
_DOTS = 'stroke-dasharray="2 3" fill="none"'


class Straight(Protocol):
    """Anything that says where it stands at a batch size."""

    def bytes_at(self, batch: int, /) -> Bytes:
        """In bytes."""
        ...


@dataclass(frozen=True)
class Lines:
    """What is drawn: a plan, those of its candidates that there is room for, and the formula's line."""

    plan: BatchPlan
    candidates: Sequence[Candidate]
    formula: Straight | None

    @property
    def budget(self) -> int:
        """What a peak may have."""
        return self.plan.available_bytes - self.plan.reserve_bytes

    @property
    def widest(self) -> int:
        """The batch size at the right edge."""
        return max(2, int(1.12 * max(self.plan.batch_size + 1, self.plan.formula_batch_size or 0)))

    @property
    def highest(self) -> float:
        """The bytes at the upper edge."""
        peaks = [peak for batch, peak in self.plan.samples if batch <= self.widest]
        ends = [float(line.bytes_at(self.end_of(line))) for line in self.candidates]
        formula = [float(self.formula.bytes_at(self.widest))] if self.formula else []
        return 1.05 * max([self.budget, *peaks, *ends, *formula, 1])

    def end_of(self, line: Candidate) -> int:
        """The batch size up to which a line is drawn: the right edge, unless it is known for one batch size only."""
        return min(line.first_batch, self.widest) if is_point(line) else self.widest

    def x(self, batch: float) -> float:
        """In pixels."""
        return _LEFT + _WIDTH * batch / self.widest

    def y(self, size: Bytes | float) -> float:
        """In pixels."""
        return _TOP + _HEIGHT * (1 - float(size) / self.highest)


def is_point(line: Candidate) -> bool:
    """Whether a candidate is known for one batch size only, and so has no slope."""
    return line.first_batch == line.last_batch and not line.per_sample


def draw_lines(
    title: str, lines: Lines, labels: Sequence[str], answers: Sequence[str], formula: str, notes: Sequence[str]
) -> str:
    """The whole SVG: the plot, a close view of B and B + 1, and the legend that says it all in words."""
    drawing = [
        *_axes(lines),
        *_candidates(lines),
        *_envelope(lines),
        *_formula(lines),
        *_budget(lines),
        *_answers(lines),
    ]
    drawing += _close_view(lines)
    keys = [Key(text(13, 11, str(place + 1), "ink bold", "middle"), label) for place, label in enumerate(labels)]
    peak = "the highest of them: the peak" if labels else "the peak, from one planned batch to the next"
    keys.append(Key(path("M0 7H26", "rule envelope"), peak))
    keys.append(Key(path("M0 7H26", "rule budget", _DASH), f"budget {amount(lines.budget)}"))
    keys += [Key(path("M0 7H26", "line budget", _DOTS), formula)] if formula else []
    marks = (_dot(13, 7, True), _dot(13, 7, False), _square(13, 7))
    keys += [Key(mark, answer) for mark, answer in zip(marks, answers, strict=True)]
    return sheet(title, (_ZOOM + 170, _TOP + _HEIGHT + 44), drawing, keys, notes, _STYLE)


def _axes(lines: Lines) -> list[str]:
    base = _TOP + _HEIGHT
    drawn = []
    marks = ticks(int(lines.highest), 5)
    for size in marks:
        y = lines.y(size)
        drawn.append(path(f"M{number(_LEFT)} {number(y)}H{number(_RIGHT)}", "line", 'stroke-width=".4"'))
        drawn.append(text(_LEFT - 8, y + 4, short(size, marks.step), "soft", "end"))
    for batch in ticks(lines.widest, 5):
        x = lines.x(batch)
        drawn.append(path(f"M{number(x)} {number(base)}v5", "rule"))
        drawn.append(text(x, base + 18, thousands(batch), "soft", "middle"))
    drawn.append(path(f"M{number(_LEFT)} {number(_TOP)}V{number(base)}H{number(_RIGHT)}", "rule ring"))
    return [*drawn, text((_LEFT + _RIGHT) / 2, base + 36, "samples in a batch", "soft", "middle")]


def ticks(top: int, most: int) -> range:
    """Round numbers from 0 on: 1, 2 or 5 and zeros apart."""
    step = 1
    while top > most * step:
        step = step * 5 // 2 if str(step).startswith("2") else step * 2
    return range(0, top + 1, step)


def short(size: int, step: int) -> str:
    """A number of bytes in the largest unit that leaves every multiple of ``step`` whole; k stands for 1 000."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if step % factor == 0:
            return f"{thousands(size // factor)} {unit}" if size else "0"
    return amount(size) if size else "0"


def _segment(lines: Lines, line: Straight, start: int, end: int, style: str, extra: str = "") -> str:
    points = [f"{number(lines.x(batch))} {number(lines.y(line.bytes_at(batch)))}" for batch in (start, end)]
    return path(f"M{points[0]}L{points[1]}", style, extra)


def _candidates(lines: Lines) -> list[str]:
    """Each line from edge to edge, with a thread to its number; the numbers stand apart, outside the plot."""
    drawn = []
    wanted = [lines.y(line.bytes_at(lines.end_of(line))) for line in lines.candidates]
    heights = spread(wanted, 14, _TOP + _HEIGHT)
    for place, (line, y) in enumerate(zip(lines.candidates, heights, strict=True)):
        end = lines.end_of(line)
        if not is_point(line):
            drawn.append(_segment(lines, line, 0, end, "line thin"))
        thread = f"M{number(lines.x(end))} {number(wanted[place])}H{number(_RIGHT)}L{number(_RIGHT + 12)} {number(y)}"
        drawn.append(path(thread, "line thread"))
        drawn.append(text(_RIGHT + 15, y + 4, str(place + 1), "ink bold"))
    return drawn


def spread(wanted: Sequence[float], apart: float, lowest: float) -> list[float]:
    """The wanted heights, moved so that no two are nearer than ``apart`` and none is below ``lowest``."""
    order = sorted(range(len(wanted)), key=lambda place: (-wanted[place], place))
    placed = [0.0] * len(wanted)
    limit = lowest
    for place in order:
        placed[place] = min(wanted[place], limit)
        limit = placed[place] - apart
    return placed


def _envelope(lines: Lines) -> list[str]:
    """The peak itself: from one end of each line's range to the other, or from one planned batch to the next."""
    ranges = [(line, line.first_batch, min(line.last_batch, lines.widest)) for line in lines.candidates]
    ends = [(batch, line.bytes_at(batch)) for line, first, last in ranges for batch in (first, last)]
    known = [(batch, size) for batch, size in ends or lines.plan.samples if batch <= lines.widest]
    points = [f"{number(lines.x(batch))} {number(lines.y(size))}" for batch, size in known]
    return [path("M" + "L".join(dict.fromkeys(points)), "rule envelope")]


def _formula(lines: Lines) -> list[str]:
    """Its line, and at its answer the way up from the budget to what that batch really needs."""
    plan = lines.plan
    drawn = [_segment(lines, lines.formula, 0, lines.widest, "line budget", _DOTS)] if lines.formula else []
    if plan.formula_batch_size and plan.formula_peak_bytes is not None:
        x = lines.x(plan.formula_batch_size)
        drawn.append(path(f"M{number(x)} {number(_TOP)}V{number(_TOP + _HEIGHT)}", "line thin", _DOTS))
        drawn.append(_square(x, lines.y(plan.formula_peak_bytes)))
    return drawn


def _budget(lines: Lines) -> list[str]:
    y = number(lines.y(lines.budget))
    return [path(f"M{number(_LEFT)} {y}H{number(_RIGHT)}", "rule budget", _DASH)]


def _answers(lines: Lines) -> list[str]:
    """B and B + 1, and above the plot the letters of B and F, each on its own side."""
    plan = lines.plan
    x = lines.x(plan.batch_size)
    drawn = [path(f"M{number(x)} {number(_TOP)}V{number(_TOP + _HEIGHT)}", "line thin", _DOTS)]
    drawn.append(_dot(lines.x(plan.batch_size + 1), lines.y(plan.next_peak_bytes), False))
    drawn.append(_dot(x, lines.y(plan.peak_bytes), True))
    answer = plan.formula_batch_size
    if not answer or answer == plan.batch_size:
        return [*drawn, text(x, _TOP - 8, "B = F" if answer else "B", "ink bold", "middle")]
    sides = ("end", "start") if answer > plan.batch_size else ("start", "end")
    return [
        *drawn,
        text(x, _TOP - 8, "B", "ink bold", sides[0]),
        text(lines.x(answer), _TOP - 8, "F", "ink bold", sides[1]),
    ]


def _close_view(lines: Lines) -> list[str]:
    """B and B + 1 against the budget, so near that one sample can be seen."""
    plan = lines.plan
    known = (plan.peak_bytes, plan.next_peak_bytes, lines.budget)
    low, high = min(known), max(known)
    base, room = _TOP + 200.0, 110.0

    def y(size: int) -> float:
        return base - 30 - room * (size - low) / max(high - low, 1)

    drawn = [text(_ZOOM, _TOP + 4, "one sample, close up", "soft")]
    for place, (label, size) in enumerate((("B", known[0]), ("B + 1", known[1]))):
        x = _ZOOM + 20 + 70 * place
        drawn.append(rect(x, y(size), 44, base - y(size), "box"))
        drawn.append(_dot(x + 22, y(size), place == 0))
        drawn.append(text(x + 22, base + 16, label, "ink bold", "middle"))
    drawn.append(path(f"M{number(_ZOOM)} {number(y(lines.budget))}h160", "rule budget", _DASH))
    return [*drawn, text(_ZOOM, base + 36, "bars do not start at 0", "soft")]


def _dot(x: float, y: float, filled: bool, radius: float = 4.5) -> str:
    style = "ink gap" if filled else "paper rule"
    return f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" class="{style}" stroke-width="1.5"/>'


def _square(x: float, y: float) -> str:
    return rect(x - 4, y - 4, 8, 8, "paper rule", 0, 'stroke-width="1.6"')
