"""Derivatives as functions: against torch.func, central differences and identities; nested; and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.golden.functional import FILE, INPUTS, directions, weights
from tests.support import (
    BASES,
    NDARRAY,
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
    BalancedCheckpointing,
    DTypeMismatch,
    Meta,
    ShapeError,
    Tensor,
    Traced,
    activation,
)
from tinyburn.autodiff import checkpoint, grad, hvp, jacobian, jvp, value_and_grad, vjp

GOLDEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
FUNCTIONS: dict[str, Callable[..., AnyTensor]] = {
    "a layer": lambda x, w, b: (x @ w + b).tanh(),
    "softmax": lambda x: activation.softmax(x, 1),
    "a product": lambda x, y: x.exp() * y.sin() / (1 + y * y),
    "an energy": lambda x: (x * x).sum() * x + activation.sigmoid(x),
}
LEVELS = [
    *BASES,
    *(base.inside(Autodiff) for base in BASES),
    NDARRAY.inside(Traced),
    NDARRAY.inside(Traced).inside(Autodiff),
    NDARRAY.inside(Autodiff, BalancedCheckpointing),
    NDARRAY.inside(Autodiff).inside(Autodiff),
]


def weighed(function: Callable[..., AnyTensor]) -> Callable[..., AnyTensor]:
    """The sum of a function's result, each number with a weight of its own."""

    def loss(*inputs: AnyTensor) -> AnyTensor:
        output = function(*inputs)
        return (output * const(weights(output.shape), output.device)).sum()

    return loss


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("base", params(LEVELS))
def test_equals_torch_func(base: UnderTest, name: str) -> None:
    device, function, golden = base.device(), FUNCTIONS[name], GOLDEN[name]
    inputs, along = ([const(x, device) for x in values] for values in (INPUTS[name], directions(name)))
    tolerance = 4 * base.tolerance

    def equal(found: Any, expected: Any) -> None:
        for one, other in zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]:
            assert one.device == device
            assert one.dtype == device.float_dtype
            np.testing.assert_allclose(one.to_numpy(), other, rtol=tolerance, atol=tolerance)

    value, forward = jvp(function, inputs, along)
    equal(value, golden["value"])
    equal(forward, golden["jvp"])
    value, pull = vjp(function, *inputs)
    equal(value, golden["value"])
    for _ in range(2):  # it can be called again
        equal(pull(const(weights(value.shape), device)), golden["vjp"])
    every = tuple(range(len(inputs)))
    loss, found = value_and_grad(weighed(function), every)(*inputs)
    equal(loss, np.sum(np.array(golden["value"]) * weights(value.shape)).reshape(1))
    equal(found, golden["grad"])
    for at in every:
        equal(grad(weighed(function), at)(*inputs), golden["grad"][at])
        equal(jacobian(function, at)(*inputs), golden["jacobian"][at])
    if len(inputs) == 1:
        equal(hvp(weighed(function), inputs[0], along[0]), golden["hvp"])


# Identities


def test_a_jacobian_times_a_vector_from_both_sides() -> None:
    device = plain()
    inputs, along = ([const(x, device) for x in values] for values in (INPUTS["softmax"], directions("softmax")))
    matrix = jacobian(FUNCTIONS["softmax"])(*inputs).to_numpy().reshape(6, 6)
    value, forward = jvp(FUNCTIONS["softmax"], inputs, along)
    np.testing.assert_allclose(forward.to_numpy().ravel(), matrix @ along[0].to_numpy().ravel(), atol=1e-14)
    g = weights(value.shape)
    (back,) = vjp(FUNCTIONS["softmax"], *inputs)[1](const(g, device))
    np.testing.assert_allclose(back.to_numpy().ravel(), g.ravel() @ matrix, atol=1e-14)


def energy(x: AnyTensor) -> AnyTensor:
    """A function of several variables with second derivatives that are not constant."""
    return ((x * x).sum() * x.sin() + x.exp() * x).sum()


