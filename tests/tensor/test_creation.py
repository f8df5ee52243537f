"""How tensors are made, and how their values leave: copied in, read-only or copied out, dtype and rank as promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support import (
    BASES,
    EVERY_DTYPE,
    SHAPE_BACKENDS,
    VALUE_BACKENDS,
    UnderTest,
    assert_close,
    params,
    params_with_dtype,
    plain,
)
from tinyburn import (
    BackendMismatch,
    Bool,
    ConfigError,
    Device,
    Distribution,
    DTypeMismatch,
    Float,
    Int,
    Meta,
    NdArray,
    ShapeError,
    Tensor,
    TensorData,
    TinyburnError,
    Traced,
)

typed: Any = Tensor  # subscripts at run time, without a checker's knowledge of them


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        ([1, 2, 3], "float32", (3,)),
        ([1.5], "float32", (1,)),
        ([[1, 2], [3, 4]], "float32", (2, 2)),
        ([True, False], "bool", (2,)),
        ([[True], [False]], "bool", (2, 1)),
        ([True, 2.0], "float32", (2,)),
        ([], "float32", (0,)),
        ([[], []], "float32", (2, 0)),
        (3.0, "float32", (1,)),
        (np.array([1, 2], dtype="int64"), "int64", (2,)),
        (np.array([1, 2], dtype="int8"), "int8", (2,)),
        (np.array([1.0]), "float64", (1,)),
        (np.array([1.0], dtype="float16"), "float16", (1,)),
        (np.array([True]), "bool", (1,)),
        (np.float64(2.0), "float64", (1,)),
        (np.array(2.0), "float64", (1,)),
        (np.array([1.0, 2.0], dtype=">f4"), "float32", (2,)),
        (TensorData.from_values([1, 2], "int32"), "int32", (2,)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("under_test", params(VALUE_BACKENDS))
def test_lists_take_the_devices_dtype_and_arrays_keep_theirs(
    data: Any, dtype: str, shape: tuple[int, ...], under_test: UnderTest
) -> None:
    device = under_test.device("float32")
    if not under_test.has(dtype):
        with pytest.raises(DTypeMismatch, match=dtype):
            Tensor.from_data(data, device)
        return
    tensor = Tensor.from_data(data, device)
    assert (tensor.dtype, tensor.shape) == (dtype, shape)
    assert_close(tensor.to_numpy(), np.asarray(data, dtype=dtype).reshape(shape))


@pytest.mark.parametrize(("base", "dtype"), params_with_dtype(*EVERY_DTYPE, backends=BASES))
def test_a_given_dtype_wins(base: UnderTest, dtype: str) -> None:
    for data in ([1, 0], np.array([1.0, 0.0])):
        tensor = Tensor.from_data(data, base.device(), dtype)
        assert tensor.dtype == dtype
        assert tensor.to_numpy().tolist() == [1, 0]


@pytest.mark.parametrize("data", [[[1, 2], [3]], [[1], 2], [[[1]], [[1, 2]]]], ids=repr)
def test_ragged_lists_are_a_shape_error(data: Any) -> None:
    with pytest.raises(ShapeError, match="ragged"):
        Tensor.from_data(data, plain())


@pytest.mark.parametrize("data", [["a"], [None], [{}], [1j], np.array(["2020-01-01"], dtype="M8[D]"), [2**70]])
def test_what_is_no_number_is_a_dtype_error(data: Any) -> None:
    with pytest.raises(DTypeMismatch):
        Tensor.from_data(data, plain())


@pytest.mark.parametrize("dtype", ["float", "complex64", "f4", "uint16", "FLOAT32"])
def test_an_unknown_dtype_lists_the_names(dtype: str) -> None:
    with pytest.raises(DTypeMismatch, match="float32"):
        Tensor.zeros((1,), plain(), dtype)


def test_ranks_go_from_1_to_6() -> None:
    assert Tensor.from_data(np.zeros((1,) * 6), plain()).rank == 6
    with pytest.raises(ShapeError, match="7"):
        Tensor.from_data(np.zeros((1,) * 7), plain())
    for shape in ((), (1,) * 7, (-1,), (2, -3), (1.5,)):
        with pytest.raises(ShapeError):
            Tensor.zeros(shape, plain())  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0.0, 1.0, -2.5, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize(
    ("under_test", "float_dtype"),
    params_with_dtype("float32", "float64", backends=[*VALUE_BACKENDS, *SHAPE_BACKENDS]),
)
def test_filled_tensors(value: float, under_test: UnderTest, float_dtype: str) -> None:
    tensor = Tensor.full((2, 3), value, under_test.device(), float_dtype)
    assert (tensor.shape, tensor.dtype, tensor.kind) == ((2, 3), float_dtype, Float)
    if under_test.backend.has_values:
        np.testing.assert_array_equal(tensor.to_numpy(), np.full((2, 3), value))


def test_zeros_ones_empty_eye_arange(device: Device[Any]) -> None:
    assert Tensor.zeros((2,), device).to_numpy().tolist() == [0, 0]
    assert Tensor.ones((2,), device).to_numpy().tolist() == [1, 1]
    assert Tensor.empty((2, 0), device).shape == (2, 0)
    assert Tensor.eye(2, device).to_numpy().tolist() == [[1, 0], [0, 1]]
    counted = Tensor.arange(1, 7, device, step=2)
    assert (counted.to_numpy().tolist(), counted.dtype) == ([1, 3, 5], device.int_dtype)
    assert Tensor.arange(3, 0, device, step=-1).to_numpy().tolist() == [3, 2, 1]
    assert Tensor.arange(3, 0, device).shape == (0,)
    with pytest.raises(ShapeError):
        Tensor.arange(0, 3, device, step=0)


def test_counting_never_wraps_or_cuts() -> None:
    with pytest.raises(DTypeMismatch, match="int8"):
        Tensor.arange(0, 300, NdArray.device(int_dtype="int8"))
    half: Any = 0.5
    with pytest.raises(TinyburnError):
        Tensor.arange(half, 3, plain())


@pytest.mark.parametrize("options", [{"float_dtype": "int64"}, {"float_dtype": "bool"}, {"int_dtype": "float32"}])
@pytest.mark.parametrize("backend", [NdArray, Meta, Traced[NdArray]], ids=lambda backend: backend.__name__)
def test_a_devices_dtypes_are_of_their_kind(backend: Any, options: dict[str, str]) -> None:
    with pytest.raises(DTypeMismatch):
        backend.device(**options)


@pytest.mark.parametrize(("under_test", "dtype"), params_with_dtype("float32", "int8", "int32"))
def test_like_forms_take_shape_dtype_and_device(under_test: UnderTest, dtype: str) -> None:
    device = under_test.device()
    x = Tensor.full((2, 1), 5, device, dtype)
    for made, value in ((x.zeros_like(), 0), (x.ones_like(), 1), (x.full_like(7), 7)):
        assert (made.shape, made.dtype, made.device) == ((2, 1), dtype, device)
        assert made.to_numpy().tolist() == [[value], [value]]


def test_random_like_takes_shape_dtype_and_device(device: Device[Any]) -> None:
    drawn = Tensor.zeros((4,), device, "float32").random_like(Distribution.Uniform(2, 3))
    assert drawn.dtype == "float32"
    assert ((drawn.to_numpy() >= 2) & (drawn.to_numpy() < 3)).all()


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1.5, "int64"), (300, "int8"), (-1, "uint8"), (np.nan, "int64"), (np.inf, "int32"), (5, "bool"), (2**70, "int64")],
)
def test_a_value_that_the_dtype_cannot_hold_is_refused(value: float, dtype: str) -> None:
    with pytest.raises(DTypeMismatch):
        Tensor.full((2,), value, plain(), dtype)
    if dtype != "bool":
        with pytest.raises(DTypeMismatch):
            Tensor.from_data([value], plain(), dtype)


@pytest.mark.parametrize("seed", ["a", 1.5, -1, None, True])
def test_a_seed_is_a_whole_number(device: Any, seed: Any) -> None:
    with pytest.raises(ConfigError, match=r"seed\n  because .* is not a whole number of 0 or more"):
        device.seed(seed)


def test_equal_seeds_draw_equal_numbers(backend: Any) -> None:
    draws = []
    for seed in (1, 1, 2):
        device = backend.device()
        device.seed(seed)
        draws.append(Tensor.random((50,), Distribution.Normal(0, 1), device).to_numpy())
    assert (draws[0] == draws[1]).all()
    assert (draws[0] != draws[2]).any()


@pytest.mark.parametrize(("base", "dtype"), params_with_dtype("float16", "float32", "float64", backends=BASES))
def test_distributions_have_their_moments(base: UnderTest, dtype: str) -> None:
    """Mean and standard deviation of 40 000 draws: within 5 standard errors of the mathematical ones."""
    device = base.device(dtype)
    device.seed(3)
    size, root = 40_000, 200.0
    for distribution, mean, std in (
        (Distribution.Normal(2.0, 0.5), 2.0, 0.5),
        (Distribution.Uniform(-1.0, 3.0), 1.0, 4 / np.sqrt(12)),
        (Distribution.Bernoulli(0.25), 0.25, np.sqrt(0.25 * 0.75)),
        (Distribution.Default, 0.5, 1 / np.sqrt(12)),
    ):
        values = Tensor.random((size,), distribution, device).to_numpy().astype(float)
        assert abs(values.mean() - mean) < 5 * std / root
        assert abs(values.std() - std) < 5 * std / root
        if isinstance(distribution, type(Distribution.Bernoulli(0.5))):
            assert set(values) == {0.0, 1.0}


def test_random_refuses_what_it_cannot_draw() -> None:
    with pytest.raises(DTypeMismatch):
        Tensor.random((2,), Distribution.Default, plain(), "int64")
    for make in (
        lambda: Distribution.Normal(0, -1),
        lambda: Distribution.Uniform(1, 0),
        lambda: Distribution.Bernoulli(1.5),
        lambda: Distribution.Normal(0, float("nan")),
    ):
        with pytest.raises(ConfigError):
            make()


# Typed constructors


def test_typed_constructors_make_what_the_type_says() -> None:
    device = plain()
    assert typed[NdArray, 2].ones((16, 8), device).shape == (16, 8)
    assert typed[NdArray].ones((16, 8), device).rank == 2
    assert typed[NdArray, 1, Int].from_data([1, 2], device).dtype == "int64"
    assert typed[NdArray, 1, Bool].from_data([1, 0], device).dtype == "bool"
    assert typed[NdArray, 1, Int].arange(0, 3, device).shape == (3,)
    assert typed[NdArray, 2, Float].random((2, 2), Distribution.Default, device).rank == 2


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda d: typed[NdArray, 1].ones((16, 8), d), ShapeError, "the type says rank 1, the values have rank 2"),
        (lambda d: typed[NdArray, 2].from_data([1.0], d), ShapeError, "rank 2"),
        (lambda d: typed[Meta, 2].ones((1, 1), d), BackendMismatch, "the type says Meta"),
        (lambda d: typed[Traced[NdArray], 1].zeros((1,), d), BackendMismatch, "Traced"),
        (lambda d: typed[NdArray, 1, Int].zeros((1,), d), DTypeMismatch, "Int"),
        (lambda d: typed[NdArray, 1, Float].arange(0, 3, d), DTypeMismatch, "Float"),
        (lambda d: typed[NdArray, 3].eye(3, d), ShapeError, "rank 3"),
    ],
)
def test_typed_constructors_refuse_another_type(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make(plain())


def test_typed_tensors_are_types_too() -> None:
    from tinyburn import D2

    assert typed[NdArray, D2].ones((1, 1), plain()).rank == 2
    with pytest.raises(ShapeError):
        typed[NdArray, D2].ones((1,), plain())
    assert typed[NdArray, 2].__origin__ is Tensor
    assert typed[NdArray, 2] == typed[NdArray, 2]
