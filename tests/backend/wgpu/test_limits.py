"""What WebGPU limits: the bytes of one binding, the workgroups of one dimension. Expected values are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import AnyTensor, assert_close
from tinyburn import Distribution, OutOfMemory, Tensor
from tinyburn.backend.wgpu.kernel import MAX_GROUPS, THREADS, grid

SMALL = 16 * 1024
"""Bytes of one binding in these tests, in place of 128 MiB or more: a kernel sees a part of each operand only."""

_rng = np.random.default_rng(8)
A = _rng.uniform(-1, 1, (300, 200)).astype("float32")
B = _rng.uniform(-1, 1, (200, 150)).astype("float32")
ROW = _rng.uniform(-1, 1, (1, 200)).astype("float32")

CASES: dict[str, tuple[Callable[..., AnyTensor], Callable[..., Any]]] = {
    "add": (lambda a, b, row: a + a, lambda a, b, row: a + a),
    "broadcast": (lambda a, b, row: a + row, lambda a, b, row: a + row),
    "transposed": (lambda a, b, row: a.transpose() * 2.0, lambda a, b, row: a.T * 2),
    "slice": (lambda a, b, row: a[1:300:3, 5:190] + 1.0, lambda a, b, row: a[1:300:3, 5:190] + 1),
    "reshape": (lambda a, b, row: a.transpose().reshape((300, 200)), lambda a, b, row: a.T.reshape(300, 200)),
    "assign": (lambda a, b, row: a.slice_assign(slice(7, 8), row), lambda a, b, row: np.r_[a[:7], row, a[8:]]),
    "matmul": (lambda a, b, row: a @ b, lambda a, b, row: a @ b),
    "matmul of transposed": (lambda a, b, row: b.transpose() @ a.transpose(), lambda a, b, row: b.T @ a.T),
    "matmul of flipped": (lambda a, b, row: a[::-1] @ b[:, ::-1], lambda a, b, row: a[::-1] @ b[:, ::-1]),
    "long inner dim": (
        lambda a, b, row: a.reshape((1, 60_000)) @ a.reshape((60_000, 1)),
        lambda a, b, row: np.array([[np.dot(a.ravel().astype(float), a.ravel().astype(float))]]),
    ),
    "a batch of batches": (
        lambda a, b, row: a.reshape((2, 6, 50, 100)) @ b.reshape((1, 6, 100, 50)),
        lambda a, b, row: a.reshape(2, 6, 50, 100) @ b.reshape(1, 6, 100, 50),
    ),
    "sum of rows": (lambda a, b, row: a.sum_dim(1), lambda a, b, row: a.sum(1, keepdims=True)),
    "sum of columns": (lambda a, b, row: a.sum_dim(0), lambda a, b, row: a.sum(0, keepdims=True)),
    "mean": (lambda a, b, row: a.mean(), lambda a, b, row: a.mean(dtype=float).reshape(1)),
    "argmax": (lambda a, b, row: a.argmax(1), lambda a, b, row: a.argmax(1)[:, np.newaxis]),
    "sum into many": (
        lambda a, b, row: row.expand((3, 200)).unsqueeze_dim(2).expand((3, 200, 30)).sum_dim(0),
        lambda a, b, row: np.broadcast_to(3 * row[:, :, np.newaxis], (1, 200, 30)),
    ),
    "max": (lambda a, b, row: a.max(), lambda a, b, row: a.max().reshape(1)),
    "flip": (lambda a, b, row: a.flip((0,)) + a[:, ::-1], lambda a, b, row: a[::-1] + a[:, ::-1]),
    "sum of a flip": (
        lambda a, b, row: a.flip((0, 1)).sum_dim(0),
        lambda a, b, row: a[::-1, ::-1].sum(0, keepdims=True),
    ),
    "cat": (lambda a, b, row: Tensor.cat([a.flip((1,)), row], 0), lambda a, b, row: np.r_[a[:, ::-1], row]),
    "mask": (lambda a, b, row: a.mask_fill(a > 0, 0), lambda a, b, row: np.minimum(a, 0)),
}


@pytest.mark.parametrize("name", CASES)
def test_operands_larger_than_a_binding_are_computed_in_parts(gpu_device: Any, name: str):
    mine, numpys = CASES[name]
    tensors = [Tensor.from_data(values, gpu_device) for values in (A, B, ROW)]
    gpu_device.gpu.max_binding_bytes = SMALL
    found = mine(*tensors).to_numpy()
    np.testing.assert_allclose(found, numpys(A, B, ROW), rtol=2e-5, atol=2e-5)  # sums of up to 60 000 products


def test_a_part_by_part_draw_is_the_same_draw(gpu_device: Any):
    draws = []
    for limit in (2**27, SMALL):
        gpu_device.gpu.max_binding_bytes = limit
        gpu_device.seed(4)
        draws.append(Tensor.random((100, 300), Distribution.Normal(0, 1), gpu_device).to_numpy())
    assert draws[0].tobytes() == draws[1].tobytes()


def test_what_must_see_all_of_a_tensor_says_what_to_do(gpu_device: Any):
    a = Tensor.from_data(A, gpu_device)
    indices = Tensor.from_data(np.array([1, 2], "int32"), gpu_device)
    gpu_device.gpu.max_binding_bytes = SMALL
    for operation in (lambda: a.select(0, indices), lambda: a.reshape((60_000,)).argmax(0)):
        with pytest.raises(OutOfMemory, match=r"sees at most 16 384 B of one tensor\n  hint: split the tensor"):
            operation()


def test_a_tensor_beyond_the_real_limit(gpu_device: Any):
    """256 MiB; lavapipe binds 128 MiB at a time. Sums of ones are exact, up to 2^24 in each part of a sum."""
    ones = Tensor.ones((1 << 26,), gpu_device)
    changed = (ones + 1.0).slice_assign(slice(5, 6), Tensor.zeros((1,), gpu_device))
    assert changed.sum().into_scalar() == 2**27 - 2 or changed.sum().into_scalar() == 2**27  # float32 near 2^27
    assert changed[4:7].to_numpy().tolist() == [2, 0, 2]
    assert changed[(1 << 26) - 2 :].to_numpy().tolist() == [2, 2]


@pytest.mark.parametrize("threads", [1, THREADS, THREADS + 1, THREADS * MAX_GROUPS, THREADS * MAX_GROUPS + 1, 2**31])
def test_a_grid_has_room_for_all_threads_and_little_more(threads: int):
    across, down, _ = grid(threads)
    assert across <= MAX_GROUPS
    assert down <= MAX_GROUPS
    assert threads <= across * down * THREADS < threads + THREADS * (down + 1)


def test_more_workgroups_than_one_dimension_has(gpu_device: Any):
    """9 million elements that are read by strides, one a thread: 70 313 workgroups."""
    x = Tensor.from_data(np.arange(9_000_000, dtype="float32").reshape(3000, 3000), gpu_device)
    total = x.transpose() + 0.0
    assert_close(total[2998:3000, 0:3].to_numpy(), np.array([[2998, 5998, 8998], [2999, 5999, 8999]], "float32"))
