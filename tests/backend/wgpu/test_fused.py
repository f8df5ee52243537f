"""Fused operations against what the interface composes, part by part, on NdArray in float32; and what they allocate."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tests.backend.layouts import LAYOUTS
from tests.support import Values
from tinyburn import NdArray, Wgpu
from tinyburn.backend import Backend
from tinyburn.backend.operations import OPERATIONS

FUSED = [name for name, operation in OPERATIONS.items() if operation.fused and operation.elementwise]

NUMBERS: dict[str, tuple[float, ...]] = {
    "clamp": (-0.5, 0.75),
    "clamp_backward": (-0.5, 0.75),
    "leaky_relu": (0.01,),
    "leaky_relu_backward": (0.01,),
    "add_scaled": (-0.3,),
    "weighted_sum": (0.5, -0.3),
    "weighted_square_sum": (0.5, -0.3),
    "adaptive_sum": (0.5, -0.3, 0.1),
}
"""What an operation takes after its tensors."""

SUBTRACTS = (
    "gelu",
    "gelu_backward",
    "silu_backward",
    "add_scaled",
    "weighted_sum",
    "weighted_square_sum",
    "adaptive_sum",
)
"""Where a result can be the small difference of two numbers as large as the operands, and has their rounding errors."""

ROUNDING = 2e-6
"""Of one result, as a share of it: the functions of WGSL may be some units in the last place off, as NumPy's."""
SMALL = 1e-36
"""What is closer to 0 may be 0: a GPU need not have denormal numbers, and these are their products with 100."""

SPECIAL = np.array([0.0, 0.5, 1.0, 3.0, 10.0, 80.0, 90.0, 200.0, 1e20, 3e38, 1e-30, np.inf, np.nan], "float32")
SPECIAL = np.concatenate([SPECIAL, -SPECIAL])

_rng = np.random.default_rng(21)


class Composed(NdArray):
    """NdArray without its own way for anything that the interface composes."""


for _name, _operation in OPERATIONS.items():
    if _operation.is_default:
        setattr(Composed, _name, inspect.getattr_static(Backend, _name))


def draw(*shape: int) -> Values:
    return _rng.normal(0, 3, shape).astype("float32")


def assert_as_composed(device: Any, name: str, *arguments: Any, layout: str = "contiguous") -> None:
    primitives = [LAYOUTS[layout](x, device) if isinstance(x, np.ndarray) else x for x in arguments]
    found = Wgpu.to_numpy(getattr(Wgpu, name)(*primitives))
    wanted = getattr(Composed, name)(*arguments)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    allowed: Any = SMALL
    if name in SUBTRACTS:
        sizes = [np.abs(np.nan_to_num(x, posinf=0, neginf=0)) for x in arguments if isinstance(x, np.ndarray)]
        allowed = np.maximum(SMALL, ROUNDING * np.maximum.reduce(np.broadcast_arrays(*sizes)))
    apart = ~np.isclose(found, wanted, rtol=ROUNDING, atol=allowed, equal_nan=True)
    np.testing.assert_array_equal(found[apart], wanted[apart])


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_as_composed_in_every_layout(gpu_device: Any, name: str, layout: str) -> None:
    operands = [draw(6, 8) for _ in OPERATIONS[name].tensors]
    assert_as_composed(gpu_device, name, *operands, *NUMBERS.get(name, ()), layout=layout)


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_as_composed_for_zeros_infinities_nan_and_extremes(gpu_device: Any, name: str) -> None:
    """Each of them, and for two operands each with each. To double a difference of the largest is inf in one order of
    the products, and not in the other."""
    values = SPECIAL[np.abs(SPECIAL) != np.float32(3e38)] if name == "squared_difference_backward" else SPECIAL
    pairs = [np.repeat(values, values.size), np.tile(values, values.size)]
    count = len(OPERATIONS[name].tensors)
    operands = [SPECIAL] if count == 1 else [*pairs, pairs[0]][:count]
    assert_as_composed(gpu_device, name, *operands, *NUMBERS.get(name, ()))


@pytest.mark.parametrize("numbers", [(1.0, -1.0), (-np.inf, np.inf), (np.nan, 1.0), (0.0, 1e39)])
def test_clamp_by_unusual_bounds(gpu_device: Any, numbers: tuple[float, float]) -> None:
    assert_as_composed(gpu_device, "clamp", SPECIAL, *numbers)
    with np.errstate(all="ignore"):
        assert_as_composed(gpu_device, "clamp_backward", SPECIAL[::-1].copy(), SPECIAL, *numbers)


