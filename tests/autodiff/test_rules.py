"""Every rule of the table against central differences in float64, and the rules of smooth functions once more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.support import TRACKING_BACKENDS, AnyTensor, Values, const, gradient_of, ints, leaf, mask, twice_tracked
from tinyburn import Autodiff, Device, NdArray, Tensor, activation
from tinyburn.autodiff.rules import RULES, WITHOUT_GRADIENT
from tinyburn.backend.defaults import Backend
from tinyburn.backend.operations import OPERATIONS, composed_by

STEP = 1e-5
TRACKING: list[Any] = list(TRACKING_BACKENDS.values())
_rng = np.random.default_rng(11)
X = _rng.uniform(-1.7, 1.7, (2, 3, 2))
Y = _rng.uniform(-1.7, 1.7, (2, 3, 2))
POSITIVE = np.abs(X) + 0.4
DENOMINATOR = np.sign(Y) * (np.abs(Y) + 0.4)
MASK = Y > 0


@dataclass(frozen=True)
class Check:
    """``function`` of the inputs, which are away from kinks; ``smooth`` if its gradient can be checked again."""

    name: str
    function: Callable[..., AnyTensor]
    inputs: tuple[Values, ...]
    smooth: bool = True
    note: str = ""

    @property
    def id(self) -> str:
        return f"{self.name}-{self.note}" if self.note else self.name


def _constant_like(x: AnyTensor) -> AnyTensor:
    """The result of a relu, as a constant: 0 and positive numbers."""
    return const(np.maximum(np.round(Y[: x.shape[0]]), 0), x.device)


def _mask_like(x: AnyTensor) -> AnyTensor:
    return mask(MASK, x.device)


def _gather(x: AnyTensor) -> AnyTensor:
    return x.gather(1, ints([[[0, 1], [0, 0], [2, 1]], [[1, 1], [1, 1], [0, 2]]], x.device))


def _scatter(x: AnyTensor, y: AnyTensor) -> AnyTensor:
    return x.scatter(1, ints([[[0, 1], [0, 0], [2, 1]], [[1, 1], [1, 1], [0, 2]]], x.device), y)


def _select_assign(x: AnyTensor, y: AnyTensor) -> AnyTensor:
    return x.select_assign(1, ints([2, 0, 2], x.device), y)


CHECKS = [
    Check("add", lambda x, y: x + y, (X, Y)),
    Check("sub", lambda x, y: x - y, (X, Y)),
    Check("sub", lambda x: 3.0 - x, (X,), note="number-left"),
    Check("mul", lambda x, y: x * y, (X, Y)),
    Check("mul", lambda x: x * 2.5, (X,), note="number"),
    Check("div", lambda x, y: x / y, (X, DENOMINATOR)),
    Check("div", lambda y: 3.0 / y, (DENOMINATOR,), note="number-left"),
    Check("div", lambda x: x / 4.0, (X,), note="number-right"),
    Check("remainder", lambda x, y: x % y, (X, DENOMINATOR)),
    Check("powf", lambda x, y: x**y, (POSITIVE, Y)),
    Check("powf", lambda y: 2.5**y, (Y,), note="number-left"),
    Check("powf_scalar", lambda x: x**3, (X,), note="3"),
    Check("powf_scalar", lambda x: x**2, (X,), note="2"),
    Check("powf_scalar", lambda x: x**-1, (DENOMINATOR,), note="-1"),
    Check("powf_scalar", lambda x: x**0.5, (POSITIVE,), note="0.5"),
    Check("powf_scalar", lambda x: x**1.5, (POSITIVE,), note="1.5"),
    Check("maximum", lambda x, y: x.maximum(y), (X, Y)),
    Check("maximum", lambda x: x.maximum(0.2), (X,), note="number"),
    Check("minimum", lambda x, y: x.minimum(y), (X, Y)),
    Check("matmul", lambda x, y: x @ y.transpose(), (X, Y)),
    Check("matmul", lambda x, y: x @ y[:1].transpose(), (X, Y), note="broadcast-batch"),
    Check("mask_where", lambda x, y: x.mask_where(_mask_like(x), y), (X, Y)),
    Check("mask_where", lambda x: x.mask_fill(_mask_like(x), 3.0), (X,), note="number"),
    Check("mask_where", lambda x, y: x[:1].mask_where(_mask_like(x), y[:, :1]), (X, Y), note="broadcast"),
    Check("multiply_no_nan", lambda x, y: x.multiply_no_nan(y), (X, Y)),
    Check("scaled_mul", lambda x, y: x.scaled_mul(y, -1.5), (X, Y)),
    Check("relu_backward", lambda x: x.relu_backward(_constant_like(x)), (X,)),
    Check("neg", lambda x: -x, (X,)),
    Check("abs", lambda x: x.abs(), (X,)),
    Check("sign", lambda x: x.sign(), (X,)),
    Check("floor", lambda x: x.floor(), (X,)),
    Check("ceil", lambda x: x.ceil(), (X,)),
    Check("round", lambda x: x.round(), (X,)),
    Check("exp", lambda x: x.exp(), (X,)),
    Check("log", lambda x: x.log(), (POSITIVE,)),
    Check("log1p", lambda x: x.log1p(), (POSITIVE,)),
    Check("sqrt", lambda x: x.sqrt(), (POSITIVE,)),
    Check("sin", lambda x: x.sin(), (X,)),
    Check("cos", lambda x: x.cos(), (X,)),
    Check("tanh", lambda x: x.tanh(), (X,)),
    Check("erf", lambda x: x.erf(), (X,)),
    Check("clamp", lambda x: x.clamp(-0.9, 0.8), (X,)),
    Check("relu", activation.relu, (X,)),
    Check("sigmoid", activation.sigmoid, (X,)),
    Check("softplus", activation.softplus, (X,)),
    Check("softmax", lambda x: activation.softmax(x, 1), (X,)),
    Check("log_softmax", lambda x: activation.log_softmax(x, 1), (X,)),
    Check("gelu", activation.gelu, (X,), note="composed"),
    Check("silu", activation.silu, (X,), note="composed"),
    Check("leaky_relu", activation.leaky_relu, (X,), note="composed"),
    Check("cast", lambda x: x.cast("float32").cast("float64") + x, (X.astype("float32").astype("float64"),), False),
    Check("sum", lambda x: x.sum() ** 2, (X,)),
    Check("mean", lambda x: x.mean() ** 2, (X,)),
    Check("max", lambda x: x.max() ** 2, (X,)),
    Check("min", lambda x: x.min() ** 2, (X,)),
    Check("prod", lambda x: x.prod(), (POSITIVE,), note="composed"),
    Check("prod_dim", lambda x: x.prod_dim(1), (X,), note="composed"),
    Check("sum_dims", lambda x: x.sum_dims((0, 2)) ** 2, (X,)),
    Check("mean_dims", lambda x: x.mean_dim(1) ** 2, (X,)),
    Check("max_dims", lambda x: x.max_dim(1) ** 2, (X,)),
    Check("min_dims", lambda x: x.min_dim(0) ** 2, (X,)),
    Check("var", lambda x: x.var(1), (X,), note="composed"),
    Check("var", lambda x: x.var_bias(0), (X,), note="biased"),
    Check("std", lambda x: x.std(1), (X,)),
    Check("std", lambda x: x.std_bias(1), (X,), note="biased"),
    Check("norm", lambda x: x.norm(), (X,)),
    Check("reshape", lambda x: x.reshape((3, 4)) ** 2, (X,)),
    Check("permute", lambda x: x.permute(2, 0, 1) ** 2, (X,)),
    Check("expand", lambda x: x[:, :1].expand((2, 5, 2)) ** 2, (X,)),
    Check("slice", lambda x: x[:, ::2, -1] ** 2, (X,)),
    Check("slice_assign", lambda x, y: x.slice_assign((slice(0, 1), slice(1, 3)), y[1:, :2]) ** 2, (X, Y)),
    Check("gather", lambda x: _gather(x) ** 2, (X,)),
    Check("scatter", lambda x, y: _scatter(x, y) ** 2, (X, Y)),
    Check("select", lambda x: x.select(1, ints([2, 0, 2, 2], x.device)) ** 2, (X,)),
    Check("select_assign", lambda x, y: _select_assign(x, y) ** 2, (X, Y)),
]


def weighted(check: Check, inputs: list[AnyTensor]) -> AnyTensor:
    """One number out of the result; uneven weights, so that no two places can be exchanged unseen."""
    result = check.function(*inputs)
    size = int(np.prod(result.shape))
    weights = np.linspace(0.5, 1.5, size).reshape(result.shape)
    return (result * const(weights, result.device)).sum()


def value_of(check: Check, inputs: list[Values]) -> float:
    device = NdArray.device(float_dtype="float64")
    return float(weighted(check, [const(values, device) for values in inputs]).into_scalar())


def central_difference(function: Callable[[list[Values]], float], inputs: tuple[Values, ...], which: int) -> Values:
    """The slope along each element of one input, from a small step to each side of it."""
    slope = np.zeros_like(inputs[which])
    for place in np.ndindex(slope.shape):
        ends = []
        for step in (STEP, -STEP):
            moved = [values.copy() for values in inputs]
            moved[which][place] += step
            ends.append(function(moved))
        slope[place] = (ends[0] - ends[1]) / (2 * STEP)
    return slope


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
@pytest.mark.parametrize("backend", TRACKING, ids=lambda backend: backend.__name__)
def test_gradient_equals_a_central_difference(check: Check, backend: Any) -> None:
    device: Device[Any] = backend.device(float_dtype="float64")
    leaves = [leaf(values, device) for values in check.inputs]
    grads = weighted(check, leaves).backward()
    for which, x in enumerate(leaves):
        if check.name == "cast":  # float32 rounds the small step away; the slope through both casts is 1, plus 1
            expected = central_difference(lambda inputs: 2 * value_of(_IDENTITY, inputs), check.inputs, which)
        else:
            expected = central_difference(lambda inputs: value_of(check, inputs), check.inputs, which)
        np.testing.assert_allclose(gradient_of(x, grads), expected, rtol=2e-6, atol=2e-8)


_IDENTITY = Check("identity", lambda x: x, (X,))


def _found(x: AnyTensor, grads: Any) -> AnyTensor:
    gradient = x.grad(grads)
    assert gradient is not None
    return gradient


def first_gradient_sum(check: Check, inputs: list[Values]) -> float:
    """One number out of all first gradients, with uneven weights."""
    device = Autodiff[NdArray].device(float_dtype="float64")
    leaves = [leaf(values, device) for values in inputs]
    grads = weighted(check, leaves).backward()
    return sum(float((gradient_of(x, grads) * _weights(x.shape)).sum()) for x in leaves)


def _weights(shape: tuple[int, ...]) -> Values:
    return np.asarray(np.cos(np.arange(np.prod(shape))).reshape(shape))


@pytest.mark.parametrize("check", [check for check in CHECKS if check.smooth], ids=lambda check: check.id)
def test_second_order_equals_a_central_difference_of_the_gradient(check: Check) -> None:
    device = twice_tracked()
    inside: Device[Any] = device.inner  # type: ignore[attr-defined]
    inner = [leaf(values, inside) for values in check.inputs]
    outer = [Tensor.from_inner(x, device).require_grad() for x in inner]
    grads = weighted(check, outer).backward()
    terms: list[Any] = [(_found(x, grads) * const(_weights(x.shape), inside)).sum() for x in outer]
    total = terms[0] if len(terms) == 1 else terms[0] + terms[1]
    node = total.primitive.node
    tracked = node is not None and not node.is_constant
    again = total.backward() if tracked else None
    for which, x in enumerate(inner):
        expected = central_difference(lambda inputs: first_gradient_sum(check, inputs), check.inputs, which)
        found = x.grad(again) if again is not None else None
        values = np.zeros(x.shape) if found is None else found.to_numpy()
        np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_a_rule_or_needs_none(name: str) -> None:
    """A default without a rule of its own is differentiated through its parts."""
    assert name in RULES or name in WITHOUT_GRADIENT or OPERATIONS[name].is_default
    assert not (name in RULES and name in WITHOUT_GRADIENT)


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_checked(name: str) -> None:
    assert name in OPERATIONS
    assert any(check.name == name for check in CHECKS)


def test_rules_have_one_entry_for_each_operand() -> None:
    for name, rules in RULES.items():
        assert len(rules) == len(OPERATIONS[name].tensors), name


def test_operations_without_a_gradient_give_constants() -> None:
    x = leaf([1.0, -2.0], Autodiff[NdArray].device(float_dtype="float64"))
    for result in (x > 0, x == 1.0, x.is_nan(), x.argmax(0), x.argmin(0), x.is_inf()):
        assert result.primitive.node is None or result.primitive.node.is_constant


def test_ndarray_composes_what_the_interface_composes() -> None:
    """So a gradient that is right here is right on every backend that leaves the same operations to their defaults."""
    for name, operation in OPERATIONS.items():
        assert composed_by(Backend, name) is operation.is_default
