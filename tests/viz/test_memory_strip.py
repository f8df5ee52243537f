"""The memory strip: what it says is what the log says, in words and in the drawing."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.jobs import JOBS, dense_block, training_step
from tests.memory.test_history import alloc, random_log
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import Autodiff, Device, Meta, NdArray, Tensor, nn, optim
from tinyburn.backend import Category
from tinyburn.backend.log import EventLog
from tinyburn.base.text import amount
from tinyburn.memory import MemoryReport, measure
from tinyburn.memory.measure import read_report
from tinyburn.viz.memory_strip import (
    HEIGHT,
    MAX_COLUMNS,
    MAX_PHASES,
    MAX_ROWS,
    ORDER,
    columns_of,
    kept_rows,
    memory,
    merged,
    peak_of,
    phases_of,
    run_length,
)
from tinyburn.viz.svg import MARKS

SVG = "{http://www.w3.org/2000/svg}"


def report_of(job: Any, batch: int = 16) -> MemoryReport:
    return measure(job, Autodiff[NdArray].device(), batch)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


FILLS = {mark.letter: mark.colour if mark.hatch is None else f"url(#h{mark.letter})" for mark in MARKS.values()}


def height(svg: str, letter: str) -> float:
    """How many pixels one category's area spans from top to bottom."""
    area = re.search(rf'<path d="([^"]*)" class="gap" fill="{re.escape(FILLS[letter])}" stroke-width=".5"', svg)
    assert area is not None
    ys = [float(y) for y in re.findall(r"(?:V|M[\d.]+ )([\d.]+)", area[1])]
    return max(ys) - min(ys)


# The training step of the document


def test_title_states_the_finding() -> None:
    picture = memory(report_of(training_step))
    assert picture.title == "Peak 1 432 B at mul, the backward of pow; no gradient is alive yet"


def test_text_has_each_operation_and_the_peak() -> None:
    lines = memory(report_of(training_step)).text.splitlines()
    assert lines[1].split() == [
        "phase",
        "operation",
        "parameter",
        "input",
        "activation",
        "gradient",
        "temporary",
        "total",
    ]
    rows = {line.split()[0]: line for line in lines if line.split() and line.split()[0].isdigit()}
    assert len(rows) == 21  # 20 operations, and the moment at which the job returns
    assert re.split(r"\s{2,}", rows["5"].strip()) == ["5", "forward", "matmul", "144", "768", "0", "0", "256", "1 168"]
    assert re.split(r"\s{2,}", rows["16"].strip())[2:] == [
        *("mul, the backward of pow", "144", "768", "256", "0", "264", "1 432"),
    ]
    at = lines.index("At the peak, mul, the backward of pow:")
    assert [line.split(maxsplit=2) for line in lines[at + 2 :]] == [
        ["P", "parameter", "144 B"],
        ["I", "input", "768 B"],
        ["A", "activation", "256 B"],
        ["T", "temporary", "264 B"],
        ["total", "1", "432 B"],
    ]


def test_drawing_names_the_phases_the_peak_and_the_categories() -> None:
    drawn = texts(memory(report_of(training_step)).svg)
    for words in ("setup", "forward", "backward", "peak 1 432 B at mul, the backward of pow"):
        assert words in drawn
    for name, letter, size in (("parameter", "P", "144 B"), ("input", "I", "768 B"), ("temporary", "T", "264 B")):
        assert name in drawn
        assert drawn.count(letter) == 2, "in the legend and in the area itself"
        assert size in drawn
    forward = ["matmul", "reshape", "add", "sub", "pow", "mean", "mean"]
    start = drawn.index("matmul")
    assert drawn[start : start + len(forward)] == forward


def test_areas_are_as_high_as_their_bytes() -> None:
    """Parameters are a level floor of 144 of 1 432 bytes; an activation is a block of 256."""
    svg = memory(report_of(training_step)).svg
    assert height(svg, "A") == pytest.approx(HEIGHT * 256 / 1432, abs=0.11)
    assert height(svg, "P") == pytest.approx(HEIGHT * 144 / 1432, abs=0.11)