def test_hvp_is_the_hessian_times_a_vector_and_linear_and_symmetric() -> None:
    device = plain()
    x, u, v = (const(values, device) for values in ([0.3, -0.7, 1.1], [1.0, 2.0, -1.0], [0.5, -0.25, 2.0]))
    hessian = jacobian(grad(energy))(x).to_numpy()
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-14)
    np.testing.assert_allclose(hvp(energy, x, u).to_numpy(), hessian @ u.to_numpy(), atol=1e-13)
    np.testing.assert_allclose(jvp(grad(energy), [x], [u])[1].to_numpy(), hessian @ u.to_numpy(), atol=1e-13)
    both = hvp(energy, x, u * 2 + v).to_numpy()
    np.testing.assert_allclose(both, 2 * hvp(energy, x, u).to_numpy() + hvp(energy, x, v).to_numpy(), atol=1e-13)
    assert abs((hvp(energy, x, u) * v).sum().into_scalar() - (hvp(energy, x, v) * u).sum().into_scalar()) < 1e-13


def test_central_differences() -> None:
    device, h = plain(), 1e-6
    x, v = np.array([0.3, -0.7, 1.1]), np.array([1.0, 2.0, -1.0])
    at = lambda values, of: of(const(values, device)).to_numpy()  # noqa: E731
    for function, derivative in (
        (energy, jvp(energy, [const(x, device)], [const(v, device)])[1]),
        (grad(energy), hvp(energy, const(x, device), const(v, device))),
    ):
        expected = (at(x + h * v, function) - at(x - h * v, function)) / (2 * h)
        np.testing.assert_allclose(derivative.to_numpy(), expected, rtol=1e-7)


def test_derivatives_of_any_order() -> None:
    """x^5 at 2: 80, 160, 240, 240, 120, and then 0, which a backward pass would call None."""
    x = const([2.0], plain())
    function: Callable[..., AnyTensor] = lambda x: x * x * x * x * x  # noqa: E731
    for expected in (80, 160, 240, 240, 120, 0):
        function = grad(function)
        assert function(x).to_numpy().tolist() == [expected]


def test_a_derivative_of_a_tracked_tensor_is_tracked() -> None:
    """A penalty on the gradient: of sum(x^3), its square has the gradient 36 x^3."""
    device = tracked()
    x = leaf([1.0, 2.0], device)
    slope = grad(lambda x: (x * x * x).sum())(x)
    penalty = (slope * slope).sum()
    assert gradient_of(x, penalty.backward()).tolist() == [36.0, 288.0]
    y = (x * x).sum()
    grad(lambda x: (x * x).sum())(x)
    assert gradient_of(x, y.backward()).tolist() == [2.0, 4.0]  # the graph outside is as it was


def test_levels_are_not_confused() -> None:
    """The derivative by x of x times d/dy (x + y), where the inner one is 1: it is 1, and a careless way gives 2."""
    x, one = const([1.0], plain()), const([1.0], plain())
    inner = grad(lambda y, x: x + y)
    assert grad(lambda x, y: x * inner(y, x))(x, one).to_numpy().tolist() == [1.0]
    with pytest.raises(BackendMismatch, match="the backends differ"):
        grad(lambda x, y: x * grad(lambda y: x + y)(y))(x, one)


# What is 0, and what passes through


def test_where_the_function_does_not_depend_on_an_input_the_derivative_is_0() -> None:
    device = plain()
    x, y = const([1.0, 2.0], device), const([3.0], device)
    zero = [0.0, 0.0]
    assert grad(lambda x: (x.detach() * 2).sum())(x).to_numpy().tolist() == zero
    assert grad(lambda x, y: (y * y).sum(), (0, 1))(x, y)[0].to_numpy().tolist() == zero
    assert jvp(lambda x: x.detach(), [x], [x])[1].to_numpy().tolist() == zero
    assert jvp(lambda x, y: y * y, [x, y], [x, y])[1].to_numpy().tolist() == [18.0]
    assert jacobian(lambda x, y: y)(x, y).to_numpy().tolist() == [zero]
    assert hvp(lambda x: (x * 3).sum(), x, x).to_numpy().tolist() == zero


