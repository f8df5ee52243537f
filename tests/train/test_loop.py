"""The Learner is the loop of its docstring: the same numbers, to the last bit."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

from tests.support import BASES, TRACKING_BACKENDS, AnyTensor, UnderTest, assert_close, params, tracked
from tests.train.models import Full, Plain, batches, cross_entropy, learner, values
from tinyburn import Autodiff, Finite, NdArray, Tensor, nn, optim, train


def written_out(
    device: Any, model: Any, data: Any, held_back: Any, epochs: int
) -> tuple[Any, list[float], list[float]]:
    """The loop as the docstring has it."""
    loss_of, optimizer = cross_entropy(device), optim.AdamConfig().init()
    scheduler = optim.ConstantLrSchedulerConfig(0.01).init()
    losses: list[float] = []
    valid_losses: list[float] = []
    for _ in range(epochs):
        for x, target in data:
            loss = loss_of(model(x), target)
            losses.append(loss.into_scalar())
            grads = loss.backward()
            model = optimizer.step(scheduler.step(), model, grads)
        evaluated, total, samples = model.valid(), 0.0, 0
        for x, target in held_back:
            loss = loss_of(evaluated(x.inner()), target.inner())
            total += loss.into_scalar() * x.shape[0]
            samples += x.shape[0]
        valid_losses.append(total / samples)
    return model, losses, valid_losses


@pytest.mark.parametrize("base", params(TRACKING_BACKENDS[:1] + [one.inside(Autodiff) for one in BASES[1:]]))
@pytest.mark.parametrize("kind", [Plain, Full])
def test_it_is_the_loop_of_its_docstring(base: UnderTest, kind: Any) -> None:
    device = base.device()
    data, held_back = batches(device, 32, 4), batches(device, 50, 2, start=500)
    device.seed(1)
    model, losses, valid_losses = written_out(device, kind(device), data, held_back, epochs=2)
    mine = learner(device, kind)
    history = mine.fit(data, held_back, epochs=2)
    assert history.losses == losses
    assert history.columns()["valid loss"] == valid_losses
    assert values(mine.model) == values(model)


def test_the_docstring_is_a_program_of_15_lines_at_most() -> None:
    text = train.Learner.__doc__ or ""
    lines = textwrap.dedent("        " + text.split("::\n", 1)[1].split("Everything else", 1)[0].strip("\n").lstrip())
    assert len(lines.strip().splitlines()) <= 15
    device = tracked()
    data, held_back = batches(device, 32, 3), batches(device, 50, 1, start=500)
    device.seed(1)
    names: dict[str, Any] = {
        "epochs": 2, "train": data, "valid": held_back, "model": Plain(device), "loss_of": cross_entropy(device),
        "optimizer": optim.AdamConfig().init(), "scheduler": optim.ConstantLrSchedulerConfig(0.01).init(),
        "losses": [], "valid_losses": [],
    }  # fmt: skip
    exec(lines, names)
    history = learner(device).fit(data, held_back, epochs=2)
    assert names["losses"] == history.losses
    assert names["valid_losses"] == history.columns()["valid loss"]


def test_it_is_transparent_on_other_backends() -> None:
    found = []
    for backend in (Autodiff[NdArray], Autodiff[Finite[NdArray]]):
        kind: Any = backend
        device = kind.device(float_dtype="float64")
        found.append(learner(device).fit(batches(device, 32, 3)).losses)
    assert found[0] == found[1]


def test_a_second_fit_goes_on() -> None:
    device = tracked()
    data = batches(device)
    at_once = learner(device)
    at_once.fit(data, epochs=3)
    twice = learner(device)
    twice.fit(data)
    history = twice.fit(data, epochs=2)
    assert history.losses == at_once.history.losses
    assert len(history) == twice.epoch == 3


def test_a_step_of_ones_own() -> None:
    """An autoencoder has no target, and its batch is a dict."""
    device = tracked()
    device.seed(1)
    model = nn.LinearConfig(64, 64).init(device)

    def step(model: Any, batch: Any) -> train.Step:
        x: AnyTensor = batch["x"]
        return train.Step(nn.MseLoss()(model(x), x), samples=2 * x.shape[0])

    mine = train.Learner(model, optim.SgdConfig().init(), step=step, lr=0.1)
    data = [{"x": x, "name": "digits"} for x, _ in batches(device, 32, 3)]
    history = mine.fit(data, data, epochs=3)
    assert len(history.losses) == 9
    assert history.losses[-1] < history.losses[0]
    assert history.rows[-1]["valid loss"] < history.rows[0]["valid loss"]


# Several batches a step, and clipping


def test_accumulated_gradients_are_those_of_one_large_batch() -> None:
    """Also where the batches are of unequal size."""
    device = tracked("float64")
    (x, y), *_ = batches(device, 60, 1)
    parts = [(x.narrow(0, at, n), y.narrow(0, at, n)) for at, n in ((0, 25), (25, 25), (50, 10))]
    whole, pieces = learner(device), learner(device, accumulate=3)
    whole.fit([(x, y)])
    pieces.fit(parts)
    assert_close(pieces.history.losses, whole.history.losses, "float64")
    for path, found in values(pieces.model).items():
        assert_close(found, values(whole.model)[path], tolerance=1e-9)


def test_the_last_step_of_an_epoch_may_have_fewer_batches() -> None:
    device = tracked()
    mine = learner(device, accumulate=4)
    mine.fit(batches(device, 32, 6), epochs=2)
    assert len(mine.history.losses) == 4


@pytest.mark.parametrize("kind", ["Norm", "Value", "GlobalNorm"])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_clipping_is_that_of_the_optimizer(kind: str, accumulate: int) -> None:
    device = tracked("float64")
    clip = getattr(optim.GradientClippingConfig, kind)(0.01)
    data = batches(device, 32, 4)
    mine = learner(device, clip=clip, accumulate=accumulate)
    mine.fit(data)
    device.seed(1)
    sgd = optim.AdamConfig(grad_clipping=clip).init()
    other = train.Learner(Plain(device), sgd, cross_entropy(device), lr=0.01, accumulate=accumulate)
    other.fit(data)
    for path, found in values(mine.model).items():
        assert_close(found, values(other.model)[path], "float64")  # all together are summed in another order


def test_a_scheduler_gives_the_rate_of_each_step() -> None:
    device = tracked()
    config = optim.LinearLrSchedulerConfig(0.1, 0.0, 4)
    mine = learner(device, scheduler=config, metrics=[train.LearningRate()])
    history = mine.fit(batches(device, 32, 2), epochs=2)
    assert history.columns()["learning rate"] == [config.lr_at(1), config.lr_at(3)]


def test_one_seed_for_everything() -> None:
    import random

    draws = []
    for _ in range(2):
        device = tracked()
        train.seed_everything(7, device)
        model = Full(device)
        numbers = [random.random(), float(np.random.rand())]
        mine = train.Learner(model, optim.AdamConfig().init(), cross_entropy(device), lr=0.01, seed=3)
        draws.append((numbers, mine.fit(batches(device)).losses, values(mine.model)))
    assert draws[0] == draws[1]


def test_data_on_the_inner_backend_can_evaluate() -> None:
    device = tracked()
    data = batches(device, 32, 2)
    there = [(x.inner(), y.inner()) for x, y in data]
    first, second = learner(device), learner(device)
    assert first.fit(data, data).rows == second.fit(data, there).rows


def test_a_batch_holds_tensors_in_any_container() -> None:
    from tinyburn.train.batch import map_batch, samples_of, tensors_of

    device = tracked()
    x = Tensor.ones((3, 2), device)
    batch = {"a": [x, (x, 5)], "b": "text"}
    assert len(tensors_of(batch)) == 2
    assert samples_of(batch) == 3
    assert map_batch(batch, lambda tensor: tensor + 1)["a"][1][1] == 5
