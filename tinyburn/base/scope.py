"""Where in the model we are: the path of the module whose ``forward`` is running.

A module is entered when it is called. Errors, graph nodes and memory events read the path, so each can say
``mlp.layers.0`` without the tensor code knowing that modules exist.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Any


class Scope:
    """What is running.

    Attributes:
        path: the dotted path of the module; empty outside any.
        module: the module itself; None outside any.
        parts: its parts with their names, by their `id()`, once one of them is called.
    """

    __slots__ = ("module", "parts", "path")

    def __init__(self, path: str, module: Any) -> None:
        self.path = path
        self.module = module
        self.parts: dict[int, tuple[str, Any]] | None = None

    def __repr__(self) -> str:
        return f"Scope({self.path!r})"


_scope: ContextVar[Scope] = ContextVar("tinyburn_scope", default=Scope("", None))  # noqa: B039  # nobody writes to it

current_scope = _scope.get
"""Returns what is running."""
start, leave = _scope.set, _scope.reset
"""``token = start(scope)``: it runs from here on, until ``leave(token)``, in a ``finally``."""


def current_path() -> str:
    """The dotted path of the running module, or an empty string outside any."""
    return _scope.get().path


def enter(name: str) -> Token[Scope]:
    """Goes one level down, in the same module. Hand the token to `leave`, in a ``finally``."""
    outer = _scope.get()
    return _scope.set(Scope(f"{outer.path}.{name}" if outer.path and name else outer.path or name, outer.module))
