"""Every rule of the table against central differences in float64, and the rules of smooth functions once more.

A backend without float64 is held to the float64 gradient of NdArray: a small step is lost in the rounding of float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, reduce
from operator import add
from typing import Any, cast

import numpy as np
import pytest

from tests.backend.table import ROWS, Row
from tests.support import (
    NDARRAY,
    TRACKING_BACKENDS,
    AnyTensor,
    UnderTest,
    Values,
    const,
    gradient_of,
    ints,
    leaf,
    mask,
    params,
)
from tinyburn import Autodiff, Device, Tensor, activation
from tinyburn.autodiff.rules import (
    RULES,
    clamp_backward,
    extreme_backward,
    leaky_relu_backward,
    multiply_no_nan,
    relu_backward,
    scaled_mul,
)
from tinyburn.backend.operations import OPERATIONS
from tinyburn.nn.normalize import standardized

STEP = 1e-5
_rng = np.random.default_rng(11)
X = _rng.uniform(-1.7, 1.7, (2, 3, 2))
Y = _rng.uniform(-1.7, 1.7, (2, 3, 2))
POSITIVE = np.abs(X) + 0.4
DENOMINATOR = np.sign(Y) * (np.abs(Y) + 0.4)
MASK = Y > 0
ZEROS = np.array([1.5, 0.0, -2.0, 0.7, 0.0, 1.1, -0.4])
BACKWARDS = (1, slice(None, None, -2))


@dataclass(frozen=True, eq=False)
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
    Check("atan2", lambda x, y: x.atan2(y), (X, Y)),
    Check("atan2", lambda x: x.atan2(-0.7) + Tensor.full_like(x, 0.3).atan2(x), (X,), note="number"),
    Check("hypot", lambda x, y: x.hypot(y), (X, Y)),
    Check("hypot", lambda x: x.hypot(0.5), (X,), note="number"),
    Check("fmod", lambda x, y: x.fmod(y), (X, DENOMINATOR)),
    Check("matmul", lambda x, y: x @ y.transpose(), (X, Y)),
    Check("matmul", lambda x, y: x @ y[:1].transpose(), (X, Y), note="broadcast-batch"),
    Check("matmul", lambda x, y: x[:1] @ y.transpose(), (X, Y), note="broadcast-left"),
    Check("matmul", lambda x, y: x.transpose().unsqueeze(4) @ y[:1].unsqueeze(4), (X, Y), note="rank-4-by-one"),
    Check("mask_where", lambda x, y: x.mask_where(_mask_like(x), y), (X, Y)),
    Check("mask_where", lambda x: x.mask_fill(_mask_like(x), 3.0), (X,), note="number"),
    Check("mask_where", lambda x, y: x[:1].mask_where(_mask_like(x), y[:, :1]), (X, Y), note="broadcast"),
    Check("multiply_no_nan", multiply_no_nan, (X, Y)),
    Check("scaled_mul", lambda x, y: scaled_mul(x, y, -1.5), (X, Y)),
    Check("relu_backward", lambda x: relu_backward(x, _constant_like(x)), (X,)),
    Check("extreme_backward", lambda x: extreme_backward(x, _constant_like(x), _constant_like(x).max_dim(1)), (X,)),
    Check("leaky_relu_backward", lambda x: leaky_relu_backward(x, _constant_like(x), 0.2), (X,)),
    Check("clamp_backward", lambda x: clamp_backward(x, _constant_like(x), -0.5, 0.5), (X,)),
    Check("clamp_min", lambda x: x.clamp_min(-0.9), (X,)),
    Check("clamp_max", lambda x: x.clamp_max(0.8), (X,)),
    Check("flip", lambda x: x.flip((0, 2)) * x, (X,)),
    Check("cat", lambda x, y: Tensor.cat([x, y * y, x[:, :1]], 1) ** 2, (X, Y)),
    Check("cat", lambda x, y: Tensor.stack([x, y, x], 3) ** 2, (X, Y), note="stack"),
    Check("clamp", lambda x: x.clamp(-0.9, 0.8), (X,)),
    Check("relu", activation.relu, (X,)),
    Check("softmax", lambda x: activation.softmax(x, 1), (X,)),
    Check("log_softmax", lambda x: activation.log_softmax(x, 1), (X,)),
    Check("standardize", lambda x: standardized(x, (1,), 0.1), (X,)),
    Check("standardize", lambda x: standardized(x * x, (0, 2), 0.1), (X,), note="two-dims"),
    Check("gelu", activation.gelu, (X,), note="composed"),
    Check("silu", activation.silu, (X,), note="composed"),
    Check("leaky_relu", activation.leaky_relu, (X,), note="composed"),
    Check("cast", lambda x: x.cast("float32").cast(x.dtype) + x, (X,), False),
    Check("sum", lambda x: x.sum() ** 2, (X,)),
    Check("mean", lambda x: x.mean() ** 2, (X,)),
    Check("max", lambda x: x.max() ** 2, (X,)),
    Check("min", lambda x: x.min() ** 2, (X,)),
    Check("prod", lambda x: x.prod(), (POSITIVE,), note="composed"),
    Check("prod_dim", lambda x: x.prod_dim(1), (X,)),
    Check("prod_dim", lambda x: x.reshape((6, 2)).prod_dim(0), (X,), note="even-then-odd"),
    Check("prod_dim", lambda x: x.unsqueeze(6).prod_dim(-1), (X,), note="rank-6"),
    Check("cumsum", lambda x: x.cumsum(1) ** 2, (X,)),
    Check("cumprod", lambda x: x.cumprod(1), (X,)),
    Check("cumprod", lambda x: x.cumprod(0), (ZEROS,), note="zeros"),
    Check("cummax", lambda x: x.reshape((4, 3)).cummax(-2) ** 2, (X,)),
    Check("cummin", lambda x: x.reshape((12,)).cummin(0) ** 2, (X,)),
    Check("logcumsumexp", lambda x: x.reshape((12,)).logcumsumexp(0), (X,)),
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
    Check("slice", lambda x: x[::-1, 2:0:-1] ** 2, (X,), note="backwards"),
    Check("slice_assign", lambda x, y: x.slice_assign((slice(0, 1), slice(1, 3)), y[1:, :2]) ** 2, (X, Y)),
    Check("slice_assign", lambda x, y: x.slice_assign(BACKWARDS, y[:1, :2] ** 2), (X, Y), note="backwards"),
    Check("gather", lambda x: _gather(x) ** 2, (X,)),
    Check("scatter", lambda x, y: _scatter(x, y) ** 2, (X, Y)),
    Check("select", lambda x: x.select(1, ints([2, 0, 2, 2], x.device)) ** 2, (X,)),
    Check("select_assign", lambda x, y: _select_assign(x, y) ** 2, (X, Y)),
]


def from_table(row: Row) -> Check:
    """A row of the table of operations, whose float operands are the inputs."""
    floats = [at for at, x in enumerate(row.args) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]

    def function(*inputs: AnyTensor) -> AnyTensor:
        arguments: list[Any] = list(row.args)
        for at, x in zip(floats, inputs, strict=True):
            arguments[at] = x
        return cast(AnyTensor, arguments[0]._ask(row.name, *arguments[1:]))

    return Check(row.name, function, tuple(row.args[at] for at in floats))


# What has no check of its own has the first row of its operation: its inputs are away from kinks.
_checked = {check.name for check in CHECKS}
_first = {row.name: row for row in reversed(ROWS) if row.name in RULES and row.name not in _checked}
CHECKS += [from_table(row) for row in reversed(_first.values())]


def weighted(check: Check, inputs: list[AnyTensor]) -> AnyTensor:
    """One number out of the result; uneven weights, so that no two places can be exchanged unseen."""
    result = check.function(*inputs)
    size = int(np.prod(result.shape))
    weights = np.linspace(0.5, 1.5, size).reshape(result.shape)
    return (result * const(weights, result.device)).sum()


def value_of(check: Check, inputs: list[Values]) -> float:
    device = NDARRAY.device()
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


_IDENTITY = Check("identity", lambda x: x, (X,))


@cache
def slopes(check: Check) -> list[Values]:
    """The central differences of a check's result, along each input."""
    # Where float32 rounds the small step away: the slope through both casts is 1, and the sum's is 1 more.
    scale, function = (2, _IDENTITY) if check.name == "cast" else (1, check)
    return _along_each(check, lambda inputs: scale * value_of(function, inputs))


