"""How an operation is written in a picture: ``x @ W``, ``d ** 2``, ``mean(x, dim=0)``.

A student reads the line of the program again, with the real operands and the real numbers in it, and so finds
the place in the code that made the box.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from tinyburn.autodiff.checkpoint import CHECKPOINT
from tinyburn.base.shape import Shape
from tinyburn.base.text import thousands

NAMES = {
    **{"powf": "pow", "powf_scalar": "pow", "mask_where": "where"},
    **{f"{name}_dims": name for name in ("sum", "mean", "max", "min")},
}
"""Operations that have another name in the interface than in a program."""

_SIGNS = {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "remainder": "%", "matmul": "@"},
    **{"powf": "**", "powf_scalar": "**"},
}
_REDUCTIONS = {"sum_dims", "mean_dims", "max_dims", "min_dims"}


def op_name(op: str) -> str:
    """The name that a reader knows: ``pow`` for ``powf_scalar``."""
    return NAMES.get(op, op)


def formula(op: str, arguments: Sequence[str]) -> str:
    """One line of mathematics. ``arguments`` are the operands' labels, and the other arguments as text."""
    if op == CHECKPOINT:
        inputs = takewhile(lambda argument: not argument.isdigit(), arguments)  # then comes their number
        return f"segment({', '.join(inputs)})"
    if op in _SIGNS:
        return f"{arguments[0]} {_SIGNS[op]} {arguments[1]}"
    if op == "neg":
        return f"-{arguments[0]}"
    if op == "mask_where":
        a, mask, b = arguments
        return f"where({mask}, {b}, {a})"
    if op == "slice":
        return f"{arguments[0]}[{arguments[1]}]"
    if op in _REDUCTIONS:
        return f"{op_name(op)}({arguments[0]}, dim={arguments[1]})"
    return f"{op_name(op)}({', '.join(arguments)})"


def argument_text(value: Any) -> str:
    """An argument that is not a tensor: a number, a dim, a shape, a dtype or the bounds of a slice."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, slice):
        return _bounds(value)
    if isinstance(value, tuple):
        return _sequence(value)
    return str(value)


def _sequence(values: tuple[Any, ...]) -> str:
    """Bounds of a slice as in the program; a single dim without its brackets; anything longer as a tuple."""
    parts = [argument_text(value) for value in values]
    if values and isinstance(values[0], slice):
        return ", ".join(parts)
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _bounds(part: slice) -> str:
    step = f":{part.step}" if part.step not in (None, 1) else ""
    return f"{part.start}:{part.stop}{step}"


def shape_text(shape: Shape) -> str:
    """A shape with no digit that a table could take for a number: ``(16, 8)``, ``(4,)``."""
    return str(tuple(shape))


def count(number: int, noun: str) -> str:
    """``1 operation``, ``1 000 operations``."""
    plural = {"leaf": "leaves", "box": "boxes"}.get(noun, f"{noun}s")
    return f"{thousands(number)} {noun if number == 1 else plural}"


def digits(value: float) -> str:
    """A measured number with 3 digits, which is what two machines agree on."""
    return f"{value:.3g}"
