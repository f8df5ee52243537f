"""Several pictures as one: nothing of them is lost, and each lies where there is room for it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from tinyburn.viz import Picture
from tinyburn.viz.stacked import stacked
from tinyburn.viz.svg import Tip, page, text, without_tips


def drawn(words: str, width: float, height: float) -> Picture:
    tips = [Tip(1, 2, 3, 4, f"tip of {words}")]
    return Picture(f"title of {words}", f"text of {words}", page(width, height, words, [text(5, 12, words)], tips=tips))


def both() -> Picture:
    return stacked("Two of them", {"first": drawn("one", 300, 40), "second": drawn("two", 200, 60)})


def test_the_text_has_the_name_the_title_and_the_text_of_each() -> None:
    first, second = (f"{name}: title of {words}\n\ntext of {words}" for name, words in (("first", "one"), ("second", "two")))
    assert repr(both()) == f"Two of them\n\n{first}\n\n{second}"


def test_no_drawing_lies_on_another_or_outside_the_page() -> None:
    root = ElementTree.fromstring(both().svg)
    inside = root.findall("{http://www.w3.org/2000/svg}svg")
    places = [(float(each.get("y", "0")), float(each.get("height", "0"))) for each in inside]
    assert [high for _, high in places] == [40, 60]
    assert places[0][0] + 40 <= places[1][0]
    assert places[1][0] + 60 <= float(root.get("height", "0"))
    assert float(root.get("width", "0")) >= 300


def test_tips_move_with_their_drawing() -> None:
    picture = both()
    plain, tips = without_tips(picture.svg)
    tops = [float(y) for y in re.findall(r'<svg y="(\S+)"', plain)]
    assert tips == [Tip(1, 2 + top, 3, 4, f"tip of {words}") for top, words in zip(tops, ("one", "two"), strict=True)]
