"""Cases from public bug reports of autograd libraries, sections D to F; see test_cases.py for what the ids mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import (
    BASES,
    AnyTensor,
    UnderTest,
    assert_close,
    const,
    gradient_of,
    grads_of,
    leaf,
    mask,
    one,
    params_with_dtype,
)
from tinyburn import Autodiff, Device, GraphError, Tensor, activation

# D. Element-wise rules at hard points


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([1.0, 3.0, 3.0], [0, 0.5, 0.5], id="40"),
        pytest.param([3.0, 3.0, 3.0, 3.0], [0.25] * 4, id="40-all"),
        pytest.param([-math.inf, -math.inf], [0.5, 0.5], id="40-minus-infinity"),
    ],
)
@pytest.mark.parametrize(("base", "dtype"), params_with_dtype("float16", "float32", "float64", backends=BASES))
def test_a_maximum_with_ties(values: list[float], expected: list[float], base: UnderTest, dtype: str) -> None:
    device = base.inside(Autodiff).device(dtype)
    for function in (lambda x: x.max(), lambda x: x.max_dim(0), lambda x: -(-x).min(), lambda x: -(-x).min_dim(-1)):
        assert one(function, values, device) == expected


def test_42_relu_and_abs_at_zero(base_tracked: Device[Any]) -> None:
    assert one(activation.relu, [0.0, -0.0], base_tracked) == [0, 0]
    assert one(lambda x: x.abs(), [0.0, -0.0], base_tracked) == [0, 0]


@pytest.mark.parametrize(
    ("power", "number", "slope"),
    [
        pytest.param(2, -3.0, -6.0, id="45-square"),
        pytest.param(3, -2.0, 12.0, id="45-cube"),
        pytest.param(0, 0.0, 0.0, id="45-0"),
        pytest.param(1, 0.0, 1.0, id="45-1"),
        pytest.param(1.5, 0.0, 0.0, id="45-1.5"),
        pytest.param(2, 0.0, 0.0, id="45-2-at-0"),
        pytest.param(-1, -2.0, -0.25, id="45-minus-1"),
        pytest.param(0, -2.0, 0.0, id="45-0-below"),
        pytest.param(1, -2.0, 1.0, id="45-1-below"),
    ],
)
def test_pow_in_the_base(power: float, number: float, slope: float, base_tracked: Device[Any]) -> None:
    assert one(lambda x: x**power, [number], base_tracked) == [slope]
    by_base = grads_of(lambda x, y: x**y, [number], [float(power)], device=base_tracked)[0]
    assert by_base.tolist() == [slope]


@pytest.mark.parametrize(
    "size", [pytest.param(2, id="48"), pytest.param(1, id="48-one"), pytest.param(0, id="48-none")]
)
def test_norms_at_zero(size: int, base_tracked: Device[Any]) -> None:
    zeros = [0.0] * size
    assert one(lambda v: (v * v).sum(), zeros, base_tracked) == zeros
    assert one(lambda v: v.norm(), zeros, base_tracked) == zeros
    assert one(lambda v: v.norm() ** 2, zeros, base_tracked) == zeros


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        pytest.param(lambda x: x.sqrt(), [0.0, 4.0], [0, 0.25], id="49"),
        pytest.param(lambda x: x.log(), [0.0, 4.0], [0, 0.25], id="49-log"),
        pytest.param(lambda x: 1 / x, [0.0, 4.0], [0, -1 / 16], id="49-recip"),
        pytest.param(lambda x: x**0.5, [0.0, 4.0], [0, 0.25], id="49-pow"),
        pytest.param(lambda x: x**-2, [0.0, 4.0], [0, -2 / 64], id="49-negative-pow"),
        pytest.param(lambda x: x / x, [0.0, 4.0], [0, 0.0], id="49-div"),
    ],
)
def test_a_singular_branch_that_is_not_taken(
    function: Callable[[AnyTensor], AnyTensor], values: list[float], expected: list[float], base_tracked: Device[Any]
) -> None:
    for chosen in (
        lambda x: x.zeros_like().mask_where(x > 0, function(x)),
        lambda x: function(x).mask_fill(x <= 0, 0.0),
    ):
        assert_close(grads_of(chosen, values, device=base_tracked)[0], expected)


@pytest.mark.parametrize(
    ("value", "seed", "by_b"),
    [
        pytest.param(1e20, 1.0, -1e-20, id="51-large"),
        pytest.param(1e-30, 1.0, -1e30, id="51-small"),
        pytest.param(1e-30, 0.0, 0.0, id="51-no-gradient"),
    ],
)
def test_division_by_extreme_numbers(value: float, seed: float, by_b: float, base: UnderTest) -> None:
    device: Any = base.inside(Autodiff).device("float32")
    a, b = leaf([value], device), leaf([value], device)
    grads = (a / b).backward(const([seed], device.inner))
    assert gradient_of(b, grads)[0] == pytest.approx(by_b, rel=1e-6)
    assert gradient_of(a, grads)[0] == pytest.approx(seed / value, rel=1e-6)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([2.0, 0.0, 3.0, 4.0], [0, 24, 0, 0], id="52-one-zero"),
        pytest.param([2.0, 0.0, 0.0, 4.0], [0, 0, 0, 0], id="52-two-zeros"),
        pytest.param([0.0], [1], id="52-single"),
        pytest.param([2.0, 3.0, 4.0], [12, 8, 6], id="52-no-zero"),
        pytest.param([0.0, 2.0, 3.0, 5.0, 7.0], [210, 0, 0, 0, 0], id="52-five"),
        pytest.param([], [], id="52-empty"),
    ],
)
def test_a_product_with_zeros(values: list[float], expected: list[float], tracking: Device[Any]) -> None:
    for function in (lambda x: x.prod(), lambda x: x.prod_dim(0)):
        assert one(function, values, tracking) == expected
    product = const(values, tracking).prod()
    assert product.to_numpy().tolist() == [np.prod(values)]


# E. Reductions, losses, precision


@pytest.mark.parametrize(("base", "dtype"), params_with_dtype("float64", "float32", backends=BASES))
def test_56_log_softmax_of_large_logits(base: UnderTest, dtype: str) -> None:
    device = base.inside(Autodiff).device(dtype)
    logits = [1000.0, 1001.0, 1002.0]
    found = activation.log_softmax(const(logits, device), 0).to_numpy()
    np.testing.assert_allclose(found, [-2.407606, -1.407606, -0.407606], atol=1e-6)
    gradient = one(lambda x: activation.log_softmax(x, 0)[0], logits, device)
    np.testing.assert_allclose(gradient, [0.909969, -0.244728, -0.665241], atol=1e-6)
    assert np.isfinite(activation.log_softmax(const([-1e4, 1e4], device), 0).to_numpy()).all()
    assert np.isfinite(activation.softplus(const([-1e4, 1e4], device)).to_numpy()).all()
    assert np.isfinite(activation.sigmoid(const([-1e4, 1e4], device)).to_numpy()).all()


def test_59_softmax_with_one_masked_row(base_tracked: Device[Any], base: UnderTest) -> None:
    x = leaf([[-math.inf, -math.inf], [3.0, 3.0]], base_tracked)
    weights = activation.softmax(x, 1)
    assert weights.to_numpy().tolist() == [[0, 0], [0.5, 0.5]]
    grads = weights.backward(const([[0.0, 0.0], [1.0, 0.0]], base.device()))
    assert gradient_of(x, grads).tolist() == [[0, 0], [0.25, -0.25]]


def test_59_the_mask_of_an_attention_row(base_tracked: Device[Any]) -> None:
    """The same by filling with -inf, as attention does: no gradient reaches a masked place, and none is NaN."""
    x = leaf([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], base_tracked)
    hidden = mask([[True, True, True], [False, False, True]], x.device)
    for function in (activation.softmax, activation.log_softmax):
        out = function(x.mask_fill(hidden, -math.inf), 1)
        gradient = gradient_of(x, out.mask_fill(hidden, 0.0)[:, :1].backward())
        assert np.isfinite(gradient).all()
        assert gradient[0].tolist() == [0, 0, 0]
        assert gradient[1, 2] == 0


having_half = pytest.mark.parametrize(("base", "dtype"), params_with_dtype("float16", backends=BASES))


@pytest.mark.parametrize("shape", [pytest.param((100,), id="61"), pytest.param((10, 10), id="61-rank2")])
@having_half
def test_a_mean_in_half_precision(shape: tuple[int, ...], base: UnderTest, dtype: str) -> None:
    x = leaf(np.full(shape, 60000.0), base.inside(Autodiff).device(dtype))
    mean = x.mean()
    assert (mean.into_scalar(), mean.dtype) == (60000.0, "float16")
    gradient = gradient_of(x, mean.backward())
    assert gradient.dtype == np.float16
    np.testing.assert_allclose(gradient.astype(float), np.full(shape, 0.01), rtol=1e-3)


@pytest.mark.parametrize("dim", [pytest.param(0, id="61-dim0"), pytest.param(1, id="61-dim1")])
@having_half
def test_a_mean_along_a_dim_in_half_precision(dim: int, base: UnderTest, dtype: str) -> None:
    x = leaf(np.full((20, 20), 60000.0), base.inside(Autodiff).device(dtype))
    mean = x.mean_dim(dim)
    assert (mean.to_numpy() == 60000).all()
    np.testing.assert_allclose(gradient_of(x, mean.backward()).astype(float), 0.05, rtol=1e-3)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([1.0, 1.0, 1.0], [0, 0, 0], id="65-constant"),
        pytest.param([1.0, 2.0, 3.0], [-0.4082482904638631, 0, 0.4082482904638631], id="65"),
        pytest.param([0.1, 0.1, 0.1], [0, 0, 0], id="65-inexact"),
        pytest.param([5.0], [0], id="65-single"),
    ],
)
def test_the_slope_of_a_spread(values: list[float], expected: list[float], base_tracked: Device[Any]) -> None:
    assert_close(grads_of(lambda x: x.std_bias(0), values, device=base_tracked)[0], expected)
    if len(set(values)) == 1:
        assert one(lambda x: x.var_bias(0), values, base_tracked) == expected


# F. dtype


@pytest.mark.parametrize(("base", "dtype"), params_with_dtype("float32", "float16", backends=BASES))
@pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.int64(2), np.float32(2)], ids=lambda n: type(n).__name__)
def test_68_numbers_do_not_widen(base: UnderTest, dtype: str, number: Any) -> None:
    x = leaf([1.0, 3.0], base.inside(Autodiff).device(dtype))
    results = [x * number, number * x, x / number, number / x, x + number, number - x, x**number, number**x, x % number]
    results += [x.mean() + number, x.clamp(0, number), x.mask_fill(x > 0, number), x.maximum(number), x.std(0) * number]
    assert [result.dtype for result in results] == [dtype] * len(results)
    for result in results:
        assert gradient_of(x, result.backward(retain_graph=True)).dtype == dtype


@pytest.mark.parametrize(
    ("base", "dtype"), params_with_dtype("int64", "int32", "int8", "uint8", "bool", backends=BASES)
)
def test_69_integers_carry_no_gradient(base: UnderTest, dtype: str) -> None:
    device = base.inside(Autodiff).device()
    labels = Tensor.ones((2,), device, dtype)
    with pytest.raises(TypeError, match="float"):
        labels.require_grad()
    if dtype != "bool":
        with pytest.raises(GraphError):
            (labels * labels).backward()
    x = leaf([1.0, 2.0], device)
    grads = (x * labels.float()).backward()
    assert labels.grad(grads) is None
