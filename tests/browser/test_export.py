"""A notebook as a page that nbconvert makes: the same pictures, in a browser that likes it light or dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, Page

from tinyburn.viz.svg import DARK, LIGHT

from . import pictures
from .jupyterlab import HEIGHT, WIDTHS

pytestmark = pytest.mark.browser

PAPERS = {"light": LIGHT["paper"], "dark": DARK["paper"]}


@pytest.fixture(scope="module")
def page(browser: Browser, path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The exported page, offline."""
    exported = tmp_path_factory.mktemp("export") / f"{path.stem}.html"
    html, _ = HTMLExporter().from_filename(str(path))
    exported.write_text(html, encoding="utf-8")
    page = browser.new_page(offline=True, viewport={"width": WIDTHS[0], "height": HEIGHT})
    page.add_init_script(path=pictures.SCRIPT)
    page.goto(exported.as_uri())
    yield page
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_has_the_pictures_of_the_notebook(page: Page, path: Path, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    found = pictures.pictures(page, "body")
    assert [picture.words for picture in found] == pictures.stored_words(path)
    assert [picture.shown for picture in found] == [picture.drawn for picture in found]
    drawing = next(number for number, picture in enumerate(found) if picture.is_drawing)
    assert pictures.paper(page, "body", drawing) == PAPERS[scheme]
