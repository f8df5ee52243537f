"""Picture 7, the batch lines: every moment that can be the peak, the budget, and the largest batch that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from tinyburn.base.errors import ForeignCall
from tinyburn.base.text import amount, table, thousands
from tinyburn.memory.batch import BatchPlan
from tinyburn.memory.lines import Bytes, Candidate

from .axes import Axes, spread, ticks
from .cards import Key, line_key, sheet
from .picture import Picture
from .svg import circle, number, path, polyline, rect, text, xy

MAX_LINES = 8
"""Candidates that are drawn; those of the largest batches."""
MAX_ROWS = 60

_LEFT, _TOP, _WIDTH, _HEIGHT = 110.0, 42.0, 460.0, 270.0
_RIGHT, _BASE = _LEFT + _WIDTH, _TOP + _HEIGHT
_HIDDEN = 3.0  # pixels: lines that are nearer than this look like one
_ZOOM = 620.0  # where the close view of B and B + 1 begins
_STYLE = (
    ".envelope{stroke-width:2.6;fill:none}.thin{stroke-width:.8}.thread{stroke-width:.5;stroke-dasharray:1 3}"
    ".budget{stroke-width:1.6}.ring{fill:none}"
)
_DASH = 'stroke-dasharray="6 3" fill="none"'
_DOTS = 'stroke-dasharray="2 3" fill="none"'


def batch(plan: BatchPlan, tried: tuple[int, int] | None = None) -> Picture:
    """The lines of a plan: batch sizes to the right, bytes at the peak upwards.

    Args:
        plan: what `max_batch_size` returns.
        tried: another batch size to mark, and the peak with it, which ``memory.plan(job, batch).peak_bytes`` says.
    """
    if not isinstance(plan, BatchPlan):
        reason = f"{type(plan).__name__} is not a BatchPlan"
        raise ForeignCall("viz.batch", reason, hint="write viz.batch(memory.max_batch_size(job, available_bytes))")
    lines = Lines(plan, plan.candidates[-MAX_LINES:], formula_line(plan), tried)
    title = title_of(plan) if tried is None else f"{_tried_title(*tried, lines.budget)}; {title_of(plan)}"
    return Picture(title, _text(lines), _svg(title, lines))


@dataclass(frozen=True)
class FormulaLine:
    """One straight line in place of all: ``fixed + per_sample * batch``."""

    fixed: Bytes
    per_sample: Bytes

    def bytes_at(self, batch: int) -> Bytes:
        """Where it stands."""
        return self.fixed + self.per_sample * batch


Straight: TypeAlias = Candidate | FormulaLine


def formula_line(plan: BatchPlan) -> FormulaLine | None:
    """The formula's line, through the peaks at two batch sizes; None if there is no answer from it."""
    if plan.formula_batch_size is None:
        return None
    peaks, (low, high) = dict(plan.samples), plan.formula_at
    slope = Fraction(peaks[high] - peaks[low], high - low)
    return FormulaLine(peaks[low] - slope * low, slope)


@dataclass(frozen=True)
class Lines:
    """What is drawn: a plan, those of its candidates that there is room for, the formula's line, and a batch size that
    somebody has tried, with its peak."""

    plan: BatchPlan
    candidates: Sequence[Candidate]
    formula: FormulaLine | None
    tried: tuple[int, int] | None = None

    @property
    def budget(self) -> int:
        """What a peak may have."""
        return self.plan.available_bytes - self.plan.reserve_bytes

    @property
    def widest(self) -> int:
        """The batch size at the right edge."""
        tried = self.tried[0] if self.tried else 0
        return max(2, int(1.12 * max(self.plan.batch_size + 1, self.plan.formula_batch_size or 0, tried)))

    @cached_property
    def axes(self) -> Axes:
        """Room for all that is drawn."""
        peaks = [peak for batch, peak in self.plan.samples if batch <= self.widest]
        ends = [float(line.bytes_at(self.end_of(line))) for line in self.candidates]
        formula = [float(self.formula.bytes_at(self.widest))] if self.formula else []
        tried = [self.tried[1]] if self.tried else []
        highest = 1.05 * max([self.budget, *peaks, *ends, *formula, *tried, 1])
        return Axes(self.widest, highest, _LEFT, _BASE, _WIDTH, _HEIGHT)

    @cached_property
    def formula_drop(self) -> float:
        """How much lower than it stands the formula's line is drawn, in pixels: it would hide one that is as good."""
        if self.formula is None:
            return 0.0
        for line in self.candidates:
            gaps = [abs(self.at(line, batch)[1] - self.at(self.formula, batch)[1]) for batch in (0, self.widest)]
            if max(gaps) < _HIDDEN and not is_point(line):
                return 2 * _HIDDEN
        return 0.0

    def end_of(self, line: Candidate) -> int:
        """The batch size up to which a line is drawn: the right edge, unless it is known for one batch size only."""
        return min(line.first_batch, self.widest) if is_point(line) else self.widest

    def at(self, line: Straight, batch: int) -> tuple[float, float]:
        """Where a line stands at a batch size, in pixels."""
        return self.axes.x(batch), self.axes.y(line.bytes_at(batch))


