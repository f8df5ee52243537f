"""Operations with a derivative of their own: values, gradients of any order, what is kept, pictures, logs, errors."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import (
    BASES,
    NDARRAY,
    TRACKING_BACKENDS,
    AnyTensor,
    UnderTest,
    const,
    gradient_of,
    ints,
    leaf,
    params,
    plain,
    tracked,
)
from tinyburn import (
    Autodiff,
    BackendMismatch,
    ConfigError,
    DTypeMismatch,
    Meta,
    NdArray,
    ShapeError,
    Tensor,
    Traced,
    autodiff,
    memory,
    viz,
)

cube = autodiff.operation("cube", lambda x: x * x * x, lambda g, x: g * x * x * 3)
straight = autodiff.operation("straight", lambda x: x.round(), lambda g: g)
blend = autodiff.operation(
    "blend",
    lambda a, b, share=0.5: a * share + b * (1 - share),
    lambda g, share: g * share,
    lambda g, share: g * (1 - share),
)
logistic = autodiff.operation("logistic", lambda x: 1 / (1 + (-x).exp()), lambda g, out: g * out * (1 - out))


@pytest.mark.parametrize("base", params(TRACKING_BACKENDS))
def test_values_and_gradients(base: UnderTest) -> None:
    device = base.device()
    x = leaf([1.0, -2.0, 0.5], device)
    y = cube(x * 2)
    np.testing.assert_allclose(y.to_numpy(), [8.0, -64.0, 1.0], rtol=1e-6)
    np.testing.assert_allclose(gradient_of(x, y.sum().backward()), [24.0, 96.0, 6.0], rtol=1e-6)
    z = logistic(x)
    s = 1 / (1 + np.exp([-1.0, 2.0, -0.5]))
    np.testing.assert_allclose(gradient_of(x, z.sum().backward()), s * (1 - s), rtol=1e-5)


@pytest.mark.parametrize("base", params([*BASES, NDARRAY.inside(Traced)]))
def test_on_a_backend_without_a_graph_it_is_its_forward(base: UnderTest) -> None:
    assert cube(const([2.0], base.device())).to_numpy().tolist() == [8.0]


def test_the_rule_is_used_and_not_the_steps() -> None:
    """Rounding has the slope 0 everywhere; the rule lets the gradient straight through."""
    x = leaf([0.4, 1.6], tracked())
    assert straight(x).to_numpy().tolist() == [0.0, 2.0]
    assert gradient_of(x, (straight(x) * const([2.0, 3.0], x.device)).sum().backward()).tolist() == [2.0, 3.0]
    assert gradient_of(x, x.round().sum().backward()).tolist() == [0.0, 0.0]


def test_other_arguments_and_broadcasting() -> None:
    device = tracked()
    a, b = leaf([[1.0], [2.0]], device), leaf([[3.0, 5.0]], device)
    for result, share in ((blend(a, b), 0.5), (blend(a, b, 0.25), 0.25), (blend(a, b, share=1), 1.0)):
        np.testing.assert_allclose(result.to_numpy(), a.to_numpy() * share + b.to_numpy() * (1 - share))
        grads = result.sum().backward()
        np.testing.assert_allclose(gradient_of(a, grads), [[2 * share]] * 2)
        np.testing.assert_allclose(gradient_of(b, grads), [[2 - 2 * share] * 2])
    constant = blend(const([[1.0]], device), b)
    np.testing.assert_allclose(gradient_of(b, constant.sum().backward()), [[0.5, 0.5]])
    assert not blend(const([[1.0]], device), const([[1.0]], device)).primitive.is_tracked


def test_none_for_no_gradient() -> None:
    take = autodiff.operation(
        "take",
        lambda x, rows: x.select(0, rows),
        lambda g, x_shape, rows: Tensor.zeros(x_shape, g.device, "float64").select_assign(0, rows, g),
        None,
    )
    device = tracked()
    x = leaf([1.0, 2.0, 3.0], device)
    y = take(x, ints([2, 2, 0], device))
    assert gradient_of(x, y.sum().backward()).tolist() == [1.0, 0.0, 2.0]


def test_any_order() -> None:
    x, function = const([2.0], plain()), cube
    for expected in (12.0, 12.0, 6.0, 0.0):
        function = autodiff.grad(function)  # type: ignore[assignment]
        assert function(x).to_numpy().tolist() == [expected]
    value, along = autodiff.jvp(cube, [x], [x])
    assert (value.to_numpy().tolist(), along.to_numpy().tolist()) == ([8.0], [24.0])


def test_it_keeps_what_its_rules_name_and_nothing_else() -> None:
    device = tracked()
    kept: list[bool] = []
    for function in (cube, straight):
        x = leaf([1.0, 2.0], device)
        a = x * 2
        alive = weakref.ref(a.primitive.primitive)
        y = function(a)
        del a
        gc.collect()
        kept.append(alive() is not None)
        y.sum().backward()
        del y
        assert alive() is None
    assert kept == [True, False]


def test_a_gradient_that_a_rule_gives_out_twice_is_not_written_into() -> None:
    """The engine adds into gradients that it made itself. What comes out of a foreign rule may be anything."""
    device = tracked()
    x, y = leaf([1.0, 2.0], device), leaf([5.0, 7.0], device)
    held = const([10.0, 20.0], plain())
    odd = autodiff.operation("odd", lambda x, y: x + y, lambda g: held, lambda g: held)
    grads = (odd(x, y).sum() + (x * x).sum() + (y * y).sum()).backward()
    assert gradient_of(x, grads).tolist() == [12.0, 24.0]
    assert gradient_of(y, grads).tolist() == [20.0, 34.0]
    assert held.to_numpy().tolist() == [10.0, 20.0]


# Pictures and logs


def test_pictures_show_it_as_one_of_ours() -> None:
    x = leaf([1.0, 2.0], tracked("float32"))
    loss = cube(x).sum()
    assert "cube(x)" in viz.graph(loss, x=x).text
    line = next(line for line in viz.backward_graph(loss, x=x).text.splitlines() if "cube(x)" in line)
    assert "cube keeps it for the gradient of x" in line
    assert "x gets g * 3 * x ** 2" in line
    flow = viz.gradient_flow(loss, loss.backward(record_flow=True), x=x).text
    assert "cube" in flow


def job(device: Any, batch: int) -> None:
    x: AnyTensor = Tensor.ones((batch, 4), device).require_grad()
    cube(x * 2).sum().backward()


def test_the_log_has_its_steps_under_its_name_and_meta_writes_the_same() -> None:
    measured = memory.measure(job, Autodiff[NdArray].device(), 3)
    assert measured.peak_bytes == memory.plan(job, 3).peak_bytes
    text = viz.memory(measured).text
    assert "mul in cube" in text
    assert "mul, the backward of cube" in text


def test_how_it_is_shown() -> None:
    assert repr(blend) == "operation(blend(a, b, share=0.5))"


# What it refuses


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("two words", lambda x: x, lambda g: g), "has to be one word"),
        (("exp", lambda x: x, lambda g: g), "of this name already"),
        (("checkpoint", lambda x: x, lambda g: g), "of this name already"),
        (("own", lambda x: x), "there is no rule"),
        (("own", lambda x: x, None), "there is no rule"),
        (("own", lambda x: x, lambda g: g, lambda g: g), "2 rules, and forward has 1 parameters"),
        (("own", lambda g: g, lambda g: g), "no parameter can have the name g"),
        (("own", lambda x: x, lambda g, y: g), r"a rule of own asks for \['y'\].*hint: name parameters of forward"),
    ],
)
def test_a_definition_that_cannot_be(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=f"(?s){message}"):
        autodiff.operation(*arguments)


def _own(forward: Callable[..., Any], rule: Callable[..., Any]) -> Callable[..., AnyTensor]:
    return autodiff.operation("own", forward, rule)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: cube(2.0), DTypeMismatch, "cube\n.*float is not a tensor"),
        (lambda x: blend(x, x.inner()), BackendMismatch, "blend\n.*the backends differ"),
        (
            lambda x: _own(lambda x, y: x, lambda g: g)(x, x),
            ConfigError,
            "y is a tensor, and the operation has no rule",
        ),
        (lambda x: _own(lambda x: 3.0, lambda g: g)(x), BackendMismatch, "forward returned float"),
        (lambda x: _own(lambda x: x, lambda g: 3.0)(x).sum().backward(), BackendMismatch, "rule of own for x gave no"),
        (
            lambda x: _own(lambda x: x, lambda g: g.sum())(x).sum().backward(),
            ShapeError,
            r"rule of own for x gave shape \(1,\), and its tensor has \(2,\)",
        ),
        (
            lambda x: _own(lambda x: x, lambda g: g.cast("float32"))(x).sum().backward(),
            DTypeMismatch,
            "gave float32, and its tensor is float64",
        ),
        (
            lambda x: cube(Tensor.ones((2,), Traced[Autodiff[Meta]].device())),
            BackendMismatch,
            "hides the graph.*put Autodiff outside",
        ),
    ],
)
def test_what_it_refuses(call: Callable[[AnyTensor], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"(?s){message}"):
        call(leaf([1.0, 2.0], tracked()))
