"""`memory.plan` writes the log of the measured run, event for event: a prediction is the program run on shapes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.jobs import JOBS, AnyTensor, segmented_mlp, sized, train_mlp
from tests.support import UnderTest
from tinyburn import Autodiff, BalancedCheckpointing, Device, NdArray, NoCheckpointing, Tensor, activation
from tinyburn.memory import measure, plan

ACTIVATIONS: dict[str, Any] = {
    "relu": activation.relu,
    "leaky_relu": activation.leaky_relu,
    "sigmoid": activation.sigmoid,
    "tanh": activation.tanh,
    "silu": activation.silu,
    "gelu": activation.gelu,
    "softplus": activation.softplus,
    "softmax": lambda x: activation.softmax(x, 1),
    "log_softmax": lambda x: activation.log_softmax(x, 1),
}


STRATEGIES: dict[str, Any] = {
    "NoCheckpointing": Autodiff[NdArray],
    "BalancedCheckpointing": Autodiff[NdArray, BalancedCheckpointing],
}


def check_same_log(job: Any, batch: int, backend: Any = Autodiff[NdArray]) -> None:
    measured = measure(job, backend.device(), batch)
    predicted = plan(job, batch, device=backend.device())
    assert predicted.events.events == measured.events.events
    assert predicted.events.names == measured.events.names
    assert (predicted.peak_bytes, predicted.at_peak, predicted.peak_op, predicted.peak_event) == (
        measured.peak_bytes,
        measured.at_peak,
        measured.peak_op,
        measured.peak_event,
    )


@pytest.mark.parametrize("strategy", [NoCheckpointing, BalancedCheckpointing])
@pytest.mark.parametrize("name", JOBS)
def test_same_log_for_each_job(name: str, strategy: Any, base: UnderTest) -> None:
    check_same_log(*JOBS[name], base.inside(Autodiff, strategy).backend)


@given(
    widths=st.lists(st.integers(1, 9), min_size=2, max_size=5),
    between=st.sampled_from(sorted(ACTIVATIONS)),
    batch=st.integers(1, 5),
    momentum=st.sampled_from([0.0, 0.9]),
    strategy=st.sampled_from(sorted(STRATEGIES)),
)
def test_same_log_for_any_mlp(widths: list[int], between: str, batch: int, momentum: float, strategy: str) -> None:
    settings = {"widths": tuple(widths), "between": ACTIVATIONS[between], "steps": 2, "momentum": momentum}
    check_same_log(sized(train_mlp, **settings), batch, STRATEGIES[strategy])


@given(layers=st.integers(1, 6), every=st.integers(1, 4), batch=st.integers(1, 4))
def test_same_log_for_any_checkpointed_segments(layers: int, every: int, batch: int) -> None:
    check_same_log(sized(segmented_mlp, layers=layers, every=every), batch)


@given(
    widths=st.lists(st.integers(1, 9), min_size=2, max_size=4),
    between=st.sampled_from(sorted(ACTIVATIONS)),
)
def test_same_log_for_an_empty_batch(widths: list[int], between: str) -> None:
    check_same_log(sized(train_mlp, widths=tuple(widths), between=ACTIVATIONS[between], steps=1), 0)


@st.composite
def view_programs(draw: Any) -> tuple[tuple[int, ...], list[tuple[Any, ...]]]:
    """A shape and some views of it, each followed by a reshape, which copies or not by the strides."""
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=2, max_size=4)))
    steps: list[tuple[Any, ...]] = []
    current = shape
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["permute", "slice", "expand", "flatten", "add"]))
        if kind == "permute":
            axes = tuple(draw(st.permutations(range(len(current)))))
            current = tuple(current[axis] for axis in axes)
            steps.append((kind, axes))
        elif kind == "slice":
            starts = [draw(st.integers(0, size)) for size in current]
            stops = [draw(st.integers(start, size)) for start, size in zip(starts, current, strict=True)]
            strides = [draw(st.integers(1, 2)) for _ in current]
            steps.append((kind, tuple(slice(*bounds) for bounds in zip(starts, stops, strides, strict=True))))
            current = tuple(len(range(*bounds)) for bounds in zip(starts, stops, strides, strict=True))
        elif kind == "expand":
            current = tuple(draw(st.integers(0, 3)) if size == 1 else size for size in current)
            steps.append((kind, current))
        elif kind == "flatten":
            current = (_product(current), 1)
            steps.append((kind, current))
        else:
            steps.append((kind,))
    return shape, steps


def _product(sizes: tuple[int, ...]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product


def run_views(device: Device[Any], shape: tuple[int, ...], steps: list[tuple[Any, ...]]) -> Any:
    x: AnyTensor = Tensor.ones(shape, device).require_grad()
    for kind, *arguments in steps:
        if kind == "permute":
            x = x.permute(*arguments[0])
        elif kind == "slice":
            x = x[arguments[0]]
        elif kind == "expand":
            x = x.expand(arguments[0])
        elif kind == "flatten":
            x = x.reshape(arguments[0])
        else:
            x = x * x + x
    return x.sum().backward()


@given(view_programs())
def test_same_log_for_any_views(program: tuple[tuple[int, ...], list[tuple[Any, ...]]]) -> None:
    """Whether a reshape is a view or a copy depends on strides, which Meta has to follow."""
    check_same_log(lambda device, batch: run_views(device, *program), 1)
