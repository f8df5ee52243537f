"""The site, built by its one command: every link leads somewhere, nothing comes from the network, pictures show."""

from __future__ import annotations

import inspect
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from importlib import import_module
from itertools import chain
from pathlib import Path
from posixpath import dirname, join, normpath
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pytest

import tinyburn
from tests.browser import chromium
from tests.course.lessons import LESSONS

pytest.importorskip("sphinx", reason="building the site needs the extra docs")
pytestmark = pytest.mark.variants

LINK = re.compile(r'<(?P<tag>\w+)\b[^>]*?\s(?:href|src)="(?P<target>[^"]*)"', re.DOTALL)
PLACE = re.compile(r'\s(?:id|name)="([^"]*)"')
PICTURE = re.compile(r'<img alt="[^"]*"[^>]* src="data:image/svg')
TIP = re.compile(r'<span style="[^"]*" title="')
REFERENCE = sorted(path.stem for path in (Path(__file__).parents[2] / "docs" / "api").glob("*.md"))
PACKAGES = [name for name in REFERENCE if name not in ("index", "base")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the pages are. A warning would have failed the command."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "tinyburn", "docs", str(folder), "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(f"The site is in {folder / 'html' / 'index.html'}\n")
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, str]:
    """The text of each page, by its path."""
    return {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}


def test_every_link_leads_to_a_place_that_is_there(site: Path, pages: dict[str, str]) -> None:
    places = {page: {unescape(name) for name in PLACE.findall(text)} for page, text in pages.items()}
    missing = []
    for page, text in pages.items():
        for target in {unescape(link["target"]) for link in LINK.finditer(text)}:
            if not re.match(r"[a-z]+:", target):
                path, _, place = target.partition("#")
                file = normpath(join(dirname(page), unquote(path.partition("?")[0]))) if path else page
                if not (site / file).is_file() or (place and unquote(place) not in places.get(file, ())):
                    missing.append(f"{page}: {target}")
    assert missing == []


def test_nothing_comes_from_the_network(pages: dict[str, str]) -> None:
    loaded = {
        f"{page}: {link['target'][:80]}"
        for page, text in pages.items()
        for link in LINK.finditer(text)
        if link["tag"] != "a" and re.match("(https?:)?//", link["target"])
    }
    assert loaded == set()


# What is on it


def test_the_course_is_there_in_its_order(pages: dict[str, str]) -> None:
    listed = re.findall(r'href="\.\./notebooks/([\w-]+)\.html"', pages["docs/index.html"])
    assert list(dict.fromkeys(name for name in listed if name != "index")) == [lesson.path.stem for lesson in LESSONS]


@pytest.mark.parametrize("notebook", [lesson.path for lesson in LESSONS], ids=lambda path: path.name)
def test_a_lesson_has_every_picture_every_tip_and_every_formula(notebook: Path, pages: dict[str, str]) -> None:
    page = pages[f"notebooks/{notebook.stem}.html"]
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    stored = "".join(chain.from_iterable(map(drawn, cells)))
    assert len(PICTURE.findall(page)) == len(PICTURE.findall(stored)) > 0
    assert len(TIP.findall(page)) == len(TIP.findall(stored))
    texts = "".join(chain.from_iterable(cell["source"] for cell in cells if cell["cell_type"] == "markdown"))
    formulas = re.findall(r"\$\$.+?\$\$|\$[^$]+\$", re.sub(r"`[^`]*`", "", texts), re.DOTALL)
    assert page.count("<math ") == len(formulas)


def drawn(cell: dict[str, Any]) -> list[str]:
    """The lines of HTML that a cell shows."""
    outputs = [output.get("data", {}).get("text/html", []) for output in cell.get("outputs", [])]
    return list(chain.from_iterable(outputs))


@pytest.mark.parametrize("name", PACKAGES)
def test_the_reference_has_every_public_name_of_a_package(name: str, pages: dict[str, str]) -> None:
    there = referred(pages[f"docs/api/{name}.html"])
    assert set(names_of(import_module(f"tinyburn.{name}"))) - there == set()


