"""The receipt: four numbers for one job, and sentences whose own numbers add up to the gaps."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.memory.allocator import Counter, count
from tests.memory.jobs import JOBS, dense_block, training_step
from tests.viz.examples import columns, texts
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import Autodiff, Device, NdArray, Tensor
from tinyburn.memory import MemoryReport, measure, plan
from tinyburn.memory.measure import Job
from tinyburn.viz import receipt
from tinyburn.viz.receipt import TERMS, formula_gap, largest_of, truth_gap


def both(job: Job, batch: int) -> tuple[MemoryReport, MemoryReport]:
    return measure(job, Autodiff[NdArray].device(), batch), plan(job, batch)


def numbers(sentence: str) -> list[int]:
    return [int(number.replace(" ", "")) for number in re.findall(r"(\d[\d ]*) B", sentence)]


def true_peak(job: Job, batch: int) -> int:
    """By NumPy's own allocation handler (NEP 49), which is not ours."""
    device = Autodiff[NdArray].device()
    device.seed(1)

    def work(counter: Counter) -> int:
        job(device, batch)
        return counter.peak

    return count(work)


def test_training_step_with_an_independent_witness() -> None:
    """The formula has 144 + 256 + 144 + 512 bytes: no inputs, and gradients that are not alive at the peak.

    Two results are temporary in the forward pass, and one of them at the peak. There NumPy turns the number in
    ``g * a * 2`` into an array, first of 8 and then of 4 bytes.
    """
    picture = receipt(*both(training_step, 16), truth=true_peak(training_step, 16), witness="NEP 49")
    assert picture.title == "Plan 1 432 B, and the ledger says the same; the formula says 1 056 B"
    lines = picture.text.splitlines()
    assert [line.split("  ")[0] for line in lines[1:5]] == ["formula", "plan", "ledger", "NEP 49"]
    assert lines[2].endswith(
        "The formula is 376 B too low. It adds what is not there at the peak: 144 B of gradient, 248 B of temporary. "
        "It leaves out 768 B of input."
    )
    assert re.search(r"No gap: all \d+ events of the two logs are the same\.$", lines[3])
    assert lines[4].endswith("12 B more: NumPy asks for some bytes for a number, or where an array is empty.")


def test_a_witness_that_agrees() -> None:
    """A forward pass without a number among its operands."""
    picture = receipt(*both(dense_block, 16), truth=true_peak(dense_block, 16), witness="NEP 49")
    assert picture.title.startswith("Plan 1 168 B, and the ledger and NEP 49 say the same; ")
    assert picture.text.splitlines()[4].endswith("No gap: it counts the same to the byte.")


@pytest.mark.parametrize("name", JOBS)
def test_sentences_explain_all_of_the_formulas_gap(name: str) -> None:
    """What it adds, less what it leaves out, is the gap."""
    job, batch = JOBS[name]
    planned = plan(job, batch)
    largest = largest_of(planned)
    gap = sum(largest[term] for term in TERMS) - planned.peak_bytes
    sentence = formula_gap(largest, planned)
    added = re.search(r"at the peak: ([^.]*)\.", sentence)
    left_out = re.search(r"It leaves out ([^.]*)\.", sentence)
    assert sum(numbers(added[1]) if added else [0]) - sum(numbers(left_out[1]) if left_out else [0]) == gap
    if gap:
        assert f"{'high' if gap > 0 else 'low'}." in sentence


@pytest.mark.parametrize("name", [name for name in JOBS if "50 MB" not in name])
def test_words_do_not_meet(name: str) -> None:
    job, batch = JOBS[name]
    report, planned = both(job, batch)
    for truth in (None, report.peak_bytes + 12_345):
        picture = receipt(report, planned, truth=truth)
        assert_readable(picture)
        assert len(picture.html) < 100_000


def test_table_has_each_categorys_largest_moment() -> None:
    picture = receipt(*both(training_step, 16))
    lines = picture.text.split("\n\n")[1].splitlines()
    assert [line.split() for line in lines[1:]] == [
        *[["P", "parameter", "144", "144", "yes"], ["I", "input", "768", "768", "no"]],
        *[["A", "activation", "256", "256", "yes"], ["G", "gradient", "144", "0", "yes"]],
        *[["T", "temporary", "512", "264", "yes"]],
    ]


def test_a_witness_that_nobody_asked() -> None:
    picture = receipt(*both(training_step, 16))
    assert "Not measured: nobody else counted this run." in picture.text
    assert texts(picture).count("not measured") == 2, "at its line and in the legend"
    assert 'class="ghost"' in picture.svg
    assert columns(picture, "bytes")[3] == ("",)


def test_bars_are_as_long_as_their_bytes() -> None:
    svg = receipt(*both(training_step, 16), truth=2864).svg
    bars = [
        element
        for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}rect")
        if element.get("height") == "18"
    ]
    widths = [float(element.get("width", "")) for element in bars]
    assert widths[-1] == 300, "the largest number has the longest bar"
    for size, parts in ((1056, widths[:4]), (1432, widths[4:8]), (1432, widths[8:12])):
        assert sum(parts) == pytest.approx(300 * size / 2864, abs=0.3)


def test_a_plan_of_another_run() -> None:
    report, other = measure(training_step, Autodiff[NdArray].device(), 16), plan(training_step, 17)
    picture = receipt(report, other)
    assert picture.title.startswith("Plan 1 512 B, and the ledger says otherwise; ")
    assert "80 B less: the two logs part at event " in picture.text


def test_a_formula_that_is_right() -> None:
    """Only a parameter is ever alive."""

    def job(device: Device[Any], batch: int) -> Tensor[Any, Any]:
        from tinyburn import Param

        return Param.from_tensor(Tensor.ones((batch, 4), device)).val()

    picture = receipt(*both(job, 8))
    assert "The formula is right here" in picture.text


@pytest.mark.parametrize(
    ("truth", "because", "sentence"),
    [
        (None, "", "Not measured: nobody else counted this run."),
        (1000, "", "No gap: it counts the same to the byte."),
        (1001, "", "1 B more: NumPy asks for some bytes for a number, or where an array is empty."),
        (5000, "", "4 000 B more: it also counts what is no tensor data, such as Python's own objects."),
        (400, "", "600 B less: it did not see every buffer, or it did not look at the moment of the peak."),
        (5000, "The pool rounds up.", "The pool rounds up."),
    ],
)
def test_sentences_of_the_witness(truth: int | None, because: str, sentence: str) -> None:
    assert truth_gap(1000, truth, because) == sentence


def test_an_empty_job() -> None:
    picture = receipt(*both(lambda device, batch: None, 1), truth=0)
    assert picture.title.startswith("Plan 0 B, ")
    assert_readable(picture)


_SCRIPT = """
from tests.memory.jobs import train_mlp
from tinyburn import Autodiff, NdArray, memory, viz
report = memory.measure(train_mlp, Autodiff[NdArray].device(), 16)
picture = viz.receipt(report, memory.plan(train_mlp, 16), truth=report.peak_bytes)
"""


def test_same_bytes_in_two_processes() -> None:
    first, second = outputs_of_two_processes(_SCRIPT)
    assert first == second
