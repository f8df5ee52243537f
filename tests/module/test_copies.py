"""Copies of models: who a parameter is, and what goes along, for every way in which a copy can be made."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.module.models import Mlp, MlpConfig, Tied
from tests.support import TRACKING_BACKENDS, AnyTensor, UnderTest, const, params, tracked
from tinyburn import Autodiff, ConfigError, Device, GraphError, Module, NdArray, Param, Traced, nn, optim

Way = Callable[[Any], Any]


def elsewhere() -> Device[Any]:
    backend: Any = Autodiff[Traced[NdArray]]
    device: Device[Any] = backend.device(float_dtype="float64")
    return device


COPIES: dict[str, Way] = {
    "fork": lambda model: model.fork(tracked()),
    "fork to another backend": lambda model: model.fork(elsewhere()),
    "to_device": lambda model: model.to_device(elsewhere()),
    "valid": lambda model: model.valid(),
    "no_grad": lambda model: model.no_grad(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy of a list": lambda model: copy.deepcopy([{"model": model}])[0]["model"],
    "copy of each param": lambda model: model.map(lambda _, param: copy.copy(param)),
    "deepcopy of each param": lambda model: model.map(lambda _, param: copy.deepcopy(param)),
    "fork of each param": lambda model: model.map(lambda _, param: param.fork(tracked())),
    "a param of each value": lambda model: model.map(lambda _, param: Param.from_tensor(param.val())),
}
"""Every way to make other parameters out of those of a model."""

CHANGES: dict[str, Way] = {
    "map": lambda model: model.map(lambda _, param: param.replaced(param.val())),
    "map to new values": lambda model: model.map(lambda _, param: param.replaced((param.val() * 2.0).detach())),
    "freeze": lambda model: model.freeze(),
    "unfreeze": lambda model: model.freeze().unfreeze(),
    "step": lambda model: stepped(model),
    "step with momentum": lambda model: stepped(model, momentum=0.5),
}
"""Every way to give the same parameters another value or another state."""

SAME: dict[str, Way] = {
    "map to itself": lambda model: model.map(lambda _, param: param),
    "to_device, already there": lambda model: model.to_device(tracked()),
    "copy": copy.copy,
}
"""Every way to another module with the very same parameters."""

ways = pytest.mark.parametrize("way", [pytest.param(way, id=name) for name, way in (COPIES | CHANGES | SAME).items()])
copies = pytest.mark.parametrize("way", [pytest.param(way, id=name) for name, way in COPIES.items()])
changes = pytest.mark.parametrize("way", [pytest.param(way, id=name) for name, way in CHANGES.items()])
same = pytest.mark.parametrize("way", [pytest.param(way, id=name) for name, way in SAME.items()])


class Pair(Module):
    """A model and what was made of it, side by side, as in learning from a slower copy of oneself."""

    def __init__(self, online: Module, target: Module) -> None:
        self.online = online
        self.target = target

    def forward(self, x: AnyTensor) -> AnyTensor:
        out: AnyTensor = self.online(x)
        return out


def mlp(device: Device[Any] | None = None) -> Mlp:
    device = device or tracked()
    device.seed(3)
    model = MlpConfig(4).init(device)
    return Mlp([nn.Linear(layer.weight, layer.bias) for layer in model.layers])


def batch(model: Mlp) -> AnyTensor:
    return const(np.linspace(-1, 1, 8).reshape(2, 4), model.layers[0].weight.val().device)


def stepped(model: Any, momentum: float = 0.0) -> Any:
    grads = sum_of_params(model).backward()
    return optim.SgdConfig(momentum).init().step(0.1, model, grads)


def sum_of_params(model: Module) -> AnyTensor:
    sums = [param.val().sum() for _, param in model.named_params() if not param.is_frozen]
    return sum(sums[1:], start=sums[0])


def values(model: Module) -> dict[str, Any]:
    return {path: param.val().to_numpy().tolist() for path, param in model.named_params()}


def ids(model: Module) -> list[Any]:
    return [param.id for _, param in model.named_params()]


# Who a parameter is


@copies
def test_a_copy_beside_its_original_is_another_model(way: Way) -> None:
    online = mlp()
    target = way(online)
    pair = Pair(online, target)
    assert len(ids(pair)) == len(set(ids(pair))) == 6
    assert pair.num_params() == 2 * online.num_params()
    assert values(target) == values(online)
    trained = optim.SgdConfig(momentum=0.9).init().step(0.1, pair, pair(batch(online)).sum().backward())
    assert values(trained.target) == values(online)
    assert values(trained.online) != values(online)
    assert ids(trained) == ids(pair)


@copies
def test_training_a_copy_leaves_the_original(way: Way) -> None:
    online = mlp()
    target = way(online)
    if not target.num_params(trainable=True) or not target.layers[0].weight.val().backend.is_autodiff:
        return
    trained = optim.SgdConfig().init().step(0.1, target, target(batch(target)).sum().backward())
    assert values(trained) != values(target) == values(online)


@changes
def test_the_same_parameters_with_other_values_have_their_ids_and_do_not_merge(way: Way) -> None:
    model = mlp()
    changed = way(model)
    assert ids(changed) == ids(model)
    assert Pair(model, changed).num_params() == 2 * model.num_params()
    grads = sum_of_params(model).backward()
    assert all(grads.get(param.val()) is None for _, param in changed.named_params())


@same
def test_the_same_parameters_are_shared(way: Way) -> None:
    model = mlp()
    again = way(model)
    assert again is not model
    pair = Pair(model, again)
    assert ids(pair) == ids(model)
    trained = optim.SgdConfig().init().step(0.1, pair, pair(batch(model)).sum().backward())
    assert trained.online.layers[0].weight is trained.target.layers[0].weight  # type: ignore[attr-defined]


@ways
def test_what_is_shared_stays_shared(way: Way) -> None:
    changed = way(Tied(tracked()))
    assert changed.embedding is changed.output
    assert [path for path, _ in changed.named_params()] == ["embedding", "scale"]
    layer = mlp().layers[0]
    twice = way(Pair(layer, layer))
    assert twice.online is twice.target or twice.online.weight is twice.target.weight


@pytest.mark.parametrize("under_test", params(TRACKING_BACKENDS))
def test_a_copy_is_another_model_on_every_backend(under_test: UnderTest) -> None:
    device = under_test.device()
    model = mlp(device)
    for made in (model.fork(device), copy.deepcopy(model), model.no_grad()):
        assert values(made) == values(model)
        assert not set(ids(made)) & set(ids(model))
        grads = model(batch(model)).sum().backward()
        assert all(grads.get(param.val()) is None for _, param in made.named_params())


def test_two_values_of_one_parameter_are_not_trained_as_one() -> None:
    model = mlp()
    pair = Pair(model, model.map(lambda _, param: param.replaced(param.val())))
    grads = sum_of_params(pair).backward()
    with pytest.raises(
        ConfigError, match=r"online.layers.0.weight and target.layers.0.weight are two values"
    ) as caught:
        optim.SgdConfig().init().step(0.1, pair, grads)
    assert "fork(device)" in str(caught.value)


def test_a_leaf_belongs_to_one_parameter() -> None:
    tensor = const([1.0, 2.0], tracked()).require_grad()
    first, second = Param.from_tensor(tensor), Param.from_tensor(tensor)
    grads = (first.val() * 3.0).sum().backward()
    assert grads.get(first.val()) is not None
    assert grads.get(tensor) is not None
    assert grads.get(second.val()) is None
    assert grads.get(second.replaced(first.val()).val()) is None


def test_an_optimizer_copied_with_its_model_goes_on_and_alone_says_so() -> None:
    optimizer = optim.SgdConfig(momentum=0.9).init()

    def step(optimizer: optim.Sgd, model: Mlp) -> Mlp:
        return optimizer.step(0.1, model, model(batch(model)).sum().backward())

    model = step(optimizer, mlp())
    twins = [copy.deepcopy((model, optimizer)), copy.deepcopy((optimizer, model))[::-1]]
    expected = values(step(optimizer, model))
    assert [values(step(its_optimizer, twin)) for twin, its_optimizer in twins] == [expected, expected]
    for wrong in ((copy.deepcopy(optimizer), model), (optimizer, copy.deepcopy(model))):
        with pytest.raises(ConfigError, match="its state is that of other parameters") as caught:
            step(*wrong)
        assert "copy.deepcopy((model, optimizer))" in str(caught.value)


# Freezing


@ways
def test_what_is_frozen_stays_frozen(way: Way) -> None:
    changed = way(mlp().freeze("layers.0"))
    frozen = {path: param.is_frozen for path, param in changed.named_params()}
    everything = {"layers.0.weight", "layers.0.bias", "layers.1.weight"}
    assert set(frozen) == everything
    if way is CHANGES["unfreeze"]:
        expected = set()
    elif way in (CHANGES["freeze"], COPIES["no_grad"]):
        expected = everything
    elif way is COPIES["a param of each value"]:  # a new parameter, of a value alone
        expected = set()
    else:
        expected = {"layers.0.weight", "layers.0.bias"}
    assert {path for path, is_frozen in frozen.items() if is_frozen} == expected
    for _, param in changed.named_params():
        if param.val().backend.is_autodiff:
            assert param.val().is_require_grad is not param.is_frozen


def test_frozen_on_a_plain_backend_is_frozen_on_autodiff() -> None:
    model = mlp().no_grad().valid()
    assert model.fork(tracked()).num_params(trainable=True) == 0


@pytest.mark.parametrize(
    ("part", "trainable"),
    [
        ((), 0),
        (("layers.0",), 6),
        (("layers.0.bias",), 18),
        (("layers",), 0),
        (("layers.0.bias", "layers.1"), 12),
    ],
    ids=str,
)
def test_freezing_by_path(part: tuple[str, ...], trainable: int) -> None:
    model = mlp()
    frozen = model.freeze(*part)
    assert [frozen.num_params(), frozen.num_params(trainable=True)] == [21, trainable]
    assert frozen.num_params(trainable=False) == 21 - trainable
    assert model.num_params(trainable=True) == 21
    assert frozen.unfreeze(*part).num_params(trainable=True) == 21
    assert ids(frozen) == ids(model)


def test_freezing_by_part() -> None:
    model = mlp()
    assert model.layers[0].bias is not None
    assert model.freeze(model.layers[0]).num_params(trainable=True) == 6
    assert model.freeze(model.layers[0].bias, model.layers[1]).num_params(trainable=True) == 12
    assert Tied(tracked()).freeze("output").num_params(trainable=True) == 1


@pytest.mark.parametrize("part", ["layer", "layers.2", "layers.0.weights", "", mlp(), mlp().layers[0].weight], ids=repr)
def test_freezing_what_is_not_there(part: Any) -> None:
    for freeze in (mlp().freeze, mlp().unfreeze):
        with pytest.raises(ConfigError, match=r"no parameter of Mlp is in .*") as caught:
            freeze("layers.0", part)
        assert "layers.0.weight, layers.0.bias, layers.1.weight" in str(caught.value)


@pytest.mark.parametrize("part", [3, None, ["layers.0"], b"layers"], ids=repr)
def test_freezing_by_something_else(part: Any) -> None:
    with pytest.raises(ConfigError, match="neither a path, a module nor a parameter"):
        mlp().freeze(part)


def test_a_step_trains_what_is_not_frozen() -> None:
    model = mlp().freeze("layers.1")
    trained = optim.SgdConfig(weight_decay=0.1).init().step(0.1, model, model(batch(model)).sum().backward())
    assert trained.layers[1].weight is model.layers[1].weight
    assert trained.layers[0].weight is not model.layers[0].weight


def test_unfreezing_goes_on_with_the_momentum() -> None:
    """With constant gradient 1, momentum 0.5 and lr 1: steps of 1, then, after a pause, of 1.5."""
    layer = nn.Linear(Param.from_tensor(const([[5.0]], tracked())), Param.from_tensor(const([5.0], tracked())))
    optimizer = optim.SgdConfig(momentum=0.5).init()
    layer = optimizer.step(1.0, layer, sum_of_params(layer).backward())
    layer = layer.freeze("weight")
    layer = optimizer.step(1.0, layer, sum_of_params(layer).backward())
    layer = layer.unfreeze("weight")
    layer = optimizer.step(1.0, layer, sum_of_params(layer).backward())
    assert values(layer) == {"weight": [[5.0 - 1 - 1.5]], "bias": [5.0 - 1 - 1.5 - 1.75]}


def test_a_frozen_parameter_takes_no_tracked_result() -> None:
    param = mlp().layers[0].weight.freeze()
    with pytest.raises(GraphError, match="detach"):
        param.replaced(mlp().layers[0].weight.val() * 2.0)
    assert repr(param) == "Param((4, 3), float64, frozen)"


def test_the_display_tells_frozen_and_shared() -> None:
    layer = nn.LinearConfig(2, 1).init(tracked()).freeze("bias")
    model = Pair(layer, layer)
    model.extra = [layer.weight]  # type: ignore[attr-defined]
    assert repr(model) == (
        "Pair {\n"
        "  online: Linear {\n"
        "    d_input: 2\n"
        "    d_output: 1\n"
        "    weight: Param [2, 1] float64\n"
        "    bias: Param [1] float64, frozen\n"
        "    params: 3 (2 trainable, 1 frozen)\n"
        "  }\n"
        "  target: Linear, shared with online\n"
        "  extra.0: Param [2, 1] float64, shared with online.weight\n"
        "  params: 3 (2 trainable, 1 frozen)\n"
        "}"
    )


@ways
def test_a_copy_goes_without_the_cycle_collector(way: Way) -> None:
    """A copy that was part of a cycle would keep its buffers for a while, and the memory log would tell of them."""
    gc.collect()
    gc.disable()
    try:
        made = way(mlp())
        gone = weakref.ref(made), weakref.ref(made.layers[0].weight.val())
        del made
        assert [ref() for ref in gone] == [None, None]
    finally:
        gc.enable()
