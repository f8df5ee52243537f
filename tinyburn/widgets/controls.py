"""The controls that widgets are made of, each with a name that a screen reader says.

Each takes the module ``ipywidgets``, which is loaded when a widget is first shown. A number can be typed, moves by the
arrow keys, and stays within its limits by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_CHARACTER = 8
"""Pixels of one character of a name."""


def width(widgets: Any, pixels: int) -> Any:
    """A layout of this width."""
    return widgets.Layout(width=f"{pixels}px")


def number(widgets: Any, name: str, value: int, low: int, high: int, step: int = 1, room: int = 70) -> Any:
    """A whole number from ``low`` to ``high``; ``room`` is the width of its field, in pixels."""
    span = {"value": value, "min": low, "max": high, "step": step}
    return _named(widgets, widgets.BoundedIntText(**span), name, room)


def choice(widgets: Any, name: str, options: Iterable[Any], value: Any, room: int = 110) -> Any:
    """One of some options; an option is a value, or a pair of what is read and the value."""
    return _named(widgets, widgets.Dropdown(options=list(options), value=value), name, room)


def decimal(widgets: Any, name: str, value: float, low: float, high: float, step: float) -> Any:
    """A number with a fraction from ``low`` to ``high``. It has no slider: that would round it in its own way."""
    return _named(widgets, widgets.BoundedFloatText(value=value, min=low, max=high, step=step), name, 70)


def with_slider(widgets: Any, control: Any, pixels: int = 160) -> tuple[Any, Any]:
    """A number, and a slider beside it that moves with it.

    A slider has no name of its own that a screen reader says, but the text before it. So it has one that stays.
    """
    span = {"value": control.value, "min": control.min, "max": control.max, "step": control.step}
    slider = widgets.IntSlider(**span, readout=False)
    widgets.link((control, "value"), (slider, "value"))
    widgets.link((control, "max"), (slider, "max"))
    return control, _named(widgets, slider, "or slide", pixels)


def button(widgets: Any, words: str, pixels: int = 110) -> Any:
    """A button with words on it."""
    return widgets.Button(description=words, layout=width(widgets, pixels))


def step_buttons(widgets: Any, control: Any, noun: str) -> list[Any]:
    """Two buttons that move a number back and on by one, up to its limits.

    At an end they stay as they are: a button that is switched off would lose the keyboard's focus.
    """

    def made(words: str, by: int) -> Any:
        shown = button(widgets, f"{words} {noun}", 24 + _CHARACTER * len(f"{words} {noun}"))

        def go(_: object) -> None:
            control.value = min(max(control.value + by, control.min), control.max)

        shown.on_click(go)
        return shown

    return [made("Previous", -1), made("Next", 1)]


def _named(widgets: Any, control: Any, name: str, room: int) -> Any:
    """The control with its name before it, and as much room as both need."""
    control.description = name
    control.style.description_width = "initial"
    control.layout = width(widgets, room + _CHARACTER * len(name) + 20)
    return control
