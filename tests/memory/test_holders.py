"""Who holds each byte at the peak: the log's answer against the objects that are really there."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.memory.jobs import JOBS, AnyTensor, Mlp, attention, named_training_step, segmented_mlp, train_mlp
from tinyburn import (
    Autodiff,
    BalancedCheckpointing,
    Device,
    Module,
    NdArray,
    Param,
    Tensor,
    TinyburnError,
    Traced,
    nn,
    optim,
)
from tinyburn import activation as act
from tinyburn.autodiff.nodes import WatchedNode
from tinyburn.autodiff.recipes import sources_of
from tinyburn.backend import Category, Kind
from tinyburn.backend.log import Buffer, EventLog
from tinyburn.backend.operations import label_of
from tinyburn.memory import Holder, JobError, holders_at_peak, measure, plan
from tinyburn.memory.holders import open_savers, read_holders
from tinyburn.memory.measure import find_log, traced_device

STRATEGIES: list[Any] = [Autodiff[NdArray], Autodiff[NdArray, BalancedCheckpointing]]
SMALL = [name for name in JOBS if "MB" not in name]


def holder_of(holders: tuple[Holder, ...], name: str) -> Holder:
    """The one that a Python name holds."""
    (found,) = [holder for holder in holders if name in holder.names]
    return found


# Each byte once


@pytest.mark.parametrize("backend", STRATEGIES, ids=lambda backend: backend.__name__)
@pytest.mark.parametrize("name", JOBS)
def test_every_byte_at_the_peak_has_exactly_one_holder(name: str, backend: Any) -> None:
    job, batch = JOBS[name]
    holders = holders_at_peak(job, batch, device=backend.device())
    report = measure(job, backend.device(), batch)
    assert len({holder.buffer for holder in holders}) == len(holders)
    assert sum(holder.bytes for holder in holders) == report.peak_bytes
    by_category: Counter[str] = Counter()
    for holder in holders:
        by_category[holder.category.name.lower()] += holder.bytes
    assert {category: size for category, size in by_category.items() if size} == report.at_peak
    assert list(holders) == sorted(holders, key=lambda holder: (-holder.bytes, holder.buffer))


@pytest.mark.parametrize("name", SMALL)
def test_holders_are_the_buffers_that_exist(name: str) -> None:
    """A real run is stopped at the peak's event, and Python's garbage collector asked which buffers there are."""
    job, batch = JOBS[name]
    expected = holders_at_peak(job, batch)
    seen: list[Counter[tuple[int, int]]] = []
    peak = plan(job, batch).peak_event

    def look(log: EventLog, index: int) -> None:
        if index == peak:
            here = [x for x in gc.get_objects() if isinstance(x, Buffer) and x.log is log]
            seen.append(Counter((x.id, x.size) for x in here))

    watched(job, batch, Autodiff[NdArray], look)
    assert seen == [Counter((holder.buffer, holder.bytes) for holder in expected)]


def watched(
    job: Callable[..., Any], batch: int, backend: Any, look: Callable[[EventLog, int], None]
) -> tuple[EventLog, Any]:
    """Runs a job for real, and ``look(log, index)`` after each event."""
    device = traced_device(backend.device())
    log = find_log(device)
    log.watcher = lambda index: look(log, index)
    result = job(device, batch)
    log.watcher = None
    return log, result


def test_since_and_until() -> None:
    """The saved difference lives from `sub` to the power's rule; x is there until the job returns."""
    holders = holders_at_peak(named_training_step, 16)
    log = plan(named_training_step, 16).events
    x = holder_of(holders, "x in named_training_step")
    (difference,) = [holder for holder in holders if holder.category is Category.ACTIVATION]
    assert str(difference.made_by) == "sub"
    for holder in (x, difference):
        assert log.events[holder.since][:2] == (1, holder.buffer)
        assert holder.until is not None
        assert log.events[holder.until] == (5, holder.buffer)
    assert difference.until is not None
    assert x.until is not None
    assert difference.until < x.until


def test_a_buffer_that_the_log_does_not_see_end_has_no_until() -> None:
    device = traced_device(Autodiff[NdArray].device())
    kept = Tensor.ones((4,), device)
    log = find_log(device)
    (holder,) = read_holders(log, len(log.events) - 1, {})
    assert (holder.bytes, holder.until) == (kept.payload_bytes, None)


# Savers


