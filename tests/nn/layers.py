"""Layers by the settings of a golden case: what several tests of convolution make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.golden.convolution import Case, parameters
from tests.golden.files import Values
from tests.support import AnyTensor, const
from tinyburn import Device, Param, nn
from tinyburn.nn import PaddingConfig1d
from tinyburn.nn.padding import Explicit

Function = Callable[[AnyTensor], AnyTensor]


def config_of(case: Case) -> Any:
    """Our config: Burn gives the channels of one dim apart, and the padding of a convolution by name."""
    settings = dict(case.settings)
    if case.layer == "Conv1d":
        settings["channels_in"], settings["channels_out"] = settings.pop("channels")
    padding = settings.get("padding")
    if padding == "same":
        settings["padding"] = PaddingConfig1d.Same
    elif padding is not None and "Transpose" not in case.layer:
        settings["padding"] = Explicit(padding if isinstance(padding, tuple) else (padding,))
    return getattr(nn, f"{case.layer}Config")(**settings)


def layer_of(case: Case, device: Device[Any], dtype: str) -> Any:
    """Our layer, with PyTorch's parameters."""
    config = config_of(case)
    if "channels" not in case.settings:
        return config.init()
    layer = config.init(device)
    values: list[Values] = parameters(case, dtype)
    layer.weight = _parameter(layer.weight, values[0], device)
    if layer.bias is not None:
        layer.bias = _parameter(layer.bias, values[1], device)
    return layer


def _parameter(made: Param[Any], values: Values, device: Device[Any]) -> Param[Any]:
    """Another one, of the same shape as the config's."""
    assert made.val().shape == values.shape
    tensor = const(values, device)
    return Param.from_tensor(tensor.require_grad() if device.backend.is_autodiff else tensor)
