"""`tinyburn course grade`: a class's notebooks, run and judged, and a table of points.

What lies in the folder belongs to a student: a sub-folder of that name with notebooks named as in the course, at any
depth; or a notebook of that name and the course's, as ``ada_05_training_step.ipynb``.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TextIO

from .answers import IMPORTS
from .errors import CommandError, need
from .marking import Limits, Marks, mark
from .processes import Processes
from .submission import Lesson, lessons, submission

_SEPARATORS = " _-."
_LONGEST = 1000


class Row(NamedTuple):
    """A line of the table: a student's points in a lesson."""

    student: str
    lesson: str
    points: int
    of: int
    remarks: str


@dataclass
class Student:
    """What somebody has handed in: the notebooks of each lesson, of which the first counts, and other files."""

    name: str
    notebooks: dict[int, list[Path]] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)


def grade(folder: Path, chosen: Sequence[int], output: Path | None, workers: int, limits: Limits) -> int:
    """Writes the table to a file, and tells of each line; or to standard output if there is no file.

    ``chosen`` are the lessons that count: those that somebody has handed in if there are none.
    """
    need("IPython", "lab", "tinyburn course grade")
    course = _gradable(chosen)
    class_ = students(folder, course, output)
    counted = sorted(set(chosen) or {number for student in class_ for number in student.notebooks})
    if not counted:
        hint = "name a notebook as in the course: ada/05_training_step.ipynb, or ada_05_training_step.ipynb"
        raise CommandError(f"grade {folder}", "no notebook of the course is there", hint=hint)
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        reason = "it is a folder" if output.is_dir() else f"there is no folder {output.parent}"
        raise CommandError(f"the table in {output}", reason)
    if sys.platform != "linux":
        print("tinyburn: the memory of a notebook has no limit on this platform; its time has", file=sys.stderr)
    with Processes(workers, IMPORTS) as processes:
        rows = processes.map(
            lambda one: row(*one, processes, limits),
            [(student, course[number]) for student in class_ for number in counted],
        )
        _write(rows, output)
    return 0


def _gradable(chosen: Sequence[int]) -> dict[int, Lesson]:
    """The lessons with exercises."""
    course = {number: lesson for number, lesson in lessons().items() if lesson.exercises}
    unknown = [number for number in chosen if number not in course]
    if unknown:
        hint = f"there are {', '.join(map(str, course))}"
        raise CommandError("grade", f"lesson {unknown[0]} has no exercises", hint=hint)
    return course


def students(folder: Path, course: dict[int, Lesson], output: Path | None = None) -> list[Student]:
    """Who has handed in, and what, by name. Raises CommandError if the folder cannot be read."""
    try:
        entries = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise CommandError(f"grade {folder}", error.strerror or str(error), hint="name the class's folder") from error
    found: dict[str, Student] = {}
    for entry in entries:
        if output is not None and entry.resolve() == output.resolve():  # the table of the last time
            continue
        files = _files_in(entry) if entry.is_dir() else [entry]
        pages = [(path, lesson) for path in files for lesson in [_lesson_of(path, course)] if lesson is not None]
        name = entry.name if entry.is_dir() else _owner(entry, pages[0][1] if pages else None, folder)
        student = found.setdefault(name, Student(name))
        for path, lesson in pages:
            student.notebooks.setdefault(lesson.number, []).append(path)
        if not pages:
            student.others.append(entry.name)
    return [found[name] for name in sorted(found)]


def _files_in(folder: Path) -> list[Path]:
    """By depth and name; what is hidden, such as an editor's own copies, does not count."""
    visible = [
        path
        for path in folder.rglob("*.ipynb")
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    return sorted(visible, key=lambda path: (len(path.parts), len(path.name), path))


def _lesson_of(path: Path, course: dict[int, Lesson]) -> Lesson | None:
    if path.suffix != ".ipynb":
        return None
    return next((lesson for lesson in course.values() if lesson.path.stem in path.stem), None)


def _owner(path: Path, lesson: Lesson | None, folder: Path) -> str:
    """Whose notebook it is that lies beside those of others: what stands before the course's name."""
    before = path.stem.split(lesson.path.stem)[0] if lesson else path.stem
    return before.strip(_SEPARATORS) or folder.resolve().name


def row(student: Student, lesson: Lesson, processes: Processes, limits: Limits) -> Row:
    """A student's line. Whatever is wrong with a file is a remark in it."""
    first, *others = student.notebooks.get(lesson.number, [None])
    marks, remarks = (
        Marks({}),
        [f"{path.name} does not count: there is {first.name}" for path in others if path and first],
    )
    if first is None:
        remarks = ["not handed in", *[f"{name} is not named as a notebook of the course" for name in student.others]]
    else:
        try:
            marks = mark(submission(lesson, first), processes, limits)
        except Exception as error:  # one file is nobody else's problem
            remarks = [f"{first.name}: {error}", *remarks]
    text = "; ".join([*marks.remarks, *_what_is_missing(marks), *remarks])
    return Row(_clean(student.name), f"{lesson.number:02}", marks.points, len(lesson.exercises), _clean(text))


def _clean(text: str) -> str:
    """In one line, and without what a file cannot hold or a terminal would obey."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:_LONGEST]


def _what_is_missing(marks: Marks) -> Iterator[str]:
    for number, state in marks.states.items():
        if state != "right":
            reason = marks.reasons.get(number) or ("open" if state == "open" else "not right")
            yield f"{number}: {reason}"


def _write(rows: Iterator[Row], output: Path | None) -> None:
    if output is None:
        _write_table(rows, sys.stdout)
        return
    finished = []
    for one in rows:
        print(f"{one.student}, lesson {one.lesson}: {one.points} of {one.of}", flush=True)
        finished.append(one)
    try:
        with output.open("w", encoding="utf-8", newline="") as file:
            _write_table(finished, file)
    except OSError as error:
        raise CommandError(f"the table in {output}", error.strerror or str(error)) from error


def _write_table(rows: Iterator[Row] | list[Row], file: TextIO) -> None:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(Row._fields)
    for one in rows:
        table.writerow(one)
        file.flush()
