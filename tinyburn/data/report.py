"""What a batch costs, and where it waits."""

from __future__ import annotations

from dataclasses import dataclass

from tinyburn.base.text import table, thousands


@dataclass(frozen=True, repr=False)
class LoaderReport:
    """Seconds in all, since the loader was made.

    Attributes:
        batches, items: how many were handed over.
        reading: getting items and stacking them; in the workers, where there are some.
        waiting: how long the loop waited for the workers. It is a part of their reading, not beside it.
        batching: from the stacked items to tensors on the device, or what the loader's batcher did.
        using: how long the loop had a batch before it asked for the next: the training itself.
        workers: how many processes read.
    """

    batches: int = 0
    items: int = 0
    reading: float = 0.0
    waiting: float = 0.0
    batching: float = 0.0
    using: float = 0.0
    workers: int = 0

    @property
    def waited_share(self) -> float:
        """The part of its time that the loop spent on data, from 0 to 1: a larger one is a reason for more workers."""
        loading = self.batching + (self.waiting if self.workers else self.reading)
        return loading / (loading + self.using) if loading + self.using else 0.0

    def __repr__(self) -> str:
        rows = [
            [name, f"{1e3 * seconds / max(self.batches, 1):.3f}", where]
            for name, seconds, where in (
                ("reading", self.reading, f"in {self.workers} workers" if self.workers else "in the loop"),
                ("waiting", self.waiting, "in the loop, for the workers"),
                ("batching", self.batching, "in the loop"),
                ("using", self.using, "in the loop, between two batches"),
            )
        ]
        head = f"{thousands(self.batches)} batches, {thousands(self.items)} items; on data {self.waited_share:.0%}"
        return f"{head}\n{table(['', 'ms a batch', 'where'], rows)}"
