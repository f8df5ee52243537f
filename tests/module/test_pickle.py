"""Models, tensors, backends and devices in a pickle, and in another process."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from typing import Any

import numpy as np
import pytest

from tests.module.models import Mlp, MlpConfig, Tied
from tests.support import (
    TRACKING_BACKENDS,
    UnderTest,
    const,
    gradient_of,
    ints,
    leaf,
    mask,
    params,
    plain,
    tracked,
)
from tinyburn import (
    Autodiff,
    BackendUnavailable,
    BalancedCheckpointing,
    Device,
    Distribution,
    GraphError,
    Meta,
    Module,
    NdArray,
    Tensor,
    Traced,
    Wgpu,
    optim,
)
from tinyburn.backend.decorator import Differentiable

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def pickled(value: Any, protocol: int = pickle.DEFAULT_PROTOCOL) -> Any:
    return pickle.loads(pickle.dumps(value, protocol))


def mlp(device: Device[Any]) -> Mlp:
    device.seed(3)
    return MlpConfig(4).init(device)


def values(model: Module) -> dict[str, Any]:
    return {path: param.val().to_numpy().tolist() for path, param in model.named_params()}


def step(optimizer: optim.Sgd, model: Mlp) -> Mlp:
    x = const(np.linspace(-1, 1, 8).reshape(2, 4), model.layers[0].weight.val().device)
    return optimizer.step(0.1, model, model(x).sum().backward())


# Backends and devices, by name


BACKENDS: list[Any] = [
    NdArray,
    Wgpu,
    Meta,
    Autodiff,
    Traced,
    Differentiable,
    Autodiff[NdArray],
    Autodiff[NdArray, BalancedCheckpointing],
    Traced[Meta],
    Autodiff[Traced[NdArray]],
    Autodiff[Autodiff[Traced[Wgpu]]],
]


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.__name__)
def test_a_backend_is_pickled_by_name(backend: Any) -> None:
    for protocol in PROTOCOLS:
        assert pickled(backend, protocol) is backend
    assert copy.deepcopy(backend) is copy.copy(backend) is backend


@pytest.mark.parametrize("under_test", params([*TRACKING_BACKENDS, UnderTest(NdArray), UnderTest(Meta)]))
def test_a_device_is_opened_again(under_test: UnderTest) -> None:
    device = under_test.device("float32")
    device.seed(5)
    again = pickled(device)
    assert again.backend is device.backend
    assert (again.name, again.float_dtype, again.int_dtype) == (device.name, device.float_dtype, device.int_dtype)
    if "Traced" not in under_test.name:
        assert again == device
    if device.backend.has_values:
        draws = [Tensor.random((4,), Distribution.Normal(0, 1), place).to_numpy().tolist() for place in (device, again)]
        assert draws[0] == draws[1]


def test_a_traced_device_begins_a_new_log() -> None:
    device: Any = Autodiff[Traced[NdArray]].device()
    model = mlp(device)
    loaded, again = pickled((model, device))
    assert again != device
    assert loaded.layers[0].weight.val().device is again
    log = again.inner.log
    assert log.live_bytes == 4 * model.num_params()
    assert device.inner.log.live_bytes == log.live_bytes


def test_a_device_that_is_not_there_says_so() -> None:
    device = plain()
    device.name = "cpu:7"
    with pytest.raises(BackendUnavailable, match="cpu:7"):
        pickled(device)


# Tensors


@pytest.mark.parametrize("under_test", params(TRACKING_BACKENDS))
def test_a_tensor_takes_its_values_along(under_test: UnderTest) -> None:
    device = under_test.device()
    for tensor in (const([[1.0, np.inf]], device), ints([3, -1], device), mask([True, False], device)):
        again = pickled(tensor)
        assert again.into_data() == tensor.into_data()
        assert again.backend is under_test.backend
        assert not again.is_require_grad
    strided = const(np.arange(6.0).reshape(2, 3), device).transpose()[1:, :]
    assert pickled(strided).into_data() == strided.into_data()
    assert pickled(const(np.ones((0, 2)), device)).shape == (0, 2)


@pytest.mark.parametrize("under_test", params(TRACKING_BACKENDS))
def test_a_leaf_is_a_leaf_and_a_result_a_constant(under_test: UnderTest) -> None:
    x = leaf([2.0, 3.0], under_test.device())
    again = pickled(x)
    assert gradient_of(again, (again * again).sum().backward()).tolist() == [4.0, 6.0]
    result = pickled({"state": [x * 2.0]})["state"][0]
    assert result.to_numpy().tolist() == [4.0, 6.0]
    with pytest.raises(GraphError):
        result.sum().backward()


def test_shapes_without_values() -> None:
    x = Tensor.ones((2, 3), Autodiff[Meta].device()).require_grad()
    again = pickled(x)
    assert (again.shape, again.dtype, again.is_require_grad) == ((2, 3), x.dtype, True)


def test_a_loaded_tensor_is_nobody_elses() -> None:
    buffers: list[Any] = []
    data = pickle.dumps(const([1.0, 2.0], plain()), 5, buffer_callback=buffers.append)
    mine = [bytearray(buffer.raw()) for buffer in buffers]
    loaded = pickle.loads(data, buffers=mine)
    for buffer in mine:
        buffer[:] = bytes(len(buffer))
    assert loaded.to_numpy().tolist() == [1.0, 2.0]


def test_gradients_say_how_to_send_them() -> None:
    model = mlp(tracked())
    grads = model(const(np.ones((1, 4)), tracked())).sum().backward()
    with pytest.raises(GraphError, match=r"grads.named\(model\)"):
        pickle.dumps(grads)
    named = grads.named(model)
    sent = pickled(named)
    assert {path: gradient.into_data() for path, gradient in sent.items()} == {
        path: gradient.into_data() for path, gradient in named.items() if gradient is not None
    }
    assert copy.copy(grads).tensors() == grads.tensors()


# Models


@pytest.mark.parametrize("under_test", params(TRACKING_BACKENDS))
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_model_and_its_optimizer_go_on_as_they_would_have(under_test: UnderTest, protocol: int) -> None:
    optimizer = optim.SgdConfig(momentum=0.9).init()
    model = step(optimizer, mlp(under_test.device()).freeze("layers.1"))
    loaded, its_optimizer = pickled((model, optimizer), protocol)
    assert values(loaded) == values(model)
    assert not {param.id for _, param in loaded.named_params()} & {param.id for _, param in model.named_params()}
    assert [param.is_frozen for _, param in loaded.named_params()] == [False, False, True]
    assert repr(loaded) == repr(model)
    assert values(step(its_optimizer, loaded)) == values(step(optimizer, model))


def test_what_is_shared_stays_shared_in_a_pickle() -> None:
    loaded = pickled(Tied(tracked()))
    assert loaded.embedding is loaded.output
    assert loaded.num_params() == 10


def test_the_same_bytes_each_time() -> None:
    assert pickle.dumps(mlp(tracked())) == pickle.dumps(mlp(tracked()))


# In another process


def _trained(model: Mlp, optimizer: optim.Sgd) -> tuple[Mlp, optim.Sgd, str]:
    return step(optimizer, model), optimizer, model.layers[0].weight.val().backend.__name__


def test_a_model_is_trained_in_another_process() -> None:
    """A new interpreter, which shares nothing with this one, makes the same step."""
    optimizer = optim.SgdConfig(momentum=0.9).init()
    devices: list[Device[Any]] = [tracked(), Autodiff[Traced[NdArray]].device(float_dtype="float64")]
    models = [step(optimizer, mlp(devices[0])), mlp(devices[1])]
    optimizers = [optimizer, optim.SgdConfig().init()]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        returned = pool.starmap(_trained, zip(models, optimizers, strict=True))
    for (trained, its_optimizer, backend), model, mine in zip(returned, models, optimizers, strict=True):
        here = step(mine, model)
        assert values(trained) == values(here)
        assert backend == model.layers[0].weight.val().backend.__name__
        assert values(step(its_optimizer, trained)) == values(step(mine, here))
