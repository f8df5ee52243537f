"""What every widget does: the picture follows the controls, and where no widget runs there is the still picture."""

from __future__ import annotations

from html import escape
from typing import Any

import IPython.display
import pytest

from tinyburn import BackendUnavailable, ConfigError
from tinyburn.viz import Picture
from tinyburn.viz.svg import page, text
from tinyburn.widgets import Live, live
from tinyburn.widgets.live import HINT, LIVE, VIEW, Controls


def drawn(words: str) -> Picture:
    return Picture(f"title <{words}>", f"text {words}", page(100, 20, words, [text(0, 12, words)]))


def two_numbers(made: list[str] | None = None) -> Live:
    """A picture of two numbers, which are sliders."""

    def controls(widgets: Any) -> Controls:
        if made is not None:
            made.append("controls")
        one, other = widgets.IntSlider(value=1), widgets.IntSlider(value=2)
        return Controls([one, other], {"a": one, "b": other})

    return Live(drawn("still"), lambda a, b: drawn(f"{a} and {b}"), controls)


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What a cell would show: each output with its metadata."""
    outputs: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def display(data: dict[str, Any], raw: bool, metadata: dict[str, Any] | None = None) -> None:
        assert raw
        outputs.append((data, metadata or {}))

    monkeypatch.setattr(IPython.display, "display", display)
    return outputs


def frame_of(shown: Live) -> tuple[str, str]:
    """What the widget shows: the title, and the picture."""
    _, title, frame, _ = shown.widget.children
    return title.value, frame.value


def test_the_picture_follows_each_control() -> None:
    shown = two_numbers()
    assert frame_of(shown)[1] == drawn("1 and 2").html
    one, other = shown.controls.row
    one.value = 5
    assert frame_of(shown)[1] == drawn("5 and 2").html
    other.value = 7
    assert frame_of(shown)[1] == drawn("5 and 7").html
    assert shown.picture == drawn("5 and 7")


def test_a_screen_reader_hears_the_title_when_it_changes() -> None:
    shown = two_numbers()
    shown.controls.row[0].value = 3
    title, frame = frame_of(shown)
    assert title.startswith('<div role="status" aria-live="polite"><span ')
    assert f">{escape('title <3 and 2>')}</span></div>" in title
    assert f'alt="{escape("title <3 and 2>")}"' in frame


def test_a_cell_shows_the_still_picture_and_the_widget(displayed: Any) -> None:
    shown = two_numbers()
    shown._ipython_display_()
    (still, nothing), (widget, metadata) = displayed
    assert still["text/plain"] == repr(drawn("still")) == repr(shown)
    assert drawn("still").html in still["text/html"]
    assert set(still) == {"text/plain", "text/html"}
    assert nothing == {}
    assert widget["text/plain"] == HINT
    assert widget[VIEW]["model_id"] == shown.widget.model_id
    assert metadata == {LIVE: True}


def test_the_widget_hides_the_still_picture_of_its_cell(displayed: Any) -> None:
    shown = two_numbers()
    shown._ipython_display_()
    rule = shown.widget.children[-1].value
    assert rule == f"<style>.jp-OutputArea:has(.{LIVE}) .tinyburn-still{{display:none}}</style>"
    assert LIVE in shown.widget._dom_classes
    assert displayed[0][0]["text/html"].startswith('<div class="tinyburn-still">')


def test_controls_are_made_when_they_are_first_needed_and_once() -> None:
    made: list[str] = []
    shown = two_numbers(made)
    assert made == []
    assert shown.widget is shown.widget
    assert made == ["controls"]


def test_a_state_without_a_picture_says_why_and_the_next_one_is_drawn() -> None:
    def draw(a: int) -> Picture:
        if a == 2:
            raise ConfigError("two <of them>", "there is no picture of 2")
        if a == 3:
            raise KeyError("mine")
        return drawn(f"{a}")

    def controls(widgets: Any) -> Controls:
        one = widgets.IntSlider(value=1)
        return Controls([one], {"a": one})

    shown = Live(drawn("still"), draw, controls)
    _ = shown.widget
    shown.controls.row[0].value = 2
    title, frame = frame_of(shown)
    assert escape("two <of them>\n  because there is no picture of 2") in title
    assert frame == ""
    shown.controls.row[0].value = 3
    assert "KeyError: &#x27;mine&#x27;" in frame_of(shown)[0]
    shown.controls.row[0].value = 4
    assert frame_of(shown)[1] == drawn("4").html


def test_a_state_is_drawn_once() -> None:
    asked: list[int] = []

    def draw(a: int) -> Picture:
        asked.append(a)
        return drawn(f"{a}")

    def controls(widgets: Any) -> Controls:
        one = widgets.IntSlider(value=1)
        return Controls([one], {"a": one})

    shown = Live(drawn("still"), draw, controls)
    _ = shown.widget
    for value in (2, 1, 2):
        shown.controls.row[0].value = value
    assert asked == [1, 2]
    assert frame_of(shown)[1] == drawn("2").html


def test_without_ipywidgets_there_is_the_still_picture(displayed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "find_spec", lambda name: None)
    shown = two_numbers()
    shown._ipython_display_()
    assert [set(data) for data, _ in displayed] == [{"text/plain", "text/html"}]
    with pytest.raises(BackendUnavailable, match=r'pip install "tinyburn\[lab\]"'):
        _ = shown.widget
