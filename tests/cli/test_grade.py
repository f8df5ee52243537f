"""`tinyburn course grade`: real submissions, honest and broken, and the table that each of them has to end in."""

from __future__ import annotations

import csv
import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.course.classroom import (
    BREAKS,
    HOARD,
    Line,
    answered,
    cell_of,
    hand_in,
    make_class,
    mistakes,
    solutions,
    with_cell,
    with_source,
    without,
)
from tinyburn.cli import main
from tinyburn.cli.course import start_course

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory has a limit on Linux only")
HEADER = ["student", "lesson", "points", "of", "remarks"]


def graded(folder: Path, *options: str) -> list[list[str]]:
    """The lines of the table."""
    table = folder.with_name("table.csv")
    assert main(["course", "grade", str(folder), "--output", str(table), *options]) == 0
    with table.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    assert header == HEADER
    return lines


def assert_lines(found: Sequence[Sequence[str]], expected: Sequence[Line]) -> None:
    assert [tuple(line[:4]) for line in found] == [(*line[:2], str(line[2]), str(line[3])) for line in expected]
    for line, (*_, remark) in zip(found, expected, strict=True):
        assert re.search(remark, line[4]), line


def bytes_below(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@LINUX
@pytest.mark.variants  # it waits for time limits
def test_a_class_with_every_kind_of_trouble_gets_the_right_table_and_nothing_is_changed(tmp_path: Path):
    expected = make_class(tmp_path / "class", (1, 5), honest=3, breaks=BREAKS)
    before = bytes_below(tmp_path / "class")
    assert_lines(graded(tmp_path / "class", "--timeout", "20", "--memory", "1000"), expected)
    assert bytes_below(tmp_path / "class") == before


def test_the_table_is_the_same_with_any_number_of_workers_and_on_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    make_class(tmp_path / "class", (1,), honest=4, breaks=())
    lines = graded(tmp_path / "class", "--workers", "3")
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == ["honest 00, lesson 01: 4 of 4", "honest 01, lesson 01: 3 of 4"]
    assert main(["course", "grade", str(tmp_path / "class"), "--workers", "1"]) == 0
    assert list(csv.reader(capsys.readouterr().out.splitlines())) == [HEADER, *lines]


def one_line(tmp_path: Path, notebook: object, lesson: int = 1, *options: str) -> list[str]:
    """The line of a class of one."""
    hand_in(tmp_path / "class", "ada", {lesson: notebook})  # type: ignore[dict-item]
    (line,) = graded(tmp_path / "class", *options)
    return line


def test_a_submissions_own_check_counts_for_nothing(tmp_path: Path):
    cheat = "tb.course.check = lambda number, answer: print(f'Exercise {number}: right.')"
    line = one_line(tmp_path, with_cell(answered(1, mistakes(1)), cheat, "1.1"))
    assert line[2:] == ["0", "4", "1.1: not right; 1.2: not right; 1.3: not right; 1.4: not right"]


def test_what_a_notebook_shows_counts_for_nothing(tmp_path: Path):
    notebook = answered(1, {})
    for number in ("1.1", "1.2"):
        output = {"output_type": "stream", "name": "stdout", "text": f"Exercise {number}: right.\n"}
        notebook["cells"][cell_of(notebook, number)]["outputs"] = [output]
    assert one_line(tmp_path, notebook)[2:] == ["0", "4", "1.1: open; 1.2: open; 1.3: open; 1.4: open"]


def test_helpers_of_earlier_cells_and_of_files_beside_the_notebook_count(tmp_path: Path):
    answers = {"1.1": "from mine import photo\n\nanswer = photo", "1.2": "answer = payload"}
    notebook = with_cell(answered(1, answers), "def payload(shape, each):\n    return math.prod(shape) * each", "1.1")
    notebook = with_cell(notebook, "import math", "1.2")
    hand_in(tmp_path / "class", "ada", {1: notebook})
    (tmp_path / "class" / "ada" / "mine.py").write_text("photo = 602112\n", encoding="utf-8")
    (line,) = graded(tmp_path / "class")
    assert line[2:] == ["2", "4", "1.3: open; 1.4: open"]


def test_what_a_notebook_writes_is_not_in_the_students_folder(tmp_path: Path):
    line = one_line(tmp_path, with_cell(answered(1, solutions(1)), "open('mine.txt', 'w').write('x')", "1.1"))
    assert line[2:] == ["4", "4", ""]
    assert [path.name for path in (tmp_path / "class" / "ada").iterdir()] == ["01_payload.ipynb"]


def test_what_works_in_jupyter_works_here(tmp_path: Path):
    """Magics, `display`, a shell line, an await, and an answer that can be looked at once."""
    notebook = with_source(answered(18, {}), "18.2", '%%time\nanswer = "remainder"\ntb.course.check("18.2", answer)')
    once = 'answer = iter(["matmul", "reshape", "add"])\ntb.course.check("18.1", answer)'
    notebook = with_source(notebook, "18.1", once)
    mine = "%matplotlib inline\n!echo hello\nfiles = !ls\ndisplay(files)\nimport asyncio\nawait asyncio.sleep(0)"
    assert one_line(tmp_path, with_cell(notebook, mine, "18.1"), 18)[2:] == ["2", "3", "18.3: open"]


def test_an_answer_that_is_given_before_its_cell_fails_counts_and_an_older_one_does_not(tmp_path: Path):
    """Without the import each check fails. 1.3 fails before its answer, when that of 1.2 is still there."""
    answers = {**solutions(1), "1.3": "answer = 3 * unknown"}
    line = one_line(tmp_path, without(answered(1, answers), 2))
    assert line[2] == "3"
    assert line[4].endswith("1.3: NameError: name 'unknown' is not defined")


def test_the_last_of_several_answers_counts(tmp_path: Path):
    notebook = with_cell(answered(1, solutions(1)), 'answer = 5\ntb.course.check("1.1", answer)', "1.1")
    assert one_line(tmp_path, notebook)[2] == "4"


def test_an_answer_that_does_strange_things_when_it_is_called_is_a_wrong_one(tmp_path: Path):
    exits = "import sys\n\nanswer = lambda *_: sys.exit()"
    assert one_line(tmp_path, answered(1, {**solutions(1), "1.2": exits}))[2:] == ["3", "4", "1.2: SystemExit"]


@pytest.mark.variants  # it waits for time limits
def test_an_answer_that_never_ends_costs_what_comes_after_it(tmp_path: Path):
    endless = "def answer(*_):\n    while True:\n        pass"
    line = one_line(tmp_path, answered(1, {**solutions(1), "1.2": endless}), 1, "--timeout", "15")
    assert line[2] == "1"
    assert re.fullmatch(
        r"stopped in cell \d+: it ran longer than 15 seconds; 1.2: not reached; 1.3: not reached; 1.4: not reached",
        line[4],
    )


@LINUX
def test_memory_that_stays_taken_is_the_students_problem(tmp_path: Path):
    kept = "kept = []\nwhile True:\n    kept.append(bytearray(10_000_000))"
    line = one_line(tmp_path, with_cell(answered(1, solutions(1)), kept, "1.1"), 1, "--memory", "500")
    assert "MemoryError" in line[4]
    assert "def hoard" in HOARD  # the class has one that gives its memory back


def test_a_process_that_a_notebook_has_started_ends_with_it(tmp_path: Path):
    start = "import subprocess, sys\np = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n"
    start += f"open({str(tmp_path / 'pid')!r}, 'w').write(str(p.pid))"
    line = one_line(tmp_path, with_cell(answered(1, solutions(1)), start, "1.1"))
    assert line[2:] == ["4", "4", ""]
    assert_gone(int((tmp_path / "pid").read_text(encoding="ascii")))


def assert_gone(pid: int) -> None:
    """A process that was killed may be a zombie until somebody has asked for it."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
            if "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text(encoding="utf-8"):
                return
        except OSError:
            return
        time.sleep(0.05)
    raise AssertionError(f"{pid} is alive")


# The folder


def test_folders_and_files_of_many_names_belong_to_their_students(tmp_path: Path):
    folder = tmp_path / "class"
    right = answered(1, solutions(1))
    hand_in(folder / "deep", "tinyburn-course", {1: right})
    for name in ("ben_01_payload.ipynb", "Ola Å_77_file_01_payload-1.ipynb"):
        hand_in(tmp_path, name, {1: right})
        (tmp_path / name / "01_payload.ipynb").rename(folder / name)
    hand_in(folder, "eva", {1: right})
    (folder / "eva" / "01_payload (1).ipynb").write_bytes(b"")
    (folder / "eva" / ".ipynb_checkpoints").mkdir()
    (folder / "eva" / ".ipynb_checkpoints" / "05_training_step.ipynb").write_bytes(b"")
    (folder / "kim").mkdir()
    (folder / "lea.txt").write_text("I was ill", encoding="utf-8")
    lines = {line[0]: line[1:] for line in graded(folder)}
    assert lines == {
        "ben": ["01", "4", "4", ""],
        "deep": ["01", "4", "4", ""],
        "Ola Å_77_file": ["01", "4", "4", ""],
        "eva": ["01", "4", "4", "01_payload (1).ipynb does not count: there is 01_payload.ipynb"],
        "kim": ["01", "0", "4", "not handed in; kim is not named as a notebook of the course"],
        "lea": ["01", "0", "4", "not handed in; lea.txt is not named as a notebook of the course"],
    }


def test_a_lesson_that_others_have_handed_in_is_0_points_and_one_can_choose(tmp_path: Path):
    hand_in(tmp_path / "class", "ada", {1: answered(1, {}), 2: answered(2, {})})
    hand_in(tmp_path / "class", "ben", {2: answered(2, {})})
    lines = graded(tmp_path / "class")
    assert [line[:2] for line in lines] == [["ada", "01"], ["ada", "02"], ["ben", "01"], ["ben", "02"]]
    assert lines[2][2:] == ["0", "4", "not handed in"]
    assert [line[:2] for line in graded(tmp_path / "class", "--lesson", "2", "--lesson", "2")] == [
        ["ada", "02"],
        ["ben", "02"],
    ]


def test_the_table_is_not_taken_for_a_student(tmp_path: Path):
    folder = tmp_path / "class"
    hand_in(folder, "ada", {1: answered(1, {})})
    for _ in range(2):
        assert main(["course", "grade", str(folder), "--output", str(folder / "table.csv")]) == 0
    assert (folder / "table.csv").read_text(encoding="utf-8").count("\n") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing"], "No such file or directory"),
        (["empty"], "name a notebook as in the course: ada/05_training_step.ipynb"),
        (["class", "--output", "nowhere/table.csv"], "there is no folder nowhere"),
        (["class", "--output", "class"], "it is a folder"),
        (["class", "--lesson", "99"], "lesson 99 has no exercises"),
    ],
)
def test_what_cannot_be_graded_is_one_clear_error(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    hand_in(tmp_path / "class", "ada", {1: answered(1, {})})
    assert main(["course", "grade", *words]) == 1
    told = capsys.readouterr().err
    assert told.startswith("tinyburn: ")
    assert message in told


def test_where_memory_has_no_limit_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    hand_in(tmp_path / "class", "ada", {1: answered(1, {})})
    monkeypatch.setattr(sys, "platform", "darwin")
    assert main(["course", "grade", str(tmp_path / "class")]) == 0
    assert capsys.readouterr().err == "tinyburn: the memory of a notebook has no limit on this platform; its time has\n"


# Ctrl-C


@pytest.mark.skipif(sys.platform == "win32", reason="a test cannot press Ctrl-C there for one process alone")
@pytest.mark.parametrize("action", ["grade", "status"])
def test_ctrl_c_is_one_line_and_exit_code_130_and_leaves_nothing_behind(action: str, tmp_path: Path):
    endless = (
        f"import os\nprint(os.getpid(), file=open({str(tmp_path / 'pid')!r}, 'w'), flush=True)\nwhile True:\n    pass"
    )
    folder = tmp_path / "class"
    hand_in(folder, "ada", {1: with_cell(answered(1, solutions(1)), endless, "1.1")})
    hand_in(folder, "ben", {1: answered(1, solutions(1))})
    words = [str(folder), "--output", str(tmp_path / "table.csv")] if action == "grade" else [str(folder / "ada")]
    command = [sys.executable, "-m", "tinyburn", "course", action, *words, "--timeout", "600"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, start_new_session=True, **pipes) as run:
        pid = tmp_path / "pid"
        while not (pid.exists() and pid.read_text(encoding="ascii").strip()):
            assert run.poll() is None
            time.sleep(0.05)
        os.killpg(run.pid, signal.SIGINT)  # a terminal sends it to all
        out, err = run.communicate(timeout=60)
    assert (run.returncode, out, err) == (130, "", "tinyburn: stopped\n")
    assert not (tmp_path / "table.csv").exists()
    assert_gone(int(pid.read_text(encoding="ascii")))


def test_a_copy_of_the_whole_course_that_nobody_has_worked_in_runs_nothing(tmp_path: Path):
    start_course(tmp_path / "class" / "ada")
    assert {line[2] for line in graded(tmp_path / "class")} == {"0"}
