"""`tinyburn course status`: what is done in a copy of the course. It reads the copy, and changes nothing in it."""

from __future__ import annotations

from pathlib import Path

from tinyburn.base.text import table

from .answers import IMPORTS
from .course import COPY
from .errors import CommandError, need
from .marking import Limits, Marks, mark
from .processes import Processes
from .submission import Submission, lessons, submission

_HEADER = ("lesson", "right", "not yet", "open", "guesses")


def status(folder: Path | None, limits: Limits) -> int:
    """Prints a row for each lesson, and what cannot be read below. Answers are judged by running the notebooks."""
    need("IPython", "lab", "tinyburn course status")
    copy = folder or Path.cwd() / COPY
    if not copy.is_dir():
        hint = "name the folder of your copy, as in: tinyburn course status my-course"
        raise CommandError(f"the course in {copy}", "there is no such folder", hint=hint)
    works, notes = _works(copy)
    with Processes(2, IMPORTS) as processes:
        marks = list(processes.map(lambda work: mark(work, processes, limits), works))
    print(report(works, marks, notes))
    return 0


def _works(copy: Path) -> tuple[list[Submission], list[str]]:
    """What can be read of a copy, and why the rest cannot."""
    works, notes = [], []
    for lesson in lessons().values():
        try:
            works.append(submission(lesson, copy / lesson.path.name))
        except CommandError as error:
            notes.append(f"{lesson.path.name}: {error}")
    if not works:
        reason = "no notebook of the course can be read there"
        raise CommandError(f"the course in {copy}", reason, hint="tinyburn course start makes a copy to work in")
    return works, notes


def report(works: list[Submission], marks: list[Marks], notes: list[str]) -> str:
    """The table, the sum of it, and the notes."""
    rows = [_row(work, one) for work, one in zip(works, marks, strict=True)]
    right, of = sum(one.points for one in marks), sum(len(one.states) for one in marks)
    guessed, asked = sum(work.guesses for work in works), sum(work.lesson.guesses for work in works)
    total = f"{right} of {of} exercises are right; {guessed} of {asked} guesses are made."
    stopped = [f"{work.path.name}: {text}" for work, one in zip(works, marks, strict=True) for text in one.remarks]
    return "\n\n".join([table(_HEADER, rows), total, *stopped, *notes])


def _row(work: Submission, marks: Marks) -> tuple[str, ...]:
    numbers = [" ".join(marks.numbers(state)) or "-" for state in ("right", "wrong", "open")]
    return (work.path.stem, *numbers, f"{work.guesses} of {work.lesson.guesses}")