def is_point(line: Candidate) -> bool:
    """Whether a candidate is known for one batch size only, and so has no slope."""
    return line.first_batch == line.last_batch and not line.per_sample


# The words


def title_of(plan: BatchPlan) -> str:
    """The finding: the answer, and where the formula parts from it."""
    samples = "1 sample fits" if plan.batch_size == 1 else f"{thousands(plan.batch_size)} samples fit"
    if plan.next_peak_bytes <= plan.available_bytes - plan.reserve_bytes:
        samples = f"At least {samples}"
    finding = f"{samples} in {amount(plan.available_bytes)}"
    if plan.reserve_bytes:
        finding += f" with {amount(plan.reserve_bytes)} in reserve"
    answer, need = plan.formula_batch_size, plan.formula_peak_bytes
    if answer is None:
        return f"{finding}; the formula has no answer"
    if answer == plan.batch_size:
        return f"{finding}; the formula says the same"
    if answer < plan.batch_size:
        return f"{finding}; the formula says {thousands(answer)}, {thousands(plan.batch_size - answer)} too few"
    fails = "the job fails there" if need is None else f"which needs {amount(need)}"
    return f"{finding}; the formula says {thousands(answer)}, {fails}"


def _tried_title(batch: int, peak: int, budget: int) -> str:
    verdict = "fits" if peak <= budget else "does not fit"
    return f"A batch of {thousands(batch)} needs {amount(peak)} and {verdict}"


def _line_text(line: Candidate) -> str:
    """A line as a sum, and the batch sizes for which it is the peak."""
    reach = f"batch {thousands(line.first_batch)}"
    if line.last_batch > line.first_batch:
        reach = f"batches {thousands(line.first_batch)} to {thousands(line.last_batch)}"
    return f"{reach}: {_sum(line)} at {line.step}"


def _sum(line: Straight) -> str:
    per_sample = f" + {_digits(line.per_sample)} B a sample" if line.per_sample else ""
    return f"{_digits(line.fixed)} B{per_sample}"


def _digits(size: Bytes) -> str:
    """Fractions come from lines that were fitted through two far points."""
    return thousands(int(size)) if size == int(size) else f"{float(size):.1f}"


def _answers(plan: BatchPlan, budget: int) -> tuple[str, str, str]:
    """What the three marked points say: B, B + 1 and the formula's answer."""
    over = plan.next_peak_bytes - budget
    fits = f"B = {thousands(plan.batch_size)} fits: {amount(plan.peak_bytes)}, {amount(budget - plan.peak_bytes)} left"
    too_many = f"{amount(over)} too many" if over > 0 else "and would fit; the search stopped"
    return fits, f"B + 1 needs {amount(plan.next_peak_bytes)}, {too_many}", _formula_answer(plan, budget)


def _tried_answer(batch: int, peak: int, budget: int) -> str:
    room = f"{amount(abs(budget - peak))} {'left' if peak <= budget else 'too many'}"
    return f"tried: {thousands(batch)} need {amount(peak)}, {room}"


def _formula_answer(plan: BatchPlan, budget: int) -> str:
    if plan.formula_batch_size is None:
        return "The formula's line does not rise, so it has no answer"
    error = plan.formula_batch_size - plan.batch_size
    found = f"F = {thousands(plan.formula_batch_size)} by the formula, "
    found += f"{thousands(abs(error))} too {'many' if error > 0 else 'few'}" if error else "the same"
    if plan.formula_peak_bytes is None:
        return f"{found}; no peak there"
    excess = plan.formula_peak_bytes - budget
    share = f"{abs(100 * excess / budget):.1f} %" if budget else "all"
    return f"{found}: {amount(plan.formula_peak_bytes)}, {share} {'over' if excess > 0 else 'under'} the budget"


def _notes(plan: BatchPlan) -> list[str]:
    """What limits the batch besides memory, and what the picture leaves out."""
    notes = list(plan.limits)
    left_out = len(plan.candidates) - MAX_LINES
    if left_out > 0:
        notes.append(f"{left_out} more lines, for smaller batches, are not drawn.")
    if not plan.candidates:
        notes.append("The peak is no straight line of the batch size, so only the planned batches are drawn.")
    return notes


