"""Reductions over long lines: how a line is cut, and that every value counts once. Expected values are NumPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyburn import Tensor
from tinyburn.backend.wgpu.kernel import THREADS
from tinyburn.backend.wgpu.reductions import LINE, STEPS, cut_line

EDGES = (1, LINE - 1, LINE, LINE + 1, STEPS * THREADS - 1, STEPS * THREADS, STEPS * THREADS + 1, 100_003)


@given(st.one_of(st.sampled_from(EDGES), st.integers(1, 40_000)), st.booleans())
def test_a_cut_has_every_value_once_and_no_empty_chunk(length: int, side_by_side: bool):
    """The indices of the values in their line, as the kernel computes them."""
    cut = cut_line(length, side_by_side)
    chunk = np.arange(cut.chunks)
    first = chunk // cut.width * cut.width * cut.steps + chunk % cut.width
    indices = first[:, np.newaxis] + np.arange(cut.steps) * cut.width
    assert (first < length).all()
    assert np.sort(indices[indices < length]).tolist() == list(range(length))
    assert cut.steps <= LINE
    assert cut.chunks <= length / STEPS + THREADS  # what the results of the chunks need, beside the operand


@pytest.mark.parametrize("length", EDGES)
@pytest.mark.parametrize("dim", [0, 1])
def test_sums_of_whole_numbers_are_exact(gpu_device: Any, length: int, dim: int):
    """Whole numbers up to 2^24 are exact in float32, in any order. Along rows and along columns."""
    values = np.arange(3 * length).reshape((3, length) if dim else (length, 3)) % 50
    expected = values.sum(dim, keepdims=True)
    for tensor in (
        Tensor.from_data(values.astype("float32"), gpu_device),
        Tensor.from_data(values.T.astype("float32"), gpu_device).transpose(),
        Tensor.from_data(values.astype("int32"), gpu_device),
    ):
        assert tensor.sum_dim(dim).to_numpy().tolist() == expected.tolist()
    assert tensor.max_dim(dim).to_numpy().tolist() == values.max(dim, keepdims=True).tolist()
    assert tensor.argmin(dim).to_numpy().ravel().tolist() == values.argmin(dim).tolist()


@pytest.mark.parametrize("index", [0, 1, STEPS * THREADS, 9_999])
def test_one_nan_or_infinity_anywhere_reaches_the_result(gpu_device: Any, index: int):
    values = np.linspace(-1, 1, 10_000, dtype="float32")
    for special in (math.nan, math.inf, -math.inf):
        values[index] = special
        tensor = Tensor.from_data(values, gpu_device)
        for name in ("sum", "mean", "max", "min"):
            found = getattr(tensor, name)().to_numpy()
            np.testing.assert_array_equal(found, [getattr(values, name)()])


def test_rounding_errors_of_a_long_sum_do_not_add_up(gpu_device: Any):
    """A sum in one go loses its last digits here: at 2^24 it would stand still. In chunks each part stays small."""
    ones = Tensor.full((40_000_000,), 1.1, gpu_device)
    exact = 40_000_000 * float(np.float32(1.1))
    assert abs(ones.sum().into_scalar() - exact) / exact < 3e-6


def test_the_same_bits_twice_in_any_layout(gpu_device: Any, rng: np.random.Generator):
    values = rng.standard_normal((300, 700)).astype("float32")
    rows, columns = Tensor.from_data(values, gpu_device), Tensor.from_data(values.T, gpu_device).transpose()
    for tensor in (rows, columns):
        assert len({tensor.sum_dim(0).to_numpy().tobytes() for _ in range(5)}) == 1
