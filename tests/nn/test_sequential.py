"""Sequential and Flatten."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support import const, plain, tracked
from tinyburn import ConfigError, ShapeError, activation, nn, optim


def net(device: Any) -> nn.Sequential:
    first, last = nn.LinearConfig(6, 4).init(device), nn.LinearConfig(4, 2).init(device)
    return nn.Sequential(nn.Flatten(), first, nn.Relu(), nn.DropoutConfig(0.5).init(), last)


def test_the_children_are_named_by_their_index() -> None:
    model = net(tracked())
    assert [path for path, _ in model.named_params()] == ["1.weight", "1.bias", "4.weight", "4.bias"]
    assert [name for name, _ in model.named_children()] == ["0", "1", "2", "3", "4"]
    assert len(model) == 5
    assert model[-1] is list(model)[4]
    assert "2: Relu" in repr(model)


def test_it_calls_one_after_another() -> None:
    model = net(tracked()).valid()
    x = const(np.linspace(-1, 1, 12).reshape(2, 3, 2), plain())
    flat = x.reshape((2, 6))
    expected = model[4](activation.relu(model[1](flat)))
    assert model(x).to_numpy().tolist() == expected.to_numpy().tolist()
    assert nn.Sequential()(x) is x


def test_it_trains() -> None:
    device = tracked()
    device.seed(1)
    model, x = net(device), const(np.ones((2, 3, 2)), device)
    stepped = optim.SgdConfig().init().step(0.1, model, model(x).sum().backward())
    assert stepped[4] is not model[4]
    assert len(stepped) == 5


def test_an_error_says_in_which_layer_it_is() -> None:
    with pytest.raises(ShapeError, match=r"Linear \(in sequential.1\)"):
        net(plain())(const(np.ones((2, 5)), plain()))


def test_bad_input() -> None:
    with pytest.raises(ConfigError, match=r"layer 1 is .* and no module"):
        nn.Sequential(nn.Relu(), activation.relu)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="the input has rank 1"):
        nn.Flatten()(const([1.0], plain()))
    assert nn.Flatten()(const(np.zeros((0, 3, 2)), plain())).shape == (0, 6)
