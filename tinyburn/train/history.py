"""What a training was: the loss of each step, and a row of numbers for each epoch."""

from __future__ import annotations

import copy
from typing import Any, TypeAlias

from tinyburn.base.text import table

Row: TypeAlias = dict[str, Any]


class History:
    """The numbers of a training.

    Attributes:
        losses: of each step, in order.
        rows: one for each epoch: every metric by its name, those of the evaluation with ``valid`` before it.
        clocks: the names of the columns that come from a clock. A table leaves them out, as no two runs have the same.
        stopped: why the last fit ended before its last epoch; empty if it did not.
    """

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.rows: list[Row] = []
        self.clocks: set[str] = set()
        self.stopped = ""

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return "\n".join([self.table(), *([self.stopped] if self.stopped else [])])

    def columns(self, *, clocks: bool = True) -> dict[str, list[Any]]:
        """Each column by its name: what ``pandas.DataFrame`` and ``polars.DataFrame`` take. None where an epoch had no
        such number."""
        names = dict.fromkeys(name for row in self.rows for name in row)
        kept = [name for name in names if clocks or name not in self.clocks]
        epochs = {"epoch": list(range(1, len(self.rows) + 1))}
        return epochs | {name: [row.get(name) for row in self.rows] for name in kept}

    def table(self, *, clocks: bool = False) -> str:
        """A line for each epoch, with the columns that are single numbers."""
        columns = {name: values for name, values in self.columns(clocks=clocks).items() if _is_plain(values)}
        rows = [[_text(values[at]) for values in columns.values()] for at in range(len(self.rows))]
        return table(list(columns), rows)

    def state(self) -> dict[str, Any]:
        """All of it, as plain dicts, lists, numbers and strings."""
        return copy.deepcopy({"losses": self.losses, "rows": self.rows, "clocks": sorted(self.clocks)})

    def load_state(self, state: dict[str, Any]) -> None:
        """Continues from what `state` has returned."""
        state = copy.deepcopy(state)
        self.losses, self.rows, self.clocks = list(state["losses"]), list(state["rows"]), set(state["clocks"])
        self.stopped = ""


def _is_plain(values: list[Any]) -> bool:
    return all(isinstance(value, int | float | None) for value in values)


def _text(value: float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.5g}"