@cache
def slopes_of_slopes(check: Check) -> list[Values]:
    """The central differences of one number out of its first gradients, along each input."""
    return _along_each(check, lambda inputs: first_gradient_sum(check, inputs))


def _along_each(check: Check, function: Callable[[list[Values]], float]) -> list[Values]:
    return [central_difference(function, check.inputs, which) for which in range(len(check.inputs))]


def gradients(check: Check, device: Device[Any]) -> list[Values]:
    """By the rules."""
    leaves = [leaf(values, device) for values in check.inputs]
    grads = weighted(check, leaves).backward()
    return [gradient_of(x, grads) for x in leaves]


def second_gradients(check: Check, inside: Device[Any], device: Device[Any]) -> list[Values]:
    """Of one number out of the first gradients; ``device`` is Autodiff around ``inside``."""
    inner = [leaf(values, inside) for values in check.inputs]
    outer = [Tensor.from_inner(x, device).require_grad() for x in inner]
    grads = weighted(check, outer).backward()
    terms: list[Any] = [(_found(x, grads) * const(_weights(x.shape), inside)).sum() for x in outer]
    total = reduce(add, terms)
    node = total.primitive.node
    again = total.backward() if node is not None and not node.is_constant else None
    found = [x.grad(again) if again is not None else None for x in inner]
    return [np.zeros(x.shape) if grad is None else grad.to_numpy() for x, grad in zip(inner, found, strict=True)]


