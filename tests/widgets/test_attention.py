"""Attention with controls: each head and each position is the picture of `viz.attention`."""

from __future__ import annotations

import pytest

from tests.viz.examples import texts
from tests.viz.test_attention import hand
from tests.widgets.controls import control, frame_of, names_of
from tinyburn import ConfigError, viz, widgets


def test_each_control_is_in_the_picture() -> None:
    found = widgets.attention(hand(), "abc", position=1)
    assert names_of(found) == ["Head", "Previous position", "Next position", "Position", "or slide"]
    assert frame_of(found) == viz.attention(hand(), "abc", position=1).html
    control(found, "Head").value = 1
    assert frame_of(found) == viz.attention(hand(), "abc", head=1, position=1).html
    control(found, "Next position").click()
    control(found, "Next position").click()
    assert frame_of(found) == viz.attention(hand(), "abc", head=1, position=2).html
    control(found, "Position").value = 0
    control(found, "Previous position").click()
    assert frame_of(found) == viz.attention(hand(), "abc", head=1).html


def test_the_still_picture_has_all_heads() -> None:
    still = widgets.attention(hand(), "abc", position=1).still
    assert still.title == "Position 1, 'b', looks most, by head 0 at 0, 'a' (0.500); by head 1 at 2, 'c' (0.600)"
    assert {"Head 0", "Head 1"} <= {*texts(still)}


def test_one_head_has_no_choice_of_heads() -> None:
    found = widgets.attention(hand()[:1], "abc", position=2)
    assert names_of(found) == ["Previous position", "Next position", "Position", "or slide"]
    assert found.still == viz.attention(hand()[:1], "abc", position=2)
    assert frame_of(found) == found.still.html


def test_another_text_can_look_and_tokens_are_read_once() -> None:
    found = widgets.attention(hand(), iter("abc"), queries=iter("xyz"))
    control(found, "Position").value = 2
    assert frame_of(found) == viz.attention(hand(), "abc", position=2, queries="xyz").html


def test_errors_are_those_of_the_picture() -> None:
    with pytest.raises(ConfigError, match="3 keys, and 2 tokens"):
        widgets.attention(hand(), "ab")
    with pytest.raises(ConfigError, match="head is 2, and there are 2"):
        widgets.attention(hand(), "abc", head=2)
