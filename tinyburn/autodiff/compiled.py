"""Rules made ready to run: which argument each of a rule's parameters stands for is worked out once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from tinyburn.backend.interface import Array
from tinyburn.backend.operations import OPERATIONS, Operation
from tinyburn.tensor import Tensor

from .recipe import Recipe
from .rules import RULES, Rule

if TYPE_CHECKING:
    from .graph import Node

Saved: TypeAlias = tuple[Any, ...]
_NUMBERS = (float, int)  # what may stand in place of an operand


class CompiledRule:
    """One rule, and how to get what it names.

    Attributes:
        names: what it saves, in order; the shape and dtype of its own operand need no saving, the node has them.
        save: picks that out of the operation's arguments, followed by its result.
    """

    __slots__ = ("_function", "_own", "_tensors", "names", "save")

    def __init__(self, operation: Operation, place: int, rule: Rule) -> None:
        self._function = rule
        parameters = (*operation.parameters, "out")
        known = {f"{operation.parameters[place]}_shape": _shape, f"{operation.parameters[place]}_dtype": _dtype}
        asked = tuple(inspect.signature(rule).parameters)[1:]
        self._own = tuple(known[name] for name in asked if name in known)
        self.names = asked[len(self._own) :]
        unknown = [name for name in self.names if name not in parameters]
        if unknown:
            raise TypeError(
                f"a rule of {operation.name} asks for {unknown}; it has {(*known, *parameters)}, in this order"
            )
        self.save = _picker([parameters.index(name) for name in self.names])
        tensors = {*(operation.parameters[tensor] for tensor in operation.tensors), "out"}
        self._tensors = tuple(name in tensors for name in self.names)

    def buffers(self, saved: Saved) -> list[tuple[str, Array]]:
        """The primitives that the saved keep alive, which are what costs memory, with the names of the operands."""
        rows = zip(self.names, self._tensors, saved, strict=True)
        kept = [(name, value) for name, is_tensor, value in rows if is_tensor and type(value) not in _NUMBERS]
        return [(name, source) for name, value in kept for source in _sources(value)]

    def gradient(self, g: Tensor[Any, Any, Any], saved: Saved, parent: Node) -> Tensor[Any, Any, Any]:
        """The gradient of the operand whose node is ``parent``."""
        if not (saved or self._own):
            return self._function(g)
        arguments = [read(parent) for read in self._own] if self._own else []
        device = g.device
        for value, is_tensor in zip(saved, self._tensors):  # noqa: B905  # equally long by construction
            if type(value) is Recipe:
                value = value.call()
            arguments.append(Tensor(value, device) if is_tensor and type(value) not in _NUMBERS else value)
        return self._function(g, *arguments)


def _sources(value: Any) -> list[Array]:
    return value.sources or [] if type(value) is Recipe else [value]


_shape = attrgetter("shape")
_dtype = attrgetter("dtype.name")


def _picker(places: list[int]) -> Callable[[list[Any]], Saved]:
    """A fast ``lambda values: tuple(values[place] for place in places)``."""
    if not places:
        return lambda values: ()
    if len(places) == 1:
        (place,) = places
        return lambda values: (values[place],)
    return itemgetter(*places)


def compile_rules(name: str) -> list[tuple[int, CompiledRule]]:
    """The rules of an operation, each with the place of its operand; empty if it has none."""
    operation = OPERATIONS[name]
    rules = RULES.get(name, ())
    pairs = zip(operation.tensors, rules, strict=True) if rules else ()
    return [(place, CompiledRule(operation, place, rule)) for place, rule in pairs if rule is not None]
