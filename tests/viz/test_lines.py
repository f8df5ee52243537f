"""The lines of a plot: where they are broken, what is left of a long one, and their names beside their ends."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viz.colours import contrast
from tinyburn.viz.axes import spread
from tinyburn.viz.lines import MOST_LINES, STYLES, End, draw_ends, draw_line, draw_markers, thinned
from tinyburn.viz.scale import Linear
from tinyburn.viz.svg import DARK, LIGHT, MARKS

SCALE = Linear(0.0, 10.0, 10, 0, 0, 100, 100)


def test_no_two_lines_share_a_colour_and_neighbours_share_no_dash() -> None:
    assert len({style.stroke for style in STYLES}) == MOST_LINES
    assert all(one.dash != other.dash and one.marker != other.marker for one, other in pairwise(STYLES))
    colours = [mark.colour for mark in MARKS.values() if f"s{mark.letter}" in {style.stroke for style in STYLES}]
    assert all(contrast(colour, theme["paper"]) >= 3 for colour in colours for theme in (LIGHT, DARK))


def test_a_line_is_broken_where_a_number_is_lost() -> None:
    """By hand: two points, NaN, one point, inf at the ceiling, which is where the plot begins."""
    drawn = draw_line(
        SCALE, [(0, 1.0), (1, 2.0), (2, math.nan), (3, 5.0), (4, math.nan), (5, 0.0), (6, math.inf)], STYLES[0]
    )
    lines = [found[1] for piece in drawn if (found := re.match(r'<path d="(M[^l"]*)" class="sP"', piece))]
    assert lines == ["M0 90L10 80", "M50 100L60 0"]
    assert sum("<circle" in piece for piece in drawn) == 1
    assert sum('class="rule"' in piece for piece in drawn) == 3  # a cross for each lost number


@given(st.integers(1, 3000), st.integers(0, 9))
def test_a_long_line_keeps_its_first_last_and_extreme_points_in_each_column(length: int, seed: int) -> None:
    heights = np.random.default_rng(seed).random(length).tolist()
    places = [(100 * at / length, height) for at, height in enumerate(heights)]
    kept = thinned(places)
    assert len(kept) <= 4 * 100
    assert [kept[0], kept[-1]] == [places[0], places[-1]]
    assert set(kept) <= set(places)
    for column in range(100):
        before, after = ([y for x, y in points if math.floor(x) == column] for points in (places, kept))
        assert (min(before, default=0), max(before, default=0)) == (min(after, default=0), max(after, default=0))


def test_points_are_marked_where_they_do_not_run_together() -> None:
    few, many = [(at, 1.0) for at in (0, 2, 4)], [(at, 1.0) for at in range(11)]
    for style in STYLES[:4]:
        assert len(draw_markers(SCALE, few, style)) == 3
        assert draw_markers(SCALE, many, style) == []
    assert len({draw_markers(SCALE, few, style)[0].split(" ")[0] for style in STYLES[:3]}) == 3


@given(st.lists(st.floats(0, 10), min_size=1, max_size=5))
def test_labels_stand_in_the_order_of_the_ends_and_apart(sizes: list[float]) -> None:
    ends = [End(size, f"line {at}", "more", style) for at, (size, style) in enumerate(zip(sizes, STYLES, strict=False))]
    drawn = "".join(draw_ends(SCALE, ends))
    heights = [float(re.findall(rf'y="([-\d.]+)"[^>]*>line {at}<', drawn)[0]) for at in range(len(sizes))]
    order = sorted(range(len(sizes)), key=heights.__getitem__)
    assert [sizes[at] for at in order] == sorted(sizes, reverse=True)
    assert all(below - above >= 16.9 for above, below in pairwise(sorted(heights)))
    assert min(heights) >= 4 - 0.1
    assert max(heights) <= 104 + 0.1


def test_a_long_name_is_cut_and_what_is_said_of_it_too() -> None:
    end = End(1.0, "n" * 60, "more", STYLES[0])
    assert end.words == ("n" * 39 + "…", "")
    assert End(1.0, "n" * 30, "much more to say", STYLES[0]).words == ("n" * 30, "much mor…")


@pytest.mark.parametrize("highest", [0.0, 30.0])
def test_labels_go_down_where_there_is_no_room_above(highest: float) -> None:
    assert spread([highest, highest, highest], 14, 296, highest) == [highest + 28, highest + 14, highest]
