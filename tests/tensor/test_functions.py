"""Elementary functions and scans as methods of a tensor: their values at hard points, and what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support import NDARRAY, UnderTest, assert_close, const, grads_of, ints, mask
from tinyburn import BackendMismatch, Device, DTypeMismatch, NdArray, ShapeError, Tensor
from tinyburn.backend import Backend
from tinyburn.backend.operations import OPERATIONS

NAN, INF = math.nan, math.inf
SCANS = ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")

EXACT: dict[str, Any] = {
    **{
        "tan": np.tan,
        "asin": np.arcsin,
        "acos": np.arccos,
        "atan": np.arctan,
        "asinh": np.arcsinh,
        "atanh": np.arctanh,
    },
    # NumPy has it from the C library, and that of a browser finds a number for some below 1 too.
    **{"acosh": lambda x: np.where(x < 1, NAN, np.arccosh(x)), "log2": np.log2, "log10": np.log10},
}


@pytest.mark.parametrize("name", EXACT)
def test_a_composition_keeps_its_digits(name: str) -> None:
    """What the interface composes, of NdArray's parts in float32: near 0, near the ends of a function, and far out."""
    sizes = np.concatenate([10.0 ** np.linspace(-37, 37, 3001), 1 + np.linspace(-0.01, 0.01, 3001)]).astype("float32")
    x = np.concatenate([sizes, -sizes])
    x = x[np.abs(x) < 1.5] if name == "tan" else x
    with np.errstate(all="ignore"):
        exact = EXACT[name](x.astype("float64"))
        found = getattr(Backend, name).__func__(NdArray, x).astype("float64")
        assert (np.isnan(found) == np.isnan(exact)).all()
        counted = np.isfinite(exact) & (np.abs(exact) > 1e-37)
        errors = np.abs(found - exact)[counted] / np.spacing(np.abs(exact[counted]).astype("float32"))
    assert errors.max() < 4.5


def test_neither_square_of_a_hypotenuse_overflows_or_is_lost(base: UnderTest) -> None:
    large = {"float32": 1e38, "float64": 1e300}[base.float_dtype]
    for scale in (large, 1 / large):
        x, y = const([3 * scale / 10], base.device()), const([-4 * scale / 10], base.device())
        assert_close(x.hypot(y).to_numpy() / scale, [0.5], tolerance=base.tolerance)
    found = const([0.0, INF, -INF, NAN, 3.0], base.device()).hypot(const([0.0, NAN, 1.0, 1.0, 4.0], base.device()))
    assert_close(found.to_numpy(), [0.0, INF, INF, NAN, 5.0], tolerance=base.tolerance)


def test_angles_of_all_quadrants(device: Device[Any]) -> None:
    y, x = const([0.0, 1.0, 1.0, 0.0, -1.0, -1.0], device), const([1.0, 1.0, 0.0, -1.0, -1.0, 1.0], device)
    assert_close(y.atan2(x).rad2deg().to_numpy(), [0, 45, 90, 180, -135, -45], tolerance=1e-6)
    assert_close(const([180.0], device).deg2rad().to_numpy(), [math.pi], tolerance=1e-6)


def test_powers_of_two_and_ten_are_whole(base: UnderTest) -> None:
    x = const([0.25, 1.0, 8.0, 1024.0], base.device())
    assert_close(x.log2().to_numpy(), [-2, 0, 3, 10], tolerance=base.tolerance)
    assert_close(const([0.1, 1000.0], base.device()).log10().to_numpy(), [-1, 3], tolerance=base.tolerance)
    assert const([-1.0, 0.0, 10.0], base.device()).exp2().to_numpy().tolist() == [0.5, 1, 1024]
    assert ints([-3, 4], base.device()).square().to_numpy().tolist() == [9, 16]


def test_towards_zero(device: Device[Any]) -> None:
    x = const([-1.5, -0.5, 0.5, 1.5], device)
    assert x.trunc().to_numpy().tolist() == [-1, 0, 0, 1]
    assert x.fmod(1.0).to_numpy().tolist() == [-0.5, -0.5, 0.5, 0.5]
    assert (x % 1.0).to_numpy().tolist() == [0.5, 0.5, 0.5, 0.5]


def test_what_is_close(device: Device[Any]) -> None:
    x = const([1.0, 1.0, INF, INF, -INF, NAN, 0.0], device)
    y = const([1.00001, 1.1, INF, 1.0, INF, NAN, 1e-9], device)
    assert x.is_close(y, rtol=1e-4).to_numpy().tolist() == [True, False, True, False, False, False, True]
    assert const([1.0], device).is_close(INF).to_numpy().tolist() == [False]
    assert const([1.0, 2.0], device).is_close(1.5, atol=0.5).to_numpy().tolist() == [True, True]
    assert const([1.0, 2.0], device).all_close(const([1.0, 2.0], device)) is True
    assert x.all_close(y) is False
    assert x.is_finite().to_numpy().tolist() == [True, True, False, False, False, False, True]
    assert (x.contains_nan().to_numpy().tolist(), x[:5].contains_nan().to_numpy().tolist()) == ([True], [False])


