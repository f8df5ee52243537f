"""How a training ends before its last epoch: Ctrl-C, a NaN, no progress, an error of somebody else."""

from __future__ import annotations

import signal
import threading
from typing import Any

import numpy as np
import pytest

from tests.support import BASES, AnyTensor, UnderTest, params, tracked
from tests.train.models import Full, Loader, batches, cross_entropy, learner, values
from tinyburn import Autodiff, ConfigError, Module, NonFinite, Param, Tensor, nn, optim, train
from tinyburn.train.history import History


def press(step: int) -> Any:
    """Presses Ctrl-C while a step is shown, which is no good moment for a model."""

    def after(mine: train.Learner[Any]) -> None:
        if len(mine.history.losses) == step:
            signal.raise_signal(signal.SIGINT)

    return after


def test_ctrl_c_stops_after_the_step(capsys: pytest.CaptureFixture[str]) -> None:
    device = tracked()
    data = batches(device, 32, 5)
    mine, whole = learner(device, Full), learner(device, Full)
    before = signal.getsignal(signal.SIGINT)
    mine = learner(device, Full)
    history = mine.fit(data, data, epochs=4, after_step=press(7))
    line = "stopped by Ctrl-C after step 7, 2 batches into epoch 2: the model and the history are those of that step"
    assert capsys.readouterr().out == f"{line}\n"
    assert history.stopped == line
    assert repr(history).endswith(line)
    assert len(history.losses) == 7
    assert len(history) == mine.epoch == 1
    assert signal.getsignal(signal.SIGINT) is before
    mine.fit(data, data, epochs=4 - mine.epoch)  # and on, as if nothing had been
    whole = learner(device, Full)
    whole.fit(data, data, epochs=4)
    assert mine.history.losses == whole.history.losses
    assert mine.history.rows == whole.history.rows
    assert mine.history.stopped == ""


def test_ctrl_c_in_the_middle_of_a_step_and_of_an_evaluation() -> None:
    device = tracked()
    data = batches(device, 32, 3)
    loss_of = cross_entropy(device)
    press_at, calls = 0, list[int]()

    def step(model: Any, batch: Any) -> train.Step:
        x, target = batch
        calls.append(x.shape[0])
        if len(calls) == press_at:
            signal.raise_signal(signal.SIGINT)
        here = loss_of if x.backend.is_autodiff else loss_of.valid()
        return train.Step(here(model(x), target))

    for at, losses, position in ((2, 2, 2), (5, 3, 3)):
        press_at, calls = at, []
        device.seed(1)
        mine = train.Learner(Full(device), optim.AdamConfig().init(), step=step, lr=0.01)
        mine.fit(data, data)
        assert (len(mine.history.losses), mine.position, len(mine.history)) == (losses, position, 0)
        mine.fit(data, data)
        assert (len(mine.history.losses), mine.position, len(mine.history)) == (3, 0, 1)


def test_ctrl_c_in_an_evaluation_with_a_loader() -> None:
    device = tracked()
    data = batches(device, 32, 3)

    class Pressing(list[Any]):
        def __iter__(self) -> Any:
            signal.raise_signal(signal.SIGINT)
            return super().__iter__()

    whole, mine, loader = learner(device), learner(device), Loader(data)
    whole = learner(device)
    whole.fit(Loader(data), data, epochs=2)
    mine = learner(device)
    mine.fit(loader, Pressing(data), epochs=2)
    assert (mine.epoch, mine.position) == (0, 3)
    mine.fit(loader, data, epochs=2)
    assert mine.history.losses == whole.history.losses
    assert mine.history.rows == whole.history.rows


