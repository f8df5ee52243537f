"""Pictures as files: a drawing, a page, a text, and a bitmap where something on the machine can draw one."""

from __future__ import annotations

import os
import re
import shutil
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.viz.examples import training_step
from tinyburn import BackendUnavailable, ConfigError, viz
from tinyburn.viz import Picture, screenshot
from tinyburn.viz.svg import DARK, LIGHT, in_theme

BROWSER = next(filter(None, map(shutil.which, screenshot.BROWSERS)), None)


def example() -> Picture:
    loss, names = training_step()
    return viz.graph(loss, **names)


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text inside of each."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open:
            self.words[self._open[-1]] = self.words.get(self._open[-1], "") + data


def test_a_page_has_the_title_the_drawing_its_tips_and_the_table(tmp_path: Path) -> None:
    picture = Picture('a < b & "c"', "name  bytes\n<x>      12", example().svg)
    picture.save(tmp_path / "picture.html")
    source = (tmp_path / "picture.html").read_bytes().decode()
    page = Elements(source)
    assert page.words["title"] == picture.title
    assert page.words["pre"] == picture.text
    (image,) = [attributes for tag, attributes in page.found if tag == "img"]
    assert image["alt"] == picture.title
    tips = re.findall(r'<span style="[^"]+" title="([^"]+)">', source)
    assert any("formula: x @ W" in unescape(tip) for tip in tips)


def test_a_page_needs_nothing_from_outside_and_follows_the_readers_theme(tmp_path: Path) -> None:
    example().save(tmp_path / "picture.html")
    source = (tmp_path / "picture.html").read_text(encoding="utf-8")
    assert source.startswith("<!doctype html>")
    assert not re.search(r"<script|<link|@import|url\(http", source)
    assert all(tag != "a" for tag, _ in Elements(source).found)
    assert ("meta", {"name": "color-scheme", "content": "light dark"}) in Elements(source).found
    dark = source.partition("@media (prefers-color-scheme:dark)")[2]
    assert f"background:{DARK['paper']};color:{DARK['ink']}" in dark


def test_a_text_and_a_drawing_are_what_the_picture_has(tmp_path: Path) -> None:
    picture = example()
    picture.save(tmp_path / "picture.txt")
    picture.save(str(tmp_path / "picture.SVG"))
    assert (tmp_path / "picture.txt").read_bytes().decode() == f"{picture!r}\n"
    assert (tmp_path / "picture.SVG").read_bytes().decode() == picture.svg


def test_in_a_theme_the_colours_are_fixed() -> None:
    svg = example().svg
    light, dark = in_theme(svg, False), in_theme(svg, True)
    for drawing in (light, dark):
        assert "@media" not in drawing
        ElementTree.fromstring(drawing)
    ink = re.compile(r"\.ink\{fill:(#\w+)\}")
    assert ink.findall(light) == [LIGHT["ink"]]
    assert ink.findall(dark) == [LIGHT["ink"], DARK["ink"]], "of two rules the last one counts"
    assert light.count("{") == light.count("}")


@pytest.mark.parametrize(
    ("name", "dark", "reasons"), [("x.pdf", False, 1), ("x", False, 1), ("x.svg", True, 1), ("x.pdf", True, 2)]
)
def test_what_has_no_form(name: str, dark: bool, reasons: int, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"end the name in \.svg, \.png, \.html or \.txt") as raised:
        example().save(tmp_path / name, dark=dark)
    assert str(raised.value).count("because") == reasons
    assert not list(tmp_path.iterdir())


# A bitmap


@pytest.fixture
def without_resvg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)


@pytest.mark.usefixtures("without_resvg")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_browser_draws_it_twice_as_large_in_the_theme_that_was_asked_for(dark: bool, tmp_path: Path) -> None:
    if BROWSER is None:
        assert "TINYBURN_NEED_BROWSER" not in os.environ
        pytest.skip("no browser on this machine")
    image = pytest.importorskip("PIL.Image")
    picture = example()
    picture.save(tmp_path / "picture.png", dark=dark)
    drawn = image.open(tmp_path / "picture.png")
    width, height = (float(number) for number in re.findall(r'viewBox="0 0 (\S+) (\S+)"', picture.svg)[0])
    assert drawn.width == pytest.approx(2 * width, abs=2)
    assert drawn.height == pytest.approx(2 * height, abs=2)
    paper = (DARK if dark else LIGHT)["paper"]
    assert drawn.convert("RGB").getpixel((4, 4)) == tuple(bytes.fromhex(paper[1:]))
    assert len(set(drawn.convert("RGB").tobytes())) > 20, "there is more on it than paper"


def test_a_package_that_can_draw_is_asked_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The call as resvg-py 0.5 has it, by its documentation; what it draws was looked at by hand."""
    asked: list[Any] = []
    library = SimpleNamespace(svg_to_bytes=lambda *, svg_string, zoom: asked.append((svg_string, zoom)) or [1, 2, 3])
    monkeypatch.setitem(sys.modules, "resvg_py", library)
    picture = example()
    picture.save(tmp_path / "picture.png", dark=True)
    assert (tmp_path / "picture.png").read_bytes() == bytes([1, 2, 3])
    ((svg, zoom),) = asked
    assert zoom == 2
    assert "@media" not in svg
    assert 'class="tip"' not in svg


@pytest.mark.usefixtures("without_resvg")
def test_a_machine_that_cannot_draw_says_the_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(screenshot, "BROWSERS", ("no-such-browser",))
    with pytest.raises(BackendUnavailable, match=r"save it as \.svg or \.html") as raised:
        example().save(tmp_path / "picture.png")
    assert "resvg-py is not installed" in str(raised.value)
    assert "no browser was found: looked for no-such-browser" in str(raised.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("without_resvg")
@pytest.mark.skipif(os.name == "nt", reason="the browser is a shell script")
def test_a_browser_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text("#!/bin/sh\necho first >&2\necho no display >&2\nexit 3\n")
    browser.chmod(0o755)
    monkeypatch.setattr(screenshot, "BROWSERS", (str(browser),))
    with pytest.raises(BackendUnavailable, match=r"browser drew nothing: no display"):
        example().save(tmp_path / "picture.png")
    assert not (tmp_path / "picture.png").exists()
