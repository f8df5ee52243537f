"""The event log of a small program, written out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import UnderTest
from tinyburn import Autodiff, BalancedCheckpointing, ConfigError, Module, NdArray, Tensor, Traced, activation
from tinyburn.backend.log import FORMATS, OP_OPERANDS, Category, Kind
from tinyburn.memory import measure
from tinyburn.memory.history import History
from tinyburn.memory.holders import read_holders
from tinyburn.memory.measure import find_log, read_report
from tinyburn.memory.timeline import walk


def log_of_a_product(device: Any) -> Any:
    x, y = Tensor.ones((2, 3), device), Tensor.ones((2, 1), device)
    z = (x * y).transpose()
    del x
    w = z.reshape((6,)) + 1.0
    del z, w
    return device.log


def test_the_log_of_a_small_program() -> None:
    log = log_of_a_product(Traced[NdArray].device(float_dtype="float64"))
    names = {name: number for number, name in enumerate(log.names)}
    outside, forward = names[""], names["forward"]
    number = FORMATS.index("float64")
    assert log.events == [
        (Kind.OP, names["full"], outside, forward, names["full"]),
        (Kind.ALLOC, 0, 48, Category.INPUT, number),
        (Kind.OP, names["full"], outside, forward, names["full"]),
        (Kind.ALLOC, 1, 16, Category.INPUT, number),
        (Kind.OP, names["mul"], outside, forward, names["mul"], 0, 1),
        (Kind.ALLOC, 2, 48, Category.TEMPORARY, number),
        (Kind.OP, names["permute"], outside, forward, names["permute"], 2),  # a view: nothing is allocated
        (Kind.FREE, 0),
        (Kind.OP, names["reshape"], outside, forward, names["reshape"], 2),  # of a permuted tensor: a copy
        (Kind.ALLOC, 3, 48, Category.TEMPORARY, number),
        (Kind.OP, names["add"], outside, forward, names["add"], 3),
        (Kind.ALLOC, 4, 48, Category.TEMPORARY, number),
        (Kind.FREE, 3),
        (Kind.FREE, 2),
        (Kind.FREE, 4),
        (Kind.FREE, 1),
    ]


def test_what_a_backend_composes_says_of_what() -> None:
    """Softmax is made of several operations, a relu of one."""
    device = Traced[NdArray].device()
    x = Tensor.ones((2, 3), device)
    activation.relu(x)
    activation.softmax(x, 1)
    log = device.log
    ops = [(log.names[event[1]], log.names[event[4]]) for event in log.events if event[0] == Kind.OP]
    assert ops[:2] == [("full", "full"), ("maximum", "relu")]
    assert len(ops) > 4
    assert {asked for _, asked in ops[2:]} == {"softmax"}
    assert "softmax" not in {op for op, _ in ops}
    assert log.asked == ""


def test_the_log_is_the_same_again_and_on_shapes_alone(base: UnderTest) -> None:
    first = log_of_a_product(base.inside(Traced).device())
    for one in (base, base.shapes_alone()):
        again = log_of_a_product(one.inside(Traced).device())
        assert (again.events, again.names) == (first.events, first.names)


def test_marks_lead_from_buffers_to_the_nodes_of_the_graph() -> None:
    """x + x: its two rules hand the same gradient on, and the parts are added."""
    device: Any = Autodiff[Traced[NdArray]].device()
    x = Tensor.ones((2,), device).require_grad()
    y = x + x
    y.backward()
    log = device.inner.log
    nodes = {x.primitive.node.number: "x", y.primitive.node.number: "y"}
    found = [(mark.role, nodes[mark.node]) for mark in log.marks]
    assert found == [
        ("value", "x"),
        ("value", "y"),
        ("gradient", "y"),
        ("part", "x"),
        ("part", "x"),
        ("sum", "x"),
        ("gradient", "x"),
    ]
    buffers = {role: {mark.buffer for mark in log.marks if (mark.role, nodes[mark.node]) == role} for role in found}
    assert buffers["value", "x"] == {x.primitive.primitive.buffer.id}
    assert buffers["value", "y"] == {y.primitive.primitive.buffer.id}
    assert buffers["part", "x"] == buffers["gradient", "y"]
    assert [mark.at for mark in log.marks] == sorted(mark.at for mark in log.marks)
    del y
    log.clear()
    assert [(mark.at, mark.role, nodes[mark.node]) for mark in log.marks] == [(-1, "value", "x")]


def test_the_log_holds_whole_numbers_only(base: UnderTest) -> None:
    for event in log_of_a_product(base.inside(Traced).device()).events:
        assert all(isinstance(part, int) for part in event)


class _Named(Module):
    def forward(self, x: Any) -> Any:
        return x.exp()


def test_an_operation_knows_its_module() -> None:
    backend: Any = Traced[NdArray]
    device = backend.device()
    x = Tensor.ones((1,), device)
    _Named()(x)
    operations = [event for event in device.log.events if event[0] == Kind.OP][1:]
    assert [(device.log.names[event[1]], device.log.names[event[2]]) for event in operations] == [("exp", "_named")]


def test_reading_and_making_are_transfers(base: UnderTest) -> None:
    device: Any = base.inside(Traced).device("float32")
    Tensor.from_data([1.0, 2.0], device).to_numpy()
    transfers = [event for event in device.log.events if event[0] == Kind.TRANSFER]
    assert transfers == [(Kind.TRANSFER, 0, 8, 0), (Kind.TRANSFER, 0, 8, 1)]


def test_a_default_is_an_event_for_each_part(base: UnderTest) -> None:
    device: Any = base.inside(Traced).device()
    Tensor.ones((3,), device).var(0)
    operations = [device.log.names[event[1]] for event in device.log.events if event[0] == Kind.OP]
    assert "var" not in operations
    assert {"mean_dims", "sub"} <= set(operations)


def test_the_log_knows_the_dtype_of_each_buffer(base: UnderTest) -> None:
    """What an operation's name does not tell: an integer tensor was counted as floats."""
    device: Any = base.inside(Traced).device()
    x = Tensor.ones((2,), device)
    Tensor.arange(0, 3, device)
    (x * 3.0).int()
    _ = x > 0.0
    found = [FORMATS[event[4]] for event in device.log.events if event[0] == Kind.ALLOC]
    assert found == [base.float_dtype, base.int_dtype, base.float_dtype, base.int_dtype, "bool"]


