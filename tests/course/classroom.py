"""A class of students: copies of the course with answers in them, and the many ways to break one.

``python benchmarks/grading.py`` grades a whole class of them.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tests.course.lessons import FOLDER
from tinyburn.course.exercises import exercises_of

Notebook: TypeAlias = dict[str, Any]
Change: TypeAlias = Callable[[Notebook, int], Notebook | bytes]
"""What somebody does to a notebook of a lesson; bytes take the place of its file."""

GRADED = [int(path.name[:2]) for path in sorted(FOLDER.glob("[0-9][0-9]_*.ipynb")) if exercises_of(int(path.name[:2]))]


def page(lesson: int) -> Path:
    """The notebook of a lesson in the course."""
    (path,) = FOLDER.glob(f"{lesson:02}_*.ipynb")
    return path


def solutions(lesson: int) -> dict[str, str]:
    """An answer to each exercise, as a student would write it."""
    return {number: one.solution for number, one in exercises_of(lesson).items()}


def mistakes(lesson: int) -> dict[str, str]:
    """Answers that look right."""
    return {number: one.wrong[0] for number, one in exercises_of(lesson).items()}


def answered(lesson: int, answers: Mapping[str, str], guess: str = "512") -> Notebook:
    """A notebook of the course with some answers, and a guess wherever one is asked for."""
    notebook: Notebook = json.loads(page(lesson).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        asked = re.fullmatch(r'answer = None\n(tb\.course\.check\("(\d+\.\d+)", answer\))', source)
        if asked and asked[2] in answers:
            source = f"{answers[asked[2]]}\n{asked[1]}"
        cell["source"] = re.sub(r"^my_guess = None", f"my_guess = {guess}", source)
    return notebook


def cell_of(notebook: Notebook, number: str) -> int:
    """The index of the cell with an exercise."""
    (at,) = [at for at, cell in enumerate(notebook["cells"]) if f'check("{number}", answer)' in cell["source"]]
    return at


def with_cell(notebook: Notebook, source: str, before: str) -> Notebook:
    """The notebook with one more cell of code, right before that of an exercise."""
    cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}
    changed = copy.deepcopy(notebook)
    changed["cells"].insert(cell_of(changed, before), cell)
    return changed


def with_source(notebook: Notebook, number: str, source: str) -> Notebook:
    """The notebook with other code in the cell of an exercise."""
    changed = copy.deepcopy(notebook)
    changed["cells"][cell_of(changed, number)]["source"] = source
    return changed


def without(notebook: Notebook, at: int) -> Notebook:
    """The notebook without a cell."""
    return {**notebook, "cells": [*notebook["cells"][:at], *notebook["cells"][at + 1 :]]}


@dataclass(frozen=True)
class Break:
    """One way to break a notebook in which every answer is right.

    Attributes:
        change: what is done, in lesson 01 or in lesson 05, which have four exercises each.
        points: how many of the four are left. What comes before the third exercise has been judged.
        remark: what the table says of it, as a pattern.
    """

    change: Change
    points: int
    remark: str


def _cell(source: str) -> Change:
    return lambda notebook, lesson: with_cell(notebook, source, f"{lesson}.3")


def _text(notebook: Notebook) -> bytes:
    return json.dumps(notebook).encode()


HOARD = "def hoard():\n    kept = []\n    while True:\n        kept.append(bytearray(10_000_000))\n\n\nhoard()"

BREAKS: dict[str, Break] = {
    "endless loop": Break(_cell("while True:\n    pass"), 2, r"stopped in cell \d+: it ran longer than \d+ seconds"),
    "prints endlessly": Break(_cell('while True:\n    print("x" * 1000)'), 2, r"stopped in cell \d+: it ran longer"),
    "sys.exit": Break(_cell("import sys\n\nsys.exit()"), 4, r"^cell \d+ failed: SystemExit$"),
    "os._exit": Break(_cell("import os\n\nos._exit(0)"), 2, r"^cell \d+ ended the process: exit code 0; "),
    "kills its kernel": Break(
        _cell("import os, signal\n\nos.kill(os.getpid(), signal.SIGKILL)"), 2, r"^cell \d+ ended the process: SIGKILL; "
    ),
    "allocates endlessly": Break(_cell(HOARD), 4, r"^cell \d+ failed: MemoryError$"),
    "deleted cell": Break(
        lambda notebook, lesson: without(notebook, cell_of(notebook, f"{lesson}.2")), 3, r"^\d\.2: no cell checks it$"
    ),
    "changed check": Break(
        lambda notebook, lesson: with_source(notebook, f"{lesson}.2", f'print("Exercise {lesson}.2: right.")'),
        3,
        r"^\d\.2: no cell checks it$",
    ),
    "syntax error": Break(
        lambda notebook, lesson: with_source(
            notebook, f"{lesson}.3", f'answer = (1,\ntb.course.check("{lesson}.3", answer)'
        ),
        3,
        r"^\d\.3: SyntaxError: [^(]+, line \d$",
    ),
    "no notebook": Break(lambda *_: b"\x89PNG\r\n\x1a\n\x00\x00", 0, "cannot be read as a notebook"),
    "invalid JSON": Break(lambda notebook, _: _text(notebook)[:-500], 0, "is not a notebook: its text is not JSON"),
    "empty file": Break(lambda *_: b"", 0, "is not a notebook: its text is not JSON"),
}
"""All of them end in a line of the table, and are nobody else's problem."""


