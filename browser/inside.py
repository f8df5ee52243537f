"""What runs inside Pyodide: the notebooks cell by cell, as IPython would, and pytest. See check.py."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

ELSEWHERE = ("subprocess", "safetensors", "ipyparallel", "mpi4py", "onnx", "onnxruntime", "cupy", "wgpu")
"""What a notebook imports that needs a process, a driver, or a package that no browser has."""

FEW = 3
"""Differences of a notebook that are shown: what comes after the first is often its consequence."""

NOTEBOOKS, COURSE = Path("notebooks"), Path("/course")


def main(words: list[str]) -> int:
    """The exit code: 0 if nothing failed."""
    sys.dont_write_bytecode = True
    tests = [word for word in words if word != "--notebooks"]
    failed = len(tests) < len(words) and not notebooks()
    return int(bool((tests and run_tests(tests)) or failed))


def run_tests(tests: list[str]) -> int:
    """Pytest's own exit code. Output is caught as text: there are no files behind the streams here."""
    import pytest

    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    options = ["-q", "--tb=short", "--capture=sys", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
    return int(pytest.main([*options, "-o", "addopts=--import-mode=importlib", *tests]))


# Notebooks


def notebooks() -> bool:
    """Runs each in a copy of the course, where it may write. Whether all went well."""
    shutil.copytree(NOTEBOOKS, COURSE)
    passed = failed = 0
    for path in sorted(COURSE.glob("*.ipynb")):
        document = json.loads(path.read_text(encoding="utf-8"))
        cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
        found = foreign(cells)
        if found:
            print(f"{path.name}: skipped, it imports {', '.join(found)}", flush=True)
            continue
        start = perf_counter()
        with contextlib.chdir(COURSE):
            differences = list(islice(differences_of(cells), FEW))
        passed, failed = passed + (not differences), failed + bool(differences)
        print(f"{path.name}: {len(cells)} cells, {perf_counter() - start:.1f} s", *differences, sep="\n  ", flush=True)
    print(f"notebooks: {passed} passed, {failed} failed", flush=True)
    return not failed


def foreign(cells: list[Any]) -> list[str]:
    """Modules of `ELSEWHERE` that a notebook imports."""
    source = "\n".join("".join(cell["source"]) for cell in cells)
    words = set(re.findall(r"^\s*(?:import|from)\s+(\w+)", source, re.MULTILINE))
    return [module for module in ELSEWHERE if module in words]


def differences_of(cells: list[Any]) -> Iterator[str]:
    """Runs the cells of a notebook in one namespace, and says where they show something else than what is stored."""
    shell = new_shell()
    for number, cell in enumerate(cells, start=1):
        tags, stored = cell["metadata"].get("tags", []), shown_by(cell["outputs"])
        shown, error = run_cell(shell, "".join(cell["source"]))
        promised = next((output["ename"] for output in cell["outputs"] if output["output_type"] == "error"), None)
        if error != promised:
            yield f"cell {number} raised {error}, not {promised}:\n{shown[-1500:]}"
        elif promised is None and shown != stored and "nbval-ignore-output" not in tags:
            lines = unified_diff(stored.splitlines(), shown.splitlines(), "stored", "shown here", n=1, lineterm="")
            yield "\n".join([f"cell {number} shows something else:", *lines])


def shown_by(outputs: list[Any]) -> str:
    """The texts of stored outputs, one after another; a picture has its text beside it."""
    texts = [output["text"] if "text" in output else output.get("data", {}).get("text/plain", "") for output in outputs]
    return together("".join(text) for text in texts)


def together(texts: Iterable[str]) -> str:
    """One after another. JupyterLite has an empty one beside whatever shows itself."""
    return "\n".join(filter(None, (text.rstrip("\n") for text in texts)))


def run_cell(shell: Any, source: str) -> tuple[str, str | None]:
    """The texts that a cell shows, and the name of its error."""
    shell.shown = []
    with contextlib.redirect_stdout(Stream(shell.shown)), contextlib.redirect_stderr(Stream(shell.shown)):
        done = shell.run_cell(source, store_history=True)
    error = done.error_before_exec or done.error_in_exec
    return together(joined(shell.shown)), error and type(error).__name__


class Stream(io.StringIO):
    """Puts what is printed among what else is shown, in its order."""

    def __init__(self, shown: list[tuple[str, str]]) -> None:
        super().__init__()
        self.shown = shown

    def write(self, text: str) -> int:
        """Called by `print`."""
        self.shown.append(("stream", text))
        return len(text)


def joined(shown: list[tuple[str, str]]) -> list[str]:
    """What was printed in a row is one output."""
    texts: list[str] = []
    last = ""
    for kind, text in shown:
        if kind == last == "stream":
            texts[-1] += text
        else:
            texts.append(text)
        last = kind
    return texts


def new_shell() -> Any:
    """IPython without a terminal, whose results and displays go where `run_cell` looks."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Results(DisplayHook):
        def write_output_prompt(self) -> None:
            pass

        def finish_displayhook(self) -> None:
            pass

        def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
            shell.shown.append(("result", format_dict["text/plain"]))

    class Displays(DisplayPublisher):
        def publish(self, data: Any, *_: Any, **__: Any) -> None:
            shell.shown.append(("display", data.get("text/plain", "")))

    class Shell(InteractiveShell):
        displayhook_class = Results
        display_pub_class = Displays

    InteractiveShell.clear_instance()
    Shell.clear_instance()
    config = Config(HistoryManager={"enabled": False}, InteractiveShell={"colors": "NoColor"})
    shell: Any = Shell.instance(config=config)
    return shell
