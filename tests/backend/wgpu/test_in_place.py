"""`into` on Wgpu: the bits of the operation itself, in the buffer of the target, and no new buffer for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.backend.layouts import LAYOUTS
from tests.backend.wgpu.test_fused import NUMBERS
from tests.support import Values
from tinyburn import Wgpu
from tinyburn.backend.operations import OPERATIONS

IN_PLACE = [
    name
    for name, operation in OPERATIONS.items()
    if operation.in_place and operation.elementwise and len(operation.tensors) > 1
]

SHAPES = [(8,), (1,), (7,), (1024,), (5, 8), (5, 7), (3, 1, 6), (2, 3, 4, 5), (129, 257)]
"""Some for the packed kernel, and some with a last dim or a size that are no multiple of its four elements."""

_rng = np.random.default_rng(22)


REST = {**NUMBERS, "squared_difference_backward": (0.5,), "adaptive_sum": (0.5, *NUMBERS["adaptive_sum"])}
"""What follows the two operands that these tests are about."""


def draw(shape: tuple[int, ...]) -> Values:
    """With zeros, infinities and NaN among them."""
    values = _rng.normal(0, 2, shape).astype("float32")
    values.flat[::11] = 0
    values.flat[5::97] = np.inf
    values.flat[9::89] = np.nan
    return values


def assert_in_place(device: Any, target: Any, name: str, *arguments: Any) -> None:
    """The result of `into` is the target, with the bits of a new result; nothing is allocated, no other is changed."""
    wanted = Wgpu.to_numpy(getattr(Wgpu, name)(*arguments))
    others = [x for x in arguments if hasattr(x, "storage") and x.storage is not target.storage]
    before = [Wgpu.to_numpy(x).tobytes() for x in others]
    usage = device.memory_usage()
    result = Wgpu.into(target, name, *arguments)
    assert device.memory_usage() == usage
    assert Wgpu.shares_buffer(result, target)
    assert result.shape == wanted.shape
    assert Wgpu.to_numpy(result).tobytes() == wanted.tobytes()
    assert [Wgpu.to_numpy(x).tobytes() for x in others] == before


def assert_new(target: Any, name: str, *arguments: Any) -> None:
    """Where the target cannot be had, the result is a new buffer, and the target is left alone."""
    wanted = Wgpu.to_numpy(getattr(Wgpu, name)(*arguments))
    before = Wgpu.to_numpy(target).tobytes()
    result = Wgpu.into(target, name, *arguments)
    assert not Wgpu.shares_buffer(result, target)
    assert Wgpu.to_numpy(result).tobytes() == wanted.tobytes()
    assert Wgpu.to_numpy(target).tobytes() == before


@pytest.mark.parametrize("which", [0, 1, 2], ids=["first", "second", "stranger"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", IN_PLACE)
def test_each_operation_into_each_operand_and_a_stranger(
    gpu_device: Any, name: str, shape: tuple[int, ...], which: int
) -> None:
    arrays = [Wgpu.from_numpy(draw(shape), gpu_device) for _ in range(3)]
    assert_in_place(gpu_device, arrays[which], name, *arrays[:2], *REST.get(name, ()))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", IN_PLACE)
def test_the_other_operand_may_lie_in_any_way(gpu_device: Any, name: str, layout: str) -> None:
    for shape in ((6, 8), (5, 7)):
        for which in (0, 1):
            arrays = [LAYOUTS["contiguous" if at == which else layout](draw(shape), gpu_device) for at in (0, 1)]
            assert_in_place(gpu_device, arrays[which], name, *arrays, *REST.get(name, ()))


@pytest.mark.parametrize("shape", [(1, 8), (6, 1), (1, 1)], ids=str)
@pytest.mark.parametrize("name", IN_PLACE)
def test_the_other_operand_may_be_broadcast(gpu_device: Any, name: str, shape: tuple[int, int]) -> None:
    large, small = (Wgpu.from_numpy(draw(each), gpu_device) for each in ((6, 8), shape))
    assert_in_place(gpu_device, large, name, large, small, *REST.get(name, ()))
    assert_in_place(gpu_device, large, name, small, large, *REST.get(name, ()))


def test_an_operation_of_one_operand(gpu_device: Any) -> None:
    for shape in SHAPES:
        for which in (0, 1):
            arrays = [Wgpu.from_numpy(draw(shape), gpu_device) for _ in range(2)]
            assert_in_place(gpu_device, arrays[which], "exp", arrays[0])


SIMPLER = ("sub", "weighted_sum", "weighted_square_sum", "adaptive_sum")
"""Of one array twice, a compiler may take out the common factor where it sees that it is one, and takes ``a - a`` for
0, also of inf. The bits differ then."""


@pytest.mark.parametrize("name", [name for name in IN_PLACE if name not in SIMPLER])
def test_one_array_may_be_both_operands_and_the_target(gpu_device: Any, name: str) -> None:
    for shape in ((6, 8), (5, 7)):
        a = Wgpu.from_numpy(draw(shape), gpu_device)
        assert_in_place(gpu_device, a, name, a, a, *REST.get(name, ()))


def test_an_operand_may_be_a_number(gpu_device: Any) -> None:
    a = Wgpu.from_numpy(draw((5, 8)), gpu_device)
    assert_in_place(gpu_device, a, "add", a, 2.0)
    assert_in_place(gpu_device, a, "multiply_no_nan", 2.0, a)


def test_another_view_of_the_same_elements_is_the_target_too(gpu_device: Any) -> None:
    """A dim of size 1 has a stride that nobody walks."""
    a = Wgpu.from_numpy(draw((1, 6)), gpu_device)
    column = Wgpu.reshape(a, (6, 1))
    assert_in_place(gpu_device, column, "add", Wgpu.permute(a, (1, 0)), column)


def test_whole_numbers(gpu_device: Any) -> None:
    a, b = (Wgpu.from_numpy(_rng.integers(-9, 9, (5, 7)).astype("int32"), gpu_device) for _ in range(2))
    assert_in_place(gpu_device, a, "add", a, b)
    assert_in_place(gpu_device, b, "add_scaled", a, b, 3)


def test_a_part_of_a_buffer_is_written_and_the_rest_left_alone(gpu_device: Any) -> None:
    """Rows in the middle lie in row-major order too."""
    values = draw((9, 8))
    whole = Wgpu.from_numpy(values, gpu_device)
    rows = Wgpu.slice(whole, (slice(3, 6, 1), slice(0, 8, 1)))
    assert_in_place(gpu_device, rows, "add", rows, Wgpu.from_numpy(draw((3, 8)), gpu_device))
    after = Wgpu.to_numpy(whole)
    for part in (slice(0, 3), slice(6, 9)):
        assert after[part].tobytes() == values[part].tobytes()


def test_nothing_at_all_takes_the_place_of_nothing(gpu_device: Any) -> None:
    a, b = (Wgpu.from_numpy(draw((0, 4)), gpu_device) for _ in range(2))
    assert_in_place(gpu_device, a, "add", a, b)


UNFIT: dict[str, Callable[[Any], Any]] = {
    "another shape": lambda device: Wgpu.from_numpy(draw((6, 6)), device),
    "fewer elements, which are broadcast": lambda device: Wgpu.from_numpy(draw((1, 6)), device),
    "another dtype": lambda device: Wgpu.from_numpy(np.ones((4, 6), "int32"), device),
    "another order": lambda device: LAYOUTS["permuted"](draw((4, 6)), device),
    "gaps": lambda device: LAYOUTS["sliced"](draw((4, 6)), device),
    "a repeated row": lambda device: Wgpu.expand(Wgpu.from_numpy(draw((1, 6)), device), (4, 6)),
}


@pytest.mark.parametrize("why", UNFIT)
def test_a_target_that_does_not_fit_is_left_alone(gpu_device: Any, why: str) -> None:
    a, b = (Wgpu.from_numpy(draw((4, 6)), gpu_device) for _ in range(2))
    assert_new(UNFIT[why](gpu_device), "add", a, b)


def test_an_operation_that_is_not_declared_in_place_makes_a_new_buffer(gpu_device: Any) -> None:
    a, b = (Wgpu.from_numpy(draw((4, 6)), gpu_device) for _ in range(2))
    assert_new(a, "maximum", a, b)


def test_another_view_of_the_target_among_the_operands_is_never_overwritten(gpu_device: Any) -> None:
    """Nobody asks for that, since nobody else sees the target. But threads would overtake each other."""
    a = Wgpu.from_numpy(draw((8, 8)), gpu_device)
    for view in (Wgpu.permute(a, (1, 0)), Wgpu.flip(a, (0,)), Wgpu.slice(a, (slice(0, 1, 1), slice(0, 8, 1)))):
        assert_new(a, "add", a, view)


@pytest.mark.parametrize("shape", [(300, 200), (301, 199)], ids=["packed", "strided"])
@pytest.mark.parametrize("name", IN_PLACE)
def test_arrays_larger_than_a_binding(gpu_device: Any, name: str, shape: tuple[int, int]) -> None:
    """Halves of the target are still both what is read and what is written."""
    values = [draw(shape) for _ in range(2)]
    for which in (0, 1):
        arrays = [Wgpu.from_numpy(x, gpu_device) for x in values]
        gpu_device.gpu.max_binding_bytes = 16 * 1024
        assert_in_place(gpu_device, arrays[which], name, *arrays, *REST.get(name, ()))


def test_commands_of_one_page_keep_their_order(gpu_device: Any) -> None:
    """A value is read, overwritten and read again, and the buffers of short-lived values go from hand to hand."""
    total, one = (Wgpu.full((64, 64), value, "float32", gpu_device) for value in (0.0, 1.0))
    seen = []
    for step in range(200):
        if step % 20 == 0:
            seen.append(Wgpu.mul(total, 1.0))  # reads what the next command overwrites
        total = Wgpu.into(total, "add", total, Wgpu.mul(one, 2.0))
    assert [Wgpu.to_numpy(x).max() for x in seen] == [40.0 * index for index in range(10)]
    assert [Wgpu.to_numpy(x).min() for x in seen] == [40.0 * index for index in range(10)]
    assert (Wgpu.to_numpy(total) == 400).all()


def test_a_target_goes_back_to_the_pool_with_its_last_holder(gpu_device: Any) -> None:
    """The new value holds the buffer on, also when the primitive of the old one is gone."""
    before = gpu_device.memory_usage()
    a = Wgpu.from_numpy(np.ones((4, 4), "float32"), gpu_device)
    b = Wgpu.into(a, "add", a, 1.0)
    del a
    others = [Wgpu.full((4, 4), 9.0, "float32", gpu_device) for _ in range(3)]
    assert (Wgpu.to_numpy(b) == 2).all()
    del b, others
    after = gpu_device.memory_usage()
    assert (after.number_allocs, after.bytes_in_use) == (before.number_allocs, before.bytes_in_use)


def test_a_part_of_an_array_larger_than_a_binding_is_assigned_in_place(gpu_device: Any) -> None:
    values, rows = draw((300, 200)), draw((40, 200))
    a, b = Wgpu.from_numpy(values, gpu_device), Wgpu.from_numpy(rows, gpu_device)
    gpu_device.gpu.max_binding_bytes = 16 * 1024
    assert_in_place(gpu_device, a, "slice_assign", a, (slice(100, 140, 1), slice(0, 200, 1)), b)
    after = Wgpu.to_numpy(a)
    assert after[:100].tobytes() == values[:100].tobytes()
    assert after[140:].tobytes() == values[140:].tobytes()
