"""Work that is too long for one thread is cut: Mesa's lavapipe leaves every loop after 65 535 turns, without a word.

Sums of ones are exact in float32 up to 2^24, in any order.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tinyburn import BackendMismatch, Tensor, Wgpu
from tinyburn.backend.operations import OPERATIONS
from tinyburn.backend.wgpu.kernel import MOST_TURNS
from tinyburn.backend.wgpu.matmul import MOST_TERMS

LENGTHS = (MOST_TERMS, MOST_TERMS + 1, MOST_TURNS + 1, 65_535, 65_536, 65_537, 200_000)


@pytest.fixture(params=LENGTHS)
def length(request: pytest.FixtureRequest) -> int:
    found: int = request.param
    return found


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (20, 3), (1, 7), (7, 1)])
@pytest.mark.parametrize("is_software", [True, False], ids=["no workgroup memory", "workgroup memory"])
def test_products_of_long_lines(gpu_device: Any, length: int, rows: int, columns: int, is_software: bool):
    before, gpu_device.gpu.is_software = gpu_device.gpu.is_software, is_software
    a, b = Tensor.ones((rows, length), gpu_device), Tensor.ones((length, columns), gpu_device)
    found = [(a @ b).to_numpy(), (b.transpose() @ a.transpose()).to_numpy().T]
    gpu_device.gpu.is_software = before
    assert all((values == length).all() for values in found)


def test_additions_at_many_indices(gpu_device: Any, length: int):
    indices = Tensor.from_data(np.arange(length, dtype="int32") % 3, gpu_device)
    ones = Tensor.ones((length,), gpu_device)
    expected = np.bincount(np.arange(length) % 3).tolist()
    zeros = Tensor.zeros((3,), gpu_device)
    assert zeros.select_assign(0, indices, ones).to_numpy().tolist() == expected
    assert zeros.scatter(0, indices, ones).to_numpy().tolist() == expected


def test_a_wrong_index_late_in_a_long_line_is_told(gpu_device: Any):
    indices = np.zeros(65_600, "int32")
    indices[-1] = 5
    zeros = Tensor.zeros((3,), gpu_device)
    zeros.scatter(0, Tensor.from_data(indices, gpu_device), Tensor.ones((65_600,), gpu_device))
    with pytest.raises(Exception, match="index 5 was given to"):
        gpu_device.sync()


@pytest.mark.parametrize("index", [0, 1, -1])
def test_the_index_of_the_largest_in_long_lines(gpu_device: Any, length: int, index: int):
    """Also the first of two equals, the second of which a later call sees; and NaN counts as the largest."""
    values = np.zeros((2, length), "float32")
    values[0, index] = 1
    values[0, -1] = max(values[0, -1], values[0, index])
    values[1, index] = np.nan
    tensor = Tensor.from_data(values, gpu_device)
    for found in (tensor.argmax(1), tensor.transpose().argmax(0)):
        assert found.to_numpy().ravel().tolist() == values.argmax(1).tolist()
    assert (-tensor[0:1]).argmin(1).to_numpy().ravel().tolist() == (-values[0:1]).argmin(1).tolist()


def test_long_sums_of_products_do_not_lose_their_digits(gpu_device: Any):
    """In one go, rounding errors add up here to 5e-4."""
    length = 60_000
    product = Tensor.full((1, length), 0.1, gpu_device) @ Tensor.full((length, 1), 0.1, gpu_device)
    exact = length * float(np.float32(0.1)) ** 2
    assert abs(product.into_scalar() - exact) / exact < 5e-5


KNOWN_LOOPS = {
    "k < params.length": "scatter: a part of the indices; add_windows: a part of the places in a window",
    "k < params.after": "argmax and argmin: a stretch of a line",
    "k < after": "reductions: a chunk",
    "j < end": "reductions: a group of 8 in a chunk",
    "k < params.k": "matmul: the terms of a sum",
    "first_k < params.k": "matmul: its tiles",
    "k < DEPTH": "matmul: a tile",
    "i < ROWS * DEPTH": "matmul: filling a tile",
    "i < DEPTH * COLUMNS": "matmul: filling a tile",
}


@pytest.mark.parametrize("operation", sorted([*OPERATIONS, "random"]))
def test_every_loop_has_a_known_end(operation: str):
    """A new loop must be thought about: how many turns can it take? Those up to a number need no entry."""
    try:
        text = Wgpu.wgsl(operation)
    except BackendMismatch:
        return
    ends = re.findall(r"for \([^;]*; ([^;]*);", text)
    assert all(end in KNOWN_LOOPS or re.fullmatch(r"\w+ (<=?|>) [\d.]+u?", end) for end in ends), ends