def test_ticks_are_round() -> None:
    """The scale ends at the peak, 1 432 B and 21.5 MB."""
    drawn = texts(memory(report_of(training_step)).svg)
    assert [size for size in ("0", "500 B", "1 000 B", "1 500 B") if size in drawn] == ["0", "500 B", "1 000 B"]
    large = texts(memory(report_of(*JOBS["training step, 26 MB"])).svg)
    assert [size for size in ("0", "10 MB", "20 MB") if size in large] == ["0", "10 MB", "20 MB"]


# Against the report, for every job


@pytest.mark.parametrize("name", JOBS)
def test_picture_says_what_the_report_says(name: str) -> None:
    report = report_of(*JOBS[name])
    picture = memory(report)
    assert picture.title.startswith(f"Peak {amount(report.peak_bytes)} at {report.peak_op}; ")
    peak = peak_of(columns_of(report.events))
    assert {category.name.lower(): peak.totals[category] for category in Category if peak.totals[category]} == (
        report.at_peak
    )
    for category, size in report.at_peak.items():
        mark = MARKS[Category[category.upper()]]
        assert re.search(rf"^{mark.letter}  {mark.name} +{amount(size)}$", picture.text, re.MULTILINE)
    assert ElementTree.fromstring(picture.svg).find(f"{SVG}title").text == picture.title  # type: ignore[union-attr]


def test_gradients_at_the_peak_are_told() -> None:
    """In a step of a large layer on one sample the peak is in the update. Gradients that were looked at are alive then:
    they cannot be written over."""

    def job(device: Device[Any], batch: int) -> Any:
        model = nn.LinearConfig(64, 64).init(device)
        grads = model(Tensor.ones((1, 64), device)).sum().backward()
        seen = grads.named(model)
        return optim.SgdConfig().init().step(0.1, model, grads), seen

    report = report_of(job)
    gradients = report.at_peak["gradient"]
    assert memory(report).title.endswith(f"; {amount(gradients)} of it are gradients")


def test_a_gradient_that_comes_and_goes_before_the_peak() -> None:
    def job(device: Device[Any], batch: int) -> Tensor[Any, Any]:
        training_step(device, batch)
        return Tensor.ones((batch, 1000), device)

    assert memory(report_of(job)).title == "Peak 64 000 B at full; no gradient is alive then"


def test_a_gradient_that_no_column_shows_is_still_not_never() -> None:
    """The gradient gets its name after larger moments of the last operation."""

    def job(device: Device[Any], batch: int) -> Any:
        return (Tensor.ones((batch, 8), device).require_grad().sin()).sum().backward()

    assert memory(report_of(job)).title.endswith("no gradient is alive yet")


# Edges


def test_empty_log() -> None:
    picture = memory(read_report(EventLog(), None))
    assert picture.title == "Peak 0 B: no tensor had any bytes"
    assert "no operation ran" in picture.text
    assert "no operation ran and no tensor was made" in texts(picture.svg)


def test_zero_bytes() -> None:
    picture = memory(report_of(dense_block_of_nothing))
    assert picture.title == "Peak 0 B: no tensor had any bytes"
    assert "forward" in texts(picture.svg)
    assert "nan" not in picture.svg


def dense_block_of_nothing(device: Device[Any], batch: int) -> Any:
    return Tensor.ones((0, 8), device) * 2.0


def test_one_operation() -> None:
    picture = memory(report_of(lambda device, batch: Tensor.ones((batch, 8), device) * 2.0))
    assert picture.title == "Peak 1 024 B at mul; no gradient is ever alive"
    assert texts(picture.svg).count("mul") == 1


def test_no_backward() -> None:
    picture = memory(report_of(dense_block))
    assert picture.title.endswith("no gradient is ever alive")
    assert "gradient  " not in picture.text
    assert "backward" not in texts(picture.svg)


def test_only_made() -> None:
    assert memory(report_of(lambda device, batch: Tensor.ones((4, 8), device))).title.startswith("Peak 128 B at full")


