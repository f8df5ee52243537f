"""The course as a site: what is put into it, and one lesson run in a real browser, on a site that was built before.

The lesson is for CI: ``python -m browser.lite FOLDER``, then ``TINYBURN_LITE=FOLDER pytest -m browser
tests/browser/test_lite.py``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from browser.inside import foreign, shown_by
from browser.lite import COURSE, SOMETIMES, add_pyodide, entry_of, needed_by, prepare

from .jupyterlab import Notebook, new_page, start
from .pictures import stored_words
from .web import served

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSON = "03_gradients.ipynb"
"""It has pictures, exercises and a widget, and no cell that is meant to fail, at which Run All would stop."""
PANEL = ".jp-NotebookPanel"
"""The notebook that is open; there is no other one."""
KERNEL_SECONDS = 180
"""It is ready after some 10, and later where others compute too. One that lacks a package is never ready."""


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
    needs = [module for module, word in (("ipywidgets", "tb.widgets."), ("sklearn", "data.digits(")) if word in source]
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
        "ipython": {"depends": ["numpy", "Prompt_Toolkit"]},
        "prompt-toolkit": {"depends": ["wcwidth"]},
        "wcwidth": {"depends": []},
        "pandas": {"depends": ["numpy"]},
    }
    assert needed_by(("ipython",), packages) == {"ipython", "numpy", "prompt-toolkit", "wcwidth"}


def test_the_list_of_packages_names_each_file_with_its_hash(tmp_path: Path) -> None:
    pyodide, site = tmp_path / "pyodide", tmp_path / "site"
    pyodide.mkdir()
    names = ("numpy", "ipython", "jedi", "micropip", "sqlite3", "ssl", "scikit-learn", "pandas")
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


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the site that was built."""
    if "TINYBURN_LITE" not in os.environ:
        pytest.skip("TINYBURN_LITE names no site: python -m browser.lite FOLDER builds one")
    with served(Path(os.environ["TINYBURN_LITE"])) as address:
        yield address


@pytest.fixture(scope="module")
def asked() -> list[str]:
    """All addresses that the page has asked for."""
    return []


@pytest.fixture(scope="module")
def page(browser: Browser, site: str, asked: list[str]) -> Iterator[Page]:
    """A window with the lesson, after Run All Cells."""
    page = new_page(browser)
    page.on("request", lambda request: asked.append(request.url))
    start(page, f"{site}/lab/index.html?path={COURSE}/{LESSON}")
    page.wait_for_function("lab.isIdle()", timeout=KERNEL_SECONDS * 1000)
    Notebook(page, PANEL).run()
    yield page
    page.close()


@pytest.mark.browser
def test_each_cell_shows_the_text_that_is_stored(page: Page) -> None:
    cells = [cell for cell in Notebook(page, PANEL).cells if cell.is_code]
    stored = code_cells(read(NOTEBOOKS / LESSON))
    assert [shown_by(cell.outputs) for cell in cells] == [shown_by(cell["outputs"]) for cell in stored]


@pytest.mark.browser
def test_its_pictures_show(page: Page) -> None:
    found = Notebook(page, PANEL).pictures
    assert len(found) == len(stored_words(NOTEBOOKS / LESSON))
    assert all(picture.alt and picture.shown == picture.drawn for picture in found)


@pytest.mark.browser
def test_its_widget_answers_a_key(page: Page) -> None:
    """Not on the slider: with a key on it this JupyterLab goes to another cell."""
    page.get_by_role("spinbutton", name="Step").focus()
    page.keyboard.press("ArrowUp")
    page.locator('.tinyburn-live [role="status"]', has_text="Step 2 of ").wait_for(state="attached")


@pytest.mark.browser
def test_nothing_comes_from_elsewhere(page: Page, site: str, asked: list[str]) -> None:
    assert page
    assert [url for url in asked if url.startswith(site)]
    assert [url for url in asked if not url.startswith((site, "data:", "blob:"))] == []
