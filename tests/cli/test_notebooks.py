"""`tinyburn notebooks`: real kernels run small notebooks; what goes wrong is one clear error, and the file stays."""

from __future__ import annotations

import ast
import configparser
import json
import os
import re
import re._parser as parser  # type: ignore[import-not-found]  # what `re` itself reads a pattern with
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, writes

import tinyburn
from tinyburn.cli import document, main
from tinyburn.cli.errors import CommandError
from tinyburn.cli.normalise import _PATHS, _REFERENCE, normalise, rewrite_paths
from tinyburn.cli.notebooks import _BITMAP, _short_diff

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
    assert names("a", "a", "a") == [one, f"{one}-2", f"{one}-3"]


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


# Ctrl-C


@pytest.mark.skipif(sys.platform == "win32", reason="a test cannot press Ctrl-C there for one process alone")
@pytest.mark.parametrize("action", ["run", "check"])
def test_ctrl_c_is_one_line_and_exit_code_130(action: str, tmp_path: Path):
    first, second = tmp_path / "first.ipynb", tmp_path / "second.ipynb"
    before = save(first, "import os, time\nprint(os.getpid(), file=open('pid', 'w'), flush=True)\ntime.sleep(60)")
    save(second, "1")
    command = [sys.executable, "-m", "tinyburn", "notebooks", action, str(first), str(second)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        pid = tmp_path / "pid"
        while not (pid.exists() and pid.read_text(encoding="ascii").strip()):
            assert run.poll() is None
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert (run.returncode, out, err) == (130, "", "tinyburn: stopped\n")
    assert first.read_bytes() == before
    with pytest.raises(ProcessLookupError):  # the kernel is gone too
        os.kill(int(pid.read_text(encoding="ascii")), 0)


# Long output


def steps(pattern: str, text: str) -> int:
    """How many characters a backtracking matcher looks at in a search through all of a text, as `re` does it.

    `re` itself does not count. This one knows just what the patterns of the command are made of, and is compared with
    `re` below.
    """
    count = 0

    def is_in(item: Any, at: int) -> bool:
        nonlocal count
        count += 1
        kind, value = item
        if at >= len(text):
            return False
        if kind is parser.LITERAL:
            return text[at] == chr(value)
        if kind is parser.NOT_LITERAL:
            return text[at] != chr(value)
        negate = value[0][0] is parser.NEGATE
        return any(member(each, text[at]) for each in value[negate:]) != negate

    def ends(items: list[Any], at: int) -> Iterator[int]:
        if not items:
            yield at
            return
        (kind, value), rest = items[0], items[1:]
        if kind in (parser.LITERAL, parser.NOT_LITERAL, parser.IN):
            if is_in(items[0], at):
                yield from ends(rest, at + 1)
        elif kind is parser.MAX_REPEAT:
            least, most, inner = value
            stop = at
            while stop - at < most and is_in(inner[0], stop):
                stop += 1
            for end in range(stop, at + least - 1, -1):
                yield from ends(rest, end)
        elif kind is parser.SUBPATTERN:
            yield from ends([*value[-1], *rest], at)
        elif kind is parser.BRANCH:
            for branch in value[1]:
                yield from ends([*branch, *rest], at)
        else:
            direction, inner = value
            start = at if direction > 0 else at - 1  # those that look back look at one character
            found = start >= 0 and next(ends(list(inner), start), None) is not None
            if found == (kind is parser.ASSERT):
                yield from ends(rest, at)

    items, at, found = list(parser.parse(pattern)), 0, []
    while at <= len(text):
        end = next(ends(items, at), None)
        if end is not None:
            found.append((at, end))
        at = at + 1 if end is None or end == at else end
    assert found == [match.span() for match in re.finditer(pattern, text)]
    return count


def member(item: Any, character: str) -> bool:
    """Whether a character is in one part of a class, such as the ``\\s`` of ``[^\\s"']``."""
    kind, value = item
    if kind is parser.LITERAL:
        return character == chr(value)
    assert kind is parser.CATEGORY
    name = {"CATEGORY_SPACE": r"\s", "CATEGORY_WORD": r"\w", "CATEGORY_DIGIT": r"\d"}[str(value)]
    return re.fullmatch(name, character) is not None


LONG_TEXTS = {
    "base64": lambda n: "iVBORw0KGgo+" * (n // 12),
    "one letter": lambda n: "a" * n,
    "slashes": lambda n: "/" * n,
    "kernels": lambda n: "/ipykernel_12" * (n // 13),
    "digits": lambda n: "/ipykernel_" + "1" * n,
    "kernels and digits": lambda n: "/ipykernel_1/23" * (n // 15),
    "packages": lambda n: "/site-package/site-packages" * (n // 27),
    "tinyburns": lambda n: "/tinyburn" * (n // 9),
    "files": lambda n: "/tinyburn/a.py" * (n // 14),
    "lines": lambda n: "/x/tinyburn/a.py:3: W\n" * (n // 22),
    "quotes": lambda n: "'" * n,
    "models": lambda n: "IPY_MODEL_" * (n // 10),
    "images": lambda n: '"image/png": "' * (n // 14),
}


@pytest.mark.parametrize("text", LONG_TEXTS)
@pytest.mark.parametrize("pattern", [*(pattern for pattern, _ in _PATHS), _REFERENCE, _BITMAP])
def test_the_steps_of_a_pattern_grow_with_the_text_and_not_with_its_square(pattern: re.Pattern[str], text: str):
    make = LONG_TEXTS[text]
    short, long = steps(pattern.pattern, make(3000)), steps(pattern.pattern, make(6000))
    assert long <= 2.5 * short
    assert long <= 60 * 6000


def test_the_counter_sees_a_square():
    quadratic = r"""[^\s"']*[\\/]site-packages[\\/]"""
    assert steps(quadratic, "a" * 600) > 3.5 * steps(quadratic, "a" * 300)


def test_a_long_output_is_stored(tmp_path: Path):
    path = tmp_path / "page.ipynb"
    save(path, "print('iVBORw0KGgo+' * 100_000)\nfor i in range(2000): print(i, flush=True)")
    assert main(["notebooks", "run", "--timeout", "60", str(path)]) == 0
    (output,) = cells(path)[0]["outputs"]
    assert output["text"] == ["iVBORw0KGgo+" * 100_000 + "\n", *(f"{i}\n" for i in range(2000))]


def test_two_long_texts_are_compared_near_the_first_difference():
    same, old, new = ["same"] * 50_000, ["x"] * 50_000, ["y"] * 50_000
    shown = _short_diff("\n".join(same + old), "\n".join(same + new)).split("\n")
    assert shown[:3] == ["from line 50001, - stored, + now:", " same", "-x"]
    assert shown[-1] == "… and maybe more lines"
    assert len(shown) < 25