# A log that is cleared


def grown(device: Any, steps: int, *, clear: bool) -> tuple[Any, list[Any]]:
    """Some training steps with everything that a log knows: saves, gradients, views, and names that stay."""
    log, kept = find_log(device), []
    w = Tensor.ones((3, 2), device).require_grad()
    for number in range(steps):
        x = Tensor.ones((4, 3), device)
        prediction = (x @ w).exp()
        loss = (prediction * prediction).transpose().sum()
        if clear:
            log.clear()
        kept = [*kept[-2:], prediction, loss.backward()] if number % 2 else [loss, x[1:]]
        assert log.live_bytes == sum(list(walk(log))[-1][2])
    return log, kept


@pytest.mark.parametrize("strategy", [(), (BalancedCheckpointing,)], ids=["keep all", "balanced"])
def test_a_cleared_log_says_of_later_what_the_whole_log_says(base: UnderTest, strategy: tuple[Any, ...]) -> None:
    """The bytes after each event, the buffers, their categories and savers; and events that are the same."""
    whole_device = base.inside(Traced).inside(Autodiff, *strategy).device()
    whole, held = grown(whole_device, 5, clear=False)
    device = base.inside(Traced).inside(Autodiff, *strategy).device()
    log, also_held = grown(device, 5, clear=True)
    assert len(held) == len(also_held)

    later = len(log.events) - next(
        at for at, (event, *_) in enumerate(walk(log)) if event[0] == Kind.OP and len(event) > OP_OPERANDS
    )
    assert later > 10

    def without_op_index(event: Any) -> Any:
        return (event[0], event[1], *event[3:]) if event[0] == Kind.SAVE else event

    assert [*map(without_op_index, log.events[-later:])] == [*map(without_op_index, whole.events[-later:])]
    assert [totals for *_, totals in walk(log)][-later:] == [totals for *_, totals in walk(whole)][-later:]
    for back in range(1, later):
        ours, theirs = (
            [
                (h.buffer, h.bytes, h.category, h.made_by.op, [str(saver) for saver in h.savers])
                for h in read_holders(each, len(each.events) - back, {})
            ]
            for each in (log, whole)
        )
        assert ours == theirs
    assert read_report(log, None).peak_bytes > 0
    assert History(log) is not None


def test_a_log_that_is_cleared_does_not_grow(base: UnderTest) -> None:
    backend = base.inside(Traced).inside(Autodiff)
    (few, held), (many, also_held) = (grown(backend.device(), steps, clear=True) for steps in (10, 40))
    assert len(held) == len(also_held)
    assert (len(many.events), many.names) == (len(few.events), few.names)


def test_an_old_list_of_events_stays_and_ids_go_on() -> None:
    device: Any = Traced[NdArray].device()
    x = Tensor.ones((2,), device)
    before = device.log.events
    copy = list(before)
    device.log.clear()
    y = x + 1.0
    assert before == copy
    assert [event[1] for event in device.log.events if event[0] == Kind.ALLOC] == [0, 1]
    assert device.memory_usage().number_allocs == 2
    del x, y
    assert list(walk(device.log))[-1][2] == (0,) * len(Category)


def test_a_log_that_is_being_read_is_not_cleared() -> None:
    def job(device: Any, batch: int) -> Any:
        x = Tensor.ones((batch,), device)
        device.log.clear()
        return x

    with pytest.raises(ConfigError, match="outside the job"):
        measure(job, NdArray.device(), 3)
