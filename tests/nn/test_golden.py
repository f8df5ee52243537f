"""Values and gradients of the layers against PyTorch's, on copied weights, stored by tests/golden/layers.py."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.golden.layers import CASES, DTYPE, FILE, input_of, params_of
from tests.golden.operations import weights
from tests.support import BASES, NDARRAY, AnyTensor, UnderTest, const, gradient_of, ints, leaf, params
from tinyburn import Autodiff, BalancedCheckpointing, Module, NdArray, Param, Traced, nn
from tinyburn.memory import measure, plan

GOLDEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))

CONFIGS: dict[str, Any] = {
    "layer_norm": nn.LayerNormConfig(5),
    "layer_norm of rank 3": nn.LayerNormConfig(5),
    "layer_norm without beta": nn.LayerNormConfig(5, bias=False),
    "layer_norm of small numbers": nn.LayerNormConfig(5, epsilon=1e-2),
    "embedding": nn.EmbeddingConfig(4, 3),
}

BACKENDS = [
    *[base.inside(Autodiff) for base in BASES],
    NDARRAY.inside(Autodiff, BalancedCheckpointing),
    NDARRAY.inside(Traced).inside(Autodiff),
]


def with_weights(model: Module, values: dict[str, Any]) -> Any:
    """The layer with other numbers in its parameters, by their paths."""

    def replaced(path: str, param: Param[Any, Any]) -> Param[Any, Any]:
        return param.replaced(const(values[path], param.val().device))

    return model.map(replaced)


def assert_near(found: Any, expected: list[float]) -> None:
    np.testing.assert_allclose(np.ravel(found), np.array(expected), rtol=1e-5, atol=1e-5)


def test_each_case_is_computed_by_both() -> None:
    assert set(CONFIGS) == set(CASES) == set(GOLDEN)


@pytest.mark.parametrize("base", params(BACKENDS))
@pytest.mark.parametrize("name", CASES)
def test_equals_pytorch(name: str, base: UnderTest) -> None:
    device, golden = base.device(DTYPE), GOLDEN[name]
    layer = with_weights(CONFIGS[name].init(device), params_of(name))
    values = input_of(name)
    x: AnyTensor = leaf(values, device) if values.dtype.kind == "f" else ints(values, device)
    result: AnyTensor = layer(x)
    assert result.shape == tuple(golden["shape"])
    assert_near(result.to_numpy(), golden["value"])
    grads = (result * const(weights(result.shape, DTYPE), device)).sum().backward()
    leaves = {"x": x, **{path: param.val() for path, param in layer.named_params()}}
    for key, expected in golden["gradients"].items():
        assert_near(gradient_of(leaves[key], grads), expected)


@pytest.mark.parametrize("name", CASES)
def test_shapes_alone_write_the_same_log(name: str) -> None:
    def job(device: Any, _: int) -> Any:
        values = input_of(name)
        x: AnyTensor = leaf(values, device) if values.dtype.kind == "f" else ints(values, device)
        return CONFIGS[name].init(device)(x).sum().backward()

    measured = measure(job, Autodiff[NdArray].device(), 1)
    predicted = plan(job, 1, device=Autodiff[NdArray].device())
    assert predicted.events.events == measured.events.events
    assert predicted.events.names == measured.events.names
