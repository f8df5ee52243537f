"""Folding: every item is in exactly one box, boxes never form a circle, and what is hidden is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.viz.examples import Example, chain, mlp, new_device, normalize_batch, tangle, tower, training_step
from tinyburn import ConfigError, Tensor
from tinyburn.viz import Picture, backward_graph, gradient_flow, graph
from tinyburn.viz.fold import LIMIT, fold
from tinyburn.viz.model import Graph, read_graph

EXAMPLES: dict[str, Callable[[], Example]] = {
    "step": training_step,
    "normalize": normalize_batch,
    "mlp": mlp,
    "deep mlp": lambda: mlp(60),
    "tower": lambda: tower(60),
    "chain": lambda: chain(500),
    "tangle": lambda: tangle(400),
}


def graph_of(example: Callable[[], Example]) -> Graph:
    root, names = example()
    return read_graph("test", root, names)


@pytest.mark.parametrize("limit", [8, 24, LIMIT])
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_item_is_in_one_box_and_operands_come_first(name: str, limit: int) -> None:
    graph = graph_of(EXAMPLES[name])
    drawn = fold(graph, limit)
    held = [number for box in drawn.boxes for number in (*box.items, *box.leaves)]
    assert sorted(held) == list(range(len(graph.items)))
    assert all(drawn.box_of[number] == index for index, box in enumerate(drawn.boxes) for number in box.items)
    assert all(start < end for start, end in drawn.edges)
    needed = {
        (drawn.box_of[parent], drawn.box_of[number])
        for number, item in enumerate(graph.items)
        for parent in item.parents
    }
    assert set(drawn.edges) == {(start, end) for start, end in needed if start != end}
    assert drawn.spine <= set(drawn.edges)


@pytest.mark.parametrize("name", ["step", "normalize", "mlp"])
def test_what_a_reader_can_take_in_is_not_folded(name: str) -> None:
    graph = graph_of(EXAMPLES[name])
    drawn = fold(graph)
    assert len(drawn.boxes) == len(graph.items)
    assert drawn.note == ""


@pytest.mark.parametrize("name", ["deep mlp", "tower", "chain", "tangle"])
def test_the_number_of_boxes_is_limited(name: str) -> None:
    graph = graph_of(EXAMPLES[name])
    drawn = fold(graph)
    assert sum(graph.items[box.items[0]].is_operation for box in drawn.boxes) <= LIMIT
    assert f"of the {len(drawn.boxes)} boxes" in drawn.note


def test_modules_fold_before_repeats() -> None:
    drawn = fold(graph_of(EXAMPLES["tower"]))
    labels = [box.label for box in drawn.boxes]
    assert "model.blocks.0" in labels
    assert "58 more: model.blocks.1 … 58, relu" in labels
    assert "model.blocks.59" in labels


def test_a_module_hides_its_parameters_and_shows_what_comes_in() -> None:
    graph = graph_of(EXAMPLES["tower"])
    drawn = fold(graph)
    first = next(box for box in drawn.boxes if box.label == "model.blocks.0")
    names = [graph.items[leaf].label for leaf in first.leaves]
    assert names == ["model.blocks.0.weight", "model.blocks.0.bias"]
    alone = [graph.items[box.items[0]].label for box in drawn.boxes if box.kind == "item"]
    assert alone[0] == "x"
    assert "target" in alone


def test_a_pattern_of_several_operations_is_found() -> None:
    x = Tensor.ones((2, 2), new_device()).require_grad()
    y = x
    for _ in range(50):
        y = (y * 2.0).tanh() + 1.0
    drawn = fold(read_graph("test", y, {"x": x}))
    assert [box.label for box in drawn.boxes if box.label] == ["48 more: mul, tanh, add"]
    assert len(drawn.boxes) == 1 + 3 + 1 + 3


def test_operations_on_other_shapes_are_not_the_same() -> None:
    device = new_device()
    y = Tensor.ones((1, 4), device).require_grad()
    for _ in range(30):
        y = y + 1.0
    y = y.expand((5, 4))
    for _ in range(30):
        y = y + 1.0
    labels = [box.label for box in fold(read_graph("test", y, {})).boxes if box.label]
    assert labels == ["28 more: add", "28 more: add"]


def test_a_leaf_that_many_boxes_use_is_drawn_once() -> None:
    x = Tensor.ones((2,), new_device()).require_grad()
    y = x
    for _ in range(100):
        y = y * x
    drawn = fold(read_graph("test", y, {"x": x}))
    assert drawn.boxes[0].items == (0,)
    assert sum((0 in box.items) + (0 in box.leaves) for box in drawn.boxes) == 1


def drawn_flow(loss: Any, **options: Any) -> Picture:
    return gradient_flow(loss, loss.backward(record_flow=True, retain_graph=True), **options)


@pytest.mark.parametrize("draw", [graph, backward_graph, drawn_flow], ids=["graph", "backward_graph", "gradient_flow"])
def test_a_reader_can_ask_for_fewer_boxes(draw: Callable[..., Picture]) -> None:
    """Modules come first: a tower of 5 blocks is 15 operations, and with 8 boxes each block is one."""
    loss, names = tower(5)
    whole, small = draw(loss, **names), draw(loss, boxes=8, **names)
    assert "model.blocks.0" in small.text
    assert len(small.svg) < len(whole.svg)


@pytest.mark.parametrize("boxes", [3, 0, -1, "many", tower(1)[1]["x"]], ids=repr)
def test_a_number_of_boxes_that_nothing_fits_into(boxes: Any) -> None:
    with pytest.raises(ConfigError, match="must be a number from 4 on"):
        graph(tower(1)[0], boxes=boxes)
