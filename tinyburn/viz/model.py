"""The graph as plain data: what every picture of a graph starts from.

Autodiff's nodes hold rules and buffers, and know nothing of names. Here each becomes an `Item` with a label, a
formula and a size, in an order in which operands come before results. The order depends on the program alone, so
the same program makes the same picture in every process. The walk is a loop: a chain of 100 000 operations is fine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from math import prod
from typing import Any, TypeAlias

from tinyburn.autodiff import Gradients, Node
from tinyburn.backend.operations import label_of
from tinyburn.base.dtype import DTYPES
from tinyburn.base.errors import BackendMismatch, ConfigError, GraphError
from tinyburn.base.shape import Shape
from tinyburn.base.text import amount
from tinyburn.module import Module, Param
from tinyburn.tensor import Tensor

from .formula import argument_text, formula

Results: TypeAlias = "Tensor[Any, Any, Any] | Sequence[Tensor[Any, Any, Any]]"
Name: TypeAlias = Tensor[Any, Any, Any] | Param[Any, Any] | Module
"""What a caller can give a name to."""

LEAF_LETTERS = {"parameter": "P", "leaf": "I"}
"""The letter of a leaf that gets a gradient, as the memory pictures have it: only a `Param` makes a parameter."""


@dataclass(frozen=True, slots=True)
class Item:
    """One leaf, constant or operation.

    Attributes:
        label: its name in this picture.
        kind: ``parameter`` (of a module, or a Param), ``leaf`` (any other tracked tensor), ``constant`` (no gradient
            reaches it), or ``operation``.
        formula: what it computes, from the labels of its operands; empty for a leaf and a constant.
        size: bytes of its values.
        parents: the numbers of its operands, in order, one for each use.
    """

    label: str
    kind: str
    op: str
    formula: str
    shape: Shape
    dtype: str
    size: int
    path: str
    parents: tuple[int, ...]
    node: Node

    @property
    def is_operation(self) -> bool:
        """Not a leaf, nor a constant."""
        return self.kind == "operation"

    @property
    def gets_gradient(self) -> bool:
        """Whether `backward` brings one here."""
        return self.kind != "constant"

    @property
    def summary(self) -> str:
        """Its shape, dtype and bytes: ``(16, 8) float64 1 024 B``."""
        return f"{self.shape} {self.dtype} {amount(self.size)}"


@dataclass(frozen=True)
class Graph:
    """Every item that some tensors were computed from, operands before results; the last of the tensors is the last.

    Attributes:
        roots: what all the others were computed for: mostly one loss.
        absent: names that the caller gave, and that are not in this graph.
        recomputes: whether the backend's strategy computes the results of an operation again instead of keeping them.
    """

    items: tuple[Item, ...]
    roots: tuple[Node, ...]
    numbers: Mapping[Node, int]
    absent: tuple[str, ...]
    recomputes: Callable[[str], bool]

    def label(self, node: Node) -> str:
        """The name of a node's value in this picture."""
        return self.items[self.numbers[node]].label

    @property
    def root(self) -> Item:
        """The only root, or the last of several."""
        return self.items[-1]

    @property
    def operations(self) -> list[int]:
        """Their numbers, in order."""
        return [number for number, item in enumerate(self.items) if item.is_operation]

    @property
    def leaves(self) -> list[int]:
        """The numbers of the leaves and constants, in the order of their discovery."""
        return [number for number, item in enumerate(self.items) if not item.is_operation]

    @cached_property
    def users(self) -> Counter[int]:
        """For each item how many operations use its value."""
        return Counter(parent for item in self.items for parent in set(item.parents))


def read_graph(picture: str, results: Results, names: Mapping[str, Name]) -> Graph:
    """The graph behind some results. ``picture`` is the function's name, for the error messages.

    Raises:
        BackendMismatch: the tensor, or a tensor in ``names``, is on a backend without a graph.
        ConfigError: a name for something that has no name in a graph.
        GraphError: nothing that the tensor depends on is tracked.
    """
    found = several(results)
    roots = tuple(dict.fromkeys(_root_of(picture, result) for result in found))
    if not roots:
        raise ConfigError(f"viz.{picture}", "the list of results is empty", hint="give one result, or a list of some")
    given = _named_nodes(picture, names)
    order = _walk(roots)
    labels = _labels(order, roots, {node: name for name, node, _ in reversed(given) if node is not None})
    parameters = {node for _, node, is_parameter in given if is_parameter}
    numbers = {node: number for number, node in enumerate(order)}
    absent = tuple(name for name, node, _ in given if node is None or node not in numbers)
    models = {type(model).__name__.lower(): name for name, model in names.items() if isinstance(model, Module)}
    items = tuple(_item(node, labels, numbers, models, node in parameters) for node in order)
    backend: Any = found[0].backend
    return Graph(items, roots, numbers, absent, backend.strategy.recomputes)


def several(results: Results) -> Sequence[Any]:
    """The results, also if there is one."""
    return results if isinstance(results, list | tuple) else [results]