def test_a_second_ctrl_c_is_pythons_own() -> None:
    def twice(_: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    device = tracked()
    with pytest.raises(KeyboardInterrupt):
        learner(device).fit(batches(device), after_step=twice)


def test_in_another_thread_it_trains_as_well() -> None:
    device = tracked()
    mine = learner(device)
    thread = threading.Thread(target=lambda: mine.fit(batches(device)))
    thread.start()
    thread.join()
    assert mine.epoch == 1


def test_an_error_of_somebody_else_leaves_the_model_as_it_was() -> None:
    device = tracked()
    data = batches(device, 32, 3)
    mine = learner(device, Full)
    mine.fit(data)
    before = values(mine.model)

    def stumbles(output: AnyTensor, target: AnyTensor) -> AnyTensor:
        raise RuntimeError("the batch norm has seen the batch already")

    broken = train.Learner(mine.model, optim.SgdConfig().init(), stumbles, lr=0.1)
    with pytest.raises(RuntimeError, match="seen the batch"):
        broken.fit(data)
    assert values(broken.model) == before


# NaN


class Root(Module):
    """A root of what a parameter makes: NaN below 0, and an infinite slope at 0."""

    def __init__(self, start: float, device: Any) -> None:
        self.scale = Param.from_tensor(Tensor.full((1,), start, device))
        self.dropout = nn.DropoutConfig(0.5).init()

    def forward(self, x: Any) -> Any:
        return (self.dropout(x) * self.scale.val()).sqrt()


def first_loss(output: AnyTensor, target: AnyTensor) -> AnyTensor:
    return (output - target).sum()


def root(start: float, device: Any, **options: Any) -> train.Learner[Any]:
    device.seed(1)
    return train.Learner(Root(start, device), optim.SgdConfig().init(), first_loss, lr=1.0, **options)


@pytest.mark.parametrize("base", params(one.inside(Autodiff) for one in BASES))
def test_a_nan_names_its_operation(base: UnderTest) -> None:
    device = base.device()
    ones = Tensor.ones((8,), device)
    mine = root(-1.0, device)
    random = device.random_state()
    with pytest.raises(train.NonFiniteLoss) as caught:
        mine.fit([(ones, ones)])
    text = str(caught.value)
    assert text.startswith("Learner.fit\n  at : step 1, batch 1 of epoch 1\n  because the loss is nan\n")
    assert "the first operation that is not finite is sqrt (in root)" in text
    assert "hint: a lower learning rate" in text
    assert isinstance(caught.value, NonFinite)
    assert device.random_state().draws == random.draws + 1  # the step's own, and not that of the second look
    assert mine.history.losses == []
    assert mine.model.scale.val().to_numpy().tolist() == [-1.0]


def test_a_nan_in_the_middle_keeps_what_was_good() -> None:
    """The third step is the first one on the wrong side."""
    device = tracked("float64")
    mine = learner(device, Full)
    data = batches(device, 32, 2)
    mine.fit(data)
    before, (x, y) = values(mine.model), data[0]
    spoilt = Tensor.from_data(np.where(x.to_numpy() == 0, np.nan, x.to_numpy()), device)
    with pytest.raises(train.NonFiniteLoss, match="input 0 of the batch has NaN"):
        mine.fit([(spoilt, y)])
    assert values(mine.model) == before  # the running statistics of the batch norm too
    assert mine.position == 1


class Normed(Root):
    """NaN before a batch norm, whose running statistics are spoilt in the same pass."""

    def __init__(self, device: Any) -> None:
        super().__init__(1.0, device)
        self.norm = nn.BatchNormConfig(2).init(device)

    def forward(self, x: Any) -> Any:
        return self.norm((self.dropout(x) - 2.5).sqrt())


def test_what_the_pass_itself_has_spoilt_is_no_reason() -> None:
    """And each batch of a step is looked at with its own random numbers: the NaN is where an element is dropped."""
    device = tracked("float64")
    pair = Tensor.full((2, 2), 2.0, device)
    failed = set()
    for seed in range(40):
        device.seed(seed)
        mine = train.Learner(Normed(device), optim.SgdConfig().init(), first_loss, lr=0.0, accumulate=2)
        with pytest.raises(train.NonFiniteLoss) as caught:
            mine.fit([(pair, pair)] * 100)
        assert "the first operation that is not finite is sqrt (in normed)" in str(caught.value)
        assert "already" not in str(caught.value)
        assert np.isfinite(mine.model.norm.running_mean.to_numpy()).all()
        failed.add(mine.position % 2)
    assert failed == {0, 1}


def test_an_infinite_slope_shows_in_the_next_loss_or_at_once_if_asked() -> None:
    """sqrt(c * x - 1) with c * x = 1: the loss is 0, and the slope inf."""

    class Shifted(Root):
        def forward(self, x: Any) -> Any:
            return (x * self.scale.val() - 1.0).sqrt()

    device = tracked("float64")
    ones = Tensor.ones((2,), device)
    for check, reason in ((False, "scale of the model has"), (True, "in the backward sqrt")):
        model, sgd = Shifted(1.0, device), optim.SgdConfig().init()
        mine = train.Learner(model, sgd, first_loss, lr=1.0, check_gradients=check)
        with pytest.raises(train.NonFiniteLoss, match=reason) as caught:
            mine.fit([(ones, ones)], epochs=3)
        assert len(mine.history.losses) == (0 if check else 1)
        assert ("check_gradients=True" in str(caught.value)) is not check


def test_a_step_of_ones_own_that_cannot_run_again_says_so() -> None:
    device = tracked()
    device.seed(1)
    model, held = Root(-1.0, device), Tensor.ones((30,), device)
    mine = train.Learner(
        model, optim.SgdConfig().init(), step=lambda model, batch: train.Step(model(batch * held).sum()), lr=0.1
    )
    with pytest.raises(train.NonFiniteLoss, match="the step cannot run on Finite: BackendMismatch"):
        mine.fit([held])


# Early stopping


def history_of(values: list[float]) -> History:
    history = History()
    history.rows = [{"valid loss": value} for value in values]
    return history


@pytest.mark.parametrize(
    ("config", "values", "best", "stops"),
    [
        ({"patience": 2}, [3.0, 2.0, 2.5, 2.1], 2, True),
        ({"patience": 2}, [3.0, 2.0, 2.5, 1.9], 4, False),
        ({"patience": 2}, [3.0, 2.0, 2.0, 2.0], 2, True),
        ({"patience": 1, "larger_is_better": True}, [0.5, 0.6, 0.7], 3, False),
        ({"patience": 1, "larger_is_better": True}, [0.5, 0.6, 0.6], 2, True),
        ({"patience": 2, "min_change": 0.5}, [3.0, 2.9, 2.8], 1, True),
        ({"patience": 2}, [float("nan"), 1.0, float("nan")], 2, False),
        ({"patience": 1}, [], 0, False),
    ],
)
def test_when_it_stops(config: Any, values: list[float], best: int, stops: bool) -> None:
    stopping = train.EarlyStoppingConfig(**config)
    assert stopping.best_epoch(history_of(values)) == best
    assert bool(stopping.why_stop(history_of(values))) is stops


def test_early_stopping_keeps_the_best_model() -> None:
    device = tracked()
    data, held_back = batches(device, 16, 2), batches(device, 50, 2, start=500)
    mine = learner(device, Full, early_stopping=train.EarlyStoppingConfig(patience=2))
    mine.scheduler = optim.ConstantLrSchedulerConfig(0.3).init()  # far too high, so it gets worse
    history = mine.fit(data, held_back, epochs=50)
    assert history.stopped.startswith("stopped early: valid loss has not been better than")
    assert len(history) < 50
    best = min(history.columns()["valid loss"])
    assert mine.best_model is not None
    evaluated, loss_of = mine.best_model.valid(), cross_entropy(device).valid()
    total = [float(loss_of(evaluated(x.inner()), y.inner()).into_scalar()) * x.shape[0] for x, y in held_back]
    assert sum(total) / 100 == best
    assert values(mine.best_model) != values(mine.model)


def test_a_column_that_is_not_there() -> None:
    device = tracked()
    mine = learner(device, early_stopping=train.EarlyStoppingConfig("valid accuracy"))
    with pytest.raises(ConfigError, match="no number 'valid accuracy'"):
        mine.fit(batches(device, 32, 1))
    with pytest.raises(ConfigError, match="patience is 0"):
        train.EarlyStoppingConfig(patience=0)
