"""The batch lines: the answer, the formula's, and lines that stand where the bytes are."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.jobs import normalize_batch, sized, train_mlp, training_step
from tests.viz.examples import texts
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import Device, Gradients, Tensor
from tinyburn.base.text import amount
from tinyburn.memory import BatchPlan, Candidate, max_batch_size, plan
from tinyburn.memory.timeline import Step
from tinyburn.viz import batch
from tinyburn.viz.axes import short, spread, ticks
from tinyburn.viz.batch_lines import MAX_LINES, MAX_ROWS, Lines, formula_line, title_of

BUDGET = 64 * 2**20


def document(formula_at: tuple[int, int] = (100, 200)) -> BatchPlan:
    return max_batch_size(sized(training_step, d_in=512, d_out=256), BUDGET, formula_at=formula_at)


def square(device: Device[Any], batch: int) -> Gradients[Any]:
    """Its bytes grow with the square of the batch."""
    rows = Tensor.ones((batch, 8), device).require_grad()
    return (rows @ Tensor.ones((8, batch), device)).sum().backward()


PLANS: dict[str, Callable[[], BatchPlan]] = {
    "document": document,
    "document, formula at 1 and 2": lambda: document((1, 2)),
    "a kink in sight": lambda: max_batch_size(training_step, 2000),
    "one sample": lambda: max_batch_size(training_step, 400),
    "a reserve": lambda: max_batch_size(training_step, 4000, reserve_bytes=1000),
    "mlp": lambda: max_batch_size(sized(train_mlp, widths=(64, 256, 64, 16)), 2**23, formula_at=(4, 8)),
    "normalize": lambda: max_batch_size(normalize_batch, 10**5),
    "stopped": lambda: max_batch_size(training_step, 10**9, at_most=5000),
    "no straight lines": lambda: max_batch_size(square, 10**6),
}


def made(**changes: Any) -> BatchPlan:
    """A plan by hand: 10 bytes and 4 a sample up to 5 samples, then 2 bytes and 6 a sample."""
    lines = (
        Candidate(Step("matmul", "", "backward", "matmul"), 4, 10, 1, 4),
        Candidate(Step("mul", "", "backward", "powf"), 6, 2, 5, 20),
    )
    samples = ((1, 14), (2, 18), (16, 98), (17, 104), (22, 134))
    values: dict[str, Any] = {
        **{"available_bytes": 100, "reserve_bytes": 0, "batch_size": 16, "peak_bytes": 98, "next_peak_bytes": 104},
        **{"formula_batch_size": 22, "formula_peak_bytes": 134, "candidates": lines, "limits": (), "samples": samples},
        "formula_at": (1, 2),
    }
    return BatchPlan(**{**values, **changes})


def test_title_of_the_document() -> None:
    """Both numbers are those of design.md; the second peak is that of a plan."""
    need = plan(sized(training_step, d_in=512, d_out=256), 16127).peak_bytes
    assert batch(document()).title == (
        f"13 004 samples fit in {amount(BUDGET)}; the formula says 16 127, which needs {amount(need)}"
    )


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({}, "16 samples fit in 100 B; the formula says 22, which needs 134 B"),
        ({"reserve_bytes": 5}, "16 samples fit in 100 B with 5 B in reserve; the formula says 22, which needs 134 B"),
        ({"formula_batch_size": 16}, "16 samples fit in 100 B; the formula says the same"),
        ({"formula_batch_size": 10}, "16 samples fit in 100 B; the formula says 10, 6 too few"),
        ({"formula_batch_size": None}, "16 samples fit in 100 B; the formula has no answer"),
        ({"formula_peak_bytes": None}, "16 samples fit in 100 B; the formula says 22, the job fails there"),
        ({"next_peak_bytes": 99}, "At least 16 samples fit in 100 B; the formula says 22, which needs 134 B"),
    ],
)
def test_titles(changes: dict[str, Any], end: str) -> None:
    assert title_of(made(**changes)) == end


def test_text_by_hand() -> None:
    assert batch(made()).text.splitlines() == [
        "Budget: 100 B, of which 0 B in reserve.",
        "",
        "                      batch  peak in bytes  budget",
        "largest that fits, B     16             98  2 B left",
        "B + 1                    17            104  4 B too many",
        "by the formula, F        22            134  34 B too many",
        "",
        "from batch  to batch  fixed bytes  bytes a sample  the peak is at",
        "         1         4           10               4  the backward of matmul",
        "         5        20            2               6  mul, the backward of powf",
        "",
        "The formula's line: 10 B + 4 B a sample.",
    ]


@pytest.mark.parametrize(
    ("tried", "begin", "row", "key"),
    [
        ((10, 62), "A batch of 10 needs 62 B and fits", "10  62  38 B left", "10 need 62 B, 38 B left"),
        (
            (40, 242),
            "A batch of 40 needs 242 B and does not fit",
            "40  242  142 B too many",
            "40 need 242 B, 142 B too many",
        ),
    ],
)
def test_a_batch_size_that_was_tried(tried: tuple[int, int], begin: str, row: str, key: str) -> None:
    """On the second line: 2 + 6 a sample. One beyond the right edge makes room for itself."""
    picture = batch(made(), tried)
    assert picture.title == f"{begin}; {title_of(made())}"
    assert f"tried {row}".split() in [line.split() for line in picture.text.splitlines()]
    assert f"tried: {key}" in texts(picture)
    assert_readable(picture)
    lines = Lines(made(), made().candidates, None, tried)
    assert lines.widest >= tried[0]
    assert lines.axes.top >= tried[1]


@pytest.mark.parametrize("name", PLANS)
def test_words_do_not_meet_and_all_is_said(name: str) -> None:
    found = PLANS[name]()
    picture = batch(found)
    assert_readable(picture)
    assert len(picture.html) < 100_000
    drawn = " | ".join(texts(picture))
    for line in found.candidates[-MAX_LINES:]:
        assert str(line.step) in drawn
    for limit in found.limits:
        assert limit in picture.text


@pytest.mark.parametrize("name", PLANS)
def test_formula_line_gives_the_formulas_answer(name: str) -> None:
    found = PLANS[name]()
    line = formula_line(found)
    assert line is not None
    answer = found.formula_batch_size
    assert answer is not None
    budget = found.available_bytes - found.reserve_bytes
    assert line.bytes_at(answer) <= budget < line.bytes_at(answer + 1)


def test_points_stand_where_the_bytes_are() -> None:
    """B on the envelope, B + 1 above the budget's line, F on the peak of its batch."""
    found = document()
    lines = Lines(found, found.candidates, formula_line(found))
    circles = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', batch(found).svg)
    points = [(float(x), float(y)) for x, y in circles]
    for size, peak in ((found.batch_size, found.peak_bytes), (found.batch_size + 1, found.next_peak_bytes)):
        assert any(
            x == pytest.approx(lines.axes.x(size), abs=0.06) and y == pytest.approx(lines.axes.y(peak), abs=0.06)
            for x, y in points
        )
    assert lines.axes.y(found.next_peak_bytes) < lines.axes.y(lines.budget) < lines.axes.y(found.peak_bytes)
    last = found.candidates[-1]
    assert lines.axes.y(found.peak_bytes) == pytest.approx(lines.axes.y(last.bytes_at(found.batch_size)))
    assert found.formula_peak_bytes == last.bytes_at(16127)


