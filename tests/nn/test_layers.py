"""What holds of every layer: derivatives of every order, float16, copies, pickles, and that a step trains it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tests.support import AnyTensor, Values, const, gradient_of, grads_of, ints, leaf, tracked
from tinyburn import Autodiff, Device, Module, NdArray, Tensor, nn, optim

LAYERS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "LayerNorm": (nn.LayerNormConfig(5), (3, 5)),
    "RmsNorm": (nn.RmsNormConfig(5), (3, 5)),
    "BatchNorm": (nn.BatchNormConfig(3), (4, 3, 2)),
    "GroupNorm": (nn.GroupNormConfig(2, 4), (2, 4, 3)),
    "InstanceNorm": (nn.InstanceNormConfig(3), (2, 3, 4)),
    "PRelu": (nn.PReluConfig(3), (2, 3, 2)),
    "SwiGlu": (nn.SwiGluConfig(3, 2), (4, 3)),
}


def made(name: str, device: Device[Any]) -> tuple[Any, Values]:
    config, shape = LAYERS[name]
    device.seed(2)
    return config.init(device), 1.5 * np.sin(1.7 * np.arange(np.prod(shape)) + 0.3).reshape(shape)


def weighted(out: AnyTensor) -> AnyTensor:
    """A sum in which no two places can be exchanged unseen, and that is not linear."""
    weights = const(np.linspace(0.5, 1.5, int(np.prod(out.shape))).reshape(out.shape), out.device)
    return (out * out * weights + out * weights).sum()


def difference(function: Any, x: Values, step: float = 1e-5) -> Values:
    slopes = np.zeros(x.size)
    for at in range(x.size):
        moved = (np.eye(x.size)[at] * step).reshape(x.shape)
        slopes[at] = (function(x + moved) - function(x - moved)) / (2 * step)
    return slopes.reshape(x.shape)


@pytest.mark.parametrize("name", LAYERS)
def test_the_gradient_in_float64(name: str) -> None:
    layer, x = made(name, tracked())
    found = grads_of(lambda v: weighted(layer(v)), x, device=tracked())[0]
    expected = difference(lambda v: weighted(layer(const(v, tracked()))).item(), x)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", LAYERS)
def test_the_second_derivative(name: str) -> None:
    """The derivative of the sum of a gradient, by Autodiff of Autodiff."""
    device: Any = Autodiff[Autodiff[NdArray]].device(float_dtype="float64")
    layer, x = made(name, device)
    inner = leaf(x, device.inner)
    outer = Tensor.from_inner(inner, device).require_grad()
    first: Any = outer.grad(weighted(layer(outer)).backward())
    weights = const(np.linspace(-1, 1, x.size).reshape(x.shape), device.inner)
    second = inner.grad((first * weights).sum().backward())
    assert second is not None
    plain_layer, _ = made(name, tracked())

    def slope(v: Values) -> Any:
        return (grads_of(lambda u: weighted(plain_layer(u)), v, device=tracked())[0] * weights.to_numpy()).sum()

    np.testing.assert_allclose(second.to_numpy(), difference(slope, x), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", LAYERS)
def test_in_half_precision(name: str) -> None:
    layer, x = made(name, tracked("float16"))
    values = {path: param.val().to_numpy().astype(float) for path, param in layer.named_params()}
    wide = made(name, tracked())[0].map(lambda path, param: param.replaced(const(values[path], tracked())))
    found = layer(const(x, tracked("float16")))
    assert found.dtype == "float16"
    np.testing.assert_allclose(found.to_numpy().astype(float), wide(const(x, tracked())).to_numpy(), atol=2e-2)


@pytest.mark.parametrize("name", ["LayerNorm", "RmsNorm", "BatchNorm", "GroupNorm", "InstanceNorm"])
def test_case_61_squares_do_not_overflow_in_half_precision(name: str) -> None:
    """From 256 on, the square of a float16 number is inf; these go up to 30000, and what comes out is near 1."""
    layer, x = made(name, tracked())
    expected = layer(const(x, tracked())).to_numpy()
    half, _ = made(name, tracked("float16"))
    large = leaf(x * 20000, tracked("float16"))
    out = half(large)
    assert out.dtype == "float16"
    np.testing.assert_allclose(out.to_numpy().astype(float), expected, atol=5e-3)
    assert np.isfinite(gradient_of(large, out.sum().backward())).all()


@pytest.mark.parametrize("name", LAYERS)
def test_a_step_trains_it_and_a_pickle_computes_the_same(name: str) -> None:
    device: Any = tracked()
    layer, x = made(name, device)
    stepped: Module = optim.SgdConfig().init().step(0.1, layer, weighted(layer(const(x, device))).backward())
    for (path, before), (_, after) in zip(layer.named_params(), stepped.named_params(), strict=True):
        assert (before.val().to_numpy() != after.val().to_numpy()).any(), path
    again = pickle.loads(pickle.dumps(stepped))
    batch = const(x, device.inner)
    assert again.valid()(batch).to_numpy().tolist() == stepped.valid()(batch).to_numpy().tolist()


def test_case_38_rows_of_an_embedding_add_up() -> None:
    device = tracked()
    table = nn.EmbeddingConfig(3, 2).init(device).map(lambda _, param: param.replaced(param.val().zeros_like()))
    out = table(ints([[1, 1, 0]], device))
    grads = (out * const([[[1.0], [2.0], [5.0]]], device)).sum().backward()
    gradient = table.weight.val().grad(grads)
    assert gradient is not None
    assert gradient.to_numpy().tolist() == [[5.0, 5.0], [3.0, 3.0], [0.0, 0.0]]


def test_a_constant_row_is_normalised_to_zero() -> None:
    """Its variance is 0: epsilon keeps the quotient, and the slope, finite."""
    device = tracked()
    x = leaf(np.full((2, 8), 3.0), device)
    out = nn.LayerNormConfig(8).init(device)(x)
    assert out.to_numpy().tolist() == np.zeros((2, 8)).tolist()
    gradient = x.grad((out * out).sum().backward())
    assert gradient is not None
    assert np.isfinite(gradient.to_numpy()).all()
