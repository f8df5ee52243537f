"""How an operation is written in a picture: ``x @ W``, ``d ** 2``, ``mean(x, dim=0)``.

A student reads the line of the program again, with the real operands and the real numbers in it, and so finds
the line that made the box.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from tinyburn.autodiff.checkpointing import CHECKPOINT
from tinyburn.backend.operations import label_of
from tinyburn.base.text import thousands

_SIGNS = {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "remainder": "%", "matmul": "@"},
    **{"powf": "**", "powf_scalar": "**", "equal": "==", "greater": ">", "lower": "<"},
}


def formula(op: str, arguments: Sequence[str]) -> str:
    """One line of mathematics. ``arguments`` are the operands' labels, and the other arguments as text."""
    if op == CHECKPOINT:
        inputs = takewhile(lambda argument: not argument.isdigit(), arguments)  # then comes their number
        return f"segment({', '.join(inputs)})"
    if op in _SIGNS:
        return f"{arguments[0]} {_SIGNS[op]} {arguments[1]}"
    if op == "linear":
        x, weight, bias = arguments
        return f"{x} @ {weight} + {bias}"
    if op == "squared_difference":
        return f"({arguments[0]} - {arguments[1]}) ** 2"
    if op == "add_scaled":
        a, b, scale = arguments
        return f"{a} + {b} * {scale}"
    if op == "scaled_mul":
        return " * ".join(arguments)
    if op == "neg":
        return f"-{arguments[0]}"
    if op == "mask_where":
        a, mask, b = arguments
        return f"where({mask}, {b}, {a})"
    if op == "slice":
        return f"{arguments[0]}[{arguments[1]}]"
    if op.startswith("conv"):
        return f"{op}({arguments[0]}, {arguments[1]})"  # how the windows lie is seen in the shapes
    if op == "cat":
        return f"cat({', '.join(arguments[1:])})"  # the places of the parts are seen in their shapes
    if op.endswith("_dims"):
        return f"{label_of(op)}({arguments[0]}, dim={arguments[1]})"
    return f"{label_of(op)}({', '.join(arguments)})"


def argument_text(value: Any) -> str:
    """An argument that is not a tensor: a number, a dim, a shape, a dtype or the bounds of a slice.

    Bounds look as in the program; a single dim has no brackets; anything longer is a tuple.
    """
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, slice):
        step = f":{value.step}" if value.step not in (None, 1) else ""
        return f"{value.start}:{value.stop}{step}"
    if not isinstance(value, tuple):
        return str(value)
    parts = ", ".join(map(argument_text, value))
    is_bare = len(value) == 1 or (value and isinstance(value[0], slice))
    return parts if is_bare else f"({parts})"


# Words and numbers


def count(number: int, noun: str) -> str:
    """``1 operation``, ``1 000 operations``."""
    plural = {"leaf": "leaves", "box": "boxes"}.get(noun, f"{noun}s")
    return f"{thousands(number)} {noun if number == 1 else plural}"


def digits(value: float) -> str:
    """A measured number with 3 digits, which is what two machines agree on."""
    return f"{value:.3g}"


def listed(words: Sequence[str]) -> str:
    """``a, b and c``; of more than four the first three, and how many more."""
    if len(words) > 4:
        return f"{', '.join(words[:3])} and {len(words) - 3} more"
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
