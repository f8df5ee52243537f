"""The fan with controls: a model whose gradient is known by hand, and what the theory says of relu."""

from __future__ import annotations

from typing import Any

import pytest

from tests.viz.test_depth_fan import scaled
from tests.widgets.controls import control, frame_of, names_of, title_of
from tinyburn import ConfigError, activation, viz, widgets
from tinyburn.widgets.depth_fan import FUNCTIONS

asked: list[tuple[str, float, int]] = []


def by_hand(function: Any, gain: float, layers: int) -> Any:
    """Each layer multiplies by the gain, and no more: the gradient of the first of 11 is gain ** 10."""
    (name,) = [name for name, each in FUNCTIONS.items() if each is function]
    asked.append((name, gain, layers))
    return scaled(gain, layers).sum().backward(record_flow=True)


def test_each_control_is_handed_to_the_readers_function() -> None:
    """2 ** 10 is more than 100, and 1.5 ** 10 is 58."""
    asked.clear()
    found = widgets.depth_fan(by_hand, gain=2.0, layers=11)
    assert names_of(found) == ["Gain", "Activation function", "Layers", "or slide"]
    assert title_of_chosen(found) == "relu, gain 2 explodes"
    assert sorted(asked) == [("relu", 0.5, 11), ("relu", 1.0, 11), ("relu", 2.0, 11)]
    control(found, "Gain").value = 1.5
    assert title_of_chosen(found) == "relu, gain 1.5 stays"
    control(found, "Activation function").value = "tanh"
    control(found, "Layers").value = 21
    assert title_of_chosen(found) == "tanh, gain 1.5 explodes"
    assert {each[0::2] for each in asked[-3:]} == {("tanh", 21)}


def title_of_chosen(found: widgets.Live) -> str:
    return title_of(found).split("the gradient of ")[1].split(";")[0]


def test_the_picture_is_that_of_viz_with_the_other_gains() -> None:
    found = widgets.depth_fan(by_hand, gain=0.7, layers=5)
    sizes = {f"gain {gain:g}": by_hand(activation.relu, gain, 5) for gain in (0.5, 1.0, 2.0)}
    picture = viz.depth_fan({"relu, gain 0.7": by_hand(activation.relu, 0.7, 5), **sizes}, "relu, gain 0.7")
    assert frame_of(found) == picture.html
    assert found.still == picture


def test_the_other_gains_are_computed_once_for_each_function_and_depth() -> None:
    found = widgets.depth_fan(by_hand, gain=0.7, layers=5)
    control(found, "Gain").value = 0.8
    asked.clear()
    control(found, "Gain").value = 0.9
    assert asked == [("relu", 0.9, 5)]


@pytest.mark.parametrize(("gain", "verdict"), [(0.5, "vanishes"), (1.4, "stays"), (2.0, "explodes")])
def test_its_own_model_does_what_he_et_al_say_of_relu(gain: float, verdict: str) -> None:
    """A layer keeps gain ** 2 / 2 of the square: with the root of 2 nothing is lost."""
    assert title_of_chosen(widgets.depth_fan(gain=gain)) == f"relu, gain {gain:g} {verdict}"


def test_the_same_arguments_make_the_same_bytes() -> None:
    assert widgets.depth_fan(gain=1.3).still.svg == widgets.depth_fan(gain=1.3).still.svg


def test_errors_say_what_is_wrong() -> None:
    with pytest.raises(ConfigError) as error:
        widgets.depth_fan(3, gain=9, activation="abs", layers=1)  # type: ignore[arg-type]
    for reason in ("int is no function", "gain is 9", "activation is 'abs'", "layers is 1"):
        assert reason in str(error.value)
