"""The model that several benchmarks train, as a user of each library writes it: linear layers with relu between."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch

from tinyburn import Device, Module, nn


class Mlp(Module):
    """tinyburn's. The widths are those of the input, between the layers, and of the output."""

    def __init__(self, widths: tuple[int, ...], device: Device[Any]) -> None:
        self.layers = [nn.LinearConfig(d_in, d_out).init(device) for d_in, d_out in pairwise(widths)]
        self.relu = nn.Relu()

    def forward(self, x: Any) -> Any:
        """Any batch whose last dim is the first width."""
        for layer in self.layers[:-1]:
            x = self.relu(layer(x))
        return self.layers[-1](x)


def torch_mlp(widths: tuple[int, ...]) -> torch.nn.Sequential:
    """PyTorch's."""
    modules: list[torch.nn.Module] = []
    for d_in, d_out in pairwise(widths):
        modules += [torch.nn.Linear(d_in, d_out), torch.nn.ReLU()]
    return torch.nn.Sequential(*modules[:-1])


@torch.no_grad()
def copy_parameters(source: Mlp, target: torch.nn.Sequential) -> None:
    """Gives PyTorch's model the numbers of tinyburn's. PyTorch stores a weight the other way round."""
    linears = [module for module in target if isinstance(module, torch.nn.Linear)]
    for layer, linear in zip(source.layers, linears, strict=True):
        linear.weight.copy_(torch.from_numpy(layer.weight.val().to_numpy().T.copy()))
        if layer.bias is not None:
            linear.bias.copy_(torch.from_numpy(layer.bias.val().to_numpy().copy()))
