"""Where the course is found, and what happens where it is not. tests/test_packaging.py proves it on a real wheel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tinyburn
from tinyburn.cli import main
from tinyburn.cli.course import FIRST_PAGE, course_folder, hide_answers, start_course
from tinyburn.cli.errors import CommandError


def test_in_a_clone_the_course_is_the_notebooks_folder():
    assert course_folder() == Path(tinyburn.__file__).parents[1] / "notebooks"


def test_no_course_anywhere_says_where_it_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tinyburn, "__file__", str(tmp_path / "tinyburn" / "__init__.py"))
    with pytest.raises(CommandError, match=r"there is no index\.ipynb in .*notebooks and none in .*tinyburn.notebooks"):
        course_folder()


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed tinyburn with a course of two pages, in a folder where one works."""
    folder = tmp_path / "site" / "tinyburn"
    (folder / "notebooks" / "data").mkdir(parents=True)
    monkeypatch.setattr(tinyburn, "__file__", str(folder / "__init__.py"))
    monkeypatch.chdir(tmp_path)
    for name in (FIRST_PAGE, "01.ipynb"):
        (folder / "notebooks" / name).write_text(json.dumps({"cells": []}), encoding="utf-8")
    (folder / "notebooks" / "data" / "numbers.csv").write_text("x\n1\n", encoding="utf-8")
    return folder / "notebooks"


@pytest.mark.usefixtures("shipped")
def test_a_copy_adds_what_is_missing_and_changes_nothing_else(tmp_path: Path):
    (tmp_path / "tinyburn-course").mkdir()
    (tmp_path / "tinyburn-course" / "01.ipynb").write_text("mine", encoding="utf-8")
    assert start_course() == tmp_path / "tinyburn-course"
    copied = {
        str(path.relative_to(tmp_path / "tinyburn-course")) for path in (tmp_path / "tinyburn-course").rglob("*.*")
    }
    assert copied == {FIRST_PAGE, "01.ipynb", "data/numbers.csv"}
    assert (tmp_path / "tinyburn-course" / "01.ipynb").read_text(encoding="utf-8") == "mine"
    assert start_course(tmp_path / "mine") == tmp_path / "mine"


@pytest.mark.usefixtures("shipped")
def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "copy").write_text("a file, not a folder", encoding="utf-8")
    assert main(["course", "start", str(tmp_path / "copy")]) == 1
    assert "name a folder that you may write to" in capsys.readouterr().err


def code(source: str, count: int) -> dict[str, Any]:
    output = {"output_type": "stream", "name": "stdout", "text": "512"}
    return {"cell_type": "code", "source": [source], "metadata": {}, "outputs": [output], "execution_count": count}


def text(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": source, "metadata": {}}


def test_a_copy_shows_nothing_after_the_first_guess():
    cells = [
        code("print(512)", 1),
        text("How many?"),
        code("my_guess = None  # bytes", 2),
        code("tb.course.predict(my_guess, 512)", 3),
        text("The answer:\n\nThey are 512, since ..."),
        text("Next."),
        code("print(512)", 4),
    ]
    hide_answers({"cells": cells})
    assert [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"] == [1, None, None, None]
    assert [bool(cell["outputs"]) for cell in cells if cell["cell_type"] == "code"] == [True, False, False, False]
    folded = [cell["source"] for cell in cells if cell["metadata"].get("jupyter", {}).get("source_hidden")]
    assert folded == ["The answer:\n\nThey are 512, since ..."]


def test_a_solution_is_one_command_away(capsys: pytest.CaptureFixture[str]):
    assert main(["course", "solution", "99.1"]) == 1
    assert "there is no exercise '99.1'" in capsys.readouterr().err
