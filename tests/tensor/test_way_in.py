"""What numbers become on their way into a tensor: nothing rounds, wraps or loses its format in silence.

The table in docs/kinks.md says what each gives; each of its rows is a test here.
"""

from __future__ import annotations

import array
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.support import BASES, EVERY_DTYPE, UnderTest, params, params_with_dtype, plain
from tinyburn import Device, DTypeMismatch, Tensor, TensorData, TinyburnError

TOO_FINE = {"float16": 2**11 + 1, "float32": 2**24 + 1, "float64": 2**53 + 1}
"""The first whole number that each format has not: it is 2 to the bits of the significand, and 1."""


# Objects that have one protocol each, and nothing else


class ByArray:
    def __init__(self, values: Any) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self._values, dtype)


class ByInterface:
    def __init__(self, values: Any) -> None:
        self._values = values

    @property
    def __array_interface__(self) -> Any:
        return self._values.__array_interface__


class ByStruct:
    def __init__(self, values: Any) -> None:
        self._values = values

    @property
    def __array_struct__(self) -> Any:
        return self._values.__array_struct__


class ByDlpack:
    def __init__(self, values: Any) -> None:
        self._values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()


def by_pandas(values: Any) -> Any:
    return pytest.importorskip("pandas").Series(values)


def by_torch(values: Any) -> Any:
    return pytest.importorskip("torch").from_numpy(values)


WAYS: list[Callable[[Any], Any]] = [
    np.asarray,
    TensorData.from_values,
    memoryview,
    ByArray,
    ByInterface,
    ByStruct,
    ByDlpack,
    by_pandas,
    by_torch,
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("dtype", EVERY_DTYPE)
def test_what_has_a_dtype_keeps_it(way: Callable[[Any], Any], dtype: str) -> None:
    values = np.array([0, 1, 1], dtype)
    if dtype.startswith("int") and dtype != "int8" and dtype != "int16":
        values[0] = 16_777_217  # not a float32
    x = Tensor.from_data(way(values), plain("float32"))
    assert (x.dtype, x.to_numpy().tolist()) == (dtype, values.tolist())
    assert TensorData.from_values(way(values)) == TensorData.from_values(values)


def test_scalars_and_buffers_keep_their_dtype_too() -> None:
    device = plain("float32")
    for values, dtype in [
        (np.int64(16_777_217), "int64"),
        (np.float64(0.1), "float64"),
        (np.bool_(True), "bool"),
        (array.array("q", [16_777_217]), "int64"),
        (array.array("d", [0.1]), "float64"),
        (bytearray(b"\x01\xff"), "uint8"),
    ]:
        x = Tensor.from_data(values, device)
        assert (x.dtype, x.to_numpy().tolist()) == (dtype, np.atleast_1d(np.asarray(values)).tolist())


def test_a_buffer_is_copied() -> None:
    mine = np.arange(3)
    taken = Tensor.from_data(ByDlpack(mine), plain())
    mine[:] = 9
    assert taken.to_numpy().tolist() == [0, 1, 2]


def test_values_that_cannot_be_read_say_why() -> None:
    """As a PyTorch tensor on a GPU, or one that requires a gradient, does it."""

    class Refuses:
        def __init__(self, error: Exception) -> None:
            self._error = error

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            raise self._error

    for error in (TypeError("it is on cuda:0"), RuntimeError("it is on cuda:0"), ValueError("it is on cuda:0")):
        with pytest.raises(DTypeMismatch, match="it is on cuda:0"):
            Tensor.from_data(Refuses(error), plain())


def test_a_mask_is_not_forgotten() -> None:
    masked = np.ma.masked_equal([1.0, 2.0], 2.0)
    with pytest.raises(DTypeMismatch, match=r"filled"):
        Tensor.from_data(masked, plain())
    assert Tensor.from_data(masked.filled(0), plain()).to_numpy().tolist() == [1.0, 0.0]


# Python's numbers, which have no format


@pytest.mark.parametrize("dtype", TOO_FINE)
def test_a_whole_number_does_not_round(dtype: str) -> None:
    device, fine = plain(dtype), TOO_FINE[dtype]
    x = Tensor.ones((1,), device)
    makers: list[Callable[[int], Tensor[Any, Any]]] = [
        lambda n: Tensor.from_data([n], device),
        lambda n: Tensor.from_data([[0, n]], device),
        lambda n: Tensor.full((1,), n, device),
        lambda n: x.full_like(n),
        lambda n: x * n,
        lambda n: n + x,
        lambda n: x * np.int64(n),
        lambda n: x.clamp(-n, n),
        lambda n: x.mask_fill(x == 1.0, n),
    ]
    for make in makers:
        for number in (fine, -fine):
            with pytest.raises(DTypeMismatch, match=dtype):
                make(number)
        assert make(fine - 1).dtype == dtype  # 2 to the bits is there
    for rounds in (Tensor.from_data([fine], device, dtype), Tensor.from_data([float(fine)], device), x * float(fine)):
        assert rounds.to_numpy().max() == fine - 1  # written out: to the nearest, and in a tie to the even one


@pytest.mark.parametrize(
    "number", [10**400, -(10**400), 2**1024, 10**5000, Fraction(10**400)], ids=lambda n: type(n).__name__
)
def test_a_number_beyond_every_format_is_an_error(number: Any) -> None:
    device = plain()
    x = Tensor.ones((1,), device)
    for call in (lambda: x * number, lambda: Tensor.full((1,), number, device), lambda: x.clamp(number, 1.0)):
        with pytest.raises(DTypeMismatch):
            call()
    if isinstance(number, int):
        for values in ([number], [number, 0.5], [[1, number]]):
            with pytest.raises(DTypeMismatch):
                Tensor.from_data(values, device)


def test_a_float_takes_the_tensors_dtype(device: Device[Any]) -> None:
    """It rounds to the nearest, as Python's own numbers do; NumPy's scalars too, since a factor is no tensor."""
    x = Tensor.ones((1,), device)
    for number in (0.1, np.float64(0.1), np.float32(0.1), np.float16(0.1), Fraction(1, 10)):
        expected = np.array(float(number)).astype(str(device.float_dtype))
        assert (x * number).to_numpy().tolist() == [expected.item()]
        assert (x * number).dtype == device.float_dtype
    assert (x * 3).to_numpy().tolist() == [3.0]


def test_an_int_tensor_takes_whole_numbers_that_fit(device: Device[Any]) -> None:
    x = Tensor.full((2,), 5, device, device.int_dtype)
    assert (x + np.int8(1)).to_numpy().tolist() == [6, 6]
    largest = int(np.iinfo(str(device.int_dtype)).max)
    assert x.full_like(largest).to_numpy().tolist() == [largest] * 2
    for number in (2.0, 0.5, np.float32(2.0), float("nan"), float("inf"), True, np.bool_(True), largest + 1, 10**5000):
        with pytest.raises(TinyburnError):
            x + number


def test_a_truth_value_is_no_number(device: Device[Any]) -> None:
    floats, flags = Tensor.ones((2,), device), Tensor.from_data([True, False], device)
    for truth in (True, np.bool_(True)):
        for call in (lambda t=truth: floats * t, lambda t=truth: floats.int() * t):
            with pytest.raises(DTypeMismatch):
                call()
        assert (flags == truth).to_numpy().tolist() == [True, False]
    assert Tensor.from_data([True, False], device).dtype == "bool"


def test_an_empty_name_is_no_dtype() -> None:
    device = plain()
    for call in (
        lambda: Tensor.from_data([1.0], device, ""),
        lambda: Tensor.full((1,), 1.0, device, ""),
        lambda: Tensor.zeros((1,), device, ""),
        lambda: Tensor.eye(2, device, ""),
        lambda: TensorData.from_values([1.0], ""),
        lambda: Tensor.ones((1,), device).cast(""),
    ):
        with pytest.raises(DTypeMismatch, match="no such dtype"):
            call()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 300.0, -129.0, 0.5])
