"""Every lesson has the form that CONTRIBUTING.md describes."""

from __future__ import annotations

import ast
import re

import pytest

from tests.course.lessons import CHECK, GUESS, LESSONS, PREDICT, Lesson
from tinyburn.course.exercises import exercises_of

every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.path.stem)
PICTURES = ["The graph", "The gradient flow", "The memory"]
ENDING = ["What you can say now", "Exercises", "Where next"]


@every_lesson
def test_the_first_cell_has_title_question_time_and_what_one_needs(lesson: Lesson) -> None:
    title, question, needs = lesson.texts[0].split("\n\n")[:3]
    assert re.fullmatch(rf"# {lesson.number:02} · [A-Z].*", title)
    assert re.fullmatch(r"\*\*.*\?\*\*", question, re.DOTALL)
    found = re.match(r"About (\d+) minutes\. You need: ", needs)
    assert found
    assert int(found[1]) == lesson.minutes
    assert 20 <= lesson.minutes <= 40


@every_lesson
def test_the_sections_come_in_order(lesson: Lesson) -> None:
    assert lesson.headings[0] == "The example"
    assert lesson.headings[-3:] == ENDING
    assert [heading for heading in lesson.headings if heading in PICTURES] == PICTURES


@every_lesson
def test_the_first_code_cell_makes_the_configuration(lesson: Lesson) -> None:
    assert "config = tb.RunConfig(" in lesson.codes[0]
    assert not any("RunConfig(" in code for code in lesson.codes[1:] if lesson.number < 14)


def ends_with_prediction(code: str) -> bool:
    """Whether the last statement of a cell is ``tb.course.predict(my_guess, ...)``: nothing is shown after it."""
    last = ast.parse(code).body[-1]
    return isinstance(last, ast.Expr) and ast.unparse(last).startswith(PREDICT)


@every_lesson
def test_each_guess_is_asked_for_measured_and_answered_below(lesson: Lesson) -> None:
    assert 3 <= lesson.guesses <= 8
    places = [at for at, cell in enumerate(lesson.cells) if cell.is_code and cell.text.startswith(GUESS)]
    for at in places:
        question, _, measured, answer = lesson.cells[at - 1 : at + 3]
        assert not question.is_code
        assert "**Predict.**" in question.text
        assert measured.is_code
        assert ends_with_prediction(measured.text), measured.text
        assert not answer.is_code
        assert re.match(r"The answer:\n\n(?!\d+\. )", answer.text), answer.text  # "36. So" would begin a list
        assert "## " not in answer.text
    assert sum("course.predict(" in code for code in lesson.codes) == len(places)


@every_lesson
def test_no_text_answers_a_guess_without_being_folded(lesson: Lesson) -> None:
    answers = [text for text in lesson.texts if text.startswith("The answer:")]
    assert len(answers) >= lesson.guesses
    assert not any("**Predict.**" in text for text in answers)


@every_lesson
def test_each_exercise_is_one_line_and_known_to_the_package(lesson: Lesson) -> None:
    assert lesson.exercises == list(exercises_of(lesson.number))
    assert 2 <= len(lesson.exercises) <= 5
    assert [code for code in lesson.codes if "course.check(" in code and not CHECK.fullmatch(code)] == []
    for at, cell in enumerate(lesson.cells):
        if found := CHECK.fullmatch(cell.text):
            assert f"**{found[1]}** " in lesson.cells[at - 1].text


@every_lesson
def test_code_fits_into_its_cell(lesson: Lesson) -> None:
    for code in lesson.codes:
        assert max(map(len, code.splitlines())) <= 88, code
        assert len(code.splitlines()) <= 20, code


@every_lesson
def test_no_inside_of_tinyburn_is_shown_before_its_lesson(lesson: Lesson) -> None:
    if lesson.number < 18:
        assert not any(re.search(r"\.primitive\b|\._[a-z]", cell.text) for cell in lesson.cells)
