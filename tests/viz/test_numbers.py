"""Picture 1 with numbers: the value and the gradient of everything, as far as they are known."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.support import AnyTensor
from tests.viz.examples import columns, mlp, new_device, texts, training_step
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import Autodiff, BackendMismatch, ConfigError, GraphError, Meta, Tensor, viz
from tinyburn.viz.numbers import value_text


def line_squared() -> tuple[AnyTensor, dict[str, AnyTensor]]:
    """(w x + b)² = (3 · 2 + 1)², with every result under a name."""
    device = new_device()
    x, w, b = (Tensor.from_data([number], device) for number in (2.0, 3.0, 1.0))
    w, b = w.require_grad(), b.require_grad()
    product = w * x
    total = product + b
    return total**2, {"x": x, "w": w, "b": b, "product": product, "total": total}


def numbers(picture: viz.Picture) -> list[tuple[str, ...]]:
    return columns(picture, "name", "value", "gradient")


def test_a_value_and_a_gradient_stand_in_every_box() -> None:
    y, names = line_squared()
    grads = y.backward(retain_grads=[names["product"], names["total"], y], retain_graph=True)
    picture = viz.graph(y, grads, **names, y=y)
    assert numbers(picture) == [
        ("w", "3", "28"),
        ("x", "2", "none"),
        ("product", "6", "14"),
        ("b", "1", "14"),
        ("total", "7", "14"),
        ("y", "49", "1"),
    ]
    drawn = texts(picture)
    assert [drawn[at + 1] for at, line in enumerate(drawn) if line == "value"] == ["3", "2", "6", "1", "7", "49"]
    assert [drawn[at + 1] for at, line in enumerate(drawn) if line == "gradient"] == ["28", "14", "14", "14", "1"]
    assert_readable(picture)


def test_values_that_have_no_name_are_computed_again_from_those_that_have() -> None:
    loss, names = training_step()  # ones (16, 8) by halves (8, 4) make fours; the loss is 16
    grads = loss.backward()
    assert numbers(viz.graph(loss, grads, **names))[2] == ("t1", "RMS 4", "not kept")
    without_w = viz.graph(loss, grads, x=names["x"])
    assert numbers(without_w)[1:3] == [("leaf 1", "", "RMS 2"), ("t1", "", "not kept")]
    assert numbers(without_w)[-1] == ("loss", "16", "not kept")  # it is the tensor that was handed over


def test_a_recorded_flow_has_the_size_of_every_gradient() -> None:
    loss, names = training_step()
    rows = numbers(viz.graph(loss, loss.backward(record_flow=True), **names))
    assert [gradient for _, _, gradient in rows] == [
        *("none", "RMS 2", "RMS 0.125", "[2, 2, 2, 2]", "RMS 2", "RMS 0.125"),
        *("none", "RMS 0.125", "RMS 0.0156", "RMS 1"),
    ]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.array([2.0]), "2"),
        (np.array([-0.0]), "0"),
        (np.array([[1234.5, -0.00012345]]), "[[1.23e+03, -0.000123]]"),
        (np.array([np.nan, np.inf]), "[nan, inf]"),
        (np.array([True, False]), "[True, False]"),
        (np.array([7, -2]), "[7, -2]"),
        (np.zeros((0, 3)), "[]"),
        (np.full((2, 3), -2.0), "RMS 2"),
        (np.array([1.0, np.nan, np.inf, 1.0, 1.0]), "2 of 5 elements inf or NaN"),
        (np.arange(9), "from 0 to 8"),
        (np.arange(9) > 5, "3 of 9 true"),
    ],
)
def test_few_numbers_are_shown_with_3_digits_and_of_many_their_size(values: Any, text: str) -> None:
    assert value_text(values) == text


def test_masks_and_what_gets_no_gradient() -> None:
    x = Tensor.from_data([1.0, -2.0], new_device()).require_grad()
    unused = Tensor.ones((1,), new_device()).require_grad()
    mask = x.detach() > 0.0
    result = (x.mask_fill(mask, 5.0) + unused.detach()).sum()
    rows = numbers(viz.graph(result, result.backward(), x=x, mask=mask))
    assert ("mask", "[True, False]", "none") in rows
    assert ("x", "[1, -2]", "[0, 1]") in rows


def test_a_box_of_several_operations_has_the_numbers_of_its_last() -> None:
    loss, names = mlp(60)
    picture = viz.graph(loss, loss.backward(record_flow=True), **names)
    assert "are not drawn one by one" in picture.text
    assert "RMS" in picture.text
    assert ElementTree.fromstring(picture.svg) is not None


def test_they_change_no_other_picture() -> None:
    loss, names = training_step()
    assert viz.graph(loss, **names) == viz.graph(loss, None, **names)


def test_what_has_no_numbers_is_refused() -> None:
    loss, names = training_step()
    other, _ = training_step()
    with pytest.raises(ConfigError, match=r"viz\.graph(?s:.*)grads is of type int"):
        viz.graph(loss, 3, **names)  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="another tensor's backward"):
        viz.graph(loss, other.backward(), **names)
    shapes, shape_names = training_step(Autodiff[Meta].device())
    with pytest.raises(BackendMismatch, match="shapes only"):
        viz.graph(shapes, shapes.backward(), **shape_names)


def test_two_processes_draw_the_same_bytes() -> None:
    script = """
from tests.viz.examples import training_step
from tinyburn import viz
loss, names = training_step()
picture = viz.graph(loss, loss.backward(record_flow=True), **names)
"""
    first, second = outputs_of_two_processes(script)
    assert first == second