def test_whole_numbers_are_clamped_and_added_too(gpu_device: Any) -> None:
    values = _rng.integers(-10, 10, (3, 7)).astype("int32")
    assert_as_composed(gpu_device, "clamp", values, -2, 5)
    assert_as_composed(gpu_device, "add_scaled", values, values[::-1].copy(), 3)


def test_operands_broadcast_and_may_be_numbers(gpu_device: Any) -> None:
    assert_as_composed(gpu_device, "add_scaled", draw(5, 8), draw(1, 8), 0.5)
    assert_as_composed(gpu_device, "add_scaled", draw(1, 7), draw(5, 1), 0.5)
    assert_as_composed(gpu_device, "tanh_backward", 2.0, draw(5, 8))


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("side", [8, 7], ids=["packed", "strided"])
def test_a_result_is_the_only_new_buffer(gpu_device: Any, name: str, side: int) -> None:
    operands = [gpu_device.backend.from_numpy(draw(5, side), gpu_device) for _ in OPERATIONS[name].tensors]
    assert_only_the_result_is_new(gpu_device, name, *operands, *NUMBERS.get(name, ()))


def assert_only_the_result_is_new(device: Any, name: str, *arguments: Any) -> None:
    before, created = device.memory_usage(), device.gpu.pool.created
    result = getattr(Wgpu, name)(*arguments)
    after = device.memory_usage()
    assert after.number_allocs - before.number_allocs == 1
    assert after.bytes_in_use - before.bytes_in_use == result.size * result.dtype.itemsize
    assert device.gpu.pool.created - created <= 1  # it may come from a shelf


# A linear layer

LINEAR = [(1, 3, 4), (5, 1, 1), (5, 7, 3), (20, 9, 64), (65, 33, 17), (3, 0, 4), (0, 3, 4), (4, 3, 0)]
"""Rows, features that come in, features that go out."""


@pytest.mark.parametrize("batch", [(), (3,), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("sizes", LINEAR, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_linear_has_the_bits_of_its_parts(
    gpu_device: Any, batch: tuple[int, ...], sizes: tuple[int, int, int], layout: str
) -> None:
    rows, width, out = sizes
    values = draw(*batch, rows, width), draw(width, out), draw(out)
    a, weight, bias = (LAYOUTS[layout](x, gpu_device) for x in values)
    found = Wgpu.linear(a, weight, bias)
    ones = (1,) * (1 + len(batch))
    product = Wgpu.matmul(a, Wgpu.reshape(weight, (*ones[1:], width, out)))
    wanted = Wgpu.to_numpy(Wgpu.add(product, Wgpu.reshape(bias, (*ones, out))))
    assert found.shape == (*batch, rows, out)
    assert found.is_contiguous
    assert Wgpu.to_numpy(found).tobytes() == wanted.tobytes()
    np.testing.assert_allclose(wanted, values[0] @ values[1] + values[2], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_linear_allocates_its_result_alone(gpu_device: Any, layout: str) -> None:
    a, weight, bias = (LAYOUTS[layout](draw(*shape), gpu_device) for shape in ((2, 5, 8), (8, 3), (3,)))
    assert_only_the_result_is_new(gpu_device, "linear", a, weight, bias)


def test_linear_of_long_sums_and_whole_numbers(gpu_device: Any) -> None:
    """A sum of more terms than one call adds up, and the bias only once."""
    ones = [gpu_device.backend.full(shape, 1, dtype, gpu_device) for shape, dtype in LONG]
    assert (Wgpu.to_numpy(Wgpu.linear(*ones[:3])) == 10_001).all()
    assert (Wgpu.to_numpy(Wgpu.linear(*ones[3:])) == 10_001).all()


LONG = [(shape, dtype) for dtype in ("float32", "int32") for shape in ((3, 10_000), (10_000, 5), (5,))]


def test_linear_of_operands_larger_than_a_binding(gpu_device: Any) -> None:
    values = draw(2, 150, 200), draw(200, 150), draw(150)
    a, weight, bias = (Wgpu.from_numpy(x, gpu_device) for x in values)
    gpu_device.gpu.max_binding_bytes = 16 * 1024
    found = Wgpu.to_numpy(Wgpu.linear(a, weight, bias))
    np.testing.assert_allclose(found, values[0] @ values[1] + values[2], rtol=1e-4, atol=1e-3)
