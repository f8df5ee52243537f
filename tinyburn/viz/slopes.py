"""The derivative of each operation as a line of mathematics with the real names in it: ``x.mT @ g``.

The rules that compute are in ``autodiff/rules.py``. These lines are for readers, and a test holds them together:
a line may name only what the rule keeps. ``g`` is the gradient of the operation's result.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinyburn.autodiff.checkpoint import CHECKPOINT

from .formula import op_name

SLOPES = {
    **{
        "powf_scalar": "{exponent} * {a} ** ({exponent} - 1)",
        "exp": "{out}",
        "log": "1 / {a}",
        "log1p": "1 / ({a} + 1)",
    },
    **{"sqrt": "0.5 / {out}", "sin": "cos({a})", "cos": "-sin({a})", "abs": "sign({a})", "tanh": "1 - {out} ** 2"},
    **{"erf": "2 / sqrt(pi) * exp(-{a} ** 2)", "sigmoid": "{out} * (1 - {out})"},
    **{"relu": "1 if {out} > 0, else 0", "clamp": "1 if {low} <= {a} <= {high}, else 0"},
}
"""Of one operand, elementwise: what ``g`` is multiplied by."""

GRADIENTS = {
    "add": ("g", "g"),
    "sub": ("g", "-g"),
    "mul": ("g * {b}", "g * {a}"),
    "div": ("g / {b}", "-g * {out} / {b}"),
    "powf": ("g * {b} * {a} ** ({b} - 1)", "g * {out} * log({a})"),
    "matmul": ("g @ {b}.mT", "{a}.mT @ g"),
    "maximum": ("g where {a} is the larger", "g where {b} is the larger"),
    "minimum": ("g where {a} is the smaller", "g where {b} is the smaller"),
    "mask_where": ("g where not {mask}, else 0", "", "g where {mask}, else 0"),
    "neg": ("-g",),
    "sum": ("g, for every element",),
    "sum_dims": ("g, for every element",),
    "mean": ("g / n, for every element",),
    "mean_dims": ("g / n, for every element",),
    "max": ("g, for the largest",),
    "max_dims": ("g, for the largest",),
    "min": ("g, for the smallest",),
    "min_dims": ("g, for the smallest",),
    "softmax": ("(g - sum(g * {out})) * {out}",),
    "log_softmax": ("g - exp({out}) * sum(g)",),
    "norm": ("g * {a} / {out}",),
    "reshape": ("g, reshaped back",),
    "permute": ("g, permuted back",),
    "expand": ("g, summed where it was repeated",),
    "slice": ("g in that part, else 0",),
    "cast": ("g, cast back",),
}
"""The whole gradient of each operand, by its place among the arguments."""

_FLAT = {"sign", "floor", "ceil", "round"}
_SPREADS = {"add", "sub", "mul", "div", "powf", "maximum", "minimum", "mask_where", "remainder", "multiply_no_nan"}


def gradient_line(op: str, place: int, texts: Mapping[str, str]) -> str:
    """The gradient of the operand at ``place``. ``texts`` has the operation's arguments and ``out``, by name."""
    if op in _FLAT:
        return "0"
    if op == CHECKPOINT:
        return "its part, when the segment runs again"
    if op in SLOPES:
        slope = slope_line(op, texts)
        return f"g {slope[2:]}" if slope.startswith("1 if") else f"g * {_bracketed(slope)}"
    lines = GRADIENTS.get(op, ())
    if place < len(lines):
        return lines[place].format_map(texts)
    return f"by the rule of {op_name(op)}"


def slope_line(op: str, texts: Mapping[str, str]) -> str:
    """What an elementwise operation of one operand multiplies by; empty for any other operation."""
    if op == "powf_scalar":
        return _power_slope(texts["a"], float(texts["exponent"]))
    return SLOPES.get(op, "").format_map(texts)


def _power_slope(a: str, exponent: float) -> str:
    """``2 * a`` and ``3 * a ** 2``, as one would write it."""
    if exponent == 0:
        return "0"
    if exponent == 1:
        return "1"
    power = "" if exponent == 2 else f" ** {exponent - 1:g}"
    return f"{exponent:g} * {a}{power}"


def _bracketed(slope: str) -> str:
    return f"({slope})" if " - " in slope and not slope.startswith("{") else slope


def spreads(op: str) -> bool:
    """Whether the operation broadcasts its operands, so that their gradients are summed back."""
    return op in _SPREADS
