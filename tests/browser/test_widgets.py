"""A widget in JupyterLab: a key, a choice and a typed number lead to the state that they say, and to its picture."""

from __future__ import annotations

import nbformat
import pytest
from playwright.sync_api import Locator, Page

from .jupyterlab import KERNEL, opened
from .server import Lab

pytestmark = pytest.mark.browser

PROGRAM = """\
import tinyburn as tb
tb.widgets.windows((8, 8), 3)
"""


@pytest.fixture(scope="module")
def windows(page: Page, lab: Lab) -> Locator:
    """A notebook in which the widget has been run."""
    cells = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(PROGRAM)], metadata=KERNEL)
    nbformat.write(cells, lab.home / "windows.ipynb")
    notebook = opened(page, "windows.ipynb", kernel=True)
    notebook.run()
    return page.locator(notebook.root)


def shown(windows: Locator, words: str) -> str:
    """The title of the state, once it has these words; the picture has it too."""
    status = windows.locator('.tinyburn-live [role="status"]', has_text=words)
    status.wait_for(state="attached")  # it is for a screen reader, and not seen
    title = status.text_content() or ""
    windows.locator(f'.tinyburn-live img[alt="{title}"]').wait_for()
    return title


def test_a_typed_number_and_an_arrow_key_change_the_picture(windows: Locator) -> None:
    shown(windows, "6 x 6 = 36 places")
    stride = windows.get_by_role("spinbutton", name="Stride")
    stride.fill("2")
    stride.press("Enter")
    assert "in no window: row 7, column 7" in shown(windows, "3 x 3 = 9 places")
    stride.press("ArrowDown")
    shown(windows, "6 x 6 = 36 places")


def test_a_number_beyond_its_limits_becomes_the_nearest_that_there_is(windows: Locator) -> None:
    window = windows.get_by_role("spinbutton", name="Window")
    window.fill("99")
    window.press("Enter")
    windows.page.wait_for_function("element => element.value === '36'", arg=window.element_handle())
    stride = windows.get_by_role("spinbutton", name="Stride")
    stride.fill("2")
    stride.press("Enter")
    windows.page.wait_for_function("element => element.value === '9'", arg=window.element_handle())
