"""What a backward pass allocates, and its peak, counted by hand: a plan and a measurement run the same engine, so they
would agree on a wrong number too.

Each float32 takes 4 bytes, each index 8, each truth value 1. ``full 4`` comes first everywhere: the gradient that
starts is a single 1, read again and again. A gradient of zeros is a single 0 in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.support import AnyTensor
from tinyburn import Autodiff, BalancedCheckpointing, NdArray, Tensor, Traced, activation
from tinyburn.autodiff import checkpoint
from tinyburn.backend import Kind
from tinyburn.backend.log import EventLog


class ByHand(NamedTuple):
    """A function of leaves of ones, what its backward pass allocates, and the most bytes alive in it."""

    function: Callable[..., AnyTensor]
    shapes: tuple[tuple[int, ...], ...]
    allocates: str
    peak: int


def ints(x: AnyTensor, *values: int) -> AnyTensor:
    return Tensor.from_data(np.array(values), x.device)


def mask(x: AnyTensor) -> AnyTensor:
    return Tensor.from_data([True] * 8, x.device)


CASES: dict[str, ByHand] = {
    # x 32; the slice is a view. Then 1, 0, and the 0 with the gradient written into it.
    "slice": ByHand(lambda x: x[0:2], ((8,),), "full 4, full 4, slice_assign 32", 32 + 4 + 4 + 32),
    # x 32, the indices 16, the result 8. Then 1, 0, and the 0 with the gradient added.
    "gather": ByHand(lambda x: x.gather(0, ints(x, 1, 1)), ((8,),), "full 4, full 4, scatter 32", 56 + 4 + 4 + 32),
    # x 96, the indices 16, the result 24.
    "select": ByHand(lambda x: x.select(0, ints(x, 1, 1)), ((8, 3),), "full 4, full 4, select_assign 96", 136 + 104),
    # x, y and the result 32 each, the mask 8. The 0 for y is gone before x gets its gradient.
    "mask_where": ByHand(
        lambda x, y: x.mask_where(mask(x), y), ((8,), (8,)), "full 4, full 4, mask_where 32, mask_where 32", 172
    ),
    # x and the result 32 each, the mask 8. The 0 is a number, and no tensor.
    "mask_fill": ByHand(lambda x: x.mask_fill(mask(x), 0.0), ((8,),), "full 4, mask_where 32", 72 + 4 + 32),
    # x 32, y 8, the result 32. The gradient of y is a view of the 1; that of x has the 0 written into it.
    "slice_assign": ByHand(
        lambda x, y: x.slice_assign(slice(0, 2), y), ((8,), (2,)), "full 4, full 4, slice_assign 32", 72 + 40
    ),
    # x 32, y 8, the indices 16, the result 32. The gradient of x is the 1.
    "scatter": ByHand(
        lambda x, y: x.scatter(0, ints(x, 1, 1), y), ((8,), (2,)), "full 4, gather 8", 32 + 8 + 16 + 32 + 4 + 8
    ),
    # x (3, 2, 4) 96, y (1, 4, 5) 80, the result (3, 2, 5) 120. The 1 is copied for the rows of all entries, and then
    # there is one product for y, where each of 3 entries would have one of its own.
    "matmul": ByHand(
        lambda x, y: x @ y, ((3, 2, 4), (1, 4, 5)), "full 4, reshape 120, matmul 80, matmul 96", 296 + 4 + 80 + 120
    ),
    # x 32, the result 4. Up: products of 16 and 8, of the halves of each. Down: 8, 16 and 32, one factor for each.
    "prod": ByHand(
        lambda x: x.prod(),
        ((8,),),
        "full 4, mul 16, mul 8, mul 4, multiply_no_nan 8, multiply_no_nan 16, multiply_no_nan 32",
        36 + 4 + 16 + 16 + 32,
    ),
    # Both gradients are views of the 1. x 32, y 8, the result 40.
    "cat": ByHand(lambda x, y: Tensor.cat([x, y], 0), ((8,), (2,)), "full 4", 80 + 4),
    "flip": ByHand(lambda x: x.flip((0,)), ((8,),), "full 4", 32 + 4),
    "sum": ByHand(lambda x: x.sum(), ((8,),), "full 4", 32 + 4 + 4),
    # The 1 over 8, and then a view of it.
    "mean": ByHand(lambda x: x.mean(), ((8,),), "full 4, mul 4", 32 + 4 + 4 + 4),
    "relu": ByHand(activation.relu, ((8,),), "full 4, relu_backward 32", 64 + 4 + 32),
    "sigmoid": ByHand(activation.sigmoid, ((8,),), "full 4, sigmoid_backward 32", 64 + 4 + 32),
    "clamp": ByHand(lambda x: x.clamp(-1.0, 2.0), ((8,),), "full 4, clamp_backward 32", 64 + 4 + 32),
    # Only the backward pass sees the gradient that relu's rule has made, so tanh's rule writes over it.
    "relu of tanh": ByHand(lambda x: activation.relu(x.tanh()), ((8,),), "full 4, relu_backward 32", 96 + 4 + 32),
    # Each product makes the gradient of one factor, and the second one is added to the first where it lies.
    "square": ByHand(lambda x: x * x, ((8,),), "full 4, multiply_no_nan 32, multiply_no_nan 32", 64 + 4 + 32 + 32),
    # g out and its sum, and g minus that, which is multiplied by out where it lies.
    "softmax": ByHand(
        lambda x: activation.softmax(x, 0),
        ((8,),),
        "full 4, multiply_no_nan 32, sum_dims 4, sub 32",
        64 + 4 + 32 + 4,
    ),
}


def traced(function: Callable[..., AnyTensor], shapes: Any, device: Any) -> tuple[str, int, Any]:
    """The allocations of the backward pass, the most bytes alive in it, and its gradients."""
    log: EventLog = device.inner.log
    leaves = [Tensor.ones(shape, device).require_grad() for shape in shapes]  # they stay alive, as parameters do
    result = function(*leaves)
    start, live = len(log.events), log.live_bytes
    grads = result.backward()
    made, op, peak, sizes = [], "", live, {}
    for event in log.events:
        if event[0] == Kind.ALLOC:
            sizes[event[1]] = event[2]
    for event in log.events[start:]:
        if event[0] == Kind.OP:
            op = log.names[event[1]]
        elif event[0] == Kind.ALLOC:
            made.append(f"{op} {event[2]}")
            live += event[2]
            peak = max(peak, live)
        elif event[0] == Kind.FREE:
            live -= sizes[event[1]]
    return ", ".join(made), peak, grads


@pytest.mark.parametrize("name", CASES)
def test_the_backward_pass_of_an_operation(name: str) -> None:
    case = CASES[name]
    device = Autodiff[Traced[NdArray]].device()
    allocates, peak, _ = traced(case.function, case.shapes, device)
    assert allocates == case.allocates
    assert peak == case.peak


@pytest.mark.parametrize(
    "backend", [Autodiff[Traced[NdArray]], Autodiff[Traced[NdArray], BalancedCheckpointing]], ids=str
)
def test_after_backward_only_the_loss_and_the_gradients_are_left(backend: Any) -> None:
    """x 32, the loss 4 and the gradient 32: a loss that has a name keeps no activation, nor what computes it again."""
    device = backend.device()
    x: AnyTensor = Tensor.ones((8,), device).require_grad()
    loss = (x.exp() * 2.0).tanh().sum()
    grads = loss.backward()
    assert len(grads) == 1
    assert device.inner.log.live_bytes == 32 + 4 + 32


def test_a_segments_gradients_are_there_once() -> None:
    """x and w 32 each, the loss 4, and two gradients of 32: not once more for the segment's own leaves."""
    device: Any = Autodiff[Traced[NdArray]].device()
    x, w = (Tensor.ones((8,), device).require_grad() for _ in range(2))
    loss = checkpoint(lambda a, b: (a * b).exp(), x, w).sum()
    grads = loss.backward()
    assert len(grads) == 2
    assert device.inner.log.live_bytes == 32 + 32 + 4 + 32 + 32
