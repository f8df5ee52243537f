"""The course as a site: what is put into it, and one lesson run in a real browser, on a site that was built before.

The lesson is for CI: ``python -m browser.lite FOLDER``, then ``TINYBURN_LITE=FOLDER pytest tests/browser``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from browser.inside import foreign, shown_by
from browser.lite import COURSE, SOMETIMES, add_pyodide, entry_of, needed_by, prepare
from tests.browsers import CHROMIUM, QUIET

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSON = "02_dense_block.ipynb"
SECONDS = 240
"""A kernel in a browser is ready after some 15, and later where others compute too."""


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def code_cells(notebook: dict[str, Any]) -> list[Any]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


# What is put into it


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.name)
def test_only_the_first_cell_changes_and_only_where_the_browser_needs_a_word(path: Path) -> None:
    notebook, made = read(path), read(path)
    prepare(made)
    assert made["metadata"]["kernelspec"]["name"] == "python"
    source = "".join(line for cell in code_cells(notebook) for line in cell["source"])
    needs = [module for module, word in (("sklearn", "data.digits("), ("matplotlib", "LiveCurve(")) if word in source]
    first, *others = code_cells(made)
    before, *same = code_cells(notebook)
    assert others == same
    line = first["source"].pop(0) if needs else ""
    assert first == before
    assert line.startswith(f"import {', '.join(needs)}  #" if needs else "")


def test_what_needs_a_word_is_what_needs_a_package() -> None:
    """Calls of tinyburn.data that scikit-learn answers; the package's own list has their names."""
    from tinyburn.data.shipped import NAMES

    known = "|".join(sorted({*NAMES, "shipped"} - {"linnerud"}))
    assert SOMETIMES["sklearn"] == rf"\bdata\.({known})\("


def test_what_a_package_needs_comes_along() -> None:
    packages = {
        "numpy": {"depends": []},
        "matplotlib": {"depends": ["numpy", "Prompt_Toolkit"]},
        "prompt-toolkit": {"depends": ["wcwidth"]},
        "wcwidth": {"depends": []},
        "pandas": {"depends": ["numpy"]},
    }
    assert needed_by(("matplotlib",), packages) == {"matplotlib", "numpy", "prompt-toolkit", "wcwidth"}


def test_the_list_of_packages_names_each_file_with_its_hash(tmp_path: Path) -> None:
    pyodide, site = tmp_path / "pyodide", tmp_path / "site"
    pyodide.mkdir()
    names = ("numpy", "ipython", "jedi", "micropip", "sqlite3", "scikit-learn", "matplotlib", "pandas")
    packages = {name: {"depends": [], "file_name": f"{name}.whl"} for name in names}
    (pyodide / "pyodide-lock.json").write_text(json.dumps({"info": {}, "packages": packages}))
    for file in ("pyodide.js", "pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip"):
        (pyodide / file).write_bytes(b"")
    for name in names:
        (pyodide / f"{name}.whl").write_bytes(b"")
    wheel = tmp_path / "typing_extensions-4.16.0-py3-none-any.whl"
    wheel.write_bytes(b"abc")
    add_pyodide(pyodide, [wheel], site)
    listed = read(site / "pyodide-lock.json")["packages"]
    assert sorted(listed) == sorted({*names, "typing-extensions"} - {"pandas"})
    assert all((site / entry["file_name"]).is_file() for entry in listed.values())
    entry = listed["typing-extensions"]
    assert entry == entry_of(wheel)
    assert entry["imports"] == ["typing_extensions"]
    assert entry["sha256"] == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180 has it


def test_a_notebook_that_needs_a_process_is_known_by_its_imports() -> None:
    found = {path.name: foreign(code_cells(read(path))) for path in NOTEBOOKS.glob("*.ipynb")}
    assert found["01_payload.ipynb"] == []
    assert "subprocess" in found["16_checkpoint_files.ipynb"]


# In a browser


class Quiet(SimpleHTTPRequestHandler):
    """A web server that prints nothing."""

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder, on this machine alone."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


READY = "() => { const panel = window.jupyterapp?.shell.currentWidget; return panel?.sessionContext?.session?.kernel; }"
RUN_ALL = "() => window.jupyterapp.commands.execute('notebook:run-all-cells')"
DOCUMENT = "() => window.jupyterapp.shell.currentWidget.context.model.toJSON()"
SHOWN = "images => images.map(image => [image.alt.length, image.complete && image.naturalWidth])"


@pytest.mark.skipif("TINYBURN_LITE" not in os.environ, reason="TINYBURN_LITE names no built site: browser/lite.py")
def test_a_lesson_shows_in_a_browser_what_is_stored(tmp_path: Path) -> None:
    """Nothing comes from elsewhere; each cell shows the text that it shows on a desktop; the pictures are there."""
    assert CHROMIUM is not None
    from playwright.sync_api import sync_playwright

    stored = code_cells(read(NOTEBOOKS / LESSON))
    asked: list[str] = []
    with served(Path(os.environ["TINYBURN_LITE"])) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}/lab/index.html?path={COURSE}/{LESSON}")
        page.wait_for_function(READY, timeout=SECONDS * 1000)
        page.evaluate(RUN_ALL)
        cells = code_cells(page.evaluate(DOCUMENT))
        pictures = page.eval_on_selector_all(".jp-OutputArea-output img", SHOWN)
        page.screenshot(path=os.environ.get("TINYBURN_LITE_PICTURE", tmp_path / "lesson.png"))
        browser.close()
    assert [shown_by(cell["outputs"]) for cell in cells] == [shown_by(cell["outputs"]) for cell in stored]
    assert pictures
    assert all(words and width for words, width in pictures)
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
