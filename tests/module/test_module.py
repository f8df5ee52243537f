"""Module: the attributes are the registry, and one walk over them is behind everything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.module.models import Mlp, MlpConfig, Nested, Tied
from tests.support import UnderTest, assert_close, const, gradient_of, plain, tracked
from tinyburn import (
    Autodiff,
    ConfigError,
    Device,
    DTypeMismatch,
    GraphError,
    Meta,
    Module,
    NdArray,
    Param,
    ShapeError,
    Tensor,
    Traced,
    nn,
    optim,
)

DISPLAY = """\
Mlp {
  layers.0: Linear {
    d_input: 4
    d_output: 3
    weight: Param [4, 3] float64
    bias: Param [3] float64
    params: 15
  }
  layers.1: Linear {
    d_input: 3
    d_output: 2
    weight: Param [3, 2] float64
    params: 6
  }
  activation: Relu {
    params: 0
  }
  params: 21
}"""


def mlp(device: Device[Any] | None = None) -> Mlp:
    return MlpConfig(4).init(device or tracked())


def values(model: Module) -> dict[str, list[Any]]:
    return {path: param.val().to_numpy().tolist() for path, param in model.named_params()}


def test_the_display_is_golden() -> None:
    assert repr(mlp()) == DISPLAY
    assert repr(mlp(plain())) == DISPLAY


def test_params_have_paths_in_the_order_of_assignment() -> None:
    assert [path for path, _ in mlp().named_params()] == ["layers.0.weight", "layers.0.bias", "layers.1.weight"]
    assert mlp().num_params() == 21


def test_containers_are_walked_however_deep() -> None:
    model = Nested(tracked())
    paths = ["heads.left.weight", "heads.left.bias", "heads.right.0", "pair.0"]
    assert [path for path, _ in model.named_params()] == paths
    assert model.num_params() == 6
    mapped = model.map(lambda path, param: param)
    assert [type(mapped.heads), type(mapped.pair), mapped.nothing] == [dict, tuple, None]
    assert [path for path, _ in mapped.named_params()] == paths
    text = repr(model)
    assert "heads.left: Linear {" in text
    assert "name: nested" in text
    assert "0x" not in text


def test_visit_sees_each_parameter_once() -> None:
    seen: list[tuple[str, int]] = []
    model = mlp()
    model.visit(lambda path, param: seen.append((path, param.id)))
    assert [path for path, _ in seen] == [path for path, _ in model.named_params()]
    assert len({number for _, number in seen}) == 3


def test_map_makes_another_module_and_leaves_the_first() -> None:
    model = mlp()
    before = values(model)
    doubled = model.map(lambda _, param: param.replaced((param.val() * 2.0).detach()))
    assert values(model) == before
    assert doubled.layers[0] is not model.layers[0]
    for path, found in values(doubled).items():
        assert_close(found, np.array(before[path]) * 2)
    assert [param.id for _, param in doubled.named_params()] == [param.id for _, param in model.named_params()]
    assert all(param.val().is_require_grad for _, param in doubled.named_params())


def test_a_shared_parameter_is_one() -> None:
    model = Tied(tracked())
    assert [path for path, _ in model.named_params()] == ["embedding", "scale"]
    assert model.num_params() == 10
    calls: list[str] = []

    def note(path: str, param: Param[Any, Any]) -> Param[Any, Any]:
        calls.append(path)
        return param.replaced(param.val().detach())

    for changed in (model.map(note), model.fork(tracked()), model.valid(), model.no_grad()):
        assert changed.embedding is changed.output
    assert calls == ["embedding", "scale"]


def test_a_shared_parameter_gets_the_sum_of_both_gradients() -> None:
    """By central differences over the one matrix that stands in two places."""
    model = Tied(tracked())
    x = const([[1.0, -2.0, 0.5]], tracked())
    grads = model(x).sum().backward()
    found = gradient_of(model.embedding.val(), grads)
    matrix = model.embedding.val().to_numpy()

    def loss(w: Any) -> float:
        return float((np.tanh(x.to_numpy() @ w) @ w.T * 2).sum())

    for place in np.ndindex(matrix.shape):
        step = np.zeros_like(matrix)
        step[place] = 1e-6
        assert found[place] == pytest.approx((loss(matrix + step) - loss(matrix - step)) / 2e-6, rel=1e-6)


def test_valid_is_the_model_on_the_inner_backend() -> None:
    model = mlp()
    inside = model.valid()
    assert inside.layers[0].weight.val().backend is NdArray
    assert values(inside) == values(model)
    x = np.ones((2, 4))
    assert_close(inside(const(x, plain())).to_numpy(), model(const(x, tracked())).to_numpy())


def test_no_grad_is_a_copy_of_constants() -> None:
    model = mlp()
    frozen = model.no_grad()
    x = const(np.ones((1, 4)), tracked())
    with pytest.raises(GraphError):
        frozen(x).backward()
    assert len(model(x).backward()) == 3
    assert values(frozen) == values(model)


def test_fork_trains_on_its_own() -> None:
    model = mlp()
    other = model.fork(tracked())
    x = const(np.ones((1, 4)), tracked())
    grads = other(x).backward()
    assert model.layers[0].weight.val().grad(grads) is None
    assert other.layers[0].weight.val().grad(grads) is not None
    assert values(other) == values(model)


def test_to_device_moves_the_parameters() -> None:
    model = mlp()
    assert model.to_device(tracked()).layers[0].weight is model.layers[0].weight
    backend: Any = Autodiff[Traced[NdArray]]
    device = backend.device(float_dtype="float64")
    moved = model.to_device(device)
    assert moved.layers[0].weight.val().device == device
    assert values(moved) == values(model)
    assert len(moved(const(np.ones((1, 4)), device)).backward()) == 3
    assert model.to_device(Meta.device()).layers[1].weight.val().shape == (3, 2)


@pytest.mark.parametrize("way", ["to_device", "fork"])
def test_a_model_moves_to_another_backend_and_back(way: str, base: UnderTest) -> None:
    """To the same device `to_device` is the same model, and `fork` a new one; between backends both are new."""
    here, there = tracked("float32"), base.inside(Autodiff).device("float32")
    here.seed(1)  # not every seed will do: where each hidden number is below 0, relu lets no gradient through
    model = mlp(here)
    moved = getattr(model, way)(there)
    assert values(moved) == values(model)
    assert (moved.layers[0].weight is model.layers[0].weight) is (way == "to_device" and here == there)
    x = np.ones((1, 4))
    assert_close(moved(const(x, there)).to_numpy(), model(const(x, here)).to_numpy())
    grads = moved(const(x, there)).backward()
    assert len(grads) == 3
    trained = optim.SgdConfig().init().step(0.1, moved, grads).to_device(here)
    assert trained.layers[0].weight.val().device == here
    assert values(trained) != values(model)


def test_parameters_are_leaves_with_their_own_numbers() -> None:
    first, second = (Param.from_tensor(Tensor.ones((2,), tracked())) for _ in range(2))
    assert first.id != second.id
    assert first.val().is_require_grad
    assert repr(first) == "Param((2,), float64)"
    assert not Param.from_tensor(Tensor.ones((2,), plain())).val().is_require_grad


def test_what_cannot_be_a_parameter() -> None:
    for device in (plain(), tracked()):
        with pytest.raises(DTypeMismatch, match="float"):
            Param.from_tensor(Tensor.ones((2,), device, "int64"))
    with pytest.raises(GraphError, match="detach"):
        Param.from_tensor(Tensor.ones((2,), tracked()).require_grad() * 2.0)


def test_a_model_runs_on_every_backend(any_device: Device[Any]) -> None:
    model = mlp(any_device)
    assert model(Tensor.ones((5, 4), any_device)).shape == (5, 2)


def test_an_error_names_the_path_of_the_module() -> None:
    with pytest.raises(ShapeError) as caught:
        mlp()(const(np.ones((2, 5)), tracked()))
    assert str(caught.value).startswith("Linear (in mlp.layers.0)\n")


def test_graph_nodes_know_their_module() -> None:
    out = mlp()(const(np.ones((2, 4)), tracked()))
    assert out.primitive.node.path == "mlp.layers.1"


def test_a_module_used_twice_keeps_its_first_name() -> None:
    class Twice(Module):
        def __init__(self, device: Device[Any]) -> None:
            self.first = nn.LinearConfig(2, 2).init(device)
            self.second = self.first

        def forward(self, x: Any) -> Any:
            return self.second(self.first(x))

    model = Twice(tracked())
    assert [path for path, _ in model.named_params()] == ["first.weight", "first.bias"]
    assert model.num_params() == 6
    assert model(const([[1.0, 2.0]], tracked())).primitive.node.path == "twice.first"
    forked = model.fork(tracked())
    assert forked.first.weight is forked.second.weight


def test_modules_take_keywords_and_return_anything() -> None:
    class Flexible(Module):
        def forward(self, *values: int, scale: int = 1) -> tuple[int, ...]:
            return tuple(value * scale for value in values)

    assert Flexible()(1, 2, scale=3) == (3, 6)
    assert repr(Flexible()) == "Flexible {\n  params: 0\n}"


# A module inside itself


class Node(Module):
    def __init__(self, device: Device[Any]) -> None:
        self.layer = nn.LinearConfig(2, 2).init(device)
        self.parts: Any = None


def itself(device: Device[Any]) -> Module:
    node = Node(device)
    node.parts = node
    return node


def in_a_list(device: Device[Any]) -> Module:
    node = Node(device)
    node.parts = [{"first": (node,)}]
    return node


def two_that_hold_each_other(device: Device[Any]) -> Module:
    node, other = Node(device), Node(device)
    node.parts, other.parts = other, node
    return node


def a_list_in_itself(device: Device[Any]) -> Module:
    node = Node(device)
    node.parts = [1]
    node.parts.append(node.parts)
    return node


def a_dict_in_itself(device: Device[Any]) -> Module:
    node = Node(device)
    node.parts = {}
    node.parts["again"] = [node.parts]
    return node


@pytest.mark.parametrize(
    "make", [itself, in_a_list, two_that_hold_each_other, a_list_in_itself, a_dict_in_itself], ids=lambda f: f.__name__
)
def test_a_module_inside_itself_is_one_clear_error(make: Callable[[Device[Any]], Module]) -> None:
    device = Autodiff[NdArray].device()
    model, outer = make(device), Node(device)
    outer.parts = [model]
    for each in (model, outer):
        for call in (
            lambda m=each: repr(m),
            lambda m=each: list(m.named_params()),
            lambda m=each: m.num_params(),
            lambda m=each: m.visit(lambda path, param: None),
            lambda m=each: m.to_device(NdArray.device()),
            lambda m=each: m.fork(device),
            lambda m=each: m.valid(),
            lambda m=each: m.no_grad(),
            lambda m=each: m.map(lambda path, param: param),
        ):
            with pytest.raises(ConfigError, match="inside itself"):
                call()


def test_a_part_that_is_there_twice_is_not_inside_itself() -> None:
    node = Node(Autodiff[NdArray].device())
    shared = [node.layer]
    node.parts = [shared, {"again": shared, "layer": node.layer}, node.layer]
    assert node.num_params() == 6
    assert repr(node).count("Linear") == 5
