"""The largest batch that fits: exact, by planning; and beside it the usual formula, with what it gets wrong.

Two plans mostly tell all others: the bytes at each event lie on a straight line. So the search asks the lines first,
and plans what they say, and one sample more. Only where these plans prove the lines wrong does it double and halve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tinyburn.backend import Device
from tinyburn.base.errors import ConfigError
from tinyburn.base.shape import is_count
from tinyburn.base.text import amount, table, thousands

from .lines import Candidate, Run, candidates_of, largest_by_lines, read_run
from .measure import Job, JobError
from .plan import run_on_shapes, shapes_device

__all__ = ["BatchPlan", "Candidate", "max_batch_size"]

_ASKED = "max_batch_size"

WEBGPU_BINDING_BYTES = 128 * 2**20
"""The most that a WebGPU device has to grant to one buffer in a shader; others allow as much as they have."""


@dataclass(frozen=True, repr=False)
class BatchPlan:
    """The largest batch whose peak fits a budget.

    Attributes:
        available_bytes: the budget.
        reserve_bytes: the part of it that must stay free.
        batch_size: the answer: it fits, and one sample more does not (or see ``limits``).
        peak_bytes: the peak with it.
        next_peak_bytes: the peak with one sample more.
        formula_batch_size: what one straight line through two plans answers; None if that line does not rise, or the
            job fails at one of them.
        formula_peak_bytes: the true peak with that many samples; None if there are none, or the job fails with them.
        candidates: the moments that are the peak, each for a range of batch sizes.
        limits: what else limits the batch, and is not memory.
        samples: the batch sizes that were planned, each with its peak.
        formula_at: the two of them that the formula's line goes through.
    """

    available_bytes: int
    reserve_bytes: int
    batch_size: int
    peak_bytes: int
    next_peak_bytes: int
    formula_batch_size: int | None
    formula_peak_bytes: int | None
    candidates: tuple[Candidate, ...]
    limits: tuple[str, ...]
    samples: tuple[tuple[int, int], ...]
    formula_at: tuple[int, int]

    def __repr__(self) -> str:
        rows = [
            ("largest that fits", _number(self.batch_size), amount(self.peak_bytes)),
            ("one more", _number(self.batch_size + 1), amount(self.next_peak_bytes)),
            ("by the formula", _number(self.formula_batch_size), _number(self.formula_peak_bytes, " B")),
        ]
        title = f"{amount(self.available_bytes)} available, {amount(self.reserve_bytes)} of it in reserve"
        return "\n".join([title, table(("", "batch", "peak"), rows), *map(str, self.candidates), *self.limits])


def _number(value: int | None, unit: str = "") -> str:
    return "-" if value is None else thousands(value) + unit


def max_batch_size(
    job: Job,
    available_bytes: int,
    *,
    reserve_bytes: int = 0,
    device: Device[Any] | None = None,
    formula_at: tuple[int, int] = (1, 2),
    at_most: int = 2**20,
) -> BatchPlan:
    """Finds the largest batch whose peak, with the reserve, fits. It is planned, and so is one sample more.

    Args:
        job: as for `plan`.
        available_bytes: the budget.
        reserve_bytes: bytes to leave free, for what the event log does not see.
        device: as for `plan`.
        formula_at: the two batch sizes that the formula's line goes through.
        at_most: where the search stops.

    Raises:
        JobError: no sample fits, the job does not grow with its batch, or it fails at some batch size.
        ConfigError: an argument that makes no sense.
    """
    _check(available_bytes, reserve_bytes, formula_at, at_most)
    search = _Search(job, device, available_bytes - reserve_bytes)
    search.check_one_sample()
    search.peak_or_none(2)  # a batch of 1 often takes a way of its own, which needs no broadcasting: lines begin here
    formula = _formula(search, *formula_at)
    over = search.peak_or_none(formula) if formula else None
    best = search.largest(at_most)
    stopped = search.fits(best + 1)
    runs = [search.runs[batch] for batch in sorted(search.runs)]
    samples = tuple((run.batch, run.peak) for run in runs)
    found = search.runs[best]
    sizes = (best, found.peak, search.runs[best + 1].peak, formula, over)
    return BatchPlan(
        available_bytes, reserve_bytes, *sizes, candidates_of(runs), _limits(found, stopped), samples, formula_at
    )


def _check(available: int, reserve: int, formula_at: Sequence[int], at_most: int) -> None:
    """Raises ConfigError, with every reason."""
    given = {"available_bytes": available, "reserve_bytes": reserve, "at_most": at_most}
    reasons = [
        f"{name} is {value!r}, not a whole number of 0 or more" for name, value in given.items() if not is_count(value)
    ]
    pair = formula_at if isinstance(formula_at, tuple | list) else ()
    if len(pair) != 2 or not all(is_count(batch) and batch for batch in pair) or pair[0] == pair[1]:
        reasons.append(f"formula_at is {formula_at!r}; a line needs two batch sizes of 1 or more")
    if at_most == 0:
        reasons.append("at_most is 0, and must be 1 or more")
    hint = "write 64 * 2**20 for 64 MiB" if isinstance(available, str) else None
    if reasons:
        raise ConfigError(_ASKED, reasons, hint=hint)


class _Search:
    """Plans each batch size once.

    Attributes:
        budget: the bytes that a peak may have.
        runs: what was planned, by batch size.
    """

    def __init__(self, job: Job, device: Device[Any] | None, budget: int) -> None:
        self.job, self.device, self.budget = job, device, budget
        self.runs: dict[int, Run] = {}

    def check_one_sample(self) -> None:
        """Raises JobError if not even one sample fits."""
        if not self.fits(1):
            need, step = self.runs[1].peak, self.runs[1].peak_step
            reason = f"a batch of 1 needs {amount(need)} at {step}, and {amount(self.budget)} are there"
            raise JobError(_ASKED, reason, hint=f"{amount(need - self.budget)} more would do")

    def largest(self, at_most: int) -> int:
        """The largest batch that fits, up to ``at_most``. One sample fits, and others may have been planned before.

        Lines that bend could be asked for ever, so each time that they were wrong, what is left is cut by a plan that
        needs no lines. It doubles as long as halving would go further: a job may take long for a large batch.
        """
        planned = sorted(self.runs.values(), key=lambda run: run.batch)
        over = min((run.batch for run in planned if run.peak > self.budget), default=at_most + 1)
        over = min(over, at_most + 1)
        fits = max(run.batch for run in planned if run.batch < over)
        while over - fits > 1:
            fits, over = self._ask_lines(fits, over, at_most)
            if over - fits > 1:
                fits, over = self._ask(min(2 * fits, (fits + over) // 2), fits, over)
        if fits == at_most:
            self._check_growth(at_most)
        return fits

    def _ask(self, batch: int, fits: int, over: int) -> tuple[int, int]:
        """The largest that is known to fit and the smallest that does not, once a batch between them is planned."""
        return (batch, over) if self.fits(batch) else (fits, batch)

    def _ask_lines(self, fits: int, over: int, at_most: int) -> tuple[int, int]:
        """Plans what the lines say, and one sample more. If the lines are right, the two of them are the answer."""
        foretold = self._foretell(fits, over, at_most)
        if foretold is not None and foretold > fits:
            fits, over = self._ask(foretold, fits, over)
        if foretold == fits and fits + 1 < over:
            fits, over = self._ask(fits + 1, fits, over)
        return fits, over

    def _foretell(self, fits: int, over: int, at_most: int) -> int | None:
        """The answer by the lines through the largest batch that fits and the nearest one with the same outline.

        Lines that allow as much as is known to be too much are wrong, and the next nearest is tried. None if no line
        is left.
        """
        here = self.runs[fits]
        others = sorted(self.runs.values(), key=lambda run: (abs(run.batch - fits), run.batch))
        for other in others:
            if other is not here and other.outline == here.outline:
                foretold = min(largest_by_lines(here, other, self.budget, at_most), at_most)
                if foretold < over:
                    return max(foretold, fits)
        return None

    def fits(self, batch: int) -> bool:
        """Whether the peak at a batch size is within the budget.

        A job that fails there does not fit, if one that is smaller and works is already over the budget. Otherwise
        memory is not what limits it: raises JobError.
        """
        try:
            return self._plan(batch) <= self.budget
        except Exception as error:
            failing, cause = self._smallest_failing(batch, error)
            works = self.runs.get(failing - 1)
            if works and works.peak > self.budget:
                return False
            raise self._failure(failing, works, cause) from cause

    def peak_or_none(self, batch: int) -> int | None:
        """The peak at a batch size, None if the job fails there."""
        try:
            return self._plan(batch)
        except Exception:
            return None

    def _plan(self, batch: int) -> int:
        if batch not in self.runs:
            log = run_on_shapes(self.job, batch, shapes_device(self.device))
            self.runs[batch] = read_run(batch, log)
        return self.runs[batch].peak

    def _smallest_failing(self, batch: int, error: Exception) -> tuple[int, Exception]:
        """Bisects between the largest batch size that works and one that fails."""
        works = max((planned for planned in self.runs if planned < batch), default=0)
        while batch - works > 1:
            middle = (works + batch) // 2
            try:
                self._plan(middle)
                works = middle
            except Exception as earlier:
                batch, error = middle, earlier
        return batch, error

    def _failure(self, batch: int, works: Run | None, cause: Exception) -> JobError:
        reason = f"the job fails with a batch of {batch}: {type(cause).__name__}: {cause}"
        hint = "a plan has shapes only, so a job that reads values cannot be planned"
        if works:
            hint = f"a batch of {works.batch} works and fits, with {amount(works.peak)}; what limits it is not memory"
        return JobError(_ASKED, reason, hint=hint)

    def _check_growth(self, high: int) -> None:
        """Raises JobError if not one moment of the job has more bytes than with the next smaller batch planned."""
        low = max((batch for batch in self.runs if batch < high), default=high)
        if low < high and self.runs[low].totals == self.runs[high].totals:
            reason = (
                f"it has the same bytes with a batch of {low} and of {high}, {amount(self.runs[high].peak)} at most"
            )
            hint = "make the job's data with the batch size that is handed to it"
            raise JobError(_ASKED, f"the job does not grow with its batch: {reason}", hint=hint)


def _formula(search: _Search, low: int, high: int) -> int | None:
    """``(available - fixed) / per_sample`` by one straight line through two plans, rounded down."""
    at_low, at_high = search.peak_or_none(low), search.peak_or_none(high)
    if at_low is None or at_high is None or (at_high - at_low) * (high - low) <= 0:
        return None
    per_sample = Fraction(at_high - at_low, high - low)
    fixed = at_low - per_sample * low
    return max(int((search.budget - fixed) // per_sample), 0)


def _limits(best: Run, stopped: bool) -> tuple[str, ...]:
    """What is not memory: where the search stopped, and what one buffer may have on some devices."""
    limits = []
    if stopped:
        limits.append(f"The search stopped at at_most = {best.batch}, which fits; a larger batch may fit too.")
    if best.largest > WEBGPU_BINDING_BYTES:
        limits.append(
            f"One buffer has {amount(best.largest)}; a WebGPU device need not bind more than "
            f"{amount(WEBGPU_BINDING_BYTES)} at once."
        )
    return tuple(limits)
