"""The matrix product, with the tilings of a GPU and of a driver on the CPU, against NumPy in float64.

The bound is that of a sum of k products in any order: k + 2 rounding steps of the sum of their sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import AnyTensor, Values
from tinyburn import Tensor, Wgpu
from tinyburn.backend.wgpu.kernel import MAX_GROUPS
from tinyburn.backend.wgpu.matmul import Tiling, choose_tiling, dispatches
from tinyburn.base.shape import broadcast_shape

SIDES = (1, 2, 7, 16, 17, 63, 64, 65, 129, 257)
SHAPES = [(m, k, n) for index, m in enumerate(SIDES) for k, n in ((SIDES[-1 - index], 17), (9, SIDES[-1 - index]))]
rng = np.random.default_rng(11)


@pytest.fixture(params=[True, False], ids=["workgroup memory", "no workgroup memory"])
def device(request: pytest.FixtureRequest, gpu_device: Any) -> Iterator[Any]:
    """A device with the tilings of one kind of driver, whatever it is itself."""
    gpu = gpu_device.gpu
    before, gpu.is_software = gpu.is_software, not request.param
    yield gpu_device
    gpu.is_software = before


def check(a: AnyTensor, b: AnyTensor) -> None:
    x, y = a.to_numpy().astype(float), b.to_numpy().astype(float)
    bound = (x.shape[-1] + 2) * 2.0**-24 * (np.abs(x) @ np.abs(y))
    assert (np.abs((a @ b).to_numpy() - x @ y) <= bound + 1e-30).all()


def draw(*shape: int) -> Values:
    return rng.uniform(-1, 1, shape).astype("float32")


@pytest.mark.parametrize(("m", "k", "n"), SHAPES)
def test_any_size_and_either_operand_transposed(device: Any, m: int, k: int, n: int):
    check(Tensor.from_data(draw(m, k), device), Tensor.from_data(draw(k, n), device))
    check(Tensor.from_data(draw(k, m), device).transpose(), Tensor.from_data(draw(k, n), device))
    check(Tensor.from_data(draw(m, k), device), Tensor.from_data(draw(n, k), device).transpose())


def test_operands_with_gaps_and_repeats(device: Any):
    large = Tensor.from_data(draw(90, 150), device)
    check(large[5:90:2, 3:150:3], large[1:50, 30:101])
    check(large[0:1].expand((70, 150)), Tensor.from_data(draw(1, 40), device).expand((150, 40)))


@pytest.mark.parametrize(
    ("a_batch", "b_batch"),
    [((3,), (3,)), ((3,), (1,)), ((2, 1), (1, 3)), ((2, 1, 2, 1), (1, 3, 1, 2)), ((1, 5), (1, 5))],
)
def test_batches_broadcast(device: Any, a_batch: tuple[int, ...], b_batch: tuple[int, ...]):
    a, b = Tensor.from_data(draw(*a_batch, 17, 9), device), Tensor.from_data(draw(*b_batch, 9, 20), device)
    assert (a @ b).shape == (*broadcast_shape(a_batch, b_batch), 17, 20)
    check(a, b)


@pytest.mark.parametrize("size", [5, 64, 70])
def test_inf_and_nan_stay_in_their_row(device: Any, size: int):
    """The edge of a tile is filled up with zeros, and 0 * inf would be NaN."""
    x, y = np.ones((size, size), "float32"), np.ones((size, size), "float32")
    x[0, -1], x[-1, 0] = np.inf, np.nan
    found = (Tensor.from_data(x, device) @ Tensor.from_data(y, device)).to_numpy()
    assert np.isinf(found[0]).all()
    assert np.isnan(found[-1]).all()
    assert (found[1:-1] == size).all()


def test_int32_is_exact_and_wraps_as_numpys(device: Any):
    x = rng.integers(-(2**31), 2**31, (33, 20)).astype("int32")
    found = (Tensor.from_data(x, device) @ Tensor.from_data(x.T.copy(), device)).to_numpy()
    assert (found == x @ x.T).all()


@given(st.integers(1, 300), st.integers(1, 300), st.booleans())
def test_the_tiles_cover_the_result_once(m: int, n: int, memory: bool):
    tiling = choose_tiling(m, n, memory)
    (one,) = dispatches(tiling, m, n, 1)
    across, down, _ = one.workgroups
    assert 0 <= across * tiling.columns - n < tiling.columns
    assert 0 <= down * tiling.rows - m < tiling.rows
    assert tiling.threads[0] * tiling.threads[1] <= 256  # WebGPU's limit for a workgroup
    shared = 4 * tiling.depth * (tiling.rows + tiling.columns + 2)
    assert shared <= 16_384  # and for its memory, in bytes


def test_more_workgroups_than_a_dimension_has_take_several_calls():
    calls = dispatches(Tiling(16, 16, 0, 2, 2), 16 * MAX_GROUPS + 1, 40, 70_000)
    assert [call.starts for call in calls] == [
        (0, 0, 0),
        (0, 0, MAX_GROUPS),
        (16 * MAX_GROUPS, 0, 0),
        (16 * MAX_GROUPS, 0, MAX_GROUPS),
    ]
    assert calls[-1].workgroups == (3, 1, 70_000 - MAX_GROUPS)


def test_more_matrices_than_a_dimension_has_workgroups(gpu_device: Any):
    ones = Tensor.ones((70_000, 1, 2), gpu_device)
    product = ones @ Tensor.ones((1, 2, 1), gpu_device)
    assert (product.to_numpy() == 2).all()


def test_the_kernel_for_reading_is_the_one_with_workgroup_memory():
    assert "workgroupBarrier" in Wgpu.wgsl("matmul")
