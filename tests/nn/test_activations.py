"""Activation functions against formulas in NumPy, derivatives against central differences, and bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import AnyTensor, Values, const, grads_of, leaf, plain, second_grads_of, tracked
from tinyburn import Config, ConfigError, DTypeMismatch, ShapeError, activation, nn

X = np.array([-40.0, -3.4, -1.3, -0.7, -0.2, 0.3, 0.9, 1.7, 4.1, 60.0])
"""Away from every corner."""


def sigmoid(x: Values) -> Values:
    values: Values = 1 / (1 + np.exp(-x))
    return values


FORMULAS: dict[str, tuple[Callable[[AnyTensor], AnyTensor], Callable[[Values], Values]]] = {
    "log_sigmoid": (activation.log_sigmoid, lambda x: -np.logaddexp(0, -x)),
    "softsign": (activation.softsign, lambda x: x / (1 + np.abs(x))),
    "tanhshrink": (activation.tanhshrink, lambda x: x - np.tanh(x)),
    "gelu_approximate": (
        activation.gelu_approximate,
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ),
    "mish": (activation.mish, lambda x: x * np.tanh(np.logaddexp(0, x))),
    "elu": (lambda x: activation.elu(x, 0.5), lambda x: np.where(x > 0, x, 0.5 * np.expm1(np.minimum(x, 0)))),
    "celu": (lambda x: activation.celu(x, 2.0), lambda x: np.where(x > 0, x, 2 * np.expm1(np.minimum(x, 0) / 2))),
    "selu": (
        activation.selu,
        lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0))),
    ),
    "hard_sigmoid": (activation.hard_sigmoid, lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    "hard_swish": (activation.hard_swish, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "shrink": (
        lambda x: activation.shrink(x, 0.5, 0.25),
        lambda x: np.where(np.abs(x) > 0.5, x - 0.25 * np.sign(x), 0),
    ),
    "hard_shrink": (activation.hard_shrink, lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    "soft_shrink": (activation.soft_shrink, lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    "thresholded_relu": (activation.thresholded_relu, lambda x: np.where(x > 1, x, 0)),
    "glu": (lambda x: activation.glu(x, 0), lambda x: x[:5] * sigmoid(x[5:])),
    "softmin": (lambda x: activation.softmin(x, 0), lambda x: np.exp(-x - 40) / np.exp(-x - 40).sum()),
    "quiet_softmax": (
        lambda x: activation.quiet_softmax(x, 0),
        lambda x: np.exp(x) / (1 + np.exp(x).sum()),
    ),
    "prelu": (
        lambda x: activation.prelu(x, const([0.25], x.device)),
        lambda x: np.where(x < 0, 0.25 * x, x),
    ),
}


def difference(function: Callable[[Values], Values], x: Values, step: float = 1e-5) -> Values:
    """The slope of the sum of a function's results, element by element."""
    slopes = []
    for at in range(x.size):
        moved = np.eye(x.size)[at] * step
        slopes.append((function(x + moved) - function(x - moved)).sum() / (2 * step))
    return np.array(slopes)


@pytest.mark.parametrize("name", FORMULAS)
def test_value_and_slope(name: str) -> None:
    ours, formula = FORMULAS[name]
    np.testing.assert_allclose(ours(const(X, plain())).to_numpy(), formula(X), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(grads_of(ours, X)[0], difference(formula, X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in FORMULAS if name not in ("glu", "softmin", "quiet_softmax")])
def test_the_second_derivative(name: str) -> None:
    ours, _ = FORMULAS[name]
    x = X[1:-1]
    first, second = second_grads_of(ours, x)
    np.testing.assert_allclose(first, grads_of(ours, x)[0], rtol=1e-12)
    np.testing.assert_allclose(second, difference(lambda v: grads_of(ours, v)[0], x), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        (activation.log_sigmoid, -np.inf, 0.0),
        (activation.elu, -1.0, np.inf),
        (activation.celu, -1.0, np.inf),
        (activation.hard_sigmoid, 0.0, 1.0),
        (activation.thresholded_relu, 0.0, np.inf),
    ],
)
def test_at_both_ends(function: Any, low: float, high: float) -> None:
    assert function(const([-np.inf, np.inf], plain())).to_numpy().tolist() == [low, high]


