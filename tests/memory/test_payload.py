"""`tensor_payload_bytes`: elements times bytes of a scalar."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyburn import NdArray, ShapeError, Tensor, TinyburnError
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
