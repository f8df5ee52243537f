"""The numbers of each step: the values of what an operation reads and writes, and every part of a gradient.

A computation keeps few of them. So the values are computed again from those that have a name, and the gradients by the
rules, in the order of the steps, with NumPy. What depends on something unknown (a leaf without a name, the inside of a
segment) stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tinyburn.autodiff import Node
from tinyburn.autodiff.backward import sum_to
from tinyburn.backend import NdArray
from tinyburn.base.shape import Shape
from tinyburn.tensor import Tensor

from .model import Graph, Item
from .numbers import FEW, Values, value_text
from .steps import Step, is_one_box

MOST_CELLS = 128
"""Of a matrix that is drawn as a heat map; a larger one is a text alone."""


class Shown(NamedTuple):
    """One tensor of a step.

    Attributes:
        label: what it is.
        words: its numbers if they are few, or their size; empty if they are not known.
        cells: the matrix of its numbers, where it is small enough to be drawn; else None.
    """

    label: str
    shape: Shape
    words: str
    cells: Values | None

    @property
    def sign(self) -> str:
        """What stands between the label and the words: few numbers are the value itself, other words are about it."""
        return " =" if prod(self.shape) <= FEW else ":"


class Numbers(NamedTuple):
    """The tensors of a step: what it reads, and what it gives."""

    read: tuple[Shown, ...] = ()
    result: Shown | None = None


def numbers_of(graph: Graph, steps: Sequence[Step], known: Mapping[Node, Values]) -> list[Numbers]:
    """The numbers of each step, from the values of the nodes that are known."""
    again = _Again(graph, known)
    return [again.of(step) for step in steps]


class _Again:
    """Computes a backward pass once more, step by step.

    Attributes:
        gradients: what has come so far of each item's gradient.
        parts: for each item the parts of its gradient, in order.
    """

    def __init__(self, graph: Graph, known: Mapping[Node, Values]) -> None:
        self.graph, self.known = graph, known
        self.gradients: dict[int, Values | None] = {}
        self.parts: dict[int, list[Shown]] = {}

    def of(self, step: Step) -> Numbers:
        if step.kind == "forward":
            return self.forward(self.graph.items[step.item])
        if step.kind == "seed":
            return self.seed(step)
        if step.kind == "rule":
            return self.rule(step)
        if step.kind == "sum":
            target = self.graph.items[step.target]
            label = f"gradient of {target.label}"
            return Numbers(tuple(self.parts[step.target]), shown(label, target.shape, self.gradients[step.target]))
        return Numbers()

    def forward(self, item: Item) -> Numbers:
        parents = [self.graph.items[at] for at in dict.fromkeys(item.parents)]
        return Numbers(tuple(map(self.shown_item, parents)), self.shown_item(item))

    def shown_item(self, item: Item) -> Shown:
        return shown(item.label, item.shape, self.known.get(item.node))

    def seed(self, step: Step) -> Numbers:
        item = self.graph.items[step.item]
        ones = np.ones(item.shape, item.node.dtype) if step.ops and self.known else None
        self.gradients[step.item] = ones
        return Numbers((), shown(f"gradient of {item.label}", item.shape, ones))

    def rule(self, step: Step) -> Numbers:
        """What a rule gives, and the gradient after it."""
        item, target = self.graph.items[step.item], self.graph.items[step.target]
        g = self.gradients.get(step.item)
        part = self.part(step, g)
        self.add(step.target, part)
        result = shown(f"for {target.label}", target.shape, part)
        self.parts.setdefault(step.target, []).append(result._replace(label=f"from {item.label}"))
        return Numbers((shown("g", item.shape, g), *map(self.shown_item, self.saved_items(step))), result)

    def add(self, target: int, part: Values | None) -> None:
        before = self.gradients.get(target, part)
        if target in self.gradients:
            self.gradients[target] = None if before is None or part is None else before + part
        else:
            self.gradients[target] = part

    def saved_items(self, step: Step) -> list[Item]:
        """What the rule names, as far as these are tensors."""
        saved = [value for value in self.saved(step) if isinstance(value, Node)]
        return [self.graph.items[self.graph.numbers[node]] for node in dict.fromkeys(saved)]

    def saved(self, step: Step) -> list[Any]:
        node = self.graph.items[step.item].node
        if is_one_box(node):
            return []
        rule = {at: rule for at, rule, _, _ in node.rules}[step.operand]
        values = {**dict(zip(rule.parameters, node.arguments, strict=False)), "out": node}
        return [values[name] for name in rule.names]

    def part(self, step: Step, g: Values | None) -> Values | None:
        """What the rule of a step gives; None if something that it needs is not known."""
        node = self.graph.items[step.item].node
        saved = self.saved(step)
        is_known = all(value in self.known for value in saved if isinstance(value, Node))
        if g is None or is_one_box(node) or not is_known:
            return None
        values = tuple([self.known[value] if isinstance(value, Node) else value for value in saved])
        rule = {at: rule for at, rule, _, _ in node.rules}[step.operand]
        target = self.graph.items[step.target].node
        found = rule.gradient(Tensor._around(g, NdArray.device()), values, target, False)
        return (found if found.shape == target.shape else sum_to(found, target.shape)).to_numpy()


def shown(label: str, shape: Shape, values: Values | None) -> Shown:
    """A tensor as a step shows it."""
    if values is None:
        return Shown(label, shape, "", None)
    rows, columns = (1, 1, *shape)[-2:]
    is_small = values.size == rows * columns and FEW < values.size <= MOST_CELLS
    cells = values.reshape(rows, columns).astype(np.float64) if is_small else None
    return Shown(label, shape, value_text(values), cells)
