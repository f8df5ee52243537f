"""Dropout: what it drops, how often, and that the backward pass drops the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support import BASES, TRACKING_BACKENDS, UnderTest, const, gradient_of, ints, leaf, params, plain, tracked
from tinyburn import (
    Autodiff,
    BalancedCheckpointing,
    ConfigError,
    DTypeMismatch,
    NdArray,
    autodiff,
    nn,
    viz,
)


@pytest.mark.parametrize("base", params(TRACKING_BACKENDS))
def test_the_gradient_passes_the_same_mask(base: UnderTest) -> None:
    device = base.device("float32")
    device.seed(3)
    x = leaf(np.linspace(1.0, 2.0, 1000), device)
    y = nn.DropoutConfig(0.25).init()(x * 1.0)
    grads = y.sum().backward()
    kept = y.to_numpy() != 0
    np.testing.assert_allclose(y.to_numpy()[kept], x.to_numpy()[kept] / 0.75, rtol=1e-6)
    np.testing.assert_allclose(gradient_of(x, grads), kept / 0.75, rtol=1e-6)
    assert 680 < kept.sum() < 820  # 750, and five standard deviations


@pytest.mark.parametrize("strategy", [(), (BalancedCheckpointing,)], ids=["keeps all", "balanced"])
def test_case_17_a_segment_that_runs_again_drops_the_same(strategy: Any) -> None:
    device: Any = Autodiff[(NdArray, *strategy)].device()
    device.seed(0)
    x = leaf(np.ones(1000), device)
    y = autodiff.checkpoint(nn.DropoutConfig(0.5).init(), x)
    assert gradient_of(x, y.sum().backward()).tolist() == y.to_numpy().tolist()
    assert set(y.to_numpy().tolist()) == {0.0, 2.0}


def test_a_recipe_keeps_the_mask_and_draws_no_other() -> None:
    """What follows the dropout is computed again from the mask, so the draws after the backward are as without it."""
    found = []
    for kind in (Autodiff[NdArray], Autodiff[NdArray, BalancedCheckpointing]):
        device: Any = kind.device(float_dtype="float64")
        device.seed(5)
        x = leaf(np.linspace(-1, 1, 20), device)
        y = nn.DropoutConfig(0.5).init()(x.exp()).tanh().exp()
        gradient = gradient_of(x, y.sum().backward())
        found.append((gradient.tolist(), nn.DropoutConfig(0.5).init()(x).to_numpy().tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("base", params(BASES))
def test_without_autodiff_it_is_the_identity(base: UnderTest) -> None:
    x = const([1.0, 2.0], base.device("float32"))
    assert nn.DropoutConfig(0.9).init()(x) is x


def test_the_model_to_evaluate_drops_nothing() -> None:
    class Model(nn.Linear):
        def __init__(self, linear: nn.Linear[Any]) -> None:
            super().__init__(linear.weight, linear.bias)
            self.dropout = nn.DropoutConfig(0.5).init()

        def forward(self, x: Any) -> Any:
            return self.dropout(super().forward(x))

    model = Model(nn.LinearConfig(2, 50).init(tracked()))
    out = model.valid()(const([[1.0, 2.0]], plain()))
    assert (out.to_numpy() != 0).all()


def test_the_same_seed_drops_the_same() -> None:
    device, drop = tracked(), nn.DropoutConfig(0.5).init()
    draws = []
    for _ in range(2):
        device.seed(7)
        draws.append([drop(const(np.ones(30), device)).to_numpy().tolist() for _ in range(2)])
    assert draws[0] == draws[1]
    assert draws[0][0] != draws[0][1]


@pytest.mark.parametrize(("prob", "expected"), [(0.0, [1.0, -2.0]), (1.0, [0.0, 0.0])])
def test_never_and_always(prob: float, expected: list[float]) -> None:
    x = leaf([1.0, -2.0], tracked())
    y = nn.DropoutConfig(prob).init()(x)
    assert y.to_numpy().tolist() == expected
    assert gradient_of(x, (y * 1.0).sum().backward()).tolist() == [float(prob == 0.0)] * 2


def test_a_picture_shows_the_product() -> None:
    device = tracked()
    x = leaf([[1.0, 2.0]], device)
    text = str(viz.graph(nn.DropoutConfig(0.5).init()(x).sum(), x=x))
    assert "x * constant 1 * 2" in text


def test_bad_input() -> None:
    for prob in (-0.1, 1.5, float("nan")):
        with pytest.raises(ConfigError, match="prob is"):
            nn.DropoutConfig(prob)
    with pytest.raises(DTypeMismatch, match="Dropout takes a float tensor"):
        nn.DropoutConfig().init()(ints([1, 2], tracked()))
