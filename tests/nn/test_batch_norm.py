"""BatchNorm: whose statistics it uses, how the running ones get on, and that nothing else is kept alive."""

from __future__ import annotations

import copy
import gc
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.support import BASES, AnyTensor, UnderTest, const, leaf, needs_threads, params, plain, tracked
from tinyburn import (
    Autodiff,
    BalancedCheckpointing,
    Meta,
    Module,
    NdArray,
    ShapeError,
    Tensor,
    Traced,
    autodiff,
    nn,
    optim,
)

BATCH = np.array([[1.0, 2.0], [3.0, -4.0], [5.0, 8.0]])
MEAN, VARIANCE = BATCH.mean(0), BATCH.var(0)


def running(norm: Any) -> list[list[float]]:
    return [norm.running_mean.to_numpy().tolist(), norm.running_var.to_numpy().tolist()]


def after(batches: int) -> list[Any]:
    """The running statistics after some times the same batch."""
    left = 0.9**batches
    return [pytest.approx(MEAN * (1 - left)), pytest.approx(left + VARIANCE * (1 - left))]


@pytest.mark.parametrize("base", params([base.inside(Autodiff) for base in BASES]))
def test_each_batch_is_mixed_in(base: UnderTest) -> None:
    device = base.device("float32")
    norm = nn.BatchNormConfig(2).init(device)
    assert running(norm) == [[0.0, 0.0], [1.0, 1.0]]
    for _ in range(3):
        norm(const(BATCH, device))
    np.testing.assert_allclose(running(norm)[0], MEAN * (1 - 0.9**3), rtol=1e-5)
    np.testing.assert_allclose(running(norm)[1], 0.9**3 + VARIANCE * (1 - 0.9**3), rtol=1e-5)


def test_images_are_averaged_over_all_but_the_channels() -> None:
    device = tracked()
    images = np.linspace(-3, 4, 2 * 3 * 4 * 5).reshape(2, 3, 4, 5) ** 2
    norm = nn.BatchNormConfig(3, momentum=1.0).init(device)
    norm(const(images, device))
    np.testing.assert_allclose(running(norm), [images.mean((0, 2, 3)), images.var((0, 2, 3))], rtol=1e-12)


def test_the_valid_model_uses_the_running_statistics_and_keeps_them() -> None:
    norm = nn.BatchNormConfig(2, epsilon=1e-3).init(tracked())
    norm(const(BATCH, tracked()))
    valid = norm.valid()
    expected = (BATCH - MEAN * 0.1) / np.sqrt(0.9 + VARIANCE * 0.1 + 1e-3)
    np.testing.assert_allclose(valid(const(BATCH, plain())).to_numpy(), expected, rtol=1e-12)
    assert running(valid) == running(norm) == after(1)


def test_one_sample_is_enough_for_the_valid_model() -> None:
    valid = nn.BatchNormConfig(2).init(tracked()).valid()
    np.testing.assert_allclose(valid(const(BATCH[:1], plain())).to_numpy(), BATCH[:1] / np.sqrt(1 + 1e-5), rtol=1e-12)
    assert valid(const(np.zeros((0, 2)), plain())).shape == (0, 2)


class Model(Module):
    def __init__(self, device: Any) -> None:
        self.first = nn.LinearConfig(2, 2).init(device)
        self.norm = nn.BatchNormConfig(2).init(device)

    def forward(self, x: AnyTensor) -> AnyTensor:
        out: AnyTensor = self.norm(self.first(x))
        return out


def test_a_step_carries_them_over_and_the_earlier_model_keeps_its_own() -> None:
    device, optimizer = tracked(), optim.SgdConfig().init()
    earlier = model = Model(device)
    states = [running(model.norm)]
    for _ in range(3):
        earlier = model
        model = optimizer.step(0.1, model, model(const(BATCH, device)).sum().backward())
        assert running(model.norm) == running(earlier.norm)
        states.append(running(model.norm))
    model(const(BATCH, device))
    assert running(earlier.norm) == states[-1] != running(model.norm)
    assert len({str(state) for state in states}) == 4


def test_they_have_paths_and_are_no_parameters() -> None:
    model = Model(tracked())
    assert [path for path, _ in model.named_tensors()] == ["norm.running_mean", "norm.running_var"]
    assert [path for path, _ in model.named_params()] == ["first.weight", "first.bias", "norm.gamma", "norm.beta"]


