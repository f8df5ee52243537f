"""What the backward pass needs from the forward pass, and why: the data of picture 2.

A rule keeps exactly what it names. So the reason for each kept buffer can be read from the rule: it stands in the
line of mathematics that gives an operand's gradient. All of it is read from the rule table and not from what the nodes
have saved, so it holds after a backward pass has freed that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from tinyburn.autodiff import Node
from tinyburn.autodiff.checkpointing import CHECKPOINT
from tinyburn.backend import Category
from tinyburn.backend.operations import OPERATIONS

from .model import Graph, Item
from .slopes import gradient_line, has_loop, slope_line
from .svg import MARKS, Mark


@dataclass(frozen=True)
class Saved:
    """One value that one operation keeps.

    Attributes:
        item: whose value it is.
        storage: the item that the memory belongs to: another one if the value is a view.
        operation: the number of the operation.
        needs: what it is kept for, as in `kept_by_operation`.
        again: an earlier operation keeps the same memory, so that it counts there.
        freed: a backward pass has used the operation up.
    """

    item: Item
    storage: Item
    operation: int
    needs: tuple[tuple[int, int], ...]
    again: bool
    freed: bool


def saved_by_operation(graph: Graph) -> dict[int, list[Saved]]:
    """For each operation what it keeps, each value once; an empty list for one that keeps nothing."""
    seen: set[int] = set()
    saved: dict[int, list[Saved]] = {}
    for number, kept in kept_by_operation(graph).items():
        freed = graph.items[number].node.edges is None
        saved[number] = []
        for value, needs in kept.items():
            storage = storage_of(graph, value)
            items = graph.items[value], graph.items[storage]
            saved[number].append(Saved(*items, number, tuple(needs), storage in seen, freed))
            seen.add(storage)
    return saved


def reason_of(graph: Graph, saved: Saved) -> str:
    """Why a value is kept, in words."""
    item = graph.items[saved.operation]
    if item.node.op == CHECKPOINT:
        return "an input of the segment, which will run again"
    if has_loop(item.node):
        return f"{item.op} keeps it for its own way back, and {own_bytes(item.node)} B of its steps beside it"
    kept = graph.numbers[saved.item.node]
    again = dict.fromkeys(graph.items[wanted].label for _, wanted in saved.needs if wanted != kept)
    if again:
        return f"{item.op} keeps it to compute {' and '.join(again)} again"
    slope = slope_line(item.node, graph.label)
    if slope:
        return f"{item.op} keeps it: its slope is {slope}"
    operands = dict.fromkeys(graph.items[operand].label for operand, _ in saved.needs)
    return f"{item.op} keeps it for the gradient of {' and '.join(operands)}"


def own_bytes(node: Node) -> int:
    """What a loop keeps of its steps, which no other node stands for."""
    return max([getattr(rule, "inside", 0) for _, rule, _, _ in node.rules], default=0)


def mark_of(item: Item) -> Mark:
    """The category of a kept value, as the memory pictures have it."""
    return MARKS[{"operation": Category.ACTIVATION, "parameter": Category.PARAMETER}.get(item.kind, Category.INPUT)]


# Which values


def kept_by_operation(graph: Graph) -> dict[int, dict[int, list[tuple[int, int]]]]:
    """For each operation the values that it keeps, or kept before a backward pass used it up.

    With each value comes what it is kept for: the operand whose gradient needs it, and the value that the rule asks
    for. The two values differ where the backend's strategy computes the second one again, from the first.
    """
    sources = _sources(graph)
    kept: dict[int, dict[int, list[tuple[int, int]]]] = {number: {} for number in graph.operations}
    for number, found in kept.items():
        for operand, value in _asked_for(graph.items[number].node):
            wanted = graph.numbers[value]
            for source in sources[wanted]:
                found.setdefault(source, []).append((graph.numbers[operand], wanted))
    return kept


def _sources(graph: Graph) -> list[tuple[int, ...]]:
    """For each item what is kept if a rule asks for it: itself, or what it would be computed from again."""
    sources: list[tuple[int, ...]] = []
    for number, item in enumerate(graph.items):
        if item.is_operation and item.node.op in OPERATIONS and graph.recomputes(item.node.op):
            below = [source for parent in item.parents for source in sources[parent]]
            sources.append(tuple(dict.fromkeys(below)))
        else:
            sources.append((number,))
    return sources


def _asked_for(node: Node) -> Iterator[tuple[Node, Node]]:
    """Each value that the rules of an operation ask for, after the operand whose gradient needs it."""
    if node.op == CHECKPOINT:
        inputs = takewhile(lambda argument: isinstance(argument, Node), node.arguments)  # then comes their number
        yield from ((node.arguments[0], value) for value in inputs)
        return
    if has_loop(node):
        yield from ((node.arguments[0], value) for value in (*node.parents[1:], node))  # all but the first input
        return
    rules = {at: rule for at, rule, _, _ in node.rules}
    for index, operand in tracked_operands(node):
        rule = rules[index]
        values = {**dict(zip(rule.parameters, node.arguments, strict=False)), "out": node}
        named = [values[name] for name in rule.names]
        yield from ((operand, value) for value in named if isinstance(value, Node))


def tracked_operands(node: Node) -> list[tuple[int, Node]]:
    """Each operand that a gradient goes to, after its position among the arguments."""
    count = len(node.arguments)
    positions = range(count) if node.op == CHECKPOINT else sorted(at for at, _, _, _ in node.rules)
    operands = [(index, node.arguments[index]) for index in positions]
    return [(index, each) for index, each in operands if isinstance(each, Node) and not each.is_constant]


# Whose memory


def storage_of(graph: Graph, number: int) -> int:
    """The item that allocated the memory of a value: the operand, as long as the value is only a view."""
    while _is_view(graph, graph.items[number]):
        number = graph.items[number].parents[0]
    return number


def _is_view(graph: Graph, item: Item) -> bool:
    """By its declaration. A reshape has to copy a view that lies scattered; a cast to the same dtype does nothing."""
    view = _view(item)
    if view != "maybe":
        return view == "always"
    operand = graph.items[item.parents[0]]
    return operand.dtype == item.dtype if item.node.op == "cast" else _view(operand) != "always"


def _view(item: Item) -> str:
    return OPERATIONS[item.node.op].view if item.node.op in OPERATIONS else "never"


# Which gradients


def gradients_of(graph: Graph, number: int) -> list[str]:
    """For each tracked operand of an operation a line that gives its gradient: ``W gets x.mT @ g``."""
    node = graph.items[number].node
    pairs = tracked_operands(node)
    return [f"{graph.label(operand)} gets {gradient_line(node, index, graph.label)}" for index, operand in pairs]
