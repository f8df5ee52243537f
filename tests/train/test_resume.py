"""A state, taken at any step, goes on with the same numbers to the last bit in another learner."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import BASES, UnderTest, params, tracked
from tests.train.models import Eager, Full, Loader, batches, learner, values
from tinyburn import Autodiff, ConfigError, RecordError, Tensor, optim, record, train

METRICS = (train.Accuracy, train.F1, train.LearningRate, train.UpdateRatio)


def written_and_read(state: Any, device: Any) -> Any:
    """As a file would have it: every tensor by its numbers. Anything but names, numbers, strings and tensors fails."""
    if isinstance(state, record.ModelRecord):
        return replace(state, values=written_and_read(dict(state.values), device))
    if isinstance(state, Tensor):
        return Tensor.from_data(np.array(state.to_numpy()), device)
    if isinstance(state, dict):
        assert all(type(name) is str for name in state)
        return {name: written_and_read(part, device) for name, part in state.items()}
    if isinstance(state, list):
        return [written_and_read(part, device) for part in state]
    assert state is None or type(state) in (int, float, str, bool), type(state)
    return state


def full(device: Any, seed: int = 1, **options: Any) -> train.Learner[Any]:
    stopping = train.EarlyStoppingConfig("valid loss", patience=50)
    rates = optim.CosineAnnealingLrSchedulerConfig(0.02, 30)
    made = [metric() for metric in METRICS]
    return learner(device, Full, seed, metrics=made, scheduler=rates, early_stopping=stopping, **options)


class Taken(Exception):
    """Ends a training in the middle, as a kill would."""


def taken_at(mine: train.Learner[Any], step: int, *arguments: Any, **options: Any) -> Any:
    """The state after a step of a fit that ends there."""
    states: list[Any] = []

    def after(learner: train.Learner[Any]) -> None:
        if len(learner.history.losses) == step:
            states.append(learner.state())
            raise Taken

    with pytest.raises(Taken):
        mine.fit(*arguments, after_step=after, **options)
    return states[0]


@pytest.mark.parametrize("base", params(one.inside(Autodiff) for one in BASES))
@pytest.mark.parametrize(("step", "accumulate"), [(1, 1), (4, 1), (7, 1), (10, 1), (3, 2)])
def test_it_goes_on_bit_for_bit(base: UnderTest, step: int, accumulate: int) -> None:
    device: Any = base.device()
    data, held_back = batches(device, 32, 5), batches(device, 50, 2, start=500)
    whole = full(device, accumulate=accumulate)
    whole.fit(data, held_back, epochs=3)
    state = written_and_read(
        taken_at(full(device, accumulate=accumulate), step, data, held_back, epochs=3), device.inner
    )
    device.seed(99)
    other = full(device, seed=42, accumulate=accumulate)  # other numbers, which the state replaces
    other.load_state(state)
    other.fit(data, held_back, epochs=3 - other.epoch)
    assert other.history.losses == whole.history.losses
    assert other.history.rows == whole.history.rows
    assert values(other.model) == values(whole.model)
    assert other.best_model is not None
    assert whole.best_model is not None
    assert values(other.best_model) == values(whole.best_model)
    assert device.random_state().draws > 0


@pytest.mark.parametrize("kind", [Loader, Eager])
@pytest.mark.parametrize("step", [3, 5, 6, 8, 10])
def test_a_loader_goes_on_where_it_was(step: int, kind: type[Loader]) -> None:
    device = tracked()
    data = batches(device, 32, 5)
    whole = learner(device)
    whole.fit(kind(data), epochs=3)
    state = taken_at(learner(device), step, kind(data), epochs=3)
    other, loader = learner(device, seed=5), kind(data)
    other.load_state(state)
    other.fit(loader, epochs=3 - other.epoch)
    assert other.history.losses == whole.history.losses
    looked_ahead = kind is Eager and step % 5 == 0
    assert loader.read == 15 - step + looked_ahead  # none is read only to be passed over


def test_a_state_between_two_fits() -> None:
    device = tracked()
    data = batches(device, 32, 3)
    first = learner(device)
    first.fit(data)
    state = first.state()
    first.fit(data)
    other = learner(device, seed=9)
    other.load_state(state)
    other.fit(data)
    assert other.history.losses == first.history.losses


def test_a_state_is_not_changed_by_what_comes_later() -> None:
    device = tracked()
    data = batches(device, 32, 3)
    mine = full(device)
    mine.fit(data, data)
    state = mine.state()
    before = repr(written_and_read(state, device.inner))
    mine.fit(data, data)
    assert repr(written_and_read(state, device.inner)) == before


def changed(state: Any, **parts: Any) -> Any:
    return {**state, **parts}


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    device = tracked()
    mine = full(device)
    data = batches(device, 32, 2)
    mine.fit(data, data)
    good = mine.state()
    values = good["model"].values

    def other_model(**changed: Any) -> Any:
        return {**good, "model": replace(good["model"], values={**values, **changed})}

    misspelt = {name.replace("first.weight", "first.weigth"): value for name, value in values.items()}
    wrong = {
        "no state of a learner": 5,
        "history is missing": {name: part for name, part in good.items() if name != "history"},
        "'extra' is unknown": changed(good, extra=1),
        "reads 1": changed(good, format=2),
        "position is -1": changed(good, position=-1),
        "model is dict, and should be a ModelRecord": changed(good, model={}),
        "best_model is int": changed(good, best_model=3),
        r"first.weight \[64, 16\] is missing; the nearest name is first.weigth": changed(
            good, model=replace(good["model"], values=misspelt)
        ),
        "first.bias has the shape": other_model(**{"first.bias": values["first.weight"]}),
        "no sums of the metric 'F1'": changed(good, metrics={"loss": {}}),
        "it is the state of Sgd": changed(good, optimizer=good["optimizer"] | {"optimizer": "Sgd"}),
        "steps is -1": changed(good, scheduler=good["scheduler"] | {"steps": -1}),
    }
    before = repr(written_and_read(mine.state(), device.inner))
    for message, state in wrong.items():
        with pytest.raises((ConfigError, RecordError), match=message):
            mine.load_state(state)
    assert repr(written_and_read(mine.state(), device.inner)) == before


def test_fewer_batches_than_are_done() -> None:
    device = tracked()
    data = batches(device, 32, 5)
    state = taken_at(learner(device), 4, data)
    other = learner(device)
    other.load_state(state)
    with pytest.raises(ConfigError, match="4 batches of this epoch are done, and train has only 2"):
        other.fit(data[:2])


def test_it_goes_on_from_a_file(tmp_path: Path) -> None:
    """As in another process: all that comes from the file lies on the host."""
    device = tracked("float32")
    data, held_back = batches(device, 32, 5), batches(device, 50, 2, start=500)
    whole = full(device)
    whole.fit(data, held_back, epochs=3, progress=False)
    record.save(tmp_path / "training", taken_at(full(device), 7, data, held_back, epochs=3, progress=False))
    resumed = full(device, seed=9)
    resumed.load_state(record.load(tmp_path / "training"))
    resumed.fit(data, held_back, epochs=3 - resumed.epoch, progress=False)
    assert resumed.history.losses == whole.history.losses
    assert values(resumed.model) == values(whole.model)


def test_a_model_is_taken_out_of_the_file_of_a_training(tmp_path: Path) -> None:
    device = tracked()
    mine = full(device)
    data = batches(device, 32, 2)
    mine.fit(data, data, progress=False)
    record.save(tmp_path / "training", mine.state())
    assert values(Full(device).load(tmp_path / "training")) == values(mine.model)
    assert "Full" in str(record.inspect(tmp_path / "training"))
