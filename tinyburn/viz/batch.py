"""Picture 7, the batch lines: every moment that can be the peak, the budget, and the largest batch that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tinyburn.base.text import amount, table, thousands
from tinyburn.memory.batch import BatchPlan
from tinyburn.memory.lines import Bytes, Candidate

from .batch_plot import Lines, draw_lines
from .picture import Picture

MAX_LINES = 8
"""Candidates that are drawn; those of the largest batches."""
MAX_ROWS = 60


def batch(plan: BatchPlan) -> Picture:
    """The lines of a plan: batch sizes to the right, bytes at the peak upwards."""
    line = formula_line(plan)
    title = title_of(plan)
    lines = Lines(plan, plan.candidates[-MAX_LINES:], line)
    labels = [candidate_text(candidate) for candidate in lines.candidates]
    drawing = draw_lines(title, lines, labels, _answers(plan), _formula_text(line), _notes(plan))
    return Picture(title, _text(plan, line), drawing)


@dataclass(frozen=True)
class FormulaLine:
    """One straight line in place of all: ``fixed + per_sample * batch``."""

    fixed: Bytes
    per_sample: Bytes

    def bytes_at(self, batch_size: int) -> Bytes:
        """Where it stands."""
        return self.fixed + self.per_sample * batch_size


def formula_line(plan: BatchPlan) -> FormulaLine | None:
    """The formula's line, through the peaks at two batch sizes; None if there is no answer from it."""
    if plan.formula_batch_size is None:
        return None
    peaks, (low, high) = dict(plan.samples), plan.formula_at
    slope = Fraction(peaks[high] - peaks[low], high - low)
    return FormulaLine(peaks[low] - slope * low, slope)


def title_of(plan: BatchPlan) -> str:
    """The finding: the answer, and where the formula parts from it."""
    samples = "1 sample fits" if plan.batch_size == 1 else f"{thousands(plan.batch_size)} samples fit"
    if plan.next_peak_bytes <= plan.available_bytes - plan.reserve_bytes:
        samples = f"At least {samples}"
    finding = f"{samples} in {amount(plan.available_bytes)}"
    if plan.reserve_bytes:
        finding += f" with {amount(plan.reserve_bytes)} in reserve"
    answer = plan.formula_batch_size
    if answer is None:
        return f"{finding}; the formula has no answer"
    if answer == plan.batch_size:
        return f"{finding}; the formula says the same"
    if answer < plan.batch_size:
        return f"{finding}; the formula says {thousands(answer)}, {thousands(plan.batch_size - answer)} too few"
    need = (
        "the job fails there" if plan.formula_peak_bytes is None else f"which needs {amount(plan.formula_peak_bytes)}"
    )
    return f"{finding}; the formula says {thousands(answer)}, {need}"


def candidate_text(line: Candidate) -> str:
    """A line as a sum, and the batch sizes for which it is the peak."""
    reach = f"batch {thousands(line.first_batch)}"
    if line.last_batch > line.first_batch:
        reach = f"batches {thousands(line.first_batch)} to {thousands(line.last_batch)}"
    return f"{reach}: {_sum(line)} at {line.step}"


def _sum(line: Candidate | FormulaLine) -> str:
    return f"{_bytes(line.fixed)} + {_bytes(line.per_sample)} a sample" if line.per_sample else _bytes(line.fixed)


def _bytes(size: Bytes) -> str:
    """Fractions come from lines that were fitted through two far points."""
    return amount(int(size)) if size == int(size) else f"{float(size):.1f} B"


def _answers(plan: BatchPlan) -> tuple[str, str, str]:
    """What the three marked points say: B, B + 1 and the formula's answer."""
    budget = plan.available_bytes - plan.reserve_bytes
    left = budget - plan.peak_bytes
    over = plan.next_peak_bytes - budget
    fits = f"B = {thousands(plan.batch_size)} fits: {amount(plan.peak_bytes)}, {amount(left)} left"
    one_more = f"B + 1 needs {amount(plan.next_peak_bytes)}, "
    one_more += f"{amount(over)} too many" if over > 0 else "and would fit; the search stopped"
    return fits, one_more, _formula_answer(plan, budget)


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


def _formula_text(line: FormulaLine | None) -> str:
    return f"formula: {_sum(line)}" if line else ""


def _notes(plan: BatchPlan) -> list[str]:
    """What limits the batch besides memory, and what the picture leaves out."""
    notes = list(plan.limits)
    left_out = len(plan.candidates) - MAX_LINES
    if left_out > 0:
        notes.append(f"{left_out} more lines, for smaller batches, are not drawn.")
    if not plan.candidates:
        notes.append("The peak is no straight line of the batch size, so only the planned batches are drawn.")
    return notes


def _text(plan: BatchPlan, line: FormulaLine | None) -> str:
    budget = plan.available_bytes - plan.reserve_bytes
    rows = [
        (
            "largest that fits, B",
            thousands(plan.batch_size),
            thousands(plan.peak_bytes),
            _room(plan.peak_bytes, budget),
        ),
        ("B + 1", thousands(plan.batch_size + 1), thousands(plan.next_peak_bytes), _room(plan.next_peak_bytes, budget)),
    ]
    if plan.formula_batch_size is not None:
        known = plan.formula_peak_bytes
        peak, room = ("-", "no peak there") if known is None else (thousands(known), _room(known, budget))
        rows.append(("by the formula, F", thousands(plan.formula_batch_size), peak, room))
    lines = [f"Budget: {amount(plan.available_bytes)}, of which {amount(plan.reserve_bytes)} in reserve.", ""]
    lines += [table(("", "batch", "peak in bytes", "budget"), rows), ""]
    lines += [_candidates(plan.candidates), ""] if plan.candidates else []
    lines += [f"The formula's line: {_sum(line)}."] if line else []
    return "\n".join([*lines, *_notes(plan)]).rstrip()


def _room(peak: int, budget: int) -> str:
    return f"{amount(abs(budget - peak))} {'left' if peak <= budget else 'too many'}"


def _candidates(candidates: Sequence[Candidate]) -> str:
    """From the small batches to the large ones."""
    shown = candidates[-MAX_ROWS:]
    rows = [
        (
            *map(thousands, (line.first_batch, line.last_batch)),
            *map(_plain, (line.fixed, line.per_sample)),
            str(line.step),
        )
        for line in shown
    ]
    folded = f"\n{len(candidates) - MAX_ROWS} more for smaller batches" if len(candidates) > MAX_ROWS else ""
    header = ("from batch", "to batch", "fixed bytes", "bytes a sample", "the peak is at")
    return table(header, rows) + folded


def _plain(size: Bytes) -> str:
    return _bytes(size).removesuffix(" B")
