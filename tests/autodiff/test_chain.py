"""A chain of 100 000 operations: no recursion anywhere, and time in proportion to its length."""

from __future__ import annotations

import gc
import sys
import time

from tests.support import AnyTensor, gradient_of, leaf, needs_a_clock, tracked

LENGTH = 100_000


def run_chain(length: int) -> float:
    """Forward, backward, repr and delete; returns seconds of this process."""
    start = time.process_time()
    device = tracked()
    x = leaf([1.0], device)
    h: AnyTensor = x
    for _ in range(length):
        h = h + 1.0
    assert h.into_scalar() == length + 1
    assert "Tensor {" in repr(h)
    assert repr(h.primitive.node).startswith("Node(")
    grads = h.backward()
    assert gradient_of(x, grads).tolist() == [1.0]
    assert "(1,)" in repr(grads)
    del h
    return time.process_time() - start


@needs_a_clock
def test_no_recursion_limit_and_linear_time() -> None:
    """Ten times the length takes about ten times the time, and not a hundred times; the best of two counts.

    The cycle collector is off, which shows that nothing needs it, and that its own walks are not counted.
    """
    assert sys.getrecursionlimit() < LENGTH
    gc.disable()
    try:
        tenth, whole = (min(run_chain(length) for _ in range(2)) for length in (LENGTH // 10, LENGTH))
    finally:
        gc.enable()
    assert whole / tenth < 40


def test_a_chain_that_was_never_used_is_deleted_without_recursion() -> None:
    h: AnyTensor = leaf([1.0], tracked())
    for _ in range(LENGTH):
        h = h * 1.0
    del h


def test_doubling_a_hundred_times_visits_each_node_once() -> None:
    """2 ** 100 paths, 100 nodes."""
    x = leaf([1.0], tracked())
    h: AnyTensor = x
    for _ in range(100):
        h = h + h
    assert gradient_of(x, h.backward()).tolist() == [2.0**100]


def test_a_wide_fan_adds_up() -> None:
    x = leaf([1.0], tracked())
    total: AnyTensor = x * 0.0
    for _ in range(1000):
        total = total + x
    assert gradient_of(x, total.backward()).tolist() == [1000.0]
