"""What the rules of one node say: which operands get a gradient, and which values are kept for it.

It is read from the rule table and not from the node's saved buffers, so it holds after a backward pass has freed them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tinyburn.autodiff import Node
from tinyburn.autodiff.checkpoint import CHECKPOINT
from tinyburn.autodiff.compiled import CompiledRule, compile_rules
from tinyburn.backend.operations import OPERATIONS


def tracked_operands(node: Node) -> Iterator[tuple[int, Node]]:
    """Each operand that a gradient goes to, with its place."""
    places = range(len(node.arguments)) if node.op == CHECKPOINT else [place for place, _ in _rules(node.op)]
    for place in places:
        operand = node.arguments[place]
        if isinstance(operand, Node) and not operand.is_constant:
            yield place, operand


def kept_values(node: Node) -> Iterator[tuple[int, Node, Node]]:
    """Each value that is kept, as its node, with the place and the node of the operand whose gradient needs it."""
    if node.op == CHECKPOINT:
        inputs = node.arguments[: next(place for place, value in enumerate(node.arguments) if isinstance(value, int))]
        yield from ((0, node.arguments[0], value) for value in inputs)
        return
    rules = dict(_rules(node.op))
    for place, operand in tracked_operands(node):
        for name in rules[place].names:
            value = _value_of(node, name)
            if value is not None:
                yield place, operand, value


@cache
def _rules(op: str) -> list[tuple[int, CompiledRule]]:
    return compile_rules(op) if op in OPERATIONS else []


def _value_of(node: Node, name: str) -> Node | None:
    """The node whose value a rule keeps under a name; None if that is a number, a shape or a dim: no buffer."""
    if name == "out":
        return node
    value = node.arguments[OPERATIONS[node.op].parameters.index(name)]
    return value if isinstance(value, Node) else None
