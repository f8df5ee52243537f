"""What is chosen where mathematics leaves a choice, each in one test; the docs' page on kinks links to these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import (
    BASES,
    AnyTensor,
    UnderTest,
    assert_close,
    grads_of,
    one,
    params_with_dtype,
    second_grads_of,
)
from tinyburn import Autodiff, Device, activation, linalg, nn

Slope = Callable[[Callable[[AnyTensor], AnyTensor], Any], Any]


@pytest.fixture
def slope(base_tracked: Device[Any]) -> Slope:
    """``slope(function, values)``: the gradient as a list, on each backend."""
    return lambda function, values: one(function, values, base_tracked)


def test_relu_at_zero_has_slope_zero(slope: Slope) -> None:
    assert slope(activation.relu, [-1.0, 0.0, -0.0, 2.0]) == [0, 0, 0, 1]


def test_abs_at_zero_has_slope_zero(slope: Slope) -> None:
    assert slope(lambda x: x.abs(), [-3.0, 0.0, 3.0]) == [-1, 0, 1]


def test_clamp_includes_its_bounds(slope: Slope) -> None:
    assert slope(lambda x: x.clamp(-1, 2), [-1.5, -1.0, 0.0, 2.0, 2.5]) == [0, 1, 1, 1, 0]
    assert slope(lambda x: x.clamp_min(-1), [-1.5, -1.0, 0.0, 2.0, 2.5]) == [0, 1, 1, 1, 1]
    assert slope(lambda x: x.clamp_max(2), [-1.5, -1.0, 0.0, 2.0, 2.5]) == [1, 1, 1, 1, 0]


@pytest.mark.parametrize("values", [[1.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0], [-1.0, -1.0]])
def test_ties_of_a_maximum_share_evenly(values: list[float], slope: Slope, base: UnderTest) -> None:
    winners = np.array(values) == max(values)
    assert_close(slope(lambda x: x.max(), values), winners / winners.sum(), tolerance=base.tolerance)
    assert_close(slope(lambda x: x.max_dim(0), values), winners / winners.sum(), tolerance=base.tolerance)


def test_ties_in_a_window_of_a_pool_share_evenly(slope: Slope, base: UnderTest) -> None:
    """An element that two windows see has a share from each."""
    pool = nn.MaxPool1dConfig(2, stride=1).init()
    found = slope(lambda x: pool(x.reshape((1, 1, -1))).flatten(), [3.0, 3.0, 1.0, 1.0, 2.0])
    assert_close(found, [0.5, 1.5, 0.5, 0.5, 1.0], tolerance=base.tolerance)


@pytest.mark.parametrize("values", [[1.0, 3.0, 1.0], [2.0, 2.0, 2.0]])
def test_ties_of_a_minimum_share_evenly(values: list[float], slope: Slope, base: UnderTest) -> None:
    winners = np.array(values) == min(values)
    assert_close(slope(lambda x: x.min(), values), winners / winners.sum(), tolerance=base.tolerance)
    assert_close(slope(lambda x: x.min_dim(0), values), winners / winners.sum(), tolerance=base.tolerance)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_a_tie_of_two_operands_is_shared(name: str, slope: Slope, base_tracked: Device[Any]) -> None:
    for gradient in grads_of(lambda x, y: getattr(x, name)(y), [1.0], [1.0], device=base_tracked):
        assert gradient.tolist() == [0.5]
    assert slope(lambda x: getattr(x, name)(1.0), [1.0]) == [0.5]


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        (activation.leaky_relu, [0.0], [1.0]),
        (lambda x: activation.prelu(x, x.detach()[0:1].full_like(0.25)), [0.0], [1.0]),
        (lambda x: activation.elu(x, 0.5), [0.0], [0.5]),
        (lambda x: activation.celu(x, 0.5), [0.0], [1.0]),
        (activation.hard_sigmoid, [-2.5, 2.5], [0.2, 0.2]),
        (activation.hard_swish, [-4.0, 4.0], [0.0, 1.0]),
        (activation.soft_shrink, [-0.5, 0.5], [0.0, 0.0]),
        (activation.hard_shrink, [-0.5, 0.5], [0.0, 0.0]),
        (lambda x: activation.shrink(x, 0.5, 0.25), [-0.5, 0.0, 0.5], [0.0, 0.0, 0.0]),
        (activation.thresholded_relu, [1.0], [0.0]),
        (lambda x: nn.L1Loss().forward_no_reduction(x, x.detach()), [2.0], [0.0]),
    ],
)
def test_activations_at_their_corners(function: Any, at: list[float], expected: list[float], slope: Slope) -> None:
    np.testing.assert_allclose(slope(function, at), expected, rtol=1e-6)


def test_var_of_a_constant_is_flat_and_of_one_element_unknown(base_tracked: Device[Any]) -> None:
    assert one(lambda x: x.var(0), [0.1, 0.1, 0.1], base_tracked) == [0.0, 0.0, 0.0]
    assert np.isnan(one(lambda x: x.var(0), [0.1], base_tracked)).all()


def test_ties_of_a_running_maximum_share_evenly(slope: Slope, base: UnderTest) -> None:
    """Of 1 3 3 2 3 the results are 1 3 3 3 3: of the first 3 all is its own, of the next two a half, of the last a
    third."""
    share = [1.0, 1 + 1 / 2 + 1 / 2 + 1 / 3, 1 / 2 + 1 / 2 + 1 / 3, 0.0, 1 / 3]
    assert_close(slope(lambda x: x.cummax(0), [1.0, 3.0, 3.0, 2.0, 3.0]), share, tolerance=base.tolerance)
    assert_close(slope(lambda x: x.cummin(0), [-1.0, -3.0, -3.0, -2.0, -3.0]), share, tolerance=base.tolerance)
    assert slope(lambda x: x.cummax(0)[-1:], [3.0, 3.0]) == slope(lambda x: x.max(), [3.0, 3.0]) == [0.5, 0.5]


def test_ties_of_a_sort_keep_their_order(slope: Slope, base_tracked: Device[Any]) -> None:
    assert slope(lambda x: x.topk(1, 0), [3.0, 3.0]) == [1.0, 0.0]
    assert slope(lambda x: x.sort(0)[:1], [3.0, 3.0]) == [1.0, 0.0]
    assert slope(lambda x: x.median(0), [3.0, 3.0]) == [1.0, 0.0]


def test_the_origin_has_no_angle_and_no_length(base_tracked: Device[Any]) -> None:
    for name in ("atan2", "hypot"):
        for gradient in grads_of(lambda y, x, name=name: getattr(y, name)(x), [0.0], [0.0], device=base_tracked):
            assert gradient.tolist() == [0.0]


def test_a_share_of_nothing_is_nothing(slope: Slope, base: UnderTest) -> None:
    assert slope(lambda x: x.logcumsumexp(0), [-np.inf, -np.inf, 1.0]) == [0, 0, 1]
    found = slope(lambda x: x.logcumsumexp(0)[1:], [-np.inf, -1.0, -1.0])
    assert_close(found, [0.0, 1.5, 0.5], tolerance=base.tolerance)


@pytest.mark.parametrize("shape", [(2,), (2, 3), (1,)])
def test_norm_at_zero_has_slope_zero(shape: tuple[int, ...], base_tracked: Device[Any]) -> None:
    assert_close(grads_of(lambda x: x.norm(), np.zeros(shape), device=base_tracked)[0], np.zeros(shape))
    assert_close(grads_of(lambda x: (x * x).sum(), np.zeros(shape), device=base_tracked)[0], np.zeros(shape))


@pytest.mark.parametrize("p", [0.5, 1.0, 1.5, 2.0, 3.0])
def test_norms_along_a_dim_at_zero_have_slope_zero(p: float, base_tracked: Device[Any]) -> None:
    found = grads_of(lambda x: linalg.lp_norm(x, p, 1), [[0.0, 0.0], [0.0, 2.0]], device=base_tracked)[0]
    assert_close(found, [[0, 0], [0, 1]], str(base_tracked.float_dtype))


def test_norm_with_some_zeros(slope: Slope, base: UnderTest) -> None:
    assert_close(slope(lambda x: x.norm(), [0.0, 3.0, 4.0]), [0, 0.6, 0.8], tolerance=base.tolerance)


@pytest.mark.parametrize("value", [0.0, 1.0, -2.5])
def test_std_of_a_constant_has_slope_zero(value: float, slope: Slope) -> None:
    assert slope(lambda x: x.std(0), [value] * 3) == [0, 0, 0]
    assert slope(lambda x: x.std_bias(0), [value] * 3) == [0, 0, 0]
    assert slope(lambda x: x.var(0), [value] * 3) == [0, 0, 0]


@pytest.mark.parametrize("number", [-2.0, 0.0, 3.0])
def test_to_the_power_of_zero_has_slope_zero(number: float, slope: Slope, base_tracked: Device[Any]) -> None:
    assert slope(lambda x: x**0, [number]) == [0]
    (by_base, _) = grads_of(lambda x, y: x**y, [number], [0.0], device=base_tracked)
    assert by_base.tolist() == [0]


def test_powers_at_zero(slope: Slope) -> None:
    assert slope(lambda x: x**1, [0.0]) == [1]
    assert slope(lambda x: x**1.5, [0.0]) == [0]
    assert slope(lambda x: x**2, [0.0]) == [0]


@pytest.mark.parametrize("name", ["floor", "ceil", "round", "sign", "trunc"])
def test_steps_have_slope_zero(name: str, slope: Slope) -> None:
    assert slope(lambda x: getattr(x, name)(), [-1.0, -0.5, 0.0, 0.5, 1.0]) == [0] * 5


def test_softplus_is_smooth_at_zero(base: UnderTest) -> None:
    first, second = second_grads_of(activation.softplus, [0.0], base)
    assert_close(first, [0.5])
    assert_close(second, [0.25])


DEAD_BRANCHES: dict[str, tuple[Callable[[AnyTensor], AnyTensor], float]] = {
    "sqrt at 0": (lambda x: x.sqrt(), 0.0),
    "sqrt below 0": (lambda x: x.sqrt(), -1.0),
    "log at 0": (lambda x: x.log(), 0.0),
    "log below 0": (lambda x: x.log(), -1.0),
    "log1p at -1": (lambda x: x.log1p(), -1.0),
    "recip at 0": (lambda x: x.recip(), 0.0),
    "number over x at 0": (lambda x: 3.0 / x, 0.0),
    "x over x at 0": (lambda x: x / x, 0.0),
    "1 over x squared at 0": (lambda x: 1.0 / (x * x), 0.0),
    "power 0.5 at 0": (lambda x: x**0.5, 0.0),
    "power -1 at 0": (lambda x: x**-1, 0.0),
    "power -2 at 0": (lambda x: x**-2, 0.0),
    "power 1.5 below 0": (lambda x: x**1.5, -1.0),
    "power by a tensor at 0": (lambda x: x ** (x * 0.0 + 0.5), 0.0),
    "power by a tensor below 0": (lambda x: x ** (x * 0.0 + 0.5), -1.0),
    "log of sqrt at 0": (lambda x: x.sqrt().log(), 0.0),
    "x log x at 0": (lambda x: x * x.log(), 0.0),
    "exp overflows": (lambda x: x.exp(), 2000.0),
    "sinh overflows": (lambda x: x.sinh(), 2000.0),
    "cosh overflows": (lambda x: x.cosh(), -2000.0),
    "asin at 1": (lambda x: x.asin(), 1.0),
    "asin above 1": (lambda x: x.asin(), 2.0),
    "acos at -1": (lambda x: x.acos(), -1.0),
    "acosh at 1": (lambda x: (x + 1.0).acosh(), 0.0),
    "acosh below 1": (lambda x: (x + 1.0).acosh(), -5.0),
    "atanh at 1": (lambda x: x.atanh(), 1.0),
    "log2 at 0": (lambda x: x.log2(), 0.0),
    "log10 below 0": (lambda x: x.log10(), -1.0),
    "hypot of nothing": (lambda x: x.hypot(0.0), 0.0),
    "angle at the origin": (lambda x: x.atan2(x * 0.0), 0.0),
    "softplus of a large number": (activation.softplus, 1e308),
}


@pytest.mark.parametrize("name", DEAD_BRANCHES)
@pytest.mark.parametrize("chosen", ["mask_where", "mask_fill"])
def test_a_gradient_of_zero_stays_zero_through_a_singular_slope(name: str, chosen: str, base: UnderTest) -> None:
    """``where(dead, 0, f(x))``: at the dead place the slope is 0, first and second order, whatever f does there."""
    function, dead = DEAD_BRANCHES[name]

    def guarded(x: AnyTensor) -> AnyTensor:
        value = function(x)
        is_dead = x == dead
        return value.mask_fill(is_dead, 0.0) if chosen == "mask_fill" else value.mask_where(is_dead, x.zeros_like())

    first, second = second_grads_of(guarded, [dead, 0.7], base)
    alone_first, alone_second = second_grads_of(function, [0.7], base)
    assert_close(first, [0.0, alone_first[0]])
    assert_close(second, [0.0, alone_second[0]])


def test_a_zero_gradient_by_multiplication_is_no_mask(base_tracked: Device[Any]) -> None:
    """0 * inf is NaN in the forward pass already: a mask is `mask_where`, not a product."""
    x = np.array([0.0])
    assert np.isnan(grads_of(lambda x: (x * 0.0) * (1.0 / x).detach(), x, device=base_tracked)[0]).all()


def test_nan_and_inf_are_passed_on(slope: Slope, base_tracked: Device[Any]) -> None:
    """Only a gradient of exactly 0 is protected: a NaN that arrives is shown, not hidden."""
    assert np.isnan(grads_of(lambda x: x.sqrt() * float("nan"), [4.0], device=base_tracked)[0]).all()
    assert slope(lambda x: x.sqrt(), [0.0]) == [np.inf]
    assert slope(lambda x: x.log(), [0.0]) == [np.inf]


@pytest.mark.parametrize("size", [3, 70_000])
@pytest.mark.parametrize(("base", "dtype"), params_with_dtype("float16", backends=BASES))
def test_half_precision_shares_add_to_one(size: int, base: UnderTest, dtype: str) -> None:
    """Counts above 65 504 do not fit float16."""
    device = base.inside(Autodiff).device(dtype)
    (ties,) = grads_of(lambda x: x.max(), np.ones(size), device=device)
    (means,) = grads_of(lambda x: x.mean(), np.ones(size), device=device)
    assert abs(float(ties.astype(float).sum()) - 1) < 0.05
    assert abs(float(means.astype(float).sum()) - 1) < 0.05
