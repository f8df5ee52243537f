"""Where the words of a picture stand: none leaves the page, and no two meet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from xml.etree import ElementTree

from tinyburn.viz import Picture
from tinyburn.viz.svg import CHARACTER

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Words:
    """One line of text by its box, in pixels."""

    content: str
    left: float
    right: float
    base: float


def words_of(picture: Picture) -> list[Words]:
    """Every line of text; groups can be moved, and used again by their names, and nothing else."""
    root = ElementTree.fromstring(picture.svg)
    named = {f"#{element.get('id')}": element for element in root.iter() if element.get("id")}
    return list(_walk(root, 0.0, 0.0, named))


def _walk(
    element: ElementTree.Element, right: float, down: float, named: dict[str, ElementTree.Element]
) -> Iterator[Words]:
    if element.tag == f"{SVG}defs":
        return
    if element.tag == f"{SVG}use":
        yield from _walk(named[element.get("href", "")], right, down, named)
    moved = re.fullmatch(r"translate\(([-\d.]+) ([-\d.]+)\)", element.get("transform", ""))
    if moved:
        right, down = right + float(moved[1]), down + float(moved[2])
    if element.tag == f"{SVG}text" and element.text:
        width = len(element.text) * (7.9 if "title" in element.get("class", "") else CHARACTER)
        share = {"start": 0.0, "middle": 0.5, "end": 1.0}[element.get("text-anchor", "start")]
        left = right + float(element.get("x", "")) - share * width
        yield Words(element.text, left, left + width, down + float(element.get("y", "")))
    for child in element:
        yield from _walk(child, right, down, named)


def assert_readable(picture: Picture) -> None:
    """No line of text leaves the page, and no two of them meet."""
    root = ElementTree.fromstring(picture.svg)
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    words = words_of(picture)
    for each in words:
        assert each.left >= 0, each
        assert each.right <= width, each
        assert 8 <= each.base <= height, each
    for one, other in combinations(words, 2):
        is_apart = abs(one.base - other.base) >= 10 or one.right <= other.left or other.right <= one.left
        assert is_apart or one == other, (one, other)  # a box that stands out is drawn over itself