def test_large_numbers_in_float32_have_finite_slopes() -> None:
    x = [-1e4, -200.0, 200.0, 1e4]
    functions = [activation.elu, activation.selu, activation.mish, activation.log_sigmoid, activation.gelu_approximate]
    for function in functions:
        assert np.isfinite(grads_of(function, x, device=tracked("float32"))[0]).all()


def test_a_quiet_softmax_may_choose_nothing() -> None:
    assert activation.quiet_softmax(const([-np.inf, -np.inf], plain()), 0).to_numpy().tolist() == [0.0, 0.0]
    large = activation.quiet_softmax(const([1000.0, 1000.0, -1000.0], plain()), 0)
    assert large.to_numpy().tolist() == [0.5, 0.5, 0.0]


def test_the_modules_with_settings_hand_them_on() -> None:
    x = const(X, plain())
    pairs: list[tuple[Any, AnyTensor]] = [
        (nn.LeakyReluConfig(0.3).init(), activation.leaky_relu(x, 0.3)),
        (nn.HardSigmoidConfig(0.5, 0.25).init(plain()), activation.hard_sigmoid(x, 0.5, 0.25)),
        (nn.ShrinkConfig(0.3, 0.1).init(), activation.shrink(x, 0.3, 0.1)),
        (nn.HardShrinkConfig(1.0).init(), activation.hard_shrink(x, 1.0)),
        (nn.SoftShrinkConfig(1.0).init(), activation.soft_shrink(x, 1.0)),
        (nn.ThresholdedReluConfig(2.0).init(), activation.thresholded_relu(x, 2.0)),
        (nn.CeluConfig(2.0).init(), activation.celu(x, 2.0)),
        (nn.SoftplusConfig(3.0).init(), activation.softplus(x, 3.0)),
        (nn.Gelu(), activation.gelu(x)),
        (nn.Silu(), activation.silu(x)),
    ]
    for module, expected in pairs:
        assert module(x).to_numpy().tolist() == expected.to_numpy().tolist()


def test_bad_input() -> None:
    with pytest.raises(ShapeError, match="odd size 3"):
        activation.glu(const([1.0, 2.0, 3.0], plain()), 0)
    with pytest.raises(ShapeError, match="one alpha, or one for each of the 2 entries of dim 1"):
        activation.prelu(const([[1.0, 2.0]], plain()), const([0.1, 0.2, 0.3], plain()))
    with pytest.raises(ShapeError, match="dim 2"):
        nn.Softmax(2)(const([[1.0]], plain()))
    functions: list[Any] = [
        activation.elu,
        activation.mish,
        activation.hard_swish,
        activation.softsign,
        activation.selu,
    ]
    for function in functions:
        with pytest.raises(DTypeMismatch, match="float"):
            function(const([1.0], plain()).int())
        with pytest.raises(DTypeMismatch, match="is not a tensor"):
            function(1.0)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: nn.SoftplusConfig(0.0), "beta is 0.0"),
        (lambda: nn.CeluConfig(-1.0), "alpha is -1.0"),
        (lambda: nn.LeakyReluConfig(float("inf")), "negative_slope is inf"),
        (lambda: nn.PReluConfig(0), "num_parameters is 0"),
        (lambda: nn.SwiGluConfig(0, 2), "d_input is 0"),
    ],
)
def test_a_config_that_cannot_be(make: Callable[[], Config], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        make()


def test_one_alpha_serves_any_rank() -> None:
    device = tracked()
    for shape in ((4,), (2, 3), (2, 3, 4, 5)):
        layer = nn.PReluConfig().init(device)
        x = leaf(np.linspace(-1, 1, int(np.prod(shape))).reshape(shape) + 1e-3, device)
        grads = layer(x).sum().backward()
        slope = layer.alpha.val().grad(grads)
        assert slope is not None
        np.testing.assert_allclose(slope.to_numpy(), [np.minimum(x.to_numpy(), 0).sum()], rtol=1e-12)