def check_gradients(picture: str, graph: Graph, grads: object) -> None:
    """Raises ConfigError for what is no gradients, and GraphError for those of another tensor."""
    if not isinstance(grads, Gradients):
        reason = f"grads is of type {type(grads).__name__}"
        hint = f"give what backward() returned: viz.{picture}(loss, loss.backward(record_flow=True))"
        raise ConfigError(f"viz.{picture}", reason, hint=hint)
    nodes = [graph.items[leaf].node for leaf in graph.leaves]
    has_any = any(grads.of_node(node) is not None for node in nodes) or not len(grads)
    if not has_any or (grads.flow is not None and graph.root.node not in grads.flow.nodes):
        reason = "these gradients come from another tensor's backward()"
        hint = "give the tensor that backward() was called on, and the gradients that it returned"
        raise GraphError(f"viz.{picture}", reason, hint=hint)


def _root_of(picture: str, result: Any) -> Node:
    if isinstance(result, Module | Param):
        what = "a parameter" if isinstance(result, Param) else "a model"
        reason = f"{what} alone has no graph: one is recorded while something is computed with it"
        hint = f"draw a result, as in viz.{picture}(model(x), model=model)"
        raise ConfigError(f"viz.{picture}", reason, hint=hint)
    root = _node_of(picture, "the result", result, "a Tensor that was computed")
    if root is None or root.is_constant:
        reason = "no tensor that it was computed from is tracked, so nothing was recorded"
        raise GraphError(f"viz.{picture}", reason, hint="call .require_grad() on a tensor before you compute with it")
    return root


def _walk(roots: Sequence[Node]) -> list[Node]:
    """Every node once, each after its operands. The set is only asked, never walked, so its order does not matter."""
    order: list[Node] = []
    seen: set[Node] = set()
    for root in roots:
        if root not in seen:
            _walk_from(root, seen, order)
    return order


def _walk_from(root: Node, seen: set[Node], order: list[Node]) -> None:
    seen.add(root)
    stack: list[tuple[Node, Iterator[Node]]] = [(root, iter(root.parents))]
    while stack:
        node, parents = stack[-1]
        new = next((parent for parent in parents if parent not in seen), None)
        if new is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(new)
            stack.append((new, iter(new.parents)))


def _labels(order: list[Node], roots: tuple[Node, ...], given: dict[Node, str]) -> dict[Node, str]:
    """The caller's names first; then ``leaf 1``, ``constant 1``, and ``t1`` for a result, by order of discovery."""
    taken = set(given.values())
    labels: dict[Node, str] = {}
    fresh = {start: _fresh(start, taken) for start in ("leaf ", "constant ", "t", "loss ", "result ")}
    for node in order:
        if node in given:
            labels[node] = given[node]
        elif node in roots and node.parents:
            name = "loss" if prod(node.shape) == 1 else "result"
            labels[node] = name if len(roots) == 1 else next(fresh[f"{name} "])
        else:
            start = "leaf " if node.is_leaf else "constant " if node.is_constant else "t"
            labels[node] = next(fresh[start])
    return labels


def _fresh(start: str, taken: set[str]) -> Iterator[str]:
    """``t1``, ``t2`` and so on, without the labels that the caller has taken."""
    return (label for number in count(1) if (label := f"{start}{number}") not in taken)


def _item(
    node: Node,
    labels: Mapping[Node, str],
    numbers: Mapping[Node, int],
    models: Mapping[str, str],
    is_parameter: bool,
) -> Item:
    texts = [labels[value] if isinstance(value, Node) else argument_text(value) for value in node.arguments]
    tracked = "parameter" if is_parameter or node.is_parameter else "leaf"
    return Item(
        label=labels[node],
        kind="constant" if node.is_constant else tracked if node.is_leaf else "operation",
        op=label_of(node.op),
        formula=formula(node.op, texts) if node.arguments else "",
        shape=node.shape,
        dtype=DTYPES[node.dtype],
        size=prod(node.shape) * node.dtype.itemsize,
        path=_path(node.path, models),
        parents=tuple([numbers[parent] for parent in node.parents]),
        node=node,
    )


def _path(path: str, models: Mapping[str, str]) -> str:
    """A path begins with the class of the model that was called; the caller's name for that model stands for it."""
    first, dot, rest = path.partition(".")
    return models.get(first, first) + dot + rest


def _named_nodes(picture: str, names: Mapping[str, Name]) -> list[tuple[str, Node | None, bool]]:
    """Each name with its node, if it has one yet, and whether it is a parameter."""
    return [
        (name, _node_of(picture, name, tensor), is_parameter) for name, tensor, is_parameter in named_tensors(names)
    ]


def named_tensors(names: Mapping[str, Name]) -> list[tuple[str, Any, bool]]:
    """Each name with what it stands for, the parameters of a module one by one, and whether it is a parameter."""
    found: list[tuple[str, Any, bool]] = []
    for name, value in names.items():
        if isinstance(value, Module):
            found += [(f"{name}.{path}", param.val(), True) for path, param in value.named_params()]
        elif isinstance(value, Param):
            found.append((name, value.val(), True))
        else:
            found.append((name, value, False))
    return found


def _node_of(picture: str, name: str, value: Any, wanted: str = "a Tensor, a Param or a Module") -> Node | None:
    if not isinstance(value, Tensor):
        reason = f"{name} is of type {type(value).__name__}, which has no place in a graph"
        raise ConfigError(f"viz.{picture}", reason, hint=f"give {wanted} for {name}")
    if not value.backend.is_autodiff:
        backend = value.backend.__name__
        reason = f"{name} is on {backend}, which records no graph"
        hint = f"make the device with Autodiff[{backend}].device()"
        raise BackendMismatch(f"viz.{picture}", reason, hint=hint)
    node: Node | None = value.primitive.node
    return node