def test_close_is_a_value() -> None:
    x = Tensor.ones((2,), NDARRAY.shapes_alone().device())
    assert x.is_close(x).shape == (2,)
    with pytest.raises(BackendMismatch, match="keeps shapes only"):
        x.all_close(x)


@pytest.mark.parametrize("name", [*EXACT, "trunc", "is_finite", "exp2", "contains_nan", "deg2rad", "rad2deg"])
def test_only_real_numbers_have_them(name: str, any_device: Device[Any]) -> None:
    for other in (ints([1, 2], any_device), mask([True, False], any_device)):
        with pytest.raises(DTypeMismatch, match=name):
            getattr(other, name)()


# Scans


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 130, 4097])
def test_a_scan_is_what_the_composition_is(name: str, size: int, base: UnderTest) -> None:
    """Chunks of a line on a GPU are of 64 elements."""
    values = 0.9 + 0.2 * np.random.default_rng(size).normal(size=(2, size)).round(1)
    found = getattr(const(values, base.device()), name)(-1).to_numpy()
    composed = getattr(Backend, name).__func__(NdArray, values, 1)
    scale = np.abs(composed).max()
    assert_close(found / scale, composed / scale, tolerance=20 * base.tolerance)


@pytest.mark.parametrize("length", [65_537, 300_000])
def test_long_scans(length: int, base: UnderTest) -> None:
    ones = Tensor.ones((length,), base.device())
    assert (ones.cumsum(0).to_numpy() == np.arange(1, length + 1)).all()
    waves = np.cos(np.arange(length) * 0.01) * np.arange(length)
    x = const(waves, base.device())
    assert (x.cummax(0).to_numpy() == np.maximum.accumulate(waves.astype(base.float_dtype))).all()


def test_scans_of_whole_numbers(device: Device[Any]) -> None:
    x = ints([[3, -2, 0], [7, 5, -4]], device)
    assert x.cumsum(1).to_numpy().tolist() == [[3, 1, 1], [7, 12, 8]]
    assert x.cumprod(0).to_numpy().tolist() == [[3, -2, 0], [21, -10, 0]]
    assert x.cummax(-1).to_numpy().tolist() == [[3, 3, 3], [7, 7, 7]]
    assert x.cummin(-1).to_numpy().tolist() == [[3, -2, -2], [7, 5, -4]]
    assert x.cumsum(1).dtype == device.int_dtype
    small = Tensor.from_data(np.full(3, 100, "uint8"), NdArray.device())
    assert small.cumsum(0).to_numpy().tolist() == [100, 200, 300]


def test_a_running_sum_of_float16_does_not_stall() -> None:
    ones = Tensor.ones((4096,), NdArray.device(), "float16")
    assert ones.cumsum(0).to_numpy()[-1] == 4096


def test_logarithms_of_sums_that_would_overflow(base: UnderTest) -> None:
    x = const([1000.0, 1000.0, -1000.0], base.device())
    assert_close(x.logcumsumexp(0).to_numpy(), 1000 + np.log([1.0, 2.0, 2.0]), tolerance=base.tolerance)
    x = const([-INF, -INF, -1000.0, -1000.0], base.device())
    assert_close(x.logcumsumexp(0).to_numpy(), [-INF, -INF, -1000, -1000 + math.log(2)], tolerance=base.tolerance)


@pytest.mark.parametrize("values", [[2.0, 0.0, 3.0, 4.0], [2.0, 0.0, 0.0, 4.0], [0.0], [5.0, 0.0]])
def test_a_running_product_with_zeros_has_its_slopes(values: list[float], base_tracked: Device[Any]) -> None:
    """By the definition: of each result up to k, the product of the others; no number is divided by."""
    slopes = [
        sum(math.prod(values[:k] + values[k + 1 : end]) for end in range(k + 1, len(values) + 1))
        for k in range(len(values))
    ]
    assert_close(grads_of(lambda x: x.cumprod(0), values, device=base_tracked)[0], slopes)


@pytest.mark.parametrize("name", SCANS)
def test_scans_of_nothing_and_their_gradients(name: str, base_tracked: Device[Any]) -> None:
    for shape in ((0, 3), (3, 0), (1, 1)):
        (gradient,) = grads_of(lambda x: getattr(x, name)(-1), np.ones(shape), device=base_tracked)
        assert_close(gradient, np.ones(shape))


@pytest.mark.parametrize("name", SCANS)
def test_what_has_no_scan(name: str, any_device: Device[Any]) -> None:
    with pytest.raises(ShapeError, match=name):
        getattr(const([1.0, 2.0], any_device), name)(1)
    with pytest.raises(DTypeMismatch, match=name):
        getattr(mask([True, False], any_device), name)(0)


def test_required_operations_stay_few() -> None:
    assert sum(not operation.is_default for operation in OPERATIONS.values()) <= 65
