"""Operations that work element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tinyburn.onnx.writing.writer import Edge, Writer

from .table import EXPORTS, export

Row: TypeAlias = Callable[..., Edge]

_SAME = {
    **{"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "maximum": "Max", "minimum": "Min"},
    **{"clamp_min": "Max", "clamp_max": "Min", "clamp": "Clip", "relu": "Relu", "sigmoid": "Sigmoid"},
    **{"gelu": "Gelu", "softplus": "Softplus", "neg": "Neg", "abs": "Abs", "sign": "Sign", "exp": "Exp", "log": "Log"},
    **{"sqrt": "Sqrt", "erf": "Erf", "floor": "Floor", "ceil": "Ceil", "round": "Round"},
    **{"sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan"},
    **{"sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh"},
}
"""The operators that do what the operation does, of the same operands. A number is an operand, too."""

_TRUTHS = {
    **{"equal": "Equal", "greater": "Greater", "greater_equal": "GreaterOrEqual"},
    **{"lower": "Less", "lower_equal": "LessOrEqual", "is_nan": "IsNaN", "is_inf": "IsInf"},
    **{"bool_and": "And", "bool_or": "Or", "bool_xor": "Xor", "bool_not": "Not"},
}
"""Those whose results are truth values."""


def _row(operator: str, dtype: Any = None) -> Row:
    return lambda g, *operands: g.node(operator, *operands, dtype=dtype)


EXPORTS.update({name: _row(operator) for name, operator in _SAME.items()})
EXPORTS.update({name: _row(operator, bool) for name, operator in _TRUTHS.items()})


@export("not_equal")
def not_equal(g: Writer, a: Any, b: Any) -> Edge:
    """There is no operator for it."""
    return g.node("Not", g.node("Equal", a, b, dtype=bool))


@export("leaky_relu")
def leaky_relu(g: Writer, a: Edge, slope: float) -> Edge:
    """The slope is a float32 in the file."""
    return g.node("LeakyRelu", a, alpha=float(slope))


@export("silu")
def silu(g: Writer, a: Edge) -> Edge:
    """As one quotient, which is how it is computed here: with Sigmoid the last bit would be another one."""
    return g.node("Div", a, g.node("Add", g.node("Exp", g.node("Neg", a)), 1))


@export("log2")
def log2(g: Writer, a: Edge) -> Edge:
    """By the natural logarithm."""
    return g.node("Div", g.node("Log", a), math.log(2))


@export("log10")
def log10(g: Writer, a: Edge) -> Edge:
    """By the natural logarithm."""
    return g.node("Div", g.node("Log", a), math.log(10))


@export("log1p")
def log1p(g: Writer, a: Edge) -> Edge:
    """Where the 1 would swallow the digits of a, by ``log1p(a) = 2 * atanh(a / (a + 2))``."""
    small = g.node("Mul", g.node("Atanh", g.node("Div", a, g.node("Add", a, 2))), 2)
    is_small = g.node("Less", g.node("Abs", a), 0.5, dtype=bool)
    return g.node("Where", is_small, small, g.node("Log", g.node("Add", a, 1)), dtype=a.dtype)


@export("powf")
def powf(g: Writer, a: Any, b: Any) -> Edge:
    """A number as the base has the dtype of the exponent."""
    return g.node("Pow", a, b)


@export("powf_scalar")
def powf_scalar(g: Writer, a: Edge, exponent: Any) -> Edge:
    """A small whole power is a product, as it is here."""
    if exponent == 0.5 and a.dtype.kind == "f":
        return g.node("Sqrt", a)
    is_whole = exponent in (2, 3, 4, 5, 6) or (exponent in (-2, -1) and a.dtype.kind == "f")
    if exponent == 1:
        return a
    if not is_whole:
        return g.node("Pow", a, exponent)
    digits = bin(abs(int(exponent)))[3:]
    if exponent < 0:
        inverse = g.node("Reciprocal", a)
        return g.node("Mul", inverse, inverse) if digits else inverse
    power = a
    for digit in digits:
        power = g.node("Mul", power, power)
        power = g.node("Mul", power, a) if digit == "1" else power
    return power


@export("fmod")
def fmod(g: Writer, a: Any, b: Any) -> Edge:
    """With the sign of a."""
    return g.node("Mod", a, b, fmod=1)


@export("remainder")
def remainder(g: Writer, a: Any, b: Any) -> Edge:
    """Of floats ONNX has the remainder with the sign of a alone. Where the other sign is wanted, b is added."""
    like = a if isinstance(a, Edge) else b
    if like.dtype.kind != "f":
        return g.node("Mod", a, b)
    divisor = g.edge(b, like.dtype)
    rest = g.node("Mod", a, divisor, fmod=1)
    is_other = g.node("Xor", g.node("Less", rest, 0, dtype=bool), g.node("Less", divisor, 0, dtype=bool))
    is_left = g.node("Not", g.node("Equal", rest, 0, dtype=bool))
    return g.node("Where", g.node("And", is_other, is_left), g.node("Add", rest, divisor), rest, dtype=like.dtype)


@export("atan2")
def atan2(g: Writer, a: Any, b: Any) -> Edge:
    """``atan(a / b)``, half a turn further on the left of the origin. Two infinities are as far apart as two ones."""
    dtype = (a if isinstance(a, Edge) else b).dtype
    y, x = g.edge(a, dtype), g.edge(b, dtype)
    both = g.node("And", g.node("IsInf", y, dtype=bool), g.node("IsInf", x, dtype=bool))
    y, x = (g.node("Where", both, g.node("Sign", each), each, dtype=dtype) for each in (y, x))
    right = g.node("Atan", g.node("Div", y, x))
    half = g.node(
        "Where", g.node("Less", y, 0, dtype=bool), g.edge(-math.pi, dtype), g.edge(math.pi, dtype), dtype=dtype
    )
    turned = g.node("Where", g.node("Less", x, 0, dtype=bool), g.node("Add", right, half), right, dtype=dtype)
    upright = g.node("Mul", g.node("Sign", y), math.pi / 2)
    return g.node("Where", g.node("Equal", x, 0, dtype=bool), upright, turned, dtype=dtype)


@export("mask_where")
def mask_where(g: Writer, a: Any, mask: Edge, b: Any) -> Edge:
    """ONNX names the choice of the truth first."""
    dtype = next(x.dtype for x in (a, b) if isinstance(x, Edge))
    return g.node("Where", mask, g.edge(b, dtype), g.edge(a, dtype), dtype=dtype)


@export("multiply_no_nan")
def multiply_no_nan(g: Writer, a: Edge, b: Any) -> Edge:
    """0 where a is 0, whatever b is."""
    return g.node("Where", g.node("Equal", a, 0, dtype=bool), g.edge(0, a.dtype), g.node("Mul", a, b), dtype=a.dtype)


@export("scaled_mul")
def scaled_mul(g: Writer, a: Edge, b: Any, scale: float) -> Edge:
    """The same, times a number."""
    product = g.node("Mul", g.node("Mul", a, b), scale)
    return g.node("Where", g.node("Equal", a, 0, dtype=bool), g.edge(0, a.dtype), product, dtype=a.dtype)


@export("relu_backward")
def relu_backward(g: Writer, a: Edge, out: Edge) -> Edge:
    """a where a relu has let something through."""
    return g.node("Where", g.node("Greater", out, 0, dtype=bool), a, g.edge(0, a.dtype), dtype=a.dtype)


@export("cast")
def cast(g: Writer, a: Edge, dtype: Any) -> Edge:
    """Another format."""
    return g.cast(a, np.dtype(dtype))
