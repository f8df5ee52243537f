"""How long it takes to know what a large model needs, or a long one, without a byte of it.

The large model has the linear layers of a small transformer, 54 of them, between 768 and 3072 features. Its parameters
alone are half a gigabyte. The long one is a chain of 5 000 tanh, which makes 10 000 operations with its backward pass.
The times are whole calls, processor time: the job is run on shapes, and its log is read.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from time import process_time
from typing import Any

from result import Row, Target

from tinyburn import Device, Tensor, memory, nn
from tinyburn.backend import Kind

WIDTHS = [768, *[3072, 768] * 27]
PARAMETERS = sum(d_in * d_out + d_out for d_in, d_out in pairwise(WIDTHS))
BATCH = 512
BUDGET = 4 * 2**30
REPEATS = 5
CHAIN = 5000


def train(device: Device[Any], batch: int) -> Any:
    """One training step: forward, mean squared error, backward."""
    layers = [nn.LinearConfig(d_in, d_out).init(device) for d_in, d_out in pairwise(WIDTHS)]
    x, y = Tensor.zeros((batch, WIDTHS[0]), device), Tensor.zeros((batch, WIDTHS[-1]), device)
    for layer in layers:
        x = layer(x)
    return nn.MseLoss()(x, y).backward()


def chain(device: Device[Any], batch: int) -> Any:
    """Forward and backward of many operations, each of which keeps its result."""
    x = Tensor.ones((batch, 4), device).require_grad()
    for _ in range(CHAIN):
        x = x.tanh()
    return x.mean().backward()


def best_seconds(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Of some calls the fastest: what the others took more was not the plan's."""
    times = []
    for _ in range(repeats):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def large_model() -> list[Row]:
    million = PARAMETERS / 1e6
    report = memory.plan(train, BATCH)
    if report.at_peak["parameter"] != 4 * PARAMETERS:
        raise RuntimeError(f"the plan has {report.at_peak['parameter']} bytes of parameters, not {4 * PARAMETERS}")
    found = memory.max_batch_size(train, BUDGET)
    planned = f"plan {million:.1f} M parameters, batch {BATCH}"
    searched = f"max_batch_size in 4 GiB: {found.batch_size}, {len(found.samples)} plans"
    one_plan = best_seconds(lambda: memory.plan(train, BATCH))
    search = best_seconds(lambda: memory.max_batch_size(train, BUDGET))
    return [
        Row("planning", planned, "", "s", one_plan, targets=(Target("value", 2.0),)),
        Row("planning", searched, "", "s", search),
    ]


def long_chain() -> list[Row]:
    """The search is timed once: a search is some thirty plans, and their times even out."""
    events = memory.plan(chain, BATCH).events.events
    operations = sum(event[0] == Kind.OP for event in events)
    one_plan = best_seconds(lambda: memory.plan(chain, BATCH))
    search = best_seconds(lambda: memory.max_batch_size(chain, BUDGET), repeats=1)
    return [
        Row("planning", f"plan {operations} operations", "", "s", one_plan),
        Row("planning", f"max_batch_size, {operations} operations", "", "s", search, targets=(Target("value", 3.0),)),
    ]


def run() -> list[Row]:
    return [*large_model(), *long_chain()]
