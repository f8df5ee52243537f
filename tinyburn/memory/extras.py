"""What comes beside the tensors' own bytes: rows that say how they are known, or that they are not."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tinyburn.autodiff.graph import Node
from tinyburn.backend import Category, EventLog, Kind, MemoryUsage

from .timeline import walk

How: TypeAlias = Literal["measured", "simulated", "not measured"]


@dataclass(frozen=True)
class Row:
    """One kind of bytes that the categories do not tell.

    Attributes:
        name: ``padding``, ``cached``, ``metadata``, ``gradient storage`` or ``staging``.
        bytes: how many; None exactly if that was not measured, which is not 0.
        how: ``measured`` in a real run, ``simulated`` in a run on shapes, or ``not measured``.
    """

    name: str
    bytes: int | None
    how: How


def read_extras(log: EventLog, padding: int | None, cached: int | None, nodes: int | None, how: How) -> tuple[Row, ...]:
    """The rows of one run.

    - ``padding`` and ``cached``: what the allocator added, and what it holds without anybody using it. Only the
      device knows.
    - ``metadata``: graph nodes alive at the peak times the bytes of one. What a node refers to (its list of edges,
      its tuple of arguments) is not in it.
    - ``gradient storage``: the most bytes of leaves' gradients that were alive at once. That need not be at the peak.
    - ``staging``: bytes that were copied from the host or to it, all together.
    """
    gradients = max((totals[Category.GRADIENT] for _, _, totals in walk(log)), default=0)
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


def cached_bytes(usage: MemoryUsage) -> int | None:
    """Reserved from the system, and not in use; None if the device does not count that."""
    if usage.bytes_reserved is None or usage.bytes_in_use is None:
        return None
    return usage.bytes_reserved - usage.bytes_in_use - (usage.bytes_padding or 0)


def node_bytes() -> int:
    """The size of one graph node: the two words that every Python object has, and its fields, at 8 bytes each.

    What Python's garbage collector adds differs from version to version, and is not counted.
    """
    return 8 * (2 + len(Node.__slots__))


class NodeCounter:
    """Counts the graph nodes that were made since it was: those of one job.

    Nothing in tinyburn keeps a list of nodes (a graph belongs to its tensors), so it asks Python's garbage collector
    for every object there is. That takes some milliseconds.
    """

    def __init__(self) -> None:
        self._earlier = weakref.WeakSet(_nodes())

    def count(self) -> int:
        """How many are alive now."""
        return sum(node not in self._earlier for node in _nodes())


def _nodes() -> list[Node]:
    return [
        found for found in gc.get_objects() if issubclass(type(found), Node)
    ]  # not isinstance, which asks the object
