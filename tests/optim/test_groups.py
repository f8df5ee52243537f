"""Groups of parameters: which one a parameter is in, and that each is trained as its optimizer alone would train it."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest

from tests.optim.models import Mlp, loss_of, step, values
from tests.support import tracked
from tinyburn import ConfigError, Tensor, optim
from tinyburn.optim import AdaGradConfig, AdamConfig, Group, Groups, SgdConfig


def test_each_group_is_trained_by_its_own_optimizer() -> None:
    """The first step of one optimizer does not depend on that of another."""
    model = Mlp(tracked())
    mixed = step(model, Groups([Group("*.bias", SgdConfig(), lr_factor=0.5), Group("*", AdamConfig(weight_decay=0.1))]))
    biases, weights = step(model, SgdConfig().init(), 0.025), step(model, AdamConfig(weight_decay=0.1).init())
    assert values(mixed) == [values(weights)[0], values(biases)[1], values(weights)[2], values(biases)[3]]


def test_the_first_group_that_fits_counts() -> None:
    model = Mlp(tracked())
    groups = Groups([Group(lambda path, _: path.startswith("layers.0"), SgdConfig(), 0.0), Group("*", SgdConfig())])
    trained = step(model, groups)
    same = [before == after for before, after in zip(values(model), values(trained), strict=True)]
    assert same == [True, True, False, False]


def test_a_parameter_in_no_group_and_a_group_of_none_are_named() -> None:
    model, groups = Mlp(tracked()), Groups([Group("*.wieght", SgdConfig()), Group("layers.0.*", SgdConfig())])
    grads = loss_of(model).backward()
    with pytest.raises(ConfigError) as caught:
        groups.step(0.1, model, grads)
    assert str(caught.value) == (
        "Groups.step\n"
        "  because layers.1.weight is in no group\n"
        "  because layers.1.bias is in no group\n"
        "  because no parameter is left for the group '*.wieght'\n"
        '  hint: a last group "*" takes the rest; '
        "the paths are layers.0.weight, layers.0.bias, layers.1.weight, layers.1.bias"
    )
    assert len(grads) == 4
    with pytest.raises(ConfigError, match="no parameter is left for group number 1, whose function"):
        step(model, Groups([Group("*", SgdConfig()), Group(lambda *_: True, SgdConfig())]))


def test_groups_that_are_none() -> None:
    wrong: Any
    for wrong in ([], [SgdConfig()], [("*", SgdConfig())]):
        with pytest.raises(ConfigError, match=r"optim.Groups\(\[optim.Group"):
            Groups(wrong)
    with pytest.raises(ConfigError) as caught:
        Group(3, SgdConfig, math.nan)  # type: ignore[arg-type]
    for reason in ("where is 3", "config is <class", "lr_factor is nan"):
        assert f"because {reason}" in str(caught.value)


def made() -> Groups:
    clipped = AdaGradConfig(lr_decay=0.1, grad_clipping=optim.GradientClippingConfig.GlobalNorm(0.1))
    return Groups([Group("*.bias", clipped), Group("layers.0.*", SgdConfig()), Group("*", AdamConfig())])


def test_copies_and_records_of_groups() -> None:
    optimizer = made()
    model = step(step(Mlp(tracked()), optimizer), optimizer)
    record = optimizer.state(model)
    assert {path: sorted(row) for path, row in record["params"].items()} == {
        "layers.0.weight": ["steps"],
        "layers.0.bias": ["steps", "sum_of_squares"],
        "layers.1.weight": ["first_moment", "second_moment", "steps"],
        "layers.1.bias": ["steps", "sum_of_squares"],
    }
    twins = [
        copy.deepcopy((model, optimizer)),
        (model, copy.copy(optimizer)),
        pickle.loads(pickle.dumps((model, optimizer))),
    ]
    read = made()
    read.load_state(record, model)
    twins.append((model, read))
    wanted = values(step(model, optimizer))
    assert [values(step(*twin)) for twin in twins] == [wanted] * 4


def test_a_group_clips_its_own_gradients() -> None:
    model, clip = Mlp(tracked()), optim.GradientClippingConfig.GlobalNorm(0.01)
    trained = step(model, Groups([Group("*.bias", SgdConfig(grad_clipping=clip)), Group("*", SgdConfig())]), 1.0)
    biases = [
        (after.val() - before.val()).to_numpy()
        for (path, before), (_, after) in zip(model.named_params(), trained.named_params(), strict=True)
        if path.endswith("bias")
    ]
    assert math.sqrt(sum(float((change**2).sum()) for change in biases)) == pytest.approx(0.01, rel=1e-3)
    alone = step(model, SgdConfig().init(), 1.0)
    assert values(alone)[0] == values(trained)[0]
    assert isinstance(alone.layers[0].weight.val(), Tensor)
