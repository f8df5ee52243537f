"""Early stopping: to train no longer than it helps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tinyburn.base.errors import ConfigError
from tinyburn.module import Config

from .history import History


@dataclass(frozen=True)
class EarlyStoppingConfig(Config):
    """Stops once a number of the history has not got better for some epochs.

    Which epochs were the best is read from the history, so there is nothing else to keep. As in Burn, the model of the
    last epoch stays the learner's; that of the best one is ``learner.best_model``.

    Attributes:
        metric: the name of the column, as in ``"valid loss"``.
        patience: how many epochs in a row may be no better than the best before them.
        larger_is_better: as for ``"valid accuracy"``.
        min_change: by how much a number must be better to count as better.
    """

    metric: str = "valid loss"
    patience: int = 3
    larger_is_better: bool = False
    min_change: float = 0.0

    def problems(self) -> list[str]:
        """Values that nothing can have."""
        reasons = [] if self.patience >= 1 else [f"patience is {self.patience}, and must be 1 or more"]
        if not 0 <= self.min_change < math.inf:
            reasons.append(f"min_change is {self.min_change}, and must be a finite number of 0 or more")
        return reasons

    def best_epoch(self, history: History) -> int:
        """The epoch with the best number, counted from 1; 0 before the first. NaN is never better."""
        best, value = 0, -math.inf
        for epoch, row in enumerate(history.rows, start=1):
            now = self._height(row)
            if now > value + self.min_change or best == 0:
                best, value = epoch, (now if not math.isnan(now) else -math.inf)
        return best

    def why_stop(self, history: History) -> str:
        """Why to stop now; empty if there is no reason."""
        best = self.best_epoch(history)
        if len(history) - best < self.patience:
            return ""
        value = history.rows[best - 1][self.metric]
        since = f"{self.patience} epoch{'s' if self.patience > 1 else ''}"
        return f"stopped early: {self.metric} has not been better than {value:.5g}, of epoch {best}, for {since}"

    def _height(self, row: dict[str, Any]) -> float:
        value = row.get(self.metric)
        if not isinstance(value, int | float):
            reason = f"the history has no number {self.metric!r}"
            raise ConfigError("EarlyStopping", reason, hint=f"its columns are {', '.join(row)}")
        return float(value) if self.larger_is_better else -float(value)
