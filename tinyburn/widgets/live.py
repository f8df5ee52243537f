"""What every widget is: controls, a picture that follows them, and a still picture for wherever no widget runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from tinyburn.base.errors import BackendUnavailable, TinyburnError
from tinyburn.viz import Picture

VIEW = "application/vnd.jupyter.widget-view+json"
"""The form of an output that a running notebook shows as a widget."""
LIVE = "tinyburn-live"
"""Marks the output of a widget: its class in the browser, and a key of its metadata in a notebook."""
HINT = "Run this cell to move through it."

STATES = 64
"""Pictures of a widget that are kept: to go back to a state costs nothing."""
_STILL = "tinyburn-still"
_HIDE = f"<style>.jp-OutputArea:has(.{LIVE}) .{_STILL}{{display:none}}</style>"
"""Where the widget is shown, the still picture of the same cell is not. The rule goes where the widget goes."""

_UNSEEN = "position:absolute;clip-path:inset(50%)"
"""For words that stand in the picture too."""


class Controls(NamedTuple):
    """The controls of a widget.

    Attributes:
        row: all that is shown, from left to right.
        values: those that the picture depends on, by the name of the argument that gets their ``value``.
    """

    row: Sequence[Any]
    values: Mapping[str, Any]


class Live:
    """A picture that follows its controls.

    A cell shows two outputs: the still picture, and the widget. While a kernel runs, the widget hides the still
    picture. Everywhere else (a fresh clone, GitHub, a converted page, a notebook whose kernel is closed) there is no
    widget to hide it. `tinyburn notebooks run` stores a hint in place of the widget, which nobody could use.

    Args:
        still: the picture that stands for all states.
        draw: gives the picture of one state, from the values of the controls by name. The widget asks once for a state.
            Where it raises, the widget shows the message in place of a picture.
        controls: makes the controls. It gets the module ``ipywidgets``, and is called when the widget is first shown.
    """

    def __init__(self, still: Picture, draw: Callable[..., Picture], controls: Callable[[Any], Controls]) -> None:
        self.still = still
        self.draw, self._make = draw, controls
        self._drawn = lru_cache(STATES)(draw)

    def __repr__(self) -> str:
        return repr(self.still)

    def _ipython_display_(self) -> None:
        """The still picture, and the widget if there can be one."""
        display = import_module("IPython.display").display
        html = f'<div class="{_STILL}">{self.still.html}</div>'
        display({"text/plain": repr(self.still), "text/html": html}, raw=True)
        if find_spec("ipywidgets"):
            bundle = {"text/plain": HINT, VIEW: self.widget._repr_mimebundle_()[VIEW]}
            display(bundle, metadata={LIVE: True}, raw=True)

    @cached_property
    def controls(self) -> Controls:
        """Raises BackendUnavailable where ipywidgets is not installed."""
        if not find_spec("ipywidgets"):
            hint = 'pip install "tinyburn[lab]"; without it there is the still picture'
            raise BackendUnavailable("tinyburn.widgets", "ipywidgets is not installed", hint=hint)
        return self._make(import_module("ipywidgets"))

    @property
    def picture(self) -> Picture:
        """What the controls say now."""
        return self._drawn(**{name: control.value for name, control in self.controls.values.items()})

    @cached_property
    def widget(self) -> Any:
        """The controls above the picture. Between them is its title, which is not seen there, but a screen reader says
        it when it changes; or why there is no picture."""
        controls, widgets = self.controls, import_module("ipywidgets")
        title, frame = widgets.HTML(layout=widgets.Layout(height="auto", min_height="0")), widgets.HTML()

        def redraw(_: object = None) -> None:
            said, frame.value = self._shown()
            title.value = f'<div role="status" aria-live="polite">{said}</div>'

        for control in controls.values.values():
            control.observe(redraw, "value")
        redraw()
        row = widgets.HBox(list(controls.row), layout=widgets.Layout(flex_flow="row wrap"))
        found = widgets.VBox([row, title, frame, widgets.HTML(_HIDE)])
        found.add_class(LIVE)
        return found

    def _shown(self) -> tuple[str, str]:
        """What is said of the state, and its picture, both as HTML; of a state without a picture, why it has none."""
        try:
            picture = self.picture
        except Exception as error:  # a reader's own function can raise anything, and nobody would see it
            words = str(error) if isinstance(error, TinyburnError) else f"{type(error).__name__}: {error}"
            return f"<pre>{escape(words)}</pre>", ""
        return f'<span style="{_UNSEEN}">{escape(picture.title)}</span>', picture.html
