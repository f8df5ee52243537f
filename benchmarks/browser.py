"""A lesson in Chromium, with Python in the browser and with Python on this computer.

    pip install -e ".[test]"
    python -m browser.lite build/lite
    python benchmarks/browser.py build/lite [LESSON ...]

It has no target: it says what docs/browser.md tells a reader. Each row is one visit, by a browser with an empty cache.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from playwright.sync_api import Browser, Page

from tinyburn.base.text import table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from browser.lite import COURSE  # found by the line above
from tests.browser import chromium
from tests.browser.jupyterlab import WIDGET, Notebook, new_page, start
from tests.browser.server import started
from tests.browser.web import served

HEADER = ["Python", "lesson", "page, s", "kernel ready, s", "first cell, s", "other cells, s", "received, MB"]
RUN = """async ([command, cell]) => {
    window.jupyterapp.shell.currentWidget.content.activeCellIndex = cell;
    await window.jupyterapp.commands.execute(command);
}"""
LONGEST = 600_000
"""Milliseconds that a lesson may take."""


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("site", type=Path, help="what browser.lite has built")
    parser.add_argument("lessons", nargs="*", default=["05_training_step.ipynb"], metavar="LESSON")
    asked = parser.parse_args()
    rows = []
    with chromium() as browser, served(asked.site) as site:
        for lesson in asked.lessons:
            address = f"{site}/lab/index.html?path={COURSE}/{lesson}"
            rows.append(["in the browser", lesson, *visit(browser, address)])
            # A server of its own: JupyterLab opens again what was open.
            with TemporaryDirectory() as home, started(Path(home)) as lab:
                address = lab.address.replace("index.ipynb", lesson)
                rows.append(["on this computer", lesson, *visit(browser, address)])
    print(table(HEADER, rows))


def visit(browser: Browser, address: str) -> list[str]:
    """Opens a lesson, runs it, and closes it; the numbers of its row."""
    page = new_page(browser)
    received: list[int] = []
    page.on("response", lambda response: received.append(int(response.headers.get("content-length", 0))))
    times = [perf_counter()]
    start(page, address)
    times.append(perf_counter())
    page.wait_for_function("lab.isIdle()", timeout=LONGEST)
    times.append(perf_counter())
    page.evaluate(RUN, ["notebook:clear-all-cell-outputs", 0])
    page.evaluate(RUN, ["notebook:run-cell", next_cell(page)])
    times.append(perf_counter())
    while (cell := next_cell(page)) is not None:  # a cell that is meant to fail stops those below it
        page.evaluate(RUN, ["notebook:run-all-below", cell])
        page.wait_for_function("widget => lab.hasRun(widget)", arg=WIDGET, timeout=LONGEST)
    times.append(perf_counter())
    page.close()
    opened, ready, first, others = times[1] - times[0], times[2] - times[0], times[3] - times[2], times[4] - times[3]
    return [*(f"{seconds:.1f}" for seconds in (opened, ready, first, others)), f"{sum(received) / 1e6:.0f}"]


def next_cell(page: Page) -> int | None:
    """The first one that has not run."""
    cells = Notebook(page, "").cells
    return next((number for number, cell in enumerate(cells) if cell.is_code and cell.count is None), None)


if __name__ == "__main__":
    main()
