"""Where the numbers of a training go while it runs: files, and pictures."""

from __future__ import annotations

import csv
import os
from importlib import import_module
from typing import Any

from tinyburn.base.errors import BackendUnavailable
from tinyburn.base.machine import how_to_install

from .history import History


class Sink:
    """Is told of each step and of each epoch. A subclass does something with it."""

    def __repr__(self) -> str:
        return type(self).__name__

    def on_step(self, number: int, loss: float) -> None:
        """After a step; the first is number 1."""

    def on_epoch(self, history: History) -> None:
        """After an epoch, whose row is the last one of the history."""

    def close(self) -> None:
        """After `fit`, however it ended."""


class CsvSink(Sink):
    """The history as a CSV file, a line for each epoch. After each epoch the file is replaced, at once or not at all;
    so it is also right where a training was resumed."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)

    def __repr__(self) -> str:
        return f"CsvSink({self.path!r})"

    def on_epoch(self, history: History) -> None:
        """See `Sink`."""
        columns = history.columns()
        draft = f"{self.path}.part"
        with open(draft, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        os.replace(draft, self.path)


class TensorBoardSink(Sink):
    """Event files for TensorBoard, by the package tensorboardX: the loss of each step, and each number of an epoch.

    Raises BackendUnavailable if the package is not installed.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        otherwise = "write the history to a file with train.CsvSink(path)"
        self._library: Any = optional("tensorboardX", "TensorBoardSink", otherwise)
        self._writer: Any = None

    def __repr__(self) -> str:
        return f"TensorBoardSink({self.folder!r})"

    def on_step(self, number: int, loss: float) -> None:
        """See `Sink`."""
        self._add("step/loss", loss, number)

    def on_epoch(self, history: History) -> None:
        """See `Sink`."""
        for name, value in history.rows[-1].items():
            if isinstance(value, int | float):
                self._add(f"epoch/{name}", value, len(history))

    def close(self) -> None:
        """See `Sink`. The next fit writes one more file into the folder."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _add(self, name: str, value: float, number: int) -> None:
        if self._writer is None:
            suffix = f".{number}"  # the rest of a file's name tells its second, and two fits may share one
            self._writer = self._library.SummaryWriter(self.folder, filename_suffix=suffix)
        self._writer.add_scalar(name, value, number)


def optional(module: str, asked: str, otherwise: str) -> Any:
    """A package that only some programs need. Raises BackendUnavailable, which says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        reason = f"it needs the package {package}, which is not installed"
        raise BackendUnavailable(asked, reason, hint=f"{how_to_install(package)}; or {otherwise}") from error
