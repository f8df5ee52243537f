"""A curve that a notebook draws anew after each epoch, in one place."""

from __future__ import annotations

import sys
from typing import Any

from tinyburn.train import History, Sink

from .curve import curve
from .picture import Picture


class LiveCurve(Sink):
    """Shows the `curve` of some columns in a notebook, and replaces it after each epoch; elsewhere it does nothing.

    What stays in the notebook is the last curve, in an output of its own. The changing ones are only ever an update of
    an empty output, which is empty again at the end: nbval overlooks updates, so it sees the same in every run.

    Args:
        names: of columns, as `curve` takes them.
    """

    def __init__(self, *names: str) -> None:
        self.names = names
        self._place: Any = None
        self._last: Picture | None = None

    def __repr__(self) -> str:
        return f"LiveCurve({', '.join(map(repr, self.names))})"

    def on_epoch(self, history: History) -> None:
        """See `Sink`. Raises ConfigError for a column that the history does not have."""
        ipython = sys.modules.get("IPython")
        if ipython is None or ipython.get_ipython() is None:
            return
        self._last = curve(history, *self.names)
        if self._place is None:
            self._place = _display(_EMPTY, raw=True, display_id=True)
        self._place.update(self._last)

    def close(self) -> None:
        """See `Sink`. The next fit draws in a place of its own."""
        if self._last is not None:
            self._place.update(_EMPTY, raw=True)
            _display(self._last)
        self._place = self._last = None


_EMPTY = {"text/plain": ""}


def _display(value: object, **options: Any) -> Any:
    return sys.modules["IPython"].display.display(value, **options)
