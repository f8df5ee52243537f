"""Where in the model we are: the path of the module whose ``forward`` is running.

A module enters its name here when it is called. Errors, graph nodes and memory events read the
path, so each can say ``mlp.layers.0`` without the tensor code knowing that modules exist.
"""

from __future__ import annotations

from contextvars import ContextVar, Token

_path: ContextVar[str] = ContextVar("tinyburn_path", default="")

current_path = _path.get
"""Returns the dotted path of the running module, or an empty string outside any."""


def enter(name: str) -> Token[str]:
    """Goes one level down. Hand the token to `leave`, in a ``finally``."""
    outer = _path.get()
    return _path.set(f"{outer}.{name}" if outer and name else outer or name)


def leave(token: Token[str]) -> None:
    """Returns to where `enter` was called, also after an exception."""
    _path.reset(token)
