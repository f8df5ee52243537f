"""The text below each guess says what is measured. It runs each notebook once more, so it is behind a mark."""

from __future__ import annotations

import re

import pytest

from tests.course.lessons import GUESS, LESSONS, Lesson
from tinyburn.cli.document import parse, read
from tinyburn.cli.execute import execute

pytestmark = pytest.mark.variants

MEASURED = re.compile(r"Measured: (.*)\.\n")
IN_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
YES = {"True": ("yes", "true"), "False": ("no", "false", "not"), "None": ("none", "no gradient")}


def says(text: str, measured: str) -> bool:
    """Whether a text has a measured value: a number with or without its unit and its thousands apart, or words."""
    plain = re.sub(r"(?<=\d)(?:\\,| )(?=\d{3}\b)", "", text.replace("$", "").replace("\N{MINUS SIGN}", "-"))
    value = re.sub(r"(?<=\d) (?=\d{3}\b)", "", measured.strip("()[]"))
    if value in plain or any(word in plain.casefold() for word in YES.get(value, ())):
        return True
    number = re.match(r"(-?\d+(?:\.(\d+))?)(?: [a-z ]+)?$", value)
    if number is not None:
        return _has_number(plain, float(number[1]), len(number[2] or ""))
    return all(_has_part(plain, part.strip("'")) for part in re.split(r",\s*|\s+", value))


def _has_part(text: str, part: str) -> bool:
    if re.fullmatch(r"-?\d+\.\d+", part):
        return _has_number(text, float(part), 1)
    return part.casefold() in text.casefold()


def _has_number(text: str, wanted: float, digits: int) -> bool:
    """In figures, in words, as a share in percent, or as none."""
    words = text.casefold()
    said = [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?", text)]
    said += [float(at) for at, word in enumerate(IN_WORDS) if re.search(rf"\b{word}\b", words)]
    said += [found / 100 for found in said] + [0.5] * ("half" in words)
    said += [0.0] * any(word in words for word in ("none", "not one", "nothing", "zeros", "no "))
    return any(round(found, digits) == round(wanted, digits) for found in said)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.path.stem)
def test_each_answer_says_what_is_measured(lesson: Lesson) -> None:
    notebook = parse(read(lesson.path))
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source.startswith(GUESS):
            cell.source = 'my_guess = "skip"'
    execute(notebook, lesson.path.parent, timeout=120)
    for cell, answer in zip(notebook.cells, notebook.cells[1:], strict=False):
        for output in cell.get("outputs", []):
            if found := MEASURED.search(output.get("text", "")):
                assert says(answer.source, found[1]), f"{found[0]}\n{answer.source}"
