"""Where the course is found, and what happens where it is not. tests/test_packaging.py proves it on a real wheel."""

from __future__ import annotations

from pathlib import Path

import pytest

import tinyburn
from tinyburn.cli.course import FIRST_PAGE, copy_course, course_folder
from tinyburn.cli.errors import CommandError


def test_in_a_clone_the_course_is_the_notebooks_folder():
    assert course_folder() == Path(tinyburn.__file__).parents[1] / "notebooks"


def test_no_course_anywhere_says_where_it_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tinyburn, "__file__", str(tmp_path / "tinyburn" / "__init__.py"))
    with pytest.raises(CommandError, match=r"there is no index\.ipynb in .*notebooks and none in .*tinyburn.notebooks"):
        course_folder()


def test_a_copy_adds_what_is_missing_and_changes_nothing_else(tmp_path: Path):
    shipped, target = tmp_path / "shipped", tmp_path / "copy"
    (shipped / "data").mkdir(parents=True)
    for name in (FIRST_PAGE, "01.ipynb", "data/numbers.csv"):
        (shipped / name).write_text(f"new {name}", encoding="utf-8")
    target.mkdir()
    (target / "01.ipynb").write_text("mine", encoding="utf-8")
    assert copy_course(shipped, target) == target
    copied = {str(path.relative_to(target)): path.read_text(encoding="utf-8") for path in target.rglob("*.*")}
    assert copied == {FIRST_PAGE: "new index.ipynb", "01.ipynb": "mine", "data/numbers.csv": "new data/numbers.csv"}


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path):
    (tmp_path / "shipped").mkdir()
    (tmp_path / "shipped" / FIRST_PAGE).write_text("", encoding="utf-8")
    (tmp_path / "copy").write_text("a file, not a folder", encoding="utf-8")
    with pytest.raises(CommandError, match="start the command in a folder that you may write to"):
        copy_course(tmp_path / "shipped", tmp_path / "copy")
