"""The stepper as a widget: one step at a time, on and back, by keys, by buttons, or by itself."""

from __future__ import annotations

from typing import Any

from tinyburn.tensor import Tensor
from tinyburn.viz import stepper as still_of
from tinyburn.viz.model import Name
from tinyburn.viz.stepper import BOXES

from .controls import number, step_buttons, width, with_slider
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
    """Steps are counted from 1."""
    step, slider = with_slider(widgets, number(widgets, "Step", 1, 1, count), 240)
    row = [*step_buttons(widgets, step, "step"), step, slider, *_player(widgets, slider)]
    return Controls(row, {"step": slider})


def _player(widgets: Any, slider: Any) -> tuple[Any, Any]:
    """A button with a name, and behind it the clock of ipywidgets, whose own buttons are pictures without one."""
    play = widgets.ToggleButton(description="Play", layout=width(widgets, 70))
    span = {"value": slider.value, "min": slider.min, "max": slider.max}
    clock = widgets.Play(**span, interval=_PAUSE, layout=widgets.Layout(display="none"))
    widgets.link((clock, "value"), (slider, "value"))
    widgets.link((clock, "playing"), (play, "value"))

    def rename(change: Any) -> None:
        play.description = "Pause" if change["new"] else "Play"

    play.observe(rename, "value")
    return play, clock
