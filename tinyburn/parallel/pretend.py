"""Pretend: one process that plans what rank r of n would do with its memory."""

from __future__ import annotations

from typing import Any

from tinyburn.backend import Device
from tinyburn.base.errors import BackendMismatch, ConfigError
from tinyburn.base.shape import is_count

from .communicator import Communicator, Primitive


class Pretend(Communicator):
    """Rank ``rank`` of ``size``, and nobody else is there. It moves shapes and no values.

    So ``memory.plan(job, batch_size)`` says on a laptop what one process of a cluster needs, and ``max_batch_size``
    which batch fits there: the job is the one that runs on the cluster, with this in place of `Mpi`. What the others
    would bring to a meeting is taken to be what this rank brings, and 1 where it brings 0.

    Raises ConfigError for a rank that is none of ``size``, and BackendMismatch on a backend that has values: those of
    the others are not known.
    """

    def __init__(self, rank: int, size: int) -> None:
        if not (is_count(rank) and is_count(size) and rank < size):
            reason = f"rank is {rank!r} and size is {size!r}, and ranks are whole numbers from 0 to size - 1"
            raise ConfigError("Pretend", reason, hint="write Pretend(0, 4) for the first of four processes")
        self.rank, self.size = rank, size

    def _meet(self, place: str, numbers: tuple[float, ...]) -> list[tuple[float, ...]]:
        others = tuple(number or 1 for number in numbers)
        return [numbers if rank == self.rank else others for rank in range(self.size)]

    def gather(self, place: str, value: Any) -> list[Any]:
        """See `Communicator`: the others bring the same."""
        return [value] * self.size

    def _send(self, root: int, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        raise _only_shapes(device)

    def _sum(self, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        raise _only_shapes(device)

    def _sum_part(self, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        raise _only_shapes(device)

    def _join(self, count: int, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        raise _only_shapes(device)


def _only_shapes(device: Device[Any]) -> BackendMismatch:
    reason = f"it has no values of other ranks, and {device.backend.__name__} would need them"
    hint = "use it in memory.plan(job, batch_size), or on a device of Meta; Mpi() speaks to real ranks"
    return BackendMismatch("Pretend", reason, hint=hint)
