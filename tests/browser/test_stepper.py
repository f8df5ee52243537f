"""The stepper in JupyterLab: while it runs it hides the still picture, and keys and buttons lead through the steps."""

from __future__ import annotations

from collections.abc import Iterator

import nbformat
import pytest
from playwright.sync_api import Browser, Page

from tests.widgets.test_stepper import PROGRAM

from .jupyterlab import KERNEL, opened, started_page
from .server import Lab

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(browser: Browser, lab: Lab) -> Iterator[Page]:
    """A window of its own, with a notebook in which a stepper has been run."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(PROGRAM)], metadata=KERNEL)
    nbformat.write(notebook, lab.home / "stepper.ipynb")
    page = started_page(browser, lab)
    opened(page, "stepper.ipynb", kernel=True).run()
    page.wait_for_selector(".tinyburn-live img")
    yield page
    page.close()


def shown_step(page: Page, number: int) -> str:
    """The title of a step, once it is shown."""
    status = page.locator('.tinyburn-live [role="status"]', has_text=f"Step {number} of 7")
    status.wait_for()
    return status.inner_text()


def test_the_widget_is_shown_and_the_still_picture_is_not(page: Page) -> None:
    assert page.locator(".tinyburn-live img").is_visible()
    assert page.locator(".tinyburn-still").count() == 1
    assert not page.locator(".tinyburn-still").is_visible()
    assert page.locator(".tinyburn-live img").get_attribute("alt") == shown_step(page, 1)


def test_arrow_keys_and_buttons_go_on_and_back(page: Page) -> None:
    page.locator(".tinyburn-live .noUi-handle").focus()
    page.keyboard.press("ArrowRight")
    assert "t1 = w * 2" in shown_step(page, 2)
    page.get_by_role("button", name="Next step").click()
    assert "loss = t1 ** 2" in shown_step(page, 3)
    page.get_by_role("button", name="Previous step").focus()
    page.keyboard.press("Enter")
    shown_step(page, 2)
    assert page.get_by_role("spinbutton", name="Step").input_value() == "2"


def test_it_plays_to_the_end_and_its_button_says_what_it_does(page: Page) -> None:
    page.get_by_role("spinbutton", name="Step").fill("6")
    page.keyboard.press("Enter")
    shown_step(page, 6)
    page.get_by_role("button", name="Play").click()
    assert "w gets g * 2" in shown_step(page, 7)
    page.get_by_role("button", name="Play").wait_for()
