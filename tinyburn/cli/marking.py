"""What a submission's exercises are worth: its cells run in a process of their own, which judges the answers.

First only the cells run that are the reader's own, and those that make a name that these need. If then every answer is
right and nothing has failed, that is it. If not, all cells run, from the top, and that decides.
"""

from __future__ import annotations

import json
import shutil
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .answers import answers
from .course import course_folder
from .processes import Ended, Processes
from .submission import Submission

STATES = ("right", "wrong", "open")

_NAMES = {int(one): one.name for one in signal.Signals}
_LARGEST_FILE = 16_000_000
"""In bytes: what is larger beside a notebook is not copied to where it runs."""


@dataclass(frozen=True)
class Limits:
    """What one run of one notebook may take. Memory is limited on Linux only."""

    seconds: float
    megabytes: int


@dataclass(frozen=True)
class Marks:
    """How each exercise of a lesson is answered.

    Attributes:
        states: ``"right"``, ``"wrong"`` or ``"open"`` by the number of the exercise, in order.
        reasons: why one is not right, where there is more to say.
        remarks: what else happened.
    """

    states: dict[str, str]
    reasons: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def numbers(self, state: str) -> list[str]:
        """The exercises of a state."""
        return [number for number, one in self.states.items() if one == state]

    @property
    def points(self) -> int:
        """One for each right answer."""
        return len(self.numbers("right"))


def mark(work: Submission, processes: Processes, limits: Limits) -> Marks:
    """Judges every exercise of a submission. Nothing is run if there is no answer yet."""
    if not work.is_begun:
        return Marks(dict.fromkeys(work.lesson.exercises, "open"))
    run = _run(work, processes, limits, everything=False)
    if run.again:
        run = _run(work, processes, limits, everything=True)
    return run.marks(work.lesson.exercises, limits)


def _run(work: Submission, processes: Processes, limits: Limits, *, everything: bool) -> _Run:
    with TemporaryDirectory(prefix="tinyburn-", ignore_cleanup_errors=True) as folder:
        _lay_out(work, Path(folder) / "course")
        task = {
            "lesson": work.lesson.number,
            "cells": [{**vars(cell), "own": work.is_own(cell)} for cell in work.cells],
            "everything": everything,
            "folder": str(Path(folder) / "course"),
            "settings": str(Path(folder) / "settings"),
            "seconds": limits.seconds,
            "megabytes": limits.megabytes,
        }
        return _Run.read(processes.run(answers, task, limits.seconds))


def _lay_out(work: Submission, folder: Path) -> None:
    """A folder to run in, with the course's data and what lies beside the notebook: no run can change the originals."""
    folder.mkdir()
    for source in (course_folder(), work.path.parent):
        for path in source.iterdir():
            is_data = path.suffix != ".ipynb" and not path.name.startswith(".") and not path.is_symlink()
            if is_data and path.is_file() and path.stat().st_size <= _LARGEST_FILE:
                shutil.copyfile(path, folder / path.name)


@dataclass
class _Run:
    """What the process has told, and how it ended. It ran somebody's code: whatever it tells is only read."""

    ended: Ended
    cell: int = 0
    checked: list[str] = field(default_factory=list)
    again: bool = False
    failures: list[str] = field(default_factory=list)
    verdicts: dict[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, ended: Ended) -> _Run:
        run = cls(ended)
        for line in ended.told:
            with suppress(Exception):  # somebody has slipped in a line
                run._hear(**json.loads(line))
        return run

    def _hear(self, **told: Any) -> None:
        self.cell = int(told.get("cell", self.cell))
        self.checked += map(str, told.get("checked", []))
        self.again |= bool(told.get("again"))
        if "failed" in told:
            self.failures.append(f"cell {self.cell} failed: {told['failed']}")
        if "exercise" in told and told["state"] in STATES:
            self.verdicts[str(told["exercise"])] = told["state"], str(told["reason"])

    def marks(self, exercises: list[str], limits: Limits) -> Marks:
        """What that means for the exercises of the lesson."""
        states, reasons = {}, {}
        for number in exercises:
            states[number], reasons[number] = self.verdicts.get(number, ("wrong", self._why_not_judged(number)))
        remarks = self.failures[:1]
        if not self.ended.is_done:
            remarks.append(self._why_it_ended(limits))
        return Marks(states, reasons, tuple(remarks))

    def _why_not_judged(self, number: str) -> str:
        return "no cell checks it" if self.checked and number not in self.checked else "not reached"

    def _why_it_ended(self, limits: Limits) -> str:
        code = self.ended.exit_code
        if code is None:
            return f"stopped in cell {self.cell}: it ran longer than {limits.seconds:g} seconds"
        how = f"exit code {code}" if code >= 0 else _NAMES.get(-code, f"signal {-code}")
        return f"cell {self.cell} ended the process: {how}"
