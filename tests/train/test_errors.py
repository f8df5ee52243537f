"""What cannot be trained is told before anything happens, with every reason."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import plain, tracked
from tests.train.models import Plain, batches, cross_entropy, learner
from tinyburn import ConfigError, ForeignCall, Module, nn, optim, train


def test_every_reason_at_once() -> None:
    any_train: Any = train
    with pytest.raises(ConfigError) as caught:
        any_train.Learner(Plain(plain()), "adam", metrics=["accuracy"], clip=1.0, accumulate=0, early_stopping=3)
    assert str(caught.value) == (
        "Learner\n"
        "  because the model is on NdArray, which has no gradients; make it on Autodiff[NdArray].device()\n"
        "  because str is no optimizer; write optim.AdamConfig().init()\n"
        "  because there is neither a loss nor a step\n"
        "  because there is no learning rate: give lr or a scheduler\n"
        "  because 'accuracy' is no metric; write train.Accuracy()\n"
        "  because clip is 1.0; write optim.GradientClippingConfig.GlobalNorm(1.0)\n"
        "  because accumulate is 0, and must be a whole number of 1 or more\n"
        "  because early_stopping is 3; write train.EarlyStoppingConfig(patience=3)\n"
        "  hint: train.Learner(model, optim.AdamConfig().init(), nn.MseLoss(), lr=1e-3)"
    )


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"step": lambda model, batch: None}, "both a loss and a step"),
        ({"scheduler": optim.ConstantLrSchedulerConfig(0.1)}, "an lr and also a scheduler"),
        ({"lr": -1.0}, "lr is -1.0"),
        ({"lr": None, "scheduler": "cosine"}, "'cosine' is no scheduler"),
        ({"metrics": [train.Accuracy(), train.Accuracy()]}, "'accuracy' stands for two metrics"),
        ({"metrics": train.Accuracy()}, "should be a list"),
        ({"loss": 3}, "3 is no function"),
        ({"seed": -1}, "-1 is not a whole number"),
    ],
)
def test_options_that_do_not_fit(options: Any, reason: str) -> None:
    device = tracked()
    all_options: Any = {"loss": nn.MseLoss(), "lr": 0.1} | options
    with pytest.raises(ConfigError, match=reason):
        train.Learner(Plain(device), optim.SgdConfig().init(), **all_options)


def test_what_is_no_model() -> None:
    adam, mse, wrong = optim.AdamConfig().init(), nn.MseLoss(), Any
    wrong = tracked()
    with pytest.raises(ConfigError, match="is no Module"):
        train.Learner(wrong, adam, mse, lr=0.1)  # type: ignore[type-var]
    with pytest.raises(ConfigError, match="no parameters, so there is nothing to train"):
        train.Learner(Module(), adam, mse, lr=0.1)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((3,), "train is int"),
        (([], 3), "valid is int"),
        (([], None, 0), "epochs is 0"),
        (([], None, 1), "train had no batch in epoch 1"),
    ],
)
def test_what_no_fit_can_use(arguments: Any, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        learner(tracked()).fit(*arguments)


def test_a_generator_is_empty_in_the_second_epoch() -> None:
    device = tracked()
    mine = learner(device)
    with pytest.raises(ConfigError, match=r"in epoch 2\n.*a generator gives its batches once"):
        mine.fit((batch for batch in batches(device, 32, 2)), epochs=2)
    assert mine.epoch == 1


def test_batches_of_another_kind() -> None:
    device = tracked()
    (x, y), *_ = batches(device, 32, 1)
    data: Any = [x]
    with pytest.raises(ConfigError, match=r"a pair \(x, target\), and this one is a Tensor"):
        learner(device).fit(data)
    sgd = optim.SgdConfig().init()
    step: Any = lambda model, batch: cross_entropy(device)(model(batch[0]), batch[1])  # noqa: E731
    with pytest.raises(ForeignCall, match=r"it returned Tensor, and should return train\.Step"):
        train.Learner(Plain(device), sgd, step=step, lr=0.1).fit([(x, y)])
    empty: Any = lambda model, batch: train.Step(cross_entropy(device)(model(x), y))  # noqa: E731
    with pytest.raises(ConfigError, match="there is no tensor in this batch, which is a str"):
        train.Learner(Plain(device), sgd, step=empty, lr=0.1).fit(["text"])
