"""A notebook that a reader has worked in, as text. Nothing of it runs here, and none of its code is parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tinyburn.course.exercises import exercises_of

from .course import course_folder
from .document import load, read
from .errors import CommandError

_LARGEST = 50_000_000
"""In bytes. A notebook of the course has one or two million; one that printed endlessly can have any number."""

_GUESS = re.compile(r"my_guess\s*=\s*([^#\n]*)")
_NO_GUESS = {"None", "'skip'", '"skip"'}
_CHECK = re.compile(r"""\bcheck\(\s*["'](\d+\.\d+)["']""")


@dataclass(frozen=True)
class Cell:
    """A cell of code: its place among all cells, from 1, its text, and whether an error is what it is there for."""

    place: int
    source: str
    must_fail: bool = False

    @cached_property
    def is_guess(self) -> bool:
        """Whether it is a line such as ``my_guess = 512``, and nothing else."""
        return _GUESS.match(self.source) is not None and len(self.source.strip().splitlines()) == 1

    @cached_property
    def is_made_guess(self) -> bool:
        """Whether somebody has guessed there."""
        found = _GUESS.match(self.source)
        return found is not None and found[1].strip() not in _NO_GUESS


@dataclass(frozen=True)
class Lesson:
    """A lesson as the course has it: what a submission is compared with."""

    number: int
    path: Path
    cells: tuple[Cell, ...]

    @property
    def exercises(self) -> list[str]:
        """The numbers of those that the package can judge."""
        return list(exercises_of(self.number))

    @cached_property
    def sources(self) -> frozenset[str]:
        """What stands in its cells."""
        return frozenset(cell.source for cell in self.cells)

    @property
    def guesses(self) -> int:
        """How many it asks for."""
        return sum(cell.is_guess for cell in self.cells)


@dataclass(frozen=True)
class Submission:
    """A reader's notebook of a lesson."""

    lesson: Lesson
    path: Path
    cells: tuple[Cell, ...]

    def is_own(self, cell: Cell) -> bool:
        """Whether the reader has written or changed it, other than by a guess."""
        return cell.source not in self.lesson.sources and not cell.is_guess

    @property
    def is_begun(self) -> bool:
        """Whether there can be an answer: some cell is the reader's own, or one with an exercise is gone."""
        found = {number for cell in self.cells for number in _CHECK.findall(cell.source)}
        return any(map(self.is_own, self.cells)) or not found.issuperset(self.lesson.exercises)

    @property
    def guesses(self) -> int:
        """How many are made. One that asks to see the answer, ``"skip"``, is none."""
        return sum(cell.is_made_guess for cell in self.cells)


def lessons() -> dict[int, Lesson]:
    """All lessons of the course by their numbers, in order. Raises CommandError if there is no course."""
    paths = sorted(course_folder().glob("[0-9][0-9]_*.ipynb"))
    return {int(path.name[:2]): Lesson(int(path.name[:2]), path, _cells(path)) for path in paths}


def submission(lesson: Lesson, path: Path) -> Submission:
    """Reads a reader's notebook. Raises CommandError, in words for a table, if it is none."""
    try:
        if path.stat().st_size > _LARGEST:
            raise CommandError(f"is too large to be read: more than {_LARGEST // 1_000_000} MB")
    except OSError:
        pass  # `read` says it
    return Submission(lesson, path, _cells(path))


def _cells(path: Path) -> tuple[Cell, ...]:
    cells = load(read(path))["cells"]
    return tuple(_cell(place, cell) for place, cell in enumerate(cells, start=1) if cell.get("cell_type") == "code")


def _cell(place: int, cell: dict[str, Any]) -> Cell:
    """Lenient, as editors are: only the text has to be there."""
    lines = cell.get("source")
    source = "".join(lines) if isinstance(lines, list) and all(isinstance(line, str) for line in lines) else lines
    if not isinstance(source, str):
        raise CommandError(f"is not a valid notebook: cell {place} has no text")
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    return Cell(place, source.rstrip(), isinstance(tags, list) and "raises-exception" in tags)
