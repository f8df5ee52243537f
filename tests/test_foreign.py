"""The table of NumPy's and PyTorch's names: each left side is an error that names the right side, which works."""

from __future__ import annotations

import copy
import pickle
import re
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tinyburn
from tests.support import const, ints, mask, tracked
from tinyburn import Autodiff, Module, NdArray, Param, Tensor, TinyburnError, Traced, nn, optim
from tinyburn.base.foreign import _BY_NAME
from tinyburn.base.habits import HABITS, SUBJECTS, Habit

OURS_ALONE = {"x", "y", "w", "mask", "rows", "device", "loss", "param", "model", "Tensor", "array"}
"""What stands in a right side and says nothing of how a thing is called."""


class NoForward(Module):
    """A module that cannot be called."""


def job(device: Any, batch: int) -> Any:
    return Tensor.ones((batch, 3), device).sum()


def words() -> dict[str, Any]:
    """What the rows of the table speak of."""
    device = tracked("float32")
    x = const([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], device).require_grad()
    model = nn.LinearConfig(3, 2).init(device)
    loss = model(x).sum()
    return {
        **{name: getattr(tinyburn, name) for name in tinyburn.__all__},
        **{"tinyburn": tinyburn, "x": x, "y": x * 2, "w": const(np.ones((3, 2)), device), "device": device},
        **{"mask": mask([[True, False, True]], device), "rows": ints([0], device), "array": np.ones(3)},
        **{"model": model, "param": model.weight, "NoForward": NoForward, "job": job, "batch_size": 2},
        **{"loss": loss, "grads": model(x).sum().backward(), "f": lambda x: x.sum()},
    }


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.theirs)
def test_what_they_write_is_an_error_that_names_what_we_write(habit: Habit) -> None:
    with pytest.raises(TinyburnError) as caught:
        exec(habit.theirs, words())
    hint = str(caught.value).partition("hint: ")[2]
    names = set(re.findall(r"[A-Za-z_]\w*|2\*\*20", habit.ours)) - OURS_ALONE
    assert habit.ours in hint or any(name in hint for name in names), hint


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.theirs)
def test_what_we_write_works(habit: Habit) -> None:
    exec(habit.ours, words())


OWNERS: dict[str, tuple[Any, ...]] = {
    "x": (Tensor,),
    "param": (Param,),
    "model": (Module, nn.Linear),
    "nn": (nn,),
    "optim": (optim,),
    "tinyburn": (tinyburn,),
}


@pytest.mark.parametrize("habit", _BY_NAME.values(), ids=lambda habit: habit.theirs)
def test_a_name_of_theirs_is_not_ours_too(habit: Habit) -> None:
    """Else the row would never be read. A method that is called in another way there has the same name."""
    assert habit.subject in (*SUBJECTS, "loss", "viz", "memory")
    if habit.theirs.partition("(")[0] not in CALLED and habit.subject in OWNERS:
        for owner in OWNERS[habit.subject]:
            assert not hasattr(owner, habit.name), habit


CALLED = {f"{owner}.{name}" for owner in ("x", "Tensor") for name in dir(Tensor) if hasattr(Tensor, name)} | {
    *("nn.Linear", "nn.LayerNorm", "nn.Conv1d", "nn.Conv2d", "nn.ConvTranspose2d"),
    *("nn.MaxPool2d", "nn.AvgPool2d", "nn.AdaptiveAvgPool2d"),
}


def test_a_habit_that_has_one_meaning_works() -> None:
    x = const([[3.0]], tracked())
    assert x.item() == x.into_scalar() == 3.0


# Python's own protocols ask for names that may be missing


def things() -> list[Any]:
    named = words()
    return [named["x"], named["param"], named["model"], const([1.0], Traced[NdArray].device()), nn, optim, tinyburn]


@pytest.mark.parametrize("number", range(7))
def test_a_missing_name_is_an_attribute_error(number: int) -> None:
    thing = things()[number]
    for name in ("_repr_html_", "_ipython_canary_method_should_not_exist_", "__deepcopy", "nothing_of_this_name"):
        assert not hasattr(thing, name)
        with pytest.raises(AttributeError, match=name):
            getattr(thing, name)


def test_copies_and_pickles_do_not_stumble() -> None:
    x, model = const([1.0, 2.0], NdArray.device()), nn.LinearConfig(3, 2).init(NdArray.device())
    assert copy.copy(x).to_numpy().tolist() == [1.0, 2.0]
    assert copy.copy(model).weight is model.weight
    again = copy.deepcopy(model)
    assert again.weight.val().to_numpy().tolist() == model.weight.val().to_numpy().tolist()
    values = pickle.loads(pickle.dumps(x.to_numpy()))
    assert values.tolist() == [1.0, 2.0]


def test_a_half_made_object_has_no_endless_recursion() -> None:
    for kind in (Tensor, Param, nn.Linear):
        with pytest.raises(AttributeError):
            _ = object.__new__(kind).primitive  # type: ignore[attr-defined]


def test_an_error_from_inside_a_call_is_left_as_it_is() -> None:
    """Only a call that does not fit the parameters is told ours: an error further down keeps its own words."""
    device = Autodiff[NdArray].device()
    with pytest.raises(TinyburnError, match="not a tuple of whole numbers"):
        Tensor.ones((2, 3), device).reshape(("a", "b"))  # type: ignore[arg-type]


def test_every_subject_is_in_the_table() -> None:
    assert {habit.subject for habit in HABITS} >= set(SUBJECTS)
    assert all(isinstance(part, ModuleType) for part in (nn, optim))
