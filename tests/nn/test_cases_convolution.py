"""Cases from public bug reports of autograd libraries, section G; see tests/test_cases.py for what the ids mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support import AnyTensor, const, gradient_of, leaf
from tinyburn import Device, Param, nn


def with_weight(layer: Any, values: Any, device: Device[Any]) -> AnyTensor:
    """Gives a layer without a bias a weight, and returns that."""
    weight = leaf(values, device)
    layer.weight = Param.from_tensor(weight)
    return layer.weight.val()


def test_71_strides_and_dilation_in_the_gradient_of_the_weight(tracking: Device[Any]) -> None:
    padding = nn.PaddingConfig1d.Explicit(1)
    layer = nn.Conv1dConfig(1, 2, 2, stride=2, dilation=2, padding=padding, bias=False).init(tracking)
    weight = with_weight(layer, [[[3.0, 6.0]], [[4.0, 2.0]]], tracking)
    x = leaf([[[7.0, 3.0]], [[3.0, 2.0]]], tracking)
    result = layer(x)
    assert result.to_numpy().tolist() == [[[18.0], [6.0]], [[12.0], [4.0]]]
    grads = result.sum().backward()
    assert gradient_of(weight, grads).tolist() == [[[0.0, 5.0]], [[0.0, 5.0]]]
    assert gradient_of(x, grads).tolist() == [[[0.0, 8.0]], [[0.0, 8.0]]]


def test_73_groups_are_not_mixed(tracking: Device[Any]) -> None:
    layer = nn.Conv2dConfig((2, 2), 2, groups=2, bias=False).init(tracking)
    values = [[[[1.0, 2.0], [3.0, 4.0]]], [[[1.0, 0.0], [0.0, -1.0]]]]
    weight = with_weight(layer, values, tracking)
    x = leaf(np.arange(1.0, 9.0).reshape(1, 2, 2, 2), tracking)
    result = layer(x)
    assert result.to_numpy().ravel().tolist() == [30.0, -3.0]
    grads = result.sum().backward()
    assert gradient_of(weight, grads).tolist() == [[[[1.0, 2.0], [3.0, 4.0]]], [[[5.0, 6.0], [7.0, 8.0]]]]
    assert gradient_of(x, grads).tolist() == [[values[0][0], values[1][0]]]


def test_77_what_is_around_a_maximum_is_below_every_number(tracking: Device[Any]) -> None:
    x = leaf([[[-1.0, -2.0]]], tracking)
    result = nn.MaxPool1dConfig(2, stride=1, padding=nn.PaddingConfig1d.Explicit(1)).init()(x)
    assert result.to_numpy().tolist() == [[[-1.0, -1.0, -2.0]]]
    assert gradient_of(x, result.sum().backward()).tolist() == [[[2.0, 1.0]]]


def test_a_nan_stays_in_the_windows_that_see_it(tracking: Device[Any]) -> None:
    """A mean over windows by one product with a matrix of shares would bring it to all of them."""
    x = const([[[1.0, np.nan, 3.0, 4.0]]], tracking)
    for pool in (nn.AvgPool1dConfig(2).init(), nn.AdaptiveAvgPool1dConfig(2).init(), nn.MaxPool1dConfig(2).init()):
        found = pool(x).to_numpy()
        assert np.isnan(found[0, 0, 0])
        assert found[0, 0, 1] in (3.5, 4.0)