def test_the_reference_has_every_public_name_of_tinyburn(pages: dict[str, str]) -> None:
    there = set(chain.from_iterable(referred(pages[f"docs/api/{name}.html"]) for name in REFERENCE))
    types = {"Shape", *(f"D{rank}" for rank in range(1, 7))}  # the reference's first page explains them
    assert set(names_of(tinyburn)) - there == types
    assert {name for name in tinyburn.__all__ if isinstance(getattr(tinyburn, name), ModuleType)} <= set(PACKAGES)


NAME = re.compile(r"tinyburn(?:\.[a-z0-9_]+)*\.(\w+)")


def referred(page: str) -> set[str]:
    """What a page says the meaning of; methods aside."""
    return {name[1] for place in PLACE.findall(page) if (name := NAME.fullmatch(place))}


def names_of(package: ModuleType) -> list[str]:
    """Those that a package offers; a module without a list of them offers its functions."""
    functions = {name: found for name, found in vars(package).items() if inspect.isfunction(found)}
    own = [name for name, found in functions.items() if found.__module__ == package.__name__]
    names = getattr(package, "__all__", [name for name in own if not name.startswith("_")])
    return [name for name in names if not isinstance(getattr(package, name), ModuleType)]


def test_the_source_of_a_linked_file_has_a_page(pages: dict[str, str]) -> None:
    lesson = pages["notebooks/03_gradients.html"]
    assert 'href="../source/tinyburn.autodiff.backward.py.html"' in lesson
    assert "def backward_order" in re.sub("<[^>]*>", "", pages["source/tinyburn.autodiff.backward.py.html"])


# In a browser

PAGES = ["docs/index.html", "docs/gallery.html", "notebooks/05_training_step.html"]
SVGS = "article img[src^='data:image/svg'], article img[src$='.svg']"
SIZES = "images => images.map(image => [image.clientWidth, image.naturalWidth])"
TIP_AT_ITS_PLACE = """tip => {
    tip.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
    const box = tip.getBoundingClientRect();
    return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) === tip;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium."""
    with chromium() as started:
        yield started


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [1280, 800])
def test_pictures_show_and_keep_their_size(page: str, width: int, site: Path, browser: Any) -> None:
    shown = browser.new_page(viewport={"width": width, "height": 900})
    shown.goto((site / page).as_uri())
    sizes = shown.eval_on_selector_all(SVGS, SIZES)
    assert sizes
    assert all(drawn == natural > 0 for drawn, natural in sizes), "a picture, and its text, was made smaller"
    assert shown.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (
        "the page itself scrolls sideways"
    )
    shown.close()


@pytest.mark.parametrize("page", PAGES)
def test_pictures_follow_the_theme_of_the_system_and_that_of_the_button(page: str, site: Path, browser: Any) -> None:
    for scheme in ("light", "dark"):
        shown = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
        shown.goto((site / page).as_uri())
        assert is_dark(shown) == (scheme == "dark")
        other = "light" if scheme == "dark" else "dark"
        shown.evaluate(f"document.body.dataset.theme = '{other}'")  # what furo's button does
        assert is_dark(shown) == (other == "dark")
        shown.close()


def is_dark(shown: Any) -> bool:
    """Whether the first picture of a page is drawn for a dark theme."""
    from PIL import Image

    with Image.open(io.BytesIO(shown.locator(SVGS).first.screenshot())) as picture:
        grey = picture.convert("L")
        return sum(grey.histogram()[:128]) > grey.width * grey.height / 2


def test_a_tip_is_found_by_the_mouse_over_its_box(site: Path, browser: Any) -> None:
    shown = browser.new_page(viewport={"width": 1280, "height": 900})
    shown.goto((site / "notebooks/05_training_step.html").as_uri())
    assert shown.locator("article span[title]").first.evaluate(TIP_AT_ITS_PLACE)
    shown.close()


def test_search_finds_a_lesson_and_a_name_of_the_reference(site: Path, browser: Any) -> None:
    for asked, found in {"checkpointing": "07_recompute.html", "max_batch_size": "memory.html"}.items():
        shown = browser.new_page()
        shown.goto(f"{(site / 'search.html').as_uri()}?q={asked}")
        shown.wait_for_selector(f"#search-results a[href*='{found}']", timeout=30_000)
        shown.close()
