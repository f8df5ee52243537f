"""`tensor_payload_bytes`: elements times bytes of a scalar."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyburn import DType, NdArray, ShapeError, Tensor, TinyburnError
from tinyburn.memory import tensor_payload_bytes


@pytest.mark.parametrize(
    ("shape", "scalar", "expected"),
    [
        ((16, 8), 4, 512),  # the document's example
        ((), 4, 4),  # an empty product is 1: a single scalar
        ((1,), 8, 8),
        ((0,), 4, 0),
        ((3, 0, 5), 8, 0),
        ((2, 3, 4), 2, 48),
        ((1 << 40, 1 << 40), 8, 1 << 83),  # whole numbers have no largest one here
    ],
)
def test_payload(shape: tuple[int, ...], scalar: int, expected: int) -> None:
    assert tensor_payload_bytes(shape, scalar) == expected


@given(st.lists(st.integers(0, 6), max_size=4), st.sampled_from(["float16", "float32", "float64", "int64", "bool"]))
def test_payload_is_what_numpy_says(dims: list[int], dtype: str) -> None:
    array = np.empty(dims, dtype)
    assert tensor_payload_bytes(tuple(dims), array.itemsize) == array.nbytes == prod(dims) * array.itemsize


@pytest.mark.parametrize("name", [*map(str, DType), "uint16", "uint32", "uint64"])
def test_a_format_of_numpy_by_its_name(name: str) -> None:
    assert tensor_payload_bytes((16, 8), name) == np.zeros((16, 8), name).nbytes


@pytest.mark.parametrize(
    ("name", "sign", "exponent", "mantissa"),
    [("bfloat16", 1, 8, 7), ("float8_e4m3fn", 1, 4, 3), ("float8_e5m2", 1, 5, 2), ("float16", 1, 5, 10)],
)
def test_a_format_that_numpy_lacks_by_its_bits(name: str, sign: int, exponent: int, mantissa: int) -> None:
    """The published layouts: sign, exponent and mantissa, in whole bytes."""
    assert tensor_payload_bytes((16, 8), name) * 8 == 128 * (sign + exponent + mantissa)


def test_a_dtype_is_a_name() -> None:
    assert tensor_payload_bytes((3,), DType.FLOAT64) == 24
    assert tensor_payload_bytes((3,), "int8") == 3


def test_an_unknown_name_is_one_error_with_the_known_ones() -> None:
    with pytest.raises(ShapeError) as caught:
        tensor_payload_bytes((-1, 2), "float31")
    lines = str(caught.value).splitlines()
    assert len([line for line in lines if "because" in line]) == 2
    assert "dim 0" in lines[1]
    assert "'float31'" in lines[2]
    assert all(name in lines[2] for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int8", "bool"))


@pytest.mark.parametrize(
    ("shape", "scalar", "words"),
    [
        ((-1,), 4, ["dim 0", "-1"]),
        ((2, 1.5), 4, ["dim 1", "1.5"]),
        ((2, True), 4, ["dim 1", "True"]),
        (("4",), 4, ["dim 0", "'4'"]),
        ((2,), 0, ["scalar_bytes", "0"]),
        ((2,), -4, ["scalar_bytes", "-4"]),
        ((2,), 4.0, ["scalar_bytes", "4.0"]),
        ((2,), True, ["scalar_bytes", "True"]),
        ((2,), None, ["scalar_bytes", "None"]),
        ((2,), "4", ["scalar_bytes", "'4'"]),
        ((-1, 3, -2), 0, ["dim 0", "dim 2", "scalar_bytes"]),  # every reason at once
    ],
)
def test_wrong_input_says_what_is_wrong(shape: Any, scalar: Any, words: list[str]) -> None:
    with pytest.raises(ShapeError) as caught:
        tensor_payload_bytes(shape, scalar)
    assert isinstance(caught.value, TinyburnError)
    for word in words:
        assert word in str(caught.value)


def test_a_tensor_knows_its_own() -> None:
    tensor = Tensor.ones((16, 8), NdArray.device())
    assert tensor.payload_bytes == tensor_payload_bytes(tensor.shape, 4) == 512
