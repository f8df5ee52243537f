"""The pictures of a page, as the browser shows them, and those that a notebook's file has."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page

SCRIPT = Path(__file__).with_name("pictures.js")
INSIDE = (4, 24)
"""Pixels from a picture's upper left corner to its paper, below the shadow of JupyterLab's toolbar."""


@dataclass(frozen=True)
class Shown:
    """A picture on a page.

    Attributes:
        is_drawing: an SVG of ours, and no bitmap.
        shown: width and height on the page.
        drawn: its own width and height.
        tips: the texts of the tips that lie over it.
    """

    alt: str
    is_drawing: bool
    shown: list[int]
    drawn: list[int]
    tips: list[str]

    @property
    def words(self) -> tuple[str, list[str]]:
        """All its text that is not drawn."""
        return self.alt, self.tips


def pictures(page: Page, root: str) -> list[Shown]:
    """The pictures in the outputs below an element, from top to bottom, when all of them have been read."""
    return [Shown(**found) for found in page.evaluate("root => pictures.list(root)", root)]


def paper(page: Page, root: str, number: int) -> str:
    """The colour of a picture's paper, as it is on the screen."""
    left, top = page.evaluate("([root, number]) => pictures.corner(root, number)", [root, number])
    pixel = {"x": left + INSIDE[0], "y": top + INSIDE[1], "width": 1, "height": 1}
    with Image.open(io.BytesIO(page.screenshot(clip=pixel))) as shot:
        colour: Any = shot.convert("RGB").getpixel((0, 0))
    return "#" + bytes(colour).hex()


def stored_words(path: Path) -> list[tuple[str, list[str]]]:
    """`Shown.words` of each picture that a notebook's file has."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    data = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    found = []
    for html in ["".join(one["text/html"]) for one in data if "text/html" in one]:
        for piece in html.split("<img ")[1:]:
            (alt,) = re.findall(r'^alt="([^"]*)"', piece)
            found.append((unescape(alt), [unescape(tip) for tip in re.findall(r'title="([^"]*)"', piece)]))
    return found
