"""`Backend.exchange`: what other processes give is computed on no backend, and still has its place in every log."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support import BASES, UnderTest, params
from tinyburn import Autodiff, Finite, Meta, NdArray, Tensor, Traced
from tinyburn.backend import Category, Kind


def doubled(a: Any, may_overwrite: bool) -> Any:
    """A swap of NumPy's arrays: as if another process had sent the same numbers."""
    return np.add(a, a, out=a if may_overwrite else None)


def first_half(a: Any, may_overwrite: bool) -> Any:
    assert not may_overwrite, "a result of another shape cannot take the place of its operand"
    return a[: len(a) // 2].copy()


def run(device: Any, swap: Any, size: int, is_spare: bool) -> tuple[Any, Any]:
    sent = Tensor.from_data([1.0, 2.0, 3.0, 4.0], device)
    return sent, sent._new(device.backend.exchange("all_reduce", sent.primitive, (size,), swap, is_spare))


@pytest.mark.parametrize("backend", [NdArray, Traced[NdArray], Finite[NdArray], Autodiff[NdArray]])
@pytest.mark.parametrize("is_spare", [False, True])
def test_the_result_is_what_the_library_gives(backend: Any, is_spare: bool) -> None:
    sent, received = run(backend.device(), doubled, 4, is_spare)
    assert received.to_numpy().tolist() == [2.0, 4.0, 6.0, 8.0]
    assert backend.shares_buffer(sent.primitive, received.primitive) is is_spare
    _, half = run(backend.device(), first_half, 2, is_spare)
    assert half.shape == (2,)
    assert half.to_numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("base", params(BASES))
def test_other_backends_are_asked_through_the_same_door(base: UnderTest) -> None:
    device = base.device()
    sent = Tensor.from_data([1.0, 2.0], device)
    result = device.backend.exchange("broadcast", sent.primitive, (2,), lambda a, _: a, False)
    assert result.shape == (2,)
    assert result.dtype == sent.primitive.dtype


@pytest.mark.parametrize("base", params(BASES))
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_values_of_the_host_take_the_place_of_others(base: UnderTest, dtype: str) -> None:
    """In the same buffer where the backend has memory of its own; one that begins elsewhere in it stays as it is."""
    device = base.device()
    if not device.backend.has_values:
        pytest.skip("it has shapes alone")
    values = np.array([1, 0, 1], dtype)
    whole = device.backend.from_numpy(np.zeros(3, dtype), device)
    result = device.backend.overwrite(whole, values, device)
    np.testing.assert_array_equal(device.backend.to_numpy(result), values)
    assert device.backend.shares_buffer(whole, result) is not device.backend.on_host
    kept = device.backend.from_numpy(np.zeros(6, dtype), device)
    part = device.backend.slice(kept, (slice(3, 6, 1),))
    np.testing.assert_array_equal(device.backend.to_numpy(device.backend.overwrite(part, values, device)), values)
    np.testing.assert_array_equal(device.backend.to_numpy(kept)[:3], np.zeros(3, dtype))


def test_a_received_buffer_is_communication_and_no_input() -> None:
    device = Traced[NdArray].device()
    _, received = run(device, doubled, 4, False)
    assert received.primitive.buffer.category is Category.COMMUNICATION
    made = [event[3] for event in device.log.events if event[0] == Kind.ALLOC]
    assert made == [Category.INPUT, Category.COMMUNICATION]


def test_a_spare_buffer_is_used_again() -> None:
    device = Traced[NdArray].device()
    sent, received = run(device, doubled, 4, True)
    assert received.primitive.buffer is sent.primitive.buffer
    assert [event[0] for event in device.log.events].count(Kind.DONATE) == 1
    assert received.primitive.buffer.category is Category.COMMUNICATION


@pytest.mark.parametrize("is_spare", [False, True])
@pytest.mark.parametrize(("swap", "size"), [(doubled, 4), (first_half, 2)])
def test_the_plan_has_the_same_events(is_spare: bool, swap: Any, size: int) -> None:
    logs = []
    for inner in (NdArray, Meta):
        device = Traced[inner].device()  # type: ignore[valid-type]
        kept = run(device, swap, size, is_spare)
        logs.append((device.log.events, device.log.names))
        del kept
    assert logs[0] == logs[1]


def test_a_result_is_a_constant_for_autodiff() -> None:
    device = Autodiff[NdArray].device()
    leaf = Tensor.from_data([1.0, 2.0], device).require_grad()
    received = leaf._new(device.backend.exchange("broadcast", leaf.primitive, (2,), doubled, False))
    assert not received.is_require_grad
    assert leaf.is_require_grad
