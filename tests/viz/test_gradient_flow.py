"""Picture 8: the sizes are those of the gradients; what is no ordinary gradient is told apart in words and lines."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.support import AnyTensor
from tests.viz.examples import SVG, chain, columns, mlp, new_device, tangle, texts, training_step
from tinyburn import ConfigError, Gradients, GraphError, Tensor, activation, viz
from tinyburn.autodiff.rules import multiply_no_nan
from tinyburn.viz import Picture
from tinyburn.viz.fold import MOST_BYTES
from tinyburn.viz.gradient_flow import Widths


def flow(root: AnyTensor, **names: Any) -> Picture:
    return viz.gradient_flow(root, root.backward(record_flow=True), **names)


def states(picture: Picture) -> dict[str, tuple[str, str]]:
    return {name: (kind, rms) for name, kind, rms in columns(picture, "name", "gradient", "RMS")}


def rms(values: Any) -> str:
    return f"{np.sqrt(np.mean(np.square(values))):.3g}"


def test_the_training_step_has_the_sizes_of_calculus() -> None:
    """x is ones and W is 0.5, so y = 4 everywhere: dL/dy = 2 y / 64, dL/db sums 16 rows of it, dL/dW as much."""
    loss, names = training_step()
    picture = flow(loss, **names)
    found = states(picture)
    assert found["loss"] == ("flows", "1")
    assert found["t5"] == ("flows", rms(1 / 64))
    assert found["t4"] == ("flows", rms(2 * 4 / 64))
    assert found["W"] == found["b"] == ("flows", rms(16 * 2 * 4 / 64))
    assert found["x"] == found["target"] == ("none", "")
    assert picture.title == "Gradient grows from 1 to 2 (RMS) between loss and W"


def test_the_widest_line_is_the_largest_gradient() -> None:
    x = Tensor.ones((1,), new_device()).require_grad()
    picture = flow(x * 10.0 * 10.0 * 10.0, x=x)
    paths = ElementTree.fromstring(picture.svg).iter(f"{SVG}path")
    widths = [float(e.get("stroke-width", 0)) for e in paths if "flow" in (e.get("class") or "")]
    drawn, legend = sorted(widths[:3]), widths[3:]
    assert drawn[0] < drawn[1] < drawn[2]
    assert legend == [drawn[2], drawn[0]]
    assert picture.title == "Gradient grows from 1 to 1e+03 (RMS) between loss and x"


def test_equal_factors_are_equal_steps_of_width() -> None:
    widths = Widths([1.0, 1e-3])
    steps = np.diff([widths.of(size) for size in (1e-3, 1e-2, 1e-1, 1.0)])
    np.testing.assert_allclose(steps, steps[0])


def test_a_small_difference_does_not_look_large() -> None:
    widths = Widths([1.0, 0.9])
    assert widths.of(1.0) - widths.of(0.9) < 0.5


@pytest.mark.parametrize("sizes", [[], [0.0], [1.0], [1e-300, 1e300], [5e-324, 1.0]])
def test_a_width_is_always_a_width(sizes: list[float]) -> None:
    widths = Widths(sizes)
    assert all(1 < widths.of(size) < 14 for size in [*sizes, 0.0])


# Untracked, zero, cancelled, and not a number: four different things


def test_none_dead_and_cancelled_are_told_apart() -> None:
    device = new_device()
    dead = Tensor.full((1, 3), -1.0, device).require_grad()
    cancelled = Tensor.from_data([[1.0, 2.0, 3.0]], device).require_grad()
    constant = Tensor.ones((1, 3), device)
    ways = activation.relu(dead) + cancelled * 3.0 - cancelled * 3.0 + constant * cancelled * 1e-9
    picture = flow(ways.sum(), dead=dead, cancelled=cancelled, constant=constant)
    found = states(picture)
    assert found["dead"] == ("dead", "0")
    assert found["cancelled"] == ("cancelled", "")
    assert found["constant"] == ("none", "")
    letters = texts(picture)
    assert {"0", "C", "N"} <= set(letters)
    assert "dead: every element is 0" in letters
    assert picture.title == "Gradient cancels at cancelled: 3 parts of up to 3 (RMS) add up to less than a thousandth"


def test_an_exact_cancellation_is_not_called_dead() -> None:
    x = Tensor.ones((1, 3), new_device()).require_grad()
    assert states(flow((x * 3.0 - x * 3.0).sum(), x=x))["x"][0] == "cancelled"


def test_a_dead_leaf_is_in_the_title_with_where_it_starts() -> None:
    x = Tensor.full((1, 3), -1.0, new_device()).require_grad()
    picture = flow((activation.relu(x * 2.0)).sum(), x=x)
    assert picture.title == "Only zeros arrive at x: all zeros from t1 on"


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_gradient_that_is_not_finite_breaks_nothing(bad: float) -> None:
    device = new_device()
    x = Tensor.from_data([[1.0, 2.0, 3.0]], device).require_grad()
    factor = Tensor.from_data([[1.0, bad, 1.0]], device)
    picture = flow((x * factor).sum(), x=x, factor=factor)
    assert picture.title == "Gradient stops being finite at x: 1 of 3 elements inf or NaN"
    assert states(picture)["x"] == ("non-finite", "")
    assert "!" in texts(picture)
    assert "nan" not in picture.svg.lower().replace("inf or nan", "")


def test_the_first_result_without_a_number_is_named() -> None:
    x = Tensor.from_data([[0.0, 1.0]], new_device()).require_grad()
    logarithm = x.log()
    picture = flow((logarithm * 2.0).exp().sqrt().sum() * float("inf"), x=x, logarithm=logarithm)
    assert picture.title.startswith("Gradient stops being finite at t4: 1 of 1 element")


def test_sizes_that_only_float64_could_square_are_right() -> None:
    x = Tensor.ones((2,), new_device()).require_grad()
    assert states(flow((x * 1e-200).sum(), x=x))["x"] == ("flows", "1e-200")


def test_an_empty_gradient_is_a_result() -> None:
    x = Tensor.zeros((0, 3), new_device()).require_grad()
    picture = flow((x * 2.0).sum(), x=x)
    assert "no elements" in picture.text
    assert ElementTree.fromstring(picture.svg) is not None


def test_kinds_of_line_differ_in_form_not_only_in_colour() -> None:
    device = new_device()
    dead = Tensor.full((1, 2), -1.0, device).require_grad()
    x = Tensor.from_data([[0.0, 1.0]], device).require_grad()
    constant = Tensor.ones((1, 2), device)
    picture = flow((activation.relu(dead) + multiply_no_nan(x, 1.0) * constant + (1.0 / x)).sum(), x=x, dead=dead)
    classes = {e.get("class") for e in ElementTree.fromstring(picture.svg).iter(f"{SVG}path")}
    assert {"line arrow off", "rule flow zero", "sG flow", "rule broken"} <= classes
    for rule in (
        ".off{stroke-dasharray:5 3}",
        ".zero{stroke-width:2;stroke-dasharray:2 4}",
        "stroke-dasharray:9 3 2 3",
    ):
        assert rule in picture.svg


# What was not recorded, and what does not belong together


def test_without_a_recorded_flow_only_leaves_have_sizes() -> None:
    loss, names = training_step()
    picture = viz.gradient_flow(loss, loss.backward(), **names)
    assert picture.title == "Gradient sizes (RMS): W 2 and b 2"
    assert states(picture)["t1"] == ("unknown", "")
    assert states(picture)["W"] == ("flows", "2")
    assert "loss.backward(record_flow=True)" in picture.text


def test_a_gradient_that_was_taken_out_is_not_called_zero() -> None:
    loss, names = training_step()
    grads = loss.backward()
    names["W"].grad_remove(grads)
    assert states(viz.gradient_flow(loss, grads, **names))["W"] == ("none", "")
    names["b"].grad_remove(grads)
    assert viz.gradient_flow(loss, grads, **names).title == "No gradient is left to show"


def test_a_named_tensor_that_the_loss_does_not_need_has_none() -> None:
    loss, names = training_step()
    unused = Tensor.ones((2,), new_device()).require_grad()
    assert "not in this graph: unused: no gradient (None), which is not zero" in flow(loss, **names, unused=unused).text


def test_gradients_of_another_tensor_are_refused() -> None:
    loss, names = training_step()
    other, _ = training_step()
    for recorded in (True, False):
        with pytest.raises(GraphError, match="these gradients come from another tensor's backward"):
            viz.gradient_flow(loss, other.backward(retain_graph=True, record_flow=recorded), **names)


def test_something_else_than_gradients_is_refused() -> None:
    loss, names = training_step()
    wrong: Any = {"W": 1.0}
    with pytest.raises(ConfigError, match=r"grads is of type dict(?s:.*)hint: give what backward\(\) returned"):
        viz.gradient_flow(loss, wrong, **names)


def test_no_gradients_at_all_is_a_result() -> None:
    loss, names = training_step()
    assert viz.gradient_flow(loss, Gradients({}), **names).title == "No gradient is left to show"


# Large graphs


def test_a_thousand_operations_stay_small() -> None:
    for example in (chain(1000), mlp(60), tangle(1000)):
        picture = flow(example[0], **example[1])
        assert len(picture.html) < MOST_BYTES
        assert "are not drawn one by one" in picture.text


def test_a_folded_box_says_how_many_of_its_results_have_the_fault() -> None:
    x = Tensor.full((1,), -1.0, new_device()).require_grad()
    y = x
    for _ in range(100):
        y = y * 1.0
    y = activation.relu(y)
    for _ in range(100):
        y = y + 1.0
    picture = flow(y, x=x)
    rows = dict(columns(picture, "name", "remark"))
    assert rows["98 more: mul"] == "98 of 98 inside"
    assert rows["98 more: add"] == ""


def test_a_long_chain_is_a_picture() -> None:
    loss, names = chain(20_000)
    assert flow(loss, **names).title == "Gradient keeps its size, 1 (RMS), between loss and x"


def test_a_line_has_all_that_an_operation_gives_back() -> None:
    """x * x gives x twice the same part, g * x. Its line is both together: with g = 1, twice x."""
    x = Tensor.from_data([[3.0, 3.0]], new_device()).require_grad()
    square = x * x
    loss = square.sum()
    grads = loss.backward(record_flow=True)
    assert grads.flow is not None
    edge = (square.primitive.node, x.primitive.node)
    assert [part.rms for part in grads.flow.parts[edge]] == [3.0, 3.0]
    assert grads.flow.edges[edge].rms == 6.0
    picture = viz.gradient_flow(loss, grads, x=x)
    assert texts(picture).count("6") == 1


def test_parts_that_cancel_are_still_told() -> None:
    x = Tensor.from_data([[3.0, 4.0]], new_device()).require_grad()
    loss = (x - x).sum()
    assert "cancels" in viz.gradient_flow(loss, loss.backward(record_flow=True), x=x).title
