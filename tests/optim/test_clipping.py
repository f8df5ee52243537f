"""Clipping: the bounds, the memory, and what is refused. That the numbers are PyTorch's is in `test_golden.py`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.optim.models import Mlp, loss_of, step, values
from tests.support import NDARRAY, WGPU, UnderTest, const, leaf, params, tracked
from tinyburn import Autodiff, ConfigError, GraphError, NdArray, Traced, optim
from tinyburn.backend import Kind
from tinyburn.memory.measure import find_log

Clipping = optim.GradientClippingConfig
on_each = pytest.mark.parametrize("under_test", params([NDARRAY.inside(Autodiff), WGPU.inside(Autodiff)]))


def norm_of(grads: Any) -> float:
    return math.sqrt(sum(float((gradient.to_numpy() ** 2).sum()) for gradient in grads.tensors()))


@on_each
def test_the_global_norm_is_brought_down_and_no_more(under_test: UnderTest) -> None:
    model = Mlp(under_test.device())
    before = norm_of((loss_of(model) * 10.0).backward())
    small, large = before / 3, before * 3
    assert norm_of(optim.clip_by_global_norm((loss_of(model) * 10.0).backward(), small)) == pytest.approx(small, 1e-5)
    assert norm_of(optim.clip_by_global_norm((loss_of(model) * 10.0).backward(), large)) == pytest.approx(before, 1e-6)


def test_clipped_by_hand_or_by_the_optimizer_is_the_same() -> None:
    model = Mlp(tracked())
    grads = optim.clip_by_global_norm((loss_of(model) * 10.0).backward(), 0.5)
    by_hand = optim.SgdConfig().init().step(0.05, model, grads)
    assert values(by_hand) == values(step(model, optim.SgdConfig(grad_clipping=Clipping.GlobalNorm(0.5)).init()))


def test_clipped_gradients_are_written_in_place_and_still_nobody_elses() -> None:
    device: Any = Autodiff[Traced[NdArray]].device()
    model = Mlp(device)
    grads, log = (loss_of(model) * 10.0).backward(), find_log(device)
    before, at = log.live_bytes, len(log.events)
    grads = optim.clip_by_global_norm(grads, 0.5)
    assert [event[0] for event in log.events[at:]].count(Kind.DONATE) == 4
    assert log.live_bytes == before
    at = len(log.events)
    trained = optim.SgdConfig().init().step(0.05, model, grads)
    assert Kind.ALLOC not in [event[0] for event in log.events[at:]]
    assert len(values(trained)) == 4


def test_a_gradient_that_was_looked_at_stays() -> None:
    x = leaf([3.0, 4.0], tracked())
    grads = (x * const([3.0, 4.0], tracked())).sum().backward()
    seen: Any = x.grad(grads)
    clipped = optim.clip_by_global_norm(grads, 1.0)
    assert seen.to_numpy().tolist() == [3.0, 4.0]
    np.testing.assert_allclose(clipped.tensors()[0].to_numpy(), [0.6, 0.8], rtol=1e-6)
    with pytest.raises(GraphError, match="clip_by_global_norm has taken this gradient"):
        x.grad(grads)


def test_the_sums_of_float16_are_those_of_float32() -> None:
    """The sum of these squares is beyond float16."""
    x = leaf(np.ones(4), tracked("float16"))
    grads = (x * 300.0).sum().backward()
    assert optim.clip_by_global_norm(grads, 1.0).tensors()[0].to_numpy().tolist() == [0.5] * 4


def test_zeros_stay_zeros_and_nan_is_not_hidden() -> None:
    x = leaf([0.0, 0.0], tracked())
    assert optim.clip_by_global_norm((x * 0.0).sum().backward(), 1.0).tensors()[0].to_numpy().tolist() == [0.0, 0.0]
    grads = optim.clip_by_global_norm((x * math.nan).sum().backward(), 1.0)
    assert np.isnan(grads.tensors()[0].to_numpy()).all()
    empty = optim.clip_by_global_norm(optim.clip_by_global_norm(grads, 1.0), 1.0)
    assert len(empty) == 1
    assert len(optim.clip_by_global_norm(grads, 1.0)) == 0


@pytest.mark.parametrize("kind", [Clipping.Value, Clipping.Norm, Clipping.GlobalNorm])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_thresholds_that_nothing_can_have(kind: Any, bad: float) -> None:
    with pytest.raises(ConfigError, match=f"threshold is {bad}, and must be a finite number above 0"):
        kind(bad)


def test_what_is_refused_has_taken_nothing() -> None:
    x = leaf([1.0], tracked())
    grads = x.sum().backward()
    wrong: Any = {"w": x}
    with pytest.raises(ConfigError, match="dict holds no gradients"):
        optim.clip_by_global_norm(wrong, 1.0)
    with pytest.raises(ConfigError, match=r"threshold is -1\.0"):
        optim.clip_by_global_norm(grads, -1.0)
    assert len(grads) == 1


def test_a_config_with_clipping_is_saved_and_read(tmp_path: Any) -> None:
    config = optim.AdamConfig(grad_clipping=Clipping.Norm(0.5))
    config.save(tmp_path / "adam.json")
    assert optim.AdamConfig.load(tmp_path / "adam.json") == config
    sgd = optim.SgdConfig(optim.MomentumConfig(0.5, nesterov=True))
    sgd.save(tmp_path / "sgd.json")
    assert optim.SgdConfig.load(tmp_path / "sgd.json") == sgd
