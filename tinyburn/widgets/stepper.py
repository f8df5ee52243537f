"""The stepper as a widget: one step at a time, on and back, by keys, by buttons, or by itself."""

from __future__ import annotations

from typing import Any

from tinyburn.tensor import Tensor
from tinyburn.viz import stepper as still_of
from tinyburn.viz.model import Name
from tinyburn.viz.stepper import BOXES

from .live import Controls, Live

_PAUSE = 1500
"""Milliseconds for each step while it plays: time to read a formula."""


def stepper(tensor: Tensor[Any, Any, Any], /, *, boxes: int = BOXES, **names: Name) -> Live:
    """`viz.stepper` with a slider, a number, and buttons for the next step, the one before, and for playing.

    Arguments and errors are those of `viz.stepper`.
    """
    still = still_of(tensor, boxes=boxes, **names)
    return Live(still, lambda step: still.frames[step - 1], lambda widgets: _controls(widgets, len(still.frames)))


def _controls(widgets: Any, count: int) -> Controls:
    """Steps are counted from 1. A slider has no name that a screen reader says; the number beside it has."""
    span = {"value": 1, "min": 1, "max": count}
    number = widgets.BoundedIntText(**span, description="Step", layout=_width(widgets, 120))
    number.style.description_width = "initial"
    slider = widgets.IntSlider(**span, readout=False, layout=_width(widgets, 240))
    widgets.link((number, "value"), (slider, "value"))
    buttons = [_button(widgets, slider, words, by) for words, by in (("Previous step", -1), ("Next step", 1))]
    return Controls([*buttons, number, slider, *_player(widgets, slider, span)], {"step": slider})


def _button(widgets: Any, slider: Any, words: str, by: int) -> Any:
    """At an end it stays where it is: a button that is switched off would lose the keyboard's focus."""
    button = widgets.Button(description=words, layout=_width(widgets, 110))

    def go(_: object) -> None:
        slider.value = min(max(slider.value + by, slider.min), slider.max)

    button.on_click(go)
    return button


def _player(widgets: Any, slider: Any, span: dict[str, int]) -> tuple[Any, Any]:
    """A button with a name, and behind it the clock of ipywidgets, whose own buttons are pictures without one."""
    button = widgets.ToggleButton(description="Play", layout=_width(widgets, 70))
    clock = widgets.Play(**span, interval=_PAUSE, layout=widgets.Layout(display="none"))
    widgets.link((clock, "value"), (slider, "value"))
    widgets.link((clock, "playing"), (button, "value"))

    def rename(change: Any) -> None:
        button.description = "Pause" if change["new"] else "Play"

    button.observe(rename, "value")
    return button, clock


def _width(widgets: Any, pixels: int) -> Any:
    return widgets.Layout(width=f"{pixels}px")
