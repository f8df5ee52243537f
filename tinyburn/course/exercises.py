"""The exercises: what is right, what to hint at after a wrong answer, and a solution."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

from tinyburn.base.errors import ConfigError

from .guesses import number_in

Checker: TypeAlias = Callable[[Any], bool]

LESSONS = range(1, 20)


@dataclass(frozen=True)
class Exercise:
    """One exercise of a lesson.

    Attributes:
        number: as in ``"5.2"``: the second exercise of lesson 05.
        is_right: whether an answer is right. What it raises makes an answer a wrong one.
        hints: what helps after the first wrong answer, what after the second.
        solution: Python that sets ``answer``, as it would stand in the notebook.
        wrong: other such Python, whose answers look right and are not.
    """

    number: str
    is_right: Checker
    hints: tuple[str, ...]
    solution: str
    wrong: tuple[str, ...]


_known: dict[str, Exercise] = {}
_tries: Counter[str] = Counter()


def exercise(
    number: str, *, hints: tuple[str, ...], solution: str, wrong: tuple[str, ...]
) -> Callable[[Checker], Checker]:
    """Makes the function below it the checker of an exercise."""

    def known(is_right: Checker) -> Checker:
        _known[number] = Exercise(
            number, is_right, hints, solution.strip("\n"), tuple(text.strip("\n") for text in wrong)
        )
        return is_right

    return known


def find(number: str) -> Exercise:
    """The exercise of a number. Raises ConfigError if there is none."""
    text = str(number)
    lesson = re.fullmatch(r"(\d{1,2})\.\d+", text)
    known = exercises_of(int(lesson[1])) if lesson else {}
    if text not in known:
        hint = f"lesson {lesson[1]} has {', '.join(known)}" if lesson and known else 'write a number such as "5.2"'
        raise ConfigError("course", f"there is no exercise {number!r}", hint=hint)
    return known[text]


def exercises_of(lesson: int) -> dict[str, Exercise]:
    """Those of a lesson by their numbers, in order; none for a lesson that has none."""
    try:
        import_module(f"tinyburn.course.lesson_{lesson:02}")
    except ModuleNotFoundError as error:
        if error.name != f"tinyburn.course.lesson_{lesson:02}":
            raise
    mine = [number for number in _known if number.split(".")[0] == str(lesson)]
    return {number: _known[number] for number in sorted(mine, key=lambda number: int(number.split(".")[1]))}


def check(number: str, answer: object) -> None:
    """Says whether the answer to an exercise is right. ``None`` means not done yet.

    After a wrong answer comes a hint, after the second one more, and then the way to the solution.
    """
    asked = find(number)
    if answer is None:
        print(f"Exercise {number}: not done yet.")
        return
    right, problem = _judged(asked, answer)
    if not right and isinstance(answer, str) and number_in(answer) is not None:
        right, problem = _judged(asked, number_in(answer))  # "512 bytes" is a number, as in a guess
    if right:
        print(f"Exercise {number}: right.")
        return
    _tries[number] += 1
    print(f"Exercise {number}: not yet{problem}.")
    for hint in asked.hints[: _tries[number]]:
        print(f"Hint: {hint}")
    if _tries[number] > len(asked.hints):
        print(f'tb.course.solution("{number}") shows a solution.')


def _judged(asked: Exercise, answer: object) -> tuple[bool, str]:
    """Whether an answer is right, and what it has raised. Whatever a wrong answer does, it is a wrong answer."""
    try:
        return bool(asked.is_right(answer)), ""
    except Exception as error:
        return False, f" ({type(error).__name__}: {error})"


def solution(number: str) -> None:
    """Prints a solution of an exercise."""
    print(find(number).solution)
