"""`tinyburn notebooks`: real kernels run small notebooks; what goes wrong is one clear error, and the file stays."""

from __future__ import annotations

import ast
import configparser
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, writes

import tinyburn
from tinyburn.cli import document, main
from tinyburn.cli.errors import CommandError
from tinyburn.cli.normalise import _PATHS, normalise, rewrite_paths

CHANCE_AND_MACHINE = """\
import sys, warnings
import ipywidgets
import matplotlib.pyplot as plt
ipywidgets.IntSlider(description="nobody shows this one")
slider = ipywidgets.IntSlider(description="shown")
print("one")
warnings.warn("careful")
sys.stdout.flush()
print("two")
plt.plot([1, 2])
plt.show()
ipywidgets.VBox([slider, ipywidgets.HTML("text")])
"""


def save(path: Path, *sources: str, tags: list[str] | None = None) -> bytes:
    """A notebook as an editor leaves it: random cell ids, no outputs, no metadata."""
    metadata = {"tags": tags} if tags else {}
    cells = [new_markdown_cell("# A page"), *(new_code_cell(source, metadata=metadata) for source in sources)]
    path.write_text(writes(new_notebook(cells=cells)), encoding="utf-8")
    return path.read_bytes()


def cells(path: Path) -> list[Any]:
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def test_run_stores_the_outputs_and_the_same_bytes_each_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "page.ipynb"
    save(path, CHANCE_AND_MACHINE, "1 / 4")
    assert main(["notebooks", "run", str(path)]) == 0
    first = path.read_bytes()
    save(path, CHANCE_AND_MACHINE, "1 / 4")
    assert main(["notebooks", "run", str(path)]) == 0
    assert path.read_bytes() == first
    assert main(["notebooks", "run", str(path)]) == 0
    assert main(["notebooks", "check", str(path)]) == 0
    assert capsys.readouterr().out == "".join(
        f"{path}: {word}\n" for word in ("written", "written", "unchanged", "up to date")
    )
    assert first.endswith(b"}\n")
    assert b"\r" not in first
    assert str(tmp_path).encode() not in first
    widgets = json.loads(first)["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    sliders = [model["state"]["description"] for model in widgets.values() if model["model_name"] == "IntSliderModel"]
    assert sliders == ["shown"]
    assert [cell["execution_count"] for cell in cells(path)] == [1, 2]
    assert cells(path)[1]["outputs"][0]["data"]["text/plain"] == ["0.25"]
    assert cells(path)[0]["outputs"][0]["text"] == ["one\n", "two\n"]
    assert cells(path)[0]["outputs"][1]["text"][0].startswith("<cell>:7: UserWarning: careful")


def test_the_kernel_is_this_python_and_starts_in_the_notebooks_folder(tmp_path: Path):
    path = tmp_path / "page.ipynb"
    save(path, "import os, sys, tinyburn\n(sys.prefix, os.getcwd(), tinyburn.__version__)")
    assert main(["notebooks", "run", str(path)]) == 0
    text = "".join(cells(path)[0]["outputs"][0]["data"]["text/plain"])
    assert ast.literal_eval(text) == (sys.prefix, os.path.realpath(tmp_path), tinyburn.__version__)


def test_check_shows_what_differs_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "page.ipynb"
    save(path, "print(6 * 7)")
    main(["notebooks", "run", str(path)])
    wrong = path.read_text(encoding="utf-8").replace('"42\\n"', '"41\\n"')
    path.write_text(wrong, encoding="utf-8")
    capsys.readouterr()
    assert main(["notebooks", "check", str(path)]) == 1
    told = capsys.readouterr().err
    assert '-      "41\\n"\n+      "42\\n"' in told
    assert len(told.splitlines()) < 25
    assert path.read_text(encoding="utf-8") == wrong


def test_check_leaves_free_what_a_tag_leaves_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """nbval's tag for a cell that shows what is so on this machine. Its neighbours are compared as ever."""
    path = tmp_path / "page.ipynb"
    free = new_code_cell("import os\nprint(os.environ['MACHINE'])", metadata={"tags": ["nbval-ignore-output"]})
    path.write_text(writes(new_notebook(cells=[free, new_code_cell("print(1)")])), encoding="utf-8")
    monkeypatch.setenv("MACHINE", "one")
    assert main(["notebooks", "run", str(path)]) == 0
    monkeypatch.setenv("MACHINE", "another")
    assert main(["notebooks", "check", str(path)]) == 0
    stored = path.read_text(encoding="utf-8")
    assert '"one\\n"' in stored
    path.write_text(stored.replace('"1\\n"', '"2\\n"'), encoding="utf-8")
    assert main(["notebooks", "check", str(path)]) == 1


def test_check_refuses_windows_line_ends(tmp_path: Path):
    path = tmp_path / "page.ipynb"
    save(path, "1")
    main(["notebooks", "run", str(path)])
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert main(["notebooks", "check", str(path)]) == 1
    assert main(["notebooks", "run", str(path)]) == 0
    assert b"\r" not in path.read_bytes()


@pytest.mark.parametrize(
    ("sources", "tags", "message"),
    [
        (["a = 1", "undefined_name"], None, "cell 3 failed: NameError: name 'undefined_name' is not defined"),
        (["import os\nos._exit(3)"], None, "the kernel died in cell 2"),
        (["import time\ntime.sleep(60)"], None, "cell 2 ran longer than 2 seconds"),
        (["1"], ["raises-exception"], "cell 2 has the tag raises-exception, but raised nothing"),
    ],
    ids=["failing cell", "dead kernel", "timeout", "no promised error"],
)
def test_a_notebook_that_fails_is_one_error_and_stays_as_it_was(
    sources: list[str], tags: list[str] | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "page.ipynb"
    before = save(path, *sources, tags=tags)
    assert main(["notebooks", "run", "--timeout", "2" if "sleep" in sources[0] else "60", str(path)]) == 1
    assert capsys.readouterr().err == f"tinyburn: {path}: {message}\n"
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_promised_error_is_stored_without_the_files_of_this_machine(tmp_path: Path):
    path = tmp_path / "page.ipynb"
    save(path, "1 / 0", tags=["raises-exception"])
    assert main(["notebooks", "run", str(path)]) == 0
    (output,) = cells(path)[0]["outputs"]
    assert output["traceback"] == ["ZeroDivisionError: division by zero"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hello", "is not a notebook: its text is not JSON"),
        (b"", "is not a notebook: its text is not JSON"),
        (b"\xff\xfe{}", "cannot be read as a notebook"),
        (b"[1]", "is not a notebook: its JSON has no list of cells"),
        (b"{}", "is not a notebook: its JSON has no list of cells"),
        (b'{"nbformat": 4, "cells": [3]}', "is not a notebook: its JSON has no list of cells"),
        (b'{"nbformat": 3, "worksheets": []}', "is a notebook of an old format"),
        (b'{"nbformat": 9, "cells": []}', "is not a notebook of format 4 but of 9"),
        (b'{"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "poem"}]}', "is not a valid notebook"),
        (b'{"nbformat": 4, "metadata": 1, "cells": []}', "is not a valid notebook"),
    ],
)
def test_a_file_that_is_no_notebook_is_one_clear_error(
    content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "page.ipynb"
    path.write_bytes(content)
    for action in ("run", "check"):
        assert main(["notebooks", action, str(path)]) == 1
        told = capsys.readouterr().err
        assert told.startswith(f"tinyburn: {path}: {message}")
        assert told.count("\n") == 1
    assert path.read_bytes() == content


def test_a_missing_file_and_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    missing = tmp_path / "missing.ipynb"
    assert main(["notebooks", "run", str(missing), str(tmp_path)]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"tinyburn: {missing}: there is no such file"
    assert second == f"tinyburn: {tmp_path}: this is a folder; name the notebooks in it"


def test_writing_replaces_the_file_in_one_step_and_keeps_its_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "page.ipynb"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    document.write(path, "new\n")
    assert path.read_bytes() == b"new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640

    def fail(self: Path, target: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(CommandError, match="no space left"):
        document.write(path, "newer\n")
    assert path.read_bytes() == b"new\n"
    assert list(tmp_path.iterdir()) == [path]


def test_cell_names_depend_on_the_text_and_survive_a_new_neighbour():
    def names(*sources: str) -> list[str]:
        notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
        normalise(notebook)
        return [cell.id for cell in notebook.cells]

    one, two, again = names("a", "b", "a")
    assert len({one, two, again}) == 3
    assert names("c", "a", "b", "a")[1:] == [one, two, again]


def test_streams_are_joined_between_displays_only():
    outputs = [
        new_output("stream", name="stderr", text="e1\n"),
        new_output("stream", name="stdout", text="o1\n"),
        new_output("stream", name="stderr", text="e2\n"),
        new_output("display_data", data={"text/plain": "picture"}),
        new_output("stream", name="stdout", text="o2\n"),
    ]
    notebook = new_notebook(cells=[new_code_cell("x", outputs=outputs, execution_count=7)])
    normalise(notebook)
    texts = [output.get("text", "picture") for output in notebook.cells[0].outputs]
    assert texts == ["o1\n", "e1\ne2\n", "picture", "o2\n"]
    assert notebook.cells[0].execution_count == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("/tmp/ipykernel_12/345.py:3: UserWarning: x", "<cell>:3: UserWarning: x"),
        (r"C:\Temp\ipykernel_12\345.py:3: UserWarning: x", "<cell>:3: UserWarning: x"),
        ("/x/lib/python3.11/site-packages/numpy/core.py:3: W", "numpy/core.py:3: W"),
        ("/x/clone/tinyburn/tensor/base.py:3: W", "tinyburn/tensor/base.py:3: W"),
        ("a tinyburn/notebooks page and 1/2", "a tinyburn/notebooks page and 1/2"),
    ],
)
def test_file_names_in_warnings_lose_the_machines_folders(before: str, after: str):
    assert rewrite_paths(before) == after


def test_nbval_forgets_the_same_file_names():
    """nbval runs a cell anew and compares its stderr: it must rewrite as `run` did."""
    config = configparser.RawConfigParser()
    config.read(Path(__file__).parents[1] / "nbval_sanitize.cfg", encoding="ascii")
    rules = [(config[name]["regex"], config[name]["replace"]) for name in config.sections()]
    assert rules == [(pattern.pattern, replacement) for pattern, replacement in _PATHS]