def _text(lines: Lines) -> str:
    plan = lines.plan
    rows = [
        _row("largest that fits, B", plan.batch_size, plan.peak_bytes, lines.budget),
        _row("B + 1", plan.batch_size + 1, plan.next_peak_bytes, lines.budget),
    ]
    if plan.formula_batch_size is not None:
        rows.append(_row("by the formula, F", plan.formula_batch_size, plan.formula_peak_bytes, lines.budget))
    if lines.tried:
        rows.append(_row("tried", *lines.tried, lines.budget))
    said = [f"Budget: {amount(plan.available_bytes)}, of which {amount(plan.reserve_bytes)} in reserve.", ""]
    said += [table(("", "batch", "peak in bytes", "budget"), rows), ""]
    said += [_candidate_table(plan.candidates), ""] if plan.candidates else []
    said += [f"The formula's line: {_sum(lines.formula)}."] if lines.formula else []
    return "\n".join([*said, *_notes(plan)]).rstrip()


def _row(name: str, batch: int, peak: int | None, budget: int) -> tuple[str, str, str, str]:
    if peak is None:
        return name, thousands(batch), "-", "no peak there"
    room = f"{amount(abs(budget - peak))} {'left' if peak <= budget else 'too many'}"
    return name, thousands(batch), thousands(peak), room


def _candidate_table(candidates: Sequence[Candidate]) -> str:
    """From the small batches to the large ones."""
    rows: list[tuple[str, ...]] = []
    for line in candidates[-MAX_ROWS:]:
        reach = map(thousands, (line.first_batch, line.last_batch))
        rows.append((*reach, _digits(line.fixed), _digits(line.per_sample), str(line.step)))
    folded = f"\n{len(candidates) - MAX_ROWS} more for smaller batches" if len(candidates) > MAX_ROWS else ""
    return table(("from batch", "to batch", "fixed bytes", "bytes a sample", "the peak is at"), rows) + folded


# The drawing. In the plot stand only digits and single letters, so that no label meets another


def _svg(title: str, lines: Lines) -> str:
    """The plot, a close view of B and B + 1, and the legend that says it all in words."""
    parts = (_axes, _candidates, _envelope, _formula, _budget, _answer_points, _tried_point, _close_view)
    drawing = [piece for part in parts for piece in part(lines)]
    return sheet(title, (_ZOOM + 170, _BASE + 44), drawing, _keys(lines), _notes(lines.plan), _STYLE)


def _keys(lines: Lines) -> list[Key]:
    numbers = [text(13, 11, str(index), "ink bold", "middle") for index in range(1, len(lines.candidates) + 1)]
    keys = [Key(each, _line_text(line)) for each, line in zip(numbers, lines.candidates, strict=True)]
    peak = "the highest of them: the peak" if keys else "the peak, from one planned batch to the next"
    keys.append(line_key(peak, "rule envelope"))
    keys.append(line_key(f"budget {amount(lines.budget)}", "rule budget", _DASH))
    if lines.formula:
        where = ", drawn a little lower" if lines.formula_drop else ""
        keys.append(line_key(f"formula: {_sum(lines.formula)}{where}", "line budget", _DOTS))
    points = (_dot(13, 7, True), _dot(13, 7, False), _square(13, 7))
    keys += [Key(*pair) for pair in zip(points, _answers(lines.plan, lines.budget), strict=True)]
    return keys + ([Key(_triangle(13, 7), _tried_answer(*lines.tried, lines.budget))] if lines.tried else [])


def _axes(lines: Lines) -> list[str]:
    drawn = []
    for y, label in lines.axes.marks():
        drawn.append(path(f"M{xy(_LEFT, y)}H{number(_RIGHT)}", "line", 'stroke-width=".4"'))
        drawn.append(text(_LEFT - 8, y + 4, label, "soft", "end"))
    for batch in ticks(lines.widest):
        x = lines.axes.x(batch)
        drawn.append(path(f"M{xy(x, _BASE)}v5", "rule"))
        drawn.append(text(x, _BASE + 18, thousands(batch), "soft", "middle"))
    drawn.append(path(f"M{xy(_LEFT, _TOP)}V{number(_BASE)}H{number(_RIGHT)}", "rule ring"))
    drawn.append(text(0, 12, "bytes at the peak", "soft"))
    return [*drawn, text((_LEFT + _RIGHT) / 2, _BASE + 36, "samples in a batch", "soft", "middle")]


