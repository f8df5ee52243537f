"""One colour language: seen on both papers, and told apart in every kind of colour vision, or without colour."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tests.viz.colours import VISIONS, blended, contrast, distance, lab
from tests.viz.painted import Shape, ground_at, shapes_of
from tests.viz.test_readable import PICTURES
from tinyburn.backend import Category
from tinyburn.viz.cells import NEGATIVE, POSITIVE
from tinyburn.viz.svg import DARK, LIGHT, MARKS, Mark, page, rect, text

THEMES = {"light": LIGHT, "dark": DARK}
GROUNDS = {"paper", "fill", "tip"}
"""Classes of what has others on it: to see them is enough."""
NEAR = 20.0
"""Colours that are nearer than this look alike in small boxes: 2.3 can just be noticed side by side."""
TURNED = 30
"""Degrees between two hatches that are told apart at a glance."""

each_theme = pytest.mark.parametrize("theme", THEMES)
each_vision = pytest.mark.parametrize("vision", VISIONS)


# Every picture


def grounds_of(words: Shape, below: list[Shape]) -> set[str]:
    """The colours that a line of text has behind it: its own halo, or what lies below its ends and its middle."""
    if words.stroke.colour is not None:
        return {words.stroke.colour}
    assert words.box is not None
    left, top, right, bottom = words.box
    return {ground_at(below, x, (top + bottom) / 2) for x in (left + 1, (left + right) / 2, right - 1)}


@each_theme
@pytest.mark.parametrize("name", PICTURES)
def test_text_can_be_read_on_what_is_behind_it(name: str, theme: str) -> None:
    """WCAG 2.2, 1.4.3: at least 4.5 to 1."""
    shapes = shapes_of(PICTURES[name]().svg, dark=theme == "dark")
    lines = [(at, shape) for at, shape in enumerate(shapes) if shape.kind == "text"]
    assert lines
    for at, line in lines:
        assert line.fill.colour is not None
        for ground in grounds_of(line, shapes[:at]):
            assert contrast(line.fill.colour, ground) >= 4.5, (line.words, line.fill.colour, ground)


@each_theme
@pytest.mark.parametrize("name", PICTURES)
def test_each_mark_can_be_seen_by_its_area_or_its_outline(name: str, theme: str) -> None:
    """WCAG 2.2, 1.4.11: at least 3 to 1.

    A colour that something shows through is the size of a number, which the cell has in digits too, or a line of help.
    """
    shapes = shapes_of(PICTURES[name]().svg, dark=theme == "dark")
    marks = [shape for shape in shapes if shape.kind not in ("text", "image") and not GROUNDS & {*shape.classes}]
    assert marks
    for mark in marks:
        colours = [paint.colour for paint in (mark.fill, mark.stroke) if paint.colour is not None]
        is_solid = all(paint.opacity == 1 for paint in (mark.fill, mark.stroke))
        seen = max(contrast(colour, THEMES[theme]["paper"]) for colour in colours)
        assert seen >= 3 or not is_solid, mark


@each_theme
def test_text_and_lines_can_be_seen(theme: str) -> None:
    colours = THEMES[theme]
    for ground in (colours["paper"], colours["fill"]):
        assert contrast(colours["ink"], ground) >= 7
        assert contrast(colours["soft"], ground) >= 4.5
        assert contrast(colours["line"], ground) >= 3


# Categories and signs


@each_theme
@pytest.mark.parametrize("category", Category)
def test_each_category_can_be_seen_on_both_papers(category: Category, theme: str) -> None:
    assert contrast(MARKS[category].colour, THEMES[theme]["paper"]) >= 3


def test_no_category_needs_its_colour() -> None:
    letters = [mark.letter for mark in MARKS.values()]
    hatches = [mark.hatch for mark in MARKS.values()]
    assert len(set(letters)) == len(set(hatches)) == len(Category)


def turn(one: Mark, other: Mark) -> float:
    """Degrees between two hatches, which are lines; a hatch and none are as different as can be."""
    if one.hatch is None or other.hatch is None:
        return 0 if one.hatch == other.hatch else 90
    apart = abs(one.hatch - other.hatch) % 180
    return min(apart, 180 - apart)


@each_vision
def test_categories_whose_colours_are_near_have_other_hatches(vision: str) -> None:
    near = [
        (one, other)
        for one, other in combinations(MARKS.values(), 2)
        if distance(one.colour, other.colour, vision) < NEAR
    ]
    assert len(near) <= 2, "most categories are told apart by their colours"
    for one, other in near:
        assert one.letter != other.letter
        assert turn(one, other) >= TURNED, (one, other)


@each_vision
def test_the_two_signs_are_told_apart(vision: str) -> None:
    assert distance(POSITIVE, NEGATIVE, vision) >= 2 * NEAR


# The numbers and the reader themselves


def test_the_ratio_is_that_of_the_standard() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize(
    ("colour", "values"),
    [
        ("#ffffff", (100, 0, 0)),
        ("#000000", (0, 0, 0)),
        ("#ff0000", (53.2, 80.1, 67.2)),
        ("#0000ff", (32.3, 79.2, -107.9)),
    ],
)
def test_lab_is_that_of_the_tables(colour: str, values: tuple[float, float, float]) -> None:
    """The values of the primaries of sRGB under D65, as colour libraries print them."""
    np.testing.assert_allclose(lab(colour), values, atol=0.1)


@each_vision
def test_grey_looks_the_same_to_everybody(vision: str) -> None:
    np.testing.assert_allclose(VISIONS[vision].sum(axis=1), 1, atol=2e-6)
    assert distance("#777777", "#777777", vision) == 0


def test_who_sees_no_red_takes_dark_red_for_black_and_who_sees_all_does_not() -> None:
    assert distance("#400000", "#000000", "protanope") < NEAR < distance("#400000", "#000000", "trichromat")


def test_half_of_black_over_white_is_grey() -> None:
    assert blended("#000000", "#ffffff", 0.5) == "#808080"
    assert blended("#123456", "#ffffff", 1) == "#123456"


def test_the_reader_of_pictures_applies_the_theme_the_style_and_the_place() -> None:
    body = [
        '<g transform="translate(10 20)">',
        rect(0, 0, 30, 20, "own", extra='fill="#abc" fill-opacity="0.5"'),
        text(5, 12, "abc", "soft"),
        "</g>",
        rect(0, 0, 5, 5, "gap", extra='fill="url(#hA)"'),
    ]
    svg = page(60, 60, "title", body, style=".own{stroke:#123456}")
    for dark, theme in ((False, LIGHT), (True, DARK)):
        paper, box, words, hatch = shapes_of(svg, dark=dark)
        assert paper.fill.colour == theme["paper"]
        assert (box.fill.colour, box.fill.opacity, box.stroke.colour) == ("#aabbcc", 0.5, "#123456")
        assert box.box == (10, 20, 40, 40)
        assert (words.words, words.fill.colour) == ("abc", theme["soft"])
        assert (hatch.fill.colour, hatch.stroke.colour) == (MARKS[Category.ACTIVATION].colour, theme["paper"])
        assert ground_at([paper, box], 11, 21) == blended("#aabbcc", theme["paper"], 0.5)
        assert ground_at([paper, box], 50, 50) == theme["paper"]
