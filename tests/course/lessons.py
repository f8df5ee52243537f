"""The lessons as their tests read them."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "notebooks"
GUESS = "my_guess = None"
PREDICT = "tb.course.predict(my_guess"
CHECK = re.compile(r'answer = None\ntb\.course\.check\("(\d+\.\d+)", answer\)')


@dataclass(frozen=True)
class Cell:
    """One cell: whether it is code, and its text."""

    is_code: bool
    text: str
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Lesson:
    """A lesson's number, file and cells."""

    number: int
    path: Path
    cells: tuple[Cell, ...]

    @property
    def texts(self) -> list[str]:
        """The cells of text."""
        return [cell.text for cell in self.cells if not cell.is_code]

    @property
    def codes(self) -> list[str]:
        """The cells of code."""
        return [cell.text for cell in self.cells if cell.is_code]

    @property
    def headings(self) -> list[str]:
        """The headings of the second level."""
        return [line[3:] for text in self.texts for line in text.splitlines() if line.startswith("## ")]

    @property
    def guesses(self) -> int:
        """How many there are."""
        return sum(code.startswith(GUESS) for code in self.codes)

    @property
    def exercises(self) -> list[str]:
        """Their numbers."""
        return [found[1] for code in self.codes if (found := CHECK.fullmatch(code))]

    def asked(self, number: str) -> str:
        """The text of an exercise, which begins with its number."""
        (text,) = [text for text in self.texts if f"**{number}** " in text]
        return f"**{number}** " + text.split(f"**{number}** ")[1].strip()

    @property
    def minutes(self) -> int:
        """By the rule of docs/teaching.md."""
        words = sum(len(text.split()) for text in self.texts)
        exact = words / 180 + len(self.codes) / 3 + self.guesses + 2 * len(self.exercises)
        return 5 * math.ceil(exact / 5)


def read(path: Path) -> Lesson:
    """A notebook's file as a lesson."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    made = [
        Cell(cell["cell_type"] == "code", "".join(cell["source"]), tuple(cell["metadata"].get("tags", [])))
        for cell in cells
    ]
    return Lesson(int(path.name[:2]), path, tuple(made))


LESSONS = [read(path) for path in sorted(FOLDER.glob("[0-9][0-9]_*.ipynb"))]
