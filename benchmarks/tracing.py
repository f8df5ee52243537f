"""What the event log costs: with tracing on, for each operation and buffer that it writes; with tracing off, nothing.

That it costs nothing is not a matter of time. `Autodiff[NdArray]` and `Autodiff[Traced[NdArray]]` are two classes, and
only the second one calls into the log. So the calls are counted: a step without tracing makes none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from race import Times, race, timed_row, timer
from result import Row, Target, exact_row
from small_ops import OPS, make_arrays, make_tensors

from tinyburn import Autodiff, Device, NdArray, Tensor, Traced
from tinyburn.backend import Kind, log, traced

ROUNDS = 60
OPERATION = Target("ratio", 5.0)
STEP = Target("ratio", 3.5)  # of a whole step the log is a smaller part

PLAIN: Any = NdArray
TRACED: Any = Traced[NdArray]


def make_step(device: Device[Any]) -> Callable[[], Any]:
    """The small training step, on any device under Autodiff."""
    arrays = make_arrays()
    x, y = (Tensor.from_data(arrays[name], device) for name in ("x", "a"))
    weight = Tensor.from_data(arrays["w"], device).require_grad()
    bias = Tensor.zeros((1, 4), device).require_grad()
    return lambda: ((x @ weight + bias - y) ** 2).mean().backward()


def race_op(statement: str, on: Any, off: Any) -> Times:
    """One of `OPS` on two backends. The log only grows, so each traced round starts with a fresh device."""
    fresh = {"make": lambda: make_tensors(on.device())}
    setup = "tensors = make(); a, b, x, w = [tensors[name] for name in 'abxw']"
    return race({"on": timer(statement, fresh, setup), "off": timer(statement, make_tensors(off.device()))}, ROUNDS)


def race_step() -> Times:
    """The whole step, for each of its operations."""
    fresh = {"make": lambda: make_step(Autodiff[TRACED].device())}
    contenders = {"on": timer("step()", fresh, "step = make()"), "off": timer(make_step(Autodiff[PLAIN].device()))}
    operations = operations_of_a_step()
    return {name: [seconds / operations for seconds in found] for name, found in race(contenders, ROUNDS).items()}


def operations_of_a_step() -> int:
    """How many operations the log has of one step, forward and backward."""
    device: Any = Autodiff[TRACED].device()
    step, events = make_step(device), device.inner.log.events
    made = len(events)  # what made the tensors stands before
    step()
    return sum(event[0] == Kind.OP for event in events[made:])


def calls_into_the_log(step: Callable[[], Any]) -> int:
    """How many times a step enters a function of the two modules that trace."""
    files = {traced.__file__, log.__file__}
    calls = 0

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename in files

    step()  # what is made on first use is made now
    sys.setprofile(count)
    try:
        step()
    finally:
        sys.setprofile(None)
    return calls


def run() -> list[Row]:
    rows = []
    for name, (statement, _) in OPS.items():
        times = race_op(statement, TRACED, PLAIN)
        rows.append(timed_row("tracing", f"{name}, on / off", times, "on", "off", "us", OPERATION))
    times = race_op("a + b", Autodiff[TRACED], Autodiff[PLAIN])
    rows.append(timed_row("tracing", "add under Autodiff, on / off", times, "on", "off", "us", OPERATION))
    case = f"training step / {operations_of_a_step()} operations, on / off"
    rows.append(timed_row("tracing", case, race_step(), "on", "off", "us", STEP))
    off, on = (calls_into_the_log(make_step(wrapped.device())) for wrapped in (Autodiff[PLAIN], Autodiff[TRACED]))
    case = "calls into the log, training step, off / on"
    return [*rows, exact_row("tracing", case, off, "on", on, Target("value", 0), unit="calls")]
