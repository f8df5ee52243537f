"""Layers that convolve and pool against PyTorch's, stored by tests/golden/convolution.py."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.golden.convolution import CASES, DTYPES, FILE, Case, parameters, wave, weights
from tests.nn.layers import layer_of
from tests.support import BASES, NDARRAY, WGPU, AnyTensor, UnderTest, const, decorated, params, params_with_dtype
from tinyburn import Autodiff, BalancedCheckpointing, Meta, NdArray, Tensor, Traced
from tinyburn.backend import convolution

GOLDEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
TWICE = Autodiff[Autodiff[NdArray]]


def check_against_pytorch(case: Case, device: Any, dtype: str) -> None:
    """Value and gradients. A case without goldens of its own for float32 is held to those of float64."""
    golden = GOLDEN[f"{case.id} {dtype if dtype in case.dtypes else 'float64'}"]
    layer, x = layer_of(case, device, dtype), const(wave(case.shape, dtype), device).require_grad()
    result = layer(x)
    assert result.shape == tuple(golden["shape"])
    assert_near(result, golden["value"], dtype)
    grads = (result * const(weights(result.shape, dtype), device)).sum().backward()
    found = [x.grad(grads), *[parameter.val().grad(grads) for _, parameter in layer.named_params()]]
    for gradient, expected in zip(found, golden["gradients"], strict=True):
        assert_near(gradient, expected, dtype)


def assert_near(found: AnyTensor | None, expected: list[float], dtype: str) -> None:
    assert found is not None
    wanted = np.array(expected)
    np.testing.assert_allclose(found.to_numpy().ravel(), wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@every_case
@pytest.mark.parametrize(("base", "dtype"), params_with_dtype(*DTYPES, backends=BASES))
def test_equals_pytorch(case: Case, base: UnderTest, dtype: str) -> None:
    check_against_pytorch(case, base.inside(Autodiff).device(dtype), dtype)


@pytest.mark.parametrize("is_mirrored", [False, True, None])
@pytest.mark.parametrize("backend", [Autodiff[NdArray], Autodiff[NdArray, BalancedCheckpointing]])
@every_case
def test_every_way_gives_the_same(
    case: Case, backend: Any, is_mirrored: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pieces of one window of the first dim, and `conv_transpose` by either way where both are possible."""
    monkeypatch.setattr(convolution, "COLUMNS", 0)
    monkeypatch.setattr(convolution, "SHARE", 10**9)
    monkeypatch.setattr(convolution, "RATIO", {False: 0, True: 10**9, None: convolution.RATIO}[is_mirrored])
    check_against_pytorch(case, backend.device(float_dtype="float64"), "float64")


@pytest.mark.parametrize("base", params([*decorated(NDARRAY), *decorated(WGPU)[1:]]))
@pytest.mark.parametrize("case", CASES[7:9] + CASES[21:22] + CASES[29:30], ids=lambda case: case.id)
def test_a_decorator_changes_nothing(case: Case, base: UnderTest) -> None:
    golden, device = GOLDEN[f"{case.id} float64"], base.device()
    result = layer_of(case, device, base.float_dtype)(const(wave(case.shape, base.float_dtype), device))
    assert_near(result, golden["value"], base.float_dtype)


@every_case
@pytest.mark.parametrize("backend", [Meta, Traced[Meta]])
def test_meta_has_the_shapes(case: Case, backend: Any) -> None:
    device = backend.device()
    result = layer_of(case, device, "float32")(const(wave(case.shape, "float32"), device))
    assert result.shape == tuple(GOLDEN[f"{case.id} float64"]["shape"])
    assert result.dtype == "float32"


# Derivatives by central differences, and derivatives of derivatives


def energy(case: Case, values: list[np.ndarray[Any, Any]], backend: Any = Autodiff[NdArray]) -> tuple[Any, list[Any]]:
    """A sum of cubes of the result, which is linear in none of an input and parameters, and the gradient for each."""
    device = backend.device(float_dtype="float64")
    layer = layer_of(case, device, "float64")
    leaves = [const(value, device).require_grad() for value in values]
    for name, leaf in zip(("weight", "bias"), leaves[1:], strict=False):
        getattr(layer, name)._tensor = leaf
    result = layer(leaves[0])
    loss = (result * result * result).sum()
    grads = loss.backward()
    return loss, [leaf.grad(grads) for leaf in leaves]


def gradient_in(x: AnyTensor, grads: Any) -> AnyTensor:
    """A gradient, which must exist."""
    found = x.grad(grads)
    assert found is not None
    return found


def inputs_of(case: Case) -> list[np.ndarray[Any, Any]]:
    return [wave(case.shape, "float64"), *parameters(case, "float64")]


@every_case
def test_gradients_are_central_differences(case: Case) -> None:
    values = inputs_of(case)
    if not values[0].size:
        pytest.skip("no element to move")
    _, gradients = energy(case, values)
    for at, value in enumerate(values):
        direction = np.cos(np.arange(value.size)).reshape(value.shape)
        step = 1e-5
        ends = []
        for sign in (1, -1):
            moved = [value + sign * step * direction if other == at else x for other, x in enumerate(values)]
            ends.append(energy(case, moved)[0].into_scalar())
        slope = (gradients[at].to_numpy() * direction).sum()
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("case", [case for case in CASES if case.shape[0]][::2], ids=lambda case: case.id)
def test_second_derivatives_are_central_differences_of_the_first(case: Case) -> None:
    values = inputs_of(case)
    device = TWICE.device(float_dtype="float64")
    layer = layer_of(case, device, "float64")
    inner = [const(value, device.inner).require_grad() for value in values]
    outer = [Tensor.from_inner(x, device).require_grad() for x in inner]
    for name, leaf in zip(("weight", "bias"), outer[1:], strict=False):
        getattr(layer, name)._tensor = leaf
    result = layer(outer[0])
    grads = (result * result * result).sum().backward()
    directions = [np.cos(np.arange(value.size)).reshape(value.shape) for value in values]
    pairs = zip(outer, directions, strict=True)
    slope: Any = sum((gradient_in(x, grads) * const(along, device.inner)).sum() for x, along in pairs)
    second = slope.backward()
    step = 1e-5
    ends = [energy(case, [x + sign * step * d for x, d in zip(values, directions, strict=True)])[1] for sign in (1, -1)]
    for x, plus, minus in zip(inner, *ends, strict=True):
        wanted = (plus.to_numpy() - minus.to_numpy()) / (2 * step)
        np.testing.assert_allclose(x.grad(second).to_numpy(), wanted, rtol=1e-5, atol=1e-5)
