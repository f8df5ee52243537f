"""NdArray's kernels of many steps: the same over many blocks as the composition that says what they mean."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.support import Values, needs_threads
from tinyburn import NdArray
from tinyburn.backend import Backend
from tinyburn.backend.operations import OPERATIONS

FUSED = [
    name
    for name, operation in OPERATIONS.items()
    if operation.fused and operation.elementwise and operation.result == "like"
]
NUMBERS: dict[str, tuple[float, ...]] = {
    **{"clamp": (-0.5, 0.5), "clamp_backward": (-0.5, 0.5), "add_scaled": (3.0,)},
    **{"leaky_relu": (0.1,), "leaky_relu_backward": (0.1,)},
    **{"weighted_sum": (0.5, 3.0), "weighted_square_sum": (0.5, 3.0), "adaptive_sum": (0.5, 3.0, 0.1)},
}
SHAPE = (310, 301)
"""More than two blocks, and none of them full at the end."""
RTOL = {"float16": 2e-3, "float32": 2e-6, "float64": 4e-15}


def operands(name: str, dtype: str) -> list[Any]:
    rng = np.random.default_rng(7)
    arrays = [rng.normal(size=SHAPE).astype(dtype) * 3 for _ in OPERATIONS[name].tensors]
    arrays[0][::3, ::2] = 0
    for at, value in enumerate((np.inf, -np.inf, np.nan, 0.0, -0.0)):
        arrays[-1][-1, at] = value
    return [*arrays, *NUMBERS.get(name, ())]


def composed(name: str, arguments: list[Any]) -> Values:
    """What the interface composes, of NdArray's own parts; for float16 in float32, and rounded once."""
    is_half = arguments[0].dtype == "float16"
    taken = [x.astype("float32") if is_half and isinstance(x, np.ndarray) else x for x in arguments]
    result: Values = getattr(Backend, name).__func__(NdArray, *taken)
    with np.errstate(over="ignore"):
        return result.astype(arguments[0].dtype)


def as_stored(name: str, dtype: str, layout: str) -> list[Any]:
    def stored(x: Any) -> Any:
        return x.T.copy().T if layout == "column-major" else np.broadcast_to(x[:1], SHAPE) if layout == "one row" else x

    return [stored(x) if isinstance(x, np.ndarray) else x for x in operands(name, dtype)]


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("dtype", RTOL)
@pytest.mark.parametrize("layout", ["row-major", "column-major", "one row"])
def test_many_blocks_give_what_the_composition_gives(name: str, dtype: str, layout: str) -> None:
    arguments = as_stored(name, dtype, layout)
    result, wanted = getattr(NdArray, name)(*arguments), composed(name, arguments)
    assert (result.dtype, result.shape) == (np.dtype(dtype), SHAPE)
    assert result.flags.c_contiguous
    np.testing.assert_allclose(result, wanted, rtol=RTOL[dtype], atol=RTOL[dtype])


@pytest.mark.parametrize("name", ["tanh_backward", "sigmoid_backward"])
def test_slopes_of_results_have_the_bits_of_their_composition(name: str) -> None:
    arguments = operands(name, "float64")
    assert getattr(NdArray, name)(*arguments).tobytes() == composed(name, arguments).tobytes()


@pytest.mark.parametrize("name", ["softplus_backward", "gelu_backward", "silu_backward", "multiply_no_nan"])
@pytest.mark.parametrize("shape", [(3, 4), SHAPE])
def test_a_gradient_of_zero_stays_zero_beside_others(name: str, shape: tuple[int, ...]) -> None:
    a, b = np.ones(shape), np.full(shape, np.nan)
    a[0] = 0
    for found in (getattr(NdArray, name)(a, b), NdArray.into(a.copy(), name, a, b)):
        assert (found[0] == 0).all()
        assert np.isnan(found[1:]).all()


def test_a_bound_belongs_to_what_is_clamped_also_in_float16() -> None:
    """0.1 as a float16 is less than 0.1."""
    a, b = np.ones((2, 2), "float16"), np.full((2, 2), 0.1, "float16")
    assert (NdArray.clamp_backward(a, b, 0.1, 1.0) == 1).all()


@needs_threads
def test_each_thread_has_its_own_scratch() -> None:
    arguments = {name: operands(name, "float32") for name in FUSED}
    wanted = {name: getattr(NdArray, name)(*arguments[name]).tobytes() for name in FUSED}

    def differing(_: int) -> list[str]:
        return [name for name in FUSED if getattr(NdArray, name)(*arguments[name]).tobytes() != wanted[name]]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(differing, range(16))) == [[]] * 16


# The error function


def ulps(found: Values, exact: Values) -> float:
    """The largest error in units in the last place of the exact value."""
    return float(np.max(np.abs(found.astype("float64") - exact) / np.spacing(np.abs(exact.astype(found.dtype)))))


@pytest.mark.parametrize(("dtype", "most"), [("float32", 4), ("float64", 3.1)])
def test_erf_is_near_to_the_exact_one(dtype: str, most: float) -> None:
    small = 10.0 ** np.linspace(-37, 0, 5001)
    x = np.concatenate([np.linspace(-7, 7, 100_001), small, -small]).astype(dtype)
    exact = np.array([math.erf(value) for value in x.tolist()])
    found = NdArray.erf(x)
    assert ulps(found, exact) < most
    assert (np.diff(NdArray.erf(np.linspace(4.5, 100, 10_001).astype(dtype))) >= 0).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_erf_at_its_ends(dtype: str) -> None:
    largest = np.finfo(dtype).max
    found = NdArray.erf(np.array([0.0, -0.0, np.inf, -np.inf, largest, -largest, np.nan], dtype))
    np.testing.assert_array_equal(found, [0, 0, 1, -1, 1, -1, np.nan])
    assert np.signbit(found)[:2].tolist() == [False, True]


# Powers


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", [-2, -1, 0.5, 1, 2, 3, 4, 5, 6])
def test_a_product_is_near_to_the_power(dtype: str, exponent: float) -> None:
    x = (10 ** np.random.default_rng(0).uniform(-4, 4, 20_000)).astype(dtype)
    exact = np.power(x.astype(np.longdouble), exponent)
    found = NdArray.powf_scalar(x, exponent)
    error = np.max(np.abs(found - exact) / np.spacing(exact.astype(dtype)))
    assert error < 4


@pytest.mark.parametrize("exponent", [0, 0.0, 1, 2, 3, 4, 5, 6])
def test_a_power_of_ints_is_one_of_ints(exponent: float) -> None:
    x = np.array([[-3, -1, 0], [1, 2, 7]])
    assert NdArray.powf_scalar(x, exponent).tolist() == (x**exponent).tolist()
