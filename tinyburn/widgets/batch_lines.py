"""The batch lines as a widget: another budget, another dtype, and a batch size to try."""

from __future__ import annotations

from typing import Any

from tinyburn import memory
from tinyburn.autodiff import Autodiff
from tinyburn.backend import Meta
from tinyburn.base.errors import ConfigError
from tinyburn.memory.measure import Job
from tinyburn.viz import Picture
from tinyburn.viz import batch as batch_lines

from .checks import check_job, choice_problems, count_problems
from .controls import choice, number
from .live import Controls, Live

DTYPES = ("float16", "float32", "float64")
MOST_SAMPLES = 2**20
MOST_BYTES = 2**40
_STEPS = 16
"""So many times an arrow key raises the budget by as much as it was at the start."""


def batch(
    job: Job,
    available_bytes: int = 2**20,
    *,
    batch_size: int = 16,
    dtype: str = "float32",
    formula_at: tuple[int, int] = (1, 2),
) -> Live:
    """`viz.batch` with a number for the budget, one for a batch size to try, and a choice of the dtype.

    Everything is planned: no number is computed, and no memory is needed.

    Args:
        job: as for `memory.plan`: ``job(device, batch_size)`` builds its model and its data, and runs the step.
        available_bytes: the budget at the start.
        batch_size: the batch that is tried at the start.
        dtype: of new Float tensors at the start: float16, float32 or float64.
        formula_at: as for `memory.max_batch_size`.

    Raises:
        ConfigError: an argument that makes no sense.
        JobError: the job fails, or not one sample fits into the budget.
    """
    check_job("batch", job, "available_bytes=2**20")
    reasons = count_problems(1, MOST_BYTES, available_bytes=available_bytes)
    reasons += count_problems(1, MOST_SAMPLES, batch_size=batch_size) + choice_problems("dtype", dtype, DTYPES)
    if reasons:
        raise ConfigError("widgets.batch", reasons)

    def draw(budget: int, samples: int, dtype: str) -> Picture:
        made: Any = Autodiff[Meta]
        device = made.device(float_dtype=dtype)
        peak = memory.plan(job, samples, device=device).peak_bytes
        plan = memory.max_batch_size(job, budget, device=device, formula_at=formula_at)
        return batch_lines(plan, (samples, peak))

    def controls(widgets: Any) -> Controls:
        step = max(available_bytes // _STEPS, 1)
        budget = number(widgets, "Budget in bytes", available_bytes, 0, MOST_BYTES, step, 130)
        samples = number(widgets, "Batch size", batch_size, 1, MOST_SAMPLES, max(batch_size // _STEPS, 1), 100)
        kind = choice(widgets, "Dtype", DTYPES, dtype)
        return Controls([samples, kind, budget], {"budget": budget, "samples": samples, "dtype": kind})

    return Live(draw(available_bytes, batch_size, dtype), draw, controls)
