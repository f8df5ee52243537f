"""The lines of mathematics in picture 2 come from the rules, so they are true; that they can be read is tested here.

Each line is evaluated as it stands, and compared with finite differences of the operation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.autodiff.test_rules import CHECKS, Check
from tests.support import leaf, tracked
from tinyburn import activation
from tinyburn.autodiff import Node
from tinyburn.autodiff.rules import RULES, rules_of
from tinyburn.backend.operations import OPERATIONS
from tinyburn.viz.slopes import gradient_line, slope_line

A, B, G, STEP = 0.7, 1.3, 1.9, 1e-6
ONE: dict[str, tuple[Callable[..., Any], Callable[[Any], Any], str]] = {
    "exp": (lambda x: x.exp(), np.exp, "g * out"),
    "log": (lambda x: x.log(), np.log, "g / a"),
    "log1p": (lambda x: x.log1p(), np.log1p, "g / (a + 1)"),
    "sqrt": (lambda x: x.sqrt(), np.sqrt, "g * 0.5 / out"),
    "sin": (lambda x: x.sin(), np.sin, "g * cos(a)"),
    "cos": (lambda x: x.cos(), np.cos, "-g * sin(a)"),
    "abs": (lambda x: x.abs(), np.abs, "g * sign(a)"),
    "sinh": (lambda x: x.sinh(), np.sinh, "g * cosh(a)"),
    "tanh": (lambda x: x.tanh(), np.tanh, "g * (1 - out ** 2)"),
    "erf": (lambda x: x.erf(), math.erf, "g * 1.12838 * exp(-a ** 2)"),
    "neg": (lambda x: -x, np.negative, "-g"),
    "sigmoid": (activation.sigmoid, lambda a: 1 / (1 + np.exp(-a)), "g * out * (1 - out)"),
    "softplus": (activation.softplus, lambda a: np.log(1 + np.exp(a)), "g * sigmoid(a)"),
    "relu": (activation.relu, lambda a: max(a, 0.0), "g if out > 0, else 0"),
    "clamp": (lambda x: x.clamp(-1.0, 1.0), lambda a: a, "g where not a < -1 and not a > 1, else 0"),
    "powf_scalar": (lambda x: x**3, lambda a: a**3, "g * 3 * a ** 2"),
}
"""An operation of one number, what it is, and the line that it has."""

TWO: dict[str, tuple[Callable[..., Any], tuple[str, str]]] = {
    "add": (lambda a, b: a + b, ("g", "g")),
    "sub": (lambda a, b: a - b, ("g", "-g")),
    "mul": (lambda a, b: a * b, ("g * b", "g * a")),
    "div": (lambda a, b: a / b, ("g / b", "-g * out / b")),
    "powf": (lambda a, b: a**b, ("g * b * a ** (b - 1)", "g * out * log(a where not a == 0, else 1)")),
}

OTHERS = {
    "matmul": ["g @ b.mT", "a.mT @ g"],
    "mask_where": ["g where not mask, else 0", "g where mask, else 0"],
    "maximum": ["g * ((a > b) + 0.5 * (a == b))", "g * ((b > a) + 0.5 * (b == a))"],
    "softmax": ["(g - sum(g * out, dim=1)) * out"],
    "log_softmax": ["g - sum(g, dim=1) * exp(out)"],
    "norm": ["g * a / (out where not out == 0, else 1)"],
    "sum": ["g, for every element"],
    "mean": ["g / n, for every element"],
    "expand": ["g, summed to (2, 1, 2)"],
    "reshape": ["g, reshaped back"],
    "permute": ["g, permuted back"],
    "cast": ["g, cast back"],
    "slice": ["g in [0:2, 0:3:2, 1:2], else 0"],
    "sign": ["0"],
}
"""Lines that are not arithmetic of numbers."""


def node_of(op: str, root: Node) -> Node:
    """The node of an operation, behind the one that a check ends with."""
    node = root
    while node.op != op:
        node = next(parent for parent in node.parents if not parent.is_leaf and not parent.is_constant)
    return node


def label_of(node: Node) -> Callable[[Node], str]:
    """The names that the interface gives the operands, and ``out``."""
    pairs = zip(OPERATIONS[node.op].parameters, node.arguments, strict=True)
    names = {argument: name for name, argument in pairs if isinstance(argument, Node)} | {node: "out"}
    return names.__getitem__


def lines_of(node: Node) -> list[str]:
    tensors = [index for index, _ in rules_of(node.op) if isinstance(node.arguments[index], Node)]
    return [gradient_line(node, index, label_of(node)) for index in tensors]


def evaluate(line: str, **values: Any) -> float:
    """A line in Python's own words."""
    functions = {name: getattr(np, name) for name in ("cos", "sin", "exp", "sqrt", "sign", "log", "cosh")}
    functions["sigmoid"] = ONE["sigmoid"][1]
    text = re.sub(r"(\S+) where (.+), else (\w+)", r"(\1 if \2 else \3)", line.replace(", else", " else") + "")
    text = re.sub(r"(\S+) where (.+) else (\w+)", r"(\1 if \2 else \3)", text)
    return float(eval(text, {**functions, **values}))


