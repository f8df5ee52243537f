"""Sums that do not drift, do not overflow on their way, and do not wrap: on every backend, dim and layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.backend.layouts import LAYOUTS
from tests.support import AnyTensor, UnderTest, assert_close, grads_of, plain
from tinyburn import Autodiff, Tensor, activation

TENTH = float(np.float32(0.1))
"""What float32 makes of 0.1: exactly this is added up."""

CASES = [
    ((1_000_000,), (0,)),
    ((250_000, 4), (0,)),
    ((4, 250_000), (1,)),
    ((1_000_000, 1), (0, 1)),
    ((100, 100, 100), (0, 1, 2)),
    ((300, 3, 700), (0, 2)),
    ((300, 3, 700), (0,)),
    ((33, 5, 31), (0, 2)),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("shape", "dims"), CASES, ids=str)
@pytest.mark.parametrize("name", ["sum_dims", "mean_dims"])
def test_a_long_sum_does_not_drift(name: str, shape: Any, dims: Any, layout: str, base: UnderTest) -> None:
    """Each of a million additions rounds; one by one, 1e6 times 0.1 would be 958 too large in float32."""
    device = base.device("float32")
    array = LAYOUTS[layout](np.full(shape, 0.1, "float32"), device)
    found = device.backend.to_numpy(getattr(device.backend, name)(array, dims)).astype("float64")
    count = 1 if name == "mean_dims" else int(np.prod([shape[dim] for dim in dims]))
    np.testing.assert_allclose(found, TENTH * count, rtol=1e-6)


def test_what_is_made_of_sums_does_not_drift(base: UnderTest) -> None:
    """Against float64 in NumPy: a variance, a softmax and a gradient of a bias over 200 000 rows."""
    device = base.inside(Autodiff).device("float32")
    values = np.random.default_rng(3).uniform(0.5, 1.5, (200_000, 2)).astype("float32")
    wide, x = values.astype("float64"), Tensor.from_data(values, device)
    assert_close(x.var_bias(0).to_numpy(), wide.var(0, keepdims=True), tolerance=1e-6)
    weights = np.exp(wide) / np.exp(wide).sum(0)
    np.testing.assert_allclose(activation.softmax(x, 0).to_numpy(), weights, rtol=5e-6)
    bias = Tensor.zeros((1, 2), device).require_grad()
    gradient: Any = bias.grad(((x + bias) * 0.1).sum().backward())
    np.testing.assert_allclose(gradient.to_numpy(), np.full((1, 2), 200_000 * TENTH), rtol=1e-6)


@pytest.mark.parametrize("dim", [0, 1])
def test_a_sum_in_float16_adds_in_float32(dim: int) -> None:
    """A sum of ones would stand still at 2048, where 1 is half the distance to the next number."""
    ones = Tensor.ones((3000, 2) if dim == 0 else (2, 3000), plain("float16"))
    assert (ones.sum_dim(dim).to_numpy() == 3000).all()
    assert ones.sum_dim(dim).dtype == "float16"


SIZES = {"float16": (1e-4, 1.0, 2e4), "float32": (1e-30, 1.0, 1e30), "float64": (1e-200, 1.0, 1e200)}


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("which", [0, 1, 2], ids=["tiny", "usual", "huge"])
def test_norm_and_std_of_any_size(dtype: str, which: int, base: UnderTest) -> None:
    """``norm(3 s, 4 s) = 5 s`` with slopes 0.6 and 0.8, and the spread of s and 3 s is s, with slopes -0.5 and 0.5."""
    if not base.has(dtype):
        pytest.skip(f"{base.name} has no {dtype}")
    size, device = SIZES[dtype][which], base.inside(Autodiff).device(dtype)
    tolerance = 2e-3 if dtype == "float16" else 1e-6

    def check(function: Any, values: list[float], result: float, slopes: list[float]) -> None:
        x: AnyTensor = Tensor.from_data([value * size for value in values], device)
        assert_close(function(x).to_numpy() / size, np.full((1,), result), tolerance=tolerance)
        found = grads_of(function, [value * size for value in values], device=device)[0]
        assert_close(found.astype("float64"), np.array(slopes), tolerance=tolerance)

    check(lambda x: x.norm(), [0.75, 1.0], 1.25, [0.6, 0.8])
    check(lambda x: x.std_bias(0), [0.5, 1.5], 0.5, [-0.5, 0.5])


@pytest.mark.parametrize("values", [[np.inf, 1.0], [-np.inf, 0.0], [np.nan, 1.0], [0.0, 0.0]])
def test_norm_of_special_values_equals_numpys(values: list[float], base: UnderTest) -> None:
    assert_close(Tensor.from_data(values, base.device()).norm().to_numpy(), np.reshape(np.linalg.norm(values), (1,)))


def test_gelu_of_a_huge_number_is_that_number(base: UnderTest) -> None:
    dtype = str(base.device().float_dtype)
    largest = float(np.finfo(dtype).max) * 0.75
    assert_close(activation.gelu(Tensor.from_data([largest, -largest], base.device())).to_numpy(), [largest, 0.0])


def test_the_slope_of_a_remainder_is_that_of_its_own_result(base: UnderTest) -> None:
    """``1.0 % 0.1`` leaves almost 0.1, so 9 times 0.1 was taken off, although ``1.0 / 0.1`` rounds to 10."""
    device = base.inside(Autodiff).device()
    rng = np.random.default_rng(11)
    pairs = [(1.0, 0.1), (0.3, 0.1), (-1.0, 0.1), (1.0, -0.1), (6.0, 2.0), *rng.uniform(-9, 9, (50, 2)).tolist()]
    tops, divisors = (np.array(side, str(device.float_dtype)) for side in zip(*pairs, strict=True))
    found = grads_of(lambda a, b: a % b, tops, divisors, device=device)
    left = (Tensor.from_data(tops, device) % Tensor.from_data(divisors, device)).to_numpy()
    assert_close(found[0], np.ones_like(tops))
    assert_close(found[1], -np.round((tops.astype("float64") - left) / divisors))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("name", ["sum", "sum_dim", "sum_dims", "prod", "prod_dim"])
def test_sums_and_products_of_small_integers_widen(name: str, dtype: str, base: UnderTest) -> None:
    """As NumPy's do: their values, in the widest Int that the backend has."""
    if not base.has(dtype):
        pytest.skip(f"{base.name} has no {dtype}")
    values = np.array([[100, 100, 100, 100]], dtype)
    arguments: dict[str, Any] = {"sum_dim": (1,), "sum_dims": ((0, 1),), "prod_dim": (1,)}
    found: AnyTensor = getattr(Tensor.from_data(values, base.device()), name)(*arguments.get(name, ()))
    expected = values.sum() if "sum" in name else values.prod()
    assert found.dtype == base.backend.widest_int
    assert found.to_numpy().ravel().tolist() == [int(expected)]
