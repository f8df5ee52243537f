"""The plans of docs/teaching.md: their minutes are the lessons' own, and no lesson comes before one that it needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.course.lessons import LESSONS

PAGE = (Path(__file__).parents[2] / "docs" / "teaching.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| \d+ \| (?P<lessons>\d\d(?:, \d\d)*) \| (?P<minutes>\d+) \| ", re.MULTILINE)
FIRST_CELLS = {lesson.number: lesson.texts[0] for lesson in LESSONS}


def plans() -> dict[str, list[tuple[list[int], str]]]:
    """The rows of each plan, by its name: the lessons and the minutes."""
    found = {}
    for name in ("One week", "Four weeks", "Ten weeks"):
        text = PAGE.split(f"**{name}**")[1].split("**")[0].split("\n## ")[0]
        found[name] = [([int(lesson) for lesson in row[1].split(", ")], row[2]) for row in ROW.finditer(text)]
    return found


@pytest.mark.parametrize("name", plans())
def test_the_minutes_are_those_of_the_lessons(name: str) -> None:
    assert plans()[name]
    for lessons, minutes in plans()[name]:
        says = [re.search(r"About (\d+) minutes\.", FIRST_CELLS[lesson]) for lesson in lessons]
        assert int(minutes) == sum(int(found[1]) for found in says if found)


@pytest.mark.parametrize("name", plans())
def test_no_lesson_comes_before_one_that_it_needs(name: str) -> None:
    order = [lesson for lessons, _ in plans()[name] for lesson in lessons]
    assert len(set(order)) == len(order)
    for at, lesson in enumerate(order):
        needed = {int(number) for number in re.findall(r"\]\((\d\d)_", FIRST_CELLS[lesson].split("You need: ")[-1])}
        assert needed <= set(order[:at]), lesson
