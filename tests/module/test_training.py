"""Layers, losses and SGD: against closed forms, and against golden numbers from PyTorch."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.module.models import Mlp, MlpConfig
from tests.support import (
    TRACKING_BACKENDS,
    AnyTensor,
    UnderTest,
    assert_close,
    const,
    gradient_of,
    leaf,
    params_with_dtype,
    plain,
    tracked,
)
from tinyburn import ConfigError, Device, DTypeMismatch, GraphError, Initializer, Module, Param, ShapeError, nn, optim

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "mlp_sgd.json").read_text(encoding="utf-8"))


def linear(device: Device[Any]) -> nn.Linear:
    weight = Param.from_tensor(const([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device))
    return nn.Linear(weight, Param.from_tensor(const([0.5, -0.5], device)))


# Linear


def test_linear_is_x_w_plus_b(device: Device[Any]) -> None:
    layer = linear(device)
    assert layer(const([[1.0, 0.0, -1.0]], device)).to_numpy().tolist() == [[-3.5, -4.5]]


@pytest.mark.parametrize("batch", [1, 16, 0])
def test_the_batch_is_free(batch: int, any_device: Device[Any]) -> None:
    layer = nn.LinearConfig(3, 2).init(any_device)
    for shape in ((batch, 3), (2, batch, 3)):
        out = layer(const(np.ones(shape), any_device))
        assert out.shape == (*shape[:-1], 2)


def test_a_wrong_d_input_says_what_is_free_and_what_is_fixed() -> None:
    with pytest.raises(ShapeError) as caught:
        linear(plain())(const(np.ones((16, 4)), plain()))
    assert str(caught.value) == (
        "Linear (in linear)\n"
        "  input    : (16, 4)\n"
        "  expected : (any, 3)\n"
        "  weight   : (3, 2)\n"
        "  because the last dim is 4, and the weight fixes it at d_input = 3\n"
        "  hint: the other dims are free"
    )
    with pytest.raises(ShapeError, match=r"unsqueeze\(\)"):
        linear(plain())(const(np.ones(3), plain()))


def test_linear_keeps_to_the_models_dtype() -> None:
    with pytest.raises(DTypeMismatch):
        linear(plain())(const(np.ones((1, 3)), plain("float32")))


def test_without_a_bias(device: Device[Any]) -> None:
    layer = nn.LinearConfig(3, 2, bias=False, initializer=Initializer.Ones).init(device)
    assert layer.bias is None
    assert layer(const(np.ones((1, 3)), device)).to_numpy().tolist() == [[3, 3]]
    assert layer.num_params() == 6


def test_initializers_stay_in_their_range() -> None:
    device = plain()
    device.seed(1)
    layer = nn.LinearConfig(100, 200).init(device)
    assert layer.bias is not None
    for values in (layer.weight.val().to_numpy(), layer.bias.val().to_numpy()):
        assert abs(values).max() <= 0.1
        assert values.std() == pytest.approx(0.1 / math.sqrt(3), rel=0.1)
    normal = Initializer.Normal(0.0, 0.02).init((100, 200), device).val().to_numpy()
    assert normal.std() == pytest.approx(0.02, rel=0.05)
    assert (Initializer.Constant(3.0).init((2,), device).val().to_numpy() == 3).all()
    assert (Initializer.Zeros.init((2,), device).val().to_numpy() == 0).all()


# The training step of the document: W and b from ones 16 by 8 to zeros 16 by 4


def test_the_training_step_has_its_closed_form(tracking: Device[Any]) -> None:
    """L = mean(y²) over 16 by 4 with 16 equal rows y: ∂L/∂b = 2·16·y/64 = y/2, and each row of ∂L/∂W is the same."""
    layer = nn.LinearConfig(8, 4).init(tracking)
    x, target = const(np.ones((16, 8)), tracking), const(np.zeros((16, 4)), tracking)
    prediction = layer(x)
    grads = nn.MseLoss()(prediction, target).backward()
    y = prediction.to_numpy()[0]
    named = grads.named(layer)
    assert named["bias"] is not None
    assert named["weight"] is not None
    assert_close(named["bias"].to_numpy(), y / 2)
    assert_close(named["weight"].to_numpy(), np.tile(y / 2, (8, 1)))
    assert x.grad(grads) is None
    assert target.grad(grads) is None


def test_a_tracked_input_gets_a_gradient() -> None:
    layer = linear(tracked())
    x = leaf([[1.0, 2.0, 3.0]], tracked())
    assert gradient_of(x, layer(x).backward()).tolist() == [[3.0, 7.0, 11.0]]


# Losses


def test_mse_in_closed_form(device: Device[Any]) -> None:
    prediction, target = const([[1.0, 2.0], [3.0, 4.0]], device), const([[0.0, 2.0], [5.0, 1.0]], device)
    assert nn.MseLoss()(prediction, target).into_scalar() == (1 + 0 + 4 + 9) / 4
    assert nn.MseLoss()(prediction, target, reduction="sum").into_scalar() == 14


def test_mse_of_an_empty_batch() -> None:
    nothing = const(np.ones((0, 2)), plain())
    with pytest.raises(ShapeError, match="empty batch"):
        nn.MseLoss()(nothing, nothing)
    assert nn.MseLoss()(nothing, nothing, reduction="sum").into_scalar() == 0


def test_mse_refuses_another_dtype_and_an_unknown_reduction() -> None:
    with pytest.raises(DTypeMismatch):
        nn.MseLoss()(const([1.0], plain()), const([1.0], plain("float32")))
    wrong: Any = "median"
    with pytest.raises(ValueError, match="median"):
        nn.MseLoss()(const([1.0], plain()), const([1.0], plain()), reduction=wrong)


@pytest.mark.parametrize(
    ("layer", "reference"),
    [
        (nn.Relu(), lambda x: np.maximum(x, 0)),
        (nn.Tanh(), np.tanh),
        (nn.Sigmoid(), lambda x: 1 / (1 + np.exp(-x))),
        (nn.Gelu(), lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_activation_layers(layer: Module, reference: Any, device: Device[Any]) -> None:
    x = np.linspace(-3, 3, 12).reshape(3, 4)
    assert_close(layer(const(x, device)).to_numpy(), reference(x))
    assert layer.num_params() == 0


# SGD


class Single(Module):
    def __init__(self, tensor: AnyTensor) -> None:
        self.w = Param.from_tensor(tensor)


@pytest.mark.parametrize(("momentum", "decay"), [(0.0, 0.0), (0.9, 0.0), (0.0, 0.1), (0.5, 0.2)])
def test_sgd_in_closed_form(momentum: float, decay: float) -> None:
    """On w²/2 the gradient is w: v ← momentum·v + (1 + decay)·w, then w ← w - lr·v."""
    model = Single(const([2.0, -1.0], tracked()))
    optimizer = optim.SgdConfig(momentum, decay).init()
    w, v = np.array([2.0, -1.0]), np.zeros(2)
    for _ in range(5):
        grads = (model.w.val() ** 2 * 0.5).sum().backward()
        model = optimizer.step(0.1, model, grads)
        v = momentum * v + w + decay * w
        w = w - 0.1 * v
        assert_close(model.w.val().to_numpy(), w)
        assert model.w.val().is_require_grad


def test_a_step_returns_another_model_and_keeps_the_ids() -> None:
    model = MlpConfig(4).init(tracked())
    before = model.layers[0].weight.val().to_numpy()
    grads = model(const(np.ones((2, 4)), tracked())).sum().backward()
    trained = optim.SgdConfig().init().step(0.5, model, grads)
    assert (model.layers[0].weight.val().to_numpy() == before).all()
    assert [p.id for _, p in trained.named_params()] == [p.id for _, p in model.named_params()]


def test_a_parameter_without_a_gradient_is_left_alone() -> None:
    model = MlpConfig(4).init(tracked())
    grads = model.layers[1].weight.val().sum().backward()
    trained = optim.SgdConfig(momentum=0.9, weight_decay=0.5).init().step(0.5, model, grads)
    assert trained.layers[0].weight is model.layers[0].weight
    assert trained.layers[1].weight is not model.layers[1].weight


def test_a_step_does_not_widen_float32() -> None:
    model = Single(const([1.0], tracked("float32")))
    trained = optim.SgdConfig(0.9, 0.1).init().step(np.float64(0.1), model, (model.w.val() * 3.0).backward())
    assert trained.w.val().dtype == "float32"


# 20 steps of an MLP against PyTorch (row 82 of the cases)


def pattern(*shape: int, start: float) -> Any:
    return np.sin(np.arange(int(np.prod(shape))) + start).reshape(shape)


def golden_model(device: Device[Any]) -> Mlp:
    starts = {(4, 5): 1.0, (5,): 2.0, (5, 2): 3.0, (2,): 4.0}
    w0, b0, w1, b1 = (
        Param.from_tensor(const(pattern(*shape, start=start) * 0.5, device)) for shape, start in starts.items()
    )
    return Mlp([nn.Linear(w0, b0), nn.Linear(w1, b1)])


@pytest.mark.parametrize(
    ("name", "momentum", "decay"), [("plain", 0.0, 0.0), ("momentum", 0.9, 0.0), ("momentum and decay", 0.9, 0.01)]
)
@pytest.mark.parametrize(("under_test", "dtype"), params_with_dtype("float64", "float32", backends=TRACKING_BACKENDS))
def test_82_losses_are_pytorchs(name: str, momentum: float, decay: float, under_test: UnderTest, dtype: str) -> None:
    device = under_test.device(dtype)
    model, optimizer = golden_model(device), optim.SgdConfig(momentum, decay).init()
    x, target = const(pattern(6, 4, start=5), device), const(pattern(6, 2, start=6), device)
    losses = []
    for _ in range(20):
        loss = nn.MseLoss()(model(x), target)
        losses.append(loss.into_scalar())
        model = optimizer.step(0.1, model, loss.backward())
    assert losses == pytest.approx(GOLDEN[name], rel={"float64": 1e-12, "float32": 1e-5}[dtype])


# Gradients that are not the model's


class Gated(Module):
    """A model with a tracked tensor that is no parameter."""

    def __init__(self, device: Device[Any]) -> None:
        self.w = Param.from_tensor(const([1.0, 2.0], device))
        self.gates = {"left": [const([3.0, 4.0], device).require_grad()]}

    def forward(self, x: AnyTensor) -> AnyTensor:
        return x * self.w.val() * self.gates["left"][0]


def a_model() -> Single:
    return Single(const([2.0, -1.0], tracked()))


def loss_of(model: Single) -> AnyTensor:
    return (model.w.val() * 3.0).sum()


NOT_THE_MODELS: dict[str, tuple[Any, Any, str]] = {
    "an earlier value": (
        lambda model: model.map(lambda _, param: param.replaced(param.val())),
        lambda model: loss_of(model).backward(),
        "another value of w, (2,) float64",
    ),
    "after a step": (
        lambda model: optim.SgdConfig().init().step(0.1, model, loss_of(model).backward()),
        lambda model: loss_of(model).backward(),
        "another value of w, (2,) float64",
    ),
    "a fork": (
        lambda model: model.fork(tracked()),
        lambda model: loss_of(model).backward(),
        "a parameter of another model, (2,) float64",
    ),
    "frozen": (
        lambda model: model.no_grad(),
        lambda model: loss_of(model).backward(),
        "all of them are frozen",
    ),
    "plain": (
        lambda model: model.valid(),
        lambda model: loss_of(model).backward(),
        "none of them is on an autodiff backend",
    ),
    "an input": (
        lambda model: model,
        lambda model: leaf([1.0], tracked()).sum().backward(),
        "a tensor that is no Param, (1,) float64",
    ),
    "no parameters": (
        lambda model: nn.Relu(),
        lambda model: loss_of(model).backward(),
        "no parameter of Relu has a gradient",
    ),
    "many": (
        lambda model: model,
        lambda model: sum_of([leaf([1.0], tracked()) for _ in range(9)]).backward(),
        "gradients of 3 more",
    ),
    "none left": (lambda model: model, lambda model: emptied(model), "no gradients at all"),
}


def sum_of(tensors: list[AnyTensor]) -> AnyTensor:
    return sum(tensors[1:], start=tensors[0])


def emptied(model: Single) -> Any:
    grads = loss_of(model).backward()
    model.w.val().grad_remove(grads)
    return grads


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize(
    ("change", "backward", "says"),
    [pytest.param(*case, id=name) for name, case in NOT_THE_MODELS.items()],
)
def test_a_step_that_would_change_nothing_names_whose_the_gradients_are(
    change: Any, backward: Any, says: str, momentum: float
) -> None:
    model = a_model()
    with pytest.raises(GraphError) as caught:
        optim.SgdConfig(momentum).init().step(0.1, change(model), backward(model))
    assert str(caught.value).startswith("Sgd.step\n  because no parameter of ")
    assert says in str(caught.value)
    assert "hint: " in str(caught.value)
    assert ("Param.from_tensor" in str(caught.value)) is ("that is no Param" in str(caught.value))
    assert "0x" not in str(caught.value)


def test_gradients_of_more_than_the_model_are_no_fault() -> None:
    """Two models in one loss, and one of them is stepped; an input is tracked, to look at its gradient."""
    mine, other, x = a_model(), a_model(), leaf([1.0, 1.0], tracked())
    grads = (mine.w.val() * other.w.val() * x).sum().backward()
    trained = optim.SgdConfig().init().step(1.0, mine, grads)
    assert trained.w.val().to_numpy().tolist() == [2.0 - 2.0, -1.0 + 1.0]


def test_a_model_that_is_partly_elsewhere_is_stepped_where_it_can_be() -> None:
    class Both(Module):
        def __init__(self) -> None:
            self.teacher = a_model().valid()
            self.student = a_model()

    model = Both()
    grads = loss_of(model.student).backward()
    assert [gradient is not None for gradient in grads.named(model).values()] == [False, True]
    trained = optim.SgdConfig().init().step(1.0, model, grads)
    assert trained.teacher.w is model.teacher.w
    assert trained.student.w.val().to_numpy().tolist() == [-1.0, -4.0]


def test_a_tracked_tensor_that_is_no_parameter_is_said_in_the_step_and_in_the_display() -> None:
    model = Gated(tracked())
    grads = model(const([1.0, 1.0], tracked())).sum().backward()
    with pytest.raises(ConfigError, match=r"gates.left.0 is tracked and has a gradient, but it is no Param") as caught:
        optim.SgdConfig().init().step(0.1, model, grads)
    assert "Param.from_tensor(...)" in str(caught.value)
    assert "gates.left.0: Tensor [2] float64, tracked, but no Param: training leaves it as it is" in repr(model)
    model.gates = {"left": [const([3.0, 4.0], tracked())]}
    grads = model(const([1.0, 1.0], tracked())).sum().backward()
    assert optim.SgdConfig().init().step(1.0, model, grads).w.val().to_numpy().tolist() == [-2.0, -2.0]


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, -math.inf])
def test_settings_that_would_fill_a_model_with_nan(bad: float) -> None:
    model = a_model()
    with pytest.raises(ConfigError, match="finite number of 0 or more"):
        optim.SgdConfig().init().step(bad, model, loss_of(model).backward())
    for name in ("momentum", "weight_decay"):
        with pytest.raises(ConfigError, match=f"{name} is {bad}, and must be a finite number"):
            optim.SgdConfig(**{name: bad})


def test_a_step_of_something_else() -> None:
    model = a_model()
    wrong: Any
    for wrong in (None, [model], loss_of(model).backward()):
        with pytest.raises(ConfigError, match="is no Module"):
            optim.SgdConfig().init().step(0.1, wrong, loss_of(model).backward())
        with pytest.raises((TypeError, ValueError)):
            Param.from_tensor(wrong)
        with pytest.raises((TypeError, ValueError)):
            model.w.replaced(wrong)
