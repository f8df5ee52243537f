"""A list of every operation of the interface, read from the interface itself.

Decorators wrap each operation without knowing it: the annotation of a parameter tells whether it is a tensor
(`Array`), a tensor or a number (`Operand`), or an argument that is only passed on (anything else).
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from .defaults import Backend
from .required import Required

_NOT_OPERATIONS = {"to_numpy", "shares_buffer", "index_bounds", "detach", "note"}


@dataclass(frozen=True)
class Operation:
    """One operation: its parameters in order, and which of them are tensors."""

    name: str
    parameters: tuple[str, ...]
    tensors: tuple[int, ...]
    is_default: bool


def _read(name: str, owner: type[Required]) -> Operation | None:
    """The operation called ``name``; None for a method that makes no tensor out of tensors."""
    signature = inspect.signature(getattr(owner, name))
    kinds = [str(parameter.annotation) for parameter in signature.parameters.values()]
    tensors = tuple(place for place, kind in enumerate(kinds) if kind in ("Array", "Operand"))
    if not tensors or signature.return_annotation != "Array" or name in _NOT_OPERATIONS:
        return None
    return Operation(name, tuple(signature.parameters), tensors, owner is Backend)


def _read_all() -> dict[str, Operation]:
    owned = [(name, owner) for owner in (Required, Backend) for name in vars(owner) if not name.startswith("_")]
    callables = [(name, owner) for name, owner in owned if callable(getattr(owner, name))]
    found = (_read(name, owner) for name, owner in callables)
    return {operation.name: operation for operation in found if operation}


OPERATIONS = _read_all()


def composed_by(backend: type[Backend], name: str) -> bool:
    """Whether a backend leaves an operation to its default."""
    mine = getattr(backend, name)
    default = getattr(Backend, name, None)
    return getattr(mine, "__func__", mine) is getattr(default, "__func__", None)