def test_close_view_shows_the_budget_between() -> None:
    """After the two points of the plot come those of the close view: B ends below the dashed line, B + 1 above it."""
    svg = batch(document()).svg
    close = [float(y) for y in re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)"', svg)][2:4]
    budget = float(re.findall(r'd="M620 ([\d.]+)h160"', svg)[0])
    assert close[1] < budget < close[0]


def test_no_candidates_say_so() -> None:
    picture = batch(max_batch_size(square, 10**6))
    assert "The peak is no straight line of the batch size" in picture.text
    assert "the peak, from one planned batch to the next" in texts(picture)


def test_many_candidates_are_folded() -> None:
    step = Step("add", "", "forward", "")
    lines = tuple(Candidate(step, 2 * n, -n * n, n, n) for n in range(1, 101))
    picture = batch(made(candidates=lines))
    assert_readable(picture)
    assert f"{100 - MAX_ROWS} more for smaller batches" in picture.text
    assert f"{100 - MAX_LINES} more lines, for smaller batches, are not drawn." in texts(picture)


def test_fractions_are_shown_short() -> None:
    """A job with half a byte a sample, by a line through far points."""
    line = Candidate(Step("add", "", "forward", ""), Fraction(7, 2), 1, 1, 20)
    assert "3.5" in batch(made(candidates=(line,))).text


@given(st.lists(st.floats(0, 300), max_size=8))
def test_labels_are_spread(wanted: list[float]) -> None:
    heights = spread(wanted, 14, 296)
    assert all(after - before >= 14 - 1e-9 for before, after in pairwise(sorted(heights)))
    assert max(heights, default=0) <= 296
    assert all(height <= want for height, want in zip(heights, wanted, strict=True))


def test_axis_numbers_are_round() -> None:
    assert list(ticks(104, 5)) == [0, 50, 100]
    assert list(ticks(2, 5)) == [0, 1, 2]
    assert [short(size, 500) for size in (0, 500, 1000)] == ["0", "500 B", "1 000 B"]
    assert [short(size, 50 * 10**6) for size in (0, 50 * 10**6, 10**9)] == ["0", "50 MB", "1 000 MB"]
    assert [short(size, step) for size, step in ((2000, 2000), (2 * 10**9, 10**9))] == ["2 kB", "2 GB"]


@pytest.mark.parametrize("name", PLANS)
def test_the_peaks_line_goes_through_every_planned_batch(name: str) -> None:
    """From the smallest to the formula's: at each, the line stands where the plan says."""
    found = PLANS[name]()
    lines = Lines(found, found.candidates, formula_line(found))
    (drawn,) = re.findall(r'd="M([^"H]*)" class="rule envelope"', batch(found).svg)
    points = [tuple(map(float, point.split())) for point in drawn.split("L")]
    pairs = list(pairwise([points[0], *points]))
    for size, peak in found.samples:
        if size > lines.widest:
            continue
        x, y = lines.axes.x(size), lines.axes.y(peak)
        (left, high), (right, low) = next(pair for pair in pairs if pair[0][0] - 0.1 <= x <= pair[1][0] + 0.1)
        share = (x - left) / (right - left) if right > left else 0.0
        assert y == pytest.approx(
            high + share * (low - high), abs=1.0
        )  # coordinates have one decimal, and a part can be short


_SCRIPT = """
from tests.memory.jobs import train_mlp
from tinyburn import memory, viz
picture = viz.batch(memory.max_batch_size(train_mlp, 10**6))
"""


def test_same_bytes_in_two_processes() -> None:
    first, second = outputs_of_two_processes(_SCRIPT)
    assert first == second
