"""Derivatives of derivatives, to order 5, against closed forms: at 0, at 1 and between."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.support import AnyTensor, UnderTest, assert_close
from tinyburn import Autodiff, Device, Tensor, activation

ORDERS = 5


def derivatives(function: Callable[[AnyTensor], AnyTensor], value: float, base: UnderTest) -> list[float]:
    """The derivatives of orders 1 to 5 at a point, each by one more Autodiff around the others."""
    stacked = base
    for _ in range(ORDERS):
        stacked = stacked.inside(Autodiff)
    devices: list[Device[Any]] = [stacked.device()]
    while devices[-1].backend.is_autodiff:
        devices.append(devices[-1].inner)  # type: ignore[attr-defined]
    x: AnyTensor = Tensor.from_data([value], devices.pop())
    leaves = []
    while devices:
        x = Tensor.from_inner(x, devices.pop()).require_grad()
        leaves.append(x)
    result, found = function(x), []
    for leaf in reversed(leaves):
        gradient = leaf.grad(result.backward()) if result.primitive.is_tracked else None
        result = leaf.inner().zeros_like() if gradient is None else gradient
        found.append(result.into_scalar())
    return [float(value) for value in found]


class Known(NamedTuple):
    """A function, and its derivative of order n at x."""

    function: Callable[[AnyTensor], AnyTensor]
    derivative: Callable[[int, float], float]
    points: tuple[float, ...] = (0.0, 1.0, -0.7, 1.3)


def power(n: int, x: float, exponent: float) -> float:
    """The derivative of order n of ``x ** exponent``: a falling factorial times the power that is left."""
    factor = math.prod(exponent - k for k in range(n))
    return factor * x ** (exponent - n) if factor else 0.0


def wave(n: int, x: float) -> float:
    """Of sin: each derivative is a quarter of a turn ahead."""
    return math.sin(x + n * math.pi / 2)


def grown(n: int, x: float) -> float:
    """Of sinh: it and cosh take turns."""
    return math.cosh(x) if n % 2 else math.sinh(x)


def chain(first: Callable[[np.polynomial.Polynomial], np.polynomial.Polynomial]) -> Callable[[int, Any], Any]:
    """Of a function y with ``y' = p(y)``: the derivative of order n is a polynomial in y, by the chain rule."""
    y = np.polynomial.Polynomial([0.0, 1.0])
    slope = first(y)

    def derivative(n: int, value: float) -> float:
        form = slope
        for _ in range(n - 1):
            form = form.deriv() * slope
        return float(form(value))

    return derivative


def of_tanh(n: int, x: float) -> float:
    """``y' = 1 - y^2``."""
    return float(chain(lambda y: 1.0 - y * y)(n, math.tanh(x)))


def of_sigmoid(n: int, x: float) -> float:
    """``y' = y (1 - y)``."""
    return float(chain(lambda y: y * (1.0 - y))(n, 1 / (1 + math.exp(-x))))


def of_erf(n: int, x: float) -> float:
    """``2 / sqrt(pi) exp(-x^2)`` times a Hermite polynomial, with the sign of (-1)^(n - 1)."""
    hermite = np.polynomial.hermite.hermval(x, [0.0] * (n - 1) + [1.0])
    return float((-1) ** (n - 1) * hermite * math.exp(-x * x) * 2 / math.sqrt(math.pi))


AWAY_FROM_0 = (1.0, 0.6, 1.7)
KNOWN: dict[str, Known] = {
    "x x x": Known(lambda x: x * x * x, lambda n, x: power(n, x, 3)),
    "x x x x x x": Known(lambda x: x * x * x * x * x * x, lambda n, x: power(n, x, 6)),
    "(x x) (x x)": Known(lambda x: (x * x) * (x * x), lambda n, x: power(n, x, 4)),
    **{
        f"x ** {exponent}": Known(lambda x, p=exponent: x**p, lambda n, x, p=exponent: power(n, x, p))  # type: ignore[misc]
        for exponent in (1, 2, 3, 4, 5, 6)
    },
    "x ** 2 times x": Known(lambda x: x**2 * x, lambda n, x: power(n, x, 3)),
    "x ** 2 ** 2": Known(lambda x: (x**2) ** 2, lambda n, x: power(n, x, 4)),
    "x ** -1": Known(lambda x: x**-1, lambda n, x: power(n, x, -1), AWAY_FROM_0),
    "x ** 0.5": Known(lambda x: x**0.5, lambda n, x: power(n, x, 0.5), AWAY_FROM_0),
    "x to a tensor of 3": Known(lambda x: x ** (x.zeros_like() + 3.0), lambda n, x: power(n, x, 3), AWAY_FROM_0),
    "2 ** x": Known(lambda x: 2.0**x, lambda n, x: math.log(2) ** n * 2**x),
    "1 / x": Known(lambda x: 1.0 / x, lambda n, x: power(n, x, -1), AWAY_FROM_0),
    "x x / (1 + x - x)": Known(lambda x: x * x / (1.0 + x - x), lambda n, x: power(n, x, 2)),
    "sqrt": Known(lambda x: x.sqrt(), lambda n, x: power(n, x, 0.5), AWAY_FROM_0),
    "log": Known(lambda x: x.log(), lambda n, x: power(n - 1, x, -1), AWAY_FROM_0),
    "log1p": Known(lambda x: x.log1p(), lambda n, x: power(n - 1, 1 + x, -1)),
    "exp": Known(lambda x: x.exp(), lambda n, x: math.exp(x)),
    "x exp": Known(lambda x: x * x.exp(), lambda n, x: (n + x) * math.exp(x)),
    "sin": Known(lambda x: x.sin(), wave),
    "cos": Known(lambda x: x.cos(), lambda n, x: wave(n + 1, x)),
    "x sin": Known(lambda x: x * x.sin(), lambda n, x: x * wave(n, x) + n * wave(n - 1, x)),
    "sinh": Known(lambda x: x.sinh(), grown),
    "cosh": Known(lambda x: x.cosh(), lambda n, x: grown(n + 1, x)),
    "tanh": Known(lambda x: x.tanh(), of_tanh),
    "sigmoid": Known(activation.sigmoid, of_sigmoid),
    "softplus": Known(activation.softplus, lambda n, x: of_sigmoid(n - 1, x) if n > 1 else 1 / (1 + math.exp(-x))),
    "erf": Known(lambda x: x.erf(), of_erf),
    "x x by a mean": Known(lambda x: (x * x).mean() * x.sum(), lambda n, x: power(n, x, 3)),
    "x x by a matrix product": Known(
        lambda x: (x.reshape((1, 1)) @ x.reshape((1, 1)) @ x.reshape((1, 1))).reshape((1,)),
        lambda n, x: power(n, x, 3),
    ),
    "a mask that keeps x": Known(lambda x: (x * x).mask_fill(x > 5.0, 0.0) * x, lambda n, x: power(n, x, 3)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_every_order_equals_the_closed_form(name: str, base: UnderTest) -> None:
    known = KNOWN[name]
    for point in known.points:
        expected = [known.derivative(n, point) for n in range(1, ORDERS + 1)]
        tolerance = 1e-9 if base.has("float64") else 2e-3
        assert_close(derivatives(known.function, point, base), expected, tolerance=tolerance)
