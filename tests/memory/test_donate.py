"""A buffer that is written again: every reader of the log tells who wrote what is in it now."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.test_history import alloc
from tinyburn import NdArray, Tensor, Traced
from tinyburn.backend import Category, Kind
from tinyburn.backend.log import OP_OPERANDS, Buffer, EventLog
from tinyburn.memory.history import History, highest
from tinyburn.memory.holders import Holder, holders_now, read_holders
from tinyburn.memory.lines import read_run
from tinyburn.memory.measure import MemoryReport, find_log, read_report
from tinyburn.memory.timeline import walk
from tinyburn.memory.whatif import past_their_use, recomputable, this_one_recomputed, what_ifs
from tinyburn.viz import memory, peak
from tinyburn.viz.memory_strip import columns_of

SAVED = ("a", "exp", "")
"""The node of an exp, as the log names it."""


def computed_into(target: Any, name: str, *arguments: Any) -> Any:
    """What an innermost backend does with `into`: any operation, its result where the target was."""
    target[...] = getattr(NdArray, name)(*arguments)
    return target


@pytest.fixture(autouse=True)
def _in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """NdArray writes every result into its target, whatever it would decide itself."""
    monkeypatch.setattr(NdArray, "into", computed_into)


def add_into(target: Any, other: Any) -> Any:
    """``target + other`` in the buffer of ``target``, which nobody may look at afterwards."""
    backend: Any = Traced[NdArray]
    return backend.into(target, "add", target, other)


# The log of a backend


def sums() -> tuple[Any, Any]:
    """A device on which a product was made, and two results added to it in place; and that sum."""
    device = Traced[NdArray].device()
    x = Tensor.ones((4, 4), device)
    total = add_into((x @ x).primitive, x.primitive)
    return device, add_into(total, (x * 2.0).primitive)


def test_the_events() -> None:
    device, total = sums()
    log = find_log(device)
    assert (total.primitive == 4 + 1 + 2).all()
    assert [event[0] for event in log.events].count(Kind.DONATE) == 2
    assert [(log.names[event[1]], event[OP_OPERANDS:]) for event in log.events if event[0] == Kind.OP] == [
        *[("full", ()), ("matmul", (0, 0)), ("add", (1, 0)), ("mul", (0,)), ("add", (1, 2))],
    ]


def test_the_holder_is_the_last_who_wrote() -> None:
    device, _total = sums()
    (held,) = [holder for holder in holders_now(device) if holder.buffer == 1]
    log = find_log(device)
    assert held.made_by.op == "add"
    assert log.events[held.written] == (Kind.DONATE, 1)
    assert log.events[held.since][:2] == (Kind.ALLOC, 1)
    assert held.written > held.since


def test_a_buffer_that_is_not_written_again_is_written_where_it_begins() -> None:
    log = find_log(sums()[0])
    (held,) = [holder for holder in read_holders(log, 4, {}) if holder.buffer == 0]
    assert held.written == held.since


def test_a_cleared_log_names_the_last_who_wrote() -> None:
    device, total = sums()
    log = find_log(device)
    before = read_holders(log, len(log.events) - 1, {})
    log.clear()
    after = read_holders(log, len(log.events) - 1, {})
    assert [(held.buffer, held.made_by.op) for held in after] == [(held.buffer, held.made_by.op) for held in before]
    total = add_into(total, total)
    (held,) = [holder for holder in read_holders(log, len(log.events) - 1, {}) if holder.buffer == 1]
    assert log.events[held.written] == (Kind.DONATE, 1)
    assert [record.buffer for record in History(log).records.values()] == [1, 1], "values are counted from the clear on"


# Values: each has a maker and a life of its own


def values_of(history: History, buffer: int) -> list[int]:
    return [value for value, record in history.records.items() if record.buffer == buffer]


def test_each_value_has_its_maker_and_its_readers() -> None:
    device, _total = sums()
    history = History(find_log(device))
    records = [history.records[value] for value in values_of(history, 1)]
    assert [history.op_name(record.made) for record in records] == ["matmul", "add", "add"]
    assert [record.end for record in records[:-1]] == [record.start for record in records[1:]]
    assert [len(record.reads) for record in records] == [1, 1, 0]
    assert {(record.size, record.dtype) for record in records} == {(64, records[0].dtype)}
    last = records[-1].made
    assert history.operands(last) == (values_of(history, 1)[1], values_of(history, 2)[0])
    assert [history.value_in(1, record.start) for record in records] == values_of(history, 1)


def test_a_gradient_that_is_written_again_begins_as_a_temporary() -> None:
    log = EventLog()
    log.op("full", "", [])
    held = alloc(log, 400, Category.INPUT)
    held.note("gradient", "")
    log.op("sub", "", [held.id])
    held.donate()
    held.recategorise(Category.PARAMETER)
    before, after = History(log).records.values()
    assert before.categories == {Category.INPUT, Category.GRADIENT}
    assert after.categories == {Category.TEMPORARY, Category.PARAMETER}


def random_log(events: int, seed: int) -> EventLog:
    """Operations that allocate, write again, keep, let go and free at random."""
    chance = random.Random(seed)
    log = EventLog()
    log.op("full", "", [])
    alive = [alloc(log, 4 * chance.randrange(1000), Category.INPUT)]
    while len(log.events) < events:
        log.phase = chance.choice(("forward", "backward exp"))
        one = chance.choice(alive)
        log.op(chance.choice(("add", "matmul", "exp")), "", [one.id, chance.choice(alive).id])
        move = chance.randrange(5)
        if move == 0 and not one.saves:
            one.donate()
        elif move == 1:
            one.save(SAVED)
        elif move == 2 and one.saves:
            one.release(SAVED)
        elif move == 3 and len(alive) > 5:
            alive.remove(one)
        else:
            alive.append(alloc(log, 4 * chance.randrange(1000), Category.TEMPORARY))
        del one
    return log


@given(events=st.integers(10, 600), seed=st.integers(0, 1000))
def test_a_replay_of_the_values_has_the_peak_of_the_buffers(events: int, seed: int) -> None:
    """And each what-if can be asked."""
    log = random_log(events, seed)
    history, report = History(log), read_report(log, None)
    assert history.peak == highest(record.life for record in history.records.values())
    assert history.peak[0] == report.peak_bytes
    assert len(what_ifs(history)) == 3
    assert what_ifs(history)[2].touched == len({record.buffer for record in history.records.values()})
    for index in range(0, len(log.events), 7):
        alive = read_holders(log, index, {})
        for held in alive:
            record = history.records[history.value_in(held.buffer, index)]
            assert (record.start, history.steps[record.start]) == (held.written, held.made_by)
            assert record.start <= index < record.end
        assert sum(held.bytes for held in alive) == sum(list(walk(log))[index][2])


# What-ifs


class Story:
    """A log by hand: an exp whose operand is kept for its rule, between a first and a last operation."""

    def __init__(self, maker: str) -> None:
        self.log = EventLog()
        self.log.op("full", "", [])
        self.x = alloc(self.log, 400, Category.INPUT)
        self.log.op(maker, "", [self.x.id])
        self.kept = alloc(self.log, 400, Category.TEMPORARY)

    def write_again(self, buffer: Buffer, name: str) -> None:
        self.log.op(name, "", [buffer.id, self.x.id])
        buffer.donate()

    def run(self) -> History:
        """Forward, a large moment, and backward; then nobody keeps it."""
        self.log.op("exp", "", [self.kept.id])
        self.kept.save(SAVED)
        self.log.op("sum", "", [self.x.id])
        large = alloc(self.log, 4000, Category.TEMPORARY)
        del large
        self.log.phase = "backward exp"
        self.log.op("mul", "", [self.kept.id])
        self.kept.release(SAVED)
        return History(self.log)


def test_the_maker_is_the_last_who_wrote_before_it_was_kept() -> None:
    """A sum that was made by a product at first is cheap to make again; the other way round it is not."""
    for first, second, cheap in (("matmul", "sin", True), ("sin", "matmul", False), ("sin", "exp", True)):
        story = Story(first)
        story.write_again(story.kept, second)
        history = story.run()
        _, earlier, kept, _ = history.records
        assert history.op_name(history.records[kept].made) == second
        assert recomputable(history) == ([kept] if cheap else [])
        assert this_one_recomputed(history, earlier) is None


def test_what_was_kept_before_it_was_written_again_still_has_its_maker() -> None:
    """The rule has run; then the buffer holds something else, which a product made."""
    story = Story("sin")
    story.run()
    story.write_again(story.kept, "matmul")
    history = History(story.log)
    (chosen,) = recomputable(history)
    assert history.op_name(history.records[chosen].made) == "sin"
    assert history.value_in(story.kept.id, len(story.log.events) - 1) != chosen


def test_an_operand_that_is_written_again_has_to_be_kept_beside() -> None:
    """To make the sin again takes the old x, while its buffer already has another value."""
    story = Story("sin")
    story.log.op("matmul", "", [story.kept.id])
    story.x.donate()
    history = story.run()
    (chosen,) = recomputable(history)
    answer = this_one_recomputed(history, chosen)
    assert answer is not None
    assert answer.peak_bytes == 400 + 400 + 4000 == history.peak[0], "the old x, the new x, and the large one"


def test_a_buffer_that_is_written_again_is_still_in_use() -> None:
    """The operation need not read what was there."""
    story = Story("sin")
    story.log.op("exp", "", [story.x.id])
    story.kept.donate()
    story.log.op("sum", "", [story.kept.id])
    history = History(story.log)
    assert all(history.op_name(record.made) != "exp" for record in map(history.records.get, past_their_use(history)))


# The lines and the pictures


def test_runs_that_differ_in_place_have_different_outlines() -> None:
    def log_of(again: bool) -> EventLog:
        story = Story("sin")
        story.log.op("add", "", [story.kept.id, story.x.id])
        if again:
            story.kept.donate()
        return story.log

    assert read_run(1, log_of(True)).outline == read_run(2, log_of(True)).outline != read_run(2, log_of(False)).outline


def report_of_sums() -> MemoryReport:
    log = find_log(sums()[0])
    return read_report(log, None)


def test_the_strip_has_the_bytes_of_the_buffers() -> None:
    """Writing into a buffer adds none."""
    columns = columns_of(report_of_sums().events)
    assert [(column.step.op, column.total) for column in columns[:5]] == [
        *[("full", 64), ("matmul", 128), ("add", 128), ("mul", 192), ("add", 192)],
    ]
    assert "Peak 192 B" in memory(report_of_sums()).title


def row_of(picture_text: str, operation: str) -> str:
    (row,) = [line for line in picture_text.splitlines() if line.split()[:1] == ["T"] and line.split()[2] == operation]
    return row


def test_the_peak_card_names_the_last_who_wrote() -> None:
    """At the peak the product's buffer has the first sum: made in operation 2, and written again in 3."""
    picture = peak(report_of_sums())
    assert row_of(picture.text, "add").split()[3:8] == ["2,", "written", "again", "in", "3"]
    assert "matmul" not in picture.text
    assert ">3 add</text>" in picture.svg


def test_of_two_values_of_a_buffer_the_card_names_that_of_the_peak() -> None:
    """What is written there after the peak is another matter."""
    story = Story("sin")
    story.run()
    story.write_again(story.kept, "matmul")
    report = read_report(story.log, None)
    by_buffer: dict[int, Holder] = {held.buffer: held for held in read_holders(story.log, report.peak_event, {})}
    assert by_buffer[story.kept.id].made_by.op == "sin"
    assert "sin" in peak(report).text
