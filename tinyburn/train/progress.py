"""A line that grows while a training runs."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from .history import History
from .sinks import Sink, optional


class Progress(Sink):
    """A bar of tqdm for all steps of a fit, with the last loss; in a notebook tqdm draws it as a widget."""

    def __init__(self, steps: int) -> None:
        tqdm = optional("tqdm.auto", "Learner.fit(progress=True)", "leave progress out")
        self._bar: Any = tqdm.tqdm(total=steps, unit="step")

    def on_step(self, number: int, loss: float) -> None:
        """See `Sink`."""
        self._bar.set_postfix_str(f"loss {loss:.4g}", refresh=False)
        self._bar.update()

    def on_epoch(self, history: History) -> None:
        """See `Sink`."""
        numbers = {name: value for name, value in history.rows[-1].items() if isinstance(value, int | float)}
        text = ", ".join(f"{name} {value:.4g}" for name, value in numbers.items())
        self._bar.set_description_str(f"epoch {len(history)}: {text}", refresh=False)

    def close(self) -> None:
        """See `Sink`."""
        self._bar.close()


def progress_sinks(wanted: bool | None, steps: int) -> list[Sink]:
    """A bar, or nothing. None stands for a bar where somebody sees it: in a terminal, if tqdm is installed. A log or a
    notebook gets one only if it is asked for, since a bar shows times, and no two runs have the same."""
    if wanted is None:
        wanted = sys.stderr is not None and sys.stderr.isatty() and find_spec("tqdm") is not None
    return [Progress(steps)] if wanted else []
