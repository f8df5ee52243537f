"""A recipe: how to compute a result again, kept in place of the result; for checkpointing by strategy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyburn.backend.interface import Array


class Recipe:
    """The result of one operation, from arguments that are primitives, numbers, or recipes themselves.

    Several rules may need one result, and a result may be the ingredient of others. So a recipe counts who will ask
    for it, computes once at the first call, and lets the value go after the last.

    Attributes:
        sources: the primitives at the bottom, which it keeps alive; None if nobody listens.
    """

    __slots__ = ("_arguments", "_calls", "_compute", "_value", "sources")

    def __init__(self, compute: Callable[..., Array], arguments: list[Any], listened: bool) -> None:
        self._compute = compute
        self._arguments = arguments
        self._calls = 0
        self._value: Array = None
        self.sources = sources_of(arguments) if listened else None

    def __repr__(self) -> str:
        return f"Recipe({len(self._arguments)} arguments)"

    def expect_call(self) -> None:
        """Says that one more `call` will come. The first time, this recipe will in turn call its ingredients."""
        stack = [self]
        while stack:
            recipe = stack.pop()
            recipe._calls += 1
            if recipe._calls == 1:
                stack += [argument for argument in recipe._arguments if type(argument) is Recipe]

    def call(self) -> Array:
        """The value; each call must have been expected. The loop follows long chains without a recursion."""
        stack = [self]
        while stack:
            recipe = stack[-1]
            missing = [x for x in recipe._arguments if type(x) is Recipe and x._value is None]
            if recipe._value is not None or not missing:
                stack.pop()
                recipe._prepare()
            else:
                stack += missing
        return self._taken()

    def _prepare(self) -> None:
        """Computes the value, whose ingredients are ready, unless that has been done."""
        if self._value is None:
            values = [x._taken() if type(x) is Recipe else x for x in self._arguments]
            self._value = self._compute(*values)

    def _taken(self) -> Array:
        value = self._value
        self._calls -= 1
        if self._calls == 0:
            self._value = None
        return value


def sources_of(arguments: list[Any]) -> list[Array]:
    """Every primitive that some arguments lead to, each once, in the order in which they are met."""
    found: dict[Any, None] = {}
    for argument in arguments:
        if type(argument) is Recipe:
            found.update(dict.fromkeys(argument.sources or ()))
        elif hasattr(argument, "shape"):
            found[argument] = None
    return list(found)
