"""The buffers that the operations of a graph keep, under the backend's checkpointing strategy."""

from __future__ import annotations

from dataclasses import dataclass

from tinyburn.autodiff.checkpoint import CHECKPOINT

from .model import Graph, Item
from .operands import kept_values


@dataclass(frozen=True, slots=True)
class Kept:
    """One buffer that an operation keeps for the backward pass.

    Attributes:
        item: the number of the item whose value it is.
        operand: the number of the item whose gradient needs it.
        place: the place of that operand among the operation's arguments.
        again: the number of the value that is computed again from it; None if the value itself is kept.
    """

    item: int
    operand: int
    place: int
    again: int | None = None


def kept_by_operation(graph: Graph) -> dict[int, list[Kept]]:
    """For each operation the buffers that it keeps, or kept before a backward pass used it up."""
    sources = _sources(graph)
    kept: dict[int, list[Kept]] = {number: [] for number in graph.operations}
    for number in graph.operations:
        for place, operand, value in kept_values(graph.items[number].node):
            wanted = graph.numbers[value]
            for source in sources[wanted]:
                again = None if source == wanted else wanted
                kept[number].append(Kept(source, graph.numbers[operand], place, again))
    return kept


def _sources(graph: Graph) -> list[tuple[int, ...]]:
    """For each item what is kept in its place: itself, or what it would be computed from again."""
    sources: list[tuple[int, ...]] = []
    for number, item in enumerate(graph.items):
        if _is_computed_again(graph, item):
            below = [source for parent in item.parents for source in sources[parent]]
            sources.append(tuple(dict.fromkeys(below)))
        else:
            sources.append((number,))
    return sources


def _is_computed_again(graph: Graph, item: Item) -> bool:
    return item.is_operation and item.node.op != CHECKPOINT and graph.recomputes(item.node.op)
