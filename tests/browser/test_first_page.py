"""`tinyburn lab` opens the first page, its pictures show, and nothing is trusted for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

from .jupyterlab import HEIGHT, WIDTHS, keep_screenshot, started_page
from .pictures import pictures
from .server import Lab


@pytest.fixture(scope="module")
def page(browser: Browser, lab: Lab) -> Iterator[Page]:
    """A window of its own, in which nobody has opened anything else."""
    page = started_page(browser, lab)
    yield page
    page.close()


def test_a_taken_port_is_left_alone(lab: Lab) -> None:
    assert f":{lab.asked_port}/" not in lab.address


def test_the_address_is_that_of_the_first_page(lab: Lab) -> None:
    assert "/lab/tree/tinyburn-course/index.ipynb?token=" in lab.address


def test_the_first_page_shows_with_its_pictures_and_without_trust(lab: Lab, page: Page) -> None:
    assert page.inner_text(".jp-Notebook h1").startswith("tinyburn")
    page.wait_for_selector(".jp-OutputArea-output img")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        found = pictures(page, ".jp-Notebook")
        assert found
        assert all(picture.alt and picture.shown == picture.drawn for picture in found)
    assert lab.trusted == 0


def test_jupyterlab_asks_no_questions(page: Page) -> None:
    """It would ask each new reader whether it may fetch news."""
    assert page.get_by_text("Jupyter news").count() == 0
    assert page.locator(".jp-Dialog").count() == 0


def test_the_screen_is_kept_under_the_name_of_a_test(page: Page, tmp_path: Path) -> None:
    kept = keep_screenshot(page, tmp_path / "new", "test_it[01_payload-JupyterLab Dark]")
    assert kept == tmp_path / "new" / "test_it_01_payload_JupyterLab_Dark.png"
    with Image.open(kept) as shot:
        assert shot.size == tuple(page.viewport_size.values())
