"""Module: parameters and other modules under names, and one walk over them that everything else is made of."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar

from tinyburn.backend.device import Device
from tinyburn.base.errors import ConfigError
from tinyburn.base.scope import enter, leave

from .param import Param

AnyParam: TypeAlias = Param[Any, Any]
Visitor: TypeAlias = Callable[[str, AnyParam], None]
Mapper: TypeAlias = Callable[[str, AnyParam], AnyParam]
M = TypeVar("M", bound="Module")

_caller: ContextVar[Module | None] = ContextVar("tinyburn_caller", default=None)


class Module:
    """Assign parameters, modules, and lists or dicts of them in ``__init__``, and define ``forward``.

    Nothing has to be registered: the attributes are the registry. A module is not changed in place; `map`, and what
    is made of it, returns another one.
    """

    forward: Callable[..., Any]

    def __call__(self, *args: Any, **options: Any) -> Any:
        """``forward``, with this module's name on the path that errors, graphs and event logs show."""
        caller = _caller.get()
        path = enter(_name_in(caller, self))
        running = _caller.set(self)
        try:
            return self.forward(*args, **options)
        finally:
            _caller.reset(running)
            leave(path)

    # The one walk

    def named_children(self) -> Iterator[tuple[str, Module | AnyParam]]:
        """Each parameter and module directly in this one, by the name of its attribute; ``layers.0`` in a list."""
        for name, value in vars(self).items():
            yield from _children_of(name, value)

    def named_params(self) -> Iterator[tuple[str, AnyParam]]:
        """Each parameter by its path, in the order of assignment. One that is shared comes once, at its first path."""
        seen: dict[int, None] = {}
        for path, param in _walk(self, ""):
            if param.id not in seen:
                seen[param.id] = None
                yield path, param

    def map(self: M, mapper: Mapper) -> M:
        """A module like this one, with ``mapper(path, param)`` in place of each parameter; what was shared stays so."""
        paths = {param.id: path for path, param in reversed(list(_walk(self, "")))}
        done: dict[int, AnyParam] = {}

        def replace(param: AnyParam) -> AnyParam:
            if param.id not in done:
                done[param.id] = _checked(mapper(paths[param.id], param), paths[param.id])
            return done[param.id]

        made: M = _copied(self, replace, {})
        return made

    # What is made of it

    def visit(self, visitor: Visitor) -> None:
        """Calls ``visitor(path, param)`` for each parameter."""
        for path, param in self.named_params():
            visitor(path, param)

    def num_params(self) -> int:
        """How many numbers training can change."""
        sizes = [param.val().payload_bytes // param.val().dtype.bytes for _, param in self.named_params()]
        return sum(sizes)

    def to_device(self: M, device: Device[Any]) -> M:
        """The parameters on another device; those already there stay as they are."""
        return self.map(lambda _, param: param if param.val().device == device else _moved(param, device))

    def fork(self: M, device: Device[Any]) -> M:
        """A copy on a device that trains on its own: each parameter becomes a new leaf there."""
        return self.map(lambda _, param: _moved(param, device))

    def valid(self: M) -> M:
        """The model on the backend inside autodiff: what to evaluate and to deploy with."""
        return self.map(lambda _, param: param.inner())

    def no_grad(self: M) -> M:
        """The model with its parameters as constants. Only this copy: there is no global switch to forget."""
        return self.map(lambda _, param: param.untracked())

    def __repr__(self) -> str:
        return "\n".join(_lines(self, type(self).__name__, ""))


def _children_of(name: str, value: Any, outside: tuple[Any, ...] = ()) -> Iterator[tuple[str, Module | AnyParam]]:
    """What is in an attribute; ``outside`` are the containers around it."""
    if isinstance(value, Module | Param):
        yield name, value
    elif isinstance(value, list | tuple | dict):
        outside = _entered(value, outside, name)
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _children_of(f"{name}.{key}", item, outside)


def _walk(module: Module, prefix: str, outside: tuple[Any, ...] = ()) -> Iterator[tuple[str, AnyParam]]:
    """Every parameter with its path, a shared one at each of its places; ``outside`` are the modules around it."""
    outside = _entered(module, outside, prefix.rstrip("."))
    for name, child in module.named_children():
        if isinstance(child, Module):
            yield from _walk(child, f"{prefix}{name}.", outside)
        else:
            yield prefix + name, child


def _entered(part: Any, outside: tuple[Any, ...], path: str) -> tuple[Any, ...]:
    """What is around the parts of a part. Raises ConfigError if it stands inside itself: a walk would never end."""
    if any(part is one for one in outside):
        reason = f"{path} is a {type(part).__name__} that stands inside itself, so its parameters would have no end"
        hint = "give a part what it needs of the whole as an argument of forward, and no attribute"
        raise ConfigError("the parts of a module", reason, hint=hint)
    return (*outside, part)


def _copied(value: Any, replace: Callable[[AnyParam], AnyParam], made: dict[Module, Module]) -> Any:
    """A copy of a module, or of a container of modules, with every parameter replaced; a shared module stays shared."""
    if isinstance(value, Param):
        return replace(value)
    if isinstance(value, Module):
        if value not in made:
            made[value] = twin = copy.copy(value)
            vars(twin).update({name: _copied(item, replace, made) for name, item in vars(value).items()})
        return made[value]
    if isinstance(value, list | tuple):
        items = [_copied(item, replace, made) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return type(value)((key, _copied(item, replace, made)) for key, item in value.items())
    return value


def _checked(made: object, path: str) -> AnyParam:
    if isinstance(made, Param):
        return made
    reason = f"the mapper returned {type(made).__name__} for {path}, and not a Param"
    raise ConfigError("map", reason, hint="return the parameter itself to leave it as it is")


def _moved(param: AnyParam, device: Device[Any]) -> AnyParam:
    return param.replaced(param.val().detach().to_device(device))


def _name_in(caller: Module | None, module: Module) -> str:
    """The name under which one module calls another: its attribute there, or its class for the outermost."""
    if caller is not None:
        for name, child in caller.named_children():
            if child is module:
                return name
    return type(module).__name__.lower()


# How a module prints: Burn's layout, a line for each part, and the count of parameters at the end of every brace


def _lines(module: Module, title: str, indent: str) -> list[str]:
    count = module.num_params()  # before its parts are printed: it finds a module inside itself
    lines = [f"{indent}{title} {{"]
    inside = indent + "  "
    for name, value in vars(module).items():
        if isinstance(value, bool | int | float | str):
            lines.append(f"{inside}{name}: {value}")
    for name, child in module.named_children():
        lines += _child_lines(name, child, inside)
    return [*lines, f"{inside}params: {count}", f"{indent}}}"]


def _child_lines(name: str, child: Any, indent: str) -> list[str]:
    if isinstance(child, Param):
        tensor = child.val()
        return [f"{indent}{name}: Param {list(tensor.shape)} {tensor.dtype}"]
    return _lines(child, f"{name}: {type(child).__name__}", indent)
