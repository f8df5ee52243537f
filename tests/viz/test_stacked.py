"""Several pictures as one: nothing of them is lost, and each lies where there is room for it."""

from __future__ import annotations

import pytest

from tests.viz.examples import texts
from tests.viz.geometry import assert_readable
from tinyburn.viz import Picture
from tinyburn.viz.stacked import stacked
from tinyburn.viz.svg import Tip, page, parts_of, text, without_tips


def drawn(words: str, width: float, height: float) -> Picture:
    tips = [Tip(1, 2, 3, 4, f"tip of {words}")]
    body = [text(5, 12, words), text(5, 36, f"below {words}")]
    svg = page(width, height, words, body, "<g id='it'/>", ".mine{fill:none}", tips)
    return Picture(f"title of {words}", f"text of {words}", svg)


def both() -> Picture:
    return stacked("Two of them", {"first": drawn("one", 300, 40), "second": drawn("two", 200, 60)})


def test_the_text_has_the_name_the_title_and_the_text_of_each() -> None:
    assert repr(both()) == ("Two of them\n\nfirst: title of one\n\ntext of one\n\nsecond: title of two\n\ntext of two")


def test_all_words_are_there_and_none_meets_another_or_leaves_the_page() -> None:
    assert texts(both()) == ["Two of them", "first", "one", "below one", "second", "two", "below two"]
    assert_readable(both())


def test_tips_move_with_their_drawing() -> None:
    """The caption of the first begins 28 below the margin of 16 and is 26 high; then come 40 of it, and 10 between."""
    assert without_tips(both().svg)[1] == [Tip(1, 72, 3, 4, "tip of one"), Tip(1, 148, 3, 4, "tip of two")]


@pytest.mark.parametrize("body", [[], [text(1, 2, "a"), text(3, 4, "b")]])
def test_a_page_comes_apart_into_what_it_was_made_of(body: list[str]) -> None:
    svg = page(300.5, 40, "title", body, "<g id='it'/>", ".mine{fill:none}", [Tip(1, 2, 3, 4, "a tip")])
    parts = parts_of(svg)
    assert parts.size == (300.5, 40)
    assert (parts.body, parts.definitions, parts.style) == (body, "<g id='it'/>", ".mine{fill:none}")