def _found(x: AnyTensor, grads: Any) -> AnyTensor:
    gradient = x.grad(grads)
    assert gradient is not None
    return gradient


def first_gradient_sum(check: Check, inputs: list[Values]) -> float:
    """One number out of all first gradients, with uneven weights."""
    moved = Check(check.name, check.function, tuple(inputs))
    found = gradients(moved, NDARRAY.inside(Autodiff).device())
    return sum(float((gradient * _weights(gradient.shape)).sum()) for gradient in found)


def _weights(shape: tuple[int, ...]) -> Values:
    return np.asarray(np.cos(np.arange(np.prod(shape))).reshape(shape))


@cache
def reference(check: Check) -> list[Values]:
    """The gradients in float64 on NdArray, which the tests below hold to central differences."""
    return gradients(rounded(check), NDARRAY.inside(Autodiff).device())


@cache
def second_reference(check: Check) -> list[Values]:
    device: Any = NDARRAY.inside(Autodiff).inside(Autodiff).device()
    return second_gradients(rounded(check), device.inner, device)


def rounded(check: Check) -> Check:
    """On inputs that float32 holds exactly, so that what is compared is the computing."""
    inputs = tuple(values.astype("float32").astype("float64") for values in check.inputs)
    return Check(check.name, check.function, inputs)


def assert_gradients(found: list[Values], expected: list[Values], rtol: float, atol: float) -> None:
    for gradient, slope in zip(found, expected, strict=True):
        np.testing.assert_allclose(gradient, slope, rtol=rtol, atol=atol)


CHAIN = 10
"""A gradient is a chain of some operations: it may be so many times further off than one of them."""


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
@pytest.mark.parametrize("backend", params(TRACKING_BACKENDS))
def test_gradient_equals_a_central_difference(check: Check, backend: UnderTest) -> None:
    found = gradients(check, backend.device())
    if backend.has("float64"):
        assert_gradients(found, slopes(check), rtol=2e-6, atol=2e-8)
    else:
        assert_gradients(found, reference(check), *[CHAIN * backend.tolerance] * 2)


@pytest.mark.parametrize("check", [check for check in CHECKS if check.smooth], ids=lambda check: check.id)
def test_second_order_equals_a_central_difference_of_the_gradient(check: Check, base: UnderTest) -> None:
    device: Any = base.inside(Autodiff).inside(Autodiff).device()
    found = second_gradients(check, device.inner, device)
    if base.has("float64"):
        assert_gradients(found, slopes_of_slopes(check), rtol=1e-5, atol=1e-7)
    else:
        assert_gradients(found, second_reference(check), *[CHAIN * base.tolerance] * 2)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_a_rule_or_needs_none(name: str) -> None:
    """A default without a rule of its own is differentiated through its parts."""
    operation = OPERATIONS[name]
    has_derivative = operation.result in ("like", "dtype")
    assert name in RULES or not has_derivative or operation.is_default
    assert has_derivative or name not in RULES


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_checked(name: str) -> None:
    assert name in OPERATIONS
    assert any(check.name == name for check in CHECKS)


def test_rules_have_one_entry_for_each_operand() -> None:
    for name, rules in RULES.items():
        assert len(rules) == len(OPERATIONS[name].tensors), name


def test_operations_without_a_gradient_give_constants(base_tracked: Device[Any]) -> None:
    x = leaf([1.0, -2.0], base_tracked)
    for result in (x > 0, x == 1.0, x.is_nan(), x.argmax(0), x.argmin(0), x.is_inf()):
        assert result.primitive.node is None or result.primitive.node.is_constant
