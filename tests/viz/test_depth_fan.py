"""The depth fan: each model's gradients by layer, what becomes of them, and lines that stand where they say."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.support import AnyTensor
from tests.viz.examples import columns, mlp, texts
from tests.viz.geometry import assert_readable, words_of
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import Autodiff, Device, NdArray, Param, Tensor
from tinyburn.base.errors import ConfigError
from tinyburn.viz import depth_fan
from tinyburn.viz.lines import MOST_LINES


def scaled(factor: float, layers: int, device: Device[Any] | None = None) -> AnyTensor:
    """Layers that each multiply by a factor, and no more: the gradient of the first is factor ** (layers - 1)."""
    device = device or Autodiff[NdArray].device(float_dtype="float64")
    x = Tensor.ones((2, 3), device)
    for _ in range(layers):
        x = x @ Param.from_tensor(Tensor.eye(3, device) * factor).val()
    return x


def test_a_factor_a_layer_is_found_again() -> None:
    """By hand: 11 layers that halve. The gradient of the last result is 1, that of the first 2**-10: it vanishes."""
    grads = {str(factor): scaled(factor, 11).sum().backward(record_flow=True) for factor in (0.5, 1.0, 2.0)}
    picture = depth_fan(grads)
    assert columns(picture, "model", "layers", "first layer", "factor a layer", "the gradient") == [
        ("0.5", "11", "0.00098", "0.50", "vanishes"),
        ("1.0", "11", "1", "1.00", "stays"),
        ("2.0", "11", "1e3", "2.00", "explodes"),
    ]
    assert picture.title == (
        "From the last layer to the first the gradient vanishes in 1, stays in 1, explodes in 1 of 3 models"
    )
    assert_readable(picture)


def test_a_layer_is_an_operation_that_a_weight_goes_into_and_a_bias_is_none() -> None:
    loss, _ = mlp(4)
    assert columns(depth_fan({"mlp": loss.backward(record_flow=True)}), "layers") == [("4",)]


def test_the_title_is_about_the_chosen_one_and_its_line_is_thick() -> None:
    models = {"a": [1.0, 1.0], "b": [1e-9, 1.0], "c": [1e9, 1.0]}
    fan = depth_fan(models, "a")
    begin = "From the last layer to the first the gradient of a stays"
    assert fan.title == f"{begin}; it vanishes in 1, explodes in 1 of 2 others"
    assert fan.svg.count('stroke-width="4"') == 1
    assert depth_fan({"a": [1.0, 1.0], "b": [1e-9, 1.0]}, "a").title == f"{begin}; it vanishes in 1 of 1 other"
    assert depth_fan({"a": [1.0, 1.0]}, "a").title == begin
    with pytest.raises(ConfigError, match=r"no model is called 'd'(?s:.)*the models are a, b, c"):
        depth_fan(models, "d")


@pytest.mark.parametrize(
    ("sizes", "verdict"),
    [
        ([1.0, 1.0], "stays"),
        ([1e-9, 1.0], "vanishes"),
        ([1e9, 1.0], "explodes"),
        ([0.0, 1.0], "is zero"),
        ([1.0, math.nan, 1.0], "overflows"),
        ([math.inf, 1.0], "overflows"),
        ([3.0], "stays"),
    ],
)
def test_verdicts(sizes: list[float], verdict: str) -> None:
    picture = depth_fan({"a": sizes})
    assert picture.title == f"From the last layer to the first the gradient of a {verdict}"
    assert_readable(picture)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9], ids=["low", "middle", "high"])
def test_as_many_lines_as_can_be_told_apart_and_their_names_apart(size: float) -> None:
    """All of them end in nearly the same place: below all others, among them, or above."""
    fan = depth_fan({f"model {at}": [size * (1 + 0.01 * at), 1.0] for at in range(MOST_LINES)})
    assert_readable(fan)
    assert {f"model {at}" for at in range(MOST_LINES)} <= set(texts(fan))


def test_the_names_stand_where_the_lines_end_in_their_order() -> None:
    """The run ends at the input's side, which is left. From top to bottom: the largest gradient first."""
    fan = depth_fan({"vanishing": [1e-8, 1.0], "exploding": [1e8, 1.0], "even": [1.0, 1.0]})
    words = {each.content: each for each in words_of(fan)}
    names = [words[name] for name in ("exploding", "even", "vanishing")]
    assert [name.base for name in names] == sorted(name.base for name in names)
    assert all(name.right < words["1e0"].left for name in names), "the axis stands on the other side"
    assert columns(fan, "first layer") == [("1.0e-8",), ("1.0e8",), ("1.0e0",)]


@pytest.mark.parametrize(
    ("models", "word"),
    [
        ({}, "0 models"),
        ([1.0], "a list"),
        ({str(at): [1.0] for at in range(MOST_LINES + 1)}, "9 models"),
        ({"a": []}, "a has no layer"),
        ({"a": scaled(1.0, 2).sum().backward()}, "without their flow"),
    ],
    ids=["none", "no-names", "too-many", "no-layer", "no-flow"],
)
def test_what_cannot_be_drawn(models: Any, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        depth_fan(models)


_SCRIPT = """
from tests.viz.test_depth_fan import scaled
from tinyburn import viz
picture = viz.depth_fan({"half": scaled(0.5, 5).sum().backward(record_flow=True), "given": [1.0, 0.1]})
"""


def test_same_bytes_in_two_processes() -> None:
    first, second = outputs_of_two_processes(_SCRIPT)
    assert first == second
