"""The ledger against two witnesses that are not ours: NumPy's allocation handler (NEP 49) and tracemalloc."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest

from tests.memory.allocator import Counter, count
from tests.memory.jobs import JOBS, Mlp
from tinyburn import Autodiff, BalancedCheckpointing, Device, NdArray, Tensor, activation, nn, optim
from tinyburn.backend.log import EventLog
from tinyburn.memory.measure import find_log, read_report, traced_device
from tinyburn.memory.timeline import walk

SLACK = 64
"""Bytes that the ledger may differ by: NumPy asks for a byte or an element where an array is empty."""

BACKENDS: list[Any] = [Autodiff[NdArray], Autodiff[NdArray, BalancedCheckpointing]]

NUMPY_DOMAIN = 389047
"""The number under which NumPy reports its buffers to tracemalloc."""


def seeded_device(backend: Any = Autodiff[NdArray]) -> Device[Any]:
    """Made before anything is counted: NumPy's random generator has some bytes of its own."""
    device = traced_device(backend.device())
    device.seed(1)
    return device


def live_bytes(log: EventLog) -> int:
    """What the ledger says is alive now."""
    return [sum(totals) for _, _, totals in walk(log)][-1]


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.__name__)
@pytest.mark.parametrize("name", JOBS)
def test_ledger_equals_the_allocation_handler(name: str, backend: Any) -> None:
    job, batch = JOBS[name]
    device = seeded_device(backend)
    log = find_log(device)

    def work(counter: Counter) -> tuple[int, int, int, int]:
        result = job(device, batch)
        answer = live_bytes(log), counter.live, read_report(log, None).peak_bytes, counter.peak
        del result
        return answer

    live, true_live, peak, true_peak = count(work)
    assert live == pytest.approx(true_live, abs=SLACK, rel=0)
    assert peak == pytest.approx(true_peak, abs=SLACK, rel=0)


@pytest.mark.parametrize("name", JOBS)
def test_everything_is_given_back(name: str) -> None:
    """When a job's result goes, so does every byte, by the ledger and by the handler."""
    job, batch = JOBS[name]
    device = seeded_device()

    def work(counter: Counter) -> tuple[int, int]:
        job(device, batch)
        return live_bytes(find_log(device)), counter.live

    assert count(work) == (0, 0)


@pytest.mark.parametrize("name", JOBS)
def test_ledger_equals_tracemalloc(name: str) -> None:
    """Live bytes only: tracemalloc's own peak has Python's objects in it."""
    job, batch = JOBS[name]
    device = seeded_device()
    tracemalloc.start()
    try:
        result: Any = job(device, batch)
        snapshot = tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()
    of_numpy = tracemalloc.DomainFilter(inclusive=True, domain=NUMPY_DOMAIN)
    true_live = sum(trace.size for trace in snapshot.filter_traces((of_numpy,)).traces)
    assert live_bytes(find_log(device)) == pytest.approx(true_live, abs=SLACK, rel=0)
    del result


def test_a_thousand_steps_leave_every_array_where_it_was() -> None:
    """Without any trace, by the handler alone: no array of a step outlives it, with the cycle collector off."""
    device = Autodiff[NdArray].device()
    device.seed(0)

    def work(counter: Counter) -> set[int]:
        model = Mlp([4, 6, 2], activation.tanh, device)
        optimizer = optim.SgdConfig(momentum=0.9).init()
        x, y = Tensor.ones((3, 4), device), Tensor.zeros((3, 2), device)
        live: list[int] = []
        for _ in range(1000):
            model = optimizer.step(0.01, model, nn.MseLoss()(model(x), y).backward())
            live.append(counter.live)
        return set(live[1:])  # from the second step on, when every velocity is there

    gc.collect()
    gc.disable()
    try:
        assert len(count(work)) == 1
    finally:
        gc.enable()


def test_handler_counts_numpy_to_the_byte() -> None:
    """The witness itself, on arrays whose sizes are known."""

    def work(counter: Counter) -> list[int]:
        first = np.ones(1000, dtype="float32")
        second = np.add(first, first)
        seen = [counter.live, counter.peak]
        del first
        seen.append(counter.live)
        second.resize(10, refcheck=False)
        return [*seen, counter.live, counter.peak]

    assert count(work) == [8000, 8000, 4000, 40, 8000]


def test_handler_leaves_nothing_set() -> None:
    """An error inside comes through, and arrays made afterwards are not counted."""
    seen: list[Counter] = []

    def fail(counter: Counter) -> None:
        seen.append(counter)
        raise LookupError("inside")

    with pytest.raises(LookupError, match="inside"):
        count(fail)
    kept = np.ones(100)
    assert np._core._multiarray_umath.get_handler_name(kept) == "default_allocator"
    assert (seen[0].live, seen[0].peak) == (0, 0)