@pytest.mark.parametrize("op", ONE)
def test_the_line_of_one_operand_is_its_derivative(op: str) -> None:
    function, reference, expected = ONE[op]
    (line,) = lines_of(function(leaf([A], tracked())).primitive.node)
    assert line == expected
    slope = G * (reference(A + STEP) - reference(A - STEP)) / (2 * STEP)
    assert evaluate(line, a=A, g=G, out=reference(A)) == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize("operand", [0, 1])
@pytest.mark.parametrize("op", TWO)
def test_the_lines_of_two_operands_are_their_derivatives(op: str, operand: int) -> None:
    function, expected = TWO[op]
    lines = lines_of(function(leaf([A], tracked()), leaf([B], tracked())).primitive.node)
    assert tuple(lines) == expected
    step = [STEP, 0.0] if operand == 0 else [0.0, STEP]
    slope = G * (function(A + step[0], B + step[1]) - function(A - step[0], B - step[1])) / (2 * STEP)
    assert evaluate(lines[operand], a=A, b=B, g=G, out=function(A, B)) == pytest.approx(slope, rel=1e-6)


def first_check(op: str) -> Check:
    return next(check for check in CHECKS if check.name == op)


def example(op: str) -> Node:
    """The node of an operation, on the inputs that its rule is checked with."""
    check = first_check(op)
    return node_of(op, check.function(*[leaf(values, tracked()) for values in check.inputs]).primitive.node)


@pytest.mark.parametrize("op", OTHERS)
def test_lines_read_as_one_would_write_them(op: str) -> None:
    assert lines_of(example(op)) == OTHERS[op]


def test_a_broadcast_operand_gets_a_sum() -> None:
    bias, x = leaf([[1.0, 2.0]], tracked()), leaf([[1.0, 2.0], [3.0, 4.0]], tracked())
    assert lines_of((x + bias).primitive.node) == ["g", "g, summed to (1, 2)"]


@pytest.mark.parametrize("exponent", [2.0, 3.0, 0.5, -1.0])
def test_the_slope_of_a_power_is_written_as_one_would(exponent: float) -> None:
    node = (leaf([A], tracked()) ** exponent).primitive.node
    line = slope_line(node, label_of(node))
    assert evaluate(line, a=A) == pytest.approx(exponent * A ** (exponent - 1))
    if exponent == 2:
        assert line == "2 * a"


@pytest.mark.parametrize("op", sorted(RULES))
def test_every_rule_has_a_line_that_names_only_what_it_keeps(op: str) -> None:
    node = example(op)
    for index, rule in rules_of(op):
        if isinstance(node.arguments[index], Node):
            line = gradient_line(node, index, label_of(node))
            named = set(re.findall(r"\b(a|b|mask|indices|out)\b", line))
            assert named <= set(rule.names)
            assert line
