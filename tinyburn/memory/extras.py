"""What comes beside the tensors' own bytes: rows that say how they are known, or that they are not."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tinyburn.autodiff.nodes import Node, new_number
from tinyburn.backend import Kind, MemoryUsage
from tinyburn.backend.log import EventLog

How: TypeAlias = Literal["measured", "simulated", "not measured"]


@dataclass(frozen=True)
class Row:
    """One kind of bytes that the categories do not tell.

    Attributes:
        name: ``padding``, ``cached``, ``metadata``, ``gradient storage`` or ``staging``.
        bytes: how many; None exactly if that was not measured, which is not 0.
        how: ``measured`` in a real run, ``simulated`` (in a run on shapes, or by the model of an allocator), or
            ``not measured``.
    """

    name: str
    bytes: int | None
    how: How


def read_extras(
    log: EventLog, gradients: int, padding: int | None, cached: int | None, nodes: int | None, how: How
) -> tuple[Row, ...]:
    """The rows of one run.

    - ``padding``: what the allocator added to the sizes of the buffers, at the peak.
    - ``cached``: what it has taken from the system in all, and does not use even at the peak. With the payload at the
      peak and the padding that is all it has taken. Only the device knows, or `simulate`.
    - ``metadata``: graph nodes alive at the peak times the bytes of one. What a node refers to (its list of edges,
      its tuple of arguments) is not in it.
    - ``gradient storage``: the most bytes of leaves' gradients that were alive at once. That need not be at the peak.
    - ``staging``: bytes that were copied from the host or to it, all together.
    """
    copied = sum(event[2] for event in log.events if event[0] == Kind.TRANSFER)
    return (
        _row("padding", padding, how),
        _row("cached", cached, how),
        _row("metadata", None if nodes is None else nodes * node_bytes(), how),
        _row("gradient storage", gradients, how),
        _row("staging", copied, how),
    )


def _row(name: str, size: int | None, how: How) -> Row:
    return Row(name, size, "not measured" if size is None else how)


def padding_bytes(before: MemoryUsage, at_peak: MemoryUsage) -> int | None:
    """What rounding added to the job's buffers at its peak; None if the device does not count that.

    Tensors from outside the job are padded too. They were there before it, and are left out.
    """
    if before.bytes_padding is None or at_peak.bytes_padding is None:
        return None
    return at_peak.bytes_padding - before.bytes_padding


def cached_bytes(at_peak: MemoryUsage, after: MemoryUsage) -> int | None:
    """The most that was taken from the system, less what was in use at the peak; None if the device counts neither.

    A pool that gives nothing back has the most at the end. It may have grown after the peak: for a size that was not
    on a shelf. A pool that was cleared on the way had more before, so the peak is asked too.
    """
    if at_peak.bytes_reserved is None or after.bytes_reserved is None or at_peak.bytes_in_use is None:
        return None
    most = max(at_peak.bytes_reserved, after.bytes_reserved)
    return most - at_peak.bytes_in_use - (at_peak.bytes_padding or 0)


def node_bytes() -> int:
    """The size of one graph node: the two words that every Python object has, and its fields, at 8 bytes each.

    What Python's garbage collector adds differs from version to version, and is not counted.
    """
    return 8 * (2 + len(Node.__slots__))


class NodeCounter:
    """Counts the graph nodes that were made since it was: those of one job.

    Nothing in tinyburn keeps a list of nodes (a graph belongs to its tensors), so it asks Python's garbage collector
    for every object there is. That takes some milliseconds, and more in a notebook that has imported large libraries.
    """

    def __init__(self) -> None:
        self._start = new_number()

    def __repr__(self) -> str:
        return "NodeCounter()"

    def count(self) -> int:
        """How many are alive now."""
        kinds = {Node, *_subclasses(Node)}  # a look into a set is quicker than issubclass, for a million objects
        return sum(type(found) in kinds and found.number > self._start for found in gc.get_objects())


def _subclasses(kind: type[Node]) -> Iterator[type[Node]]:
    for below in kind.__subclasses__():
        yield below
        yield from _subclasses(below)
