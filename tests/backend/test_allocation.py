"""Promises about memory: an operation allocates its result and nothing else, and nothing aliases what a user holds.

The truth here is ``tracemalloc``, which NumPy reports its buffers to.
"""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import const
from tinyburn import Device, Distribution, DType, NdArray, Tensor
from tinyburn.backend.operations import OPERATIONS

SIDE = 300
SLACK = 12_000
"""Bytes for Python's own objects: far less than one row of the arrays below times their rows (720 000 bytes)."""
NUMPY_BUFFERS = 3 * 8192 * 8
"""What NumPy itself works through at a time where an operand is not row-major: 8192 elements of each, at any size."""
PLACES = 2 * 16_384 * 8
"""What finding elements by indices takes at a time, at any size: the places of a piece, and what NumPy works through
there."""
PARTIAL_SUMS = (SIDE // 32 + 2) * SIDE * 8
"""What a long sum takes along a dim that is not innermost: the sums of its blocks of 32."""

BUFFERS_OFTEN = np.lib.NumpyVersion(np.__version__) < "2.3.0"
"""Before 2.3 NumPy took its buffers for each reduction, and for a comparison into an array."""

DEVICE = NdArray.device(float_dtype="float64")
A = np.random.default_rng(3).uniform(0.5, 1.5, (SIDE, SIDE))
B = A[::-1].copy()
MASK = A > 1
ROW = A[0].copy()
ROWS = np.arange(SIDE)[::-1].copy()
INDICES = np.tile(ROWS, (SIDE, 1))
WINDOWS = np.random.default_rng(4).uniform(0.5, 1.5, (SIDE, SIDE - 2, 3))
PART = (slice(0, SIDE, 2), slice(0, SIDE, 1))
REST = (slice(1, SIDE, 2), slice(0, SIDE, 1))

CALLS: dict[str, Callable[[], Any]] = {
    "powf_scalar": lambda: NdArray.powf_scalar(A, 1.5),
    "linear": lambda: NdArray.linear(A, B, ROW),
    "mask_where": lambda: NdArray.mask_where(A, MASK, B),
    "bool_not": lambda: NdArray.bool_not(MASK),
    "cast": lambda: NdArray.cast(A, DType.FLOAT32),
    "sum_dims": lambda: NdArray.sum_dims(A, (0,)),
    "mean_dims": lambda: NdArray.mean_dims(A, (1,)),
    "max_dims": lambda: NdArray.max_dims(A, (0,)),
    "min_dims": lambda: NdArray.min_dims(A, (0, 1)),
    "argmax": lambda: NdArray.argmax(A, 1, DType.INT64),
    "argmin": lambda: NdArray.argmin(A, 1, DType.INT64),
    **{name: lambda name=name: getattr(NdArray, name)(A, 0) for name in ("cumsum", "cumprod", "cummax", "cummin")},
    "logcumsumexp": lambda: NdArray.logcumsumexp(A, 1),
    "argsort": lambda: NdArray.argsort(A, 0, False, DType.INT64),
    "reshape": lambda: NdArray.reshape(A.T, (SIDE * SIDE,)),
    "permute": lambda: NdArray.permute(A, (1, 0)),
    "expand": lambda: NdArray.expand(A[:1], (SIDE, SIDE)),
    "slice": lambda: NdArray.slice(A, PART),
    "flip": lambda: NdArray.flip(A, (0, 1)),
    "cat": lambda: NdArray.cat((PART, REST), A[: SIDE // 2], B[: SIDE // 2]),
    "unfold": lambda: NdArray.unfold(A, 1, 3, 2, 1),
    "add_windows": lambda: NdArray.add_windows(WINDOWS, 1, SIDE, 1, 1),
    "slice_assign": lambda: NdArray.slice_assign(A, PART, B[: SIDE // 2]),
    "gather": lambda: NdArray.gather(A, 1, INDICES),
    "scatter": lambda: NdArray.scatter(A, 1, INDICES, B),
    "select": lambda: NdArray.select(A, 0, ROWS),
    "select_assign": lambda: NdArray.select_assign(A, 0, ROWS, B),
}
NUMBERS: dict[str, tuple[float, ...]] = {
    **{"scaled_mul": (1.5,), "add_scaled": (1.5,), "leaky_relu": (0.1,), "leaky_relu_backward": (-0.1,)},
    **{"clamp": (0.9, 1.1), "clamp_backward": (0.9, 1.1)},
    **{"weighted_sum": (0.5, 3.0), "weighted_square_sum": (0.5, 3.0), "adaptive_sum": (0.5, 3.0, 0.1)},
}
"""What an operation takes after its tensors, where it has no call of its own above."""


def extra_bytes(call: Callable[[], Any]) -> int:
    """The most memory that a call used beyond what its result keeps."""
    call()  # whatever NumPy sets up once
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        result = call()
        _, peak = tracemalloc.get_traced_memory()
        kept = 0 if result.base is not None and result.base is not result else result.nbytes
        return peak - before - kept
    finally:
        tracemalloc.stop()


def _call(name: str, a: Any, b: Any) -> Callable[[], Any]:
    if name in CALLS:
        return CALLS[name]
    operands = (a, b, b)[: len(OPERATIONS[name].tensors)]
    return lambda: getattr(NdArray, name)(*operands, *NUMBERS.get(name, ()))


NATIVE = [name for name in OPERATIONS if not NdArray.composes(name)]


@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("layout", ["row-major", "column-major"])
def test_an_operation_allocates_only_its_result(name: str, layout: str) -> None:
    allowed = SLACK + (PARTIAL_SUMS if name in ("sum_dims", "mean_dims") else 0)
    if name in ("gather", "scatter", "select_assign"):
        allowed += PLACES
    if layout == "row-major" and name not in ("linear", "add_windows") and not (BUFFERS_OFTEN and "_dims" in name):
        assert extra_bytes(_call(name, A, B)) < allowed
    else:
        assert extra_bytes(_call(name, A.T, B.T)) < allowed + NUMPY_BUFFERS


@pytest.mark.parametrize(
    "distribution", [Distribution.Normal(1, 2), Distribution.Uniform(-1, 1), Distribution.Bernoulli(0.3)], ids=repr
)
def test_random_draws_into_its_result(distribution: Any) -> None:
    for dtype in (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64):
        call = lambda dtype=dtype: NdArray.random((SIDE, SIDE), distribution, dtype, DEVICE)  # noqa: E731
        assert extra_bytes(call) < SLACK + NUMPY_BUFFERS * BUFFERS_OFTEN


def test_what_comes_in_is_copied(device: Device[Any]) -> None:
    mine = np.array([1.0, 2.0, 3.0], dtype=str(device.float_dtype))
    tensor = Tensor.from_data(mine, device)
    mine[0] = 99
    assert tensor.to_numpy().tolist() == [1, 2, 3]


def test_what_goes_out_is_a_copy_or_read_only(device: Device[Any]) -> None:
    tensor = const([1.0, 2.0, 3.0], device)
    ways = [np.asarray, np.from_dlpack] if device.backend.on_host else []
    for taken in (tensor.to_numpy(), *(convert(tensor) for convert in ways)):
        if taken.flags.writeable:
            taken[0] = 99
    assert not tensor.into_data().values.flags.writeable
    assert tensor.to_numpy().tolist() == [1, 2, 3]


def test_a_view_stays_right_when_its_source_is_gone(device: Device[Any]) -> None:
    """Also when a new tensor could be given the memory of the old."""
    source = const(np.arange(6.0).reshape(2, 3), device)
    view = source.transpose()[1:2]
    del source
    other = const(np.full((2, 3), 99.0), device)
    assert view.to_numpy().tolist() == [[1.0, 4.0]]
    assert (other.to_numpy() == 99).all()


def test_full_and_random_have_their_shape_and_dtype() -> None:
    for dtype in ("float16", "float32", "float64"):
        assert Tensor.full((2, 3), math.pi, DEVICE, dtype).dtype == dtype
        drawn = Tensor.random((2, 3), Distribution.Normal(0, 1), DEVICE, dtype)
        assert (drawn.shape, drawn.dtype) == ((2, 3), dtype)