def test_a_zero_direction_stays_zero_through_a_singular_slope() -> None:
    x, v = const([0.0, 4.0], plain()), const([0.0, 1.0], plain())
    assert grad(lambda x: (x.mask_fill(x.equal(0), 1).sqrt()).sum())(x).to_numpy().tolist() == [0.0, 0.25]
    assert jvp(activation.relu, [x], [v])[1].to_numpy().tolist() == [0.0, 1.0]
    assert jvp(lambda x: x.sqrt(), [x], [v])[1].to_numpy().tolist() == [0.0, 0.25]


def test_other_arguments_pass_through() -> None:
    """Indices are constants of the function; what is no tensor stays what it is."""
    device = plain()
    x, rows = const([1.0, 2.0, 3.0], device), ints([2, 0], device)
    function = lambda x, rows, power: (x.select(0, rows) ** power).sum()  # noqa: E731
    assert grad(function)(x, rows, 2).to_numpy().tolist() == [2.0, 0.0, 6.0]


def test_a_function_with_a_checkpoint_or_of_another_strategy() -> None:
    x = const([0.5, -1.0], plain())
    expected = (1 - np.tanh([0.5, -1.0]) ** 2).tolist()
    found = grad(lambda x: checkpoint(lambda x: x.tanh(), x).sum())(x).to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_empty_tensors_and_shapes_alone() -> None:
    empty = const(np.zeros((0, 3)), plain())
    assert jacobian(lambda x: x * x)(empty).shape == (0, 3, 0, 3)
    assert jacobian(lambda x: x.sum())(empty).shape == (1, 0, 3)
    meta = Tensor.ones((2, 3), Meta.device())
    assert jacobian(activation.relu)(meta).shape == (2, 3, 2, 3)
    assert hvp(energy, meta.reshape((6,)), meta.reshape((6,))).shape == (6,)


# What they refuse


def wrong(result: Any) -> Any:
    """A function that returns what is no tensor."""
    return lambda x: result


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: grad(lambda x: x * x)(x), ShapeError, r"grad\n.*shape \(2,\).*one number\n.*autodiff\.jacobian"),
        (lambda x: grad(wrong(3.0))(x), BackendMismatch, "returned float, and not one tensor on Autodiff"),
        (lambda x: grad(wrong((x, x)))(x), BackendMismatch, "returned tuple"),
        (lambda x: grad(lambda x: x.inner().sum())(x), BackendMismatch, r"returned a tensor on NdArray\(cpu\)"),
        (lambda x: grad(lambda y: (x * y).sum())(x), BackendMismatch, "the backends differ"),
        (lambda x: grad(lambda x: x.sum(), 1)(x), ShapeError, "no input 1 among 1"),
        (lambda x: grad(lambda x: x.sum(), -1)(x), ShapeError, "wrt counts from 0"),
        (lambda x: grad(lambda x: x.sum())(2.0), DTypeMismatch, "float is not a tensor"),
        (lambda x: grad(lambda x: x.sum())(x.int()), DTypeMismatch, "require_grad"),
        (lambda x: vjp(lambda x: x), ShapeError, "no input 0 among 0"),
        (lambda x: vjp(lambda x: x, x)[1](x.unsqueeze()), ShapeError, r"vjp\n.*shape \(1, 2\).*value \(2,\)"),
        (lambda x: jvp(lambda x: x, [x], []), ShapeError, "1 inputs, and 0 directions"),
        (lambda x: jvp(lambda x: x, [x], [x.sum()]), ShapeError, r"direction has shape \(1,\).*input \(2,\)"),
        (lambda x: hvp(lambda x: x.sum(), x, x.cast("float32")), DTypeMismatch, "hvp"),
    ],
)
def test_what_they_refuse(call: Callable[[AnyTensor], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"(?s){message}"):
        call(const([1.0, 2.0], plain()))