def test_every_copy_has_its_own() -> None:
    device = tracked()
    norm = nn.BatchNormConfig(2).init(device)
    norm(const(BATCH, device))
    copies = [norm.fork(device), copy.deepcopy(norm), pickle.loads(pickle.dumps(norm)), norm.map(lambda _, p: p)]
    norm(const(BATCH, device))
    for other in copies:
        assert running(other) == after(1)
        other(const(BATCH, device))
        assert running(other) == running(norm) == after(2)


def test_they_move_to_another_device() -> None:
    device = Autodiff[Meta].device(float_dtype="float64")
    norm = nn.BatchNormConfig(2).init(tracked()).to_device(device)
    norm(Tensor.ones((3, 2), device))
    assert norm.running_mean.backend is Autodiff[Meta]
    assert norm.valid().running_mean.backend is Meta


@pytest.mark.parametrize("frozen", [("gamma", "beta"), ()])
def test_a_frozen_layer_learns_no_statistics(frozen: tuple[str, ...]) -> None:
    device = tracked()
    norm = nn.BatchNormConfig(2).init(device).freeze(*frozen)
    x = leaf(BATCH, device)
    out = norm(x)
    np.testing.assert_allclose(out.to_numpy(), BATCH / np.sqrt(1 + 1e-5), rtol=1e-12)
    assert running(norm) == [[0.0, 0.0], [1.0, 1.0]]
    assert x.grad(out.sum().backward()) is not None
    norm.unfreeze()(const(BATCH, device))
    half = nn.BatchNormConfig(2).init(device).freeze("gamma")
    half(const(BATCH, device))
    assert running(half) == after(1)


@pytest.mark.parametrize("strategy", [(), (BalancedCheckpointing,)], ids=["keeps all", "balanced"])
def test_a_segment_that_runs_again_counts_a_batch_once(strategy: Any) -> None:
    device: Any = Autodiff[(NdArray, *strategy)].device(float_dtype="float64")
    norm = nn.BatchNormConfig(2).init(device)
    autodiff.checkpoint(norm, leaf(BATCH, device)).sum().backward()
    assert running(norm) == after(1)


@pytest.mark.parametrize("twice", [False, True])
def test_they_keep_no_graph_and_no_batch_alive(twice: bool) -> None:
    backend = Autodiff[Traced[NdArray]]
    device: Any = Autodiff[backend].device() if twice else backend.device()
    log = (device.inner if twice else device).inner.log
    norm = nn.BatchNormConfig(2).init(device)
    before = log.live_buffers
    gc.disable()
    try:
        for _ in range(5):
            x = leaf(np.ones((50, 2)) * 3, device.inner if twice else device)
            x = Tensor.from_inner(x, device).require_grad() if twice else x
            norm(x).sum().backward()
            del x
        assert log.live_buffers == before
    finally:
        gc.enable()


class Slow(nn.BatchNorm[Any]):
    """Gives another thread the time to come between."""

    def _mixed(self, running: AnyTensor, batch: AnyTensor) -> AnyTensor:
        mixed = super()._mixed(running, batch)
        time.sleep(1e-3)
        return mixed


@needs_threads
def test_no_batch_is_lost_in_threads() -> None:
    device = tracked()
    made = nn.BatchNormConfig(2).init(device)
    norm = Slow(made.gamma, made.beta, made.running_mean, made.running_var)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: norm(const(BATCH, device)).shape, range(20)))
    assert running(norm) == after(20)


def test_bad_input() -> None:
    norm = nn.BatchNormConfig(2).init(tracked())
    with pytest.raises(ShapeError, match="the input has rank 1, and must have rank 2 to 6"):
        norm(const([1.0, 2.0], tracked()))
    with pytest.raises(ShapeError, match="dim 1 is 3, and the layer fixes it at num_features = 2"):
        norm(const([[1.0, 2.0, 3.0]], tracked()))
    with pytest.raises(ShapeError, match="the batch is empty"):
        norm(const(np.zeros((0, 2)), tracked()))
    assert running(norm) == [[0.0, 0.0], [1.0, 1.0]]


def test_against_pytorchs_running_variance() -> None:
    """Ours is the biased one: PyTorch's share of the batch, 0.1 of 4 by numpy.var(ddof=1), times (n - 1) / n."""
    norm = nn.BatchNormConfig(1).init(tracked())
    norm(const([[1.0], [3.0], [5.0]], tracked()))
    assert running(norm)[1][0] - 0.9 == pytest.approx(0.1 * 4 * 2 / 3)
