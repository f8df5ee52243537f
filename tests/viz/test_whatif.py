"""The what-ifs of the peak card: each is a replay of the whole log, checked against a real run that is different."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.jobs import JOBS, named_training_step, sized, train_mlp, training_step
from tests.viz.test_memory import random_log
from tinyburn import Autodiff, Device, Distribution, Gradients, Meta, NdArray, Param, Tensor
from tinyburn.autodiff.strategy import BalancedCheckpointing
from tinyburn.backend import Category, EventLog
from tinyburn.memory import measure
from tinyburn.memory.measure import Job, read_report
from tinyburn.viz.history import History, Life, highest
from tinyburn.viz.whatif import WhatIf, is_memory_bound, past_their_use, recomputable, this_one_recomputed, what_ifs


def history_of(job: Job, batch: int = 16) -> History:
    return History(measure(job, Autodiff[NdArray].device(), batch).events)


def answers(job: Job, batch: int = 16) -> dict[str, WhatIf]:
    return {answer.question: answer for answer in what_ifs(history_of(job, batch))}


# The sweep


def test_highest_is_that_of_a_count_by_hand() -> None:
    """5 from 0 to 3, 2 from 1 to 2, 4 from 3 on: what ends at a moment is gone before what begins there."""
    lives = [Life((0, 0), (3, 0), 5), Life((1, 0), (2, 0), 2), Life((3, 0), (9, 0), 4)]
    assert highest(lives) == (7, (1, 0))
    assert highest([*lives, Life((2, 1), (2, 2), 100)]) == (105, (2, 1))
    assert highest([Life((4, 0), (4, 0), 10)]) == (0, (0, 0))
    assert highest([]) == (0, (0, 0))


@pytest.mark.parametrize("name", JOBS)
def test_an_unchanged_replay_has_the_reports_peak(name: str) -> None:
    job, batch = JOBS[name]
    report = measure(job, Autodiff[NdArray].device(), batch)
    peak, (place, inserted) = highest(record.life for record in History(report.events).records.values())
    assert (peak, inserted) == (report.peak_bytes, 0)
    assert str(History(report.events).steps[place]) == report.peak_op


@given(events=st.integers(1, 2000), seed=st.integers(0, 1000))
def test_unchanged_replay_of_what_no_program_would_do(events: int, seed: int) -> None:
    log = random_log(events, seed)
    assert highest(record.life for record in History(log).records.values())[0] == read_report(log, None).peak_bytes


# Names dropped early


def named_step(device: Device[Any], batch: int, exponent: int) -> Gradients[Any]:
    """`named_training_step`, with any power of the difference."""
    w = Param.from_tensor(Tensor.ones((8, 4), device)).val()
    b = Param.from_tensor(Tensor.zeros((4,), device)).val()
    x, y = Tensor.ones((batch, 8), device), Tensor.zeros((batch, 4), device)
    prediction = x @ w + b.unsqueeze()
    loss = ((prediction - y) ** exponent).mean()
    return loss.backward()


def step_with_del(device: Device[Any], batch: int, exponent: int) -> Gradients[Any]:
    """`named_step`, with a ``del`` after the last use of the target, the prediction and the loss."""
    w = Param.from_tensor(Tensor.ones((8, 4), device)).val()
    b = Param.from_tensor(Tensor.zeros((4,), device)).val()
    x, y = Tensor.ones((batch, 8), device), Tensor.zeros((batch, 4), device)
    prediction = x @ w + b.unsqueeze()
    error = prediction - y
    del prediction, y
    powers = error**exponent
    del error
    loss = [powers.mean()]
    del powers
    return loss.pop().backward()


@pytest.mark.parametrize("batch", [16, 300])
def test_names_dropped_is_what_del_gives(batch: int) -> None:
    """For squares the new peak is in the forward pass, where nothing is past its use."""
    real = measure(sized(step_with_del, exponent=2), Autodiff[NdArray].device(), batch)
    for job in (training_step, named_training_step):
        answer = answers(job, batch)["names dropped"]
        assert (answer.peak_bytes, answer.at) == (real.peak_bytes, real.peak_op)


@pytest.mark.parametrize(
    ("exponent", "batch", "by_hand"),
    [
        (2, 1, 144 + 144 + 8 * 4 + 4),  # weights, their gradients, x; and the loss
        # weights; x, the difference, its square, 3 times that, g times that; g and the loss
        (3, 16, 144 + 16 * (8 + 4 * 4) * 4 + 2 * 4),
        (3, 300, 144 + 300 * (8 + 4 * 4) * 4 + 2 * 4),
    ],
)
def test_names_dropped_drops_the_loss_too(exponent: int, batch: int, by_hand: int) -> None:
    """Here the new peak is in the backward pass, and a ``del`` cannot do all: ``backward`` holds the loss, 4 bytes."""
    real = measure(sized(step_with_del, exponent=exponent), Autodiff[NdArray].device(), batch)
    answer = answers(sized(named_step, exponent=exponent), batch)["names dropped"]
    assert real.peak_bytes == by_hand
    assert (answer.peak_bytes, answer.at) == (real.peak_bytes - 4, real.peak_op)


def test_what_is_read_again_is_not_past_its_use() -> None:
    def job(device: Device[Any], batch: int) -> Tensor[Any, Any]:
        early, late = Tensor.ones((batch, 100), device), Tensor.ones((batch, 100), device)
        early = early + 1.0
        late = late * 2.0
        return early + late

    history = history_of(job)
    assert past_their_use(history) == {}


def test_results_and_parameters_are_meant_to_stay() -> None:
    history = history_of(train_mlp)
    for buffer in past_their_use(history):
        assert not history.records[buffer].categories & {Category.PARAMETER, Category.OPTIMIZER}
        assert buffer not in history.returned
    assert history.returned


def test_dropping_can_move_the_peak() -> None:
    """A large name is alive at the first peak, and a later moment without it is nearly as large."""

    def job(device: Device[Any], batch: int) -> Tensor[Any, Any]:
        idle = Tensor.ones((batch, 100), device)
        first = Tensor.ones((batch, 300), device).sin().sum()
        del idle
        return first + Tensor.ones((batch, 340), device).exp().sum()

    answer = answers(job, 1)["names dropped"]
    assert answer.moved
    assert answer.at == "exp"


# Activations recomputed


@pytest.mark.parametrize("name", ["training step", "training step, named", "mlp with momentum", "normalize batch"])
def test_recomputing_is_what_the_strategy_does(name: str) -> None:
    job, batch = JOBS[name]
    real = measure(job, Autodiff[NdArray, BalancedCheckpointing].device(), batch)
    answer = answers(job, batch)["activations recomputed"]
    assert answer.peak_bytes == real.peak_bytes
    assert rule_in(answer.at) == rule_in(real.peak_op)


def rule_in(place: str) -> str:
    """The rule, if any. A replay names the operation that needs a value, a run the one that recomputes it."""
    return place.partition(", ")[2] or place


def test_a_parameter_is_not_recomputed() -> None:
    """The update made it, from the one before and a gradient. The graph of the next step begins with it."""
    history = history_of(train_mlp)
    state = {Category.PARAMETER, Category.OPTIMIZER}
    made_from_others = [record for record in history.records.values() if history.operands(record.made)]
    parameters = [record for record in made_from_others if record.categories & state]
    assert len(parameters) > 6
    assert not any(is_memory_bound(history, record) for record in parameters)


@pytest.mark.parametrize("name", [name for name in JOBS if "MB" not in name])
def test_the_strategy_never_does_better(name: str) -> None:
    """It may hold more: a tensor that is still in use keeps the recipe of its value, and all that is in it."""
    job, batch = JOBS[name]
    real = measure(job, Autodiff[NdArray, BalancedCheckpointing].device(), batch)
    assert answers(job, batch)["activations recomputed"].peak_bytes <= real.peak_bytes


def chain(device: Device[Any], batch: int) -> Gradients[Any]:
    """A product, and four cheap results from it. sin keeps its operand, exp its result."""
    w = Param.from_tensor(Tensor.ones((1, 1), device)).val()
    return (Tensor.ones((batch, 1), device) @ w).sin().exp().sin().exp().sum().backward()


def test_a_chain_by_hand() -> None:
    """In columns of 64 bytes, at the largest moment of each run, which is the backward of the second sin.

    As it is: x, the product, the first exp, g, the cosine, g times the cosine. Recomputed: the same, since the product
    has to stay for the first exp, and that one has come back for the second. Numbers of 4 bytes come on top: w, the
    gradient of the sum, and the sum itself while a name or a call has it.
    """
    history = history_of(chain)
    assert len(recomputable(history)) == 2
    before = highest(record.life for record in history.records.values())[0]
    assert 6 * 64 < before <= 6 * 64 + 3 * 4
    answer = answers(chain)["activations recomputed"]
    assert (answer.peak_bytes, answer.change(before)) == (before, "the same")


def blocks(device: Device[Any], batch: int) -> Gradients[Any]:
    """Products with cheap operations between them: what the strategy was made for."""
    x = Tensor.random((batch, 16), Distribution.Normal(0, 1), device)
    for _ in range(6):
        w = Param.from_tensor(Tensor.random((16, 16), Distribution.Normal(0, 0.1), device)).val()
        x = (x @ w).sin().exp().sin().exp().tanh()
    return x.sum().backward()


def test_blocks_of_cheap_operations_gain() -> None:
    history = history_of(blocks, 64)
    before = highest(record.life for record in history.records.values())[0]
    answer = answers(blocks, 64)["activations recomputed"]
    assert answer.peak_bytes < 0.6 * before
    real = measure(blocks, Autodiff[NdArray, BalancedCheckpointing].device(), 64)
    assert answer.peak_bytes == pytest.approx(real.peak_bytes, rel=0.1)


def test_one_alone_counts_in_every_step() -> None:
    """Three training steps have three buffers in each place, and all three are recomputed."""
    history = history_of(train_mlp)
    report = read_report(history.log, None)
    alive = [
        buffer
        for buffer in recomputable(history)
        if history.records[buffer].start <= report.peak_event < history.records[buffer].end
    ]
    assert alive
    for buffer in alive:
        answer = this_one_recomputed(history, buffer)
        assert answer is not None
        assert answer.touched == 3


def test_an_input_cannot_be_recomputed() -> None:
    history = history_of(training_step)
    assert this_one_recomputed(history, 0) is None


# Half precision


@pytest.mark.parametrize("name", JOBS)
def test_half_precision_is_the_run_in_half_precision(name: str) -> None:
    """Of the large jobs, the plan: NumPy takes minutes for their products in float16."""
    job, batch = JOBS[name]
    backend: Any = Meta if "MB" in name else NdArray
    real = measure(job, Autodiff[backend].device(float_dtype="float16"), batch)
    answer = answers(job, batch)["half precision"]
    assert (answer.peak_bytes, answer.at) == (real.peak_bytes, real.peak_op)


def test_bools_and_places_stay() -> None:
    def job(device: Device[Any], batch: int) -> Tensor[Any, Any]:
        values = Tensor.ones((batch, 8), device)
        mask, places = values > 0.0, values.argmax(1)
        return values.mask_where(mask, values * 2.0).gather(1, places)

    real = measure(job, NdArray.device(float_dtype="float16"), 16)
    report = measure(job, NdArray.device(), 16)
    half = what_ifs(History(report.events))[2]
    assert half.peak_bytes == real.peak_bytes


def test_an_empty_log_has_answers() -> None:
    assert [answer.peak_bytes for answer in what_ifs(History(EventLog()))] == [0, 0, 0]