def hand_in(folder: Path, student: str, notebooks: Mapping[int, Notebook | bytes]) -> None:
    """A student's sub-folder, with notebooks named as in the course."""
    (folder / student).mkdir(parents=True)
    for lesson, notebook in notebooks.items():
        content = notebook if isinstance(notebook, bytes) else _text(notebook)
        (folder / student / page(lesson).name).write_bytes(content)


Line: TypeAlias = tuple[str, str, int, int, str]
"""A line of the table as it has to be: student, lesson, points, of how many, and a pattern for the remarks."""


def make_class(folder: Path, lessons: Iterable[int], honest: int, breaks: Iterable[str]) -> list[Line]:
    """Hands in for a class, and returns the table that is right.

    Every third honest student has all answers right, one has a mistake in each first exercise, and one has left each
    last exercise open. Who breaks a notebook does so in lesson 05, and has right answers in the others.
    """
    lessons, lines = list(lessons), []
    for at in range(honest):
        student = f"honest {at:02}"
        given = {lesson: _given(lesson, at) for lesson in lessons}
        hand_in(folder, student, {lesson: answered(lesson, answers) for lesson, answers in given.items()})
        lines += [_honest_line(student, lesson, at) for lesson in lessons]
    for name in breaks:
        done = BREAKS[name]
        notebooks: dict[int, Notebook | bytes] = {lesson: answered(lesson, solutions(lesson)) for lesson in lessons}
        notebooks[5] = done.change(answered(5, solutions(5)), 5)
        hand_in(folder, f"the {name}", notebooks)
        full = [(lesson, len(exercises_of(lesson))) for lesson in lessons]
        lines += [
            (f"the {name}", f"{lesson:02}", done.points, of, done.remark)
            if lesson == 5
            else (f"the {name}", f"{lesson:02}", of, of, "^$")
            for lesson, of in full
        ]
    return sorted(lines, key=lambda line: line[:2])


def _given(lesson: int, at: int) -> dict[str, str]:
    answers = solutions(lesson)
    first, *_, last = answers
    if at % 3 == 1:
        answers[first] = mistakes(lesson)[first]
    if at % 3 == 2:
        del answers[last]
    return answers


def _honest_line(student: str, lesson: int, at: int) -> Line:
    numbers = list(exercises_of(lesson))
    remark = ["^$", rf"^{re.escape(numbers[0])}: ", rf"^{re.escape(numbers[-1])}: open$"][at % 3]
    return (student, f"{lesson:02}", len(numbers) - (at % 3 != 0), len(numbers), remark)
