"""A loss curve that a notebook draws anew after each epoch, in one place."""

from __future__ import annotations

import io
import sys
from typing import Any

from .history import History
from .sinks import Sink, optional


class LossCurve:
    """The curve of a history: as text its table, in a notebook also a PNG. The same history makes the same bytes."""

    def __init__(self, history: History, names: tuple[str, ...]) -> None:
        self._text = history.table()
        self.png = _drawn(history.columns(), names)

    def __repr__(self) -> str:
        return self._text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {"text/plain": self._text, "image/png": self.png}


def _drawn(columns: dict[str, list[Any]], names: tuple[str, ...]) -> bytes:
    figures = optional("matplotlib.figure", "train.LiveCurve", "look at history.table()")
    figure = figures.Figure(figsize=(6.0, 3.2), dpi=100, layout="constrained")
    axes = figure.add_subplot()
    styles = ["o-", "s--", "^:", "d-."]  # told apart without colour too
    for at, name in enumerate(names):
        if name in columns:
            values = [float("nan") if value is None else value for value in columns[name]]
            axes.plot(columns["epoch"], values, styles[at % len(styles)], label=name)
    axes.set_xlabel("epoch")
    axes.xaxis.get_major_locator().set_params(integer=True)
    if axes.lines:
        axes.legend()
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()


class LiveCurve(Sink):
    """Shows the curve of some columns in a notebook, and replaces it after each epoch; elsewhere it does nothing.

    What stays in the notebook is the last curve, in an output of its own. The changing ones are only ever an update of
    an empty output, which is empty again at the end: nbval overlooks updates, so it sees the same in every run. Needs
    matplotlib.
    """

    def __init__(self, *names: str) -> None:
        self.names = names or ("loss", "valid loss")
        self._place: Any = None
        self._last: LossCurve | None = None

    def __repr__(self) -> str:
        return f"LiveCurve({', '.join(map(repr, self.names))})"

    def on_epoch(self, history: History) -> None:
        """See `Sink`."""
        ipython = sys.modules.get("IPython")
        if ipython is None or ipython.get_ipython() is None:
            return
        self._last = LossCurve(history, self.names)
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
