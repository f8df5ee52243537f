"""The stepper in JupyterLab: while it runs it hides the still picture, and keys and buttons lead through the steps."""

from __future__ import annotations

from collections.abc import Iterator

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.widgets.test_stepper import PROGRAM

from .jupyterlab import KERNEL, opened, started_page
from .server import Lab

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(browser: Browser, lab: Lab) -> Iterator[Page]:
    """A window of its own. It may open what another one has open."""
    cells = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(PROGRAM)], metadata=KERNEL)
    nbformat.write(cells, lab.home / "stepper.ipynb")
    page = started_page(browser, lab)
    yield page
    page.close()


@pytest.fixture(scope="module")
def stepper(page: Page) -> Locator:
    """A notebook in which a stepper has been run."""
    notebook = opened(page, "stepper.ipynb", kernel=True)
    notebook.run()
    found = page.locator(notebook.root)
    found.locator(".tinyburn-live img").wait_for()
    return found


def shown_step(stepper: Locator, number: int) -> str:
    """The title of a step, once it is shown."""
    status = stepper.locator('.tinyburn-live [role="status"]', has_text=f"Step {number} of 7")
    status.wait_for(state="attached")  # it is for a screen reader, and not seen
    return status.text_content() or ""


def test_the_widget_is_shown_and_the_still_picture_is_not(stepper: Locator) -> None:
    assert stepper.locator(".tinyburn-live img").is_visible()
    assert stepper.locator(".tinyburn-still").count() == 1
    assert not stepper.locator(".tinyburn-still").is_visible()
    assert stepper.locator(".tinyburn-live img").get_attribute("alt") == shown_step(stepper, 1)


def test_arrow_keys_and_buttons_go_on_and_back(stepper: Locator) -> None:
    stepper.locator(".tinyburn-live .noUi-handle").focus()
    stepper.page.keyboard.press("ArrowRight")
    assert "t1 = w * 2" in shown_step(stepper, 2)
    stepper.get_by_role("button", name="Next step").click()
    assert "loss = t1 ** 2" in shown_step(stepper, 3)
    stepper.get_by_role("button", name="Previous step").focus()
    stepper.page.keyboard.press("Enter")
    shown_step(stepper, 2)
    assert stepper.get_by_role("spinbutton", name="Step").input_value() == "2"


def test_it_plays_to_the_end_and_its_button_says_what_it_does(stepper: Locator) -> None:
    stepper.get_by_role("spinbutton", name="Step").fill("6")
    stepper.page.keyboard.press("Enter")
    shown_step(stepper, 6)
    stepper.get_by_role("button", name="Play").click()
    assert "w gets g * 2" in shown_step(stepper, 7)
    stepper.get_by_role("button", name="Play").wait_for()
