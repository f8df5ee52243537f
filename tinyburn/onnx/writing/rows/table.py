"""The table of the export: for an operation of the interface, the nodes that a file gets for it.

A row is a function of a `Writer` and of the operation's arguments, in their order: a tensor comes as an `Edge`, any
other argument as it is, but that a number may be a `Length`. It returns the edge of the result.

What has no row and is composed of other operations is written as these. Of what is left, all is named at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

EXPORTS: dict[str, Callable[..., Any]] = {}
"""The rows, by the names of the operations."""


def export(*names: str) -> Callable[[F], F]:
    """Makes a function the row of some operations."""

    def add(function: F) -> F:
        for name in names:
            EXPORTS[name] = function
        return function

    return add