def test_long_module_paths_stay_inside_the_picture() -> None:
    """The title is wrapped, and the label at the peak leaves to it what has no room."""
    log = EventLog()
    log.op("full", "", [])
    made = alloc(log, 64, Category.INPUT)
    log.op("matmul", ".".join(["decoder", *("block" for _ in range(30))]), [made.id])
    kept = alloc(log, 64, Category.TEMPORARY)
    picture = memory(read_report(log, None))
    root = ElementTree.fromstring(picture.svg)
    for element in root.iter(f"{SVG}text"):
        if element.get("text-anchor") == "start":
            right = float(element.get("x", "")) + len(element.text or "") * 6.7
            assert right <= float(root.get("width", ""))
    assert "peak 128 B" in texts(picture.svg)
    assert "".join(texts(picture.svg)).count("block") == 30
    del kept


# A plan over it


def test_a_plan_that_is_right() -> None:
    report = report_of(training_step)
    plan = measure(training_step, Autodiff[Meta].device(), 16)
    picture = memory(report, plan)
    assert picture.title.endswith("no gradient is alive yet; planned: the same")
    assert "The plan has its peak, 1 432 B, at mul, the backward of pow." in picture.text
    assert "planned" in texts(picture.svg)
    assert "stroke-dasharray" in picture.svg


def test_a_plan_that_is_larger_sets_the_scale() -> None:
    report, plan = report_of(training_step, 16), measure(training_step, Autodiff[Meta].device(), 32)
    picture = memory(report, plan)
    assert picture.title.endswith(f"planned: {amount(plan.peak_bytes)}")
    assert height(picture.svg, "P") == pytest.approx(HEIGHT * 144 / plan.peak_bytes, abs=0.11)


# Long logs


def test_long_log_is_merged_and_folded_and_says_so() -> None:
    report = read_report(random_log(20_000, seed=1), None)
    columns = columns_of(report.events)
    picture = memory(report)
    length = run_length(columns)
    assert f"each column is the largest of up to {length} operations" in texts(picture.svg)
    left_out = [int(number.replace(" ", "")) for number in re.findall(r"… ([\d ]+) more, at most", picture.text)]
    shown = len(kept_rows(columns))
    assert shown <= MAX_ROWS
    assert sum(left_out) + shown == len(columns)
    assert re.search(rf"^ *{peak_of(columns).first}  ", picture.text, re.MULTILINE), "the peak's own row is there"
    for run in phases_of(columns):
        for border in (run[0], run[-1]):
            assert re.search(rf"^ *{border.first}  ", picture.text, re.MULTILINE)


@pytest.mark.parametrize("phases", [3, 50, 5000])
def test_a_hundred_thousand_events_stay_small(phases: int) -> None:
    report = read_report(random_log(100_000, seed=2, phases=phases), None)
    picture = memory(report, report)
    assert len(picture.html) < 100_000
    assert len(picture.text.splitlines()) < 2 * MAX_ROWS + 30
    ElementTree.fromstring(picture.svg)


@given(events=st.integers(1, 3000), seed=st.integers(0, 1000), phases=st.integers(1, 200))
def test_columns_keep_every_operation_and_the_peak(events: int, seed: int, phases: int) -> None:
    log = random_log(events, seed, phases)
    columns = columns_of(log)
    drawn = merged(columns, run_length(columns))
    assert len(drawn) <= MAX_COLUMNS + MAX_PHASES
    assert peak_of(drawn).totals == peak_of(columns).totals
    assert sum(peak_of(columns).totals) == read_report(log, None).peak_bytes
    assert [column.first for column in drawn] == [columns[0].first, *(column.last + 1 for column in drawn[:-1])]
    assert drawn[-1].last == columns[-1].last
    for run in drawn:
        inside = [column.total for column in columns if run.first <= column.first <= run.last]
        assert run.total == max(inside)


def test_every_category_is_in_the_stack() -> None:
    assert sorted(ORDER) == list(Category)


# The same bytes

_SCRIPT = """
from tests.memory.jobs import train_mlp
from tinyburn import Autodiff, NdArray
from tinyburn.memory import measure
from tinyburn.viz import memory
picture = memory(measure(train_mlp, Autodiff[NdArray].device(), 16))
"""


def test_same_bytes_in_two_processes() -> None:
    first, second = outputs_of_two_processes(_SCRIPT)
    assert first == second


def test_picture_depends_on_the_log_only() -> None:
    first, second = report_of(training_step), report_of(training_step)
    assert memory(first) == memory(second)
