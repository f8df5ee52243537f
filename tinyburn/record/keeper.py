"""Keeper: the files of one training run in a folder, of which only the last and the best stay."""

from __future__ import annotations

import math
import os
import re
from typing import Any

from tinyburn.base.errors import RecordError

from .files import save
from .inspection import inspect
from .model_record import ModelRecord
from .places import PART, Path, is_remote, remove_draft

_NAME = re.compile(r"step-(\d{8,})\.safetensors")


class Keeper:
    """Saves a state now and then, and removes what is neither among the last nor among the best.

    One keeper owns its folder. Drafts that a killed process has left there are removed when it begins; a file is
    removed only after the newer one is whole.

    Args:
        folder: it is made if it is not there.
        last: how many of the newest files stay, at least 1.
        best: how many of those with the best score stay as well.
        is_loss: whether a lower score is a better one.
    """

    def __init__(self, folder: Path, last: int = 3, best: int = 1, is_loss: bool = True) -> None:
        counts = (("last", last, 1), ("best", best, 0))
        reasons = [
            f"{name} is {count!r}, and must be {least} or more" for name, count, least in counts if count < least
        ]
        if is_remote(folder):
            reasons.append(f"{os.fspath(folder)} is an address, and a keeper needs a folder of this machine")
        if reasons:
            raise RecordError("Keeper", reasons)
        self.folder = os.fspath(folder)
        self._last, self._best, self._is_loss = last, best, is_loss
        os.makedirs(self.folder, exist_ok=True)
        for name in os.listdir(self.folder):
            if name.startswith("step-") and name.endswith(PART):
                remove_draft(os.path.join(self.folder, name))
        self._scores = {step: self._score_of(step) for step in self.steps()}

    def __repr__(self) -> str:
        return f"Keeper({self.folder!r}, last={self._last}, best={self._best}, is_loss={self._is_loss})"

    def save(self, step: int, state: dict[str, Any] | ModelRecord, score: float | None = None) -> str:
        """Writes the state of a step, removes what no longer stays, and returns the path. Raises as `save` does."""
        path = self.path(step)
        save(path, state, {"step": step} if score is None else {"step": step, "score": score})
        self._scores[step] = score
        for old in set(self._scores) - self._kept():
            os.remove(self.path(old))
            del self._scores[old]
        return path

    def steps(self) -> list[int]:
        """The steps of which there is a file, in order."""
        found = (_NAME.fullmatch(name) for name in os.listdir(self.folder))
        return sorted(int(match[1]) for match in found if match)

    def path(self, step: int) -> str:
        """The file of a step, whether it is there or not."""
        return os.path.join(self.folder, f"step-{step:08}.safetensors")

    def latest(self) -> str | None:
        """The newest file; None if there is none."""
        return self.path(max(self._scores)) if self._scores else None

    def best(self) -> str | None:
        """The file with the best score, of equal ones the first; None if none has a score."""
        ranked = self._ranked()
        return self.path(ranked[0]) if ranked else None

    def _kept(self) -> set[int]:
        return {*sorted(self._scores)[-self._last :], *self._ranked()[: self._best]}

    def _ranked(self) -> list[int]:
        """The steps with a score, the best first. NaN is no score."""
        scored = [
            (score if self._is_loss else -score, step)
            for step, score in self._scores.items()
            if score is not None and not math.isnan(score)
        ]
        return [step for _, step in sorted(scored)]

    def _score_of(self, step: int) -> float | None:
        """What the file's header says. A file that cannot be read has no score; to load it will say why."""
        try:
            notes = inspect(self.path(step)).header.get("notes")
        except RecordError:
            return None
        score = notes.get("score") if isinstance(notes, dict) else None
        return score if isinstance(score, int | float) else None
