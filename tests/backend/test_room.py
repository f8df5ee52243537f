"""What does not fit: each operation says so in an error of ours, whichever of NumPy's words it heard.

The sizes come from the machine: one byte more than an address can count, or far more than any memory has. So these
tests ask the same of a browser, where addresses have 32 bits, as of this computer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import AnyTensor, const, ints, mask, plain
from tinyburn import (
    Autodiff,
    Device,
    Distribution,
    Meta,
    NdArray,
    OutOfMemory,
    ShapeError,
    Tensor,
    TinyburnError,
    activation,
    nn,
)
from tinyburn.backend import room
from tinyburn.backend.array_namespace import quiet
from tinyburn.backend.room import MOST_BYTES, explain, fitting

SIDE = 2 ** ((MOST_BYTES.bit_length() + 1) // 2)
"""A square of so many bytes each way is one that an address cannot count, a row of it is in a browser 64 KiB."""

ROOMY = sys.maxsize > 2**32
only_with_large_addresses = pytest.mark.skipif(not ROOMY, reason="a view of that size needs addresses of 64 bits")


def row(device: Device[Any]) -> AnyTensor:
    return Tensor.ones((1, 1), device).expand((1, SIDE))


def column(device: Device[Any]) -> AnyTensor:
    return Tensor.ones((1, 1), device).expand((SIDE, 1))


def mask_of(column: AnyTensor) -> AnyTensor:
    return mask([[True]], column.device).expand(column.shape)


TOO_LARGE: dict[str, Callable[[Device[Any]], Any]] = {
    "zeros": lambda device: Tensor.zeros((SIDE, SIDE), device),
    "one dim": lambda device: Tensor.zeros((MOST_BYTES + 1,), device),
    "far more": lambda device: Tensor.full((4 * MOST_BYTES, 2), 1.0, device),
    "random": lambda device: Tensor.random((SIDE, SIDE), Distribution.Default, device),
    "arange": lambda device: Tensor.arange(0, MOST_BYTES // 4, device),
    "eye": lambda device: Tensor.eye(SIDE, device),
    "expand": lambda device: Tensor.ones((1,), device).expand((MOST_BYTES // 2,)),
    "expand far": lambda device: Tensor.ones((1,), device).expand((4 * MOST_BYTES,)),
    "expand a row": lambda device: Tensor.ones((1, 3), device).expand((MOST_BYTES // 8, 3)),
    "pad": lambda device: Tensor.ones((1,), device).pad([(0, MOST_BYTES // 2)]),
    "a layer": lambda device: nn.LinearConfig(SIDE, SIDE).init(device),
}
FROM_VIEWS: dict[str, Callable[[AnyTensor, AnyTensor], Any]] = {
    "add": lambda row, column: row + column,
    "mul": lambda row, column: row * column,
    "sub": lambda row, column: row - column,
    "hypot": lambda row, column: row.hypot(column),
    "greater": lambda row, column: row.greater(column),
    "where": lambda row, column: row.mask_where(mask_of(column), row),
    "matmul": lambda row, column: column @ row,
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_no_address_can_count_is_an_error_of_ours(name: str) -> None:
    for backend in (NdArray, Autodiff[NdArray]):
        with pytest.raises(OutOfMemory, match="an array has at most"):
            TOO_LARGE[name](backend.device())


@pytest.mark.parametrize("name", FROM_VIEWS)
def test_views_are_small_and_their_result_is_not(name: str) -> None:
    device = NdArray.device()
    with pytest.raises(OutOfMemory) as caught:
        FROM_VIEWS[name](row(device), column(device))
    told = str(caught.value)
    assert f"({SIDE}, 1)" in told
    assert f"(1, {SIDE})" in told


FAR_TOO_MANY = MOST_BYTES // 64
NO_MEMORY: dict[str, Callable[[Device[Any]], Any]] = {
    "zeros": lambda device: Tensor.zeros((FAR_TOO_MANY,), device),
    "a result": lambda device: Tensor.ones((1,), device).expand((FAR_TOO_MANY,)) + 1.0,
    "a copy": lambda device: Tensor.ones((1, 3), device).expand((FAR_TOO_MANY // 3, 3)).flatten(),
    "a kernel": lambda device: activation.sigmoid(Tensor.ones((1,), device).expand((FAR_TOO_MANY,))),
    "cat": lambda device: Tensor.cat([Tensor.ones((1,), device).expand((FAR_TOO_MANY,))] * 2, 0),
    "select": lambda device: Tensor.ones((1, 1), device).expand((1, FAR_TOO_MANY)).select(0, ints([0, 0], device)),
    "from_data": lambda device: Tensor.from_data(np.broadcast_to(np.float32(1), (FAR_TOO_MANY,)), device),
    "out again": lambda device: Tensor.ones((1,), device).expand((FAR_TOO_MANY,)).to_numpy(),
}


@only_with_large_addresses
@pytest.mark.parametrize("name", NO_MEMORY)
def test_what_no_memory_holds_is_the_same_error_with_numpys_words(name: str) -> None:
    with pytest.raises(OutOfMemory, match="no room in memory: Unable to allocate"):
        NO_MEMORY[name](NdArray.device())


def test_the_whole_message() -> None:
    with pytest.raises(OutOfMemory) as caught:
        Tensor.ones((1, 3), plain("float32")).expand((SIDE, 3)).expand((SIDE, 3)).reshape((SIDE, 3)).matmul(
            Tensor.ones((3, 1), plain("float32")).expand((3, SIDE))
        )
    first, tensors, reason, *hint = str(caught.value).splitlines()
    assert first == "matmul"
    assert tensors == f"  tensors : ({SIDE}, 3) float32, (3, {SIDE}) float32"
    assert reason.startswith(f"  because addresses have {MOST_BYTES.bit_length() + 1} bits here")
    assert hint[0] == "  hint: use a smaller batch (memory.max_batch_size finds the largest),"


def test_in_a_browser_the_way_out_is_another_computer(browser: None) -> None:
    with pytest.raises(OutOfMemory, match="or run it in Python on your own computer"):
        Tensor.zeros((SIDE, SIDE), plain())


def test_shapes_alone_have_any_size() -> None:
    assert Tensor.zeros((SIDE, SIDE), Meta.device()).payload_bytes == 4 * SIDE * SIDE


def test_other_errors_stay_what_they_are() -> None:
    """An operation of one's own may raise ValueError for its reasons, and another library explains its own errors."""

    class Foreign(MemoryError):
        __module__ = "cupy.cuda.memory"

    def fail(error: Exception) -> None:
        raise error

    for error in (ValueError("the axes do not match"), Foreign("out of memory"), ShapeError("add", "too large")):
        for wrapped in (fitting(fail), quiet(fail)):
            with pytest.raises(type(error)) as caught:
                wrapped(error)
            assert caught.value is error


def test_an_error_without_words_has_the_reason_all_the_same() -> None:
    with pytest.raises(OutOfMemory, match="because there is no room in memory"):
        explain(MemoryError(), "add", (const([1.0], plain()).primitive,))
    with pytest.raises(OutOfMemory, match="at most"):
        explain(OverflowError("Python int too large to convert to C ssize_t"), "full", ((2**99,),))


def test_it_is_both_our_error_and_pythons() -> None:
    with pytest.raises(MemoryError):
        Tensor.zeros((SIDE, SIDE), plain())
    with pytest.raises(TinyburnError):
        Tensor.zeros((SIDE, SIDE), plain())


def test_the_limit_is_that_of_numpy() -> None:
    """One byte a number: the largest that NumPy takes as a view, and one more."""
    one = np.zeros(1, np.uint8)
    assert NdArray.expand(one, (room.MOST_BYTES,)).nbytes == MOST_BYTES
    with pytest.raises(OutOfMemory):
        NdArray.expand(one, (room.MOST_BYTES + 1,))