def _candidates(lines: Lines) -> list[str]:
    """Each line from edge to edge, with a thread to its number; the numbers stand apart, outside the plot."""
    drawn = []
    ends = [lines.at(line, lines.end_of(line)) for line in lines.candidates]
    heights = spread([y for _, y in ends], 14, _BASE)
    for index, (line, end, height) in enumerate(zip(lines.candidates, ends, heights, strict=True), start=1):
        if not is_point(line):
            drawn.append(path(polyline([lines.at(line, 0), end]), "line thin"))
        drawn.append(path(f"M{xy(*end)}H{number(_RIGHT)}L{xy(_RIGHT + 12, height)}", "line thread"))
        drawn.append(text(_RIGHT + 15, height + 4, str(index), "ink bold"))
    return drawn


def _envelope(lines: Lines) -> list[str]:
    """The peak itself: from one end of each line's range to the other, or from one planned batch to the next."""
    ranges = [(line, line.first_batch, min(line.last_batch, lines.widest)) for line in lines.candidates]
    ends = [(batch, line.bytes_at(batch)) for line, first, last in ranges for batch in (first, last)]
    known = [(batch, size) for batch, size in ends or lines.plan.samples if batch <= lines.widest]
    points = dict.fromkeys(xy(lines.axes.x(batch), lines.axes.y(size)) for batch, size in known)
    return [path("M" + "L".join(points), "rule envelope")]


def _formula(lines: Lines) -> list[str]:
    """Its line, and at its answer the way up from the budget to what that batch really needs."""
    if not lines.formula:
        return []
    ends = [(x, y + lines.formula_drop) for x, y in [lines.at(lines.formula, at) for at in (0, lines.widest)]]
    drawn = [path(polyline(ends), "line budget", _DOTS)]
    answer, peak = lines.plan.formula_batch_size, lines.plan.formula_peak_bytes
    if answer and peak is not None:
        x = lines.axes.x(answer)
        drawn += [_upright(x), _square(x, lines.axes.y(peak))]
    return drawn


def _budget(lines: Lines) -> list[str]:
    return [path(f"M{xy(_LEFT, lines.axes.y(lines.budget))}H{number(_RIGHT)}", "rule budget", _DASH)]


def _answer_points(lines: Lines) -> list[str]:
    """B and B + 1, and above the plot the letters of B and F, each on its own side."""
    plan, axes = lines.plan, lines.axes
    x, answer = axes.x(plan.batch_size), plan.formula_batch_size
    drawn = [_upright(x), _dot(axes.x(plan.batch_size + 1), axes.y(plan.next_peak_bytes), False)]
    drawn.append(_dot(x, axes.y(plan.peak_bytes), True))
    if not answer or answer == plan.batch_size:
        return [*drawn, text(x, _TOP - 8, "B = F" if answer else "B", "ink bold", "middle")]
    sides = ("end", "start") if answer > plan.batch_size else ("start", "end")
    letters = (("B", x, sides[0]), ("F", axes.x(answer), sides[1]))
    return drawn + [text(at, _TOP - 8, letter, "ink bold", side) for letter, at, side in letters]


def _tried_point(lines: Lines) -> list[str]:
    if not lines.tried:
        return []
    batch, peak = lines.tried
    return [_upright(lines.axes.x(batch)), _triangle(lines.axes.x(batch), lines.axes.y(peak))]


def _close_view(lines: Lines) -> list[str]:
    """B and B + 1 against the budget, so near that one sample can be seen."""
    known = (lines.plan.peak_bytes, lines.plan.next_peak_bytes, lines.budget)
    low, high = min(known), max(known)
    base, room = _TOP + 200.0, 110.0
    heights = [base - 30 - room * (size - low) / max(high - low, 1) for size in known]
    drawn = [text(_ZOOM, _TOP + 4, "one sample, close up", "soft")]
    for label, x, y in (("B", _ZOOM + 20, heights[0]), ("B + 1", _ZOOM + 90, heights[1])):
        drawn.append(rect(x, y, 44, base - y, "box"))
        drawn.append(_dot(x + 22, y, label == "B"))
        drawn.append(text(x + 22, base + 16, label, "ink bold", "middle"))
    drawn.append(path(f"M{xy(_ZOOM, heights[2])}h160", "rule budget", _DASH))
    return [*drawn, text(_ZOOM, base + 36, "bars do not start at 0", "soft")]


def _upright(x: float) -> str:
    return path(f"M{xy(x, _TOP)}V{number(_BASE)}", "line thin", _DOTS)


def _dot(x: float, y: float, filled: bool) -> str:
    return circle(x, y, 4.5, "ink gap" if filled else "paper rule", 'stroke-width="1.5"')


def _square(x: float, y: float) -> str:
    return rect(x - 4, y - 4, 8, 8, "paper rule", 0, 'stroke-width="1.6"')


def _triangle(x: float, y: float) -> str:
    return path(f"M{xy(x, y - 6)}l6 10.5h-12z", "ink gap", 'stroke-width="1.5"')
