"""Finite[B] stops at the first operation that makes inf or NaN out of ordinary numbers, and says which one it was."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from tests.support import NDARRAY, WGPU, UnderTest, params
from tests.viz.examples import mlp, training_step
from tinyburn import Autodiff, Device, Finite, Meta, Module, NdArray, NonFinite, Param, Tensor, activation

BACKENDS = params([NDARRAY, WGPU])


def watched(backend: UnderTest) -> Device[Any]:
    device: Device[Any] = Autodiff[Finite[backend.backend]].device()
    return device


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_first_operation_is_named_with_what_it_was_given(backend: UnderTest) -> None:
    x = Tensor.from_data([[1.0, -4.0]], watched(backend))
    with pytest.raises(NonFinite) as caught:
        (x.sqrt() + 1.0).sum()
    message = str(caught.value)
    assert message.startswith("sqrt\n")
    assert "from -4 to 1" in message
    assert "the result (1, 2) has 1 NaN, and no operand has any" in message


@pytest.mark.parametrize("backend", BACKENDS)
def test_overflow_is_found_as_inf(backend: UnderTest) -> None:
    x = Tensor.full((2, 2), 1e30, watched(backend))
    with pytest.raises(NonFinite, match="4 inf"):
        x * x


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_the_caller_brought_in_is_no_fault(backend: UnderTest) -> None:
    """A mask of -inf before a softmax, and data that hold inf or NaN."""
    x = Tensor.from_data([[1.0, 2.0]], watched(backend))
    mask = Tensor.from_data([[True, False]], x.device)
    assert activation.softmax(x.mask_fill(mask, -math.inf), 1).to_numpy().tolist() == [[0.0, 1.0]]
    gap = Tensor.from_data([[math.nan, 1.0]], x.device)
    assert math.isnan((gap * 2.0).sum().into_scalar())
    with pytest.raises(NonFinite, match="1 NaN"):
        x.mask_fill(mask, math.inf) - x.mask_fill(mask, math.inf)  # inf is worse than nothing, and NaN worse than inf


class Root(Module):
    def __init__(self, device: Device[Any]) -> None:
        self.scale = Param.from_tensor(Tensor.zeros((1, 2), device))

    def forward(self, x: Any) -> Any:
        return (x * self.scale.val()).sqrt()


def test_module_and_backward_pass_are_named() -> None:
    """The slope of a square root at 0 is infinite. The result is 0, so it is the backward pass that meets it."""
    device = Autodiff[Finite[NdArray]].device()
    loss = Root(device)(Tensor.ones((1, 2), device)).sum()
    with pytest.raises(NonFinite, match=r"div, in the backward sqrt \(in root\)"):
        loss.backward()
    (Tensor.ones((1, 2), device).require_grad() * 2.0).sum().backward()  # and the device goes on


@pytest.mark.parametrize("example", [mlp, training_step])
def test_it_computes_as_the_backend_inside_does(example: Any) -> None:
    def run(backend: Any) -> list[Any]:
        device = backend.device(float_dtype="float64")
        device.seed(3)
        loss, _ = example(device=device)
        return [loss.to_numpy(), *[gradient.to_numpy() for gradient in loss.backward().tensors()]]

    for found, wanted in zip(run(Autodiff[Finite[NdArray]]), run(Autodiff[NdArray]), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_shapes_alone_are_never_a_fault_and_the_class_can_be_pickled() -> None:
    x = Tensor.ones((2, 3), Finite[Meta].device())
    assert (x / 0.0).shape == (2, 3)
    assert pickle.loads(pickle.dumps(Finite[NdArray])) is Finite[NdArray]
