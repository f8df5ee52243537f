"""100 steps by each optimizer, and each way to clip, and each scheduler, are PyTorch's; Lion's are its paper's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.optim.models import GOLDEN, Mlp, loss_of, values
from tests.support import NDARRAY, WGPU, UnderTest, const, params, params_with_dtype, tracked
from tinyburn import Autodiff, Module, Param, optim

TRAINERS = [NDARRAY.inside(Autodiff), WGPU.inside(Autodiff)]
TOLERANCE = {"float64": 1e-10, "float32": 1e-5}
STEPS, EVERY = 100, 10


def config_of(row: dict[str, Any]) -> Any:
    """The config that a row names."""
    options = dict(row["options"])
    if isinstance(options.get("momentum"), dict):
        options["momentum"] = optim.MomentumConfig(**options["momentum"])
    return getattr(optim, row["config"])(**options)


def assert_trains_alike(row: dict[str, Any], optimizer: Any, under_test: UnderTest, dtype: str) -> None:
    model, losses = Mlp(under_test.device(dtype)), []
    for at in range(STEPS):
        loss = loss_of(model)
        if at % EVERY == 0:
            losses.append(loss.into_scalar())
        model = optimizer.step(row["lr"], model, (loss * 10.0).backward())
    assert losses == pytest.approx(row["losses"], rel=TOLERANCE[dtype], abs=TOLERANCE[dtype])
    for found, wanted in zip(values(model), row["parameters"], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


on_each = pytest.mark.parametrize(("under_test", "dtype"), params_with_dtype("float64", "float32", backends=TRAINERS))


@on_each
@pytest.mark.parametrize("row", GOLDEN["optimizers"], ids=lambda row: f"{row['config']}-{len(row['options'])}")
def test_optimizers_are_pytorchs(row: dict[str, Any], under_test: UnderTest, dtype: str) -> None:
    assert_trains_alike(row, config_of(row).init(), under_test, dtype)


@on_each
@pytest.mark.parametrize("row", GOLDEN["clipping"], ids=lambda row: row["clip"])
def test_clipping_is_pytorchs(row: dict[str, Any], under_test: UnderTest, dtype: str) -> None:
    clip = getattr(optim.GradientClippingConfig, row["clip"])(row["threshold"])
    assert_trains_alike(row, optim.SgdConfig(grad_clipping=clip).init(), under_test, dtype)


@pytest.mark.parametrize("row", GOLDEN["schedulers"], ids=lambda row: row["config"])
def test_schedulers_are_pytorchs(row: dict[str, Any]) -> None:
    scheduler = getattr(optim, row["config"])(**row["options"]).init()
    assert [scheduler.step() for _ in row["rates"]] == pytest.approx(row["rates"], rel=1e-12)


class Single(Module):
    def __init__(self, values: Any, device: Any) -> None:
        self.w = Param.from_tensor(const(values, device))


@pytest.mark.parametrize("under_test", params([NDARRAY, WGPU]))
def test_lion_by_its_paper(under_test: UnderTest) -> None:
    """On w²/2 the gradient is w. The numbers are chosen so that no direction hangs on a rounding error."""
    start, lr, decay, b1, b2 = np.array([2.0, -1.5, 0.0]), 0.03, 0.1, 0.9, 0.99
    model = Single(start, under_test.inside(Autodiff).device())
    optimizer = optim.LionConfig(weight_decay=decay).init()
    w, m = start, np.zeros(3)
    for _ in range(STEPS):
        model = optimizer.step(lr, model, (model.w.val() ** 2 * 0.5).sum().backward())
        direction = np.sign(b1 * m + (1 - b1) * w)
        m = b2 * m + (1 - b2) * w
        w = w * (1 - lr * decay) - lr * direction
        np.testing.assert_allclose(model.w.val().to_numpy(), w, rtol=1e-5, atol=1e-5)


def test_a_parameter_whose_gradients_are_all_zero_stays() -> None:
    for config in (optim.AdamConfig(), optim.AdaGradConfig(), optim.RmsPropConfig(centered=True), optim.LionConfig()):
        model, optimizer = Single([1.0, -2.0], tracked()), config.init()
        for _ in range(3):
            model = optimizer.step(0.1, model, (model.w.val() * 0.0).sum().backward())
        assert values(model) == [[1.0, -2.0]]


def test_a_variance_that_rounding_makes_negative_counts_as_zero() -> None:
    """Of equal gradients the variance is 0 in the end; its root would be NaN in PyTorch once rounding makes it less."""
    model = Single([0.1], tracked("float32"))
    optimizer = optim.RmsPropConfig(alpha=0.5, centered=True, momentum=0.0).init()
    for _ in range(60):
        model = optimizer.step(1e-9, model, (model.w.val() * 0.1).sum().backward())
    assert np.isfinite(values(model)).all()