def test_a_float_that_is_no_number_of_an_int_dtype_does_not_come_in(value: float) -> None:
    device = plain()
    for call in (
        lambda: Tensor.from_data([value], device, "int8"),
        lambda: Tensor.from_data(np.array([value], "float32"), device, "int8"),
        lambda: Tensor.full((1,), value, device, "int8"),
    ):
        with pytest.raises(DTypeMismatch):
            call()


# What a kernel does with each element: the same on every backend


@pytest.mark.parametrize(("under_test", "dtype"), params_with_dtype(*[d for d in EVERY_DTYPE if "int" in d]))
def test_a_cast_to_int_is_rusts(under_test: UnderTest, dtype: str) -> None:
    """Rust's ``as``: without the fraction, the nearest number where there is none, and 0 for NaN."""
    limits = np.iinfo(dtype)
    for float_dtype in ("float16", "float32", "float64"):
        if not under_test.has(float_dtype):
            continue
        values = [np.nan, -np.nan, np.inf, -np.inf, -1.9, 1.9, -0.0, float(limits.max), float(limits.min), 100.0]
        values += [2.0**k for k in (7, 8, 15, 16, 31, 32, 63, 64)] + [-(2.0**k) for k in (7, 8, 15, 16, 31, 32, 63)]
        with np.errstate(over="ignore"):
            floats = np.array(values).astype(float_dtype)
        expected = [
            0 if np.isnan(x) else limits.max if x > limits.max else limits.min if x < limits.min else int(x)
            for x in floats.astype(object)
        ]
        for wrong in (floats, floats.reshape(1, -1), np.repeat(floats, 2)[::2]):
            found = Tensor.from_data(wrong, under_test.device()).cast(dtype)
            assert (found.dtype, found.to_numpy().ravel().tolist()) == (dtype, expected)
        usual = Tensor.from_data(np.array([-0.0, 1.9, 100.0], float_dtype), under_test.device()).cast(dtype)
        assert usual.to_numpy().tolist() == [0, 1, 100]
        assert Tensor.zeros((0, 2), under_test.device(), float_dtype).cast(dtype).shape == (0, 2)


@pytest.mark.parametrize(("under_test", "dtype"), params_with_dtype(*[d for d in EVERY_DTYPE if "int" in d]))
def test_a_remainder_by_zero_is_zero(under_test: UnderTest, dtype: str) -> None:
    """Integers have neither NaN nor inf to say it with. The others are Python's."""
    limits, device = np.iinfo(dtype), under_test.device()
    pairs = [(7, 0), (0, 0), (limits.max, 0), (limits.min, 0), (7, 3), (limits.max, 2), (limits.min, 3)]
    pairs += [(-7, 3), (7, -3), (-7, -3), (limits.min, -1), (-7, 0)] if limits.min else []
    a, b = (Tensor.from_data(np.array(side, dtype), device) for side in zip(*pairs, strict=True))
    assert (a % b).to_numpy().tolist() == [x % y if y else 0 for x, y in pairs]
    assert (a % 0).to_numpy().tolist() == [0] * len(pairs)


@pytest.mark.parametrize("under_test", params(BASES))
def test_a_remainder_of_floats_by_zero_is_nan(under_test: UnderTest) -> None:
    x = Tensor.from_data([7.0, 0.0, -7.0], under_test.device())
    assert np.isnan((x % 0.0).to_numpy()).all()
