"""Values and gradients of the layers against PyTorch's, on copied weights, stored by tests/golden/layers.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.golden.layers import CASES, DTYPE, FILE, input_of, params_of
from tests.golden.operations import weights
from tests.support import BASES, NDARRAY, AnyTensor, UnderTest, const, gradient_of, ints, leaf, params
from tinyburn import Autodiff, BalancedCheckpointing, Module, NdArray, Param, Traced, activation, nn
from tinyburn.memory import measure, plan

GOLDEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))

CONFIGS: dict[str, Any] = {
    "layer_norm": nn.LayerNormConfig(5),
    "layer_norm of rank 3": nn.LayerNormConfig(5),
    "layer_norm without beta": nn.LayerNormConfig(5, bias=False),
    "layer_norm of small numbers": nn.LayerNormConfig(5, epsilon=1e-2),
    "embedding": nn.EmbeddingConfig(4, 3),
    "rms_norm": nn.RmsNormConfig(5),
    "batch_norm": nn.BatchNormConfig(3),
    "batch_norm of images": nn.BatchNormConfig(3),
    "group_norm": nn.GroupNormConfig(3, 6),
    "group_norm of images": nn.GroupNormConfig(2, 4),
    "group_norm without affine": nn.GroupNormConfig(2, 4, affine=False),
    "instance_norm": nn.InstanceNormConfig(3),
    "instance_norm of images": nn.InstanceNormConfig(3),
    "prelu": nn.PReluConfig(),
    "prelu by channel": nn.PReluConfig(3),
    "swiglu": nn.SwiGluConfig(4, 2),
}
WITH_SETTINGS: dict[str, Any] = {
    "leaky_relu": nn.LeakyReluConfig(),
    "celu": nn.CeluConfig(),
    "elu": nn.EluConfig(),
    "elu(0.5)": nn.EluConfig(0.5),
    "hard_sigmoid": nn.HardSigmoidConfig(1 / 6),
    "softplus(2)": nn.SoftplusConfig(2.0),
    "hard_shrink": nn.HardShrinkConfig(),
    "soft_shrink": nn.SoftShrinkConfig(),
    "thresholded_relu": nn.ThresholdedReluConfig(),
}
WITHOUT: dict[str, Callable[[], Module]] = {
    "selu": nn.Selu,
    "gelu_approximate": lambda: nn.Gelu(approximate=True),
    "hard_swish": nn.HardSwish,
    "log_sigmoid": nn.LogSigmoid,
    "mish": nn.Mish,
    "softsign": nn.Softsign,
    "tanhshrink": nn.Tanhshrink,
    "glu(-1)": nn.Glu,
    "glu(1)": lambda: nn.Glu(1),
    "softmax(1)": lambda: nn.Softmax(1),
    "log_softmax(0)": lambda: nn.LogSoftmax(0),
    "softmin(1)": lambda: Applied(lambda x: activation.softmin(x, 1)),
}


class Applied(Module):
    """A function as a module."""

    def __init__(self, function: Callable[[AnyTensor], AnyTensor]) -> None:
        self.function = function

    def forward(self, x: AnyTensor) -> AnyTensor:
        return self.function(x)


def layer_of(name: str, device: Any) -> Any:
    """The layer of a case, as its config makes it."""
    if name in WITHOUT:
        return WITHOUT[name]()
    return {**CONFIGS, **WITH_SETTINGS}[name].init(device)


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
    assert {*CONFIGS, *WITH_SETTINGS, *WITHOUT} == set(CASES) == set(GOLDEN)


@pytest.mark.parametrize("base", params(BACKENDS))
@pytest.mark.parametrize("name", CASES)
def test_equals_pytorch(name: str, base: UnderTest) -> None:
    device, golden = base.device(DTYPE), GOLDEN[name]
    layer = with_weights(layer_of(name, device), params_of(name))
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
        return layer_of(name, device)(x).sum().backward()

    measured = measure(job, Autodiff[NdArray].device(), 1)
    predicted = plan(job, 1, device=Autodiff[NdArray].device())
    assert predicted.events.events == measured.events.events
    assert predicted.events.names == measured.events.names
