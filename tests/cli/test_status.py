"""`tinyburn course status`: what is done in a copy, by running it, without changing a byte of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_grade import bytes_below
from tests.course.classroom import answered, hand_in, solutions, with_cell
from tinyburn.cli import main
from tinyburn.cli.course import start_course


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["course", "status", *words]) == 0
    return capsys.readouterr().out


def test_a_new_copy_is_all_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    start_course()
    lines = told(capsys).splitlines()
    assert lines[0].split() == ["lesson", "right", "not", "yet", "open", "guesses"]
    assert lines[1].split() == ["01_payload", "-", "-", "1.1", "1.2", "1.3", "1.4", "0", "of", "5"]
    assert any(line.startswith("0 of ") and " exercises are right; 0 of " in line for line in lines)


def test_right_not_yet_open_and_guesses_are_told_and_the_copy_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    answers = {**solutions(1), "1.2": "answer = 3", "1.3": "answer = None"}
    hand_in(tmp_path, "mine", {1: answered(1, answers, guess='"512 B"'), 2: answered(2, {}, guess='"skip"')})
    before = bytes_below(tmp_path)
    lines = told(capsys, str(tmp_path / "mine")).splitlines()
    assert lines[1].split() == ["01_payload", "1.1", "1.4", "1.2", "1.3", "5", "of", "5"]
    assert lines[2].split() == ["02_dense_block", "-", "-", "2.1", "2.2", "2.3", "2.4", "0", "of", "6"]
    assert lines[4] == "2 of 8 exercises are right; 5 of 11 guesses are made."
    assert "03_gradients.ipynb: there is no such file" in lines
    assert bytes_below(tmp_path) == before


def test_a_notebook_that_cannot_be_read_and_one_that_stops_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    stops = with_cell(answered(2, solutions(2)), "import os\n\nos._exit(3)", "2.3")
    hand_in(tmp_path, "mine", {1: b"{", 2: stops})
    text = told(capsys, str(tmp_path / "mine"))
    assert "01_payload.ipynb: is not a notebook: its text is not JSON" in text
    assert "02_dense_block.ipynb: cell " in text
    assert " ended the process: exit code 3" in text


def test_a_folder_without_the_course_is_one_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["course", "status", str(tmp_path / "none")]) == 1
    assert "there is no such folder" in capsys.readouterr().err
    assert main(["course", "status", str(tmp_path)]) == 1
    assert "no notebook of the course can be read there" in capsys.readouterr().err
