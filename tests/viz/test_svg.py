"""One colour language: told apart without colour, and seen on both papers."""

from __future__ import annotations

import pytest

from tinyburn.backend import Category
from tinyburn.viz.svg import DARK, LIGHT, MARKS, number


def luminance(colour: str) -> float:
    """WCAG 2.2's relative luminance of an sRGB colour."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2's contrast ratio, from 1 to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_ratio_is_that_of_the_standard() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_lines_can_be_seen(theme: dict[str, str]) -> None:
    for ground in (theme["paper"], theme["fill"]):
        assert contrast(theme["ink"], ground) >= 7
        assert contrast(theme["soft"], ground) >= 4.5
        assert contrast(theme["line"], ground) >= 3


@pytest.mark.parametrize("category", Category)
def test_each_category_can_be_seen_on_both_papers(category: Category) -> None:
    for theme in (LIGHT, DARK):
        assert contrast(MARKS[category].colour, theme["paper"]) >= 3


def test_no_category_needs_its_colour() -> None:
    letters = [mark.letter for mark in MARKS.values()]
    hatches = [mark.hatch for mark in MARKS.values()]
    assert len(set(letters)) == len(set(hatches)) == len(Category)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.0, "0"), (-0.04, "0"), (1.0, "1"), (10.04, "10"), (-0.06, "-0.1"), (2.25, "2.2")],
)
def test_coordinates_are_short(value: float, text: str) -> None:
    assert number(value) == text