@pytest.mark.parametrize("backend", STRATEGIES, ids=lambda backend: backend.__name__)
@pytest.mark.parametrize(
    "name",
    [
        "training step",
        "normalize batch",
        "mlp with sigmoid",
        "mlp in segments",
        "attention",
    ],
)
def test_savers_are_the_nodes_that_exist(name: str, backend: Any) -> None:
    """At every operation of a real run, against the graph's own nodes.

    What a node of the graph still keeps is in the log; and what the log has beyond that, the running rule keeps.
    """
    job, batch = JOBS[name]
    kept: dict[int, Counter[tuple[int, str, str, str]]] = {}

    def look(log: EventLog, index: int) -> None:
        if log.events[index][0] == 0 and index % 3 == 0:
            kept[index] = Counter(saves_of_the_graph(log))

    log, _ = watched(job, batch, backend, look)
    assert kept
    for index, expected in kept.items():
        savers = open_savers(log, index)
        found = Counter((buffer, s.op, s.operand, s.path) for buffer, each in savers.items() for s in each)
        rule_of = label_of(log.names[log.events[index][3]].partition(" ")[2])
        assert expected <= found
        assert {op for _, op, _, _ in found - expected} <= {rule_of, "checkpoint"}


def saves_of_the_graph(log: EventLog) -> list[tuple[int, str, str, str]]:
    """Buffer, operation, operand and module of everything that a node keeps now."""
    found = []
    for node in [x for x in gc.get_objects() if isinstance(x, WatchedNode)]:
        for _, rule, saved in node.edges or ():
            kept = [(operand, source) for operand, value in rule.tensors(saved) for source in sources_of([value])]
            for operand, primitive in kept:
                if primitive.buffer.log is log:
                    found.append((primitive.buffer.id, label_of(node.op), operand, node.path))
    return found


def relu_job(device: Device[Any], batch: int) -> Any:
    model = Mlp([4, 64, 64, 2], act.relu, device)
    return (model(Tensor.ones((batch, 4), device)) ** 2).sum().backward()


def test_savers_name_operation_operand_and_module() -> None:
    texts = [str(saver) for holder in holders_at_peak(relu_job, 512) for saver in holder.savers]
    assert "linear keeps a in mlp.layers.0" in texts
    assert "linear keeps weight in mlp.layers.1" in texts


def test_an_operation_that_is_made_of_others_is_named_itself() -> None:
    """It is relu that keeps its result, though NumPy's part of it is a maximum."""
    texts = [str(saver) for holder in holders_at_peak(relu_job, 512) for saver in holder.savers]
    assert texts.count("relu keeps out in mlp") == 1
    assert not any("maximum" in text for text in texts)


def test_a_saver_points_at_its_save_event() -> None:
    log = plan(train_mlp, 16).events
    savers = [(holder.buffer, saver) for holder in holders_at_peak(train_mlp, 16) for saver in holder.savers]
    assert savers
    for buffer, saver in savers:
        kind, saved, _, operand, op, path = log.events[saver.event]
        assert (kind, saved) == (2, buffer)
        assert (log.names[operand], log.names[op], log.names[path]) == (saver.operand, saver.op, saver.path)


def test_each_save_of_one_buffer_is_a_saver() -> None:
    """x * x saves x for either factor, and x ** 3 once more."""

    def job(device: Device[Any], batch: int) -> Any:
        x = Tensor.ones((batch,), device).require_grad()
        return x * x, x**3

    x = holder_of(holders_at_peak(job, 4), "x in job")
    assert [str(saver) for saver in x.savers] == ["mul keeps b", "mul keeps a", "pow keeps a"]


def test_of_equal_saves_the_latest_ends_first() -> None:
    """Two products save x as their b, in one module. The backward pass begins with the later one."""
    device: Any = Autodiff[Traced[NdArray]].device()
    x, first, second = (Tensor.ones((2,), device).require_grad() for _ in range(3))
    loss = (first * x).sum() + (second * x).sum()
    log: EventLog = device.inner.log
    buffer = x.primitive.primitive.buffer.id
    saves = [at for at, event in enumerate(log.events) if event[0] == Kind.SAVE and event[1] == buffer]
    loss.backward()
    ends = [at for at, event in enumerate(log.events) if event[0] == Kind.RELEASE and event[1] == buffer]
    assert len(saves) == len(ends) == 2
    assert [saver.event for saver in open_savers(log, ends[0])[buffer]] == saves[:1]


def test_a_segment_keeps_its_input() -> None:
    """Rows of 8 floats for 64 samples: the inputs of the segments, and nothing inside of them."""
    holders = holders_at_peak(segmented_mlp, 64)
    assert "checkpoint keeps input" in {str(saver) for holder in holders for saver in holder.savers}


# Names


def test_the_named_prediction() -> None:
    """A local variable that nothing reads any more: 16 rows of 4 floats that no rule needs."""
    prediction = holder_of(holders_at_peak(named_training_step, 16), "prediction in named_training_step")
    assert (prediction.bytes, prediction.savers, prediction.category) == (16 * 4 * 4, (), Category.TEMPORARY)
    assert str(prediction.made_by) == "add"


