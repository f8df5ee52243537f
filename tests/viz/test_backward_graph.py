"""Picture 2: what the backward pass needs is what the rules keep, each buffer with its reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.viz.examples import SVG, Example, columns, mlp, new_device, normalize_batch, texts, training_step
from tinyburn import Autodiff, Distribution, NdArray, Param, Tensor, Traced, viz
from tinyburn.backend import Kind
from tinyburn.base.text import amount
from tinyburn.viz.model import read_graph
from tinyburn.viz.saved import saved_by_operation


def test_the_training_step_keeps_its_input_and_the_difference() -> None:
    """By hand: the gradient of W is x.mT @ g, that of the square is 2 (y - t) g; sums and differences need nothing."""
    loss, names = training_step()
    picture = viz.backward_graph(loss, **names)
    kept = [row for row in columns(picture, "keeps", "bytes", "memory", "why") if row[0]]
    assert kept == [
        ("x", "1 024", "input", "matmul keeps it for the gradient of W"),
        ("t4", "512", "activation", "pow keeps it: its slope is 2 * t4"),
    ]
    assert picture.title == "Backward needs 2 saved buffers, 1 536 B; reshape, add, sub and mean keep nothing"
    assert "512 B are results that stay alive for the backward pass (activations); 1 024 B are inputs" in picture.text


def test_each_operand_has_its_gradient() -> None:
    loss, names = training_step()
    gradients = [line for (line,) in columns(viz.backward_graph(loss, **names), "gradient") if line]
    assert gradients == [
        "W gets x.mT @ g",
        "b gets g, reshaped back",
        "t1 gets g",
        "t2 gets g, summed to (1, 4)",
        "t3 gets g",
        "t4 gets g * 2 * t4",
        "t5 gets g / n, for every element",
    ]


def test_a_buffer_that_two_operations_keep_counts_once() -> None:
    result, names = normalize_batch()
    picture = viz.backward_graph(result, **names)
    kept = [row for row in columns(picture, "keeps", "memory") if row[0]]
    assert kept == [
        ("t2", "activation"),
        ("t6", "activation"),
        ("t6", "activation, counted above"),
        ("result", "activation"),
    ]
    # centred (16, 8), root (1, 8) and result (16, 8), 8 bytes an element
    assert picture.title.startswith(f"Backward needs 3 saved buffers, {amount(8 * (128 + 8 + 128))};")


def test_a_kept_view_is_the_memory_of_what_it_looks_into() -> None:
    device = new_device()
    x, w = Tensor.ones((2, 3, 4), device).require_grad(), Param.from_tensor(Tensor.ones((4, 5), device))
    rows = columns(viz.backward_graph((x @ w.val().unsqueeze()).sum(), x=x, w=w), "keeps", "memory")
    assert ("t1", "parameter, a view of w") in rows


def test_an_expanded_operand_costs_its_own_bytes() -> None:
    x = Tensor.ones((1, 4), new_device()).require_grad()
    picture = viz.backward_graph((x * 2.0).expand((1000, 4)).exp().sum() + (x.expand((1000, 4)) ** 2).sum(), x=x)
    # exp keeps its own (1000, 4); pow keeps a view of x, (1, 4)
    assert picture.title.startswith(f"Backward needs 2 saved buffers, {amount(8 * 4004)};")


def test_a_constant_operand_means_that_the_other_is_not_kept() -> None:
    device = new_device()
    a, b = Tensor.ones((2, 2), device), Tensor.ones((2, 2), device).require_grad()
    rows = [row for row in columns(viz.backward_graph(a * b, a=a, b=b), "keeps", "memory") if row[0]]
    assert rows == [("a", "input")]


def scattered(device: Any) -> Example:
    """Views of views, a reshape that has to copy, and a cast that does nothing."""
    x = Tensor.random((4, 6), Distribution.Default, device).require_grad()
    y = x.transpose().reshape((4, 6)).reshape((2, 12)).exp() * x.reshape((2, 12)).cast("float64")
    return (y * x[0:1, 0:1].expand((2, 12))).sum(), {"x": x}


@pytest.mark.parametrize("example", [training_step, normalize_batch, lambda device: mlp(3, device), scattered])
def test_the_buffers_are_those_that_the_ledger_sees_saved(example: Callable[[Any], Example]) -> None:
    """The picture reads the rules; the event log of a traced backend is written by what really happens."""
    device = Autodiff[Traced[NdArray]].device(float_dtype="float64")
    loss, names = example(device)
    log = device.inner.log
    saved = {event[1] for event in log.events if event[0] == Kind.SAVE}
    sizes = {event[1]: event[2] for event in log.events if event[0] == Kind.ALLOC}
    title = viz.backward_graph(loss, **names).title
    assert f"needs {len(saved)} saved buffers, {amount(sum(sizes[buffer] for buffer in saved))}" in title


def test_after_backward_the_buffers_are_gone() -> None:
    loss, names = training_step()
    loss.backward()
    picture = viz.backward_graph(loss, **names)
    assert picture.title == "backward() has used its 2 saved buffers, 1 536 B, and let go of them"
    assert [row for row in columns(picture, "keeps", "memory") if row[0]] == [
        ("x", "input, gone"),
        ("t4", "activation, gone"),
    ]
    assert texts(picture).count("gone: backward() has used it") == 2


def test_a_kept_graph_keeps_its_buffers() -> None:
    loss, names = training_step()
    before = viz.backward_graph(loss, **names)
    loss.backward(retain_graph=True)
    assert viz.backward_graph(loss, **names) == before


def test_a_part_that_another_backward_used_up_is_said() -> None:
    x = Tensor.ones((2, 2), new_device()).require_grad()
    shared = x.exp()
    first, second = shared.sum(), (shared * 2.0).sum()
    first.backward()
    assert viz.backward_graph(second, x=x).title == "An earlier backward() has used up 1 of 3 operations"


def test_a_program_that_needs_nothing_says_so() -> None:
    x = Tensor.ones((2, 2), new_device()).require_grad()
    assert (
        viz.backward_graph((x + 1.0).sum(), x=x).title == "Backward needs no saved buffer: no slope depends on a value"
    )


def test_the_rows_of_both_passes_stand_beside_each_other() -> None:
    loss, names = training_step()
    root = ElementTree.fromstring(viz.backward_graph(loss, **names).svg)
    heights = {element.text: float(element.get("y", 0)) for element in root.iter(f"{SVG}text")}
    assert heights["= t4 ** 2"] == heights["= gradient of t5"]
    assert heights["W"] < heights["= x @ W"] < heights["= t4 ** 2"] < heights["= mean(t5)"]


def test_folded_modules_add_up_what_they_keep() -> None:
    loss, names = mlp(60)
    picture = viz.backward_graph(loss, **names)
    every = saved_by_operation(read_graph("test", loss, names)).values()
    unique = [saved for each in every for saved in each if not saved.again]
    total = sum(saved.storage.size for saved in unique)
    assert f"{len(unique)} saved buffers, {amount(total)}" in picture.title
    sizes = [size for size, memory in columns(picture, "bytes", "memory") if size and "counted above" not in memory]
    assert sum(int(size.replace(" ", "")) for size in sizes) == total
