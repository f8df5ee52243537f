"""The steps of a computation: each stands where the program did it, with the bytes that the log has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.jobs import training_step as job
from tests.support import AnyTensor
from tests.viz.examples import mlp, normalize_batch, training_step
from tinyburn import (
    Autodiff,
    BalancedCheckpointing,
    Device,
    Distribution,
    NdArray,
    Tensor,
    Traced,
    activation,
    memory,
    nn,
)
from tinyburn.autodiff import checkpoint
from tinyburn.backend import Kind
from tinyburn.memory.measure import find_log
from tinyburn.memory.timeline import walk
from tinyburn.viz.film import Film
from tinyburn.viz.model import read_graph
from tinyburn.viz.numbers import known_values, value_text
from tinyburn.viz.step_numbers import numbers_of

Example = tuple[AnyTensor, dict[str, Any]]


def traced(*options: Any) -> Device[Any]:
    device: Device[Any] = Autodiff[(Traced[NdArray], *options)].device(float_dtype="float64")
    device.seed(3)
    return device


def film_of(tensor: AnyTensor, **names: Any) -> Film:
    return Film(read_graph("stepper", [tensor], names), find_log(tensor.device))


def told(film: Film) -> list[tuple[str, ...]]:
    """Each step by its kind, its box, and whom it gives a gradient."""
    labels = [item.label for item in film.graph.items]
    found = []
    for step in film.steps:
        places = [labels[at] for at in (step.item, step.target) if at >= 0]
        found.append((step.kind, *places))
    return found


def line_squared(device: Device[Any]) -> Example:
    """(3 · 2 + 1)², without a name for what is in between."""
    w, b = (Tensor.from_data([number], device).require_grad() for number in (3.0, 1.0))
    x = Tensor.from_data([2.0], device)
    return (w * x + b) ** 2, {"w": w, "b": b, "x": x}


def diamond(device: Device[Any]) -> Example:
    """2a + 6a: the result 2a is used twice."""
    a = Tensor.from_data([1.0], device).require_grad()
    p = a * 2.0
    return p * 3.0 + p, {"a": a, "p": p}


def attention(device: Device[Any]) -> Example:
    """A softmax, which is composed of several operations, views, and a tensor that is used three times."""
    x = Tensor.random((2, 3, 4), Distribution.Normal(0, 1), device).require_grad()
    return (activation.softmax(x @ x.mT, 2) @ x).sum(), {"x": x}


def segmented(device: Device[Any]) -> Example:
    layer = nn.LinearConfig(3, 3).init(device)
    x = Tensor.ones((2, 3), device).require_grad()
    return checkpoint(lambda h: layer(h).tanh(), layer(x)).sum(), {"x": x, "layer": layer}


def with_constants(device: Device[Any]) -> Example:
    """What is made on the way, and what no gradient goes through."""
    w = Tensor.ones((2, 2), device).require_grad()
    h = w * 3.0
    scale = Tensor.full((2, 2), 2.0, device) + 1.0
    return (h * scale).sum(), {"w": w, "scale": scale}


EXAMPLES: dict[str, Callable[[Device[Any]], Example]] = {
    "line squared": line_squared,
    "diamond": diamond,
    "training step": training_step,
    "mlp": lambda device: mlp(3, device),
    "normalize batch": normalize_batch,
    "attention": attention,
    "segmented": segmented,
    "with constants": with_constants,
}
every_example = pytest.mark.parametrize("name", EXAMPLES)


def run(name: str, *options: Any) -> tuple[Film, Example]:
    loss, names = EXAMPLES[name](traced(*options))
    loss.backward()
    return film_of(loss, **names), (loss, names)


# By hand


def test_a_line_squared_step_by_step() -> None:
    """Counted by hand: 8 bytes a number. w, b, x; then u, s; u goes; y; 1; the gradient of s; s and 1 go; that of w."""
    film, _ = run("line squared")
    assert told(film) == [
        ("start",),
        ("forward", "t1"),
        ("forward", "t2"),
        ("free",),
        ("forward", "loss"),
        ("seed", "loss"),
        ("rule", "loss", "t2"),
        ("free",),
        ("rule", "t2", "b"),
        ("rule", "t2", "t1"),
        ("rule", "t1", "w"),
        ("free",),
    ]
    numbers = [film.total(at) // 8 for at in range(len(film.steps))]
    assert numbers == [3, 4, 5, 4, 5, 6, 7, 5, 5, 5, 6, 4]
    assert film.peak == 6


def test_what_is_used_twice_gets_two_parts_and_a_sum_before_it_is_visited() -> None:
    film, _ = run("diamond")
    assert told(film)[3:] == [
        ("forward", "loss"),
        ("free",),
        ("seed", "loss"),
        ("rule", "loss", "p"),
        ("rule", "loss", "t1"),
        ("rule", "t1", "p"),
        ("sum", "p", "p"),
        ("free",),
        ("rule", "p", "a"),
        ("free",),
    ]


def test_the_names_of_buffers_grow_as_a_gradient_is_handed_on() -> None:
    """b and u get the gradient of s as it is, so the three are one buffer."""
    film, _ = run("line squared")
    at = [step.kind for step in film.steps].index("rule")
    labels = [[each.label for each in film.alive(number)] for number in range(at, at + 4)]
    assert [[label for label in each if label.startswith("gradient of t2")] for each in labels] == [
        ["gradient of t2"],
        ["gradient of t2"],
        ["gradient of t2/b"],
        ["gradient of t2/b/t1"],
    ]


def test_the_peak_of_a_training_step_is_that_of_the_report() -> None:
    """1 432 B in float32, as the design counts it by hand and `measure` by the log."""
    device = Autodiff[Traced[NdArray]].device()
    x, y = Tensor.ones((16, 8), device), Tensor.zeros((16, 4), device)
    w, b = Tensor.ones((8, 4), device).require_grad(), Tensor.zeros((4,), device).require_grad()
    loss = ((x @ w + b.unsqueeze() - y) ** 2).mean()
    loss.backward()
    film = film_of(loss)
    assert film.total(film.peak) == memory.measure(job, Autodiff[NdArray].device(), 16).peak_bytes == 1432


# For every program


@every_example
@pytest.mark.parametrize("options", [(), (BalancedCheckpointing,)], ids=["keeping all", "balanced"])
def test_the_bytes_of_each_step_are_those_of_the_log(name: str, options: Any) -> None:
    """`timeline.walk` counts them in its own way. Nothing else is on the device."""
    film, _ = run(name, *options)
    totals = [sum(totals) for _, _, totals in walk(film.log)]
    assert [film.total(at) for at in range(len(film.steps))] == [totals[moment] for moment in film.moments]
    assert [sum(each.size for each in film.alive(at)) for at in range(len(film.steps))] == [
        totals[moment] for moment in film.moments
    ]
    assert film.left_out == 0


@every_example
def test_no_operation_and_no_free_is_left_out(name: str) -> None:
    film, _ = run(name)
    begin, end = film.begin, len(film.log.events)
    shown = sorted(at for step in film.steps for at in (*step.ops, *step.frees))
    wanted = [at for at in range(begin, end) if film.log.events[at][0] in (Kind.OP, Kind.FREE)]
    assert shown == wanted


@every_example
def test_each_step_comes_after_what_it_needs(name: str) -> None:
    film, _ = run(name)
    assert_in_order(film)


def assert_in_order(film: Film) -> None:
    """Forward after the operands, a rule after all parts of its box, a free after the last use."""
    done: set[int] = set(film.graph.leaves)
    parts_left = dict.fromkeys(range(len(film.graph.items)), 0)
    for step in film.steps:
        if step.kind == "rule":
            parts_left[step.target] += 1
    for number, step in enumerate(film.steps, start=1):
        if step.kind == "forward":
            assert set(film.graph.items[step.item].parents) <= done
            done.add(step.item)
        elif step.kind == "rule":
            assert parts_left[step.item] == 0
            parts_left[step.target] -= 1
        elif step.kind == "free":
            assert all(film.last_use(value) <= number for value in film.freed(step))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=12))
def test_any_graph_is_walked_in_order(choices: list[tuple[int, int, int]]) -> None:
    device = traced()
    pool = [Tensor.full((2,), 0.5, device).require_grad(), Tensor.full((2,), 0.25, device)]
    for which, one, other in choices:
        a, b = pool[one % len(pool)], pool[other % len(pool)]
        pool.append([lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - b, lambda a, b: a.tanh()][which](a, b))
    loss = (pool[-1] + pool[0]).sum()
    del pool, a, b
    loss.backward()
    film = film_of(loss)
    assert_in_order(film)
    totals = [sum(totals) for _, _, totals in walk(film.log)]
    assert film.total(0) + film.left_out == totals[film.moments[0]]


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "segmented"])
def test_the_numbers_are_those_of_the_engine(name: str) -> None:
    """The last step that gives something to a leaf shows what `backward` returns for it."""
    film, (loss, names) = run(name)
    again, others = EXAMPLES[name](traced())
    grads, model = again.backward(), read_graph("stepper", [again], others)
    numbers = numbers_of(film.graph, film.steps, known_values(film.graph, loss, names))
    last = {step.target: each.result for step, each in zip(film.steps, numbers, strict=True) if step.target >= 0}
    leaves = [leaf for leaf in model.leaves if model.items[leaf].gets_gradient]
    assert leaves
    for leaf in leaves:
        gradient, shown = grads.of_node(model.items[leaf].node), last[leaf]
        assert gradient is not None
        assert shown is not None
        assert shown.words == value_text(gradient.to_numpy())
        if shown.cells is not None:
            np.testing.assert_allclose(shown.cells.ravel(), gradient.to_numpy().ravel())


def test_the_parts_of_a_sum_are_shown_with_it() -> None:
    """d/dp of 3p + p: 1 and 3 make 4."""
    film, (loss, names) = run("diamond")
    numbers = numbers_of(film.graph, film.steps, known_values(film.graph, loss, names))
    (found,) = [each for step, each in zip(film.steps, numbers, strict=True) if step.kind == "sum"]
    assert [(each.label, each.words) for each in found.read] == [("from loss", "1"), ("from t1", "3")]
    assert found.result is not None
    assert found.result.words == "4"


def test_what_depends_on_a_leaf_without_a_name_is_not_known() -> None:
    loss, names = line_squared(traced())
    loss.backward()
    film = film_of(loss, x=names["x"])
    numbers = numbers_of(film.graph, film.steps, known_values(film.graph, loss, {"x": names["x"]}))
    known = [bool(each.result and each.result.words) for each in numbers]
    # y itself was handed over, and its gradient is 1; s is not known, so nothing behind it is
    assert [told(film)[at] for at in range(len(known)) if known[at]] == [("forward", "loss"), ("seed", "loss")]


# Segments, and what stands beside the graph


def test_a_segment_runs_again_on_the_way_back_as_steps() -> None:
    film, _ = run("segmented")
    inside = [step for step in film.steps if step.kind == "inside"]
    ops = [(film.history.steps[step.first].op, film.history.steps[step.first].phase) for step in inside]
    assert ops[:2] == [("linear", "forward"), ("tanh", "forward")]
    assert ops[2:4] == [("linear", "backward"), ("tanh", "backward")]
    assert {film.graph.items[step.item].op for step in inside} == {"checkpoint"}
    rules = [film.graph.items[step.target].label for step in film.steps if step.kind == "rule"]
    assert sorted(rules) == ["layer.bias"] * 2 + ["layer.weight"] * 2 + ["t1", "t2", "x"]


def test_operations_without_a_gradient_stand_beside_the_graph() -> None:
    film, _ = run("with constants")
    beside = [film.history.steps[op].op for step in film.steps if step.kind == "beside" for op in step.ops]
    assert beside == ["full", "add"]
    (scale,) = [at for at in film.graph.leaves if film.graph.items[at].label == "scale"]
    assert film.steps[film.made_in(scale) - 1].kind == "beside"
    assert scale not in [step.item for step in film.steps]


def test_a_loop_is_one_step_in_each_direction() -> None:
    device = traced()
    lstm = nn.LstmConfig(2, 3).init(device)
    loss = lstm(Tensor.ones((1, 4, 2), device))[0].sum()
    loss.backward()
    film = film_of(loss)
    (item,) = [at for at in film.graph.operations if film.graph.items[at].op == "lstm"]
    (forward,) = [step for step in film.steps if step.kind == "forward" and step.item == item]
    assert len(forward.ops) > 4 * 4
    back = [step for step in film.steps if step.kind == "rule" and step.item == item]
    assert [bool(step.ops) for step in back] == [True] + [False] * (len(back) - 1)


# Only this computation


def test_other_computations_on_the_device_are_left_out_and_counted() -> None:
    device = traced()
    other, _ = diamond(device)
    grads = other.backward()
    before = find_log(device).live_bytes
    loss, names = line_squared(device)
    loss.backward()
    found = film_of(loss, **names)
    assert found.left_out == before
    assert found.total(0) == 3 * 8
    assert len(grads) == 1


def test_gradients_of_an_earlier_pass_are_no_part_of_it() -> None:
    """The leaves are the same, their gradients are not."""
    device = traced()
    w = Tensor.from_data([3.0], device).require_grad()
    first = (w * 2.0).backward()
    second = w * 4.0
    kept = second.backward()
    film = film_of(second, w=w)
    assert [each.label for each in film.alive(0)] == ["w"]
    assert film.left_out == 8
    assert len(first) == len(kept) == 1


def test_of_two_backward_passes_the_first_is_shown() -> None:
    loss, names = line_squared(traced())
    loss.backward(retain_graph=True)
    once = told(film_of(loss, **names))
    loss.backward()
    assert told(film_of(loss, **names)) == once


def test_without_a_backward_pass_there_are_the_forward_steps() -> None:
    loss, names = line_squared(traced())
    film = film_of(loss, **names)
    assert [step.kind for step in film.steps] == ["start", "forward", "forward", "free", "forward"]


def test_a_step_of_an_optimizer_is_not_part_of_it() -> None:
    device = traced()
    loss, names = mlp(2, device)
    loss.backward()
    steps = told(film_of(loss, **names))
    names["x"] + 1.0
    assert told(film_of(loss, **names)) == steps


def test_retained_gradients_are_not_freed() -> None:
    loss, names = line_squared(traced())
    grads = loss.backward(retain_grads=[loss])
    film = film_of(loss, **names)
    freed = [film.label(value, step) for step in film.steps for value in film.freed(step)]
    assert not any(label.startswith("gradient of loss") for label in freed)
    assert len(grads) == 3
