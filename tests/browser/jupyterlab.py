"""JupyterLab in a browser's page: opens notebooks one after the other, runs them, and reads what is on the screen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from tinyburn.viz.svg import DARK, LIGHT

from . import pictures
from .server import SECONDS, Lab

SCRIPT = Path(__file__).with_name("jupyterlab.js")
THEMES = {"JupyterLab Dark": DARK["paper"], "JupyterLab Light": LIGHT["paper"]}
"""JupyterLab's themes, and the paper that our pictures have in each; the last one is what it starts with."""
WIDTHS = (1280, 800)
"""Of a window on a common screen, and of one on half of it."""
HEIGHT = 900
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
"""The metadata of a notebook that a test writes."""
WIDGET = ".jp-Cell-outputArea > .jp-OutputArea-child > .jp-OutputArea-output > .jupyter-widgets"
"""Each widget that is an output of a cell, with all that it is made of."""


@dataclass(frozen=True)
class Cell:
    """A cell of the open notebook, and all text that is on the screen for it."""

    is_code: bool
    source: str
    tags: list[str]
    is_trusted: bool
    count: int | None
    outputs: list[dict[str, Any]]
    shown: str

    @property
    def errors(self) -> list[str]:
        """What it raised."""
        return [f"{output['ename']}: {output['evalue']}" for output in self.outputs if "ename" in output]


@dataclass(frozen=True)
class Notebook:
    """A notebook that is open; no other one is looked at meanwhile."""

    page: Page
    root: str

    def run(self) -> None:
        """Runs all cells in its kernel, and waits for the last one."""
        self.page.evaluate("lab.run()")
        self.page.wait_for_function("widget => lab.hasRun(widget)", arg=WIDGET, timeout=3 * SECONDS * 1000)

    @property
    def cells(self) -> list[Cell]:
        """As they are now."""
        return [Cell(**found) for found in self.page.evaluate("lab.cells()")]

    @property
    def pictures(self) -> list[pictures.Shown]:
        """Those of its outputs."""
        return pictures.pictures(self.page, self.root)

    def paper(self, number: int) -> str:
        """The colour of the paper of one of its pictures."""
        return pictures.paper(self.page, self.root, number)


def started_page(browser: Browser, lab: Lab) -> Page:
    """JupyterLab at its first page, as its reader's browser opens it."""
    page = new_page(browser)
    start(page, lab.address)
    return page


def new_page(browser: Browser) -> Page:
    """A window that can be asked what these tests ask."""
    page = browser.new_page(viewport={"width": WIDTHS[0], "height": HEIGHT})
    page.set_default_timeout(SECONDS * 1000)
    for script in (SCRIPT, pictures.SCRIPT):
        page.add_init_script(path=script)
    return page


def start(page: Page, address: str) -> None:
    """Opens JupyterLab with the notebook that the address names, whose kernel is ready then."""
    page.goto(address)
    page.wait_for_selector(".jp-Notebook h1")
    page.evaluate("lab.start()")


def opened(page: Page, path: str, *, kernel: bool) -> Notebook:
    """A notebook by its path in the served folder, all of it drawn. The one before is closed, and not written."""
    identity = page.evaluate("([path, kernel]) => lab.open(path, kernel)", [path, kernel])
    page.wait_for_function("lab.isDrawn()")
    return Notebook(page, f"#{identity}")


def set_theme(page: Page, theme: str) -> None:
    """By the name in JupyterLab's menu."""
    page.evaluate("theme => lab.theme(theme)", theme)
    page.wait_for_function("isLight => lab.hasTheme(isLight)", arg=theme == "JupyterLab Light")


def keep_screenshot(page: Page, folder: Path, test: str) -> Path:
    """Writes what is on the screen to a file with the test's name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{re.sub(r'[^A-Za-z0-9]+', '_', test).strip('_')}.png"
    page.screenshot(path=path)
    return path
