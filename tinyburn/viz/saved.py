"""What the backward pass needs from the forward pass, and why: the data of picture 2.

A rule keeps exactly what it names. So the reason for each kept buffer can be read from the rule: it stands in the
line of mathematics that gives an operand's gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinyburn.autodiff import Node
from tinyburn.autodiff.checkpoint import CHECKPOINT
from tinyburn.backend import Category
from tinyburn.backend.operations import OPERATIONS

from .formula import argument_text
from .kept import Kept, kept_by_operation
from .model import Graph, Item
from .palette import MARKS
from .slopes import gradient_line, slope_line, spreads

_VIEWS = {"permute", "expand", "slice"}


@dataclass(frozen=True)
class Saved:
    """One value that one operation keeps.

    Attributes:
        item: the number of the item whose value it is.
        storage: the number of the item that the memory belongs to: another one if the value is a view.
        reason: why, in words.
        again: an earlier operation keeps the same memory, so that it counts there.
        freed: a backward pass has used the operation up.
    """

    item: int
    storage: int
    reason: str
    again: bool
    freed: bool


def saved_by_operation(graph: Graph) -> dict[int, list[Saved]]:
    """For each operation what it keeps, each value once; an empty list for one that keeps nothing."""
    seen: set[int] = set()
    saved: dict[int, list[Saved]] = {}
    for number, all_kept in kept_by_operation(graph).items():
        users: dict[int, list[Kept]] = {}
        for kept in all_kept:
            users.setdefault(kept.item, []).append(kept)
        saved[number] = []
        for value, kept_for in users.items():
            storage = storage_of(graph, value)
            reason = _reason(graph, number, kept_for)
            freed = graph.items[number].node.edges is None
            saved[number].append(Saved(value, storage, reason, storage in seen, freed))
            seen.add(storage)
    return saved


def storage_of(graph: Graph, number: int) -> int:
    """The item that allocated the memory of a value: the operand, as long as the value is only a view."""
    while _is_view(graph, graph.items[number]):
        number = graph.items[number].parents[0]
    return number


def _is_view(graph: Graph, item: Item) -> bool:
    """A reshape is a view unless its operand lies scattered in memory; a cast to the same dtype does nothing."""
    op = item.node.op
    if op == "reshape":
        return graph.items[item.parents[0]].node.op not in _VIEWS
    return op in _VIEWS or (op == "cast" and graph.items[item.parents[0]].dtype == item.dtype)


def category_letter(item: Item) -> str:
    """The category of a kept value, as the memory pictures have it."""
    category = {"operation": Category.ACTIVATION, "parameter": Category.PARAMETER}.get(item.kind, Category.INPUT)
    return MARKS[category].letter


def gradients_of(graph: Graph, number: int) -> list[tuple[int, str]]:
    """For each tracked operand of an operation its number, and the line that gives its gradient."""
    item = graph.items[number]
    texts = _texts(graph, number)
    lines: list[tuple[int, str]] = []
    for place, operand in graph.tracked(number):
        line = gradient_line(item.node.op, place, texts)
        shape = graph.items[operand].shape
        if spreads(item.node.op) and shape != item.shape:
            line += f", summed to {tuple(shape)}"
        lines.append((operand, line))
    return lines


def _texts(graph: Graph, number: int) -> dict[str, str]:
    """The operation's arguments by name, in words, and ``out``."""
    item = graph.items[number]
    if item.node.op not in OPERATIONS:
        return {"out": item.label}
    operation = OPERATIONS[item.node.op]
    operands = iter(item.parents)
    values = [
        graph.items[next(operands)].label if isinstance(argument, Node) else argument_text(argument)
        for argument in item.node.arguments
    ]
    return {**dict(zip(operation.parameters, values, strict=False)), "out": item.label}


def _reason(graph: Graph, number: int, kept_for: list[Kept]) -> str:
    item = graph.items[number]
    if item.node.op == CHECKPOINT:
        return "an input of the segment, which will run again"
    again = dict.fromkeys(graph.items[kept.again].label for kept in kept_for if kept.again is not None)
    if again:
        return f"{item.op} keeps it to compute {' and '.join(again)} again"
    slope = slope_line(item.node.op, _texts(graph, number))
    if slope:
        return f"{item.op} keeps it: its slope is {slope}"
    operands = dict.fromkeys(graph.items[kept.operand].label for kept in kept_for)
    return f"{item.op} keeps it for the gradient of {' and '.join(operands)}"
