"""The notebooks as the project stores them: untrusted and with no kernel, they show every picture as it was drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from .jupyterlab import HEIGHT, THEMES, WIDTHS, Notebook, opened, set_theme
from .pictures import stored_words
from .server import STORED, Lab

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notebook(page: Page, path: Path) -> Notebook:
    """Open, with nothing of it run."""
    return opened(page, f"{STORED}/{path.name}", kernel=False)


@pytest.mark.parametrize("width", WIDTHS)
def test_its_pictures_have_words_and_their_own_size(notebook: Notebook, path: Path, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHT})
    found = notebook.pictures
    assert [picture.words for picture in found] == stored_words(path)
    assert all(picture.alt for picture in found)
    assert [picture.shown for picture in found] == [picture.drawn for picture in found]
    assert all(min(picture.drawn) > 0 for picture in found)


@pytest.mark.parametrize("theme", THEMES)
def test_its_pictures_follow_the_theme(notebook: Notebook, page: Page, theme: str) -> None:
    page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
    set_theme(page, theme)
    drawings = [number for number, picture in enumerate(notebook.pictures) if picture.is_drawing]
    assert {number: notebook.paper(number) for number in drawings} == dict.fromkeys(drawings, THEMES[theme])


def test_nothing_is_trusted_for_it(notebook: Notebook, lab: Lab, page: Page) -> None:
    assert not any(cell.is_trusted for cell in notebook.cells if cell.is_code)
    assert lab.trusted == 0
    assert page.locator(".jp-Dialog").count() == 0
