"""A class with the whole course. It runs every lesson several times, so it is behind a mark that CI adds."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from tests.course.classroom import BREAKS, GRADED, make_class
from tinyburn.cli import main


@pytest.mark.variants
def test_each_lesson_is_graded_in_its_own_notebook(tmp_path: Path) -> None:
    """With the solutions, with a mistake, and with an exercise left open; a broken notebook costs its own lesson."""
    expected = make_class(
        tmp_path / "class", GRADED, honest=3, breaks=[name for name in BREAKS if "endless" not in name]
    )
    assert main(["course", "grade", str(tmp_path / "class"), "--output", str(tmp_path / "table.csv")]) == 0
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        _, *found = csv.reader(file)
    assert [tuple(line[:4]) for line in found] == [(*line[:2], str(line[2]), str(line[3])) for line in expected]
    for line, (*_, remark) in zip(found, expected, strict=True):
        assert re.search(remark, line[4]), line
