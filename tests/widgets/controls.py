"""Finding a widget's controls and its picture, for the tests."""

from __future__ import annotations

import re
from typing import Any

from tinyburn.widgets import Live


def control(shown: Live, name: str) -> Any:
    """The control with this name."""
    _ = shown.widget
    (found,) = [each for each in shown.controls.row if each.description == name]
    return found


def title_of(shown: Live) -> str:
    """What a screen reader says of the state."""
    words: str = shown.widget.children[1].value
    return re.sub("</?(div|span)[^>]*>", "", words)


def frame_of(shown: Live) -> str:
    """The picture of the state, as the widget shows it."""
    html: str = shown.widget.children[2].value
    return html


def names_of(shown: Live) -> list[str]:
    """The names of all controls that are seen, from left to right."""
    return [each.description for each in shown.controls.row if each.layout.display != "none"]
