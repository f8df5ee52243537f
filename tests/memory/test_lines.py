"""The upper envelope of straight lines, against the highest of them at every batch size."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.memory.jobs import AnyTensor, sized, train_mlp
from tinyburn import Autodiff, Device, NdArray, Tensor
from tinyburn.memory import measure, plan
from tinyburn.memory.lines import Candidate, Run, candidates_of, read_run
from tinyburn.memory.timeline import Step


def run_of(batch: int, lines: list[tuple[int, int]], outline: str = "") -> Run:
    """A run whose bytes at each event lie on a line."""
    totals = tuple(slope * batch + fixed for slope, fixed in lines)
    steps = tuple(Step(f"op{event}", "", "forward", "") for event in range(len(lines)))
    return Run(batch, totals, steps, outline, 0)


LINES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60)), min_size=1, max_size=8)


@given(LINES, st.integers(1, 20), st.integers(1, 40))
def test_the_envelope_is_the_highest_line_everywhere(lines: list[tuple[int, int]], start: int, length: int) -> None:
    found = candidates_of([run_of(start, lines), run_of(start + length, lines)])
    batches = [batch for line in found for batch in range(line.first_batch, line.last_batch + 1)]
    assert batches == list(range(start, start + length + 1)), "each batch size has one line, in order"
    for line in found:
        event = int(line.step.op.removeprefix("op"))
        assert lines[event] == (line.per_sample, line.fixed), "it is named by an event that lies on it"
        for batch in range(line.first_batch, line.last_batch + 1):
            assert line.bytes_at(batch) == max(slope * batch + fixed for slope, fixed in lines)
    slopes = [line.per_sample for line in found]
    assert slopes == sorted(set(slopes)), "each line is steeper than the one before"


def test_half_a_byte_a_sample() -> None:
    """Exact fractions: 5 bytes more for two samples more, on one event; the middle is no planned batch."""
    low, high = run_of(2, [(0, 10)]), run_of(4, [(0, 15)])
    (line,) = candidates_of([low, high])
    assert (line.per_sample, line.fixed) == (2.5, 5)
    assert [line.bytes_at(batch) for batch in (2, 4)] == [10, 15]


def test_bytes_that_bend_have_no_lines() -> None:
    runs = [Run(batch, (batch * batch,), (Step("matmul", "", "forward", ""),), "", 0) for batch in (1, 2, 3)]
    assert candidates_of(runs) == ()


def test_a_batch_that_takes_another_way_has_a_line_of_its_own() -> None:
    """Unless it lies on its neighbour's."""
    others = [run_of(2, [(3, 1)], "usual"), run_of(9, [(3, 1)], "usual")]
    apart, on_the_line = run_of(1, [(0, 9)], "first"), run_of(1, [(0, 4)], "first")
    assert [(line.first_batch, line.last_batch) for line in candidates_of([apart, *others])] == [(1, 1), (2, 9)]
    assert [(line.first_batch, line.last_batch) for line in candidates_of([on_the_line, *others])] == [(1, 9)]
    last = run_of(10, [(0, 31)], "last")
    assert [(line.first_batch, line.last_batch) for line in candidates_of([*others, last])] == [(2, 10)]


def test_one_run_is_a_point() -> None:
    assert candidates_of([run_of(5, [(3, 1), (1, 2)])]) == (Candidate(Step("op0", "", "forward", ""), 0, 16, 5, 5),)
    assert candidates_of([]) == ()


@given(
    widths=st.lists(st.integers(1, 40), min_size=2, max_size=5),
    momentum=st.sampled_from([0.0, 0.9]),
    ends=st.tuples(st.integers(2, 6), st.integers(20, 60)),
    between=st.integers(7, 19),
)
def test_lines_of_any_mlp(widths: list[int], momentum: float, ends: tuple[int, int], between: int) -> None:
    """Two planned batch sizes foretell the peak, and the operation, at a third."""
    job: Any = sized(train_mlp, widths=tuple(widths), momentum=momentum, steps=2)
    device = Autodiff[NdArray].device()
    lines = candidates_of([read_run(batch, measure(job, device, batch).events) for batch in ends])
    truth = measure(job, device, between)
    (line,) = [line for line in lines if line.first_batch <= between <= line.last_batch]
    assert line.bytes_at(between) == truth.peak_bytes
    run = read_run(between, truth.events)
    reach_it = {str(step) for step, total in zip(run.steps, run.totals, strict=True) if total == run.peak}
    assert {str(line.step), truth.peak_op} <= reach_it, "of several with one number of bytes, either may be named"


def test_the_outline_leaves_out_sizes_only() -> None:
    def job(device: Device[Any], batch: int) -> AnyTensor:
        x = Tensor.ones((batch, 2), device)
        return x.exp() if batch > 3 else x * 2.0

    outlines = [read_run(batch, plan(job, batch).events).outline for batch in (1, 2, 3, 4, 5)]
    assert outlines[0] == outlines[1] == outlines[2] != outlines[3] == outlines[4]
