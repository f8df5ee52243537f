"""The peak card: who is alive, from when to when, and what keeps it; in words and in the drawing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.memory.jobs import JOBS, named_training_step, train_mlp, training_step
from tests.memory.test_history import alloc, random_log
from tests.viz.examples import texts
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import Autodiff, Device, NdArray, Tensor
from tinyburn.backend import Category
from tinyburn.backend.log import EventLog
from tinyburn.base.text import amount, thousands
from tinyburn.memory import MemoryReport, holders_at_peak, measure
from tinyburn.memory.measure import Job, read_report
from tinyburn.memory.timeline import walk
from tinyburn.viz import Picture, peak
from tinyburn.viz.peak_card import MAX_BARS, MAX_ROWS
from tinyburn.viz.svg import MARKS, fill_of


def report_of(job: Job, batch: int = 16) -> MemoryReport:
    return measure(job, Autodiff[NdArray].device(), batch)


def card(job: Job, batch: int = 16) -> Picture:
    return peak(report_of(job, batch), holders_at_peak(job, batch))


def rows(picture: Picture) -> list[tuple[str, str]]:
    """The letter and the bytes of each row of the first table, up to the total."""
    lines = picture.text.splitlines()[2:]
    cells = [(line[:1].strip(), line[1:].strip().split("  ")[0]) for line in lines]
    return cells[: next(row for row, line in enumerate(lines) if line.endswith("total"))]


def test_title_states_the_finding() -> None:
    """x and the difference are kept for a rule; the target and the loss only by their names."""
    picture = card(training_step)
    assert picture.title == (
        f"Peak 1 432 B at mul, the backward of pow: the graph keeps {512 + 256} B of it, only a Python name {256 + 4} B"
    )


def test_text_of_the_training_step() -> None:
    """Operations are counted as in the memory strip."""
    lines = card(named_training_step).text.splitlines()
    assert lines[0] == "Alive at the peak, in operation 16:"
    table = {tuple(line.split()[:3]): line for line in lines[2:11]}
    name = "name {} in named_training_step"
    assert table["I", "512", "full"].endswith(f"matmul keeps a; {name.format('x')}")
    assert table["I", "256", "full"].endswith(name.format("y"))
    assert table["T", "256", "add"].endswith(name.format("prediction"))
    assert table["A", "256", "sub"].split() == [
        *(
            "A",
            "256",
            "sub",
            "8",
            "16",
            "mul,",
            "the",
            "backward",
            "of",
            "pow",
            "pow",
            "keeps",
            "a",
        ),
    ]
    assert table["P", "128", "full"].endswith(name.format("w"))
    assert lines[11].split() == ["1", "688", "total"]
    assert "Past their last use at the peak: y in named_training_step, prediction in" in picture_words(lines)


def picture_words(lines: list[str]) -> str:
    return " ".join(lines)


@pytest.mark.parametrize("name", JOBS)
def test_rows_add_up_to_the_peak_by_category(name: str) -> None:
    job, batch = JOBS[name]
    report = report_of(job, batch)
    for picture in (peak(report), card(job, batch)):
        assert picture.title.startswith(f"Peak {amount(report.peak_bytes)} at {report.peak_op}: ")
        by_letter: dict[str, int] = {}
        for letter, size in rows(picture):
            by_letter[letter] = by_letter.get(letter, 0) + bytes_of(size)
        assert {MARKS[Category[name.upper()]].letter: size for name, size in report.at_peak.items()} == {
            letter: size for letter, size in by_letter.items() if size
        }


def test_largest_first_in_rows_and_bars() -> None:
    picture = card(train_mlp)
    shown = [size for _, size in rows(picture)]
    sizes = [bytes_of(size) for size in shown]
    assert sizes == sorted(sizes, reverse=True)
    drawn = texts(picture)
    drawn = [size for size in drawn[drawn.index("bytes") :] if size.endswith(" B")]
    assert drawn[:MAX_BARS] == [f"{size} B" for size in shown[:MAX_BARS]]
    assert any(line.startswith("in ") and line.endswith(" more") for line in texts(picture))


def bytes_of(size: str) -> int:
    """Of one buffer, as in ``512``, or of several alike, as in ``6 x 512``."""
    count, _, each = size.replace(" ", "").rpartition("x")
    return int(count or 1) * int(each)


def test_buffers_that_say_the_same_are_one_row_with_a_count() -> None:
    """Six layers of one size in a model: their weights, and their biases."""

    def job(device: Device[Any], batch: int) -> Any:
        weights = [Tensor.ones((4, 4), device) for _ in range(6)]
        x = Tensor.ones((batch, 4), device)
        for weight in weights:
            x = x @ weight
        return x

    picture = peak(measure(job, NdArray.device(), 2))
    assert [(letter, size) for letter, size in rows(picture) if letter == "I"] == [("I", "6 x 64"), ("I", "32")]
    assert "6 x 64 B" in texts(picture)


def test_drawing_says_what_the_text_says() -> None:
    """Recomputed, the peak has one more (16, 4) result, the product that the difference is made from: 256 bytes."""
    picture = card(training_step)
    drawn = texts(picture)
    for words in ("8 sub", "pow keeps a", "recomputed: peak 1 688 B, 256 B more", "peak, operation 16 of 21"):
        assert words in drawn
    for question, answer in (
        ("names dropped", "1 424 B"),
        ("activations recomputed", "1 688 B"),
        ("half precision", "716 B"),
    ):
        assert drawn[drawn.index(question) + 1] == answer
    for letter in "PIAT":
        assert f'fill="{fill_of(letter)}"' in picture.svg


def test_without_holders_the_log_tells_the_rest() -> None:
    report = report_of(training_step)
    picture = peak(report)
    assert "Python name" not in picture.title
    assert "Python names were not looked at" in " ".join(picture.text.split())
    with_names = peak(report, holders_at_peak(training_step, 16))
    start = "What if:"
    cut = "What if one"
    assert (
        picture.text[picture.text.index(start) : picture.text.index(cut)]
        == (with_names.text[with_names.text.index(start) : with_names.text.index(cut)])
    )


def test_no_row_has_more_text_than_room() -> None:
    """Names of modules can be long. The text form keeps all of it."""
    log = EventLog()
    log.op("full", "", [])
    made = alloc(log, 64, Category.INPUT)
    path = ".".join(["decoder", *("block" for _ in range(30))])
    log.op("matmul", path, [made.id])
    kept = alloc(log, 64, Category.TEMPORARY)
    picture = peak(read_report(log, None))
    assert path in picture.text
    assert_readable(picture)
    del kept


@pytest.mark.parametrize("name", JOBS)
def test_no_words_meet(name: str) -> None:
    assert_readable(card(*JOBS[name]))


def test_empty_job() -> None:
    picture = peak(report_of(lambda device, batch: None))
    assert picture.title == "Peak 0 B: no tensor had any bytes"
    assert picture.text == "Nothing is alive at any moment, so there is no peak."
    assert picture.text in texts(picture)


def test_a_job_without_gradients() -> None:
    def job(device: Device[Any], batch: int) -> Tensor[Any, Any]:
        return Tensor.ones((batch, 8), device) * 2.0

    picture = card(job)
    assert picture.title.endswith("the graph keeps 0 B of it, names alone keep none")
    assert "What if one activation" not in picture.text


def test_large_logs_are_folded() -> None:
    report = read_report(random_log(20_000, seed=1), None)
    picture = peak(report)
    assert len(picture.html) < 100_000
    assert len(picture.text.splitlines()) < MAX_ROWS + 40


def test_a_peak_of_very_many_buffers() -> None:
    """All of them alike are one row; all of them different are the largest, and how many more."""
    log = EventLog()
    log.op("full", "", [])
    alive = [alloc(log, 4, Category.INPUT) for _ in range(5000)]
    assert "5000 x 4  full" in peak(read_report(log, None)).text
    alive += [alloc(log, 4 * size, Category.INPUT) for size in range(2, 102)]
    picture = peak(read_report(log, None))
    assert f"… {thousands(101 - MAX_ROWS)} more" in picture.text
    assert len(picture.html) < 100_000
    *_, (_, _, totals) = walk(log)
    assert sum(totals) == 20_000 + 4 * sum(range(2, 102))
    del alive


_SCRIPT = """
from tests.memory.jobs import train_mlp
from tinyburn import Autodiff, NdArray, memory, viz
picture = viz.peak(memory.measure(train_mlp, Autodiff[NdArray].device(), 16), memory.holders_at_peak(train_mlp, 16))
"""


def test_same_bytes_in_two_processes() -> None:
    first, second = outputs_of_two_processes(_SCRIPT)
    assert first == second
