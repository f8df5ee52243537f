"""The lines of mathematics in picture 2 are true: they are evaluated, and compared with finite differences."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from tinyburn.autodiff.compiled import compile_rules
from tinyburn.autodiff.rules import RULES
from tinyburn.backend.operations import OPERATIONS
from tinyburn.viz.slopes import GRADIENTS, SLOPES, gradient_line, slope_line

A, B, G, STEP = 0.7, 1.3, 1.9, 1e-6
FUNCTIONS = {name: getattr(np, name) for name in ("cos", "sin", "exp", "sqrt", "sign", "log")} | {"pi": math.pi}
ONE: dict[str, Any] = {
    **{name: getattr(np, name) for name in ("exp", "log", "log1p", "sqrt", "sin", "cos", "abs", "tanh")},
    "erf": math.erf,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "relu": lambda a: max(a, 0.0),
    "clamp": lambda a: min(max(a, 0.0), 1.0),
    "neg": lambda a: -a,
}
TWO: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "powf": lambda a, b: a**b,
}


def evaluate(line: str, **values: Any) -> Any:
    """Reads ``g if out > 0, else 0`` too."""
    return eval(line.replace(", else", " else"), {**FUNCTIONS, **values})


@pytest.mark.parametrize("op", ONE)
def test_lines_of_one_operand_are_its_derivative(op: str) -> None:
    function = ONE[op]
    expected = G * (function(A + STEP) - function(A - STEP)) / (2 * STEP)
    line = gradient_line(op, 0, {"a": "a", "out": "out", "low": "0", "high": "1"})
    assert evaluate(line, a=A, g=G, out=function(A)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("op", TWO)
def test_lines_of_two_operands_are_their_derivatives(op: str, place: int) -> None:
    function, step = TWO[op], [STEP, 0.0] if place == 0 else [0.0, STEP]
    expected = G * (function(A + step[0], B + step[1]) - function(A - step[0], B - step[1])) / (2 * STEP)
    line = gradient_line(op, place, {"a": "a", "b": "b", "out": "out"})
    assert evaluate(line, a=A, b=B, g=G, out=function(A, B)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("place", [0, 1])
def test_the_lines_of_matmul_are_its_derivatives(place: int) -> None:
    chance = np.random.default_rng(5)
    operands = [chance.normal(size=(3, 4)), chance.normal(size=(4, 2))]
    g = chance.normal(size=(3, 2))
    line = gradient_line("matmul", place, {"a": "a", "b": "b"})
    found = evaluate(line, a=operands[0], b=operands[1], g=g)
    for index in np.ndindex(operands[place].shape):
        step = np.zeros(operands[place].shape)
        step[index] = STEP
        moved = [
            [operand + sign * step * (k == place) if k == place else operand for k, operand in enumerate(operands)]
            for sign in (1, -1)
        ]
        expected = np.sum(g * (moved[0][0] @ moved[0][1] - moved[1][0] @ moved[1][1])) / (2 * STEP)
        assert found[index] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0, 0.5, -1.0])
def test_powers_are_written_as_one_would(exponent: float) -> None:
    line = slope_line("powf_scalar", {"a": "a", "exponent": f"{exponent:g}"})
    assert evaluate(line, a=A) == pytest.approx(exponent * A ** (exponent - 1))
    if exponent == 2:
        assert line == "2 * a"


@pytest.mark.parametrize("op", sorted({*SLOPES, *GRADIENTS}))
def test_a_line_names_only_what_the_rule_keeps(op: str) -> None:
    lines = GRADIENTS.get(op) or (SLOPES[op],)
    for place, rule in compile_rules(op):
        line = lines[place] if place < len(lines) else ""
        named = set(re.findall(r"{(\w+)}", line))
        assert named <= set(rule.names)


@pytest.mark.parametrize("op", sorted(RULES))
def test_every_operation_has_a_line(op: str) -> None:
    texts = dict.fromkeys(OPERATIONS[op].parameters, "2") | {"out": "out"}
    for place, _ in compile_rules(op):
        assert gradient_line(op, place, texts)
