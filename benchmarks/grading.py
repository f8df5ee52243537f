"""How long it takes to grade a class of 30: 20 honest copies of the course and ten broken in ten ways, two at a time.

    pip install -e ".[test]"
    python benchmarks/grading.py [--lesson N ...]

Every lesson with exercises counts unless some are named. The table has to be right, and the whole class graded in under
300 seconds on two cores; two of the broken notebooks never end, and cost a minute each.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from result import HEADER, Row, Target

from tinyburn.base.text import table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.course.classroom import BREAKS, GRADED, Line, make_class  # found by the line above

HONEST, BROKEN, MOST_SECONDS = 20, 10, 300.0


def wrong_lines(found: list[list[str]], expected: list[Line]) -> list[str]:
    """What the table says that it should not say."""
    pairs = zip(found, expected, strict=True)
    return [
        f"{line} in place of {right}"
        for line, right in pairs
        if tuple(line[:4]) != tuple(map(str, right[:4])) or not re.search(right[4], line[4])
    ]


def run(lessons: list[int]) -> list[Row]:
    with TemporaryDirectory() as folder:
        expected = make_class(Path(folder) / "class", lessons, HONEST, list(BREAKS)[:BROKEN])
        command = [sys.executable, "-m", "tinyburn", "course", "grade", str(Path(folder) / "class"), "--workers", "2"]
        start = perf_counter()
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        seconds = perf_counter() - start
    wrong = wrong_lines(list(csv.reader(done.stdout.splitlines()))[1:], expected)
    if wrong:
        raise RuntimeError("\n".join(["the table is not right:", *wrong]))
    case = f"{HONEST + BROKEN} students, {len(lessons)} lessons"
    return [Row("grading", case, "", "s", seconds, targets=(Target("value", MOST_SECONDS),))]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Grades a class of 30 and checks its table.")
    parser.add_argument("--lesson", type=int, action="append", choices=GRADED, help="05 is always one of them")
    chosen = parser.parse_args().lesson
    rows = run(sorted({5, *chosen}) if chosen else GRADED)
    print(table(HEADER, [row.cells() for row in rows]))
