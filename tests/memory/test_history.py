"""The lives of the buffers are those of the log, and the most that is alive at once is the report's peak."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.jobs import JOBS
from tinyburn import Autodiff, NdArray
from tinyburn.backend import Category
from tinyburn.backend.log import Buffer, EventLog
from tinyburn.memory import measure
from tinyburn.memory.history import History, Life, highest
from tinyburn.memory.measure import Job, read_report


def history_of(job: Job, batch: int = 16) -> History:
    return History(measure(job, Autodiff[NdArray].device(), batch).events)


def alloc(log: EventLog, size: int, category: Category) -> Buffer:
    """A buffer of as many bytes, in float32."""
    return log.alloc(np.empty(size // 4, np.float32), category)


def random_log(events: int, seed: int, phases: int = 3) -> EventLog:
    """Operations that allocate, recategorise and free at random; what a program could do, and what none would."""
    chance = random.Random(seed)
    log = EventLog()
    alive: list[Any] = []
    log.op("full", "", [])
    alive.append(alloc(log, chance.randrange(5000), Category.INPUT))
    while len(log.events) < events:
        part = len(log.events) * phases // events
        log.phase = ("forward", "backward mul", "update")[part % 3]
        log.op(chance.choice(["add", "matmul", "exp"]), chance.choice(["", "mlp.layers.0"]), [alive[0].id])
        alive.append(alloc(log, chance.randrange(5000), Category.TEMPORARY))
        chance.choice(alive).recategorise(chance.choice(list(Category)))
        if len(alive) > 20:
            del alive[chance.randrange(len(alive))]
    return log


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
    peak, (event, inserted) = highest(record.life for record in History(report.events).records.values())
    assert (peak, inserted) == (report.peak_bytes, 0)
    assert str(History(report.events).steps[event]) == report.peak_op


@given(events=st.integers(1, 2000), seed=st.integers(0, 1000))
def test_unchanged_replay_of_what_no_program_would_do(events: int, seed: int) -> None:
    log = random_log(events, seed)
    assert highest(record.life for record in History(log).records.values())[0] == read_report(log, None).peak_bytes
