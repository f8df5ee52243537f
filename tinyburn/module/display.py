"""How a module prints: Burn's layout, a line for each part, and the count of parameters under every brace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .param import Param

if TYPE_CHECKING:
    from .module import Module


def module_repr(module: Module) -> str:
    """The settings and parts of a module, nested, with the number of parameters of each."""
    return "\n".join(_lines(module, type(module).__name__, ""))


def _lines(module: Module, title: str, indent: str) -> list[str]:
    lines = [f"{indent}{title} {{"]
    inside = indent + "  "
    for name, value in vars(module).items():
        if isinstance(value, bool | int | float | str):
            lines.append(f"{inside}{name}: {value}")
    for name, child in module.named_children():
        lines += _child_lines(name, child, inside)
    return [*lines, f"{inside}params: {module.num_params()}", f"{indent}}}"]


def _child_lines(name: str, child: Any, indent: str) -> list[str]:
    if isinstance(child, Param):
        tensor = child.val()
        return [f"{indent}{name}: Param {list(tensor.shape)} {tensor.dtype}"]
    return _lines(child, f"{name}: {type(child).__name__}", indent)
