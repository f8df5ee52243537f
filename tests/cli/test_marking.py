"""Which cells run first, and that nobody loses a point by what was left out."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tinyburn.cli.marking import Limits, _Run, mark
from tinyburn.cli.needed import Code, needed
from tinyburn.cli.processes import Ended, Processes
from tinyburn.cli.submission import Cell, Lesson, Submission

LIMITS = Limits(60, 2000)


def runs(*sources: str, own: int) -> list[int]:
    """The places of the cells that run in the first try, if one of them is the reader's."""
    marked = [at == own for at in range(len(sources))]
    return [at for at, run in enumerate(needed([Code(source) for source in sources], marked)) if run]


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["import tb", "x = 1", "answer = tb.y"], [0, 2]),
        (["a = 1", "b = a", "c = 2", "answer = b"], [0, 1, 3]),
        (["def f():\n    return g()", "def g():\n    return 1", "answer = f()"], [0, 1, 2]),
        (["d = {}", "d['k'] = 1", "d.k = 2", "answer = d"], [0, 1, 2, 3]),
        (["class A:\n    pass", "for i, j in []:\n    pass", "answer = A, j"], [0, 1, 2]),
        (["import a.b as c, d.e", "with f() as g:\n    pass", "answer = c, d, g"], [0, 1, 2]),
        (["x = 1", "(y := 2)", "%%time\nanswer = y"], [1, 2]),
        (["x = (", "answer = x"], [1]),
        (["x = 1", "answer = ("], [1]),
        (["answer = 2", "x = 1"], [0]),
        (["size = 1", "k = 2", "def answer(size):\n    return [size + k for size in range(size)]"], [1, 2]),
        (["k = 1", "def answer():\n    global k\n    k += 1"], [0, 1]),
        (["k = 1", "class answer:\n    j = k\n    def f(self):\n        return lambda j: j"], [0, 1]),
        (["%%px\nx = 1", "x = 2", "%%px --local\nx = 3", "answer = x"], [1, 3]),
    ],
)
def test_cells_are_needed_for_the_names_that_they_make(sources: list[str], expected: list[int]):
    own = next(at for at, source in enumerate(sources) if "answer" in source)
    assert runs(*sources, own=own) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('tb.course.check("5.1", answer)', [("5.1", "answer")]),
        ('check("5.1", 1 / 4.5)', [("5.1", "1 / 4.5")]),
        ('tinyburn.course.check("5.1", f(2))\ntb.course.check("5.2", b)', [("5.1", "f(2)"), ("5.2", "b")]),
        ('print("check", answer)', []),
        ("tb.course.check(number, answer)", []),
        ('checked("5.1", answer)', []),
        ('# tb.course.check("5.1", answer)', []),
        ("-" * 100_000 + "1", []),
        ("x = '\0'", []),
    ],
)
def test_checks_are_found_by_their_number(source: str, expected: list[tuple[str, str]]):
    assert [(number, ast.unparse(answer)) for number, answer in Code(source).checks()] == expected


def submission(folder: Path, course: list[str], mine: list[str]) -> Submission:
    """A notebook of a course of our own, in which the exercises of lesson 01 are checked."""
    cells = tuple(Cell(place, source) for place, source in enumerate(course, start=1))
    lesson = Lesson(1, folder / "01_payload.ipynb", cells)
    own = tuple(Cell(place, source) for place, source in enumerate([*course, *mine], start=len(course) + 1))
    return Submission(lesson, folder / "01_payload.ipynb", own)


def test_what_a_cell_of_the_course_changes_by_a_call_counts_too(tmp_path: Path):
    """1.1 asks for 602 112. In the first try the second cell is left out, since it makes no name."""
    course = ["import tinyburn as tb\n\nbox = [1]", "box.append(602_112)"]
    work = submission(tmp_path, course, ['answer = box[-1]\ntb.course.check("1.1", answer)'])
    with Processes(1) as processes:
        marks = mark(work, processes, LIMITS)
    assert marks.states == {"1.1": "right", "1.2": "wrong", "1.3": "wrong", "1.4": "wrong"}
    assert marks.reasons["1.2"] == "no cell checks it"


def test_what_the_process_tells_is_only_read():
    """It ran a student's code, which may write to its parent, or stop it in the middle of a line."""
    lines = [
        '{"checked": ["1.1"]}',
        '{"cell": 3}',
        "[1]",
        "7",
        '{"cell": Infinity}',
        '{"exercise": ["1.1"], "state": [], "reason": 1}',
        '{"exercise": "1.1", "state": "splendid", "reason": ""}',
        "{" * 100_000,
        '{"exercise": "1.1", "state": "right", "reason": ""}',
    ]
    marks = _Run.read(Ended(lines, exit_code=-40)).marks(["1.1", "1.2"], LIMITS)
    assert marks.states == {"1.1": "right", "1.2": "wrong"}
    assert marks.remarks == ("cell 3 ended the process: signal 40",)
