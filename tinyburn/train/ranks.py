"""What a learner asks of the other ranks: the numbers of all samples, and whether somebody wants to stop."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from tinyburn.backend import Device
from tinyburn.parallel import Communicator

from .history import Row
from .interrupt import Interrupt
from .metrics import Metric


class Agreement:
    """On a single process everything is as it is said.

    Args:
        comm: who agrees.
        interrupt: of this rank; what all ranks have agreed on is noted in it.
    """

    def __init__(self, comm: Communicator, interrupt: Interrupt) -> None:
        self._comm, self._interrupt = comm, interrupt

    def __repr__(self) -> str:
        return f"Agreement({self._comm!r})"

    def loss(self, step: int, loss: float, samples: int, device: Device[object]) -> float:
        """The mean loss of a step over the samples of all ranks.

        A rank without samples has drawn no random numbers. So that each rank is as far in its sequence as the others,
        also after a state of rank 0 is loaded, all go on from the largest number of draws.
        """
        if self._comm.size == 1:
            return loss
        state = device.random_state()
        draws = 0 if state is None else state[1]
        asked = self._interrupt.asked
        told = self._comm.meet(f"the loss of step {step}", loss * samples, samples, asked, draws)
        if state is not None:
            device.set_random_state((state[0], int(max(drawn for *_, drawn in told))))
        self._interrupt.agree(any(asked for _, _, asked, _ in told))
        return sum(total for total, *_ in told) / sum(count for _, count, *_ in told)

    def row(self, epoch: int, metrics: Sequence[Metric]) -> Row:
        """What metrics say about the samples of all ranks."""
        if self._comm.size == 1:
            return {metric.name: metric.value for metric in metrics}
        said = ([metric.sums for metric in metrics], self._interrupt.asked)
        told = self._comm.gather(f"the metrics of epoch {epoch}", said)
        self._interrupt.agree(any(asked for _, asked in told))
        row = {}
        for metric, *parts in zip(metrics, *[sums for sums, _ in told], strict=True):
            whole = copy.copy(metric)
            whole.sums = metric.merged(parts)
            row[metric.name] = whole.value
        return row
