"""The what-ifs of the peak card: each is a replay of the whole log, checked against a real run that is different."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.memory.jobs import JOBS, named_training_step, sized, train_mlp, training_step
from tests.memory.test_history import history_of
from tinyburn import Autodiff, Device, Distribution, Gradients, Meta, NdArray, Param, Tensor
from tinyburn.autodiff.checkpointing import BalancedCheckpointing
from tinyburn.backend import Category
from tinyburn.backend.log import EventLog
from tinyburn.base.dtype import Int
from tinyburn.memory import measure
from tinyburn.memory.history import History, highest
from tinyburn.memory.measure import Job, read_report
from tinyburn.memory.whatif import (
    WhatIf,
    is_memory_bound,
    past_their_use,
    recomputable,
    this_one_recomputed,
    what_ifs,
    wide_floats,
)


def answers(job: Job, batch: int = 16) -> dict[str, WhatIf]:
    return {answer.question: answer for answer in what_ifs(history_of(job, batch))}


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


def rule_in(operation: str) -> str:
    """The rule, if any. A replay names the operation that needs a value, a run the one that recomputes it."""
    return operation.partition(", ")[2] or operation


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
    """Three training steps have three buffers of each role, and all three are recomputed."""
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


def test_truth_values_and_indices_stay() -> None:
    def job(device: Device[Any], batch: int) -> Tensor[Any, Any]:
        values = Tensor.ones((batch, 8), device)
        mask, indices = values > 0.0, values.argmax(1)
        return values.mask_where(mask, values * 2.0).gather(1, indices)

    real = measure(job, NdArray.device(float_dtype="float16"), 16)
    report = measure(job, NdArray.device(), 16)
    half = what_ifs(History(report.events))[2]
    assert half.peak_bytes == real.peak_bytes


def whole_of_a_float(device: Device[Any], batch: int) -> Any:
    return (Tensor.ones((batch, 8), device) * 3.0).int()


def counted(device: Device[Any], batch: int) -> Any:
    return Tensor.arange(0, batch, device)


@pytest.mark.parametrize("job", [whole_of_a_float, counted])
def test_whole_numbers_stay(job: Job) -> None:
    """A cast need not make floats, nor an operation without operands."""
    history = history_of(job)
    result = max(history.records)
    assert history.records[result].dtype.kind is Int
    assert result not in wide_floats(history)
    real = measure(job, NdArray.device(float_dtype="float16"), 16)
    assert what_ifs(history)[2].peak_bytes == real.peak_bytes


def test_only_wide_floats_have_a_half() -> None:
    log = EventLog()
    log.op("full", "", [])
    dtypes = ("float16", "float32", "float64", "int32", "int64", "bool")
    kept = [log.alloc(np.empty(8, dtype), Category.INPUT) for dtype in dtypes]
    history = History(log)
    assert [record.dtype for record in history.records.values()] == list(dtypes)
    assert wide_floats(history) == {1, 2}
    assert what_ifs(history)[2].peak_bytes == 8 * (2 + 2 + 4 + 4 + 8 + 1)
    del kept


def test_an_empty_log_has_answers() -> None:
    assert [answer.peak_bytes for answer in what_ifs(History(EventLog()))] == [0, 0, 0]
