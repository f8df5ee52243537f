"""Losses against PyTorch's, stored by tests/golden/losses.py; their forms, and what they say to bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.golden.files import Values
from tests.golden.losses import CASES, DTYPE, FILE, WEIGHTS
from tests.support import BASES, NDARRAY, AnyTensor, UnderTest, const, gradient_of, ints, leaf, params, plain, tracked
from tinyburn import (
    Autodiff,
    BackendMismatch,
    BalancedCheckpointing,
    Config,
    ConfigError,
    DTypeMismatch,
    NdArray,
    ShapeError,
    TinyburnError,
    Traced,
    Wgpu,
    activation,
    nn,
)
from tinyburn.memory import measure, plan

GOLDEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))

CE, BCE = nn.CrossEntropyLossConfig, nn.BinaryCrossEntropyLossConfig
MADE: dict[str, Callable[[Any], Any]] = {
    "mse": lambda _: nn.MseLoss(),
    "l1": lambda _: nn.L1Loss(),
    "huber(0.8)": nn.HuberLossConfig(0.8).init,
    "smooth_l1": nn.SmoothL1LossConfig().init,
    "smooth_l1(0.5)": nn.SmoothL1LossConfig(0.5).init,
    "cross_entropy": CE().init,
    "cross_entropy weights": CE(weights=WEIGHTS).init,
    "cross_entropy smoothing": CE(smoothing=0.1).init,
    "cross_entropy weights smoothing": CE(weights=list(WEIGHTS), smoothing=0.1).init,
    "cross_entropy padded": CE(pad_tokens=[-100]).init,
    "cross_entropy padded weights smoothing": CE((-100,), WEIGHTS, 0.1).init,
    "cross_entropy soft": CE().init,
    "cross_entropy soft weights": CE(weights=WEIGHTS).init,
    "cross_entropy soft smoothing": CE(smoothing=0.1).init,
    "cross_entropy of probabilities": CE(logits=False).init,
    "bce logits": BCE(logits=True).init,
    "bce logits weights": BCE(weights=WEIGHTS, logits=True).init,
    "bce of probabilities": BCE().init,
    "bce soft": BCE(logits=True).init,
    "kl": nn.KLDivLossConfig().init,
    "kl log_target": nn.KLDivLossConfig(log_target=True).init,
    "cosine": nn.CosineEmbeddingLossConfig().init,
    "cosine sum": nn.CosineEmbeddingLossConfig(reduction="sum").init,
    "cosine margin": nn.CosineEmbeddingLossConfig(0.2).init,
    "poisson": nn.PoissonNllLossConfig().init,
    "poisson full": nn.PoissonNllLossConfig(full=True).init,
    "poisson of rates": nn.PoissonNllLossConfig(log_input=False).init,
}
SAME = {
    "l1 at no difference": "l1",
    "cross_entropy of large logits": "cross_entropy",
    "bce of large logits": "bce logits",
    "bce of a vector": "bce logits",
    "kl with zeros": "kl",
}

BACKENDS = [
    *[base.inside(Autodiff) for base in BASES],
    NDARRAY.inside(Autodiff, BalancedCheckpointing),
    NDARRAY.inside(Traced).inside(Autodiff),
]


def loss_of(name: str, device: Any) -> Callable[..., AnyTensor]:
    """The loss of a case as a function of predictions and labels."""
    known = SAME.get(name, name)
    reduction = {"reduction": known.split()[-1]} if known.endswith((" sum", " mean")) and known not in MADE else {}
    loss = MADE[known.removesuffix(" sum").removesuffix(" mean") if reduction else known](device)
    return lambda *inputs: loss(*inputs, **reduction)


def tensor_of(values: Values, device: Any) -> AnyTensor:
    return const(values, device) if values.dtype.kind == "f" else ints(values, device)


@pytest.mark.parametrize("base", params(BACKENDS))
@pytest.mark.parametrize("name", CASES)
def test_equals_pytorch(name: str, base: UnderTest) -> None:
    device, (predictions, labels) = base.device(DTYPE), CASES[name]
    inputs = [leaf(values, device) for values in predictions]
    loss = loss_of(name, device)(*inputs, tensor_of(labels, device))
    assert loss.shape == (1,)
    np.testing.assert_allclose(loss.to_numpy()[0], GOLDEN[name]["value"], rtol=1e-5, atol=1e-5)
    grads = loss.backward()
    for x, expected in zip(inputs, GOLDEN[name]["gradients"], strict=True):
        np.testing.assert_allclose(gradient_of(x, grads).ravel(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_shapes_alone_write_the_same_log(name: str) -> None:
    predictions, labels = CASES[name]

    def job(device: Any, _: int) -> Any:
        inputs = [leaf(values, device) for values in predictions]
        return loss_of(name, device)(*inputs, tensor_of(labels, device)).backward()

    measured = measure(job, Autodiff[NdArray].device(), 1)
    predicted = plan(job, 1, device=Autodiff[NdArray].device())
    assert predicted.events.events == measured.events.events
    assert predicted.events.names == measured.events.names


# What PyTorch has not, or otherwise


def test_binary_weights_of_a_vector_are_those_of_no_and_yes() -> None:
    device = plain()
    loss = BCE(weights=[3.0, 7.0]).init(device).forward_no_reduction
    p = const([0.2, 0.4, 0.9], device)
    expected = [-3 * np.log(0.8), -7 * np.log(0.4), -3 * np.log(0.1)]
    np.testing.assert_allclose(loss(p, ints([0, 1, 0], device)).to_numpy(), expected, rtol=1e-12)


def test_binary_smoothing_counts_the_classes_as_burn_does() -> None:
    device = plain()
    x, t = const([[0.5, -1.0, 2.0]], device), ints([[1, 0, 1]], device)
    smoothed = const([[0.9 + 0.1 / 3, 0.1 / 3, 0.9 + 0.1 / 3]], device)
    found = BCE(smoothing=0.1, logits=True).init(device)(x, t)
    assert found.item() == pytest.approx(BCE(logits=True).init(device)(x, smoothed).item(), rel=1e-12)


def test_a_certain_and_wrong_probability_costs_a_finite_amount() -> None:
    device = tracked()
    p = leaf([1.0, 0.0], device)
    loss = BCE().init(device)(p, ints([0, 1], device))
    assert loss.item() == pytest.approx(100.0)
    rows = leaf([[1.0, 0.0]], device)
    of_classes = CE(logits=False).init(device)(rows, ints([1], device))
    assert of_classes.item() == pytest.approx(-np.log(np.finfo("float64").tiny))
    assert np.isfinite(gradient_of(rows, of_classes.backward())).all()


def test_a_share_of_nothing_takes_nothing_of_an_infinite_loss() -> None:
    device = tracked()
    logits = leaf([[0.0, -np.inf]], device)
    loss = CE().init(device)(logits, const([[1.0, 0.0]], device))
    assert loss.item() == 0
    assert gradient_of(logits, loss.backward()).tolist() == [[0.0, 0.0]]


def test_padding_alone_has_no_mean_and_sums_to_nothing() -> None:
    device = plain()
    loss, logits, labels = CE(pad_tokens=[0, 9]).init(device), const([[1.0, 2.0]] * 2, device), ints([9, 0], device)
    assert np.isnan(loss(logits, labels).item())
    assert loss(logits, labels, "sum").item() == 0
    assert loss.forward_no_reduction(logits, labels).to_numpy().tolist() == [0.0, 0.0]


def test_padding_has_no_gradient() -> None:
    device = tracked()
    logits = leaf([[1.0, 2.0], [3.0, 5.0]], device)
    gradient = gradient_of(logits, CE(pad_tokens=(1,)).init(device)(logits, ints([0, 1], device)).backward())
    assert gradient[1].tolist() == [0.0, 0.0]
    assert (gradient[0] != 0).all()


def test_a_vector_of_zeros_has_no_angle() -> None:
    device = tracked()
    zero, other = leaf([[0.0, 0.0]], device), const([[3.0, 4.0]], device)
    for label, value in ((1, 1.0), (-1, 0.0)):
        loss = nn.CosineEmbeddingLossConfig().init()(zero, other, ints([label], device))
        assert loss.item() == value


def test_case_56_log_softmax_of_large_logits() -> None:
    device = tracked()
    x = leaf([1000.0, 1001.0, 1002.0], device)
    y = activation.log_softmax(x, 0)
    np.testing.assert_allclose(y.to_numpy(), [-2.407606, -1.407606, -0.407606], atol=1e-6)
    np.testing.assert_allclose(gradient_of(x, y[0:1].sum().backward()), [0.909969, -0.244728, -0.665241], atol=1e-6)


def test_case_23_a_column_against_a_vector() -> None:
    device = plain()
    with pytest.raises(ShapeError, match="different shapes"):
        nn.MseLoss()(const([1.0, 2.0, 3.0], device), const([[1.0], [2.0], [3.0]], device))


@pytest.mark.parametrize(
    "loss", [nn.MseLoss(), nn.L1Loss(), nn.HuberLossConfig(1.0).init(), nn.SmoothL1LossConfig().init()]
)
def test_the_mean_and_the_sum_are_of_each_elements_loss(loss: Any) -> None:
    x, y = const(CASES["mse"][0][0], plain()), const(CASES["mse"][1], plain())
    each = loss.forward_no_reduction(x, y)
    assert each.shape == x.shape
    assert loss(x, y).item() == loss(x, y, "mean").item() == pytest.approx(each.mean().item())
    assert loss(x, y, "sum").item() == pytest.approx(each.sum().item())


# Bad input

LOGITS = [[1.0, 2.0, 3.0]] * 2
WRONG: dict[str, tuple[Callable[[Any], Any], type[TinyburnError]]] = {
    "the labels run from 0 to 3, and there are 3 classes": (
        lambda d: CE().init(d)(const(LOGITS, d), ints([0, 3], d)),
        ShapeError,
    ),
    "the labels run from -1 to 2": (lambda d: CE().init(d)(const(LOGITS, d), ints([2, -1], d)), ShapeError),
    "labels that are Int are class indices": (
        lambda d: CE().init(d)(const(LOGITS, d), ints([[0, 0, 1]] * 2, d)),
        ShapeError,
    ),
    "labels that are Float are a probability": (
        lambda d: CE().init(d)(const(LOGITS, d), const([0.0, 1.0], d)),
        ShapeError,
    ),
    "the prediction has rank 3": (lambda d: CE().init(d)(const([LOGITS], d), ints([0, 1], d)), ShapeError),
    "there are 2 weights for 3 classes": (
        lambda d: CE(weights=[1.0, 2.0]).init(d)(const(LOGITS, d), ints([0, 1], d)),
        ShapeError,
    ),
    "pad_tokens are class indices": (
        lambda d: CE(pad_tokens=[0]).init(d)(const(LOGITS, d), const(LOGITS, d)),
        ConfigError,
    ),
    "CrossEntropyLoss takes a float tensor": (
        lambda d: CE().init(d)(ints([[1, 2, 3]] * 2, d), ints([0, 1], d)),
        DTypeMismatch,
    ),
    "the labels run from 0 to 2, and each is 0 or 1": (
        lambda d: BCE().init(d)(const([0.5, 0.5], d), ints([0, 2], d)),
        ShapeError,
    ),
    "there are 3 weights for 2 classes": (
        lambda d: BCE(weights=WEIGHTS).init(d)(const([0.5, 0.5], d), ints([0, 1], d)),
        ShapeError,
    ),
    "prediction and target have different shapes": (
        lambda d: nn.HuberLossConfig(1.0).init()(const([[1.0]], d), const([1.0], d)),
        ShapeError,
    ),
    "a label is neither 1 nor -1": (
        lambda d: nn.CosineEmbeddingLossConfig().init()(const(LOGITS, d), const(LOGITS, d), ints([1, 0], d)),
        ShapeError,
    ),
    "there is one label, 1 or -1, for each row": (
        lambda d: nn.CosineEmbeddingLossConfig().init()(const(LOGITS, d), const(LOGITS, d), ints([1], d)),
        ShapeError,
    ),
    "the dtypes differ: float64 and int64": (
        lambda d: nn.L1Loss()(const([1.0], d), ints([1], d)),
        DTypeMismatch,
    ),
    "no elements": (lambda d: nn.L1Loss()(const([], d), const([], d)), ShapeError),
    "write loss.forward_no_reduction": (
        lambda d: nn.MseLoss()(const([1.0], d), const([1.0], d), "none"),  # type: ignore[arg-type]
        ConfigError,
    ),
    "the backends differ": (lambda d: CE().init(d)(const(LOGITS, d), ints([0, 1], tracked())), BackendMismatch),
}


@pytest.mark.parametrize("reason", WRONG)
def test_an_input_that_does_not_fit(reason: str) -> None:
    call, error = WRONG[reason]
    with pytest.raises(error, match=reason):
        call(plain())


CONFIGS: dict[str, Callable[[], Config]] = {
    "smoothing is 1.5": lambda: CE(smoothing=1.5),
    "weights is": lambda: CE(weights=[1.0, 0.0]),
    "weights is \\[\\]": lambda: BCE(weights=[]),
    "smoothing is -0.1": lambda: BCE(smoothing=-0.1),
    "delta is 0.0": lambda: nn.HuberLossConfig(0.0),
    "beta is -1": lambda: nn.SmoothL1LossConfig(-1.0),
    "margin is 2.0": lambda: nn.CosineEmbeddingLossConfig(2.0),
    "reduction 'none'": lambda: nn.CosineEmbeddingLossConfig(reduction="none"),
    "eps is 0.0": lambda: nn.PoissonNllLossConfig(eps=0.0),
}


@pytest.mark.parametrize("reason", CONFIGS)
def test_a_config_that_cannot_be(reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        CONFIGS[reason]()


def test_weights_move_with_the_loss() -> None:
    loss = CE(weights=WEIGHTS).init(tracked())
    moved = loss.valid()
    assert moved.weights is not None
    assert moved.weights.backend is NdArray
    assert moved(const(LOGITS, plain()), ints([0, 1], plain())).item() == pytest.approx(
        loss(const(LOGITS, tracked()), ints([0, 1], tracked())).item()
    )


@pytest.mark.skipif(Wgpu.why_unavailable() is not None, reason="no adapter")
def test_a_config_makes_the_loss_on_another_device() -> None:
    assert CE(weights=WEIGHTS).init(Wgpu.device()).to_device(NdArray.device()).weights is not None
