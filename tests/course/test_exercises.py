"""Every solution is right, every wrong answer that looks right is told, and hints grow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyburn
from tinyburn import ConfigError, course
from tinyburn.course import exercises
from tinyburn.course.exercises import LESSONS, Exercise, exercise, exercises_of, find

ALL = [one for lesson in LESSONS for one in exercises_of(lesson).values()]
every_exercise = pytest.mark.parametrize("asked", ALL, ids=lambda asked: asked.number)


def answer_of(source: str) -> Any:
    """What ``answer`` is after the code of a cell."""
    names: dict[str, Any] = {"tb": tinyburn, "np": np}
    exec(source, names)
    return names["answer"]


def judged(asked: Exercise, answer: Any, capsys: pytest.CaptureFixture[str]) -> str:
    exercises._tries.clear()
    course.check(asked.number, answer)
    return capsys.readouterr().out


@every_exercise
def test_the_solution_is_right(asked: Exercise, capsys: pytest.CaptureFixture[str]) -> None:
    assert judged(asked, answer_of(asked.solution), capsys) == f"Exercise {asked.number}: right.\n"


@every_exercise
def test_wrong_answers_that_look_right_are_told(asked: Exercise, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked.wrong
    for source in asked.wrong:
        assert judged(asked, answer_of(source), capsys).startswith(f"Exercise {asked.number}: not yet"), source


@every_exercise
def test_an_answer_of_no_sense_is_a_wrong_one(asked: Exercise, capsys: pytest.CaptureFixture[str]) -> None:
    for answer in (object(), "?", -1, [], lambda: None):
        assert "not yet" in judged(asked, answer, capsys)
    assert judged(asked, None, capsys) == f"Exercise {asked.number}: not done yet.\n"


@every_exercise
def test_there_are_two_hints_that_grow(asked: Exercise) -> None:
    assert len(asked.hints) == 2
    assert asked.hints[0] != asked.hints[1]


def test_hints_come_one_by_one_and_then_the_way_to_the_solution(capsys: pytest.CaptureFixture[str]) -> None:
    @exercise("99.1", hints=("think", "think of 2"), solution="answer = 2", wrong=("answer = 3",))
    def two(answer: int) -> bool:
        return answer == 2

    try:
        seen = [judged(find("99.1"), None, capsys)]
        for _ in range(3):
            course.check("99.1", 3)
            seen.append(capsys.readouterr().out)
        assert [text.count("Hint: ") for text in seen] == [0, 1, 2, 2]
        assert seen[3].endswith('tb.course.solution("99.1") shows a solution.\n')
        course.check("99.1", [])
        assert "not yet" in capsys.readouterr().out
        course.solution("99.1")
        assert capsys.readouterr().out == "answer = 2\n"
    finally:
        del exercises._known["99.1"]


def test_a_number_may_have_its_unit(capsys: pytest.CaptureFixture[str]) -> None:
    assert judged(find("1.1"), "602112 bytes", capsys) == "Exercise 1.1: right.\n"


def test_an_unknown_exercise_is_told_with_those_that_there_are() -> None:
    for number in ("99.9", "5", "x"):
        with pytest.raises(ConfigError, match="there is no exercise"):
            course.check(number, 1)
