"""`Gradients` as a container: changed one by one, and made of what another process has sent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tinyburn import (
    Autodiff,
    BackendMismatch,
    DTypeMismatch,
    ForeignCall,
    Gradients,
    GraphError,
    Module,
    NdArray,
    ShapeError,
    Tensor,
    Traced,
    nn,
    optim,
)  # fmt: skip


def trained(device: Any) -> tuple[Any, Any]:
    """A layer, and its gradients of the sum of its outputs: each row of the weight's is that of the batch's sums."""
    layer = nn.LinearConfig(2, 3).init(device)
    x = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]], device)
    return layer, layer(x).sum().backward()


WEIGHT = [[4.0] * 3, [6.0] * 3]
BIAS = [2.0] * 3


def values(grads: Any, model: Module) -> dict[str, Any]:
    return {path: None if one is None else one.to_numpy().tolist() for path, one in grads.named(model).items()}


def test_map_changes_each_gradient_and_uses_the_others_up() -> None:
    layer, grads = trained(Autodiff[NdArray].device())
    halved = grads.map(lambda gradient: gradient * 0.5)
    assert values(halved, layer) == {"weight": (np.array(WEIGHT) / 2).tolist(), "bias": [1.0] * 3}
    assert len(grads) == 0
    assert grads.takers == ["map"]
    with pytest.raises(GraphError, match="map has taken this gradient"):
        grads.named(layer)


def test_a_step_takes_mapped_gradients_as_it_takes_others() -> None:
    layer, grads = trained(Autodiff[NdArray].device())
    before = layer.bias.val().to_numpy()
    stepped = optim.SgdConfig().init().step(0.5, layer, grads.map(lambda gradient: gradient * 10.0))
    assert stepped.bias.val().to_numpy().tolist() == (before - 0.5 * 10.0 * np.array(BIAS, np.float32)).tolist()


def test_map_keeps_one_set_of_gradients_alive() -> None:
    device = Autodiff[Traced[NdArray]].device()
    layer, grads = trained(device)
    log = device.inner.log
    live, most = log.live_bytes, []

    def change(gradient: Any) -> Any:
        most.append(log.live_bytes)
        return gradient * 2.0

    mapped = grads.map(change)
    largest = 4 * 2 * 3
    assert log.live_bytes == live
    assert max(most) <= live
    assert log.live_bytes <= live + largest
    del layer, mapped


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda gradient: gradient.reshape((1, *gradient.shape)), ShapeError),
        (lambda gradient: gradient.cast("float64"), DTypeMismatch),
        (lambda gradient: Tensor.from_inner(gradient), BackendMismatch),
        (lambda gradient: gradient.to_numpy(), DTypeMismatch),
    ],
    ids=["shape", "dtype", "backend", "no tensor"],
)
def test_map_wants_gradients_of_the_same_leaves(change: Any, error: Any) -> None:
    _, grads = trained(Autodiff[NdArray].device())
    with pytest.raises(error):
        grads.map(change)


def test_what_was_named_and_sent_is_gradients_again() -> None:
    """By names, so the model of another process will do."""
    sender, grads = trained(Autodiff[NdArray].device())
    sent = {path: gradient.to_numpy() for path, gradient in grads.named(sender).items()}
    device = Autodiff[NdArray].device()
    receiver = nn.LinearConfig(2, 3).init(device)
    named = {path: Tensor.from_data(array, device.inner) for path, array in sent.items()}
    assert values(Gradients.from_named(receiver, named), receiver) == {"weight": WEIGHT, "bias": BIAS}
    some = Gradients.from_named(receiver, {"weight": named["weight"], "bias": None})
    assert values(some, receiver) == {"weight": WEIGHT, "bias": None}


def test_a_step_leaves_a_tensor_alone_that_gradients_were_made_of() -> None:
    device = Autodiff[NdArray].device()
    layer = nn.LinearConfig(2, 3).init(device)
    mine = Tensor.from_data(BIAS, device.inner)
    optim.SgdConfig(momentum=0.9).init().step(0.1, layer, Gradients.from_named(layer, {"bias": mine}))
    assert mine.to_numpy().tolist() == BIAS


def test_gradients_are_only_made_for_what_is_trained() -> None:
    device = Autodiff[NdArray].device()
    layer = nn.LinearConfig(2, 3).init(device)
    bias = Tensor.from_data(BIAS, device.inner)
    with pytest.raises(GraphError, match="no parameter offset"):
        Gradients.from_named(layer, {"offset": bias})
    with pytest.raises(GraphError, match="bias is not tracked"):
        Gradients.from_named(layer.freeze("bias"), {"bias": bias})
    with pytest.raises(ShapeError, match="the gradient of weight"):
        Gradients.from_named(layer, {"weight": bias})
    with pytest.raises(BackendMismatch):
        Gradients.from_named(layer, {"bias": Tensor.from_data(BIAS, device)})
    with pytest.raises(ForeignCall, match="not a module"):
        Gradients.from_named([bias], {"0": bias})


def test_a_state_keeps_no_buffer_alive_that_is_larger_than_it_is() -> None:
    """A gradient that is a part of a bucket, as one that other processes have sent, is copied into the first
    velocity; that is 4 of the 1 024 numbers."""
    device = Autodiff[Traced[NdArray]].device()
    layer = nn.LinearConfig(4, 4, bias=False).init(device)
    bucket = Tensor.zeros((1024,), device.inner)
    named = {"weight": bucket.narrow(0, 0, 16).reshape((4, 4))}
    optimizer = optim.SgdConfig(momentum=0.9).init()
    log = device.inner.log
    stepped = optimizer.step(0.1, layer, Gradients.from_named(layer, named))
    with_bucket = log.live_bytes
    del bucket, named
    assert with_bucket - log.live_bytes == 4 * 1024
    del stepped