class _Block(Module):
    def __init__(self, device: Device[Any]) -> None:
        self.weight = Param.from_tensor(Tensor.ones((8, 8), device))

    def forward(self, x: AnyTensor) -> Any:
        hidden = x @ self.weight.val()
        return hidden.exp()


def test_names_of_every_function_on_the_way() -> None:
    """A module, a list, a tuple, a dict, a parameter, a closure; and the locals of a module's own forward."""

    def job(device: Device[Any], batch: int) -> Any:
        block = _Block(device)
        rows = [Tensor.ones((batch, 8), device), (Tensor.ones((3, 1), device),)]
        table = {"one": {"two": Tensor.ones((5, 1), device)}}
        bias = Param.from_tensor(Tensor.ones((7, 1), device))
        around = Tensor.ones((9, 1), device)

        def inner() -> Any:
            return block(rows[0]) if around is not None and (table, bias) else around

        return inner()

    by_bytes = {holder.bytes: holder.names for holder in holders_at_peak(job, 2)}
    assert by_bytes[8 * 8 * 4] == ("self in _Block.forward", "block in inner", "block in job")
    assert by_bytes[3 * 4] == ("rows in inner", "rows in job")
    assert by_bytes[5 * 4] == ("table in inner", "table in job")
    assert by_bytes[7 * 4] == ("bias in inner", "bias in job")
    assert by_bytes[9 * 4] == ("around in inner", "around in job")
    named = [holder.names for holder in holders_at_peak(job, 2) if holder.bytes == 2 * 8 * 4]
    assert named == [("x in _Block.forward", "rows in inner", "rows in job"), ("hidden in _Block.forward",), ()]


def test_gradients_and_an_optimizer_are_names_too() -> None:
    def job(device: Device[Any], batch: int) -> Any:
        model = Mlp([4, 4], act.relu, device)
        optimizer = optim.SgdConfig(momentum=0.9).init()
        for _ in range(3):
            grads = nn.MseLoss()(model(Tensor.ones((1, 4), device)), Tensor.zeros((1, 4), device)).backward()
            seen = grads.named(model)  # so that the step does not write over them
            model = optimizer.step(0.1, model, grads)
            assert seen
        return model

    holders = holders_at_peak(job, 1)
    by_category = {holder.category: holder.names for holder in holders if holder.bytes == 4 * 4 * 4 and holder.names}
    assert "optimizer in job" in by_category[Category.OPTIMIZER]
    assert by_category[Category.GRADIENT] == ("seen in job",)


def test_tinyburns_own_functions_are_not_named() -> None:
    for job, batch in (JOBS[name] for name in SMALL):
        for holder in holders_at_peak(job, batch):
            assert not {name.partition(" in ")[0] for name in holder.names} & {
                "tensor",
                "arguments",
                "pending",
                "result",
            }


def test_a_list_that_holds_itself_is_read_once() -> None:
    def job(device: Device[Any], batch: int) -> Any:
        loop: list[Any] = [Tensor.ones((batch,), device)]
        loop.append(loop)
        return loop[0] * 2.0

    assert holder_of(holders_at_peak(job, 4), "loop in job").bytes == 16


def test_a_lambda_and_a_callable_object_are_jobs() -> None:
    class Job:
        def __call__(self, device: Device[Any], batch: int) -> AnyTensor:
            x = Tensor.ones((batch,), device)
            return x * 2.0

    assert holder_of(holders_at_peak(Job(), 4), "x in Job.__call__").bytes == 16
    assert [h.names for h in holders_at_peak(lambda device, batch: Tensor.ones((batch,), device), 4)] == [()]


# What can go wrong


def test_a_job_that_differs_from_run_to_run() -> None:
    sizes = iter([4, 7])
    with pytest.raises(JobError, match="second run") as caught:
        holders_at_peak(lambda device, batch: Tensor.ones((next(sizes),), device), 1)
    assert isinstance(caught.value, TinyburnError)


def test_nothing_is_alive() -> None:
    assert holders_at_peak(lambda device, batch: None, 1) == ()


def test_looking_keeps_nothing_alive() -> None:
    """The names are read from frames; the run that was looked at ends like any other."""
    gc.collect()
    before = sum(isinstance(x, Buffer) for x in gc.get_objects())
    holders_at_peak(attention, 3)
    assert sum(isinstance(x, Buffer) for x in gc.get_objects()) == before


def test_the_same_holders_each_time() -> None:
    assert holders_at_peak(train_mlp, 8) == holders_at_peak(train_mlp, 8)
